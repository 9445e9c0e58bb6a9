/* Damaged, foreign and missing checkpoints, disks that fail, and losses that are no numbers: the exit status, the part named,
 * and the last good checkpoint intact. */
#include "tests/cli/support/process.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define TINY "--preset", TEST_DATA "/cli/tiny.json"
#define TINY_TEXT "--preset " TEST_DATA "/cli/tiny.json"

static void make_run(const char *run) {
  process p = {0};
  process_run(&p, "train", "tictactoe", TINY, "--run", run, NULL);
  assert_status(&p, 0);
  process_free(&p);
}

static void test_no_checkpoint(void **state) {
  (void)state;
  process p = {0};
  process_shell(&p, "mkdir empty");
  static const char *const commands[] = {"eval", "resume", "inspect"};
  for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
    process_run(&p, commands[i], "empty", NULL);
    assert_status(&p, 4);
    assert_says(p.err, "empty");
  }
  process_shell(&p, "ls empty"); /* not even a lock is left by a failed resume of nothing */
  assert_string_equal(p.out, "");
  process_free(&p);
}

static void test_foreign_files(void **state) {
  (void)state;
  process p = {0};
  process_shell(&p, "head -c 5000 /dev/urandom >noise; : >nothing; echo '{\"a\": 1}' >text");
  static const char *const files[] = {"noise", "nothing", "text"};
  for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
    process_run(&p, "inspect", files[i], NULL);
    assert_status(&p, 4);
    assert_says(p.err, files[i]);
    assert_says(p.err, "section 'header'");
    process_run(&p, "eval", files[i], NULL);
    assert_status(&p, 4);
  }
  process_free(&p);
}

static void test_truncated(void **state) {
  (void)state;
  make_run("cut");
  process p = {0};
  process_shell(&p, "cp cut/checkpoints/$(cat cut/LATEST) whole; stat -c %s whole");
  const long size = strtol(p.out, NULL, 10);
  assert_true(size > 1000);
  for (int i = 0; i < 8; i++) {
    char command[128];
    snprintf(command, sizeof command, "head -c %ld whole >cut/checkpoints/$(cat cut/LATEST)", size * i / 8);
    process_shell(&p, command);
    process_run(&p, "resume", "cut", NULL);
    assert_status(&p, 4);
    assert_says(p.err, "section '");
  }
  process_free(&p);
}

static void test_flipped_bits(void **state) {
  (void)state;
  make_run("flip");
  process p = {0};
  process_shell(&p, "stat -c %s flip/checkpoints/$(cat flip/LATEST)");
  const long size = strtol(p.out, NULL, 10);
  for (int i = 0; i < 12; i++) {
    char command[256];
    /* one byte of the file, inverted */
    snprintf(command, sizeof command,
             "cp flip/checkpoints/$(cat flip/LATEST) bad && b=$(od -An -tu1 -j %ld -N 1 bad | tr -d ' ') && "
             "printf \"\\\\$(printf %%o $((b ^ 255)))\" | dd of=bad bs=1 seek=%ld conv=notrunc status=none",
             size * i / 12, size * i / 12);
    process_shell(&p, command);
    assert_status(&p, 0);
    process_run(&p, "inspect", "bad", "--verify", NULL);
    assert_status(&p, 4);
    assert_says(p.err, "section '");
  }
  process_free(&p);
}

static void test_damaged_pack(void **state) {
  (void)state;
  make_run("pack");
  process p = {0};
  process_shell(
      &p,
      "for f in pack/segments/*; do printf XXXX | dd of=$f bs=1 seek=$(($(stat -c %s $f) / 2)) conv=notrunc status=none; done");
  assert_status(&p, 0);
  process_run(&p, "inspect", "pack", "--verify", NULL);
  assert_status(&p, 4);
  assert_says(p.err, "segments/");
  process_free(&p);
}

