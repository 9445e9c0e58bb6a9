/* golden_search must tell a wrong tree from a right one: each file here is a good one with a single thing changed. */
#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/file/file.h"
#include "tests/selfplay/table_model.h"

#define PUCT TEST_DATA "/selfplay/puct_masked_tree.json"
#define GUMBEL TEST_DATA "/selfplay/gumbel_masked_tree.json"

static char folder[] = "/tmp/golden_search_XXXXXX", place[64];

static cJSON *read_tree(const char *path) {
  uint8_t *text;
  size_t size;
  assert_int_equal(mz_file_read(path, 0, &text, &size), MZ_OK);
  cJSON *json = cJSON_Parse((const char *)text);
  assert_non_null(json);
  free(text);
  return json;
}

static void write_text(const char *text, size_t size) {
  FILE *file = fopen(place, "w");
  assert_non_null(file);
  assert_int_equal(fwrite(text, 1, size, file), size);
  assert_int_equal(fclose(file), 0);
}

/* Runs golden_search on the file at `place`: its exit status, and what it says. */
static int run(char *said, size_t size) {
  char command[4096];
  snprintf(command, sizeof command, "'%s' '%s' 2>&1", GOLDEN_SEARCH, place);
  FILE *pipe = popen(command, "r");
  assert_non_null(pipe);
  said[fread(said, 1, size - 1, pipe)] = '\0';
  const int status = pclose(pipe);
  assert_true(WIFEXITED(status));
  return WEXITSTATUS(status);
}

static void expect_complaint(const char *complaint) {
  char said[2048];
  if (run(said, sizeof said) != 1) fail_msg("\"%s\" is due, not: %s", complaint, said);
  if (!strstr(said, complaint)) fail_msg("\"%s\" is not in: %s", complaint, said);
}

static void expect_changed(cJSON *json, const char *complaint) {
  char *text = cJSON_PrintUnformatted(json);
  write_text(text, strlen(text));
  free(text);
  cJSON_Delete(json);
  expect_complaint(complaint);
}

static cJSON *tree_of(cJSON *json) { return cJSON_GetObjectItem(json, "tree"); }
static cJSON *edge(cJSON *node, int action) { return cJSON_GetArrayItem(cJSON_GetObjectItem(node, "child_stats"), action); }
static cJSON *config_of(cJSON *json) { return cJSON_GetObjectItem(json, "algorithm_config"); }

static void set(cJSON *object, const char *key, double value) {
  cJSON_ReplaceItemInObject(object, key, cJSON_CreateNumber(value));
}
static double get(cJSON *object, const char *key) { return cJSON_GetObjectItem(object, key)->valuedouble; }

/* The first child of the root that is expanded. */
static cJSON *first_child(cJSON *json) {
  cJSON *child;
  cJSON_ArrayForEach(
      child, cJSON_GetObjectItem(tree_of(json), "child_stats")) if (cJSON_HasObjectItem(child, "evaluation_index")) return child;
  fail_msg("the root has no child");
  return NULL;
}

static void test_a_mismatch_is_told(void **state) {
  (void)state;
  const char *const files[] = {PUCT, GUMBEL};
  for (int i = 0; i < 2; i++) {
    cJSON *json = read_tree(files[i]);
    set(tree_of(json), "value_view", get(tree_of(json), "value_view") + 1e-4);
    expect_changed(json, "mismatch: value of node 0");
    json = read_tree(files[i]);
    set(first_child(json), "visit", get(first_child(json), "visit") + 1);
    expect_changed(json, "mismatch: visits of node");
    json = read_tree(files[i]);
    set(first_child(json), "reward", get(first_child(json), "reward") + 5);
    expect_changed(json, "mismatch: ");
    json = read_tree(files[i]);
    set(json, "selected_action", 5 - get(json, "selected_action"));
    expect_changed(json, "mismatch: selected action");
    json = read_tree(files[i]);
    cJSON_ReplaceItemInArray(cJSON_GetObjectItem(json, "action_weights"), 1, cJSON_CreateNumber(0.5));
    expect_changed(json, "mismatch: weight of action 1");
    json = read_tree(files[i]);
    set(json, "num_simulations", get(json, "num_simulations") + 1);
    expect_changed(json, "mismatch: simulation 41 expands");
    json = read_tree(files[i]);
    set(cJSON_GetObjectItem(json, "env_config"), "discount", 0.5);
    expect_changed(json, "mismatch: ");
    json = read_tree(files[i]);
    cJSON_AddNumberToObject(config_of(json), "max_depth", 1);
    expect_changed(json, "mismatch: ");
  }
}

static void test_the_discount_of_an_edge_matters(void **state) {
  (void)state;
  const char *const files[] = {TEST_DATA "/selfplay/puct_turns_tree.json", TEST_DATA "/selfplay/gumbel_turns_tree.json"};
  for (int i = 0; i < 2; i++) {
    cJSON *json = read_tree(files[i]);
    set(first_child(json), "discount", -get(first_child(json), "discount"));
    expect_changed(json, "mismatch: ");
    json = read_tree(files[i]);
    cJSON_DeleteItemFromObject(first_child(json), "discount");
    expect_changed(json, "mismatch: ");
  }
}

