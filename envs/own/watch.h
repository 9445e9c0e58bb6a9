/* The place at which a check is: which function of a shared object runs, in which game. It is kept in memory that another process
 * sees, so that it outlives a crash. One check at a time in a process. */
#pragma once
#include "envs/env_abi.h"
#include "envs/worker/mailbox.h"

enum { MZ_WATCH_PLACES = 5 }; /* the thread that checks, and those that play beside each other */

typedef struct mz_watch_place {
  uint32_t calling, called; /* mz_worker_call: that runs; that ran last */
  uint64_t calls;           /* that have returned */
  uint64_t seed;            /* of the game */
  const int32_t *actions;   /* [count], in memory that is shared, too */
  int count;
} mz_watch_place;

typedef struct mz_watch {
  mz_watch_place places[MZ_WATCH_PLACES];
  int crashed;     /* the place whose thread ended the process; −1: unknown */
  const char *way; /* how games are played: "", " when the game is played again" */
} mz_watch;

/* Begins: *out are the object's functions, `from`, each of which is noted in *watch. All three live as long as the process, in which
 * signals of crashes are noted from now on. */
void mz_watch_begin(mz_watch *watch, const muzero_env_abi *from, muzero_env_abi *out);
/* Gives the calling thread its place; the first one has 0. */
void mz_watch_take_place(int place);
void mz_watch_way(const char *way);
/* Says which game the next calls of this thread belong to: its seed, and the actions up to and with the one that is played next. */
void mz_watch_game(uint64_t seed, const int32_t *actions, int count);
/* Returns the place to tell of when the process has ended. */
const mz_watch_place *mz_watch_found(const mz_watch *watch);
/* Returns the calls that have returned, of all threads. */
uint64_t mz_watch_calls(const mz_watch *watch);
