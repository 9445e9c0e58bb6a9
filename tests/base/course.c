/* Courses: text, draws, steps, masks, states from outside. */
#include "base/course/course.h"
#include "base/maths/streams.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

static mz_course builtin, course;

static int setup(void **unused) {
  (void)unused;
  mz_course_builtin(&builtin);
  return 0;
}

static char *text_of(const mz_course *of) {
  cJSON *json = mz_course_to_json(of);
  char *text = mz_json_page(json);
  cJSON_Delete(json);
  assert_non_null(text);
  return text;
}

/* ---- text ---- */

static void reading_gives_what_was_written(void **unused) {
  (void)unused;
  char *text = text_of(&builtin);
  assert_int_equal(mz_course_read(&course, text, strlen(text), "a.json"), MZ_OK);
  assert_memory_equal(&course, &builtin, sizeof course);
  free(text);
}

/* The origin of a fitted course is no part of the course. */
static void a_fitted_course_is_the_same_course(void **unused) {
  (void)unused;
  cJSON *json = mz_course_to_json(&builtin);
  cJSON_AddStringToObject(cJSON_AddObjectToObject(json, "fitted"), "env", "tictactoe");
  char *text = mz_json_page(json);
  cJSON_Delete(json);
  assert_non_null(text);
  assert_int_equal(mz_course_read(&course, text, strlen(text), "a.json"), MZ_OK);
  assert_memory_equal(&course, &builtin, sizeof course);
  free(text);
}

