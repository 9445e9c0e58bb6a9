#include "networks/cuda/convolutions.cuh"
#include "networks/cuda/forms.cuh"

enum { BUCKETS_MAX = 32 };

typedef struct bucket {
  int rows;
  cudnnBackendDescriptor_t plan;
} bucket;

struct mz_cuda_convolution {
  mz_cuda_convolution_settings settings;
  int owners;
  mz_cuda_conv_form form;
  mz_cudnn_descriptors descriptors; /* of the buckets' plans */
  bucket buckets[BUCKETS_MAX];      /* most rows first */
  int bucket_count;
};

/* ---- choosing ---- */

/* A way to have the convolution computed. */
typedef struct attempt {
  mz_cuda_conv_form form;
  cudnnBackendHeurMode_t mode;
  bool dynamic; /* one compilation serves all buckets */
} attempt;

/* Engines that the library recommends before those that it can merely fall back on. */
static const attempt attempts[] = {
    {MZ_CUDA_CONV_FUSED, CUDNN_HEUR_MODE_A, true},
    {MZ_CUDA_CONV_FUSED, CUDNN_HEUR_MODE_A, false},
    {MZ_CUDA_CONV_SEPARATE, CUDNN_HEUR_MODE_A, false},
    {MZ_CUDA_CONV_FUSED, CUDNN_HEUR_MODE_FALLBACK, false},
    {MZ_CUDA_CONV_SEPARATE, CUDNN_HEUR_MODE_FALLBACK, false},
};

static bool has_rest(const mz_cuda_conv_graph_settings *graph) { return graph->bias || graph->add || graph->relu; }

static bool makes_sense(const attempt *a, const mz_cuda_convolution_settings *settings) {
  if (a->dynamic) return settings->any_rows;
  return a->form == MZ_CUDA_CONV_FUSED || has_rest(&settings->graph);
}

static mz_cuda_conv_graph_settings graph_of(const attempt *a, const mz_cuda_conv_graph_settings *whole) {
  mz_cuda_conv_graph_settings graph = *whole;
  if (a->form == MZ_CUDA_CONV_SEPARATE) graph.bias = graph.add = graph.relu = graph.bf16_out = false;
  return graph;
}

/* Builds a plan for every bucket with the engine, or leaves *built false. */
static mz_status build(mz_cuda_convolution *c, const mz_cuda_conv_target *target, const mz_cuda_conv_graph_settings *graph,
                       const mz_cuda_conv_engine *engine, bool dynamic, bool *built) {
  mz_cuda_conv_kernels kernels = {};
  *built = true;
  for (int i = 0; i < c->bucket_count && *built; i++) {
    bucket *b = &c->buckets[i];
    cudnnBackendDescriptor_t operations;
    MZ_TRY(mz_cuda_conv_graph_create(&c->descriptors, graph, b->rows, dynamic, &operations, built));
    if (!*built) break;
    if (dynamic && kernels.cache == nullptr) MZ_TRY(mz_cuda_conv_kernels_init(&kernels, &c->descriptors, operations, built));
    if (!*built) break;
    MZ_TRY(mz_cuda_conv_engine_plan(engine, &c->descriptors, target, operations, &kernels, &b->plan, built));
  }
  if (!*built) mz_cudnn_descriptors_free(&c->descriptors);
  return MZ_OK;
}

/* Tries the engines that the heuristics of an attempt name, in their order. */
static mz_status try_engines(mz_cuda_convolution *c, const mz_cuda_conv_target *target, const attempt *a, bool *built) {
  enum { ENGINES_MAX = 16 };
  const mz_cuda_conv_graph_settings graph = graph_of(a, &c->settings.graph);
  mz_status status = MZ_OK;
  mz_cudnn_descriptors asked = {};
  mz_cuda_conv_engine *engines = nullptr;
  cudnnBackendDescriptor_t operations;
  int count = 0;
  *built = false;
  MZ_TRY(mz_alloc(&engines, ENGINES_MAX, sizeof *engines));
  bool accepted = false;
  const int rows = c->settings.any_rows ? MZ_CUDA_CHOICE_ROWS : c->settings.rows;
  MZ_TRY_CLEANUP(mz_cuda_conv_graph_create(&asked, &graph, rows, a->dynamic, &operations, &accepted));
  if (accepted) {
    MZ_TRY_CLEANUP(mz_cuda_conv_engines_find(&asked, target, operations, a->mode, graph.bf16, engines, ENGINES_MAX, &count));
  }
  for (int i = 0; i < count && !*built; i++) MZ_TRY_CLEANUP(build(c, target, &graph, &engines[i], a->dynamic, built));
cleanup:
  mz_cudnn_descriptors_free(&asked);
  free(engines);
  return status;
}

