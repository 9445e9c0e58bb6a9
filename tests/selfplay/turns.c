/* Games in which who moves next is told: how a network's answers enter the tree, and who is paid for what in evaluations. */
#include "selfplay/evaluation/judge.h"
#include "selfplay/search/network_search.h"
#include "selfplay/search/turns.h"
#include "tests/selfplay/agents.h"

enum { SEED = 5, SIMULATIONS = 40, NODES = SIMULATIONS + 1 };

static void answers_are_turned(void **state) {
  (void)state;
  for (int parent = 0; parent < 2; parent++) {
    const mz_turn_answer stays = mz_turn_answer_of(parent, 0.5f, 3, 2, 0.75f),
                         other = mz_turn_answer_of(parent, 0.75f, 3, 2, 0.75f);
    assert_true(!stays.away && other.away);
    assert_true(stays.value == 3 && other.value == -3);                             /* of who moves at the node */
    assert_true(stays.reward == (parent ? -2 : 2) && other.reward == stays.reward); /* of who moved before */
    assert_true(stays.discount == (parent ? -0.75f : 0.75f) && other.discount == -stays.discount);
  }
}

/* A node and all below it, with the latents that lead there by `infer`, in which node i has latent i. */
typedef struct walk {
  const mz_tree *tree;
  mz_infer *infer;
  bool away[NODES];
  int nodes, crossings; /* edges between movers */
} walk;

static void follow(walk *w, int index) {
  const mz_tree_node *node = mz_tree_at(w->tree, 0, index);
  const mz_edges edges = mz_tree_edges(mz_tree_at(w->tree, 0, index), w->tree->actions);
  double sum = (double)node->raw_value;
  w->nodes++;
  for (int32_t a = 0; a < w->tree->actions; a++) {
    const int32_t child = edges.child[a];
    if (child == MZ_NO_NODE) continue;
    const mz_tree_node *below = mz_tree_at(w->tree, 0, child);
    float policy[2], value, reward, turn;
    assert_int_equal(mz_infer_recurrent_turns(w->infer, 1, &index, &a, &child, policy, &value, &reward, &turn), MZ_OK);
    w->away[child] = turn > 0.5f;
    const bool crosses = w->away[child] != w->away[index];
    w->crossings += crosses;
    assert_true(below->raw_value == (w->away[child] ? -value : value));
    assert_true(below->reward == (w->away[index] ? -reward : reward));
    follow(w, child);
    const double q = (double)below->reward + (crosses ? -0.97 : 0.97) * (double)below->value;
    assert_true(fabs((double)edges.q[a] - q) < 1e-5 * (1 + fabs(q)));
    sum += q * edges.visits[a];
  }
  assert_true(fabs(sum / node->visits - (double)node->value) <
              1e-4); /* a mean over what was seen below it, in its mover's view */
}

static void a_tree_is_seen_by_its_movers(void **state) {
  (void)state;
  const mz_env *env = &mz_env_pig;
  int crossings = 0, inside = 0;
  for (uint64_t seed = 1; seed <= 6; seed++) {
    test_agent agent;
    test_agent_init(&agent, env, seed % 2 ? MZ_PUCT : MZ_GUMBEL, seed);
    agent.search.simulations = SIMULATIONS;
    mz_network_search search;
    assert_int_equal(mz_network_search_init(&search, &env->spec, &agent.search, &agent.model, &mz_lane_cpu, 0.97, 1), MZ_OK);
    const float observation[] = {0.3f, 0.4f, 0.1f, 0.4f};
    float policy[2], value;
    int32_t visits[2];
    mz_root_result result = {.policy = policy, .visits = visits};
    const mz_root root = {.observation = observation};
    assert_int_equal(mz_network_search_run(&search, agent.weights, 1, &root, 0, &result), MZ_OK);
    walk w = {.tree = mz_search_tree(search.search)};
    assert_int_equal(mz_infer_create(&w.infer, &agent.model, &mz_lane_cpu, 1, NODES), MZ_OK);
    assert_int_equal(mz_infer_set_weights(w.infer, agent.weights), MZ_OK);
    assert_int_equal(mz_infer_initial(w.infer, 1, observation, MZ_OBS_F32, &(int32_t){0}, policy, &value), MZ_OK);
    assert_true(value == result.raw_value);
    follow(&w, 0);
    assert_int_equal(w.nodes, NODES);
    crossings += w.crossings;
    inside += NODES - 1 - w.crossings;
    mz_infer_free(w.infer);
    mz_network_search_deinit(&search);
    test_agent_deinit(&agent);
  }
  assert_true(crossings > 10 && inside > 10);
}

static mz_evaluation play(const char *first, const char *second, int games) {
  const mz_env *env = &mz_env_pig;
  const mz_player players[2] = {test_player(first, env), test_player(second, env)};
  const mz_match match = {.env = env, .sides = {{.player = &players[0]}, {.player = &players[1]}}, .games = games, .seed = SEED};
  mz_evaluation found;
  assert_int_equal(mz_evaluate(&match, NULL, &found, NULL), MZ_OK);
  return found;
}

/* Exactly known: perfect play wins 0.5399 of its games against hold20 (tests/envs/pig.c). */
static void who_moved_is_paid(void **state) {
  (void)state;
  enum { GAMES = 4000 };
  const mz_evaluation exact = play("perfect", "hold20", GAMES);
  assert_int_equal(exact.win + exact.loss, GAMES);
  assert_true(fabs((double)exact.win / GAMES - 0.5399) < 4 * 0.5 / sqrt(GAMES));
  assert_true(play("mcts:100", "random", 20).win >= 16);
}

static void rule_is_for_players_in_turn(void **state) {
  (void)state;
  mz_player player;
  assert_int_equal(mz_player_parse("rule", &mz_env_pig, &player), MZ_E_CONFIG);
  assert_non_null(strstr(mz_message(), "strictly in turn"));
}

/* No rule plays this game: random play leads to the positions. */
static void positions_are_judged(void **state) {
  (void)state;
  const mz_player perfect = test_player("perfect", &mz_env_pig), random = test_player("random", &mz_env_pig);
  const mz_side sides[] = {{.player = &perfect}, {.player = &random}};
  mz_judgement judged[2];
  assert_int_equal(mz_judge(&mz_env_pig, sides, 2, 200, SEED, NULL, judged), MZ_OK);
  assert_int_equal(judged[0].kept, 200);
  assert_in_range(judged[1].kept, 60, 140);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(answers_are_turned),   cmocka_unit_test(a_tree_is_seen_by_its_movers),
      cmocka_unit_test(who_moved_is_paid),    cmocka_unit_test(rule_is_for_players_in_turn),
      cmocka_unit_test(positions_are_judged),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
