#include "allocator/predictors/pretrained_file.h"
#include "base/file/file.h"
#include "base/log.h"
#include "base/maths/digest.h"
#include <math.h>
#include <string.h>

enum { FILE_BYTES_MAX = 64 << 20 };

struct mz_pretrained {
  uint8_t *bytes;
  size_t size;
  mz_ensembles ensembles;
  int nodes, edges;                       /* that tapes have room for; 0: there are none */
  mz_graph_tape tapes[MZ_ENSEMBLE_KINDS]; /* of one row */
};

mz_graph_form mz_ensemble_form(mz_ensemble_kind kind) { return kind == MZ_ENSEMBLE_MLP ? MZ_FORM_FLAT : MZ_FORM_ATTENTION; }
bool mz_ensemble_explained(mz_ensemble_kind kind) { return kind != MZ_ENSEMBLE_GRAPH; }

const char *mz_ensemble_name(mz_ensemble_kind kind) {
  static const char *const names[MZ_ENSEMBLE_KINDS] = {
      [MZ_ENSEMBLE_MLP] = "mlp", [MZ_ENSEMBLE_GRAPH] = "graph", [MZ_ENSEMBLE_RESIDUAL] = "graph_residual"};
  return names[kind];
}

/* ---- ensembles ---- */

mz_status mz_ensembles_init(mz_ensembles *ensembles) {
  memset(ensembles, 0, sizeof *ensembles);
  for (int f = 0; f <= MZ_FORM_ATTENTION; f++) mz_graph_network_params(&ensembles->params[f], (mz_graph_form)f);
  for (int k = 0; k < MZ_ENSEMBLE_KINDS; k++) {
    mz_ensemble *e = &ensembles->items[k];
    e->params = &ensembles->params[mz_ensemble_form((mz_ensemble_kind)k)];
    for (int m = 0; m < MZ_PRETRAINED_MEMBERS; m++)
      MZ_TRY(mz_alloc(&e->members[m], (size_t)e->params->size, sizeof *e->members[m]));
  }
  return MZ_OK;
}

void mz_ensembles_deinit(mz_ensembles *ensembles) {
  for (int k = 0; k < MZ_ENSEMBLE_KINDS; k++)
    for (int m = 0; m < MZ_PRETRAINED_MEMBERS; m++) free(ensembles->items[k].members[m]);
}

/* ---- opening ---- */

mz_status mz_pretrained_parse(mz_pretrained **out, const uint8_t *bytes, size_t size, const char *name) {
  mz_pretrained *p;
  mz_status status;
  *out = NULL;
  MZ_TRY(mz_alloc(&p, 1, sizeof *p));
  MZ_TRY_CLEANUP(mz_ensembles_init(&p->ensembles));
  MZ_TRY_CLEANUP(mz_alloc(&p->bytes, size, 1));
  memcpy(p->bytes, bytes, size);
  p->size = size;
  MZ_TRY_CLEANUP(mz_pretrained_read(p->bytes, p->size, name, &p->ensembles));
  *out = p;
  return MZ_OK;
cleanup:
  mz_pretrained_free(p);
  return status;
}

mz_status mz_pretrained_bundled(mz_pretrained **out) {
  return mz_pretrained_parse(out, mz_pretrained_embedded, mz_pretrained_embedded_size, "bundled predictors");
}

mz_status mz_pretrained_open(mz_pretrained **out, const char *path) {
  uint8_t *bytes = NULL;
  size_t size = 0;
  *out = NULL;
  if (path[0] == '\0') return mz_pretrained_bundled(out);
  MZ_TRY(mz_file_read(path, FILE_BYTES_MAX, &bytes, &size));
  const mz_status status = mz_pretrained_parse(out, bytes, size, path);
  free(bytes);
  return status;
}

mz_pretrained *mz_pretrained_open_optional(const char *path) {
  mz_pretrained *p;
  if (mz_pretrained_open(&p, path) != MZ_OK)
    mz_log_write(MZ_LOG_WARNING, "allocate.pretrained: %s; predictions come without it", mz_message());
  return p;
}

static void drop_tapes(mz_graph_tape tapes[MZ_ENSEMBLE_KINDS]) {
  for (int k = 0; k < MZ_ENSEMBLE_KINDS; k++) mz_graph_tape_deinit(&tapes[k]);
}