static mz_status choose(mz_cuda_convolution *c, const mz_cuda_conv_target *target) {
  c->form = MZ_CUDA_CONV_DIRECT;
  if (mz_cuda_leaves_libraries_out()) return MZ_OK;
  for (const attempt &a : attempts) {
    bool built = false;
    if (!makes_sense(&a, &c->settings)) continue;
    MZ_TRY(try_engines(c, target, &a, &built));
    if (!built) continue;
    c->form = a.form;
    return MZ_OK;
  }
  return MZ_OK;
}

static void list_buckets(mz_cuda_convolution *c) {
  for (int rows = c->settings.rows; rows >= 1;) {
    MZ_ASSERT(c->bucket_count < BUCKETS_MAX);
    c->buckets[c->bucket_count++].rows = rows;
    if (!c->settings.any_rows) return;
    int power = 1;
    while (2 * power < rows) power *= 2;
    rows = rows > 1 ? power : 0;
  }
}

/* ---- life and use ---- */

mz_status mz_cuda_convolution_create(mz_cuda_convolution **out, const mz_cuda_conv_target *target,
                                     const mz_cuda_convolution_settings *settings) {
  mz_cuda_convolution *c = nullptr;
  MZ_TRY(mz_alloc(&c, 1, sizeof *c));
  c->settings = *settings;
  c->owners = 1;
  list_buckets(c);
  const mz_status status = choose(c, target);
  if (status != MZ_OK) {
    mz_cuda_convolution_free(c);
    return status;
  }
  *out = c;
  return MZ_OK;
}

mz_cuda_convolution *mz_cuda_convolution_share(mz_cuda_convolution *convolution) {
  convolution->owners++;
  return convolution;
}

bool mz_cuda_convolution_is_of(const mz_cuda_convolution *convolution, const mz_cuda_convolution_settings *settings) {
  const mz_cuda_convolution_settings *own = &convolution->settings;
  const mz_cuda_conv_graph_settings *a = &own->graph, *b = &settings->graph;
  return own->rows == settings->rows && own->any_rows == settings->any_rows && a->direction == b->direction &&
         a->board.height == b->board.height && a->board.width == b->board.width && a->inputs == b->inputs &&
         a->outputs == b->outputs && a->bf16 == b->bf16 && a->bf16_out == b->bf16_out && a->bias == b->bias && a->add == b->add &&
         a->relu == b->relu;
}

void mz_cuda_convolution_free(mz_cuda_convolution *convolution) {
  if (convolution == nullptr || --convolution->owners > 0) return;
  mz_cudnn_descriptors_free(&convolution->descriptors);
  free(convolution);
}

mz_cuda_conv_form mz_cuda_convolution_form(const mz_cuda_convolution *convolution) { return convolution->form; }

static const bucket *bucket_for(const mz_cuda_convolution *c, int rows) {
  MZ_ASSERT(rows >= 1 && rows <= c->settings.rows);
  int i = c->bucket_count - 1;
  while (c->buckets[i].rows < rows) i--;
  return &c->buckets[i];
}

int mz_cuda_convolution_rows(const mz_cuda_convolution *convolution, int rows) { return bucket_for(convolution, rows)->rows; }

mz_status mz_cuda_convolution_run(mz_cuda_convolution *convolution, const mz_cuda_lane *lane, int rows,
                                  const mz_cuda_conv_data *data) {
  int64_t ids[MZ_CUDA_CONV_RESULT];
  void *pointers[MZ_CUDA_CONV_RESULT];
  int64_t count = 0;
  mz_status status = MZ_OK;
  mz_cudnn_descriptors owned = {};
  cudnnBackendDescriptor_t pack;
  cudnnStatus_t answer;
  MZ_ASSERT(convolution->form != MZ_CUDA_CONV_DIRECT);
  for (int id = MZ_CUDA_CONV_X; id <= MZ_CUDA_CONV_RESULT; id++) {
    if (data->tensors[id] == nullptr) continue;
    ids[count] = id;
    pointers[count++] = data->tensors[id];
  }
  MZ_TRY_CLEANUP(mz_cudnn_create(&owned, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, &pack));
  MZ_TRY_CLEANUP(mz_cudnn_set(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, count, ids));
  MZ_TRY_CLEANUP(mz_cudnn_set(pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, count, pointers));
  MZ_TRY_CLEANUP(mz_cudnn_set(pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &lane->workspace));
  MZ_TRY_CLEANUP(mz_cudnn_finalize(pack));
  answer = cudnnBackendExecute(lane->dnn, bucket_for(convolution, rows)->plan, pack);
  if (answer != CUDNN_STATUS_SUCCESS) status = mz_cudnn_failed(answer, "cudnnBackendExecute");
cleanup:
  mz_cudnn_descriptors_free(&owned);
  return status;
}
