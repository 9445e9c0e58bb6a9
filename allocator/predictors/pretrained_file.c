#include "allocator/predictors/pretrained_file.h"
#include "base/maths/digest.h"
#include "networks/math/bf16.h"
#include "networks/parameters/safetensors.h"
#include <string.h>

enum { FORMAT = 1, NAME_BYTES = 96, SCALINGS = 5 };

/* A hash of the names of all features, in order: networks for others mean something else by their inputs. */
static uint64_t features_digest(void) {
  uint64_t digest = 0;
  for (int kind = 0; kind < MZ_NODE_KINDS; kind++) {
    const char *name;
    for (int i = 0; (name = mz_graph_node_feature_name((mz_graph_node_kind)kind, i)); i++)
      digest = mz_hash_combine(digest, mz_hash(name, strlen(name), 0));
  }
  for (int kind = 0; kind < MZ_EDGE_KINDS; kind++)
    digest = mz_hash_combine(digest, mz_hash(mz_graph_edge_kind_name(kind), strlen(mz_graph_edge_kind_name(kind)), 0));
  const char *name;
  for (int i = 0; (name = mz_graph_edge_feature_name(i)); i++) digest = mz_hash_combine(digest, mz_hash(name, strlen(name), 0));
  return digest;
}

/* ---- tensors ---- */

typedef struct scaling_part {
  const char *name;
  float *values;
  int rows, columns;
} scaling_part;

static void parts_of(mz_graph_scaling *s, scaling_part out[SCALINGS]) {
  const scaling_part parts[SCALINGS] = {{"node_mean", s->node_mean[0], MZ_NODE_KINDS, MZ_GRAPH_NODE_FEATURES},
                                        {"node_scale", s->node_scale[0], MZ_NODE_KINDS, MZ_GRAPH_NODE_FEATURES},
                                        {"edge_mean", s->edge_mean[0], MZ_EDGE_KINDS, MZ_GRAPH_EDGE_FEATURES},
                                        {"edge_scale", s->edge_scale[0], MZ_EDGE_KINDS, MZ_GRAPH_EDGE_FEATURES},
                                        {"target", &s->target_mean, 1, 2}};
  _Static_assert(offsetof(mz_graph_scaling, target_scale) == offsetof(mz_graph_scaling, target_mean) + sizeof(float),
                 "mean and scale of the target lie side by side");
  memcpy(out, parts, sizeof parts);
}

/* ---- reading ---- */

typedef struct reader {
  mz_safetensors file;
  const char *name;
} reader;

static mz_status find(const reader *r, const char *tensor, const char *dtype, int rows, int columns, const mz_tensor_view **out) {
  *out = mz_safetensors_find(&r->file, tensor);
  if (*out == NULL) return mz_fail(MZ_E_CONFIG, "%s: tensor \"%s\" is missing", r->name, tensor);
  if (strcmp((*out)->dtype, dtype) != 0 || (*out)->dims != 2 || (*out)->shape[0] != rows || (*out)->shape[1] != columns)
    return mz_fail(MZ_E_CONFIG, "%s: tensor \"%s\" is no %s [%d, %d]", r->name, tensor, dtype, rows, columns);
  return MZ_OK;
}

static mz_status read_scaling(const reader *r, const char *kind, mz_graph_scaling *scaling) {
  scaling_part parts[SCALINGS];
  parts_of(scaling, parts);
  for (int i = 0; i < SCALINGS; i++) {
    char name[NAME_BYTES];
    const mz_tensor_view *tensor;
    snprintf(name, sizeof name, "%s.%s", kind, parts[i].name);
    MZ_TRY(find(r, name, "F32", parts[i].rows, parts[i].columns, &tensor));
    memcpy(parts[i].values, tensor->data, tensor->bytes);
  }
  return MZ_OK;
}

static mz_status read_member(const reader *r, const char *kind, int member, const mz_params *params, float *values) {
  for (int i = 0; i < params->count; i++) {
    const mz_param *p = &params->items[i];
    char name[NAME_BYTES];
    const mz_tensor_view *tensor;
    snprintf(name, sizeof name, "%s.%d.%s", kind, member, p->name);
    MZ_TRY(find(r, name, "BF16", p->rows, p->columns, &tensor));
    for (int row = 0; row < p->rows; row++) {
      for (int column = 0; column < p->columns; column++) {
        uint16_t half;
        memcpy(&half, tensor->data + 2 * ((size_t)row * (size_t)p->columns + (size_t)column), sizeof half);
        values[p->offset + (int64_t)row * p->stride + column] = mz_f32_of_bf16(half);
      }
    }
  }
  return MZ_OK;
}

static mz_status check_metadata(const reader *r) {
  const cJSON *metadata = cJSON_GetObjectItemCaseSensitive(r->file.header, "__metadata__");
  const char *format = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(metadata, "format"));
  const char *features = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(metadata, "features"));
  char wanted[32], these[32];
  snprintf(wanted, sizeof wanted, "muzero predictors %d", FORMAT);
  snprintf(these, sizeof these, "%016llx", (unsigned long long)features_digest());
  if (!format || strncmp(format, wanted, strlen(wanted) - 1) != 0)
    return mz_fail(MZ_E_CONFIG, "%s: holds no predictors; `muzero pretrain FILE` makes such a file", r->name);
  if (strcmp(format, wanted) != 0)
    return mz_fail(MZ_E_CONFIG, "%s: is \"%s\" by another version of muzero; this one reads \"%s\"", r->name, format, wanted);
  if (!features || strcmp(features, these) != 0)
    return mz_fail(MZ_E_CONFIG, "%s: its predictors were trained on other features; train them anew by `muzero pretrain FILE`",
                   r->name);
  return MZ_OK;
}

