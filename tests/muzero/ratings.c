/* Ratings against a closed form, Hunter's own iteration, the information matrix, and players whose strength is known. */
#include "base/maths/rng.h"
#include "muzero/evaluation/ratings.h"
#include "selfplay/evaluation/points.h"
#include "testing.h"
#include <math.h>

enum { PLAYERS = 7, PAIRS_MAX = PLAYERS * PLAYERS };

static void expect_near(double value, double wanted, double tolerance) {
  if (!(fabs(value - wanted) <= tolerance)) fail_msg("%.12g, wanted %.12g", value, wanted);
}

/* With the prior's drawn game, points and games of two players alone give their difference. */
static void two_players(void **unused) {
  (void)unused;
  const double points[] = {0, 3.5, 10, 15, 20};
  for (int i = 0; i < 5; i++) {
    const mz_pairing pairing = {.a = 1, .b = 0, .games = 20, .points = points[i]};
    double ratings[2], covariance[4];
    expect_ok(mz_ratings_fit(&pairing, 1, 2, 0, ratings, covariance));
    const double share = (points[i] + 0.5) / 21, elo = 400 / log(10);
    assert_true(ratings[0] == 0);
    expect_near(ratings[1], mz_elo_of_points(share), 1e-7);
    expect_near(mz_ratings_error(covariance, 2, 0, 1), elo / sqrt(21 * share * (1 - share)), 1e-6);
    expect_near(mz_ratings_error(covariance, 2, 1, 1), 0, 0);
  }
}

/* A chain with some longer links; some pairs are one-sided. */
static int some_results(uint64_t seed, mz_pairing *out) {
  mz_rng rng = mz_rng_at(seed, MZ_RNG_TEST, 0, 0);
  int count = 0;
  for (int a = 0; a < PLAYERS; a++) {
    for (int b = a + 1; b < PLAYERS; b++) {
      if (b != a + 1 && mz_rng_f64(&rng) < 0.4) continue;
      const int games = 1 + (int)mz_rng_below(&rng, 30);
      const double points = mz_rng_f64(&rng) < 0.3 ? 0 : 0.5 * mz_rng_below(&rng, (uint32_t)(2 * games + 1));
      out[count++] = (mz_pairing){.a = a, .b = b, .games = games, .points = points};
    }
  }
  return count;
}

/* γ_i ← W_i / Σ_j N_ij / (γ_i + γ_j), the MM algorithm (Hunter 2004, eq. 3), to its end. */
static void iterate(const mz_pairing *pairings, int count, double *ratings) {
  double gamma[PLAYERS];
  for (int i = 0; i < PLAYERS; i++) gamma[i] = 1;
  for (int step = 0; step < 200000; step++) {
    double won[PLAYERS] = {0}, met[PLAYERS] = {0};
    for (int k = 0; k < count; k++) {
      const mz_pairing *p = &pairings[k];
      const double each = (p->games + 1) / (gamma[p->a] + gamma[p->b]);
      won[p->a] += p->points + 0.5;
      won[p->b] += p->games - p->points + 0.5;
      met[p->a] += each;
      met[p->b] += each;
    }
    for (int i = 0; i < PLAYERS; i++) gamma[i] = won[i] / met[i];
  }
  for (int i = 0; i < PLAYERS; i++) ratings[i] = 400 * log10(gamma[i] / gamma[0]);
}

static void as_hunters_iteration(void **unused) {
  (void)unused;
  for (uint64_t seed = 1; seed <= 5; seed++) {
    mz_pairing pairings[PAIRS_MAX];
    const int count = some_results(seed, pairings);
    double ratings[PLAYERS], expected[PLAYERS], covariance[PLAYERS * PLAYERS];
    expect_ok(mz_ratings_fit(pairings, count, PLAYERS, 0, ratings, covariance));
    iterate(pairings, count, expected);
    for (int i = 0; i < PLAYERS; i++) expect_near(ratings[i], expected[i], 1e-5);
  }
}

