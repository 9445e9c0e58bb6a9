/* Runs of this user that share the machine's cores. Each has a file in a common folder, which it holds locked while it trains; who else
 * is there is read from the folder. Runs to which the same cores are granted divide them: threads of two runs on one core only wait
 * for each other. One that rests, or has died, is not counted. Results do not depend on it, as plans never change them.
 *
 * One thread uses a roster. Nothing here fails: where the folder cannot be used, a run is alone. */
#pragma once
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MZ_ROSTER_RUNS_MAX = 256 };

typedef struct mz_roster {     /* zeroed, fd -1: in no roster */
  char folder[256], path[400]; /* path: of the own file */
  int fd;
  uint64_t since_ns, id;
  cpu_set_t cores;
  int threads; /* cores that it can use; 0: all */
} mz_roster;

/* $XDG_RUNTIME_DIR/muzero, or /tmp/muzero-UID where that variable is not set. false: the path is too long. */
bool mz_roster_default_folder(char *out, size_t size);

/* Enters a run to which `cores` are granted, or enters it again with others. It keeps its place among the others. */
void mz_roster_enter(mz_roster *roster, const char *folder, const cpu_set_t *cores, int threads);
void mz_roster_leave(mz_roster *roster);

/* Leaves of *cores, which are granted to the run, those that are its share. Returns how many runs share them, itself included: at
 * least 1. With fewer cores than runs, some have the same core. */
int mz_roster_share(mz_roster *roster, cpu_set_t *cores);

/* The rule: of `cores` cores for runs that can use wants[i] of them (0: all), earliest first: everyone has the same number, as far as
 * it can use them; what is left over goes to the earliest. *first, *count: of run `index`. */
void mz_roster_divide(const int *wants, int runs, int cores, int index, int *first, int *count);
