// Continues the run that train.c made, and asks its agent for moves in many games at once. usage: play RUN
#include <muzero.h>

#include <cstdio>
#include <stdexcept>
#include <vector>

static void need(muzero_status status) {
  if (status != MUZERO_OK) throw std::runtime_error(muzero_message());
}

int main(int argc, char **argv) try {
  if (argc != 2) return 2;
  int rounds = 0;
  muzero_run_options options = MUZERO_RUN_OPTIONS_INIT;
  options.context = &rounds;
  options.on_round = [](void *context, const muzero_progress *) -> int {
    return ++*static_cast<int *>(context) == 1;
  }; // one, then a stop
  muzero_run *run;
  muzero_reason reason;
  need(muzero_run_resume(&run, argv[1], &options));
  need(muzero_run_train(run, nullptr, &reason));
  muzero_progress progress = MUZERO_PROGRESS_INIT;
  need(muzero_run_progress(run, &progress));
  need(muzero_run_close(run));
  if (reason != MUZERO_STOPPED || rounds != 1) throw std::runtime_error("the callback did not stop the run");

  muzero_agent *agent;
  muzero_agent_info info = MUZERO_AGENT_INFO_INIT;
  need(muzero_agent_load(&agent, argv[1]));
  need(muzero_agent_describe(agent, &info));
  if (info.rounds != progress.rounds) throw std::runtime_error("the agent is not that of the last round");
  std::vector<muzero_game *> games(10);
  std::vector<float> policies(games.size() * static_cast<size_t>(info.actions));
  for (size_t i = 0; i < games.size(); i++) need(muzero_game_create(&games[i], info.env, i));
  need(muzero_agent_move(agent, games.data(), games.size(), 0, nullptr, nullptr, policies.data(), nullptr));
  for (size_t i = 0; i < games.size(); i++) {
    float sum = 0;
    for (int a = 0; a < info.actions; a++) sum += policies[i * static_cast<size_t>(info.actions) + static_cast<size_t>(a)];
    if (!(sum > 0.999F && sum < 1.001F)) throw std::runtime_error("a policy does not sum to 1");
    need(muzero_game_close(games[i]));
  }
  if (muzero_agent_close(agent) != MUZERO_OK || muzero_agent_close(agent) != MUZERO_E_USAGE)
    throw std::runtime_error("a closed agent was not recognised");
  std::printf("libmuzero %s: %lld rounds of %s\n", muzero_version(), static_cast<long long>(info.rounds), info.env);
  return 0;
} catch (const std::exception &e) {
  std::fprintf(stderr, "play: %s\n", e.what());
  return 1;
}