/* The built-in text with one stretch replaced. */
static mz_status read_with(const char *from, const char *to) {
  char *text = text_of(&builtin), *at = strstr(text, from), *changed = malloc(strlen(text) + strlen(to) + 1);
  assert_non_null(at);
  assert_non_null(changed);
  sprintf(changed, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
  const mz_status status = mz_course_read(&course, changed, strlen(changed), "a.json");
  free(changed);
  free(text);
  return status;
}

static void wrong_texts_say_what_is_right(void **unused) {
  (void)unused;
  static const struct {
    const char *from, *to, *says[2];
  } cases[] = {
      {"muzero course", "muzero source", {"a.json: no course", "\"muzero course\""}},
      {"\"version\": 2", "\"version\": 1", {"a.json: version 1: this program reads version 2", "\"ends_at_score\": false"}},
      {"\"version\": 2", "\"version\": 3", {"a.json: version 3: this program reads version 2", ""}},
      {"\"slower\": 0", "\"slower\": 3", {"a.json: pace.slower 3: out of range", "nearest valid value: 2"}},
      {"\"faster\": 0", "\"faser\": 0", {"a.json: pace: unknown key 'faser'", "did you mean 'faster'?"}},
      {"\"ends_at_score\": false", "\"ends_at_score\": 1", {"a.json: ends_at_score: takes true or false", ""}},
      {"\"deadline_s\"", "\"deadlin_s\"", {"a.json: limits: unknown key 'deadlin_s'", "did you mean 'deadline_s'?"}},
      {"\"deadline_s\": 4800,", "", {"a.json: limits: 'deadline_s' is missing", ""}},
      {"\"deadline_s\": 4800", "\"deadline_s\": -1", {"limits.deadline_s -1: out of range", "nearest valid value: 1e-06"}},
      {"\"deadline_s\": 4800", "\"deadline_s\": \"soon\"", {"a.json: limits.deadline_s: takes a number", ""}},
      {"\"ceiling\": 1", "\"ceiling\": 0.5", {"limits.score 0.88: out of range", "nearest valid value: 0.5"}},
      {"\"gpu_hour\": 20", "\"gpu_hour\": -2", {"prices.gpu_hour -2: out of range", "nearest valid value: 0"}},
      {"\"cores\": 2,", "\"cores\": 1e9,", {"plans[0].cores 1000000000: out of range", "nearest valid value: 1000000"}},
      {"\"batch_size\": 64", "\"batch_size\": 0", {"plans[0].batch_size 0", "nearest valid value: 1"}},
      {"\"noise_scale\": 96", "\"noise_scale\": 0", {"stages[0].noise_scale 0", "nearest valid value: 1e-06"}},
      {"\"seconds\": [", "\"seconds\": [7, ", {"a.json: stages[0].seconds: 17 numbers, but there are 16 plans", ""}},
      {"\"growth\": [", "\"growth\": [true, ", {"a.json: stages[0].growth", ""}},
      {"\"use\": {", "\"use\": {\"disks\": [],", {"a.json: stages[0].use: unknown key 'disks'", "cores, gpus, memory_gib"}},
      {"\"prices\": {", "\"prices\": [], \"x\": {", {"a.json: unknown key 'x'", "prices"}}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    assert_int_equal(read_with(cases[i].from, cases[i].to), MZ_E_CONFIG);
    for (int k = 0; k < 2; k++)
      if (!strstr(mz_message(), cases[i].says[k])) fail_msg("'%s' does not say '%s'", mz_message(), cases[i].says[k]);
  }
}

static void a_course_has_bounds(void **unused) {
  (void)unused;
  const char *const head =
      "{\"format\": \"muzero course\", \"version\": 2, \"prices\": {\"core_hour\": 1, \"gpu_hour\": 1, \"gib_hour\": 1},"
      "\"limits\": {\"deadline_s\": 1, \"budget\": 1, \"score\": 1}, \"score\": {\"start\": 0, \"ceiling\": 1},"
      "\"pace\": {\"slower\": 0, \"faster\": 0, \"bursts\": 0}, \"ends_at_score\": false, \"resize_penalty\": 0.1,";
  char text[8192];
  for (int stages = 0; stages < 2; stages++) {
    size_t used = (size_t)snprintf(text, sizeof text, "%s \"plans\": [", head);
    const int plans = stages ? 1 : 25;
    for (int p = 0; p < plans; p++)
      used += (size_t)snprintf(text + used, sizeof text - used,
                               "%s{\"cores\": 1, \"gpus\": 0, \"memory_gib\": 1, \"batch_size\": 8}", p ? "," : "");
    used += (size_t)snprintf(text + used, sizeof text - used, "], \"stages\": [");
    for (int s = 0; stages && s < 17; s++) used += (size_t)snprintf(text + used, sizeof text - used, "%s{}", s ? "," : "");
    snprintf(text + used, sizeof text - used, "]}");
    assert_int_equal(mz_course_read(&course, text, strlen(text), "a.json"), MZ_E_CONFIG);
    assert_non_null(strstr(mz_message(), stages ? "17 stages: out of range; 1 … 16; nearest valid value: 16"
                                                : "25 plans: out of range; 1 … 24; nearest valid value: 24"));
  }
}

static void no_plan_is_free(void **unused) {
  (void)unused;
  course = builtin;
  memset(course.prices, 0, sizeof course.prices);
  assert_int_equal(mz_course_prepare(&course, "here"), MZ_E_CONFIG);
  assert_non_null(strstr(mz_message(), "here: plans[0] costs nothing"));
}

static void damaged_text_is_refused(void **unused) {
  (void)unused;
  char *text = text_of(&builtin);
  const size_t size = strlen(text);
  for (size_t cut = 0; cut + 2 < size; cut += 97) assert_int_equal(mz_course_read(&course, text, cut, "a.json"), MZ_E_CONFIG);
  free(text);
}

/* ---- draws ---- */

static void draws_stay_within_the_spread(void **unused) {
  (void)unused;
  double low = 2, high = 0, least_noise = 2, most_noise = 0;
  for (uint64_t seed = 0; seed < 500; seed++) {
    for (int s = 0; s < builtin.stages; s++) {
      const double noise = mz_course_draw_noise_scale(&builtin, seed, s) / builtin.noise_scale[s];
      least_noise = fmin(least_noise, noise);
      most_noise = fmax(most_noise, noise);
      for (int p = 0; p < builtin.plans; p++) {
        const mz_course_cell drawn = mz_course_draw(&builtin, seed, s, p);
        const double factor = drawn.seconds / builtin.cell[s][p].seconds;
        low = fmin(low, factor);
        high = fmax(high, factor);
        assert_true(drawn.growth > 0 && drawn.growth <= 1);
      }
    }
  }
  assert_true(low >= 0.8 && low < 0.82 && high <= 1.2 && high > 1.18);
  assert_true(least_noise >= 0.8 && least_noise < 0.81 && most_noise <= 1.2 && most_noise > 1.19);
}

/* The factors of the header's formulas, drawn beside. */
static void a_draw_follows_its_streams(void **unused) {
  (void)unused;
  const uint64_t seed = 77;
  const int s = 3, p = 14;
  double u[4];
  const int ordinals[4] = {s, p, s, s};
  for (int i = 0; i < 4; i++) {
    mz_rng rng = mz_rng_at(seed, MZ_RNG_COURSE, (uint32_t)ordinals[i], (uint64_t)i);
    u[i] = 2 * mz_rng_f64(&rng) - 1;
  }
  const mz_course_cell *mean = &builtin.cell[s][p], drawn = mz_course_draw(&builtin, seed, s, p);
  const double batch = builtin.plan[p].batch_size, noise = builtin.noise_scale[s];
  const double efficiency = (1 + batch / noise) / (1 + batch / (noise * (1 + 0.2 * u[3])));
  assert_true(fabs(drawn.seconds / mean->seconds - (1 + 0.1 * (u[0] + u[1]))) < 1e-12);
  assert_true(fabs(drawn.growth / mean->growth - (1 + 0.2 * u[2]) * efficiency) < 1e-12);
}

static void without_a_spread_every_seed_is_the_mean(void **unused) {
  (void)unused;
  course = builtin;
  course.spread = 0;
  assert_int_equal(mz_course_prepare(&course, "here"), MZ_OK);
  assert_true(course.digest != builtin.digest);
  for (uint64_t seed = 0; seed < 20; seed++) {
    const mz_course_cell drawn = mz_course_draw(&course, seed, 2, 5);
    assert_memory_equal(&drawn, &builtin.cell[2][5], sizeof drawn);
  }
}

/* ---- episodes ---- */

static void sums_and_rewards_add_up(void **unused) {
  (void)unused;
  mz_rng rng = mz_rng_at(3, MZ_RNG_TEST, 0, 0);
  int violated[4] = {0};
  for (uint64_t seed = 0; seed < 300; seed++) {
    mz_course_state state;
    mz_course_begin(&builtin, seed, &state);
    double seconds = 0, cost = 0, score = builtin.score, rewards = 0;
    int resizes = 0, before = -1;
    for (int s = 0; s < builtin.stages; s++) {
      const int plan = (int)mz_rng_below(&rng, 3) ? 14 : (int)mz_rng_below(&rng, (uint32_t)builtin.plans);
      const mz_course_cell cell = mz_course_draw(&builtin, seed, s, plan);
      const mz_course_result result = mz_course_step(&builtin, &state, plan);
      seconds += cell.seconds;
      cost += cell.seconds * builtin.plan[plan].cost_per_s;
      score = 1 - (1 - score) * (1 - cell.growth);
      resizes += before >= 0 && before != plan;
      assert_int_equal(result.resized, before >= 0 && before != plan);
      assert_int_equal(result.ended, s + 1 == builtin.stages);
      before = plan;
      rewards += result.reward;
      if (result.ended) violated[result.violations]++;
    }
    assert_true(fabs(state.seconds - seconds) < 1e-6 && fabs(state.cost - cost) < 1e-9 && fabs(state.score - score) < 1e-12);
    const int limits = (seconds > builtin.deadline_s) + (cost > builtin.budget) + (score < builtin.target);
    assert_true(fabs(rewards + cost / builtin.budget + 0.1 * resizes + 5 * limits) < 1e-9);
  }
  assert_true(violated[0] > 0 && violated[1] > 0 && violated[2] > 0);
}

/* ---- masks ---- */

/* The best that any draw could still give, counted plan by plan. */
static int provably_broken(const mz_course *of, const mz_course_state *state, int plan) {
  double seconds = 0, cost = 0;
  for (int s = state->stage; s < of->stages; s++) {
    double quickest = INFINITY, cheapest = INFINITY;
    for (int p = 0; p < of->plans; p++) {
      if (s == state->stage && p != plan) continue;
      quickest = fmin(quickest, of->cell[s][p].seconds);
      cheapest = fmin(cheapest, of->cell[s][p].seconds * of->plan[p].cost_per_s);
    }
    seconds += quickest;
    cost += cheapest;
  }
  const double least = 1 - of->spread;
  return (state->seconds + least * seconds > of->deadline_s) + (state->cost + least * cost > of->budget);
}

static void masks_forbid_what_provably_breaks_more(void **unused) {
  (void)unused;
  mz_rng rng = mz_rng_at(4, MZ_RNG_TEST, 0, 0);
  int narrow = 0, whole = 0;
  for (uint64_t seed = 0; seed < 300; seed++) {
    course = builtin;
    course.deadline_s = 1500 + 400 * (double)(seed % 20);
    course.budget = 6 + (double)(seed % 17);
    assert_int_equal(mz_course_prepare(&course, "here"), MZ_OK);
    mz_course_state state;
    mz_course_begin(&course, seed, &state);
    for (int s = 0; s < course.stages; s++) {
      uint8_t mask[MZ_COURSE_PLANS_MAX];
      const int count = mz_course_mask(&course, &state, mask);
      int fewest = 3, expected = 0;
      for (int p = 0; p < course.plans; p++)
        fewest = provably_broken(&course, &state, p) < fewest ? provably_broken(&course, &state, p) : fewest;
      for (int p = 0; p < course.plans; p++) {
        assert_int_equal(mask[p], provably_broken(&course, &state, p) == fewest);
        expected += mask[p];
      }
      assert_int_equal(count, expected);
      assert_true(count >= 1);
      narrow += count < course.plans;
      whole += count == course.plans;
      int nth = (int)mz_rng_below(&rng, (uint32_t)count), plan = 0;
      while (!mask[plan] || nth-- > 0) plan++;
      mz_course_step(&course, &state, plan);
    }
    uint8_t none[MZ_COURSE_PLANS_MAX];
    assert_int_equal(mz_course_mask(&course, &state, none), 0);
  }
  assert_true(narrow > 100 && whole > 100);
}

/* ---- states ---- */

static void states_from_outside_are_checked(void **unused) {
  (void)unused;
  mz_course_state sound, state;
  mz_course_begin(&builtin, 5, &sound);
  assert_true(mz_course_state_valid(&builtin, &sound));
  mz_course_step(&builtin, &sound, 3);
  assert_true(mz_course_state_valid(&builtin, &sound));
  double *const members[] = {&state.seconds, &state.cost,     &state.score, &state.slope, &state.noise_scale,
                             &state.use[2],  &state.stall[1], &state.pace,  &state.yield};
  for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
    for (int bad = 0; bad < 3; bad++) {
      state = sound;
      *members[i] = bad == 0 ? NAN : bad == 1 ? INFINITY : -1;
      assert_false(mz_course_state_valid(&builtin, &state));
    }
  }
  const int32_t places[][2] = {{8, 3}, {-1, 3}, {1, -1}, {1, 16}, {1, -2}, {0, 3}};
  for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
    state = sound;
    state.stage = places[i][0];
    state.plan = places[i][1];
    assert_false(mz_course_state_valid(&builtin, &state));
  }
  state = sound;
  while (!mz_course_step(&builtin, &state, 3).ended) assert_true(mz_course_state_valid(&builtin, &state));
  assert_false(mz_course_state_valid(&builtin, &state));
}

