/* Pretrained networks as a file: what is written is read, damage and foreign files are named, a run's folder keeps it; the situations
 * that are trained on, and training itself. */
#include "allocator/predictors/pretrained.h"
#include "allocator/pretraining/pretraining.h"
#include "base/file/file.h"
#include "tests/allocator/support/random_pipeline.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { PIPELINES = 3 };
static mz_pipeline pipelines[PIPELINES];

static void ok(mz_status status) {
  if (status != MZ_OK) fail_msg("%s", mz_message());
}

/* Random pipelines with probes: what their stages cost, as far as one learns that alone. */
static int set_up(void **state) {
  (void)state;
  for (int i = 0; i < PIPELINES; i++) {
    random_pipeline r;
    random_pipeline_init(&r, (uint64_t)(40 + i), 8, 16);
    for (int s = 0; s < r.pipeline.stage_count; s++) {
      mz_pipeline_stage *stage = &r.pipeline.stages[s];
      const double batches[] = {1, 8};
      for (int k = 0; k < (stage->batch >= 0 ? 2 : 1); k++) {
        stage->probes[MZ_DEVICE_CPU].batch[k] = batches[k];
        stage->probes[MZ_DEVICE_CPU].cpu_s[k] = mz_sim_truth_item_s(&r.simulation.stages[s], batches[k]);
      }
    }
    pipelines[i] = r.pipeline;
  }
  return 0;
}

static mz_practice_options practice_options(void) {
  return (mz_practice_options){.pipelines = pipelines,
                               .pipeline_count = PIPELINES,
                               .seed = 7,
                               .cores_min = 1,
                               .cores_max = 16,
                               .gpu_share = 0.3,
                               .plans = 8};
}

/* ---- situations ---- */

static void test_situations_are_drawn_by_number(void **state) {
  (void)state;
  const mz_practice_options options = practice_options();
  mz_practice *a = malloc(sizeof *a), *b = malloc(sizeof *b);
  bool gpus = false, many_cores = false;
  for (uint64_t n = 0; n < 24; n++) {
    ok(mz_practice_draw(a, &options, n));
    ok(mz_practice_draw(b, &options, n));
    assert_memory_equal(&a->pipeline, &b->pipeline, sizeof a->pipeline);
    assert_int_equal(a->count, b->count);
    assert_memory_equal(a->seen, b->seen, (size_t)a->count * sizeof *a->seen);
    ok(mz_pipeline_check(&a->pipeline));
    for (int i = 0; i < a->count; i++) {
      assert_true(isfinite(a->seen[i].unit_s) && a->seen[i].unit_s > 0);
      for (int k = 0; k < a->pipeline.knob_count; k++)
        assert_int_equal(a->seen[i].plan.values[k], mz_knob_clamp(&a->pipeline.knobs[k], a->seen[i].plan.values[k]));
      for (int j = 0; j < i; j++) assert_false(mz_plan_equal(&a->pipeline, &a->seen[i].plan, &a->seen[j].plan));
    }
    assert_true(a->simulation.machine.cores >= 1 && a->simulation.machine.cores <= 16);
    gpus = gpus || a->simulation.machine.gpus > 0;
    many_cores = many_cores || a->simulation.machine.cores > 8;
    ok(mz_practice_draw(b, &options, n + 100));
    assert_true(b->seen[0].unit_s != a->seen[0].unit_s);
  }
  assert_true(gpus && many_cores);
  free(a);
  free(b);
}

/* ---- training ---- */

static mz_pretraining_result train(int threads) {
  mz_pool *pool;
  mz_pretraining_result r;
  ok(mz_pool_create(&pool, "train", threads, NULL));
  const mz_pretraining_options options = {.practice = practice_options(), .exercises = 96, .epochs = 12, .pool = pool};
  ok(mz_pretrain(&options, &r));
  mz_pool_free(pool);
  return r;
}

static void test_training_corrects_the_analytic_model(void **state) {
  (void)state;
  mz_pretraining_result r = train(2), again = train(1);
  print_message("error between plans of held-out situations: T_ana %.3f", r.analytic_error);
  for (int k = 0; k < MZ_ENSEMBLE_KINDS; k++) {
    double mean = 0;
    for (int m = 0; m < MZ_PRETRAINED_MEMBERS; m++) {
      assert_true(r.kinds[k].epochs[m] >= 1 && r.kinds[k].epochs[m] <= 12);
      mean += r.kinds[k].error[m] / MZ_PRETRAINED_MEMBERS;
    }
    print_message(", %s %.3f", mz_ensemble_name((mz_ensemble_kind)k), mean);
    if (mz_ensemble_explained((mz_ensemble_kind)k)) assert_true(mean < r.analytic_error);
  }
  print_message("\n");
  assert_true(r.samples > 0 && r.held_out > 0);
  assert_int_equal(r.size, again.size); /* however many threads train */
  assert_memory_equal(r.bytes, again.bytes, r.size);
  mz_pretrained *p;
  ok(mz_pretrained_parse(&p, r.bytes, r.size, "x"));
  mz_pretrained_free(p);
  free(r.bytes);
  free(again.bytes);
}

static void test_too_few_situations_are_refused(void **state) {
  (void)state;
  mz_pool *pool;
  mz_pretraining_result r;
  ok(mz_pool_create(&pool, "train", 1, NULL));
  const mz_pretraining_options options = {.practice = practice_options(), .exercises = 2, .epochs = 1, .pool = pool};
  assert_int_equal(mz_pretrain(&options, &r), MZ_E_CONFIG);
  mz_pool_free(pool);
}

/* ---- the file ---- */

