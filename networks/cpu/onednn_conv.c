#include "networks/cpu/onednn_conv.h"
#include "networks/cpu/kernels.h"
#include "networks/cpu/onednn_engine.h"
#include <string.h>

enum { BLOCKS_MAX = 32, DIRECTIONS = 3 };

/* ---- layouts of weights, one set for each shape in this process; never freed ---- */

typedef struct layout {
  struct layout *next;
  mz_conv_shape shape;
  dnnl_memory_desc_t plain, packed[DIRECTIONS]; /* HWIO; as the kernels of a direction have them */
  dnnl_primitive_t reorder[DIRECTIONS];         /* from plain; WEIGHTS: to plain */
  dnnl_memory_t from[DIRECTIONS], to[DIRECTIONS];
} layout;

static layout *layouts;

/* One convolution of `rows` boards. `weights`: its layout, any where the format is to be chosen. */
typedef struct problem {
  dnnl_memory_desc_t x, y, bias, weights;
  dnnl_primitive_desc_t desc;
} problem;

static int64_t weight_count(const mz_conv_shape *shape) {
  return (int64_t)MZ_KERNEL * MZ_KERNEL * shape->inputs * shape->outputs;
}

static dnnl_data_type_t type_of(bool bf16) { return bf16 ? dnnl_bf16 : dnnl_f32; }

static mz_status tensor(dnnl_memory_desc_t *out, int64_t rows, int64_t channels, mz_board board, bool bf16) {
  const dnnl_dims_t dims = {rows, channels, board.height, board.width};
  return mz_onednn_check(dnnl_memory_desc_init_by_tag(out, 4, dims, type_of(bf16), dnnl_nhwc), "boards");
}

static mz_status weights_as(dnnl_memory_desc_t *out, const mz_conv_shape *shape, dnnl_format_tag_t tag, bool bf16) {
  const dnnl_dims_t dims = {shape->outputs, shape->inputs, MZ_KERNEL, MZ_KERNEL};
  return mz_onednn_check(dnnl_memory_desc_init_by_tag(out, 4, dims, type_of(bf16), tag), "weights");
}

static mz_status describe_forward(problem *p, dnnl_engine_t engine, const mz_conv_settings *settings, bool inference) {
  const dnnl_dims_t one = {1, 1}, pad = {1, 1};
  dnnl_convolution_desc_t conv;
  dnnl_primitive_attr_t attr = NULL;
  mz_status status = MZ_OK;
  MZ_TRY_CLEANUP(mz_onednn_check(dnnl_convolution_forward_desc_init(
                                     &conv, inference ? dnnl_forward_inference : dnnl_forward_training, dnnl_convolution_direct,
                                     &p->x, &p->weights, settings->bias ? &p->bias : NULL, &p->y, one, pad, pad),
                                 "convolution"));
  MZ_TRY_CLEANUP(mz_onednn_attributes_create(&attr, settings->add, settings->relu));
  MZ_TRY_CLEANUP(mz_onednn_check(dnnl_primitive_desc_create(&p->desc, &conv, attr, engine, NULL), "convolution"));
cleanup:
  if (attr != NULL) dnnl_primitive_attr_destroy(attr);
  return status;
}

