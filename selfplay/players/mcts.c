#include "selfplay/players/mcts.h"
#include "base/arena.h"
#include "base/maths/maths.h"
#include "selfplay/players/choice.h"
#include "selfplay/players/mcts_chance.h"
#include "selfplay/players/mcts_game.h"
#include <math.h>
#include <string.h>

enum { ROOT = 0, FIRST_NODES = 1024, FIRST_EDGES = 4096 };

/* A state that simulations came to. Its moves become edges when it is seen again: most never are. */
typedef struct node {
  mcts_returns returns; /* from the root to here */
  uint32_t visits;      /* of its edges, together */
  uint32_t first_edge;
  uint16_t edges, tried; /* the tried ones come first; no edges: not yet listed */
  uint8_t player;
  bool ended;
} node;

typedef struct edge {
  double total; /* of the values for the player who moves here */
  float mean;
  float inverse_root; /* 1/√visits */
  uint32_t visits, child;
  int32_t action;
} edge;

typedef struct path_step {
  uint32_t node, edge;
} path_step;

struct mz_mcts {
  mcts_game game;
  uint32_t node_count, edge_count;
  /* Memory, with what it has room for; grown between simulations, and kept. */
  node *nodes;
  uint8_t *states; /* one for each node */
  size_t node_room, state_room /* bytes */;
  edge *edges;
  size_t edge_room;
  uint8_t *mask, *spare;
  size_t mask_room, spare_room;
  path_step *path;
  size_t path_room;
  /* By a number of visits: 1/n, 1/√n, √(c² ln n), c = √2. */
  const float *inverse, *inverse_root, *explore;
  size_t table_room;
  void *table_block;
};

/* Makes room for `count` elements, at least doubling, and keeps the first `used`. */
static mz_status make_room(void *pointer, size_t *room, size_t count, size_t used, size_t element_size) {
  if (count <= *room) return MZ_OK;
  const size_t larger = count > 2 * *room ? count : 2 * *room;
  void *old, *grown;
  memcpy(&old, pointer, sizeof old);
  MZ_TRY(mz_alloc(&grown, larger, element_size));
  if (used) memcpy(grown, old, used * element_size);
  memcpy(pointer, &grown, sizeof grown);
  free(old);
  *room = larger;
  return MZ_OK;
}

static mz_status make_tables(mz_mcts *m, size_t count) {
  if (count <= m->table_room) return MZ_OK;
  mz_carver carver = {0};
  float *inverse, *inverse_root, *explore;
  void *block;
  mz_carve(&carver, &inverse, count, sizeof *inverse);
  mz_carve(&carver, &inverse_root, count, sizeof *inverse_root);
  mz_carve(&carver, &explore, count, sizeof *explore);
  MZ_TRY(mz_carve_commit(&carver, &block));
  for (size_t n = 1; n < count; n++) {
    inverse[n] = (float)(1 / (double)n);
    inverse_root[n] = (float)(1 / sqrt((double)n));
    explore[n] = (float)sqrt(2 * mz_log((double)n));
  }
  free(m->table_block);
  m->inverse = inverse, m->inverse_root = inverse_root, m->explore = explore;
  m->table_block = block;
  m->table_room = count;
  return MZ_OK;
}

/* For one simulation more: one node, and one state's moves. */
static mz_status make_room_for_one(mz_mcts *m) {
  const size_t state_size = m->game.env->state_size, nodes = m->node_count, edges = m->edge_count;
  MZ_TRY(make_room(&m->nodes, &m->node_room, nodes + 1, nodes, sizeof *m->nodes));
  MZ_TRY(make_room(&m->states, &m->state_room, (nodes + 1) * state_size, nodes * state_size, 1));
  return make_room(&m->edges, &m->edge_room, edges + (size_t)m->game.env->spec.actions, edges, sizeof *m->edges);
}

double mz_mcts_bytes(const mz_env *env, int simulations) {
  const double grown = 2, nodes = simulations + 1.0, room = nodes > FIRST_NODES ? grown * nodes : FIRST_NODES;
  const double listed = nodes * (double)env->spec.actions / 2; /* half of the states are seen twice */
  const double edges = listed > FIRST_EDGES ? grown * listed : FIRST_EDGES;
  return (double)sizeof(mz_mcts) + room * (double)(sizeof(node) + env->state_size) + edges * sizeof(edge) +
         nodes * (sizeof(path_step) + 3 * sizeof(float));
}

static uint8_t *state_of(mz_mcts *m, uint32_t index) { return m->states + index * m->game.env->state_size; }

static mz_status begin(mz_mcts *m, const mz_env *env, const void *state, int simulations, mz_rng *rng) {
  const size_t actions = (size_t)env->spec.actions, nodes = (size_t)simulations + 1;
  if (actions > UINT16_MAX)
    return mz_fail(MZ_E_CONFIG, "mcts: %s has %zu actions; %d at the most", env->name, actions, UINT16_MAX);
  MZ_TRY(make_tables(m, nodes));
  MZ_TRY(make_room(&m->path, &m->path_room, nodes, 0, sizeof *m->path));
  MZ_TRY(make_room(&m->mask, &m->mask_room, actions, 0, 1));
  MZ_TRY(make_room(&m->spare, &m->spare_room, env->state_size, 0, 1));
  MZ_TRY(make_room(&m->nodes, &m->node_room, FIRST_NODES, 0, sizeof *m->nodes));
  MZ_TRY(make_room(&m->states, &m->state_room, FIRST_NODES * env->state_size, 0, 1));
  MZ_TRY(make_room(&m->edges, &m->edge_room, FIRST_EDGES, 0, sizeof *m->edges));
  m->game = mz_mcts_game_make(env, m->mask, rng);
  m->node_count = 1;
  m->edge_count = 0;
  m->nodes[ROOT] = (node){.player = (uint8_t)mz_env_to_play(env, state)};
  memcpy(state_of(m, ROOT), state, env->state_size);
  return MZ_OK;
}

