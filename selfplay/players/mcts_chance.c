#include "selfplay/players/mcts_chance.h"
#include "base/arena.h"
#include "base/maths/maths.h"
#include "selfplay/players/choice.h"
#include "selfplay/players/mcts_game.h"
#include <math.h>
#include <string.h>

enum { NO_CHILD = 0 /* the root is nobody's child */ };

typedef struct edge {
  int32_t visits, child;
  double total; /* of the values for the player who moves here */
} edge;

typedef struct path_step {
  edge *edge;
  int player;
} path_step;

typedef struct open_tree {
  mcts_game game;
  int nodes;       /* in use */
  edge *edges;     /* [simulations + 1][actions] */
  path_step *path; /* [simulations + 1] */
  uint8_t *mask;   /* [actions] */
  uint8_t *state;  /* of the simulation under way */
  uint8_t *spare;  /* of its rollout */
  void *block;
} open_tree;

static mz_status tree_init(open_tree *tree, const mz_env *env, int simulations, mz_rng *rng) {
  const size_t actions = (size_t)env->spec.actions, nodes = (size_t)simulations + 1;
  *tree = (open_tree){.nodes = 1};
  mz_carver carver = {0};
  mz_carve(&carver, &tree->edges, nodes * actions, sizeof *tree->edges);
  mz_carve(&carver, &tree->path, nodes, sizeof *tree->path);
  mz_carve(&carver, &tree->mask, actions, 1);
  mz_carve(&carver, &tree->state, 1, env->state_size);
  mz_carve(&carver, &tree->spare, 1, env->state_size);
  MZ_TRY(mz_carve_commit(&carver, &tree->block));
  tree->game = mz_mcts_game_make(env, tree->mask, rng);
  return MZ_OK;
}

/* A legal action of the node: a random one that has not been tried, or else the highest upper confidence bound. What is legal
 * may differ from visit to visit. */
static mz_status select_action(open_tree *tree, const edge *node, int *action) {
  const int actions = tree->game.env->spec.actions;
  int legal;
  MZ_TRY(mz_legal_moves(tree->game.env, tree->state, tree->mask, &legal));
  int untried = 0, visits = 0;
  for (int a = 0; a < actions; a++) {
    if (!tree->mask[a]) continue;
    untried += node[a].visits == 0;
    visits += node[a].visits;
  }
  if (untried) {
    for (int a = 0; a < actions; a++) tree->mask[a] = tree->mask[a] && node[a].visits == 0;
    *action = mz_env_nth_legal(tree->mask, actions, mz_fast_below(&tree->game.random, (uint32_t)untried));
    return MZ_OK;
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
  *action = best;
  return MZ_OK;
}

/* Down the tree to an edge that was never tried, which gets the one new node; a random game from there; and back up. */
static mz_status simulate(open_tree *tree, const void *state) {
  const mz_env *env = tree->game.env;
  memcpy(tree->state, state, env->state_size);
  mcts_returns returns = {0};
  int length = 0, node = 0;
  bool ended = false, leaf = false;
  while (!ended && !leaf) {
    edge *edges = tree->edges + (size_t)node * (size_t)env->spec.actions;
    const int player = mz_env_to_play(env, tree->state);
    int action;
    MZ_TRY(select_action(tree, edges, &action));
    leaf = edges[action].child == NO_CHILD;
    if (leaf) edges[action].child = tree->nodes++;
    node = edges[action].child;
    tree->path[length++] = (path_step){&edges[action], player};
    MZ_TRY(mcts_game_play(&tree->game, tree->state, player, action, &returns, &ended));
  }
  if (!ended) MZ_TRY(mz_mcts_game_finish(&tree->game, tree->state, tree->spare, &returns));
  for (int i = 0; i < length; i++) {
    tree->path[i].edge->visits++;
    tree->path[i].edge->total += mcts_game_value(&tree->game, returns.of[tree->path[i].player]);
  }
  return MZ_OK;
}

mz_status mz_mcts_chance_move(const mz_env *env, const void *state, int simulations, mz_rng *rng, int *action) {
  open_tree tree;
  MZ_TRY(tree_init(&tree, env, simulations, rng));
  mz_status status = MZ_OK;
  for (int i = 0; i < simulations && status == MZ_OK; i++) status = simulate(&tree, state);
  mcts_choice best = {.action = -1};
  for (int a = 0; a < env->spec.actions; a++) {
    const mcts_choice choice = {a, tree.edges[a].visits, tree.edges[a].total};
    if (choice.visits > 0 && mcts_choice_better(choice, best)) best = choice;
  }
  *action = best.action;
  free(tree.block);
  return status;
}
