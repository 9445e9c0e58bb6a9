/* random: tries plans drawn evenly from all that the limits allow, and leaves it to the trials which of them stays. The baseline of
 * whoever predicts: random search with the same budget of trials (Bergstra and Bengio, JMLR 13, 2012). */
#include "allocator/search/space.h"
#include "allocator/strategies/strategy.h"
#include "base/maths/streams.h"
#include <math.h>
#include <stdio.h>

enum { DRAWS_MAX = 64, CHANGE_TEXT = 160 };

typedef struct memory {
  int draws;
} memory;

static bool may_be_tried(const mz_situation *s, const mz_plan *plan) {
  return !mz_plan_equal(s->pipeline, plan, s->plan) && mz_plan_refused(s->pipeline, s->bounds, plan) == NULL &&
         !(s->tabu && s->tabu(s->tabu_context, plan));
}

static mz_plan draw(const mz_space *space, int number) {
  mz_rng rng = mz_stream_search(0, MZ_SEARCH_DRAWS, number);
  const mz_point point = mz_space_draw(space, &rng);
  return mz_space_plan(space, &point);
}

static void propose(const mz_situation *s, void *context, mz_proposal *out) {
  memory *m = context;
  mz_space space;
  char change[CHANGE_TEXT];
  *out = (mz_proposal){.plan = *s->plan,
                       .predictor = "none",
                       .prediction = mz_situation_predict(s, s->plan),
                       .binding = "",
                       .reason = "keep: no plan that was drawn may be tried"};
  mz_space_init(&space, s->pipeline, s->plan);
  for (int i = 0; i < DRAWS_MAX; i++) {
    const mz_plan plan = draw(&space, ++m->draws);
    if (!may_be_tried(s, &plan)) continue;
    out->plan = plan;
    out->prediction = (mz_prediction)MZ_UNPREDICTED;
    out->change = out->demanded = out->explores = true;
    mz_plan_text(s->pipeline, &plan, s->plan, change, sizeof change);
    snprintf(out->reason, sizeof out->reason, "tries %s, drawn at random", change);
    return;
  }
}

const mz_strategy mz_strategy_random = {
    .name = "random",
    .summary = "tries plans that are drawn at random; what another strategy is worth is seen beside it",
    .source = "baseline",
    .memory_bytes = sizeof(memory),
    .propose = propose,
};