static void test_unwritable(void **state) {
  (void)state;
  process p = {0};
  process_shell(&p, ": >file");
  process_run(&p, "train", "tictactoe", TINY, "--run", "file/run", NULL);
  assert_status(&p, 5);
  assert_says(p.err, "file");
  process_run(&p, "train", "tictactoe", TINY, "--run", "/proc/run", NULL);
  assert_status(&p, 5);
  assert_says(p.err, "/proc/run");
  if (geteuid() != 0) { /* root writes anyway */
    process_shell(&p, "mkdir locked && chmod 555 locked");
    process_run(&p, "train", "tictactoe", TINY, "--run", "locked/run", NULL);
    assert_status(&p, 5);
  }
  process_free(&p);
}

static void expect_good(const char *run, const char *digest) {
  process p = {0};
  process_run(&p, "inspect", run, "--verify", NULL);
  assert_status(&p, 0);
  process_run(&p, "inspect", run, "--digest", NULL);
  assert_status(&p, 0);
  if (digest) assert_string_equal(p.out, digest);
  process_run(&p, "resume", run, "--for", "0.05s", NULL);
  assert_status(&p, 0);
  process_free(&p);
}

/* A limit on the size of files stands for a disk that is full in the middle of a checkpoint. */
static void test_full_disk(void **state) {
  (void)state;
  make_run("full");
  process p = {0};
  process_run(&p, "inspect", "full", "--digest", NULL);
  assert_status(&p, 0);
  char digest[32];
  snprintf(digest, sizeof digest, "%s", p.out);
  process_shell(&p, "ulimit -f 16; exec $MUZERO resume full --rounds 100 --json"); /* 8 or 16 KiB */
  assert_status(&p, 5);
  assert_says(p.err, "full/");
  process_shell(&p, "find full -name '*tmp*' | wc -l");
  assert_string_equal(p.out, "0\n");
  expect_good("full", digest);
  process_free(&p);
}

/* Weights that grow a hundredfold an update: soon the loss is no number. */
static void test_loss_is_no_number(void **state) {
  (void)state;
  process p = {0};
  process_run(&p, "train", "tictactoe", TINY, "--run", "nan", "--rounds", "1000", "--set", "learning_rate=10", "--set",
              "weight_decay=10", "--set", "gradient_clip=0", NULL);
  assert_status(&p, 3);
  assert_says(p.err, "round ");
  assert_says(p.err, "finite");
  assert_says(p.err, "nan/checkpoints/round-"); /* where it is still sound */
  assert_says(p.err, "train tictactoe --from nan --set learning_rate=5");
  process_run(&p, "inspect", "nan", "--verify", NULL);
  assert_status(&p, 0);
  process_run(&p, "eval", "nan", "--games", "2", NULL);
  assert_status(&p, 0);
  process_free(&p);
}

/* Weights that are finite, and so large that nothing which is computed from them is. */
static void test_divergence_is_not_saved(void **state) {
  (void)state;
  process p = {0};
  process_run(&p, "train", "tictactoe", TINY, "--run", "wild", "--rounds", "1000", "--set", "learning_rate=10", "--set",
              "weight_decay=10", "--set", "gradient_clip=0", "--set", "checkpoint.interval=0", "--set", "checkpoint.keep=1000",
              NULL);
  assert_status(&p, 3);
  process_shell(&p, "for c in wild/checkpoints/*; do \"$MUZERO\" eval $c --games 2 --json >/dev/null || exit 1; done");
  assert_status(&p, 0);
  process_run(&p, "train", "tictactoe", "--from", "wild", "--run", "tame", "--rounds", "12", "--set", "learning_rate=0.001",
              NULL);
  assert_status(&p, 0);
  process_free(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_no_checkpoint),
      cmocka_unit_test(test_foreign_files),
      cmocka_unit_test(test_truncated),
      cmocka_unit_test(test_flipped_bits),
      cmocka_unit_test(test_damaged_pack),
      cmocka_unit_test(test_unwritable),
      cmocka_unit_test(test_full_disk),
      cmocka_unit_test(test_loss_is_no_number),
      cmocka_unit_test(test_divergence_is_not_saved),
  };
  return cmocka_run_group_tests(tests, process_make_folder, process_remove_folder);
}
