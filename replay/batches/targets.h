/* n-step targets over a segment (z_t of MuZero, Schrittwieser et al. 2020, section 3 and appendix). Two players: rewards and values
 * of the other player count negatively. */
#pragma once
#include "replay/replay_settings.h"
#include "replay/segments/segment.h"

typedef struct mz_target {
  float value, reward; /* of state t; reward caused by the move into it (step 0: 0) */
  /* false: the loss is masked. value: not after a random move, and 0 then; policy: the stored one */
  bool value_known, reward_known, policy_known;
} mz_target;

/* How rewards and root values become a target. */
typedef struct mz_target_rule {
  int td_steps; /* 0: to the end */
  float discount, lambda;
  bool zero_sum; /* what the other player gains or expects counts negatively */
} mz_target_rule;

mz_target_rule mz_target_rule_of(const mz_replay_settings *settings, const mz_spec *spec);

/* z_t = Σ_{i<n} γ^i r_{t+i} + γ^n ν_{t+n}; a window that runs past an open or truncated end stops at the last stored state
 * and bootstraps from its root value; past a terminal state everything is 0. n = 0: to the end. t may exceed the segment: then
 * terminated → value 0 known, policy unknown; otherwise nothing is known but the reward of the last stored move, at t = length.
 * λ < 1: the λ-return within that window (Sutton & Barto 2018, section 12.1), of the stored root values between:
 * z_t = r_t + γ ((1 − λ) ν_{t+1} + λ z_{t+1}).
 * `values`: root values of the states from t on (segment->value + t, or fresher ones from reanalyze). */
mz_target mz_target_at(const mz_segment *segment, int t, const float *values, const mz_target_rule *rule);

/* The states whose root values the target of t takes: first … last; none where last < first. They never go back from t to t + 1. */
typedef struct mz_target_states {
  int first, last;
} mz_target_states;
mz_target_states mz_target_states_of(const mz_segment *segment, int t, const mz_target_rule *rule);

/* Turns a target of state t, whose value is of the player at t and whose reward of the player at t − 1, into one of the player at
 * `root`, for networks that speak of that player through the whole unroll (networks/model/model.h, MZ_TURNS_TOLD). Returns whether the
 * player at t is another; *known: whether the segment says so. root: stored, root ≤ t. */
bool mz_target_view(const mz_segment *segment, int root, int t, mz_target *target, bool *known);
