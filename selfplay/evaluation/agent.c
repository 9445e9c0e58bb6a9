#include "selfplay/evaluation/agent.h"

int mz_agent_simulations(const mz_agent *agent) {
  return agent->simulations ? agent->simulations : (int)agent->search->simulations;
}

int mz_agent_slots_max(const mz_lane *where) {
  enum { ON_CPU = 16, ON_GPU = 1024 };
  return mz_lane_is_cpu(where) ? ON_CPU : ON_GPU;
}

mz_status mz_agent_planner(const mz_agent *agent, int slots, mz_planner *planner) {
  mz_search_settings search = *agent->search;
  search.simulations = mz_agent_simulations(agent);
  search.symmetry = search.symmetry || agent->symmetry;
  return mz_planner_init(planner, agent->env, &search, agent->model, agent->where, agent->discount, slots);
}