static mz_graph graph_of(const mz_pipeline *pipeline) {
  mz_analytic model;
  mz_plan plan = {0};
  mz_graph graph;
  for (int k = 0; k < pipeline->knob_count; k++) plan.values[k] = pipeline->knobs[k].min;
  mz_analytic_init(&model, pipeline, 4);
  const mz_graph_situation situation = {.model = &model, .explained = true};
  mz_graph_init(&graph, &situation, &plan);
  return graph;
}

static void test_the_programs_own_predicts(void **state) {
  (void)state;
  mz_pretrained *p;
  ok(mz_pretrained_bundled(&p));
  for (int i = 0; i < PIPELINES; i++) {
    const mz_graph graph = graph_of(&pipelines[i]);
    float attention[MZ_GRAPH_EDGES_MAX];
    ok(mz_pretrained_prepare(p, &pipelines[i]));
    for (int k = 0; k < MZ_ENSEMBLE_KINDS; k++) {
      const mz_ensemble_output all = mz_pretrained_ask(p, (mz_ensemble_kind)k, &graph, MZ_PRETRAINED_MEMBERS),
                               one = mz_pretrained_ask(p, (mz_ensemble_kind)k, &graph, 1);
      assert_true(isfinite(all.mean) && all.spread > 0); /* members differ */
      assert_true(one.mean != all.mean && one.spread == 0);
    }
    mz_pretrained_attention(p, &graph, attention);
    for (int e = 0; e < graph.edge_count; e++) assert_true(attention[e] >= 0 && attention[e] <= 1 + 1e-6);
  }
  mz_pretrained_free(p);
}

static void expect_refused(const uint8_t *bytes, size_t size, const char *why) {
  mz_pretrained *p;
  assert_int_equal(mz_pretrained_parse(&p, bytes, size, "mine.safetensors"), MZ_E_CONFIG);
  assert_null(p);
  assert_non_null(strstr(mz_message(), "mine.safetensors"));
  if (!strstr(mz_message(), why)) fail_msg("'%s' lacks '%s'", mz_message(), why);
}

static void replace(uint8_t *bytes, size_t size, const char *from, const char *to) {
  uint8_t *at = memmem(bytes, size, from, strlen(from));
  assert_non_null(at);
  assert_int_equal(strlen(from), strlen(to));
  memcpy(at, to, strlen(to));
}

static void test_damaged_and_foreign_files_are_named(void **state) {
  (void)state;
  mz_pretrained *p;
  size_t size;
  ok(mz_pretrained_bundled(&p));
  const uint8_t *whole = mz_pretrained_bytes(p, &size);
  uint8_t *copy = malloc(size);
  memcpy(copy, whole, size);
  expect_refused(copy, size - 1, "");
  expect_refused(copy, 4, "");
  replace(copy, size, "muzero predictors 1", "muzero predictors 9");
  expect_refused(copy, size, "another version");
  memcpy(copy, whole, size);
  replace(copy, size, "muzero predictors", "nobody's predictn");
  expect_refused(copy, size, "holds no predictors");
  free(copy);
  mz_pretrained_free(p);
}

static void test_other_features_are_named(void **state) {
  (void)state;
  mz_pretrained *p;
  size_t size;
  ok(mz_pretrained_bundled(&p));
  const uint8_t *whole = mz_pretrained_bytes(p, &size);
  uint8_t *copy = malloc(size), *features;
  memcpy(copy, whole, size);
  features = memmem(copy, size, "\"features\":\"", 12);
  assert_non_null(features);
  features[12] = features[12] == '0' ? '1' : '0';
  expect_refused(copy, size, "other features");
  memcpy(copy, whole, size);
  replace(copy, size, "graph.0.head.weight", "graph.0.heed.weight");
  expect_refused(copy, size, "graph.0.head.weight");
  free(copy);
  mz_pretrained_free(p);
}

static void test_a_runs_folder_keeps_the_file(void **state) {
  (void)state;
  char folder[256], path[400];
  mz_pretrained *p, *again;
  mz_pretraining_result r = train(2);
  ok(mz_file_make_temporary("pretrained", folder, sizeof folder));
  ok(mz_pretrained_parse(&p, r.bytes, r.size, "x"));
  const uint64_t digest = mz_pretrained_digest(p);
  assert_int_equal(mz_pretrained_recall(&again, folder, digest), MZ_E_IO); /* nothing kept it yet */
  ok(mz_pretrained_keep(p, folder));
  ok(mz_pretrained_keep(p, folder));
  ok(mz_pretrained_recall(&again, folder, digest));
  assert_true(mz_pretrained_digest(again) == digest);
  mz_pretrained_free(again);
  snprintf(path, sizeof path, "%s/predictors/%016llx.safetensors", folder, (unsigned long long)digest);
  r.bytes[r.size - 1] ^= 1;
  ok(mz_file_write_atomic(path, r.bytes, r.size));
  assert_int_equal(mz_pretrained_recall(&again, folder, digest), MZ_E_CONFIG);
  assert_non_null(strstr(mz_message(), "damaged"));
  mz_pretrained_free(p);
  ok(mz_pretrained_bundled(&p)); /* the program's own needs no file */
  ok(mz_pretrained_recall(&again, folder, mz_pretrained_digest(p)));
  mz_pretrained_free(again);
  mz_pretrained_free(p);
  free(r.bytes);
  ok(mz_file_remove_tree(folder));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_situations_are_drawn_by_number),      cmocka_unit_test(test_training_corrects_the_analytic_model),
      cmocka_unit_test(test_too_few_situations_are_refused),      cmocka_unit_test(test_the_programs_own_predicts),
      cmocka_unit_test(test_damaged_and_foreign_files_are_named), cmocka_unit_test(test_other_features_are_named),
      cmocka_unit_test(test_a_runs_folder_keeps_the_file),
  };
  return cmocka_run_group_tests(tests, set_up, NULL);
}