static mz_status describe_backward(problem *p, dnnl_engine_t engine, const mz_conv_settings *settings) {
  const dnnl_dims_t one = {1, 1}, pad = {1, 1};
  dnnl_convolution_desc_t conv;
  problem forward = *p;
  mz_status status = MZ_OK;
  const mz_conv_shape *shape = &settings->shape;
  const mz_conv_settings plain = {.shape = *shape, .rows = settings->rows};
  MZ_TRY(tensor(&forward.x, settings->rows, shape->inputs, shape->board, true));
  MZ_TRY(tensor(&forward.y, settings->rows, shape->outputs, shape->board, true));
  MZ_TRY(weights_as(&forward.weights, shape, dnnl_format_tag_any, true));
  MZ_TRY(describe_forward(&forward, engine, &plain, false));
  if (settings->direction == MZ_CONV_DATA) {
    MZ_TRY_CLEANUP(mz_onednn_check(
        dnnl_convolution_backward_data_desc_init(&conv, dnnl_convolution_direct, &p->x, &p->weights, &p->y, one, pad, pad),
        "data gradient"));
  } else {
    MZ_TRY_CLEANUP(mz_onednn_check(dnnl_convolution_backward_weights_desc_init(&conv, dnnl_convolution_direct, &p->x, &p->weights,
                                                                               NULL, &p->y, one, pad, pad),
                                   "weight gradient"));
  }
  MZ_TRY_CLEANUP(mz_onednn_check(dnnl_primitive_desc_create(&p->desc, &conv, NULL, engine, forward.desc), "gradient"));
cleanup:
  dnnl_primitive_desc_destroy(forward.desc);
  return status;
}

static bool x_is_half(const mz_conv_settings *s) { return s->direction != MZ_CONV_DATA; }

static bool y_is_half(const mz_conv_settings *s) { return s->direction != MZ_CONV_FORWARD || s->bf16_out; }

/* weights: NULL for any. */
static mz_status describe(problem *p, dnnl_engine_t engine, const mz_conv_settings *settings, int rows,
                          const dnnl_memory_desc_t *weights) {
  const mz_conv_shape *shape = &settings->shape;
  const dnnl_dims_t outputs = {shape->outputs};
  mz_conv_settings sized = *settings;
  sized.rows = rows;
  *p = (problem){0};
  MZ_TRY(tensor(&p->x, rows, shape->inputs, shape->board, x_is_half(settings)));
  MZ_TRY(tensor(&p->y, rows, shape->outputs, shape->board, y_is_half(settings)));
  MZ_TRY(mz_onednn_check(dnnl_memory_desc_init_by_tag(&p->bias, 1, outputs, dnnl_f32, dnnl_a), "bias"));
  if (weights == NULL) {
    MZ_TRY(weights_as(&p->weights, shape, dnnl_format_tag_any, settings->direction != MZ_CONV_WEIGHTS));
  } else {
    p->weights = *weights;
  }
  const bool forward = settings->direction == MZ_CONV_FORWARD;
  return forward ? describe_forward(p, engine, &sized, true) : describe_backward(p, engine, &sized);
}

static mz_status choose(layout *l, dnnl_engine_t engine, mz_conv_direction direction) {
  enum { USUAL_ROWS = 8 };
  const mz_conv_settings settings = {.shape = l->shape, .direction = direction};
  problem p;
  mz_status status = MZ_OK;
  dnnl_primitive_desc_t desc = NULL;
  MZ_TRY(describe(&p, engine, &settings, USUAL_ROWS, NULL));
  dnnl_memory_desc_t *packed = &l->packed[direction];
  const bool gradient = direction == MZ_CONV_WEIGHTS;
  *packed = *dnnl_primitive_desc_query_md(p.desc, gradient ? dnnl_query_diff_weights_md : dnnl_query_weights_md, 0);
  if (dnnl_memory_desc_get_size(packed) > (size_t)weight_count(&l->shape) * sizeof(float)) *packed = l->plain;
  const dnnl_memory_desc_t *from = gradient ? packed : &l->plain, *to = gradient ? &l->plain : packed;
  MZ_TRY_CLEANUP(mz_onednn_check(dnnl_reorder_primitive_desc_create(&desc, from, engine, to, engine, NULL), "reorder"));
  MZ_TRY_CLEANUP(mz_onednn_check(dnnl_primitive_create(&l->reorder[direction], desc), "reorder"));
  MZ_TRY_CLEANUP(mz_onednn_check(dnnl_memory_create(&l->from[direction], from, engine, DNNL_MEMORY_NONE), "memory"));
  MZ_TRY_CLEANUP(mz_onednn_check(dnnl_memory_create(&l->to[direction], to, engine, DNNL_MEMORY_NONE), "memory"));
cleanup:
  dnnl_primitive_desc_destroy(p.desc);
  if (desc != NULL) dnnl_primitive_desc_destroy(desc);
  return status;
}