static void a_growth_of_one_reaches_the_ceiling(void **unused) {
  (void)unused;
  course = builtin;
  course.spread = 0;
  course.cell[1][0].growth = 1;
  for (int i = 0; i < 500; i++) {
    mz_course_state state;
    course.score = -1 + 0.013 * i;
    course.target = course.ceiling = course.score + 0.1 + 0.07 * i;
    course.cell[0][0].growth = 0.001 * i;
    assert_int_equal(mz_course_prepare(&course, "course"), MZ_OK);
    mz_course_begin(&course, 0, &state);
    mz_course_step(&course, &state, 0);
    mz_course_step(&course, &state, 0);
    assert_true(state.score == course.ceiling); /* and the target with it */
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reading_gives_what_was_written),
      cmocka_unit_test(a_fitted_course_is_the_same_course),
      cmocka_unit_test(wrong_texts_say_what_is_right),
      cmocka_unit_test(a_course_has_bounds),
      cmocka_unit_test(no_plan_is_free),
      cmocka_unit_test(damaged_text_is_refused),
      cmocka_unit_test(draws_stay_within_the_spread),
      cmocka_unit_test(a_draw_follows_its_streams),
      cmocka_unit_test(without_a_spread_every_seed_is_the_mean),
      cmocka_unit_test(sums_and_rewards_add_up),
      cmocka_unit_test(a_growth_of_one_reaches_the_ceiling),
      cmocka_unit_test(masks_forbid_what_provably_breaks_more),
      cmocka_unit_test(states_from_outside_are_checked),
  };
  return cmocka_run_group_tests_name("course", tests, setup, NULL);
}
