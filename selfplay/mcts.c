#include "selfplay/mcts.h"
#include "muzero/base/arena.h"
#include "muzero/base/maths.h"
#include "selfplay/choice.h"
#include <math.h>
#include <string.h>

enum { SIMULATION_MOVES_MAX = 10000, NO_CHILD = 0 /* the root is nobody's child */ };

typedef struct edge {
  int32_t visits, child;
  double total; /* of the values for the player who moves here */
} edge;

typedef struct path_step {
  edge *edge;
  int player;
} path_step;

typedef struct uct {
  const mz_env *env;
  mz_rng *rng;
  mz_generator chance;
  int nodes;       /* in use */
  edge *edges;     /* [simulations + 1][actions] */
  path_step *path; /* [simulations + 1] */
  uint8_t *mask;   /* [actions] */
  uint8_t *state;  /* of the simulation under way */
  double returns[2];
  void *block;
} uct;

static mz_status uct_init(uct *tree, const mz_env *env, int simulations, mz_rng *rng) {
  const size_t actions = (size_t)env->spec.actions, nodes = (size_t)simulations + 1;
  *tree = (uct){.env = env, .rng = rng, .chance = mz_generator_from_rng(rng), .nodes = 1};
  mz_carver carver = {0};
  mz_carve(&carver, &tree->edges, nodes * actions, sizeof *tree->edges);
  mz_carve(&carver, &tree->path, nodes, sizeof *tree->path);
  mz_carve(&carver, &tree->mask, actions, 1);
  mz_carve(&carver, &tree->state, 1, env->state_size);
  return mz_carve_commit(&carver, &tree->block);
}

/* Plays one move in the simulation's state; false when it ended the game. */
static bool play(uct *tree, int player, int32_t action) {
  mz_step step;
  tree->env->step(tree->state, 1, &action, &tree->chance, &step);
  tree->returns[player] += (double)step.reward;
  if (tree->env->spec.alternating) tree->returns[1 - player] -= (double)step.reward;
  return !step.terminated && !step.truncated;
}

/* A legal action of the node: a random one that has not been tried, or else the highest upper confidence bound. */
static int select_action(uct *tree, const edge *node) {
  const int actions = tree->env->spec.actions;
  mz_env_legal(tree->env, tree->state, tree->mask);
  int untried = 0, visits = 0;
  for (int a = 0; a < actions; a++) {
    if (!tree->mask[a]) continue;
    untried += node[a].visits == 0;
    visits += node[a].visits;
  }
  if (untried) {
    for (int a = 0; a < actions; a++) tree->mask[a] = tree->mask[a] && node[a].visits == 0;
    return mz_choose_uniform(tree->mask, untried, tree->rng);
  }
  const double explore = 2 * mz_log((double)visits); /* c² ln N */
  int best = -1;
  double best_bound = 0;
  for (int a = 0; a < actions; a++) {
    if (!tree->mask[a]) continue;
    const double bound = node[a].total / node[a].visits + sqrt(explore / node[a].visits);
    if (best < 0 || bound > best_bound) {
      best = a;
      best_bound = bound;
    }
  }
  return best;
}

static void rollout(uct *tree) {
  for (int moves = 0; moves < SIMULATION_MOVES_MAX; moves++) {
    const int legal = mz_env_legal(tree->env, tree->state, tree->mask);
    const int player = mz_env_to_play(tree->env, tree->state);
    if (!play(tree, player, mz_choose_uniform(tree->mask, legal, tree->rng))) return;
  }
}

static double scaled_return(const uct *tree, int player) {
  const mz_spec *spec = &tree->env->spec;
  const double low = (double)spec->return_min, high = (double)spec->return_max;
  if (spec->players == 2) return tree->returns[player] / fmax(fabs(low), fabs(high));
  return (tree->returns[player] - low) / (high - low);
}

/* Down the tree to an edge that was never tried, which gets the one new node; a random game from there; and back up. */
static void simulate(uct *tree, const void *state) {
  const int actions = tree->env->spec.actions;
  memcpy(tree->state, state, tree->env->state_size);
  tree->returns[0] = tree->returns[1] = 0;
  int length = 0, node = 0;
  bool playing = true, leaf = false;
  while (playing && !leaf) {
    edge *edges = tree->edges + (size_t)node * (size_t)actions;
    const int player = mz_env_to_play(tree->env, tree->state);
    const int action = select_action(tree, edges);
    leaf = edges[action].child == NO_CHILD;
    if (leaf) edges[action].child = tree->nodes++;
    node = edges[action].child;
    tree->path[length++] = (path_step){&edges[action], player};
    playing = play(tree, player, action);
  }
  if (playing) rollout(tree);
  for (int i = 0; i < length; i++) {
    tree->path[i].edge->visits++;
    tree->path[i].edge->total += scaled_return(tree, tree->path[i].player);
  }
}

mz_status mz_mcts_move(const mz_env *env, const void *state, int simulations, mz_rng *rng, int *action) {
  MZ_ASSERT(simulations >= 1 && simulations <= MZ_MCTS_SIMULATIONS_MAX);
  uct tree;
  MZ_TRY(uct_init(&tree, env, simulations, rng));
  for (int i = 0; i < simulations; i++) simulate(&tree, state);
  const edge *root = tree.edges;
  int best = 0;
  for (int a = 1; a < env->spec.actions; a++) {
    if (root[a].visits < root[best].visits || root[a].visits == 0) continue;
    if (root[a].visits > root[best].visits || root[a].total > root[best].total) best = a;
  }
  *action = best;
  free(tree.block);
  return MZ_OK;
}
