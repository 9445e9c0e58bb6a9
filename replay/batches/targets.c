#include "replay/batches/targets.h"
#include "replay/segments/moves.h"

mz_target_rule mz_target_rule_of(const mz_replay_settings *settings, const mz_spec *spec) {
  return (mz_target_rule){(int)settings->td_steps, (float)settings->discount, (float)settings->lambda, mz_spec_zero_sum(spec)};
}

/* Moves in the window of t < length: rewards of t … t+moves−1 count, then the bootstrap, if any. */
static int window_moves(const mz_segment *segment, int t, int td_steps) {
  int last = segment->length - (segment->end == MZ_END_TERMINATED ? 0 : 1); /* the furthest state a window may end in */
  return td_steps > 0 && td_steps < last - t ? td_steps : last - t;
}

mz_target_states mz_target_states_of(const mz_segment *segment, int t, const mz_target_rule *rule) {
  if (t >= segment->length) return (mz_target_states){t, t - 1};
  const int end = t + window_moves(segment, t, rule->td_steps), last = end < segment->length ? end : segment->length - 1;
  return (mz_target_states){rule->lambda < 1 && end > t ? t + 1 : end, last};
}

/* Backwards (Horner), from the view of the player at t. */
static float window_value(const mz_segment *segment, int t, const float *values, const mz_target_rule *rule) {
  const int end = t + window_moves(segment, t, rule->td_steps);
  const uint8_t player = segment->player[t];
  const double lambda = (double)rule->lambda;
  double value = 0;
  if (end < segment->length) {
    const double bootstrap = (double)values[end - t];
    value = rule->zero_sum && segment->player[end] != player ? -bootstrap : bootstrap;
  }
  for (int i = end - 1; i >= t; i--) {
    const double sign = rule->zero_sum && segment->player[i] != player ? -1 : 1;
    value = sign * (double)segment->reward[i] + (double)rule->discount * value;
    if (i > t && lambda < 1) value = lambda * value + (1 - lambda) * sign * (double)values[i - t];
  }
  return (float)value;
}

static bool has_policy(const mz_segment *segment, int t) {
  const uint32_t first = segment->policy_start[t];
  return !mz_policy_none(segment->policy_weight + first, (int)(segment->policy_start[t + 1] - first));
}

mz_target mz_target_at(const mz_segment *segment, int t, const float *values, const mz_target_rule *rule) {
  bool stored = t < segment->length, terminated = segment->end == MZ_END_TERMINATED;
  mz_target target = {
      .value_known = stored ? !mz_value_none(segment->value[t]) : terminated,
      .reward_known = t > 0 && (t <= segment->length || terminated),
      .policy_known = stored && has_policy(segment, t),
  };
  if (t > 0 && t <= segment->length) target.reward = segment->reward[t - 1];
  if (stored && target.value_known) target.value = window_value(segment, t, values, rule);
  return target;
}

bool mz_target_view(const mz_segment *segment, int root, int t, mz_target *target, bool *known) {
  const uint8_t player = segment->player[root];
  const bool away = t < segment->length && segment->player[t] != player;
  if (away) target->value = -target->value;
  if (t > 0 && t <= segment->length && segment->player[t - 1] != player) target->reward = -target->reward;
  *known = t < segment->length;
  return away;
}
