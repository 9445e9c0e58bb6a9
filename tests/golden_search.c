/* golden_search FILE…: replays search trees written by mctx (muzero and gumbel_muzero, no noise) with our search. The file itself
 * is the model: inference looks the expanded child up in it. Asserted: each simulation expands the node with that
 * evaluation_index; at the end visits are equal, and values and rewards within 1e-5 (relative above 1).
 * Exit 0: all files agree; 1: a mismatch or a malformed file (the first is told on stderr); 2: no file given.
 *
 * A file: {algorithm, algorithm_config, env_config{discount, zero_reward}, tree}. Optional: num_simulations (else root visits
 * less 1), max_depth, qtransform and its arguments, root_invalid_actions (indices, or a mask with one entry per action),
 * selected_action, action_weights; discount of each edge to an expanded node (all of them or none), which then counts instead of
 * env_config's: γ, −γ or 0. What other keys mean is not known; if they matter, the replay will differ. */
#include "base/file/file.h"
#include "base/json/json.h"
#include "base/maths/maths.h"
#include "selfplay/search/search.h"
#include <float.h>
#include <math.h>
#include <string.h>

enum { SIMULATIONS_MAX = 100000, ACTIONS_MAX = 65535 };
static const size_t FILE_MAX = (size_t)1 << 30;
static const double TOLERANCE = 1e-5;

typedef struct golden {
  const char *name;
  cJSON *json;
  const cJSON *tree;
  mz_search_settings settings;
  double discount;
  bool edge_discounts;
  int actions;
  uint8_t *legal;     /* [actions] */
  const cJSON **node; /* [simulations + 1], by evaluation_index */
  /* the replay */
  mz_search *search;
  const cJSON **placed; /* [simulations + 1]: what our tree's nodes are in the file */
  mz_status status;     /* the first mismatch */
  double error_max;
} golden;

#define MALFORMED(g, format, ...) mz_fail(MZ_E_CONFIG, "%s: malformed: " format, (g)->name, ##__VA_ARGS__)
#define MISMATCH(g, format, ...) mz_fail(MZ_E_INTERNAL, "%s: mismatch: " format, (g)->name, ##__VA_ARGS__)

/* ---- reading ---- */

static mz_status number(const golden *g, const cJSON *object, const char *key, double *out) {
  const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
  if (!cJSON_IsNumber(item) || !isfinite(item->valuedouble)) return MALFORMED(g, "%s: a finite number is needed", key);
  *out = item->valuedouble;
  return MZ_OK;
}

static mz_status whole(const golden *g, const cJSON *object, const char *key, double min, double max, int *out) {
  double value = 0;
  MZ_TRY(number(g, object, key, &value));
  if (value != floor(value) || value < min || value > max)
    return MALFORMED(g, "%s: %g: a whole number from %g to %g is needed", key, value, min, max);
  *out = (int)value;
  return MZ_OK;
}

/* Where the writer put a setting: beside its transform, its algorithm, or at the top. NULL when absent or null. */
static const cJSON *place_of(const golden *g, const char *key) {
  const cJSON *config = cJSON_GetObjectItemCaseSensitive(g->json, "algorithm_config");
  const cJSON *const places[] = {cJSON_GetObjectItemCaseSensitive(config, "qtransform_kwargs"), config, g->json};
  for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(places[i], key);
    if (item && !cJSON_IsNull(item)) return places[i];
  }
  return NULL;
}

static const cJSON *setting(const golden *g, const char *key) { return cJSON_GetObjectItemCaseSensitive(place_of(g, key), key); }

/* *out stays as it is when the key is absent. */
static mz_status number_setting(const golden *g, const char *key, double *out) {
  const cJSON *place = place_of(g, key);
  return place ? number(g, place, key, out) : MZ_OK;
}

static mz_status whole_setting(const golden *g, const char *key, double min, double max, int64_t *out) {
  int value = 0;
  if (!place_of(g, key)) return MZ_OK;
  MZ_TRY(whole(g, place_of(g, key), key, min, max, &value));
  *out = value;
  return MZ_OK;
}

