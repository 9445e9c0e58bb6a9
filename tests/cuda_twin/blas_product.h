/* A product as cuBLASLt's twin (blas_twin.cpp) sees it: its description, the algorithms there are, how each computes. */
#pragma once
#include <cstddef>
#include <cstdint>
#include <cublasLt.h>

struct blas_operation {
  uint32_t kind;
  cublasOperation_t a, b;
  uint32_t epilogue;
  const float *bias;
};

struct blas_layout {
  uint32_t kind;
  uint64_t rows, columns;
  int64_t stride;
};

/* The contents of an algorithm's 64 bytes. */
struct blas_algorithm {
  uint32_t kind;
  int32_t id, parts; /* of the sum */
  uint32_t reduction;
  uint64_t arithmetic;
  uint32_t columns_min; /* of op(b) */
  uint32_t workspace_mib;
  uint32_t columns_named; /* for more, the heuristics do not name it */
  size_t workspace_bytes() const { return (size_t)workspace_mib << 20; }
  bool is_of_few() const { return columns_named != UINT32_MAX; } /* adds from the last to the first */
};
static_assert(sizeof(blas_algorithm) <= sizeof(cublasLtMatmulAlgo_t));

enum { BLAS_ALGORITHM = 0x616c676f, BLAS_ALGORITHMS = 8, BLAS_ALIGNMENT = 16 };

/* In the order in which the heuristics name them: TF32; parts added as they come, which does not repeat; parts rounded to the
 * result's type; too much workspace; a least number of columns; parts added in order; for few columns, adding in another order than
 * the next; plain. */
extern const blas_algorithm blas_algorithms[BLAS_ALGORITHMS];

/* d = alpha · op(a) op(b) + beta · c, described without data. */
struct blas_product {
  blas_operation op;
  blas_layout a, b, c, d;
  uint64_t m() const { return d.rows; }
  uint64_t n() const { return d.columns; }
  uint64_t k() const { return op.a == CUBLAS_OP_N ? a.columns : a.rows; }
  bool is_consistent() const;
  bool can_run(const blas_algorithm &algorithm) const;
};

struct blas_task {
  blas_product product;
  blas_algorithm algorithm;
  float alpha, beta;
  const float *a, *b, *c;
  float *d;
  void run() const;
};