static mz_status list_moves(mz_mcts *m, uint32_t index) {
  node *at = &m->nodes[index];
  int legal;
  MZ_TRY(mz_legal_moves(m->game.env, state_of(m, index), m->mask, &legal));
  at->first_edge = m->edge_count;
  at->edges = (uint16_t)legal;
  edge *edges = m->edges + at->first_edge;
  for (int a = 0; a < m->game.env->spec.actions; a++) {
    if (m->mask[a]) *edges++ = (edge){.action = a};
  }
  m->edge_count += at->edges;
  return MZ_OK;
}

/* The new node behind a random move of those not tried; *tried: the number of its edge among the node's. */
static mz_status try_new_move(mz_mcts *m, uint32_t index, mcts_returns *returns, uint32_t *tried) {
  node *at = &m->nodes[index];
  edge *edges = m->edges + at->first_edge;
  const uint32_t next = at->tried++, chosen = next + mz_fast_below(&m->game.random, at->edges - next);
  const int32_t action = edges[chosen].action;
  edges[chosen].action = edges[next].action;
  edges[next].action = action;

  const uint32_t child = edges[next].child = m->node_count++;
  uint8_t *state = state_of(m, child);
  memcpy(state, state_of(m, index), m->game.env->state_size);
  *returns = at->returns;
  bool ended;
  MZ_TRY(mcts_game_play(&m->game, state, at->player, action, returns, &ended));
  m->nodes[child] = (node){.returns = *returns, .ended = ended};
  if (!ended) {
    m->nodes[child].player = (uint8_t)mz_env_to_play(m->game.env, state);
    MZ_TRY(mz_mcts_game_finish(&m->game, state, m->spare, returns));
  }
  *tried = next;
  return MZ_OK;
}

/* The highest upper confidence bound, the earliest first. Bounds are made positive, for then their bits as whole numbers are in
 * the order of the bounds, and the best is found without a branch. */
static uint32_t select_edge(const mz_mcts *m, const node *at) {
  const edge *edges = m->edges + at->first_edge;
  const float explore = m->explore[at->visits];
  uint64_t best = 0;
  for (uint32_t i = 0; i < at->edges; i++) {
    const float bound = edges[i].mean + explore * edges[i].inverse_root + 2;
    uint32_t bits;
    memcpy(&bits, &bound, sizeof bits);
    const uint64_t ranked = (uint64_t)bits << 32 | (UINT32_MAX - i);
    best = ranked > best ? ranked : best;
  }
  return UINT32_MAX - (uint32_t)best;
}

/* Down the tree to a move that was never tried, or to an end; a random game from there; and back up. */
static mz_status simulate(mz_mcts *m) {
  mcts_returns returns;
  uint32_t index = ROOT, length = 0;
  for (bool leaf = false; !leaf;) {
    const node *at = &m->nodes[index];
    if (at->ended) {
      returns = at->returns;
      break;
    }
    if (at->edges == 0) MZ_TRY(list_moves(m, index));
    leaf = at->tried < at->edges;
    uint32_t chosen;
    if (leaf)
      MZ_TRY(try_new_move(m, index, &returns, &chosen));
    else
      chosen = select_edge(m, at);
    const uint32_t taken = at->first_edge + chosen;
    m->path[length++] = (path_step){index, taken};
    index = m->edges[taken].child;
  }
  const double values[2] = {mcts_game_value(&m->game, returns.of[0]), mcts_game_value(&m->game, returns.of[1])};
  for (uint32_t i = 0; i < length; i++) {
    node *at = &m->nodes[m->path[i].node];
    edge *taken = &m->edges[m->path[i].edge];
    at->visits++;
    taken->visits++;
    taken->total += values[at->player];
    taken->mean = (float)taken->total * m->inverse[taken->visits];
    taken->inverse_root = m->inverse_root[taken->visits];
  }
  return MZ_OK;
}

static int choose(const mz_mcts *m) {
  const edge *edges = m->edges + m->nodes[ROOT].first_edge;
  mcts_choice best = {.action = -1};
  for (int i = 0; i < m->nodes[ROOT].tried; i++) {
    const mcts_choice choice = {edges[i].action, (int)edges[i].visits, edges[i].total};
    if (mcts_choice_better(choice, best)) best = choice;
  }
  return best.action;
}

mz_status mz_mcts_move(mz_mcts *m, const mz_env *env, const void *state, int simulations, mz_rng *rng, int *action) {
  MZ_ASSERT(simulations >= 1 && simulations <= MZ_MCTS_SIMULATIONS_MAX);
  if (env->draws) return mz_mcts_chance_move(env, state, simulations, rng, action);
  MZ_TRY(begin(m, env, state, simulations, rng));
  for (int i = 0; i < simulations; i++) {
    MZ_TRY(make_room_for_one(m));
    MZ_TRY(simulate(m));
  }
  *action = choose(m);
  return MZ_OK;
}

mz_status mz_mcts_create(mz_mcts **out) { return mz_alloc(out, 1, sizeof **out); }

void mz_mcts_free(mz_mcts *m) {
  if (!m) return;
  free(m->nodes), free(m->states), free(m->edges), free(m->mask), free(m->spare), free(m->path);
  free(m->table_block);
  free(m);
}
