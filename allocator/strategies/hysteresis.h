/* Hysteresis keeps thresholds from flapping: how long each knob has rested since it last changed, which way it went, and for how
 * many windows in a row a change was called for. A plain struct that starts zeroed; deterministic. */
#pragma once
#include "allocator/pipeline/pipeline.h"

enum {
  MZ_CONFIRMATIONS = 2,  /* windows in a row that a condition has to hold */
  MZ_REST_WINDOWS = 2,   /* between two changes of a knob */
  MZ_REVERSE_WINDOWS = 4 /* between two changes of a knob in opposite directions, unless there is a clear case */
};

typedef struct mz_hysteresis {
  bool started;
  int64_t window;         /* number of the last one */
  mz_plan plan, proposal; /* in force in it; proposed after it (the same: none) */
  struct {
    int64_t changed; /* window after which it last changed */
    int direction;   /* that way: 1 up, −1 down; 0: it never did */
    int up, down;    /* windows in a row in which a step up, a step down was called for; kept by the caller */
  } knobs[MZ_PLAN_KNOBS_MAX];
} mz_hysteresis;

/* Call with each window, by its number: finds out what became of the last proposal and whatever else has changed the plan. Windows of a
 * trial need not be told: a plan that passed counts from when it was proposed, one that was undone went just before this window. true:
 * the plan has changed or windows are missing, and counts of windows begin anew. */
bool mz_hysteresis_follow(mz_hysteresis *h, const mz_pipeline *pipeline, const mz_plan *plan, int64_t window);
/* Windows that the plan as a whole has been in force; INT64_MAX: always. */
int64_t mz_hysteresis_settled(const mz_hysteresis *h, const mz_pipeline *pipeline);
/* May the knob move? false: why_not says which rest is missing. clear: use is far beyond the threshold. */
bool mz_hysteresis_rested(const mz_hysteresis *h, int knob, int direction, bool clear, char *why_not, size_t size);
