/* `muzero why --graph`: the picture of a run, who draws it, and what is left where it cannot be written. */
#include "tests/cli/support/lines.h"
#include "tests/cli/support/process.h"
#include "tests/cli/support/xml.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define TINY "--preset", TEST_DATA "/cli/tiny.json", "--set", "eval.games=1", "--history", "none"

static int setup(void **state) {
  process p = {0};
  if (process_make_folder(state) != 0) return 1;
  process_run(&p, "train", "tictactoe", TINY, "--run", "w", "--rounds", "12", NULL);
  assert_status(&p, 0);
  process_shell(&p, "mkdir bare empty && : > empty/ledger.jsonl");
  assert_status(&p, 0);
  process_free(&p);
  return 0;
}

/* The file's text, in p->out. */
static const char *read_back(process *p, const char *name) {
  char command[128];
  snprintf(command, sizeof command, "cat %s", name);
  process_shell(p, command);
  assert_status(p, 0);
  return p->out;
}

static void test_a_run_is_drawn(void **state) {
  (void)state;
  process p = {0}, plain = {0};
  process_run(&plain, "why", "w", NULL);
  process_run(&p, "why", "w", "--graph", "own.svg", "--layout", "own", NULL);
  assert_status(&p, 0);
  assert_string_equal(p.out, plain.out); /* the picture comes on top */
  assert_says(p.err, "own.svg: 8 nodes, ");
  assert_says(p.err, "drawn by our own layout");
  const char *svg = read_back(&p, "own.svg");
  assert_well_formed(svg);
  static const char *const words[] = {" after phase ", "a unit of work", ">actor<",          ">replay<",
                                      ">learner<",     ">dynamics<",     "networks on cpu:0"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) assert_says(svg, words[i]);
  process_free(&p);
  process_free(&plain);
}

static void test_an_earlier_plan_is_drawn(void **state) {
  (void)state;
  process p = {0};
  process_run(&p, "why", "w", "--phase", "0", "--graph", "first.svg", "--layout", "own", "--json", NULL);
  assert_status(&p, 0);
  cJSON *decision = lines_at(p.out, 0); /* nothing else is printed */
  assert_int_equal((int)lines_number(decision, "phase"), 0);
  cJSON_Delete(decision);
  assert_says(read_back(&p, "first.svg"), "after phase 0");
  process_free(&p);
}

static void test_text_for_graphviz_is_written(void **state) {
  (void)state;
  process p = {0};
  process_run(&p, "why", "w", "--graph", "w.dot", NULL);
  assert_status(&p, 0);
  const char *dot = read_back(&p, "w.dot");
  assert_int_equal(strncmp(dot, "digraph pipeline {", 18), 0);
  assert_says(dot, "subgraph cluster_0");
  assert_true(xml_count(dot, " -> ") >= 16);
  process_free(&p);
}

/* ---- Graphviz ---- */

static void make_dot(const char *script) {
  process p = {0};
  char command[512];
  snprintf(command, sizeof command, "mkdir -p bin tmp && printf '%%s\\n' '#!/bin/sh' '%s' > bin/dot && chmod +x bin/dot", script);
  process_shell(&p, command);
  assert_status(&p, 0);
  process_free(&p);
}

/* Draws g.svg with the made dot first on PATH, or with no dot at all; leaves its text in p->out and what was said in `said`. */
static void draw_with(process *p, const char *path, char said[1024]) {
  char command[256];
  snprintf(command, sizeof command, "rm -f g.svg; mkdir -p tmp; TMPDIR=$PWD/tmp PATH=%s exec $MUZERO why w --graph g.svg", path);
  process_shell(p, command);
  assert_status(p, 0);
  snprintf(said, 1024, "%s", p->err);
  process_shell(p, "ls -A tmp");
  assert_string_equal(p->out, ""); /* nothing is left */
  read_back(p, "g.svg");
}

#define FIRST "$PWD/bin:$PATH"

static void test_graphviz_draws_where_it_is(void **state) {
  (void)state;
  process p = {0};
  char said[1024];
  make_dot("[ \"$1\" = -Tsvg ] && grep -q digraph \"$4\" && echo \"<svg>made</svg>\" > \"$3\" && echo noise");
  draw_with(&p, FIRST, said);
  assert_says(said, "drawn by Graphviz");
  assert_string_equal(p.out, "<svg>made</svg>\n");
  process_run(&p, "why", "w", "--graph", "g.svg", "--layout", "own", NULL);
  assert_non_null(strstr(read_back(&p, "g.svg"), ">actor<"));
  process_free(&p);
}

