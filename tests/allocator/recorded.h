/* Runs of the print shop that are recorded in a ledger, in a folder of their own. */
#pragma once
#include "allocator/records/ledger.h"
#include "base/file/file.h"
#include "base/log.h"
#include "simulated.h"
#include <stdlib.h>

static char folder[64], path[96];
static int warnings;

static inline void count_warning(void *context, mz_log_level level, const char *line) {
  (void)context;
  warnings += level == MZ_LOG_WARNING && strstr(line, "the last line was cut off") != NULL;
}

static inline int make_folder(void **state) {
  (void)state;
  snprintf(folder, sizeof folder, "/tmp/mz_test_ledger_XXXXXX");
  if (mkdtemp(folder) == NULL) return 1;
  snprintf(path, sizeof path, "%s/ledger.jsonl", folder);
  warnings = 0;
  mz_log_set_sink(count_warning, NULL);
  return 0;
}

static inline int remove_folder(void **state) {
  (void)state;
  char command[128];
  mz_log_set_sink(NULL, NULL);
  snprintf(command, sizeof command, "rm -r %s", folder);
  return system(command);
}

#define ok(expr)                                                                                                                 \
  do {                                                                                                                           \
    if ((expr) != MZ_OK) fail_msg("%s", mz_message());                                                                           \
  } while (0)

/* ---- runs that are recorded ---- */

typedef struct run {
  shop shop;
  mz_allocator_options options;
  mz_allocator *allocator;
  mz_ledger ledger;
  int actions[MZ_DECISION_REVERT + 1], refused, given_up;
  double took_s; /* that a decision is said to take; 0: nothing is said */
} run;

static inline void open_section(run *r, const mz_plan *start, const mz_observation *history, int count) {
  mz_decision decision;
  r->options = shop_options(&r->shop, start);
  r->options.history = history;
  r->options.history_count = count;
  ok(mz_allocator_create(&r->allocator, &r->options));
  mz_allocator_begin(r->allocator, r->shop.phase, r->shop.round, &decision);
  ok(mz_ledger_begin(&r->ledger, &r->options, r->shop.phase, r->shop.round));
  ok(mz_ledger_append(&r->ledger, &r->shop.pipeline, &decision, NULL, 0, NULL, NULL));
}

/* A new ledger, from the plain plan on. */
static inline run open_run(const char *strategy) {
  run r = {.shop = shop_open(strategy, 0.02, 1)};
  const mz_plan plain = shop_plain();
  ok(mz_ledger_open(&r.ledger, folder, 0));
  open_section(&r, &plain, NULL, 0);
  return r;
}

static inline mz_decision record_phase(run *r, double (*slowness)(const mz_plan *), const char *refuse) {
  shop_phase work;
  mz_decision decision;
  shop_work(&r->shop, r->allocator, slowness, &work);
  mz_allocator_decide(r->allocator, &work.window, &decision);
  if (r->took_s > 0) mz_allocator_spent(r->allocator, r->took_s, &decision);
  const char *refused = decision.action == MZ_DECISION_TRY ? refuse : NULL;
  if (refused != NULL) mz_allocator_refused(r->allocator, refused, &decision);
  ok(mz_ledger_append(&r->ledger, &r->shop.pipeline, &decision, work.rounds, work.round_count, &work.window, refused));
  r->actions[decision.action]++;
  r->refused += refused != NULL;
  r->given_up += work.given_up > 0;
  return decision;
}

static inline void record_phases(run *r, int count) {
  for (int i = 0; i < count; i++) record_phase(r, NULL, NULL);
}

static inline void close_section(run *r) {
  mz_allocator_free(r->allocator);
  r->allocator = NULL;
}

static inline void close_run(run *r) {
  close_section(r);
  mz_ledger_close(&r->ledger);
}

/* The model does not know it: whatever has more than two presses is bad. */
static inline double slow_with_presses(const mz_plan *plan) { return plan->values[PRESSES] > 2 ? 4 : 1; }

/* Some hundred phases in three sections: as things are, with a surprise, and with a history. */
static inline run record(const char *strategy, int phases) {
  run r = open_run(strategy);
  const mz_plan plain = shop_plain();
  for (int i = 0; i < phases; i++) record_phase(&r, NULL, i < 12 ? "no memory for a «thread»" : NULL);
  close_section(&r);
  open_section(&r, &plain, NULL, 0);
  mz_observation history[100];
  int count = 0;
  for (int i = 0; i < phases; i++) {
    const mz_decision d = record_phase(&r, slow_with_presses, NULL);
    if (count == 100 || !isfinite(d.observed)) continue;
    history[count] =
        (mz_observation){.plan = d.plan, .unit_s = d.observed, .round_s = d.observed / 3, .noise = 0.1 / 3, .rounds = 10};
    shop_round_s(&d.plan, history[count].stages);
    history[count++].rss_bytes = NAN;
  }
  close_section(&r);
  open_section(&r, &plain, history, count);
  record_phases(&r, phases);
  close_run(&r);
  return r;
}

static inline void expect_replay(int64_t upto, int64_t decisions, int64_t differences) {
  mz_replayed replayed;
  ok(mz_ledger_replay(path, upto, &replayed));
  assert_int_equal(replayed.decisions, decisions);
  if (replayed.differences != differences)
    fail_msg("%lld differences, the first at phase %lld", (long long)replayed.differences, (long long)replayed.first_difference);
  mz_replayed_free(&replayed);
}

/* ---- reading ---- */

typedef struct collected {
  int64_t count, phase;
  size_t bytes, longest, longest_keep;
  char action[16];
} collected;

static inline mz_status collect(void *context, const char *line, size_t length, int64_t number) {
  collected *c = context;
  assert_int_equal(strlen(line), length);
  assert_int_equal(number, ++c->count);
  c->bytes += length;
  if (!mz_ledger_peek(line, &c->phase, c->action)) return MZ_OK;
  if (length > c->longest) c->longest = length;
  if (strcmp(c->action, "keep") == 0 && length > c->longest_keep) c->longest_keep = length;
  return MZ_OK;
}

#define WITH_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)
