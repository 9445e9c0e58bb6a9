/* The nodes of one op on two tapes with the same numbers: on the reference backend and on the twin's device. Nodes of other
 * ops are not run; what they would have written is made up. Include after cmocka.h. */
#pragma once
#include "networks/cuda/access.cuh"
#include <map>
#include <vector>

#define OK(call) assert_int_equal(call, cudaSuccess)

/* The op under test. */
typedef struct pair_op {
  mz_op op;
  mz_status (*prepare)(mz_tape *tape, mz_node *node);
  void (*release)(mz_tape *tape, mz_node *node);
  mz_status (*forward)(mz_tape *tape, mz_node *node, int rows);
  mz_status (*backward)(mz_tape *tape, mz_node *node, int rows);
} pair_op;

typedef struct pair_case {
  const char *name;
  void (*define)(mz_params *params);
  void (*record)(mz_tape *tape); /* marks values of the device's tape as bf16, by pair_is_device */
  int rows;
  bool with_backward;
  int table_rows; /* index inputs are below it */
} pair_case;

typedef struct tape_pair {
  const pair_case *own_case;
  const pair_op *op;
  mz_params params;
  mz_tape *reference, *device; /* the device's values, parameters and lists are in the twin's memory */
  mz_cuda_lane lane;
  std::map<const void *, void *> memory;         /* of values and lists, by where they would be on the host */
  std::vector<double> weights, gradients;        /* of the reference */
  std::vector<std::vector<float>> data, seeds;   /* by value: what is made up for data and gradients; empty: nothing is */
  std::vector<std::vector<double>> wanted;       /* by value: what the reference's node wrote */
  std::vector<std::vector<unsigned char>> found; /* and the device's; later nodes may write over it */
  std::vector<std::vector<int32_t>> indices;
} tape_pair;

/* The tape is to be the device's: values may be marked as bf16. */
bool pair_is_device(const mz_tape *tape);

void pair_lane_open(mz_cuda_lane *lane, size_t workspace_bytes);
void pair_lane_close(mz_cuda_lane *lane);

void pair_open(tape_pair *pair, const pair_op *op, const pair_case *own_case);
void pair_close(tape_pair *pair);

/* Runs rows `from` … of what was made up as the device's first rows; everything else that the device has is NaN. */
void pair_forward(tape_pair *pair, int from, int rows);
void pair_backward(tape_pair *pair, int from, int rows);
/* Forward of all rows as a graph that is captured once and replayed. Returns the last node's rows. */
std::vector<unsigned char> pair_replay(tape_pair *pair);
/* The reference's, after the device's: once a node has run, the reference takes over what the device has, so that later nodes
 * read the same and signs agree. */
void pair_reference_forward(tape_pair *pair, int rows);
void pair_reference_backward(tape_pair *pair, int rows);

/* The first `rows` rows of a value's gradient on the device. */
std::vector<unsigned char> pair_gradient_bytes(const tape_pair *pair, int value, int rows);
/* Bytes of data or of a gradient as numbers. */
std::vector<double> pair_numbers(const tape_pair *pair, int value, bool gradient, const std::vector<unsigned char> &bytes);
/* The reference's gradient. */
std::vector<double> pair_wanted_gradient(const tape_pair *pair, int value, int rows);
std::vector<float> pair_parameter_gradient(const tape_pair *pair, int param);

/* ‖found − wanted‖ / ‖wanted‖. */
double pair_distance(const std::vector<double> &found, const std::vector<double> &wanted);

/* Compares everything with the reference, for the most rows and for fewer; rows among others with rows alone, a second run and a
 * replay with the first, bit for bit. */
void pair_check(const pair_op *op, const pair_case *own_case);
/* Lets every call fail once that preparing and running the nodes makes, and wants to be told of each. */
void pair_check_failures(const pair_op *op, const pair_case *own_case);
