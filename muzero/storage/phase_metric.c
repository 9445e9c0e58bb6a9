#include "muzero/storage/phase_metric.h"
#include <string.h>

#define INT(key, field, rule, unit, help)                                                                                        \
  { key, MZ_METRIC_INT, offsetof(mz_phase, field), MZ_METRIC_##rule, unit, help }
#define UINT(key, field, rule, unit, help)                                                                                       \
  { key, MZ_METRIC_UINT, offsetof(mz_phase, field), MZ_METRIC_##rule, unit, help }
#define FLOAT(field, rule, unit, help)                                                                                           \
  { #field, MZ_METRIC_FLOAT, offsetof(mz_phase, field), MZ_METRIC_##rule, unit, help }

static const mz_phase_metric rows[] = {
    INT("phase", phase, LAST, "", "number of the phase, from 1"),
    INT("rounds", counters.rounds, LAST, "", "rounds since the run began"),
    INT("env_steps", counters.env_steps, LAST, "", "moves of self-play since the run began"),
    INT("sims", counters.simulations, LAST, "", "simulations of self-play since the run began"),
    INT("updates", counters.updates, LAST, "", "updates of the network since the run began"),
    INT("batch_size", batch_size, LAST, "rows", "rows of a training batch"),
    INT("loop_count", loop_count, LAST, "", "updates a round"),
    INT("episodes", counters.episodes, LAST, "", "games of self-play that ended since the run began"),
    FLOAT(wall_s, LAST, "s", "wall time since the run began, over all its invocations"),
    FLOAT(score, EVALUATED, "", "the last evaluation's score; null before the first"),
    FLOAT(loss, MEAN, "nats",
          "weighted sum of the loss's terms, those of the unrolled steps divided by `unroll_steps`; mean over the updates"),
    FLOAT(policy_loss, MEAN, "nats", "cross-entropy of the policy, summed over the root and the unrolled steps"),
    FLOAT(value_loss, MEAN, "nats", "cross-entropy of the value, summed likewise"),
    FLOAT(reward_loss, MEAN, "nats", "cross-entropy of the reward, summed over the unrolled steps"),
    FLOAT(prequential_loss, MEAN, "nats",
          "policy, value and reward loss of rows from games that no update was trained on; far above policy, value and "
          "reward loss together: what is learned does not carry over to new games"),
    FLOAT(noise_scale, MEAN, "rows", "batch size at which the gradient's noise is as large as the gradient, from its shards"),
    FLOAT(gradient_norm, MEAN, "", "norm of the gradient before it is clipped"),
    FLOAT(learning_rate, LAST, "", "at the phase's end"),
    FLOAT(env_steps_per_s, MEAN, "1/s", "moves of self-play per second of wall time"),
    FLOAT(sims_per_s, MEAN, "1/s", "simulations of self-play per second of wall time"),
    FLOAT(updates_per_s, MEAN, "1/s", "updates per second of wall time"),
    FLOAT(mean_return, MEAN, "", "return of the self-play games that ended in the phase"),
    FLOAT(mean_length, MEAN, "moves", "length of the self-play games that ended in the phase"),
    FLOAT(policy_entropy, MEAN, "nats", "entropy of the policy that search gives in self-play"),
    FLOAT(value_bias, MEAN, "", "predicted value minus its target"),
    FLOAT(value_correlation, MEAN, "", "correlation of predicted values with their targets"),
    FLOAT(eval_value_bias, EVALUATED, "",
          "value minus the discounted return that followed it, in the evaluation's games that were not truncated"),
    FLOAT(eval_value_correlation, EVALUATED, "", "correlation of these values and returns"),
    FLOAT(clamped_targets, MEAN, "", "share of value and reward targets beyond the network's range, which are clamped to it"),
    FLOAT(latent_spread, MEAN, "",
          "standard deviation of hidden states over the rows of a batch; near 0 the network does not tell them apart"),
    FLOAT(model_error, MEAN, "", "policy and value loss after the last unroll step, divided by that at the root"),
    FLOAT(busy, MEAN, "", "share of the granted cores' time that the stages spend at work"),
    FLOAT(actor_busy, MEAN, "threads", "self-play at work"),
    FLOAT(batch_busy, MEAN, "threads", "building of batches at work"),
    FLOAT(learner_busy, MEAN, "threads", "learner at work"),
    FLOAT(learner_wait, MEAN, "threads", "learner waiting for a batch"),
    FLOAT(batch_wait, MEAN, "threads", "building of batches waiting for room in the queue"),
    INT("env_workers", plan.env_workers, LAST, "", "processes that play the environment; 0: none does"),
    FLOAT(env_busy, MEAN, "processes", "of these at work, from question to answer, evaluation included"),
    FLOAT(env_wait, MEAN, "threads", "self-play and evaluation waiting for their answers"),
    INT("positions", positions, LAST, "", "positions in replay"),
    INT("replay_bytes", replay_bytes, LAST, "bytes", "replay, as it is kept"),
    INT("replay_raw_bytes", replay_raw, LAST, "bytes", "its part in memory"),
    INT("replay_packed_bytes", replay_packed, LAST, "bytes", "its part in memory, compressed"),
    INT("replay_spilled_bytes", replay_spilled, LAST, "bytes", "its part on disk"),
    UINT("rss_bytes", rss_bytes, LAST, "bytes", "resident memory, that of processes that play the environment included"),
    FLOAT(phase_s, SUM, "s", "wall time of the phase"),
    FLOAT(round_s, SUM, "s", "wall time of its rounds"),
    FLOAT(evaluation_s, SUM, "s", "wall time of its evaluation, without the 100 fresh games that confirm a score or close a run"),
    FLOAT(cpu_s, SUM, "s", "CPU time of the process and of those that play its environment"),
    FLOAT(env_cpu_s, SUM, "s", "its part of the processes that play the environment"),
    FLOAT(reserved_core_s, SUM, "core s", "cores that the plan reserves, over the phase"),
    FLOAT(gib_s, SUM, "GiB s", "resident memory over the phase"),
    FLOAT(cost, SUM, "price units", "what is reserved, by `prices.*`"),
};
enum { ROWS = sizeof rows / sizeof rows[0] };

const mz_phase_metric *mz_phase_metric_row(int index) { return index >= 0 && index < ROWS ? &rows[index] : NULL; }

const mz_phase_metric *mz_phase_metric_find(const char *key) {
  for (int i = 0; i < ROWS; i++)
    if (strcmp(rows[i].key, key) == 0) return &rows[i];
  return NULL;
}

double mz_phase_metric_read(const mz_phase_metric *metric, const mz_phase *phase) {
  const char *at = (const char *)phase + metric->offset;
  switch (metric->type) {
    case MZ_METRIC_INT: return (double)*(const int64_t *)at;
    case MZ_METRIC_UINT: return (double)*(const uint64_t *)at;
    default: return *(const double *)at;
  }
}