static bool same_shape(const mz_conv_shape *a, const mz_conv_shape *b) {
  return a->board.height == b->board.height && a->board.width == b->board.width && a->inputs == b->inputs &&
         a->outputs == b->outputs;
}

static void forget(dnnl_memory_t memory) {
  if (memory != NULL) dnnl_memory_destroy(memory);
}

/* One that could not be completed. */
static void layout_free(layout *l) {
  for (int d = 0; d < DIRECTIONS; d++) {
    forget(l->from[d]);
    forget(l->to[d]);
    if (l->reorder[d] != NULL) dnnl_primitive_destroy(l->reorder[d]);
  }
  free(l);
}

/* Under the lock. One that failed half-way stays unlisted. */
static mz_status layout_of(layout **out, dnnl_engine_t engine, const mz_conv_shape *shape) {
  for (layout *l = layouts; l != NULL; l = l->next) {
    *out = l;
    if (same_shape(&l->shape, shape)) return MZ_OK;
  }
  layout *l = NULL;
  MZ_TRY(mz_alloc(&l, 1, sizeof *l));
  l->shape = *shape;
  mz_status status = weights_as(&l->plain, shape, dnnl_hwio, false);
  for (int d = 0; d < DIRECTIONS && status == MZ_OK; d++) status = choose(l, engine, (mz_conv_direction)d);
  if (status != MZ_OK) {
    layout_free(l);
    return status;
  }
  l->next = layouts;
  layouts = l;
  *out = l;
  return MZ_OK;
}

/* ---- running ---- */

/* oneDNN's handles are not const; it writes to none that it reads. */
static void point(dnnl_memory_t memory, const void *data) {
  const dnnl_status_t status = dnnl_memory_set_data_handle(memory, (void *)(uintptr_t)data);
  MZ_ASSERT(status == dnnl_success);
}

static void execute(dnnl_primitive_t primitive, dnnl_stream_t stream, int count, const dnnl_exec_arg_t *args) {
  const dnnl_status_t status = dnnl_primitive_execute(primitive, stream, count, args);
  MZ_ASSERT(status == dnnl_success);
}

typedef struct block { /* so many boards at once */
  int rows;
  dnnl_primitive_t primitive;
  dnnl_memory_t x, y;
} block;

struct mz_conv {
  mz_conv_settings settings;
  const layout *layout;
  int block_count;
  block blocks[BLOCKS_MAX]; /* largest first, the last of one board */
  dnnl_memory_t weights, bias, plain;
  dnnl_stream_t stream;
  float *sum, *part; /* WEIGHTS: [weight_count], packed */
  bool begun;
};

static mz_status block_init(block *b, dnnl_engine_t engine, const mz_conv *conv, int rows) {
  problem p;
  mz_status status = MZ_OK;
  const mz_conv_settings *settings = &conv->settings;
  b->rows = rows;
  MZ_TRY(describe(&p, engine, settings, rows, &conv->layout->packed[settings->direction]));
  MZ_TRY_CLEANUP(mz_onednn_check(dnnl_primitive_create(&b->primitive, p.desc), "convolution"));
  MZ_TRY_CLEANUP(mz_onednn_check(dnnl_memory_create(&b->x, &p.x, engine, DNNL_MEMORY_NONE), "memory"));
  MZ_TRY_CLEANUP(mz_onednn_check(dnnl_memory_create(&b->y, &p.y, engine, DNNL_MEMORY_NONE), "memory"));
cleanup:
  dnnl_primitive_desc_destroy(p.desc);
  return status;
}