static mz_status read_q_transform(golden *g) {
  mz_search_settings *s = &g->settings;
  const cJSON *name = setting(g, "qtransform"), *rescale = setting(g, "rescale_values");
  if (name && !cJSON_IsString(name)) return MALFORMED(g, "qtransform: a name is needed");
  if (rescale && !cJSON_IsBool(rescale)) return MALFORMED(g, "rescale_values: true or false is needed");
  if (s->algorithm == MZ_GUMBEL) {
    if (name && strcmp(name->valuestring, "qtransform_completed_by_mix_value") != 0)
      return MALFORMED(g, "qtransform: \"%s\": gumbel_muzero has qtransform_completed_by_mix_value", name->valuestring);
    s->rescale_values = !rescale || cJSON_IsTrue(rescale);
    MZ_TRY(number_setting(g, "value_scale", &s->value_scale));
    return number_setting(g, "maxvisit_init", &s->maxvisit_init);
  }
  if (!name || strcmp(name->valuestring, "qtransform_by_parent_and_siblings") == 0) return MZ_OK;
  if (strcmp(name->valuestring, "qtransform_by_min_max") != 0)
    return MALFORMED(g, "qtransform: \"%s\": muzero has qtransform_by_parent_and_siblings and qtransform_by_min_max",
                     name->valuestring);
  s->q_transform = MZ_Q_MIN_MAX;
  if (!place_of(g, "min_value") || !place_of(g, "max_value"))
    return MALFORMED(g, "qtransform_by_min_max: min_value and max_value are needed");
  MZ_TRY(number_setting(g, "min_value", &s->min_value));
  return number_setting(g, "max_value", &s->max_value);
}

static mz_status read_algorithm(golden *g) {
  mz_search_settings *s = &g->settings;
  const char *algorithm;
  double noise = 0;
  *s = (mz_search_settings){
      .c_init = 1.25, .c_base = 19652, .considered = 16, .value_scale = 0.1, .maxvisit_init = 50}; /* mctx's defaults */
  MZ_TRY(mz_json_get_string(g->json, "algorithm", g->name, MZ_E_CONFIG, &algorithm));
  if (strcmp(algorithm, "muzero") != 0 && strcmp(algorithm, "gumbel_muzero") != 0)
    return MALFORMED(g, "algorithm: \"%s\": muzero or gumbel_muzero is needed", algorithm);
  s->algorithm = strcmp(algorithm, "muzero") == 0 ? MZ_PUCT : MZ_GUMBEL;
  if (!cJSON_IsObject(cJSON_GetObjectItemCaseSensitive(g->json, "algorithm_config")))
    return MALFORMED(g, "algorithm_config: an object is needed");
  MZ_TRY(number_setting(g, "pb_c_init", &s->c_init));
  MZ_TRY(number_setting(g, "pb_c_base", &s->c_base));
  if (s->c_base <= 0) return MALFORMED(g, "pb_c_base: %g: must be positive", s->c_base);
  MZ_TRY(number_setting(g, s->algorithm == MZ_PUCT ? "dirichlet_fraction" : "gumbel_scale", &noise));
  if (noise != 0) return MALFORMED(g, "noise of %g: only trees without noise can be replayed", noise);
  MZ_TRY(whole_setting(g, "max_num_considered_actions", 1, ACTIONS_MAX, &s->considered));
  MZ_TRY(whole_setting(g, "max_depth", 1, SIMULATIONS_MAX, &s->max_depth));
  MZ_TRY(read_q_transform(g));
  MZ_TRY(number(g, cJSON_GetObjectItemCaseSensitive(g->json, "env_config"), "discount", &g->discount));
  return fabs(g->discount) <= 1 ? MZ_OK : MALFORMED(g, "discount: %g: from -1 to 1 is needed", g->discount);
}

