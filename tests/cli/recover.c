/* What was lost or left half done on the way: pointers, checkpoints, packs and logs of a run that is resumed, or begun again. */
#include "tests/cli/support/process.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define TINY_TEXT "--preset " TEST_DATA "/cli/tiny.json --history none"

/* $M in commands is the program. */
static void shell(process *p, int status, const char *command) {
  char text[2048];
  snprintf(text, sizeof text, "M=\"$MUZERO\"; %s", command);
  process_shell(p, text);
  assert_status(p, status);
}

static void digest_of(const char *run, char out[32]) {
  process p = {0};
  process_run(&p, "inspect", run, "--digest", NULL);
  assert_status(&p, 0);
  snprintf(out, 32, "%s", p.out);
  process_free(&p);
}

static void make_run(const char *run, const char *more) {
  process p = {0};
  char command[512];
  snprintf(command, sizeof command, "$M train tictactoe " TINY_TEXT " --run %s %s", run, more);
  shell(&p, 0, command);
  process_free(&p);
}

/* A process that is stopped between a checkpoint's rename and LATEST's leaves a file newer than LATEST. */
static void test_latest_outlives_a_stop_before_its_rename(void **state) {
  (void)state;
  process p = {0};
  for (int saves = 1; saves <= 4; saves++) {
    char command[512], digest[32], again[32];
    shell(&p, 0, "rm -rf stop");
    make_run("stop", "--rounds 7 --set eval.interval=1000 --set checkpoint.interval=100000");
    snprintf(command, sizeof command, "$M resume stop --rounds %d", 7 + saves);
    shell(&p, 0, command);
    digest_of("stop", digest);
    shell(&p, 0, "echo round-000000007.mzc >stop/LATEST");
    snprintf(command, sizeof command, "$M resume stop --rounds %d --set checkpoint.interval=0", 7 + saves);
    shell(&p, 0, command);
    snprintf(command, sizeof command, "grep -q %d stop/LATEST && $M inspect stop --verify && ls stop/checkpoints", 7 + saves);
    shell(&p, 0, command);
    digest_of("stop", again);
    assert_string_equal(digest, again);
    shell(&p, 0, "$M resume stop --rounds 20");
  }
  process_free(&p);
}

/* What a run that went back left behind is not taken for its own. */
static void test_checkpoints_after_the_latest_go(void **state) {
  (void)state;
  process p = {0};
  make_run("back", "--rounds 4");
  shell(&p, 0,
        "cp back/checkpoints/$(cat back/LATEST) saved && $M resume back --rounds 40 --set checkpoint.interval=0 && "
        "test -e back/checkpoints/round-000000039.mzc && cp saved back/checkpoints/round-000000004.mzc && "
        "echo round-000000004.mzc >back/LATEST && $M resume back --rounds 5 --allow-fallback");
  shell(&p, 0,
        "$M inspect back --verify && test $(cat back/LATEST) = round-000000005.mzc && ls back/checkpoints | "
        "awk -v best=$(cat back/BEST) '$1 > \"round-000000005.mzc\" && $1 != best { print; bad = 1 } END { exit bad }'");
  process_free(&p);
}

static void test_best_is_put_right(void **state) {
  (void)state;
  process p = {0};
  make_run("best", "--rounds 30");
  shell(&p, 0, "cp best/BEST before; echo rubbish >best/BEST; $M resume best --rounds 31; cmp best/BEST before");
  assert_says(p.err, "BEST");
  shell(&p, 0, "rm best/BEST; $M resume best --rounds 32; cmp best/BEST before && ls best/checkpoints/$(cat best/BEST)");
  shell(&p, 4, "printf '../../x\\n' >best/LATEST; $M eval best");
  assert_says(p.err, "LATEST");
  process_free(&p);
}

static void test_missing_pack_is_found(void **state) {
  (void)state;
  process p = {0};
  make_run("gone", "--rounds 12 --set checkpoint.interval=0");
  shell(&p, 0, "ls gone/segments | wc -l; rm gone/segments/$(ls -S gone/segments | head -n 1)");
  process_run(&p, "inspect", "gone", "--verify", NULL);
  assert_status(&p, 4);
  assert_says(p.err, "segment");
  process_run(&p, "resume", "gone", "--rounds", "14", NULL);
  assert_status(&p, 4);
  assert_says(p.err, "--allow-fallback");
  shell(&p, 0, "rm -rf gone/segments; mkdir gone/segments; ! $M inspect gone --verify");
  process_free(&p);
}