mz_status mz_pretrained_read(const uint8_t *bytes, size_t size, const char *name, mz_ensembles *ensembles) {
  reader r = {.name = name};
  mz_status status;
  MZ_TRY(mz_safetensors_parse(bytes, size, name, MZ_E_CONFIG, &r.file));
  MZ_TRY_CLEANUP(check_metadata(&r));
  for (int k = 0; k < MZ_ENSEMBLE_KINDS; k++) {
    const char *kind = mz_ensemble_name((mz_ensemble_kind)k);
    MZ_TRY_CLEANUP(read_scaling(&r, kind, &ensembles->items[k].scaling));
    for (int m = 0; m < MZ_PRETRAINED_MEMBERS; m++)
      MZ_TRY_CLEANUP(read_member(&r, kind, m, ensembles->items[k].params, ensembles->items[k].members[m]));
  }
cleanup:
  mz_safetensors_deinit(&r.file);
  return status;
}

/* ---- writing ---- */

typedef struct writer {
  mz_tensor_view *tensors;
  char (*names)[NAME_BYTES];
  uint16_t *halves; /* of all members, in turn */
  int count;
} writer;

static void add_tensor(writer *w, const char *dtype, int rows, int columns, const void *data, size_t bytes) {
  mz_tensor_view *t = &w->tensors[w->count];
  *t = (mz_tensor_view){.name = w->names[w->count], .dims = 2, .shape = {rows, columns}, .data = data, .bytes = bytes};
  snprintf(t->dtype, sizeof t->dtype, "%s", dtype);
  w->count++;
}

static void add_ensemble(writer *w, const char *kind, const mz_ensemble *ensemble) {
  scaling_part parts[SCALINGS];
  parts_of((mz_graph_scaling *)&ensemble->scaling, parts); /* which are only read here */
  for (int i = 0; i < SCALINGS; i++) {
    snprintf(w->names[w->count], NAME_BYTES, "%s.%s", kind, parts[i].name);
    add_tensor(w, "F32", parts[i].rows, parts[i].columns, parts[i].values,
               (size_t)(parts[i].rows * parts[i].columns) * sizeof(float));
  }
  for (int m = 0; m < MZ_PRETRAINED_MEMBERS; m++) {
    for (int i = 0; i < ensemble->params->count; i++) {
      const mz_param *p = &ensemble->params->items[i];
      const uint16_t *begin = w->halves;
      for (int row = 0; row < p->rows; row++)
        for (int column = 0; column < p->columns; column++)
          *w->halves++ = mz_bf16_of_f32(ensemble->members[m][p->offset + (int64_t)row * p->stride + column]);
      snprintf(w->names[w->count], NAME_BYTES, "%s.%d.%s", kind, m, p->name);
      add_tensor(w, "BF16", p->rows, p->columns, begin, (size_t)(w->halves - begin) * sizeof *begin);
    }
  }
}

static cJSON *metadata_of(const char *about) {
  char text[32];
  cJSON *o = cJSON_CreateObject();
  snprintf(text, sizeof text, "muzero predictors %d", FORMAT);
  cJSON_AddStringToObject(o, "format", text);
  snprintf(text, sizeof text, "%016llx", (unsigned long long)features_digest());
  cJSON_AddStringToObject(o, "features", text);
  cJSON_AddStringToObject(o, "about", about);
  return o;
}

mz_status mz_pretrained_write(const mz_ensembles *ensembles, const char *about, uint8_t **bytes, size_t *size) {
  writer w = {0};
  uint16_t *halves = NULL;
  cJSON *metadata = NULL;
  size_t tensors = 0, weights = 0;
  mz_status status;
  for (int k = 0; k < MZ_ENSEMBLE_KINDS; k++) {
    tensors += SCALINGS + MZ_PRETRAINED_MEMBERS * (size_t)ensembles->items[k].params->count;
    weights += MZ_PRETRAINED_MEMBERS * (size_t)mz_params_dense(ensembles->items[k].params);
  }
  MZ_TRY_CLEANUP(mz_alloc(&w.tensors, tensors, sizeof *w.tensors));
  MZ_TRY_CLEANUP(mz_alloc(&w.names, tensors, sizeof *w.names));
  MZ_TRY_CLEANUP(mz_alloc(&halves, weights, sizeof *halves));
  w.halves = halves;
  for (int k = 0; k < MZ_ENSEMBLE_KINDS; k++) add_ensemble(&w, mz_ensemble_name((mz_ensemble_kind)k), &ensembles->items[k]);
  metadata = metadata_of(about);
  status = mz_safetensors_write(w.tensors, w.count, metadata, bytes, size);
cleanup:
  cJSON_Delete(metadata);
  free(halves);
  free(w.names);
  free(w.tensors);
  return status;
}
