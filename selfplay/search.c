#include "selfplay/search.h"
#include "muzero/base/arena.h"
#include "muzero/base/clock.h"
#include "selfplay/score.h"
#include <string.h>
#include <unistd.h>

struct mz_search {
  mz_search_settings settings;
  mz_scorer scorer;
  int slots; /* of a tile */
  mz_tree tree;
  float *latents; /* [slots][nodes][latent_stride] */
  int latent_stride;
  int considered_max;
  int32_t *schedules; /* gumbel: [considered_max + 1][schedule_simulations] */
  int schedule_simulations;
  /* roots, [slots] or [slots][actions] */
  float *root_logits;         /* −INFINITY where illegal */
  float *root_gumbel_logits;  /* gumbel: g + logits − max */
  int32_t *root_first;        /* the first legal action */
  int32_t *root_considered;   /* gumbel: min(search.considered_actions, legal actions) */
  float *score;               /* [actions], scratch */
  /* The simulation under way. Slots whose simulation ends on an expanded node (max_depth) have no row. */
  int rows;
  int32_t *leaf, *row;        /* [slots]; row: MZ_NO_NODE for none */
  int32_t *in, *action, *out; /* [rows]: latents are numbered slot·nodes + node */
  float *policy, *value, *reward; /* the model's answers, by row */
  void *block;
  bool counting;
  mz_search_cost cost;
};

/* ---- memory ---- */

size_t mz_search_slot_bytes(const mz_search_settings *settings, int actions, int latent_stride) {
  return (size_t)(settings->simulations + 1) * (mz_tree_node_bytes(actions) + (size_t)latent_stride * sizeof(float));
}

/* As many slots as leave a quarter of the second-level cache to the weights and the stack; at least TILE_MIN, since a model wants
 * some rows together. */
static int tile_slots(size_t slot_bytes, int slots) {
  enum { TILE_MIN = 16, CACHE_DEFAULT = 1 << 20 };
  const long reported = sysconf(_SC_LEVEL2_CACHE_SIZE);
  const size_t cache = reported > 0 ? (size_t)reported : CACHE_DEFAULT;
  const size_t fitting = cache / 4 * 3 / slot_bytes;
  const int most = fitting > TILE_MIN ? (int)fitting : TILE_MIN;
  return slots < most ? slots : most;
}

mz_status mz_search_create(mz_search **out, const mz_search_settings *settings, int actions, int latent_stride, double discount,
                           bool alternating, int slots) {
  MZ_ASSERT(actions >= 1 && latent_stride >= 1 && slots >= 1 && settings->simulations >= 1);
  MZ_ASSERT(discount >= 0 && discount <= 1);
  mz_search *s;
  MZ_TRY(mz_alloc(&s, 1, sizeof *s));
  s->settings = *settings;
  s->latent_stride = latent_stride;
  s->slots = tile_slots(mz_search_slot_bytes(settings, actions, latent_stride), slots);
  s->considered_max = settings->considered < actions ? (int)settings->considered : actions;
  s->tree = (mz_tree){.slots = s->slots, .nodes = (int)settings->simulations + 1, .actions = actions, .node_bytes = mz_tree_node_bytes(actions)};
  const size_t n = (size_t)s->slots, nodes = n * (size_t)s->tree.nodes, a = (size_t)actions;
  const bool gumbel = settings->algorithm == MZ_GUMBEL;
  mz_carver carver = {0};
  mz_carve(&carver, &s->tree.records, nodes, s->tree.node_bytes);
  mz_carve(&carver, &s->latents, nodes * (size_t)latent_stride, sizeof(float));
  mz_carve(&carver, &s->schedules, gumbel ? ((size_t)s->considered_max + 1) * (size_t)settings->simulations : 0, sizeof(int32_t));
  mz_carve(&carver, &s->root_logits, n * a, sizeof(float));
  mz_carve(&carver, &s->root_gumbel_logits, n * a, sizeof(float));
  mz_carve(&carver, &s->root_first, n, sizeof(int32_t));
  mz_carve(&carver, &s->root_considered, n, sizeof(int32_t));
  mz_carve(&carver, &s->score, a, sizeof(float));
  int32_t **const counts[] = {&s->leaf, &s->row, &s->in, &s->action, &s->out};
  for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) mz_carve(&carver, counts[i], n, sizeof(int32_t));
  mz_carve(&carver, &s->policy, n * a, sizeof(float));
  mz_carve(&carver, &s->value, n, sizeof(float));
  mz_carve(&carver, &s->reward, n, sizeof(float));
  mz_status status = mz_carve_commit(&carver, &s->block);
  if (status == MZ_OK) status = mz_scorer_init(&s->scorer, settings, (float)(alternating ? -discount : discount), s->tree.nodes);
  if (status != MZ_OK) {
    mz_search_free(s);
    return status;
  }
  *out = s;
  return MZ_OK;
}

