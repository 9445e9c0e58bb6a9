/* Every function with a handle that is NULL, closed, of another type or made up; and results that have nowhere to go. Nothing is
 * dereferenced that a caller made up, so all of it can be tried. */
#include "library.h"
#include <math.h>

enum { KINDS = 3, RUN = 0, AGENT, GAME };
static char folder[64], dir[128];

typedef muzero_status (*use)(void *handle);

static muzero_status run_train(void *h) { return muzero_run_train(h, NULL, NULL); }
static muzero_status run_phase(void *h) { return muzero_run_phase(h, NULL, NULL); }
static muzero_status run_rounds(void *h) { return muzero_run_rounds(h, 1, NULL, NULL); }
static muzero_status run_request(void *h) { return muzero_run_request(h, MUZERO_REQUEST_STOP); }
static muzero_status run_save(void *h) { return muzero_run_save(h); }
static muzero_status run_evaluate(void *h) {
  double score;
  return muzero_run_evaluate(h, 1, &score);
}
static muzero_status run_progress(void *h) {
  muzero_progress progress = MUZERO_PROGRESS_INIT;
  return muzero_run_progress(h, &progress);
}
static muzero_status run_metric(void *h) {
  double value;
  return muzero_run_metric(h, "loss", &value);
}
static char text[16384];
static muzero_status run_metrics_json(void *h) { return muzero_run_metrics_json(h, text, sizeof text); }
static muzero_status run_dir(void *h) { return muzero_run_dir(h, text, sizeof text); }
static muzero_status run_close(void *h) { return muzero_run_close(h); }
static muzero_status agent_describe(void *h) {
  muzero_agent_info info = MUZERO_AGENT_INFO_INIT;
  return muzero_agent_describe(h, &info);
}
static muzero_game *a_game;
static muzero_status agent_move(void *h) { return muzero_agent_move(h, &a_game, 1, 0, NULL, NULL, NULL, NULL); }
static muzero_status agent_close(void *h) { return muzero_agent_close(h); }
static muzero_status game_copy(void *h) {
  muzero_game *copy;
  return muzero_game_copy(&copy, h);
}
static muzero_status game_state(void *h) {
  muzero_game_state state = MUZERO_GAME_STATE_INIT;
  return muzero_game_state_get(h, &state);
}
static uint8_t mask[9];
static float observation[1000];
static muzero_status game_legal(void *h) { return muzero_game_legal(h, mask, sizeof mask); }
static muzero_status game_step(void *h) { return muzero_game_step(h, 0); }
static muzero_status game_observe(void *h) { return muzero_game_observe(h, observation, 1000); }
static muzero_status game_text(void *h) { return muzero_game_text(h, text, sizeof text); }
static muzero_status game_action_text(void *h) { return muzero_game_action_text(h, 0, text, sizeof text); }
static muzero_status game_close(void *h) { return muzero_game_close(h); }

static const struct {
  int kind;
  use use;
} uses[] = {{RUN, run_train},         {RUN, run_phase},        {RUN, run_rounds},   {RUN, run_request},      {RUN, run_save},
            {RUN, run_evaluate},      {RUN, run_progress},     {RUN, run_metric},   {RUN, run_metrics_json}, {RUN, run_dir},
            {RUN, run_close},         {AGENT, agent_describe}, {AGENT, agent_move}, {AGENT, agent_close},    {GAME, game_copy},
            {GAME, game_state},       {GAME, game_legal},      {GAME, game_step},   {GAME, game_observe},    {GAME, game_text},
            {GAME, game_action_text}, {GAME, game_close}};
enum { USES = sizeof uses / sizeof *uses };

static int make(void **state) {
  (void)state;
  make_folder(folder);
  snprintf(dir, sizeof dir, "%s/run", folder);
  tiny_trained(dir);
  expect_fine(muzero_game_create(&a_game, "tictactoe", 1));
  return 0;
}
static int drop(void **state) {
  (void)state;
  expect_fine(muzero_game_close(a_game));
  drop_folder(folder);
  return 0;
}

