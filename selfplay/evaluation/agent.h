/* A trained agent: a network, its weights, and how it searches. Plain references; what they point at outlives it. */
#pragma once
#include "selfplay/planner.h"

typedef struct mz_agent {
  const mz_env *env;
  const mz_search_settings *search;
  const mz_model *model;
  const mz_lane *where; /* its planners open lanes there */
  double discount;
  const mz_prepared *weights;
  int simulations; /* a move; 0: the search settings' */
  bool symmetry;   /* looks at positions in all symmetries of the board, whatever the search settings say */
} mz_agent;

/* The simulations a move that it plays with. */
int mz_agent_simulations(const mz_agent *agent);
/* Returns how many positions planners there search together at the most, where there are enough: a GPU needs many to be busy. */
int mz_agent_slots_max(const mz_lane *where);
/* A planner for up to `slots` positions. An agent may think longer than it was trained with: the trees are made for that. As
 * mz_planner_init. */
mz_status mz_agent_planner(const mz_agent *agent, int slots, mz_planner *planner);
