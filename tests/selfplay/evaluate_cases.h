/* Constants of the evaluations under test. */
#pragma once
#include "tests/selfplay/agents.h"
#include "selfplay/evaluation/lines.h"
#include "selfplay/planner.h"
#include <math.h>

enum { GAMES = 70, SEED = 9, ROUND = 4 };
static inline void assert_same(const mz_evaluation *a, const mz_evaluation *b) { assert_memory_equal(a, b, sizeof *a); }
