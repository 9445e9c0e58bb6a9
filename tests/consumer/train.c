/* Trains an agent for CartPole, loads it and plays a game with it. usage: train RUN ROUNDS */
#include <muzero.h>
#include <stdio.h>
#include <stdlib.h>

static void need(muzero_status status) {
  if (status == MUZERO_OK) return;
  fprintf(stderr, "train: %s\n", muzero_message());
  exit((int)status);
}

static int show(void *context, const muzero_progress *progress) {
  (void)context;
  fprintf(stderr, "round %lld: %lld moves, %lld updates\n", (long long)progress->rounds, (long long)progress->env_steps,
          (long long)progress->updates);
  return 0; /* anything else requests a stop */
}

static void train(const char *dir, long long rounds) {
  muzero_run_options options = MUZERO_RUN_OPTIONS_INIT;
  const char *settings[] = {"learning_rate=0.005"};
  muzero_run *run;
  options.env = "cartpole";
  options.settings = settings;
  options.settings_count = 1;
  options.on_round = show;
  need(muzero_run_open(&run, dir, &options)); /* resumes a run that is there */
  need(muzero_run_rounds(run, rounds, NULL, NULL));
  need(muzero_run_save(run));
  need(muzero_run_close(run));
}

static void play(const char *dir) {
  muzero_agent *agent;
  muzero_game *game;
  muzero_game_state state = MUZERO_GAME_STATE_INIT;
  int32_t action, visits[2];
  float value, policy[2], total = 0;
  need(muzero_agent_load(&agent, dir));
  need(muzero_game_create(&game, "cartpole", 1));
  need(muzero_agent_move(agent, &game, 1, 0, &action, &value, policy, visits));
  printf("first move %d, value %.2f, policy %.2f %.2f, visits %d %d\n", (int)action, value, policy[0], policy[1], (int)visits[0],
         (int)visits[1]);
  for (;;) {
    need(muzero_game_state_get(game, &state));
    total += state.reward;
    if (state.legal == 0) break; /* the game is over */
    need(muzero_agent_move(agent, &game, 1, 0, &action, NULL, NULL, NULL));
    need(muzero_game_step(game, action));
  }
  printf("played %d moves, return %.0f\n", (int)state.moves, total);
  need(muzero_game_close(game));
  need(muzero_agent_close(agent));
}

int main(int argc, char **argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: train RUN ROUNDS\n");
    return 2;
  }
  train(argv[1], atoll(argv[2]));
  play(argv[1]);
  return 0;
}
