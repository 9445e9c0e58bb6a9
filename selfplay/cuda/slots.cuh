/* The slots of a search on a device: their trees, and the kernels that advance them, one thread for each slot (simulation.h, roots.h). A
 * slot's row in the model's batches is its number. A slot whose simulation needs no answer, since max_depth met an expanded node, and an
 * idle slot have rows, too: they start from the slot's root and end at a latent that nothing else uses. */
#pragma once
#include "networks/cuda/access.cuh"
extern "C" {
#include "selfplay/search/roots.h"
#include "selfplay/search/turns.h"
#include "selfplay/search/search.h"
}

/* All pointers are to the device's memory; a kernel gets the struct by value. */
typedef struct mz_cuda_slots {
  mz_tree tree;
  mz_roots roots;
  mz_scorer scorer;
  bool gumbel;
  int depth_max;
  float *score;         /* [slots][actions], scratch */
  int32_t *simulation;  /* [slots]: the one under way; 0: the slot idles */
  int32_t *leaf;        /* [slots]: where it ends */
  int32_t *in, *out;    /* [slots]: latents, numbered slot · nodes + node, that it starts from and ends at */
  int32_t *action;      /* [slots]: from the one to the other */
  int32_t *simulations; /* [1]: how many this search has */
  /* Games with MZ_TURNS_TOLD; NULL for others: */
  float *discount; /* [slots][nodes], as in mz_slot */
  bool *away;      /* [slots][nodes], as in mz_turn_answer; of roots false */
} mz_cuda_slots;

/* The model's answers, rows by slot. */
typedef struct mz_cuda_heads {
  const float *policy;         /* [rows][policy_stride]: logits */
  const float *value, *reward; /* [rows][MZ_LANES], in column 0; reward: NULL from the initial inference */
  const float *turn;           /* likewise; NULL where the model tells no turns, too */
  int policy_stride;
} mz_cuda_heads;

/* A root as the search is told of it, without its observation; the legal mask, [actions] bytes, follows. */
typedef struct mz_cuda_question {
  mz_rng rng;
  int32_t noise;
} mz_cuda_question;

/* A root's result; policy, visits and prior, [actions] each, follow. */
typedef struct mz_cuda_answer {
  int32_t selected;
  float value, raw_value;
} mz_cuda_answer;

/* Bytes from one record to the next. */
static inline __host__ __device__ size_t mz_cuda_question_bytes(int actions) {
  return sizeof(mz_cuda_question) + ((size_t)actions + 3) / 4 * 4;
}
static inline __host__ __device__ size_t mz_cuda_answer_bytes(int actions) {
  return sizeof(mz_cuda_answer) + (size_t)actions * (2 * sizeof(float) + sizeof(int32_t));
}

/* ---- kernels ---- */

/* Takes the initial inference's answers; begins simulation 1 of slots 0 … n−1, and lets those from n to rows−1 idle. */
mz_status mz_cuda_slots_begin(const mz_cuda_lane *lane, const mz_cuda_slots *slots, const mz_cuda_heads *heads,
                              const void *questions, int rows, int n, int simulations);
/* Takes the recurrent inference's answers for the simulation under way and begins the next one, unless it was the last. */
mz_status mz_cuda_slots_finish(const mz_cuda_lane *lane, const mz_cuda_slots *slots, const mz_cuda_heads *heads, int rows);
/* Writes the answers of slots 0 … n−1. */
mz_status mz_cuda_slots_answer(const mz_cuda_lane *lane, const mz_cuda_slots *slots, void *answers, int n);

/* ---- within kernels ---- */

/* Returns a slot as simulation.h and roots.h see it. */
static inline __device__ mz_slot mz_cuda_slot_at(const mz_cuda_slots &s, const mz_scorer *scorer, int index) {
  mz_slot slot;
  slot.index = index;
  slot.root = mz_tree_at(&s.tree, index, 0);
  slot.actions = s.tree.actions;
  slot.gumbel = s.gumbel;
  slot.scorer = scorer;
  slot.score = s.score + (size_t)index * (size_t)s.tree.actions;
  slot.discount = s.discount == nullptr ? nullptr : s.discount + (size_t)index * (size_t)s.tree.nodes;
  return slot;
}

static inline __device__ void mz_cuda_slot_select(const mz_cuda_slots &s, mz_slot slot, int simulation) {
  const mz_selection selection = mz_simulation_select(slot, simulation, s.depth_max);
  const int first = slot.index * s.tree.nodes;
  s.simulation[slot.index] = simulation;
  s.leaf[slot.index] = selection.leaf;
  s.in[slot.index] = first + (selection.parent == MZ_NO_NODE ? 0 : selection.parent);
  s.out[slot.index] = first + simulation; /* the leaf; without a parent, a node that stays unused */
  s.action[slot.index] = selection.action;
}

/* Expands the slot's leaf. turn: where the model tells none, anything. */
static inline __device__ void mz_cuda_slot_expand(const mz_cuda_slots &s, mz_slot slot, int leaf, const float *policy,
                                                  float value, float reward, float turn) {
  if (slot.discount != nullptr) {
    bool *const away = s.away + (size_t)slot.index * (size_t)s.tree.nodes;
    const int parent = mz_tree_at(&s.tree, slot.index, leaf)->parent;
    const mz_turn_answer answer = mz_turn_answer_of(away[parent], turn, value, reward, s.scorer.discount);
    away[leaf] = answer.away;
    slot.discount[leaf] = answer.discount;
    value = answer.value;
    reward = answer.reward;
  }
  mz_simulation_expand(slot, leaf, policy, value, reward);
}

/* Ends the slot's simulation with the model's answers and begins the next one; an idle slot stays as it is. */
static inline __device__ void mz_cuda_slot_finish(const mz_cuda_slots &s, int index, const float *policy, float value,
                                                  float reward, float turn) {
  const int simulation = s.simulation[index], leaf = s.leaf[index];
  if (simulation == 0) return;
  const mz_scorer scorer = s.scorer;
  const mz_slot slot = mz_cuda_slot_at(s, &scorer, index);
  if (leaf == simulation) mz_cuda_slot_expand(s, slot, leaf, policy, value, reward, turn);
  mz_simulation_back_up(slot, leaf);
  if (simulation == *s.simulations) return;
  mz_roots_choose(&s.roots, slot);
  mz_cuda_slot_select(s, slot, simulation + 1);
}