static mz_status read_legal(golden *g) {
  memset(g->legal, 1, (size_t)g->actions);
  const cJSON *list = setting(g, "root_invalid_actions");
  if (!list) return MZ_OK;
  if (!cJSON_IsArray(list)) return MALFORMED(g, "root_invalid_actions: a list is needed");
  const bool mask = cJSON_GetArraySize(list) == g->actions; /* as many indices would leave no legal action */
  const cJSON *item;
  int a = 0, legal = 0;
  cJSON_ArrayForEach(item, list) {
    const double value = cJSON_IsBool(item) ? cJSON_IsTrue(item) : item->valuedouble;
    if ((!cJSON_IsNumber(item) && !cJSON_IsBool(item)) || value != floor(value) || value < 0 || value >= (mask ? 2 : g->actions))
      return MALFORMED(g, "root_invalid_actions: entry %d", a);
    if (!mask)
      g->legal[(int)value] = 0;
    else
      g->legal[a] = value == 0;
    a++;
  }
  for (a = 0; a < g->actions; a++) legal += g->legal[a];
  return legal ? MZ_OK : MALFORMED(g, "root_invalid_actions: no action is left");
}

/* Whether the first expanded child of the root has one. */
static bool has_edge_discounts(const cJSON *root) {
  const cJSON *edge;
  cJSON_ArrayForEach(edge, cJSON_GetObjectItemCaseSensitive(root, "child_stats")) {
    if (cJSON_HasObjectItem(edge, "reward")) return cJSON_HasObjectItem(edge, "discount");
  }
  return false;
}

static bool expanded(const cJSON *node) { return cJSON_HasObjectItem(node, "evaluation_index"); }

/* Checks a node and all below it, and enters them by evaluation_index. */
static mz_status read_node(golden *g, const cJSON *node, int action) {
  double ignored = 0;
  int index, visits;
  if (!cJSON_IsObject(node)) return MALFORMED(g, "a node must be an object");
  MZ_TRY(number(g, node, "prior", &ignored));
  if (ignored < 0 || ignored > 1 + TOLERANCE) return MALFORMED(g, "prior: %g: from 0 to 1 is needed", ignored);
  if (action >= 0) {
    int stated;
    MZ_TRY(whole(g, node, "action", 0, g->actions - 1, &stated));
    if (stated != action) return MALFORMED(g, "action: %d where %d is due", stated, action);
  }
  const cJSON *edges = cJSON_GetObjectItemCaseSensitive(node, "child_stats");
  if (!cJSON_IsArray(edges)) return MALFORMED(g, "child_stats: a list is needed");
  if (!expanded(node))
    return cJSON_GetArraySize(edges) == 0 ? MZ_OK : MALFORMED(g, "a node with children has no evaluation_index");
  if (cJSON_GetArraySize(edges) != g->actions)
    return MALFORMED(g, "child_stats: %d entries where the root has %d", cJSON_GetArraySize(edges), g->actions);
  MZ_TRY(whole(g, node, "evaluation_index", 0, (double)g->settings.simulations, &index));
  MZ_TRY(whole(g, node, "visit", 1, (double)g->settings.simulations + 1, &visits));
  MZ_TRY(number(g, node, "value_view", &ignored));
  MZ_TRY(number(g, node, "raw_value_view", &ignored));
  if (action >= 0) MZ_TRY(number(g, node, "reward", &ignored));
  if (action >= 0 && g->edge_discounts) MZ_TRY(number(g, node, "discount", &ignored));
  if ((index == 0) != (action < 0) || g->node[index])
    return MALFORMED(g, "evaluation_index %d occurs twice, or is not the root's", index);
  g->node[index] = node;
  const cJSON *edge;
  int a = 0;
  cJSON_ArrayForEach(edge, edges) MZ_TRY(read_node(g, edge, a++));
  return MZ_OK;
}