static void test_our_own_layout_takes_over(void **state) {
  (void)state;
  static const struct {
    const char *script, *path, *says; /* script NULL: there is no dot */
  } cases[] = {{NULL, "/nowhere", "own layout: Graphviz's dot is not on PATH"},
               {"exit 3", FIRST, "own layout: dot: failed with exit status 3"},
               {"kill -9 $$", FIRST, "own layout: dot: was ended by signal 9"},
               {"echo rubbish > \"$3\"", FIRST, "own layout: dot: what it wrote is no SVG"},
               {"exit 0", FIRST, "graph.svg: cannot open"}};
  process p = {0};
  char said[1024];
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    if (cases[i].script) make_dot(cases[i].script);
    draw_with(&p, cases[i].path, said);
    assert_says(said, cases[i].says);
    assert_well_formed(p.out);
    assert_non_null(strstr(p.out, ">actor<"));
  }
  process_free(&p);
}

/* ---- what it refuses ---- */

static void test_what_it_refuses(void **state) {
  (void)state;
  static const refusal refusals[] = {
      {{"why", "w", "--graph", "no/such/g.svg"}, 5, "no/such/g.svg"},
      {{"why", "w", "--graph", "g.png"}, 2, "try g.svg"},
      {{"why", "w", "--graph", "a.b/g"}, 2, "try a.b/g.svg"},
      {{"why", "w", "--layout", "own"}, 2, "give --graph FILE.svg, too"},
      {{"why", "bare", "--graph", "x.svg"}, 5, "bare/ledger.jsonl"},
      {{"why", "empty", "--graph", "x.svg"}, 3, "empty: its ledger is empty"},
      {{"what-if", "empty"}, 3, "empty: its ledger is empty"},
  };
  assert_refused(refusals, sizeof refusals / sizeof *refusals);
  process p = {0};
  process_run(&p, "why", "w", "--graph", "x.svg", "--layout", "grafviz", NULL);
  assert_status(&p, 2);
  assert_says(p.err, "did you mean graphviz?");
  process_run(&p, "why", "w", "--graph", "x.svg", "--phase", "987654", NULL);
  assert_status(&p, 3);
  assert_says(p.err, "there is no decision after phase 987654");
  process_shell(&p, "ls x.svg");
  assert_true(p.status != 0); /* none of them has written anything */
  process_free(&p);
}

/* A folder stands where the file should go: it stays, and so does all that is beside it. */
static void test_nothing_is_left_half_written(void **state) {
  (void)state;
  process p = {0};
  process_shell(&p, "mkdir -p taken/full.svg && touch taken/full.svg/kept && ls -R taken");
  char *before = strdup(p.out);
  process_run(&p, "why", "w", "--graph", "taken/full.svg", "--layout", "own", NULL);
  assert_status(&p, 5);
  assert_says(p.err, "taken/full.svg");
  assert_string_equal(p.out, "");
  process_shell(&p, "ls -R taken");
  assert_string_equal(p.out, before);
  free(before);
  process_free(&p);
}

/* Names come from the ledger, which anyone may have written. */
static void test_names_from_the_ledger_are_text(void **state) {
  (void)state;
  process p = {0};
  process_shell(&p, "mkdir odd && sed 's/\"dynamics\"/\"<d>\\&\\\\\"x\\\\u001b\"/' w/ledger.jsonl > odd/ledger.jsonl && grep -c "
                    "'<d>' odd/ledger.jsonl");
  assert_status(&p, 0);
  process_run(&p, "why", "odd", "--graph", "odd.svg", "--layout", "own", NULL);
  assert_status(&p, 0);
  const char *svg = read_back(&p, "odd.svg");
  assert_well_formed(svg);
  assert_says(svg, "&lt;d&gt;&amp;&quot;x\\x1B");
  process_run(&p, "why", "odd", "--graph", "odd.dot", NULL);
  assert_says(read_back(&p, "odd.dot"), "<d>&\\\"x\\\\x1B");
  process_free(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_run_is_drawn),
      cmocka_unit_test(test_an_earlier_plan_is_drawn),
      cmocka_unit_test(test_text_for_graphviz_is_written),
      cmocka_unit_test(test_graphviz_draws_where_it_is),
      cmocka_unit_test(test_our_own_layout_takes_over),
      cmocka_unit_test(test_what_it_refuses),
      cmocka_unit_test(test_nothing_is_left_half_written),
      cmocka_unit_test(test_names_from_the_ledger_are_text),
  };
  return cmocka_run_group_tests(tests, setup, process_remove_folder);
}
