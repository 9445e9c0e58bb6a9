#include "selfplay/evaluation/agent.h"

int mz_agent_simulations(const mz_agent *agent) {
  return agent->simulations ? agent->simulations : (int)agent->search->simulations;
}

mz_status mz_agent_planner(const mz_agent *agent, int slots, mz_planner *planner) {
  mz_search_settings search = *agent->search;
  search.simulations = mz_agent_simulations(agent);
  return mz_planner_init(planner, agent->env, &search, agent->model, agent->where, agent->discount, slots);
}