void mz_pretrained_free(mz_pretrained *p) {
  if (p == NULL) return;
  drop_tapes(p->tapes);
  mz_ensembles_deinit(&p->ensembles);
  free(p->bytes);
  free(p);
}

const uint8_t *mz_pretrained_bytes(const mz_pretrained *p, size_t *size) {
  *size = p->size;
  return p->bytes;
}

uint64_t mz_pretrained_digest(const mz_pretrained *p) { return mz_hash(p->bytes, p->size, 0); }

/* ---- in a run's folder ---- */

enum { PATH_BYTES = 640 };

static mz_status path_of(const char *run, uint64_t digest, char folder[PATH_BYTES], char out[PATH_BYTES]) {
  char name[48];
  snprintf(name, sizeof name, "%016llx.safetensors", (unsigned long long)digest);
  MZ_TRY(mz_path_join(folder, PATH_BYTES, run, "predictors"));
  return mz_path_join(out, PATH_BYTES, folder, name);
}

mz_status mz_pretrained_keep(const mz_pretrained *p, const char *run) {
  char folder[PATH_BYTES], path[PATH_BYTES];
  MZ_TRY(path_of(run, mz_pretrained_digest(p), folder, path));
  if (mz_file_exists(path)) return MZ_OK;
  MZ_TRY(mz_file_mkdirs(folder));
  return mz_file_write_atomic(path, p->bytes, p->size);
}

mz_status mz_pretrained_recall(mz_pretrained **out, const char *run, uint64_t digest) {
  char folder[PATH_BYTES], path[PATH_BYTES];
  if (mz_pretrained_bundled(out) == MZ_OK && mz_pretrained_digest(*out) == digest) return MZ_OK;
  mz_pretrained_free(*out);
  MZ_TRY(path_of(run, digest, folder, path));
  MZ_TRY(mz_pretrained_open(out, path));
  if (mz_pretrained_digest(*out) == digest) return MZ_OK;
  mz_pretrained_free(*out);
  *out = NULL;
  return mz_fail(MZ_E_CONFIG, "%s: damaged: its contents do not have the digest that it is named by", path);
}

/* ---- asking ---- */

mz_status mz_pretrained_prepare(mz_pretrained *p, const mz_pipeline *pipeline) {
  int nodes, edges;
  mz_graph_tape tapes[MZ_ENSEMBLE_KINDS] = {0};
  mz_graph_size(pipeline, &nodes, &edges);
  if (nodes <= p->nodes && edges <= p->edges) return MZ_OK;
  for (int k = 0; k < MZ_ENSEMBLE_KINDS; k++) {
    const mz_ensemble *e = &p->ensembles.items[k];
    const mz_status status =
        mz_graph_tape_init(&tapes[k], mz_ensemble_form((mz_ensemble_kind)k), e->params, &e->scaling, 1, nodes, edges, false);
    if (status == MZ_OK) continue;
    drop_tapes(tapes);
    return status; /* whoever was prepared for may still ask */
  }
  drop_tapes(p->tapes);
  memcpy(p->tapes, tapes, sizeof tapes);
  p->nodes = nodes;
  p->edges = edges;
  return MZ_OK;
}

mz_ensemble_output mz_pretrained_ask(mz_pretrained *p, mz_ensemble_kind kind, const mz_graph *graph, int members) {
  double values[MZ_PRETRAINED_MEMBERS];
  mz_ensemble_output out = {0};
  MZ_ASSERT(p->nodes > 0 && members >= 1 && members <= MZ_PRETRAINED_MEMBERS);
  mz_graph_tape_put(&p->tapes[kind], 0, graph, 0);
  for (int m = 0; m < members; m++) {
    mz_graph_tape_run(&p->tapes[kind], p->ensembles.items[kind].members[m], 1, &values[m]);
    out.mean += values[m] / members;
  }
  for (int m = 0; m < members; m++) out.spread += (values[m] - out.mean) * (values[m] - out.mean) / members;
  out.spread = sqrt(out.spread);
  return out;
}

void mz_pretrained_attention(mz_pretrained *p, const mz_graph *graph, float *out) {
  mz_graph_tape *tape = &p->tapes[MZ_ENSEMBLE_RESIDUAL];
  mz_pretrained_ask(p, MZ_ENSEMBLE_RESIDUAL, graph, 1);
  mz_graph_tape_attention(tape, 0, graph, out);
}