/* Another anchor moves all ratings alike, and leaves the error of every difference; the order of the pairings means nothing. */
static void anchors_only_shift(void **unused) {
  (void)unused;
  mz_pairing pairings[PAIRS_MAX], reversed[PAIRS_MAX];
  const int count = some_results(9, pairings);
  for (int k = 0; k < count; k++) {
    const mz_pairing *p = &pairings[count - 1 - k];
    reversed[k] = (mz_pairing){.a = p->b, .b = p->a, .games = p->games, .points = p->games - p->points};
  }
  double first[PLAYERS], then[PLAYERS], one[PLAYERS * PLAYERS], other[PLAYERS * PLAYERS];
  expect_ok(mz_ratings_fit(pairings, count, PLAYERS, 0, first, one));
  expect_ok(mz_ratings_fit(reversed, count, PLAYERS, 4, then, other));
  assert_true(then[4] == 0);
  for (int i = 0; i < PLAYERS; i++) {
    expect_near(then[i], first[i] - first[4], 1e-7);
    for (int j = 0; j < PLAYERS; j++)
      expect_near(mz_ratings_error(other, PLAYERS, i, j), mz_ratings_error(one, PLAYERS, i, j), 1e-7);
  }
}

/* covariance × information = 1, but for the anchor. */
static void covariance_inverts_the_information(void **unused) {
  (void)unused;
  mz_pairing pairings[PAIRS_MAX];
  const int count = some_results(3, pairings);
  double ratings[PLAYERS], covariance[PLAYERS * PLAYERS], information[PLAYERS][PLAYERS] = {{0}};
  expect_ok(mz_ratings_fit(pairings, count, PLAYERS, 0, ratings, covariance));
  const double natural = log(10) / 400;
  for (int k = 0; k < count; k++) {
    const int a = pairings[k].a, b = pairings[k].b;
    const double share = mz_points_of_elo(ratings[a] - ratings[b]);
    const double weight = natural * natural * (pairings[k].games + 1) * share * (1 - share);
    information[a][a] += weight, information[b][b] += weight;
    information[a][b] -= weight, information[b][a] -= weight;
  }
  for (int i = 1; i < PLAYERS; i++) {
    for (int j = 1; j < PLAYERS; j++) {
      double sum = 0;
      for (int k = 1; k < PLAYERS; k++) sum += covariance[i * PLAYERS + k] * information[k][j];
      expect_near(sum, i == j, 1e-8);
    }
  }
}

/* Players of known strength: the truth lies within two standard errors about 95 times in 100. */
static void finds_the_truth(void **unused) {
  (void)unused;
  enum { SAMPLES = 300, GAMES = 60 };
  const double truth[PLAYERS] = {0, 150, 250, 280, 500, 520, 400};
  int within = 0;
  double bias = 0;
  for (uint64_t sample = 0; sample < SAMPLES; sample++) {
    mz_rng rng = mz_rng_at(2, MZ_RNG_TEST, 0, sample);
    mz_pairing pairings[PAIRS_MAX];
    int count = 0;
    for (int a = 0; a < PLAYERS; a++) {
      for (int step = 1; a + step < PLAYERS; step *= 2) {
        mz_pairing *p = &pairings[count++];
        *p = (mz_pairing){.a = a, .b = a + step, .games = GAMES};
        for (int g = 0; g < GAMES; g++) p->points += mz_rng_f64(&rng) < mz_points_of_elo(truth[a] - truth[a + step]);
      }
    }
    double ratings[PLAYERS], covariance[PLAYERS * PLAYERS];
    expect_ok(mz_ratings_fit(pairings, count, PLAYERS, 0, ratings, covariance));
    for (int i = 1; i < PLAYERS; i++) {
      within += fabs(ratings[i] - truth[i]) < 2 * mz_ratings_error(covariance, PLAYERS, i, 0);
      bias += (ratings[i] - truth[i]) / (SAMPLES * (PLAYERS - 1));
    }
  }
  const double share = (double)within / (SAMPLES * (PLAYERS - 1));
  if (share < 0.935 || share > 0.975) fail_msg("within two standard errors: %.4f", share);
  if (fabs(bias) > 10) fail_msg("ratings are off by %.1f on average", bias); /* of errors of 30 to 40 */
}

static void without_memory(void **unused) {
  (void)unused;
  const mz_pairing pairing = {.a = 0, .b = 1, .games = 2, .points = 1};
  double ratings[2], covariance[4];
  mz_alloc_fail_after(1);
  assert_int_equal(mz_ratings_fit(&pairing, 1, 2, 0, ratings, covariance), MZ_E_MEMORY);
  mz_alloc_fail_after(0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(two_players),        cmocka_unit_test(as_hunters_iteration),
      cmocka_unit_test(anchors_only_shift), cmocka_unit_test(covariance_inverts_the_information),
      cmocka_unit_test(finds_the_truth),    cmocka_unit_test(without_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