static void test_settings_matter(void **state) {
  (void)state;
  cJSON *json = read_tree(PUCT);
  cJSON_AddNumberToObject(config_of(json), "pb_c_init", 0.2);
  expect_changed(json, "mismatch: ");
  json = read_tree(TEST_DATA "/selfplay/puct_small_base_tree.json");
  set(config_of(json), "pb_c_base", 19652);
  expect_changed(json, "mismatch: ");
  json = read_tree(GUMBEL); /* with puct it would not matter: a prior of 0 is never visited */
  cJSON_DeleteItemFromObject(json, "root_invalid_actions");
  expect_changed(json, "mismatch: ");
  json = read_tree(GUMBEL);
  set(config_of(json), "max_num_considered_actions", 2);
  expect_changed(json, "mismatch: ");
  json = read_tree(GUMBEL);
  cJSON_AddBoolToObject(cJSON_GetObjectItem(config_of(json), "qtransform_kwargs"), "rescale_values", false);
  expect_changed(json, "mismatch: ");
}

static void test_what_is_malformed_is_told(void **state) {
  (void)state;
  write_text("", 0);
  expect_complaint("malformed: not JSON");
  uint8_t *text;
  size_t size;
  assert_int_equal(mz_file_read(PUCT, 0, &text, &size), MZ_OK);
  write_text((const char *)text, size / 2);
  free(text);
  expect_complaint("malformed: not JSON");
  write_text("[1, 2]", 6);
  expect_complaint("'algorithm' is missing");

  cJSON *json = read_tree(PUCT);
  cJSON_ReplaceItemInObject(json, "algorithm", cJSON_CreateString("alphazero"));
  expect_changed(json, "malformed: algorithm: \"alphazero\"");
  json = read_tree(PUCT);
  set(config_of(json), "dirichlet_fraction", 0.25);
  expect_changed(json, "malformed: noise of 0.25");
  json = read_tree(GUMBEL);
  cJSON_ReplaceItemInObject(config_of(json), "qtransform", cJSON_CreateString("qtransform_by_min_max"));
  expect_changed(json, "malformed: qtransform");
  json = read_tree(PUCT);
  cJSON_ReplaceItemInObject(config_of(json), "qtransform", cJSON_CreateString("qtransform_by_min_max"));
  expect_changed(json, "malformed: qtransform_by_min_max: min_value and max_value");
  json = read_tree(PUCT);
  cJSON_ReplaceItemInObject(json, "root_invalid_actions", cJSON_Parse("[0,1,2,3,4,6]"));
  expect_changed(json, "malformed: root_invalid_actions");
  json = read_tree(PUCT);
  cJSON_ReplaceItemInObject(json, "root_invalid_actions", cJSON_Parse("[1,1,1,1,1,1]"));
  expect_changed(json, "malformed: root_invalid_actions: no action is left");
  json = read_tree(PUCT);
  cJSON_DeleteItemFromArray(cJSON_GetObjectItem(first_child(json), "child_stats"), 2);
  expect_changed(json, "malformed: child_stats: 5 entries");
  json = read_tree(PUCT);
  cJSON_DeleteItemFromObject(first_child(json), "raw_value_view");
  expect_changed(json, "malformed: raw_value_view");
  json = read_tree(PUCT);
  set(first_child(json), "evaluation_index", 1e9);
  expect_changed(json, "malformed: evaluation_index");
  json = read_tree(PUCT);
  set(first_child(json), "evaluation_index", 2);
  expect_changed(json, "malformed: evaluation_index 2 occurs twice");
  json = read_tree(PUCT);
  set(edge(tree_of(json), 2), "prior", -1);
  expect_changed(json, "malformed: prior: -1");
  json = read_tree(PUCT);
  set(edge(tree_of(json), 2), "action", 3);
  expect_changed(json, "malformed: action: 3 where 2 is due");
  json = read_tree(PUCT);
  set(json, "num_simulations", 0.5);
  expect_changed(json, "malformed: num_simulations: 0.5");
}

static void test_a_mask_may_be_given_entry_by_entry(void **state) {
  (void)state;
  char said[2048];
  cJSON *json = read_tree(PUCT);
  cJSON_ReplaceItemInObject(json, "root_invalid_actions", cJSON_Parse("[1,0,1,0,0,1]"));
  char *text = cJSON_PrintUnformatted(json);
  write_text(text, strlen(text));
  assert_int_equal(run(said, sizeof said), 0);
  free(text);
  cJSON_Delete(json);
}

static int make_folder(void **state) {
  (void)state;
  if (!mkdtemp(folder)) return -1;
  snprintf(place, sizeof place, "%s/tree.json", folder);
  return 0;
}

static int remove_folder(void **state) {
  (void)state;
  return unlink(place) == 0 && rmdir(folder) == 0 ? 0 : -1;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_mismatch_is_told),
      cmocka_unit_test(test_the_discount_of_an_edge_matters),
      cmocka_unit_test(test_settings_matter),
      cmocka_unit_test(test_what_is_malformed_is_told),
      cmocka_unit_test(test_a_mask_may_be_given_entry_by_entry),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