static void test_lost_segments_are_left_out(void **state) {
  (void)state;
  process p = {0};
  make_run("lost", "--rounds 12 --set checkpoint.interval=0 --set checkpoint.keep=1 --set eval.interval=1000");
  shell(&p, 0,
        "f=lost/segments/$(ls -S lost/segments | head -n 1); printf XXXX | dd of=$f bs=1 "
        "seek=$(($(stat -c %s $f) / 2)) conv=notrunc status=none");
  shell(&p, 4, "$M resume lost --rounds 14");
  shell(&p, 0, "$M resume lost --rounds 14 --allow-fallback");
  assert_says(p.err, "without 1 segments of the replay");
  shell(&p, 0, "grep -c '\"event\":\"fallback\".*\"lost_segments\":1' lost/metrics.jsonl");
  shell(&p, 0, "$M resume lost --rounds 40 && $M inspect lost --verify && $M report lost --out page.html");
  process_free(&p);
}

static void test_damaged_latest_falls_back(void **state) {
  (void)state;
  process p = {0};
  char calm[32], again[32];
  make_run("calm", "--rounds 12 --set checkpoint.interval=0");
  make_run("fall", "--rounds 12 --set checkpoint.interval=0");
  digest_of("calm", calm);
  shell(&p, 0, "truncate -s 3000 fall/checkpoints/round-000000012.mzc");
  shell(&p, 4, "$M resume fall --rounds 12");
  assert_says(p.err, "section '");
  shell(&p, 0, "$M resume fall --rounds 12 --allow-fallback --set checkpoint.interval=0");
  assert_says(p.err, "checkpoint round-000000011.mzc, after round 11");
  digest_of("fall", again);
  assert_string_equal(calm, again); /* nothing was lost: the rounds are played again */
  shell(&p, 0, "$M inspect --diff calm fall");
  assert_says(p.out, "no difference");
  shell(&p, 0, "$M inspect fall --verify && rm fall/LATEST && $M resume fall --rounds 13 --allow-fallback");
  shell(&p, 3, "$M train tictactoe " TINY_TEXT " --run fall");
  assert_says(p.err, "resume");
  process_free(&p);
}

/* A pack that goes while the run is at work is written again from memory. */
static void test_pack_is_written_again(void **state) {
  (void)state;
  process p = {0};
  make_run("again", "--rounds 4");
  process_start(&p, "resume", "again", "--for", "30s", "--json", NULL);
  assert_true(process_wait_for(&p, "\"phase\""));
  process other = {0};
  shell(&other, 0, "rm -f again/segments/*.pack");
  char command[96];
  snprintf(command, sizeof command, "kill -USR1 %d; sleep 0.3; kill -TERM %d", (int)p.pid, (int)p.pid);
  shell(&other, 0, command);
  process_wait(&p);
  assert_status(&p, 75);
  assert_says(p.err, "is not there any more");
  shell(&other, 0, "$M inspect again --verify && $M resume again --for 0.1s");
  process_free(&p);
  process_free(&other);
}

/* Everything that makes a directory a run comes after the checkpoint is whole. */
static void test_begun_again_after_a_stop(void **state) {
  (void)state;
  process p = {0};
  make_run("half", "");
  shell(&p, 0, "rm -r half/LATEST half/checkpoints; touch half/env.json.4999999.4.tmp half/segments/x.pack.4999999.1.tmp");
  make_run("half", "");
  shell(&p, 0, "$M inspect half --verify; find half -name '*.tmp' | wc -l");
  assert_says(p.out, "\n0\n");
  shell(&p, 0, "rm half/config.json; $M resume half --rounds 6 && ls half/config.json");
  process_free(&p);
}

static void test_from_a_file_leaves_nothing_there(void **state) {
  (void)state;
  process p = {0};
  make_run("source", "");
  shell(&p, 0, "mkdir -p a/b && cp source/checkpoints/$(cat source/LATEST) a/b/one.mzc");
  shell(&p, 4, "$M train tictactoe --from a/b/one.mzc --run child");
  assert_says(p.err, "segment");
  shell(&p, 0, "find a child 2>/dev/null | sort | tr '\\n' ' '");
  assert_string_equal(p.out, "a a/b a/b/one.mzc ");
  shell(
      &p, 0,
      "cp -r source/segments a/segments && find a | sort >before && $M train tictactoe --from a/b/one.mzc --run child --rounds 6 "
      "&& find a | sort | diff before - && $M inspect child --verify");
  process_free(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_latest_outlives_a_stop_before_its_rename),
      cmocka_unit_test(test_checkpoints_after_the_latest_go),
      cmocka_unit_test(test_best_is_put_right),
      cmocka_unit_test(test_missing_pack_is_found),
      cmocka_unit_test(test_lost_segments_are_left_out),
      cmocka_unit_test(test_damaged_latest_falls_back),
      cmocka_unit_test(test_pack_is_written_again),
      cmocka_unit_test(test_begun_again_after_a_stop),
      cmocka_unit_test(test_from_a_file_leaves_nothing_there),
  };
  return cmocka_run_group_tests(tests, process_make_folder, process_remove_folder);
}
