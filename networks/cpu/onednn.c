#include "networks/cpu/onednn.h"
#include "networks/cpu/onednn_engine.h"
#include <string.h>

enum { BLOCKS_MAX = 32, A = 0, B = 1, C = 2, OPERANDS = 3 };

typedef struct matmul_block { /* C += A·B for one size */
  int size;
  dnnl_primitive_t primitive;
  dnnl_memory_t memory[OPERANDS];
} matmul_block;

struct mz_onednn {
  bool by_depth; /* blocks cut `depth` rather than `rows` */
  int block_count;
  matmul_block blocks[BLOCKS_MAX]; /* largest first, the last of size 1 */
  dnnl_stream_t stream;
};

static mz_status matrix(dnnl_memory_desc_t *desc, int64_t rows, int64_t columns, int64_t row_stride, int64_t column_stride) {
  const dnnl_dims_t dims = {rows, columns}, strides = {row_stride, column_stride};
  return mz_onednn_check(dnnl_memory_desc_init_by_strides(desc, 2, dims, dnnl_f32, strides), "matrix");
}

/* rows_stand_alone: batch-reduced kernels (tests/networks/rows.c), not gemm, which takes another path for a single row. */
static mz_status block_init(matmul_block *out, dnnl_engine_t engine, const mz_product *shape, int rows, int depth,
                            bool *rows_stand_alone) {
  mz_status status = MZ_OK;
  dnnl_primitive_attr_t attr = NULL;
  dnnl_primitive_desc_t desc = NULL;
  dnnl_matmul_desc_t matmul;
  dnnl_memory_desc_t operand[OPERANDS];
  MZ_TRY(matrix(&operand[A], rows, depth, shape->a_row, shape->a_step));
  MZ_TRY(matrix(&operand[B], depth, shape->columns, shape->b_stride, 1));
  MZ_TRY(matrix(&operand[C], rows, shape->columns, shape->c_stride, 1));
  MZ_TRY(mz_onednn_check(dnnl_matmul_desc_init(&matmul, &operand[A], &operand[B], NULL, &operand[C]), "matmul"));
  MZ_TRY_CLEANUP(mz_onednn_attributes_create(&attr, true, shape->relu));
  MZ_TRY_CLEANUP(mz_onednn_check(dnnl_primitive_desc_create(&desc, &matmul, attr, engine, NULL), "matmul"));
  MZ_TRY_CLEANUP(mz_onednn_check(dnnl_primitive_create(&out->primitive, desc), "matmul"));
  const char *implementation = "";
  MZ_TRY_CLEANUP(mz_onednn_check(dnnl_primitive_desc_query(desc, dnnl_query_impl_info_str, 0, &implementation), "matmul"));
  *rows_stand_alone = strncmp(implementation, "brg", 3) == 0;
  for (int i = 0; i < OPERANDS; i++) {
    MZ_TRY_CLEANUP(mz_onednn_check(dnnl_memory_create(&out->memory[i], &operand[i], engine, DNNL_MEMORY_NONE), "memory"));
  }
cleanup:
  if (desc != NULL) dnnl_primitive_desc_destroy(desc);
  if (attr != NULL) dnnl_primitive_attr_destroy(attr);
  return status;
}

static int largest_power_below(int n) {
  int power = 1;
  while (2 * power < n) power *= 2;
  return power;
}

static mz_status plan_init(mz_onednn *plan, dnnl_engine_t engine, const mz_product *shape, bool *rows_stand_alone) {
  plan->by_depth = shape->a_step != 1;
  int size = plan->by_depth ? shape->depth : shape->rows;
  for (;;) {
    MZ_ASSERT(plan->block_count < BLOCKS_MAX);
    matmul_block *next = &plan->blocks[plan->block_count++];
    next->size = size;
    MZ_TRY(block_init(next, engine, shape, plan->by_depth ? shape->rows : size, plan->by_depth ? size : shape->depth,
                      rows_stand_alone));
    if (size == 1 || !*rows_stand_alone) break;
    size = largest_power_below(size);
  }
  return mz_onednn_check(dnnl_stream_create(&plan->stream, engine, dnnl_stream_default_flags), "stream");
}

mz_status mz_onednn_create(mz_onednn **out, const mz_product *shape) {
  mz_onednn *plan = NULL;
  MZ_TRY(mz_alloc(&plan, 1, sizeof *plan));
  bool rows_stand_alone = true;
  dnnl_engine_t engine;
  mz_status status = mz_onednn_lock(&engine);
  if (status == MZ_OK) {
    status = plan_init(plan, engine, shape, &rows_stand_alone);
    mz_onednn_unlock();
  }
  if (status != MZ_OK || !rows_stand_alone) {
    mz_onednn_free(plan);
    plan = NULL;
  }
  *out = plan;
  return status;
}

void mz_onednn_free(mz_onednn *plan) {
  if (plan == NULL) return;
  for (int i = 0; i < plan->block_count; i++) {
    for (int k = 0; k < OPERANDS; k++) {
      if (plan->blocks[i].memory[k] != NULL) dnnl_memory_destroy(plan->blocks[i].memory[k]);
    }
    if (plan->blocks[i].primitive != NULL) dnnl_primitive_destroy(plan->blocks[i].primitive);
  }
  if (plan->stream != NULL) dnnl_stream_destroy(plan->stream);
  free(plan);
}

static void block_run(const matmul_block *block, dnnl_stream_t stream, const float *a, const float *b, float *c) {
  /* oneDNN's handles are not const; it does not write to A and B */
  void *const handles[OPERANDS] = {(void *)(uintptr_t)a, (void *)(uintptr_t)b, c};
  static const int names[OPERANDS] = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST};
  dnnl_exec_arg_t args[OPERANDS];
  for (int i = 0; i < OPERANDS; i++) {
    const dnnl_status_t status = dnnl_memory_set_data_handle(block->memory[i], handles[i]);
    MZ_ASSERT(status == dnnl_success);
    args[i] = (dnnl_exec_arg_t){names[i], block->memory[i]};
  }
  const dnnl_status_t status = dnnl_primitive_execute(block->primitive, stream, OPERANDS, args);
  MZ_ASSERT(status == dnnl_success);
}

void mz_onednn_run(mz_onednn *plan, const mz_product *product) {
  mz_onednn_one_thread();
  if (!product->add) { /* C = start */
    mz_product start = *product;
    start.term_count = 0;
    start.relu = false;
    mz_kernels_get()->product(&start);
  }
  const int total = plan->by_depth ? product->depth : product->rows;
  for (int t = 0; t < product->term_count; t++) {
    int at = 0;
    for (const matmul_block *block = plan->blocks; at < total;) {
      if (block->size > total - at) {
        block++;
        continue;
      }
      const float *a = product->terms[t].a + at * (plan->by_depth ? product->a_step : product->a_row);
      const float *b = product->terms[t].b + (plan->by_depth ? at * product->b_stride : 0);
      block_run(block, plan->stream, a, b, product->c + (plan->by_depth ? 0 : at * product->c_stride));
      at += block->size;
    }
  }
}
