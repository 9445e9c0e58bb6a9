/* When to explore: after so many proposals that changed nothing; soon again when what was explored is kept, after twice as many when it
 * is undone. A plain struct that starts zeroed; deterministic. */
#pragma once
#include "allocator/pipeline/pipeline.h"

typedef struct mz_patience {
  int quiet;        /* proposals in a row that changed nothing */
  int wait;         /* so many before exploring */
  bool exploring;   /* the last proposal did */
  mz_plan explored; /* what it tried */
} mz_patience;

/* Before each proposal: learns what became of the last one. plan: in force. */
void mz_patience_follow(mz_patience *patience, const mz_pipeline *pipeline, const mz_plan *plan);
/* Another quiet proposal would make it explore. Never while exploring has cost its share: what is refused would count as undone. */
bool mz_patience_due(const mz_patience *patience, bool explored_enough);
/* The proposal changes nothing, or it does. */
void mz_patience_quiet(mz_patience *patience, bool quiet);
/* The proposal explores `plan`. */
void mz_patience_explores(mz_patience *patience, const mz_plan *plan);
