/* How a network's answers enter the tree of a game whose next mover is told (MZ_TURNS_TOLD). Shared with GPUs (base/shared.h).
 *
 * Such a network is asked from the root on and speaks of the player who moves there: where chance decides who moves next, only a value
 * of one and the same player is a mean over what may happen. Nodes of the tree are seen by their own movers, and an edge's reward by
 * who moves before it. */
#pragma once
#include "base/shared.h"
#include <stdbool.h>

typedef struct mz_turn_answer {
  bool away; /* another player moves at the new node than at the root */
  float value, reward, discount;
} mz_turn_answer;

/* parent_away: of the node that the edge leaves. turn: the probability that `away` holds, as the network tells it. value, reward: of the
 * player at the root. discount: γ. */
MZ_SHARED mz_turn_answer mz_turn_answer_of(bool parent_away, float turn, float value, float reward, float discount) {
  mz_turn_answer answer;
  answer.away = turn > 0.5f;
  answer.value = answer.away ? -value : value;
  answer.reward = parent_away ? -reward : reward;
  answer.discount = answer.away == parent_away ? discount : -discount;
  return answer;
}
