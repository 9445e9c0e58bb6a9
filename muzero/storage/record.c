/* Phases and evaluations as JSON: the keys of the command line's contract. */
#include "muzero/trainer.h"
#include "muzero/knobs.h"

const char *mz_reason_name(mz_reason reason) {
  static const char *const names[] = {"", "rounds", "env_steps", "updates", "time", "score", "budget", "interrupted"};
  return names[reason];
}

cJSON *mz_phase_to_json(const mz_phase *p) {
  cJSON *o = cJSON_CreateObject();
  cJSON_AddStringToObject(o, "event", "phase");
  const struct {
    const char *key;
    double value;
  } before[] = {
      {"phase", (double)p->phase},
      {"rounds", (double)p->counters.rounds},
      {"env_steps", (double)p->counters.env_steps},
      {"sims", (double)p->counters.simulations},
      {"updates", (double)p->counters.updates},
      {"episodes", (double)p->counters.episodes},
      {"wall_s", p->wall_s},
      {"score", p->score},
      {"loss", p->loss},
      {"policy_loss", p->policy_loss},
      {"value_loss", p->value_loss},
      {"reward_loss", p->reward_loss},
      {"gradient_norm", p->gradient_norm},
      {"learning_rate", p->learning_rate},
      {"env_steps_per_s", p->env_steps_per_s},
      {"sims_per_s", p->sims_per_s},
      {"updates_per_s", p->updates_per_s},
      {"mean_return", p->mean_return},
      {"mean_length", p->mean_length},
      {"policy_entropy", p->policy_entropy},
      {"value_bias", p->value_bias},
      {"value_correlation", p->value_correlation},
      {"latent_spread", p->latent_spread},
      {"model_error", p->model_error},
      {"busy", p->busy},
      {"actor_busy", p->actor_busy},
      {"batch_busy", p->batch_busy},
      {"learner_busy", p->learner_busy},
      {"learner_wait", p->learner_wait},
      {"batch_wait", p->batch_wait},
      {"positions", (double)p->positions},
      {"replay_bytes", (double)p->replay_bytes},
      {"replay_raw_bytes", (double)p->replay_raw},
      {"replay_packed_bytes", (double)p->replay_packed},
      {"replay_spilled_bytes", (double)p->replay_spilled},
      {"rss_bytes", (double)p->rss_bytes},
      {"phase_s", p->phase_s},
      {"round_s", p->round_s},
      {"evaluation_s", p->evaluation_s},
      {"cpu_s", p->cpu_s},
      {"reserved_core_s", p->reserved_core_s},
      {"gib_s", p->gib_s},
      {"cost", p->cost},
  };
  mz_json_add_u64_hex(o, "digest", p->digest);
  for (size_t i = 0; i < sizeof before / sizeof before[0]; i++)
    cJSON_AddNumberToObject(o, before[i].key, before[i].value); /* NAN: null */
  cJSON_AddBoolToObject(o, "evaluated", p->evaluated);
  if (p->warning) cJSON_AddStringToObject(o, "warning", p->warning);
  if (p->action) {
    cJSON_AddStringToObject(o, "strategy", p->strategy);
    cJSON_AddStringToObject(o, "action", p->action);
    cJSON_AddStringToObject(o, "reason", p->reason);
  }
  cJSON_AddItemToObject(o, "plan", mz_knobs_to_json(&p->plan));
  return o;
}

static void add_tally(cJSON *seats, const char *seat, const mz_tally *t, bool points) {
  cJSON *o = cJSON_CreateObject();
  cJSON_AddStringToObject(o, "seat", seat);
  cJSON_AddNumberToObject(o, "games", (double)t->games);
  cJSON_AddNumberToObject(o, "win", (double)t->win);
  cJSON_AddNumberToObject(o, "draw", (double)t->draw);
  cJSON_AddNumberToObject(o, "loss", (double)t->loss);
  cJSON_AddNumberToObject(o, "mean_return", t->games ? t->return_sum / (double)t->games : 0);
  if (points) cJSON_AddNumberToObject(o, "points", t->games ? ((double)t->win + 0.5 * (double)t->draw) / (double)t->games : 0);
  cJSON_AddItemToArray(seats, o);
}

cJSON *mz_evaluation_to_json(const mz_evaluation *e, int players, int64_t simulations, const char *opponent) {
  cJSON *o = cJSON_CreateObject();
  const struct {
    const char *key;
    double value;
  } numbers[] = {
      {"games", (double)e->games}, {"mean_return", e->mean_return}, {"std", e->std},
      {"ci95", e->ci95},           {"win", (double)e->win},         {"draw", (double)e->draw},
      {"loss", (double)e->loss},   {"sims", (double)simulations},   {"moves", (double)e->moves},
  };
  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) cJSON_AddNumberToObject(o, numbers[i].key, numbers[i].value);
  cJSON *seats = cJSON_AddArrayToObject(o, "by_seat");
  add_tally(seats, "first", &e->by_seat[0], players == 2);
  if (players == 2) {
    add_tally(seats, "second", &e->by_seat[1], true);
    cJSON_AddNumberToObject(o, "points", e->points.estimate);
    const double interval[2] = {e->points.low, e->points.high};
    cJSON_AddItemToObject(o, "points_ci95", cJSON_CreateDoubleArray(interval, 2));
  }
  if (opponent)
    cJSON_AddStringToObject(o, "opponent", opponent);
  else
    cJSON_AddNullToObject(o, "opponent");
  return o;
}
