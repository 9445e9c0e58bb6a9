/* The program with GPUs, those of the stand-in for the CUDA module (tests/fake_module.c). */
#include "tests/cli/support/lines.h"
#include "tests/cli/support/process.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SMALL                                                                                                                    \
  " --history none --set num_games=8 --set moves_per_round=3 --set loop_count=2 --set batch_size=16 --set simulations=3 --set "  \
  "eval.games=2 --set eval.opponent=random --set train.phase_rounds=6 --set replay.min_fill=8 --set network.kind=mlp --set "     \
  "network.width=16 --set train.updates=0 --set checkpoint.interval=0 "

static cJSON *row_of(const cJSON *object, const char *name) {
  cJSON *row;
  cJSON_ArrayForEach(row, cJSON_GetObjectItemCaseSensitive(object, "checks")) {
    if (strcmp(lines_string(row, "name"), name) == 0) return row;
  }
  fail_msg("doctor has no row '%s'", name);
  return NULL;
}

static void test_doctor(void **state) {
  (void)state;
  process p = {0};
  process_shell(&p, "FAKE_GPU_MODELS='Fake A,Fake B' $MUZERO doctor --json");
  assert_status(&p, 0);
  cJSON *object = lines_at(p.out, 0);
  assert_says(lines_string(row_of(object, "cuda-module"), "value"), "libmuzero_cuda.so, code for none");
  assert_says(lines_string(row_of(object, "cuda-versions"), "value"), "cuDNN 9.19.0");
  assert_says(lines_string(row_of(object, "cuda:1"), "value"), "Fake B, compute capability 9.0, 8.0 GiB of memory");
  assert_true(cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(row_of(object, "self-test cuda:1"), "ok")));
  cJSON_Delete(object);
  process_shell(&p, "FAKE_LANES=0 FAKE_DRIVER=12000 $MUZERO doctor --json"); /* a device that is full is no wrong one */
  assert_status(&p, 0);
  object = lines_at(p.out, 0);
  assert_false(cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(row_of(object, "self-test cuda:0"), "ok")));
  assert_says(lines_string(row_of(object, "cuda-versions"), "advice"), "install a newer NVIDIA driver");
  cJSON_Delete(object);
  process_shell(&p, "MUZERO_CUDA_MODULE=nowhere.so $MUZERO doctor --json");
  assert_status(&p, 0);
  object = lines_at(p.out, 0);
  assert_says(lines_string(row_of(object, "cuda-module"), "value"), "nowhere.so: there is no such file");
  cJSON_Delete(object);
  process_free(&p);
}

static void test_version(void **state) {
  (void)state;
  process p = {0};
  process_run(&p, "--version", NULL);
  assert_status(&p, 0);
  assert_says(p.out, "cuda (");
  process_shell(&p, "MUZERO_CUDA_MODULE=nowhere.so $MUZERO --version");
  assert_says(p.out, "no cuda");
  process_free(&p);
}

static void test_devices_that_are_not_there(void **state) {
  (void)state;
  const refusal refusals[] = {
      {{"train", "tictactoe", "--device", "cuda:9"}, 6, "nearest: cuda:1"},
      {{"train", "tictactoe", "--device", "gpu"}, 2, "takes auto, cpu, cuda or cuda:N"},
      {{"train", "tictactoe", "--set", "devices.learning=cuda:3"}, 3, "did you mean 'cuda:"},
  };
  assert_refused(refusals, sizeof refusals / sizeof *refusals);
  process p = {0};
  process_shell(&p, "MUZERO_CUDA_MODULE=nowhere.so $MUZERO train tictactoe --device cuda --run none");
  assert_status(&p, 6);
  assert_says(p.err, "--device cuda: nowhere.so: there is no such file");
  process_free(&p);
}

/* The other GPUs of a machine may be had. */
static void test_one_gpu_is_broken(void **state) {
  (void)state;
  process p = {0};
  process_shell(&p, "FAKE_BROKEN=0 $MUZERO train tictactoe --run beside --device cuda:1 --rounds 1" SMALL);
  assert_status(&p, 0);
  process_shell(&p, "FAKE_BROKEN=0 FAKE_GPUS=1 $MUZERO train tictactoe --run broken --device cuda --rounds 1" SMALL);
  assert_status(&p, 6);
  assert_says(p.err, "is broken");
  process_shell(&p, "FAKE_GPUS=-1 $MUZERO train tictactoe --run old --device cuda --rounds 1" SMALL);
  assert_status(&p, 6);
  assert_says(p.err, "the driver is insufficient");
  process_shell(&p, "FAKE_GPUS=-1 $MUZERO doctor");
  assert_says(p.out, "the driver is insufficient");
  process_free(&p);
}