/* Reads with cJSON's own limit of nesting: each level of a tree is two of JSON, more than our reader of settings takes. */
static mz_status parse(golden *g) {
  uint8_t *text = NULL;
  size_t size = 0;
  const char *end = NULL;
  MZ_TRY(mz_file_read(g->name, FILE_MAX, &text, &size));
  g->json = cJSON_ParseWithLengthOpts((const char *)text, size + 1, &end, true); /* with the NUL that follows */
  const mz_status status = g->json ? MZ_OK : MALFORMED(g, "not JSON from byte %zu on", (size_t)(end - (const char *)text));
  free(text);
  return status;
}

static mz_status read_golden(golden *g) {
  int visits = 0;
  MZ_TRY(parse(g));
  MZ_TRY(read_algorithm(g));
  g->tree = cJSON_GetObjectItemCaseSensitive(g->json, "tree");
  g->actions = cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(g->tree, "child_stats"));
  if (g->actions < 1 || g->actions > ACTIONS_MAX)
    return MALFORMED(g, "tree: child_stats: 1 to %d actions are needed", ACTIONS_MAX);
  MZ_TRY(whole(g, g->tree, "visit", 2, SIMULATIONS_MAX + 1, &visits));
  g->settings.simulations = visits - 1;
  MZ_TRY(whole_setting(g, "num_simulations", 1, SIMULATIONS_MAX, &g->settings.simulations));
  const size_t nodes = (size_t)g->settings.simulations + 1;
  MZ_TRY(mz_alloc(&g->legal, (size_t)g->actions, 1));
  MZ_TRY(mz_alloc(&g->node, nodes, sizeof *g->node));
  MZ_TRY(mz_alloc(&g->placed, nodes, sizeof *g->placed));
  MZ_TRY(read_legal(g));
  g->edge_discounts = has_edge_discounts(g->tree);
  return read_node(g, g->tree, -1);
}

/* ---- the file as a model ---- */

static float field(const cJSON *node, const char *key) { return (float)cJSON_GetObjectItemCaseSensitive(node, key)->valuedouble; }

static void answer(const golden *g, const cJSON *node, float *policy, float *value) {
  const cJSON *edge;
  int a = 0;
  *value = field(node, "raw_value_view");
  cJSON_ArrayForEach(edge, cJSON_GetObjectItemCaseSensitive(node, "child_stats")) {
    const float prior = field(edge, "prior");
    policy[a++] = mz_logf(prior > FLT_MIN ? prior : FLT_MIN);
  }
  MZ_ASSERT(a == g->actions);
}

static mz_status initial(void *context, int n, const void *observations, const int32_t *out, float *policy, float *value) {
  golden *g = context;
  (void)observations;
  MZ_ASSERT(n == 1 && out[0] == 0);
  g->placed[0] = g->tree;
  answer(g, g->tree, policy, value);
  return MZ_OK;
}

static mz_status recurrent(void *context, int n, const int32_t *in, const int32_t *action, const int32_t *out, float *policy,
                           float *value, float *reward) {
  golden *g = context;
  MZ_ASSERT(n == 1);
  if (g->status == MZ_OK) {
    const cJSON *child = cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(g->placed[in[0]], "child_stats"), action[0]);
    if (!expanded(child)) {
      g->status =
          MISMATCH(g, "simulation %d expands action %d of node %d, which the file does not expand", out[0], action[0], in[0]);
    } else if ((int)field(child, "evaluation_index") != out[0]) {
      g->status = MISMATCH(g, "simulation %d expands action %d of node %d, which has evaluation_index %d", out[0], action[0],
                           in[0], (int)field(child, "evaluation_index"));
    } else {
      g->placed[out[0]] = child;
      *reward = field(child, "reward");
      answer(g, child, policy, value);
    }
  }
  return g->status;
}

static mz_status recurrent_discounted(void *context, int n, const int32_t *in, const int32_t *action, const int32_t *out,
                                      float *policy, float *value, float *reward, float *discount) {
  const golden *g = context;
  MZ_TRY(recurrent(context, n, in, action, out, policy, value, reward));
  *discount = field(g->placed[out[0]], "discount");
  return MZ_OK;
}

/* ---- comparing ---- */