void mz_search_free(mz_search *s) {
  if (!s) return;
  mz_scorer_deinit(&s->scorer);
  free(s->block);
  free(s);
}

const mz_tree *mz_search_tree(const mz_search *s) { return &s->tree; }

void mz_search_count_cost(mz_search *s, bool on) { s->counting = on; }

mz_search_cost mz_search_cost_read(const mz_search *s) { return s->cost; }

/* ---- roots ---- */

static void plan_halving(mz_search *s, int simulations) {
  if (s->settings.algorithm != MZ_GUMBEL || s->schedule_simulations == simulations) return;
  for (int m = 0; m <= s->considered_max; m++) mz_halving_schedule(m, simulations, s->schedules + (size_t)m * (size_t)simulations);
  s->schedule_simulations = simulations;
}

/* The node's edges, unvisited, with priors from logits. */
static inline void open_edges(mz_edges edges, int actions, const float *logits) {
  mz_softmax(logits, actions, edges.prior);
  for (int a = 0; a < actions; a++) edges.q[a] = 0;
  for (int a = 0; a < actions; a++) edges.visits[a] = 0;
  for (int a = 0; a < actions; a++) edges.child[a] = MZ_NO_NODE;
}

static inline void bound_priors(mz_edges edges, int actions) {
  for (int a = 0; a < actions; a++) edges.prior[a] = edges.prior[a] > MZ_PRIOR_MIN ? edges.prior[a] : MZ_PRIOR_MIN;
}

/* Masks the root's logits; returns how many actions are legal. */
static int mask_root(mz_search *s, int slot, const uint8_t *legal, const float *policy) {
  const int actions = s->tree.actions;
  float *logits = s->root_logits + (size_t)slot * (size_t)actions;
  int count = 0;
  for (int a = actions - 1; a >= 0; a--) {
    const bool allowed = !legal || legal[a];
    logits[a] = allowed ? policy[a] : -INFINITY;
    if (allowed) s->root_first[slot] = a;
    count += allowed;
  }
  MZ_ASSERT(count >= 1);
  return count;
}

/* P ← (1 − f)·P + f·Dirichlet(α) over the legal actions. */
static void mix_dirichlet(mz_search *s, mz_rng rng, const float *logits, int legal_count, float *prior) {
  const float fraction = (float)s->settings.dirichlet_fraction;
  mz_rng_dirichlet(&rng, (float)s->settings.dirichlet_alpha, legal_count, s->score);
  for (int a = 0, i = 0; a < s->tree.actions; a++)
    if (logits[a] > -INFINITY) prior[a] = (1 - fraction) * prior[a] + fraction * s->score[i++];
}

/* g + logits − max; g = 0 without noise. */
static void add_gumbel(mz_search *s, int slot, const mz_root *root, const float *logits) {
  const int actions = s->tree.actions;
  const float scale = root->noise ? (float)s->settings.gumbel_scale : 0.0f;
  float *out = s->root_gumbel_logits + (size_t)slot * (size_t)actions;
  float top = -INFINITY;
  for (int a = 0; a < actions; a++) top = logits[a] > top ? logits[a] : top;
  mz_rng rng = root->rng;
  for (int a = 0; a < actions; a++) {
    const bool legal = logits[a] > -INFINITY;
    const float g = scale > 0 && legal ? scale * mz_rng_gumbel(&rng) : 0.0f;
    out[a] = legal ? g + (logits[a] - top) : -INFINITY;
  }
}