static void open_each(void *handles[KINDS]) {
  muzero_run *run;
  muzero_agent *agent;
  muzero_game *game;
  expect_fine(muzero_run_resume(&run, dir, NULL));
  expect_fine(muzero_agent_load(&agent, dir));
  expect_fine(muzero_game_create(&game, "tictactoe", 1));
  handles[RUN] = run;
  handles[AGENT] = agent;
  handles[GAME] = game;
}
static void close_each(void *const handles[KINDS]) {
  expect_fine(muzero_run_close(handles[RUN]));
  expect_fine(muzero_agent_close(handles[AGENT]));
  expect_fine(muzero_game_close(handles[GAME]));
}

static void test_handles_that_are_none(void **state) {
  (void)state;
  void *handles[KINDS];
  int object = 0;
  open_each(handles);
  for (int i = 0; i < USES; i++) {
    for (int kind = 0; kind < KINDS; kind++)
      if (kind != uses[i].kind) expect_status(MUZERO_E_USAGE, uses[i].use(handles[kind]));
    const uintptr_t value = (uintptr_t)handles[uses[i].kind];
    void *const made_up[] = {NULL,
                             &object,
                             (void *)1,
                             (void *)UINTPTR_MAX,
                             (void *)(value + (1 << 4)),
                             (void *)(value + (1 << 16)),
                             (void *)(value - (1 << 16)),
                             (void *)(value ^ (UINTPTR_MAX << 40))};
    for (size_t n = 0; n < sizeof made_up / sizeof *made_up; n++) {
      if (made_up[n] == (void *)a_game || made_up[n] == handles[GAME]) continue;
      expect_status(MUZERO_E_USAGE, uses[i].use(made_up[n]));
    }
  }
  expect_status(MUZERO_E_USAGE, muzero_run_save(NULL));
  expect_message("muzero_run_save: the run is NULL");
  expect_status(MUZERO_E_USAGE, muzero_run_save(handles[GAME]));
  expect_message("muzero_run_save: takes a handle of type run");
  close_each(handles);
}

static void test_closed_handles(void **state) {
  (void)state;
  void *closed[KINDS], *handles[KINDS];
  open_each(closed);
  close_each(closed);
  for (int again = 0; again < 2; again++) { /* also when others have been opened since */
    for (int i = 0; i < USES; i++) expect_status(MUZERO_E_USAGE, uses[i].use(closed[uses[i].kind]));
    expect_status(MUZERO_E_USAGE, muzero_game_step(closed[GAME], 0));
    expect_message("muzero_game_step: the game is closed");
    open_each(handles);
    if (again == 0) close_each(handles);
  }
  for (int kind = 0; kind < KINDS; kind++) assert_ptr_not_equal(closed[kind], handles[kind]);
  close_each(handles);
}

static void test_results_with_nowhere_to_go(void **state) {
  (void)state;
  void *handles[KINDS];
  const muzero_run_options options = tiny_options();
  open_each(handles);
  expect_status(MUZERO_E_USAGE, muzero_run_progress(handles[RUN], NULL));
  expect_message("the argument 'out' is NULL");
  expect_status(MUZERO_E_USAGE, muzero_run_metric(handles[RUN], "loss", NULL));
  expect_status(MUZERO_E_USAGE, muzero_run_metric(handles[RUN], NULL, (double *)observation));
  expect_status(MUZERO_E_USAGE, muzero_run_metrics_json(handles[RUN], NULL, 100));
  expect_status(MUZERO_E_USAGE, muzero_run_dir(handles[RUN], NULL, 100));
  expect_status(MUZERO_E_USAGE, muzero_run_evaluate(handles[RUN], 1, NULL));
  expect_status(MUZERO_E_USAGE, muzero_agent_describe(handles[AGENT], NULL));
  expect_status(MUZERO_E_USAGE, muzero_game_state_get(handles[GAME], NULL));
  expect_status(MUZERO_E_USAGE, muzero_game_copy(NULL, handles[GAME]));
  expect_status(MUZERO_E_USAGE, muzero_game_create(NULL, "go", 1));
  expect_status(MUZERO_E_USAGE, muzero_run_create(NULL, dir, &options));
  expect_status(MUZERO_E_USAGE, muzero_run_resume(NULL, dir, NULL));
  expect_status(MUZERO_E_USAGE, muzero_run_open(NULL, dir, &options));
  close_each(handles); /* none of it has left a handle entered */
}

