/* Filling in the parts of a decision that people read. */
#pragma once
#include "allocator/allocator.h"

/* decision->reason; what does not fit is cut, between characters. */
void mz_decision_say(mz_decision *decision, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* decision->candidates: the proposed plan, with why it was not taken ("": it was), and the best others, `most` in all, in the
 * proposal's order. */
void mz_decision_show(mz_decision *decision, const mz_pipeline *pipeline, const mz_proposal *proposal, const char *why_not,
                      int most);
