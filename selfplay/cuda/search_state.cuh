/* A device's search from inside: what search_memory.cu (creation) and search.cu (what goes to the device, runs there and comes back)
 * share. */
#pragma once
#include "networks/cuda/sequence.cuh"
#include "selfplay/cuda/search.cuh"

enum { MZ_CUDA_SEARCH_SEQUENCES = 16 }; /* for 1, 2, 4 … rows */

struct mz_device_search {
  mz_infer *infer;
  mz_search_settings settings;
  mz_obs_kind obs_kind;
  size_t obs_bytes; /* one observation's */
  mz_turns turns;
  int tile; /* slots */
  mz_cuda_slots slots;
  int32_t *root_latents; /* [slots]: slot · nodes */
  void *questions;       /* observations, one behind the other, then records of mz_cuda_question */
  void *answers;         /* records of mz_cuda_answer */
  void *block;           /* all of these, in the device's memory */
  /* The host's: */
  unsigned char *host_questions, *host_answers;
  int32_t *host_schedules, *host_root_latents;
  void *host_block;
  int scheduled;                                        /* simulations that the device's schedules are for */
  const void *weights;                                  /* that the sequences read */
  mz_cuda_sequence sequences[MZ_CUDA_SEARCH_SEQUENCES]; /* a simulation's, by the logarithm of its rows */
  bool is_small;                                        /* the sequences are not used then */
  mz_cuda_small_model small;
};

/* Sizes of what n slots have to say and to hear, and of a schedule for every number of considered actions. */
static inline size_t mz_cuda_observations_bytes(const mz_device_search *s, int n) {
  return ((size_t)n * s->obs_bytes + MZ_TREE_LINE - 1) / MZ_TREE_LINE * MZ_TREE_LINE;
}

static inline size_t mz_cuda_questions_bytes(const mz_device_search *s, int n) {
  return mz_cuda_observations_bytes(s, n) + (size_t)n * mz_cuda_question_bytes(s->slots.tree.actions);
}

static inline size_t mz_cuda_answers_bytes(const mz_device_search *s, int n) {
  return (size_t)n * mz_cuda_answer_bytes(s->slots.tree.actions);
}

static inline size_t mz_cuda_schedules_length(const mz_device_search *s) {
  if (!s->slots.gumbel) return 0;
  return ((size_t)s->slots.roots.considered_max + 1) * (size_t)s->settings.simulations;
}