static mz_status conv_init(mz_conv *conv, dnnl_engine_t engine) {
  const mz_conv_settings *settings = &conv->settings;
  const dnnl_dims_t outputs = {settings->shape.outputs};
  layout *l;
  dnnl_memory_desc_t bias;
  MZ_TRY(layout_of(&l, engine, &settings->shape));
  conv->layout = l;
  for (int rows = settings->rows; rows >= 1; conv->block_count++) {
    MZ_ASSERT(conv->block_count < BLOCKS_MAX);
    MZ_TRY(block_init(&conv->blocks[conv->block_count], engine, conv, rows));
    int power = 1;
    while (2 * power < rows) power *= 2;
    rows = rows > 1 ? power : 0;
  }
  MZ_TRY(
      mz_onednn_check(dnnl_memory_create(&conv->weights, &l->packed[settings->direction], engine, DNNL_MEMORY_NONE), "memory"));
  MZ_TRY(mz_onednn_check(dnnl_memory_create(&conv->plain, &l->plain, engine, DNNL_MEMORY_NONE), "memory"));
  MZ_TRY(mz_onednn_check(dnnl_memory_desc_init_by_tag(&bias, 1, outputs, dnnl_f32, dnnl_a), "bias"));
  MZ_TRY(mz_onednn_check(dnnl_memory_create(&conv->bias, &bias, engine, DNNL_MEMORY_NONE), "memory"));
  return mz_onednn_check(dnnl_stream_create(&conv->stream, engine, dnnl_stream_default_flags), "stream");
}

mz_status mz_conv_create(mz_conv **out, const mz_conv_settings *settings) {
  mz_status status = MZ_OK;
  dnnl_engine_t engine;
  mz_conv *conv = NULL;
  MZ_TRY(mz_alloc(&conv, 1, sizeof *conv));
  conv->settings = *settings;
  if (settings->direction == MZ_CONV_WEIGHTS) {
    const size_t count = (size_t)weight_count(&settings->shape);
    MZ_TRY_CLEANUP(mz_alloc(&conv->sum, 2 * count, sizeof *conv->sum));
    conv->part = conv->sum + count;
  }
  MZ_TRY_CLEANUP(mz_onednn_lock(&engine));
  status = conv_init(conv, engine);
  mz_onednn_unlock();
cleanup:
  if (status != MZ_OK) {
    mz_conv_free(conv);
    conv = NULL;
  }
  *out = conv;
  return status;
}

void mz_conv_free(mz_conv *conv) {
  dnnl_engine_t engine;
  if (conv == NULL) return;
  const bool locked = mz_onednn_lock(&engine) == MZ_OK; /* without an engine there is nothing but memory to free */
  for (int i = 0; i < BLOCKS_MAX; i++) {
    forget(conv->blocks[i].x);
    forget(conv->blocks[i].y);
    if (conv->blocks[i].primitive != NULL) dnnl_primitive_destroy(conv->blocks[i].primitive);
  }
  forget(conv->weights);
  forget(conv->bias);
  forget(conv->plain);
  if (conv->stream != NULL) dnnl_stream_destroy(conv->stream);
  if (locked) mz_onednn_unlock();
  free(conv->sum);
  free(conv);
}

typedef void (*run_block)(mz_conv *conv, const block *b);

/* In blocks; `run` finds x, y and weights in place. */
static void run_rows(mz_conv *conv, int rows, const void *x, const void *y, run_block run) {
  const mz_conv_shape *shape = &conv->settings.shape;
  const size_t positions = (size_t)shape->board.height * (size_t)shape->board.width;
  const size_t x_bytes = positions * (size_t)shape->inputs * (x_is_half(&conv->settings) ? 2 : sizeof(float));
  const size_t y_bytes = positions * (size_t)shape->outputs * (y_is_half(&conv->settings) ? 2 : sizeof(float));
  MZ_ASSERT(rows >= 1 && rows <= conv->settings.rows);
  mz_onednn_one_thread();
  int at = 0;
  for (const block *b = conv->blocks; at < rows;) {
    if (b->rows > rows - at) {
      b++;
      continue;
    }
    point(b->x, (const char *)x + (size_t)at * x_bytes);
    point(b->y, (const char *)y + (size_t)at * y_bytes);
    run(conv, b);
    at += b->rows;
  }
}