static void test_a_run_says_where_it_runs(void **state) {
  (void)state;
  process p = {0};
  process_shell(&p, "$MUZERO train tictactoe --run where --device cuda:1 --rounds 6" SMALL);
  assert_status(&p, 0);
  assert_says(p.out, "devices: self-play, reanalysis and learning on cuda:1 (Fake GPU): asked for by --device cuda:1");
  char *env = process_text("where/env.json");
  assert_says(env, "\"gpu\": \"Fake GPU\"");
  free(env);
  process_shell(&p, "$MUZERO resume where --rounds 8 --device cpu");
  assert_status(&p, 3);
  assert_says(p.err, "--allow-numeric");
  process_shell(&p, "$MUZERO eval where --device cuda --games 4 --json && $MUZERO eval where --device cpu --games 4 --json");
  assert_status(&p, 0);
  cJSON *on_gpu = lines_at(p.out, 0), *on_cpu = lines_at(p.out, 1);
  assert_true(cJSON_Compare(on_gpu, on_cpu, true));
  cJSON_Delete(on_gpu), cJSON_Delete(on_cpu);
  process_shell(&p, "FAKE_LOST=20 $MUZERO resume where --rounds 60");
  assert_status(&p, 6);
  assert_says(p.err, "the device is lost; the last checkpoint is where/checkpoints/");
  assert_says(p.err, "muzero resume where --device cpu --allow-numeric");
  process_shell(&p, "FAKE_LOST=1 $MUZERO resume where --rounds 60"); /* while it opens */
  assert_status(&p, 6);
  assert_says(p.err, "nothing has changed in the run; 'muzero resume where' continues when the device is there again");
  assert_says(p.err, "muzero resume where --device cpu --allow-numeric");
  process_shell(&p, "$MUZERO resume where --rounds 12 --device cpu --allow-numeric");
  assert_status(&p, 0);
  process_free(&p);
}

static void assert_same_digest(const char *a, const char *b) {
  char command[256];
  process p = {0};
  snprintf(command, sizeof command,
           "test $($MUZERO inspect %s --digest | head -n 1) = $($MUZERO inspect %s --digest | head -n 1)", a, b);
  process_shell(&p, command);
  assert_status(&p, 0);
  process_free(&p);
}

/* Moves between kinds of devices are plans as others: they are in the ledger, and a run that repeats it makes them. */
static void test_moves_are_repeated(void **state) {
  (void)state;
  process p = {0};
  process_shell(&p,
                "$MUZERO train tictactoe --run moved --device cuda --rounds 40 --allocate random --set allocate.numeric=on --set "
                "allocate.verify=off --set allocate.window=4" SMALL);
  assert_status(&p, 0);
  process_shell(&p,
                "grep -o '\"selfplay_device\":[0-9]*,\"reanalyze_device\":[0-9]*,\"learning_device\":[0-9]*' moved/ledger.jsonl "
                "| sort -u | wc -l");
  assert_true(atoi(p.out) > 2);
  process_shell(
      &p, "$MUZERO train tictactoe --run again --device cuda --rounds 40 --replay-plan moved --set allocate.numeric=on" SMALL);
  assert_status(&p, 0);
  assert_same_digest("moved", "again");
  /* The plans in force, one after another; what was weighed lacks the knobs that it leaves as they are. */
  process_shell(
      &p, "for run in moved again; do grep -o '\"plan\":{[^}]*\"replay_raw\"[^}]*}' $run/ledger.jsonl | uniq >$run.plans; done; "
          "head -n $(wc -l <moved.plans) again.plans | diff moved.plans - && wc -l <moved.plans");
  assert_status(&p, 0);
  assert_true(atoi(p.out) > 4);
  process_shell(&p, "$MUZERO train tictactoe --run held --device cuda --rounds 40 --replay-plan moved" SMALL);
  assert_status(&p, 3);
  assert_says(p.err, "devices.");
  process_free(&p);
}

static int set_up(void **state) {
  setenv("MUZERO_CUDA_MODULE", FAKE_MODULE, 1);
  return process_make_folder(state);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_doctor),
      cmocka_unit_test(test_version),
      cmocka_unit_test(test_devices_that_are_not_there),
      cmocka_unit_test(test_one_gpu_is_broken),
      cmocka_unit_test(test_a_run_says_where_it_runs),
      cmocka_unit_test(test_moves_are_repeated),
  };
  return cmocka_run_group_tests(tests, set_up, process_remove_folder);
}