/* What a simulation takes at the root, given all that came before. */
static inline int choose_at_root(const mz_search *s, const mz_scorer *scorer, int slot, const mz_tree_node *node, mz_edges edges, int actions,
                                 bool gumbel) {
  if (!gumbel) return mz_score_puct(scorer, node, edges, actions, s->root_first[slot], s->score);
  const int32_t *schedule = s->schedules + (size_t)s->root_considered[slot] * (size_t)s->schedule_simulations;
  return mz_score_gumbel_root(scorer, node, edges, actions, s->root_first[slot],
                              s->root_gumbel_logits + (size_t)slot * (size_t)actions, schedule[node->visits - 1], s->score);
}

static void plant_root(mz_search *s, int slot, const mz_root *root) {
  const int actions = s->tree.actions;
  const bool gumbel = s->settings.algorithm == MZ_GUMBEL;
  mz_tree_node *node = mz_tree_at(&s->tree, slot, 0);
  const mz_edges edges = mz_tree_edges(node, actions);
  const int legal_count = mask_root(s, slot, root->legal, s->policy + (size_t)slot * (size_t)actions);
  const float *logits = s->root_logits + (size_t)slot * (size_t)actions;
  *node = (mz_tree_node){.value = s->value[slot], .raw_value = s->value[slot], .visits = 1, .parent = MZ_NO_NODE, .parent_action = MZ_NO_NODE,
                         .next = MZ_NO_NODE};
  open_edges(edges, actions, logits);
  if (gumbel) {
    s->root_considered[slot] = s->considered_max < legal_count ? s->considered_max : legal_count;
    add_gumbel(s, slot, root, logits);
  } else if (root->noise && s->settings.dirichlet_fraction > 0) {
    mix_dirichlet(s, root->rng, logits, legal_count, edges.prior);
  }
  bound_priors(edges, actions);
  for (int a = 0; a < actions; a++)
    if (logits[a] == -INFINITY) edges.prior[a] = gumbel ? 0 : -INFINITY;
  node->next_action = choose_at_root(s, &s->scorer, slot, node, edges, actions, gumbel);
}

/* Initial inference of n roots, one call for each stretch of observations that lie one behind the other. */
static void evaluate_roots(mz_search *s, const mz_search_model *model, int n, const mz_root *roots) {
  for (int slot = 0; slot < n; slot++) s->out[slot] = slot * s->tree.nodes;
  for (int first = 0, end; first < n; first = end) {
    const char *start = roots[first].observation;
    end = first + 1;
    while (end < n && (model->obs_bytes == 0 || (const char *)roots[end].observation == start + (size_t)(end - first) * model->obs_bytes)) end++;
    model->initial(model->context, end - first, start, s->latents, s->out + first, s->policy + (size_t)first * (size_t)s->tree.actions,
                   s->value + first);
  }
}

/* ---- one simulation of one slot ---- */

/* Follows what back_up has chosen, to an edge without a child, which gets node `simulation` and a row of the batch; or to an
 * expanded node at max_depth, which is evaluated again: its value is the network's once more, which is known. */
static inline void select_leaf(mz_search *s, int slot, int simulation, int depth_max, uint64_t *edges_walked) {
  const mz_tree *tree = &s->tree;
  mz_tree_node *const root = mz_tree_at(tree, slot, 0);
  mz_tree_node *node = root;
  int32_t at = 0;
  int depth = 1;
  while (node->next != MZ_NO_NODE && depth < depth_max) {
    at = node->next;
    node = (mz_tree_node *)(void *)((unsigned char *)root + (size_t)at * tree->node_bytes);
    depth++;
  }
  *edges_walked += (uint64_t)depth;
  if (node->next != MZ_NO_NODE) {
    mz_tree_node *again = (mz_tree_node *)(void *)((unsigned char *)root + (size_t)node->next * tree->node_bytes);
    again->value = again->raw_value;
    again->visits++;
    s->leaf[slot] = node->next;
    s->row[slot] = MZ_NO_NODE;
    return;
  }
  const int action = node->next_action, row = s->rows++;
  mz_tree_node *leaf = (mz_tree_node *)(void *)((unsigned char *)root + (size_t)simulation * tree->node_bytes);
  leaf->parent = at;
  leaf->parent_action = action;
  mz_tree_edges(node, tree->actions).child[action] = simulation;
  s->leaf[slot] = simulation;
  s->row[slot] = row;
  s->in[row] = slot * tree->nodes + at;
  s->action[row] = action;
  s->out[row] = slot * tree->nodes + simulation;
}