static void forward_block(mz_conv *conv, const block *b) {
  const dnnl_exec_arg_t args[] = {
      {DNNL_ARG_SRC, b->x}, {DNNL_ARG_WEIGHTS, conv->weights}, {DNNL_ARG_DST, b->y}, {DNNL_ARG_BIAS, conv->bias}};
  execute(b->primitive, conv->stream, conv->settings.bias ? 4 : 3, args);
}

void mz_conv_forward(mz_conv *conv, int rows, const uint16_t *x, const float *weights, const float *bias, void *y) {
  point(conv->weights, weights);
  point(conv->bias, bias);
  run_rows(conv, rows, x, y, forward_block);
}

static void data_block(mz_conv *conv, const block *b) {
  const dnnl_exec_arg_t args[] = {{DNNL_ARG_DIFF_DST, b->y}, {DNNL_ARG_WEIGHTS, conv->weights}, {DNNL_ARG_DIFF_SRC, b->x}};
  execute(b->primitive, conv->stream, 3, args);
}

void mz_conv_data(mz_conv *conv, int rows, const uint16_t *dy, const float *weights, float *dx) {
  point(conv->weights, weights);
  run_rows(conv, rows, dx, dy, data_block);
}

static void weights_block(mz_conv *conv, const block *b) {
  const dnnl_exec_arg_t args[] = {{DNNL_ARG_SRC, b->x}, {DNNL_ARG_DIFF_DST, b->y}, {DNNL_ARG_DIFF_WEIGHTS, conv->weights}};
  point(conv->weights, conv->begun ? conv->part : conv->sum);
  execute(b->primitive, conv->stream, 3, args);
  if (conv->begun) mz_kernels_get()->add(conv->sum, conv->part, conv->sum, (size_t)weight_count(&conv->settings.shape));
  conv->begun = true;
}

void mz_conv_weights_begin(mz_conv *conv) { conv->begun = false; }

void mz_conv_weights_add(mz_conv *conv, int rows, const uint16_t *x, const uint16_t *dy) {
  run_rows(conv, rows, x, dy, weights_block);
}

void mz_conv_weights_end(mz_conv *conv, float *gradient) {
  const dnnl_exec_arg_t args[] = {{DNNL_ARG_FROM, conv->weights}, {DNNL_ARG_TO, conv->plain}};
  MZ_ASSERT(conv->begun);
  point(conv->weights, conv->sum);
  point(conv->plain, gradient);
  execute(conv->layout->reorder[MZ_CONV_WEIGHTS], conv->stream, 2, args);
}

/* ---- packing ---- */

static mz_status pack(const mz_conv_shape *shape, dnnl_engine_t engine, mz_conv_direction d, const float *weights,
                      float *packed) {
  static dnnl_stream_t stream;
  layout *l;
  if (stream == NULL) MZ_TRY(mz_onednn_check(dnnl_stream_create(&stream, engine, dnnl_stream_default_flags), "stream"));
  MZ_TRY(layout_of(&l, engine, shape));
  const dnnl_exec_arg_t args[] = {{DNNL_ARG_FROM, l->from[d]}, {DNNL_ARG_TO, l->to[d]}};
  point(l->from[d], weights);
  point(l->to[d], packed);
  mz_onednn_one_thread();
  execute(l->reorder[d], stream, 2, args);
  return MZ_OK;
}

mz_status mz_conv_pack(const mz_conv_shape *shape, mz_conv_direction direction, const float *weights, float *packed) {
  dnnl_engine_t engine;
  MZ_TRY(mz_onednn_lock(&engine));
  const mz_status status = pack(shape, engine, direction, weights, packed);
  mz_onednn_unlock();
  return status;
}
