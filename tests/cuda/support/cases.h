/* The cases of tests/networks for tests in C++, which their headers are not written in. Include after cmocka.h. */
#pragma once
#ifdef __cplusplus
extern "C" {
#endif
#include "tests/networks/net.h"

/* Cases 0 … are cases.h's, then board_cases.h's. */
int test_case_count(void);
const char *test_case_name(int number);
bool test_case_is_board(int number);
net *test_case_open(int number, const mz_backend *backend, net_size size, int rows, uint64_t seed);

/* A tape without backward that has every op of inference: on a board, with a categorical of NET_BINS bins. Values that are
 * rounded to bfloat16 come last. */
net *test_inference_open(const mz_backend *backend, net_size size, int rows, uint64_t seed);

/* A tape on a board that trains, with values that are rounded to bfloat16 where no convolution reads them: by a norm, and as a
 * copy. */
net *test_rounding_open(const mz_backend *backend, net_size size, int rows, uint64_t seed);

/* A tape on a board that trains, on which a norm, with statistics of two kinds, and a table of actions are used dozens of times. */
net *test_many_uses_open(const mz_backend *backend, net_size size, int rows, uint64_t seed);

#ifdef __cplusplus
}
#endif
