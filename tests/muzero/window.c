/* Windows from rounds: which count, how many are averaged, whose time is whose. Clocks are set by hand. */
#include "muzero/steering/window.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const mz_env played_here; /* no other process plays it */
static mz_state state;
static mz_workers workers;
static mz_round_stats stats;
static mz_window_meter meter;

static void begin(void) {
  memset(&state, 0, sizeof state);
  state.where = mz_placement_cpu;
  state.env = &played_here;
  memset(&workers, 0, sizeof workers);
  memset(&stats, 0, sizeof stats);
  memset(&meter, 0, sizeof meter);
  state.settings.learning.loop_count = 4;
  state.settings.train.phase_rounds = 3;
  workers.knobs.learner_threads = 2;
  meter.knobs = workers.knobs;
  mz_window_begin(&meter, &state, &workers);
}

/* A round of so many milliseconds in which the stages worked for fixed shares of it. */
static double play(double ms, int updates) {
  const uint64_t ns = (uint64_t)(ms * 1e6);
  stats.wall_ns += ns;
  stats.learning.updates += updates;
  stats.learn_ns += ns / 2;
  stats.fold_ns += ns / 100;
  stats.learner_wait_ns += ns / 10;
  stats.batch_wait_ns += ns / 5;
  state.counters.simulations += 100;
  state.counters.rounds++;
  mz_stage_add(&workers.actor_stage.busy_ns, ns);
  mz_stage_add(&workers.actor_stage.cpu_ns, ns / 2);
  mz_stage_add(&state.learner_stage.cpu_ns, ns / 2);
  mz_stage_add(&state.learner_stage.elapsed_ns, ns / 4);
  return mz_window_round(&meter, &state, &workers, &stats);
}

static mz_window end(void) {
  mz_window window;
  mz_window_stop_clocks(&meter, &state, &workers, &stats);
  mz_window_read(&meter, &state, &window);
  return window;
}

static void assert_close(double a, double b) {
  if (!(fabs(a - b) <= 1e-9 * fabs(b))) fail_msg("%.12g is not %.12g", a, b);
}

static void rounds_that_fill_replay_do_not_count(void **unused) {
  (void)unused;
  begin();
  play(77, 4);                     /* as full as any: what is measured before replay is filled again is forgotten */
  assert_true(play(1000, 0) == 0); /* no updates */
  assert_true(play(1000, 3) == 0); /* not all */
  assert_close(play(10, 4), 0.01);
  assert_close(play(20, 4), 0.02);
  const mz_window w = end();
  assert_close(w.units, 2);
  assert_close(w.wall_s, 0.03);
  assert_int_equal(w.round_count, 2);
  assert_close(w.stages[MZ_STAGE_ACTOR].items, 200);
  assert_close(w.stages[MZ_STAGE_ACTOR].busy_s, 0.03);
  assert_close(w.stages[MZ_STAGE_BATCH].wait_out_s, 0.006);
  assert_close(w.stages[MZ_STAGE_LEARNER].items, 8);
  assert_close(w.stages[MZ_STAGE_LEARNER].elapsed_s, 0.015);
  assert_close(w.stages[MZ_STAGE_LEARNER].cpu_s, 0.015 + 0.0075); /* the pool's, and the driver's alone */
  assert_close(w.stages[MZ_STAGE_LEARNER].wait_in_s, 2 * 0.003);  /* of both threads */
}

static void without_full_rounds_there_is_nothing(void **unused) {
  (void)unused;
  begin();
  play(10, 0);
  const mz_window w = end();
  assert_true(w.units == 0 && w.wall_s == 0 && w.round_count == 0);
  mz_observation observation;
  const mz_plan plan = {{0}};
  assert_false(mz_observation_from_window(&observation, &plan, &w));
}

static void many_rounds_are_averaged_in_runs_of_equal_length(void **unused) {
  (void)unused;
  for (int rounds = 1; rounds < 300; rounds += 7) {
    begin();
    for (int i = 0; i < rounds; i++) play(i + 1, 4);
    const mz_window w = end();
    assert_true(w.round_count <= MZ_WINDOW_ROUNDS_MAX);
    int run = 1;
    while (rounds / run >= MZ_WINDOW_ROUNDS_MAX) run *= 2;
    assert_int_equal(w.round_count, rounds / run);
    for (int i = 0; i < w.round_count; i++) assert_close(w.round_s[i], 1e-3 * (i * run + (run + 1) / 2.0));
    assert_close(w.wall_s, 1e-3 * rounds * (rounds + 1) / 2);
  }
}

/* The plan changed in the middle: what was before, and the round that warms up, do not count. */
static void a_restart_forgets(void **unused) {
  (void)unused;
  begin();
  play(10, 4);
  mz_window_restart(&meter);
  assert_close(play(99, 4), 0.099); /* told, and not counted */
  assert_close(play(20, 4), 0.02);
  const mz_window w = end();
  assert_close(w.units, 1);
  assert_close(w.stages[MZ_STAGE_ACTOR].items, 100);
}

static void the_first_round_after_a_change_does_not_count(void **unused) {
  (void)unused;
  for (int changed = 0; changed < 2; changed++) {
    begin();
    play(10, 4);
    end();
    workers.knobs.cpu_actor += changed;
    mz_window_begin(&meter, &state, &workers);
    assert_close(play(50, 4), 0.05);
    assert_close(play(20, 4), 0.02);
    const mz_window w = end();
    assert_close(w.units, 2 - changed);
    assert_close(w.wall_s, changed ? 0.02 : 0.07);
    assert_close(w.stages[MZ_STAGE_ACTOR].items, 100 * (2 - changed));
  }
}