static inline void expand(const mz_search *s, mz_tree_node *leaf, int row, int actions) {
  const mz_edges edges = mz_tree_edges(leaf, actions);
  const float *policy = s->policy + (size_t)row * (size_t)actions;
  leaf->value = leaf->raw_value = s->value[row];
  leaf->reward = s->reward[row];
  leaf->visits = 1;
  leaf->next = MZ_NO_NODE;
  open_edges(edges, actions, policy);
  leaf->next_action = mz_argmax(edges.prior, actions, 0); /* without visits every Q is alike, and both algorithms take the largest prior */
  bound_priors(edges, actions);
}

/* Carries the leaf's value to the root: G ← r + γG on each edge. What the next simulation takes from a node depends on this node
 * alone, so it is chosen here, where the node's numbers are at hand and one node need not wait for another; selection is then
 * a walk. */
static inline __attribute__((always_inline)) void back_up(mz_search *s, const mz_scorer *scorer, int slot, int actions, bool gumbel, bool last) {
  const size_t node_bytes = mz_tree_node_bytes(actions);
  mz_tree_node *const root = mz_tree_at(&s->tree, slot, 0);
  mz_tree_node *child = (mz_tree_node *)(void *)((unsigned char *)root + (size_t)s->leaf[slot] * node_bytes);
  float value = child->value;
  for (;;) {
    mz_tree_node *node = (mz_tree_node *)(void *)((unsigned char *)root + (size_t)child->parent * node_bytes);
    const mz_edges edges = mz_tree_edges(node, actions);
    const int action = child->parent_action;
    const float reward = child->reward;
    value = reward + scorer->discount * value;
    edges.q[action] = reward + scorer->discount * child->value;
    edges.visits[action]++;
    const float count = (float)node->visits;
    node->value = (node->value * count + value) / (count + 1);
    node->visits++;
    if (node == root) break;
    node->next_action = gumbel ? mz_score_gumbel_interior(scorer, node, edges, actions, s->score) : mz_score_puct(scorer, node, edges, actions, 0, s->score);
    node->next = edges.child[node->next_action];
    child = node;
  }
  if (last) return;
  const mz_edges edges = mz_tree_edges(root, actions);
  root->next_action = choose_at_root(s, scorer, slot, root, edges, actions, gumbel);
  root->next = edges.child[root->next_action];
}

/* Takes the model's answers and begins the next simulation, slot by slot, while a slot's tree is in the first-level cache. */
static inline __attribute__((always_inline)) void finish_slots(mz_search *s, int n, int simulation, bool last, int actions, bool gumbel) {
  const mz_scorer scorer = s->scorer; /* a copy that stores into the trees cannot change */
  const int depth_max = s->settings.max_depth > 0 ? (int)s->settings.max_depth : INT32_MAX;
  uint64_t walked = 0;
  s->rows = 0;
  for (int slot = 0; slot < n; slot++) {
    if (s->row[slot] != MZ_NO_NODE) expand(s, mz_tree_at(&s->tree, slot, s->leaf[slot]), s->row[slot], actions);
    back_up(s, &scorer, slot, actions, gumbel, last);
    if (!last) select_leaf(s, slot, simulation + 1, depth_max, &walked);
  }
  s->cost.edges += walked;
}