static void test_wrong_arguments(void **state) {
  (void)state;
  muzero_run *run;
  muzero_game *game;
  muzero_limits limits = MUZERO_LIMITS_INIT;
  muzero_run_options options = MUZERO_RUN_OPTIONS_INIT;
  const char *const settings[] = {NULL};
  double score;
  expect_status(MUZERO_E_USAGE, muzero_game_create(&game, NULL, 1));
  expect_status(MUZERO_E_USAGE, muzero_run_create(&run, dir, NULL));
  expect_message("options.env is NULL");
  expect_status(MUZERO_E_USAGE, muzero_run_create(&run, dir, &options));
  expect_status(MUZERO_E_USAGE, muzero_run_resume(&run, NULL, NULL));
  expect_status(MUZERO_E_USAGE, muzero_run_open(&run, NULL, NULL));
  options.env = "tictactoe";
  expect_status(MUZERO_E_USAGE, muzero_run_resume(&run, dir, &options));
  options.settings_count = 1;
  expect_status(MUZERO_E_USAGE, muzero_run_open(&run, dir, &options));
  options.settings = settings;
  expect_status(MUZERO_E_USAGE, muzero_run_open(&run, dir, &options));
  expect_message("settings[0] is NULL");
  options.settings_count = 0;
  options.threads = -1;
  expect_status(MUZERO_E_USAGE, muzero_run_open(&run, dir, &options));
  options.threads = 0;
  options.device = "tpu";
  assert_int_not_equal(muzero_run_open(&run, dir, &options), MUZERO_OK);
  expect_fine(muzero_run_resume(&run, dir, NULL));
  expect_status(MUZERO_E_USAGE, muzero_run_rounds(run, 0, NULL, NULL));
  expect_status(MUZERO_E_USAGE, muzero_run_rounds(run, INT64_MIN, NULL, NULL));
  limits.rounds = -1;
  expect_status(MUZERO_E_USAGE, muzero_run_train(run, &limits, NULL));
  limits = (muzero_limits)MUZERO_LIMITS_INIT;
  limits.seconds = NAN;
  expect_status(MUZERO_E_USAGE, muzero_run_train(run, &limits, NULL));
  limits = (muzero_limits)MUZERO_LIMITS_INIT;
  limits.has_score = 1;
  limits.score = NAN;
  expect_status(MUZERO_E_USAGE, muzero_run_train(run, &limits, NULL));
  expect_status(MUZERO_E_USAGE, muzero_run_evaluate(run, 0, &score));
  expect_status(MUZERO_E_USAGE, muzero_run_request(run, 0));
  expect_status(MUZERO_E_USAGE, muzero_run_request(run, 4));
  expect_fine(muzero_run_rounds(run, INT64_MAX, NULL, NULL)); /* the preset's limit is reached at once */
  expect_fine(muzero_run_close(run));
}

static void test_as_many_handles_as_there_can_be(void **state) {
  (void)state;
  enum { MOST = 4096 };
  static muzero_game *games[MOST];
  muzero_game *one_more = NULL;
  int count = 0;
  while (muzero_game_create(&games[count], "tictactoe", 1) == MUZERO_OK) count++;
  expect_message("close some");
  assert_int_equal(count, MOST - 1); /* and a_game */
  expect_status(MUZERO_E_USAGE, muzero_game_copy(&one_more, games[0]));
  expect_fine(muzero_game_close(games[17]));
  expect_fine(muzero_game_create(&games[17], "tictactoe", 1));
  for (int i = 0; i < count; i++) expect_fine(muzero_game_close(games[i]));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_handles_that_are_none),           cmocka_unit_test(test_closed_handles),
      cmocka_unit_test(test_results_with_nowhere_to_go),      cmocka_unit_test(test_wrong_arguments),
      cmocka_unit_test(test_as_many_handles_as_there_can_be),
  };
  return cmocka_run_group_tests(tests, make, drop);
}