/* Nothing is known of what ran before: the process has just begun. */
static void the_first_round_of_all_does_not_count(void **unused) {
  (void)unused;
  begin();
  memset(&meter, 0, sizeof meter);
  mz_window_phase(&meter, &state, &workers);
  play(50, 4);
  play(20, 4);
  const mz_window w = end();
  assert_close(w.units, 1);
  assert_close(w.wall_s, 0.02);
}

static void evaluation_is_timed_apart(void **unused) {
  (void)unused;
  begin();
  play(10, 4);
  play(10, 4);
  mz_window_stop_clocks(&meter, &state, &workers, &stats);
  const mz_evaluation_clock clock = mz_window_evaluation_starts(&state, &workers);
  mz_stage_add(&workers.actor_stage.busy_ns, 5000000);
  mz_window_evaluated(&meter, &clock, &state, &workers, 40);
  const mz_window w = end();
  assert_close(w.stages[MZ_STAGE_ACTOR].busy_s, 0.02);
  assert_close(w.stages[MZ_STAGE_EVALUATE].busy_s, 0.005);
  assert_close(w.stages[MZ_STAGE_EVALUATE].items, 40);
  assert_true(w.stages[MZ_STAGE_EVALUATE].elapsed_s > 0);
  assert_close(w.wall_s, 0.02);
}

/* What is worked between phases belongs to nobody; the phase's sums begin anew. */
static void a_window_may_be_longer_than_a_phase(void **unused) {
  (void)unused;
  begin();
  for (int phase = 0; phase < 3; phase++) {
    memset(&stats, 0, sizeof stats);
    mz_window_phase(&meter, &state, &workers);
    for (int i = 0; i < 3; i++) assert_close(play(10, 4), 0.01);
    mz_window_stop_clocks(&meter, &state, &workers, &stats);
    mz_stage_add(&workers.actor_stage.busy_ns, 900000000);
    state.counters.simulations += 1000;
  }
  const mz_window w = end();
  assert_int_equal(meter.played, 9);
  assert_close(w.units, 9);
  assert_close(w.wall_s, 0.09);
  assert_int_equal(w.phase, 3);
  assert_int_equal(w.round, 9);
  assert_close(w.stages[MZ_STAGE_ACTOR].items, 900);
  assert_close(w.stages[MZ_STAGE_ACTOR].busy_s, 0.09);
  assert_close(w.stages[MZ_STAGE_LEARNER].items, 36);
  assert_close(w.stages[MZ_STAGE_LEARNER].elapsed_s, 0.045);
  assert_close(w.stages[MZ_STAGE_LEARNER].wait_in_s, 2 * 0.009);
  assert_close(w.stages[MZ_STAGE_FOLD].items, 9);
  assert_close(w.stages[MZ_STAGE_FOLD].busy_s, 0.0009);
}

/* Several in one phase: each has its own part of the phase's sums. */
static void a_window_may_be_shorter_than_a_phase(void **unused) {
  (void)unused;
  begin();
  for (int window = 0; window < 3; window++) {
    for (int i = 0; i <= window; i++) play(10, 4);
    const mz_window w = end();
    assert_close(w.units, window + 1);
    assert_close(w.wall_s, 0.01 * (window + 1));
    assert_close(w.stages[MZ_STAGE_ACTOR].busy_s, 0.01 * (window + 1));
    assert_close(w.stages[MZ_STAGE_BATCH].items, 4 * (window + 1));
    assert_int_equal(w.phase, window == 0 ? 1 : window);
    mz_window_begin(&meter, &state, &workers);
  }
}

/* Threads that wait for a GPU at once wait for one device. */
static void on_a_gpu_waiting_is_the_devices_work(void **unused) {
  (void)unused;
  static const mz_backend gpu = {.name = "cuda"};
  begin();
  state.where.selfplay.backend = state.where.learning.backend = &gpu;
  for (int i = 0; i < 2; i++) {
    mz_stage_add(&workers.actor_stage.elapsed_ns, 3000000);
    stats.learn_cpu_ns += 1000000;
    play(20, 4);
  }
  const mz_window w = end();
  assert_close(w.stages[MZ_STAGE_ACTOR].cpu_s, 0.02);
  assert_close(w.stages[MZ_STAGE_ACTOR].device_s, 0.006); /* 20 ms by all threads together */
  assert_close(w.stages[MZ_STAGE_LEARNER].cpu_s, 0.02 + 0.002);
  assert_true(w.stages[MZ_STAGE_BATCH].device_s == 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(on_a_gpu_waiting_is_the_devices_work),
      cmocka_unit_test(rounds_that_fill_replay_do_not_count),
      cmocka_unit_test(without_full_rounds_there_is_nothing),
      cmocka_unit_test(many_rounds_are_averaged_in_runs_of_equal_length),
      cmocka_unit_test(a_restart_forgets),
      cmocka_unit_test(the_first_round_after_a_change_does_not_count),
      cmocka_unit_test(the_first_round_of_all_does_not_count),
      cmocka_unit_test(evaluation_is_timed_apart),
      cmocka_unit_test(a_window_may_be_longer_than_a_phase),
      cmocka_unit_test(a_window_may_be_shorter_than_a_phase),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
