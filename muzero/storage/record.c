/* Phases and evaluations as JSON: the keys of the command line's contract. */
#include "muzero/knobs.h"
#include "muzero/storage/phase_metric.h"

const char *mz_reason_name(mz_reason reason) {
  static const char *const names[] = {"", "rounds", "env_steps", "updates", "time", "score", "budget", "interrupted"};
  return names[reason];
}

cJSON *mz_phase_to_json(const mz_phase *p) {
  cJSON *o = cJSON_CreateObject();
  cJSON_AddStringToObject(o, "event", "phase");
  mz_json_add_u64_hex(o, "digest", p->digest);
  const mz_phase_metric *metric;
  for (int i = 0; (metric = mz_phase_metric_row(i)); i++)
    cJSON_AddNumberToObject(o, metric->key, mz_phase_metric_read(metric, p)); /* NAN: null */
  cJSON_AddBoolToObject(o, "evaluated", p->evaluated);
  if (p->warning) cJSON_AddStringToObject(o, "warning", p->warning);
  if (p->action) {
    cJSON_AddStringToObject(o, "strategy", p->strategy);
    cJSON_AddStringToObject(o, "action", p->action);
    cJSON_AddStringToObject(o, "reason", p->reason);
  }
  mz_json_add(o, "plan", mz_knobs_to_json(&p->plan));
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
  cJSON_AddNumberToObject(o, "value_positions", (double)e->values.positions);
  cJSON_AddNumberToObject(o, "value_bias", mz_foresight_bias(&e->values)); /* null without positions */
  cJSON_AddNumberToObject(o, "value_correlation", mz_foresight_correlation(&e->values));
  cJSON *seats = cJSON_AddArrayToObject(o, "by_seat");
  add_tally(seats, "first", &e->by_seat[0], players == 2);
  if (players == 2) {
    add_tally(seats, "second", &e->by_seat[1], true);
    cJSON_AddNumberToObject(o, "points", e->points.estimate);
    const double interval[2] = {e->points.low, e->points.high};
    mz_json_add(o, "points_ci95", cJSON_CreateDoubleArray(interval, 2));
  }
  if (opponent)
    cJSON_AddStringToObject(o, "opponent", opponent);
  else
    cJSON_AddNullToObject(o, "opponent");
  return o;
}
