/* Observations of a run of a course. */
#include "base/course/course.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static mz_course builtin;

static int setup(void **unused) {
  (void)unused;
  mz_course_builtin(&builtin);
  return 0;
}

static void observations_say_where_a_run_is(void **unused) {
  (void)unused;
  float out[MZ_COURSE_OBSERVATION];
  mz_course_state state;
  mz_course_begin(&builtin, 9, &state);
  mz_course_observe(&builtin, &state, out);
  assert_true(out[0] == 0 && out[1] == 0 && out[10] == 1 && out[11] == 1 && out[16] == 1);
  for (int i = 17; i < MZ_COURSE_OBSERVATION; i++) assert_true((i >= 56 && i < 62) || out[i] == 0); /* no plan is in force */
  mz_course_step(&builtin, &state, 4);
  mz_course_step(&builtin, &state, 14);
  mz_course_observe(&builtin, &state, out);
  assert_true(out[0] == 0.25f && out[18] == 1 && out[16] == 0 && out[32 + 14] == 1 && out[32 + 4] == 0);
  assert_true(fabs((double)out[1] - state.score / 0.88) < 1e-6);
  assert_true(fabs((double)out[3] - log2(state.noise_scale) / 16) < 1e-6);
  assert_true(fabs((double)out[10] - (1 - state.seconds / 4800)) < 1e-6);
  assert_true(fabs((double)out[11] - (1 - state.cost / 20)) < 1e-6);
  double quickest = 0;
  for (int s = 2; s < builtin.stages; s++) {
    double least = INFINITY;
    for (int p = 0; p < builtin.plans; p++) least = fmin(least, builtin.cell[s][p].seconds);
    quickest += least;
  }
  assert_true(fabs((double)out[12] - (1 - (state.seconds + quickest) / 4800)) < 1e-6);
  const mz_course_cell drawn = mz_course_draw(&builtin, 9, 1, 14);
  assert_true(fabs((double)out[14] - (drawn.seconds / builtin.cell[1][14].seconds - 1)) < 1e-6);
  assert_true(fabs((double)out[15] - (drawn.growth / builtin.cell[1][14].growth - 1)) < 1e-6);
  for (int r = 0; r < MZ_COURSE_RESOURCES; r++)
    assert_true(out[4 + r] == (float)drawn.use[r] && out[7 + r] == (float)drawn.stall[r]);
  state.seconds = 1e20; /* whatever a state from outside holds */
  mz_course_observe(&builtin, &state, out);
  assert_true(out[10] == -4);
}

/* Margins foretell how a run ends, on means: exactly, where nothing is drawn. */
static void margins_foretell_the_end(void **unused) {
  (void)unused;
  mz_course known = builtin;
  known.spread = 0;
  assert_int_equal(mz_course_prepare(&known, "course"), MZ_OK);
  for (int plan = 0; plan < known.plans; plan++) {
    mz_course_state state, end;
    mz_course_begin(&known, 1, &state);
    mz_course_step(&known, &state, 4);
    mz_course_step(&known, &state, plan);
    for (int kept = 0; kept <= 1; kept++) {
      double least[3] = {INFINITY, INFINITY,
                         INFINITY}; /* of what seconds and cost are, and of the score's distance to its ceiling */
      for (int other = 0; other < known.plans; other++) { /* the built-in known's quickest plan is so in all stages, and so on */
        end = state;
        while (end.stage < known.stages) mz_course_step(&known, &end, kept ? plan : other);
        least[0] = fmin(least[0], end.seconds);
        least[1] = fmin(least[1], end.cost);
        least[2] = fmin(least[2], known.ceiling - end.score);
      }
      const double margin[3] = {1 - least[0] / known.deadline_s, 1 - least[1] / known.budget,
                                (known.ceiling - least[2] - known.target) / (known.target - known.score)};
      float out[MZ_COURSE_OBSERVATION];
      mz_course_observe(&known, &state, out);
      for (int limit = 0; limit < 3; limit++)
        for (int fine = 0; fine <= 1; fine++)
          assert_float_equal(out[56 + 6 * kept + 2 * limit + fine],
                             fmax(-4, fmin(4, margin[limit] * known.stages * (fine ? 8 : 1))), 1e-5);
    }
  }
}

/* In courses that end at the score, margins under the plan in force are those of the mean's end: to the fraction of a stage. */
static void margins_foretell_the_target(void **unused) {
  (void)unused;
  mz_course known = builtin;
  float out[MZ_COURSE_OBSERVATION];
  known.spread = 0;
  known.ends_at_score = 1;
  assert_int_equal(mz_course_prepare(&known, "course"), MZ_OK);
  for (int plan = 0; plan < known.plans; plan++) {
    mz_course_state state, end;
    mz_course_begin(&known, 1, &state);
    mz_course_step(&known, &state, plan);
    mz_course_observe(&known, &state, out);
    end = state;
    double before = state.seconds, closed = 0;
    while (!mz_course_is_over(&known, &end)) {
      before = end.seconds;
      closed = end.score;
      mz_course_step(&known, &end, plan);
    }
    const double part = end.score < known.target
                            ? 1
                            : log((1 - closed) / (1 - known.target)) / mz_course_closes(known.cell[end.stage - 1][plan].growth);
    const double seconds = before + part * (end.seconds - before), stages = end.stage - 1 + part;
    assert_float_equal(out[62], fmax(-4, fmin(4, (1 - seconds / known.deadline_s) * known.stages)), 1e-5);
    assert_float_equal(out[66], fmin(4, known.stages - stages), 1e-5);
    assert_true(out[56] >= out[62] && out[58] >= out[64] && out[60] >= out[66]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(observations_say_where_a_run_is),
      cmocka_unit_test(margins_foretell_the_end),
      cmocka_unit_test(margins_foretell_the_target),
  };
  return cmocka_run_group_tests_name("course_observation", tests, setup, NULL);
}