static mz_status compare(golden *g, const char *what, int index, double found, double expected) {
  const double error = fabs(found - expected) / fmax(1, fabs(expected));
  if (!(error <= TOLERANCE)) return MISMATCH(g, "%s %d is %.9g where %.9g is due", what, index, found, expected);
  g->error_max = fmax(g->error_max, error);
  return MZ_OK;
}

static mz_status compare_tree(golden *g) {
  const mz_tree *tree = mz_search_tree(g->search);
  for (int i = 0; i < tree->nodes; i++) {
    if (!g->node[i]) continue;
    if (!g->placed[i]) return MISMATCH(g, "node %d was never expanded", i);
    const mz_tree_node *node = mz_tree_at(tree, 0, i);
    if (node->visits != (int)field(g->node[i], "visit"))
      return MISMATCH(g, "visits of node %d are %d where %d are due", i, node->visits, (int)field(g->node[i], "visit"));
    MZ_TRY(compare(g, "value of node", i, node->value, field(g->node[i], "value_view")));
    MZ_TRY(compare(g, "raw value of node", i, node->raw_value, field(g->node[i], "raw_value_view")));
    if (i > 0) MZ_TRY(compare(g, "reward of node", i, node->reward, field(g->node[i], "reward")));
  }
  return MZ_OK;
}

static mz_status compare_result(golden *g, const mz_root_result *result) {
  const cJSON *weights = setting(g, "action_weights");
  int64_t selected = result->selected;
  MZ_TRY(whole_setting(g, "selected_action", 0, g->actions - 1, &selected));
  if (result->selected != selected) return MISMATCH(g, "selected action is %d where %d is due", result->selected, (int)selected);
  if (!weights) return MZ_OK;
  if (!cJSON_IsArray(weights) || cJSON_GetArraySize(weights) != g->actions)
    return MALFORMED(g, "action_weights: a list of %d is needed", g->actions);
  const cJSON *weight;
  int a = 0;
  cJSON_ArrayForEach(weight, weights) {
    if (!cJSON_IsNumber(weight)) return MALFORMED(g, "action_weights: entry %d", a);
    MZ_TRY(compare(g, "weight of action", a, result->policy[a], weight->valuedouble));
    a++;
  }
  return MZ_OK;
}

static mz_status replay(golden *g) {
  MZ_TRY(read_golden(g));
  const mz_turns turns = g->edge_discounts ? MZ_TURNS_TOLD : g->discount < 0 ? MZ_TURNS_ALTERNATE : MZ_TURNS_ALONE;
  MZ_TRY(mz_search_create(&g->search, &g->settings, g->actions, 1, fabs(g->discount), turns, 1));
  const mz_search_model model = {.context = g,
                                 .actions = g->actions,
                                 .latent_stride = 1,
                                 .initial = initial,
                                 .recurrent = recurrent,
                                 .recurrent_discounted = recurrent_discounted};
  const mz_root root = {.legal = g->legal};
  mz_root_result result = {0};
  MZ_TRY(mz_alloc(&result.policy, (size_t)g->actions, sizeof(float)));
  mz_status status = mz_search_run(g->search, &model, 1, &root, 0, &result);
  if (status == MZ_OK) status = compare_tree(g);
  if (status == MZ_OK) status = compare_result(g, &result);
  free(result.policy);
  return status;
}

int main(int count, char **names) {
  int worst = 0;
  if (count < 2) {
    fprintf(stderr, "usage: golden_search FILE…\n");
    return 2;
  }
  for (int i = 1; i < count; i++) {
    golden g = {.name = names[i]};
    if (replay(&g) == MZ_OK) {
      printf("ok %s: %d actions, %d simulations, largest error %.1e\n", g.name, g.actions, (int)g.settings.simulations,
             g.error_max);
    } else {
      fprintf(stderr, "golden_search: %s\n", mz_message());
      worst = 1;
    }
    mz_search_free(g.search);
    free(g.legal);
    free(g.node);
    free(g.placed);
    cJSON_Delete(g.json);
  }
  return worst;
}