/* The same for an environment's number of actions as a constant, where that is small or a bundled game's. */
static inline __attribute__((always_inline)) void finish_simulation(mz_search *s, int n, int simulation, bool last, bool gumbel) {
  switch (s->tree.actions) {
    case 2: finish_slots(s, n, simulation, last, 2, gumbel); break;
    case 3: finish_slots(s, n, simulation, last, 3, gumbel); break;
    case 4: finish_slots(s, n, simulation, last, 4, gumbel); break;
    case 9: finish_slots(s, n, simulation, last, 9, gumbel); break;
    default: finish_slots(s, n, simulation, last, s->tree.actions, gumbel);
  }
}

static void finish_puct(mz_search *s, int n, int simulation, bool last) { finish_simulation(s, n, simulation, last, false); }
static void finish_gumbel(mz_search *s, int n, int simulation, bool last) { finish_simulation(s, n, simulation, last, true); }

/* ---- a tile ---- */

static void write_result(mz_search *s, int slot, mz_root_result *result) {
  const int actions = s->tree.actions;
  mz_tree_node *root = mz_tree_at(&s->tree, slot, 0);
  const mz_edges edges = mz_tree_edges(root, actions);
  const int first = s->root_first[slot];
  const size_t offset = (size_t)slot * (size_t)actions;
  int favourite = first;
  for (int a = first; a < actions; a++)
    if (edges.visits[a] > edges.visits[favourite]) favourite = a;
  result->value = root->value;
  result->raw_value = root->raw_value;
  if (result->visits) memcpy(result->visits, edges.visits, (size_t)actions * sizeof(int32_t));
  if (s->settings.algorithm == MZ_PUCT) {
    result->selected = favourite;
    for (int a = 0; a < actions; a++) result->policy[a] = (float)edges.visits[a] / (float)(root->visits - 1);
  } else {
    result->selected = mz_score_gumbel_root(&s->scorer, root, edges, actions, first, s->root_gumbel_logits + offset, edges.visits[favourite], s->score);
    mz_improved_policy(&s->scorer, root, edges, actions, s->root_logits + offset, s->score);
    memcpy(result->policy, s->score, (size_t)actions * sizeof(float));
  }
}

static void search_tile(mz_search *s, const mz_search_model *model, int n, const mz_root *roots, int simulations, mz_root_result *results) {
  const int depth_max = s->settings.max_depth > 0 ? (int)s->settings.max_depth : INT32_MAX;
  void (*const finish)(mz_search *, int, int, bool) = s->settings.algorithm == MZ_GUMBEL ? finish_gumbel : finish_puct;
  uint64_t started = s->counting ? mz_clock_ns() : 0;
  evaluate_roots(s, model, n, roots);
  if (s->counting) s->cost.model_ns += mz_clock_ns() - started;
  s->rows = 0;
  for (int slot = 0; slot < n; slot++) {
    plant_root(s, slot, &roots[slot]);
    select_leaf(s, slot, 1, depth_max, &s->cost.edges);
  }
  for (int simulation = 1; simulation <= simulations; simulation++) {
    started = s->counting ? mz_clock_ns() : 0;
    if (s->rows) model->recurrent(model->context, s->rows, s->latents, s->in, s->action, s->out, s->policy, s->value, s->reward);
    if (s->counting) s->cost.model_ns += mz_clock_ns() - started;
    finish(s, n, simulation, simulation == simulations);
  }
  s->cost.simulations += (uint64_t)n * (uint64_t)simulations;
  for (int slot = 0; slot < n; slot++) write_result(s, slot, &results[slot]);
}

void mz_search_run(mz_search *s, const mz_search_model *model, int n, const mz_root *roots, int simulations, mz_root_result *results) {
  MZ_ASSERT(model->actions == s->tree.actions && model->latent_stride == s->latent_stride);
  MZ_ASSERT(simulations >= 0 && simulations <= s->settings.simulations);
  if (simulations == 0) simulations = (int)s->settings.simulations;
  const uint64_t started = s->counting ? mz_clock_ns() : 0;
  plan_halving(s, simulations);
  for (int done = 0; done < n;) { /* tiles of nearly equal size */
    const int tiles = (n - done + s->slots - 1) / s->slots, size = (n - done + tiles - 1) / tiles;
    search_tile(s, model, size, roots + done, simulations, results + done);
    done += size;
  }
  if (s->counting) s->cost.total_ns += mz_clock_ns() - started;
}
