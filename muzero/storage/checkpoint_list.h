/* The checkpoints in a run's folder, oldest first, with the replay's segments that each needs: which of them stay, and which
 * segments are still wanted. What is never removed: the checkpoint that LATEST names, the one that BEST names, and what a newer
 * program wrote. One thread at a time. */
#pragma once
#include "muzero/storage/checkpoint_name.h"
#include <stdbool.h>

typedef struct mz_listed {
  char name[MZ_CHECKPOINT_NAME_MAX];
  int64_t rounds;
  bool readable;    /* false: damaged, or by a newer program; which segments it needs is not known */
  bool newer;       /* written by a newer program */
  uint64_t *hashes; /* [count] of the segments it needs */
  int count;
} mz_listed;

typedef struct mz_checkpoint_list { /* zeroed: empty */
  char folder[512];
  mz_listed *items;
  int count, capacity;
} mz_checkpoint_list;

/* Lists the folder and reads which segments each checkpoint needs. MZ_E_IO, MZ_E_MEMORY. */
mz_status mz_checkpoint_list_read(mz_checkpoint_list *list, const char *folder);
void mz_checkpoint_list_deinit(mz_checkpoint_list *list);
/* Adds a checkpoint that was just written, or replaces the one of its name. Takes over `hashes` unless it fails (MZ_E_MEMORY). */
mz_status mz_checkpoint_list_add(mz_checkpoint_list *list, const char *name, uint64_t *hashes, int count);

typedef struct mz_retention {
  const char *latest, *best; /* names; best "": none */
  int keep;                  /* so many stay, counted back from the latest */
  int spaced;                /* and so many of each doubling of the rounds: the first of every 1/spaced of an octave; 0: none */
} mz_retention;
/* Removes the files that need not stay, those after the latest among them: a run that went back to an earlier checkpoint left
 * them behind. A file that cannot be removed stays in the list, with a warning. */
void mz_checkpoint_list_prune(mz_checkpoint_list *list, const mz_retention *retention);

/* Returns whether it is known for every checkpoint which segments it needs. */
bool mz_checkpoint_list_readable(const mz_checkpoint_list *list);
/* Lists the segments that the readable ones need, with repeats. free(*hashes). */
mz_status mz_checkpoint_list_segments(const mz_checkpoint_list *list, uint64_t **hashes, size_t *count);
