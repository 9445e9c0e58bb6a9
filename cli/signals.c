#include "cli/signals.h"
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

static atomic_int stops; /* SIGINT and SIGTERM so far */
static atomic_bool hung_up, checkpoint_wanted;

static void on_stop(int number) {
  (void)number;
  if (atomic_fetch_add(&stops, 1) > 0) _exit(MZ_INTERRUPTED);
}

static void on_hangup(int number) {
  (void)number;
  atomic_store(&hung_up, true);
}

static void on_checkpoint(int number) {
  (void)number;
  atomic_store(&checkpoint_wanted, true);
}

static void handle(int number, void (*handler)(int)) {
  struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
  sigemptyset(&action.sa_mask);
  MZ_ASSERT(sigaction(number, &action, NULL) == 0);
}

static bool is_ignored(int number) {
  struct sigaction action;
  MZ_ASSERT(sigaction(number, NULL, &action) == 0);
  return action.sa_handler == SIG_IGN;
}

void mz_signals_init(void) { handle(SIGXFSZ, SIG_IGN); }

void mz_signals_handle(void) {
  handle(SIGINT, on_stop);
  handle(SIGTERM, on_stop);
  if (!is_ignored(SIGHUP)) handle(SIGHUP, on_hangup);
  handle(SIGUSR1, on_checkpoint);
  handle(SIGPIPE, SIG_IGN);
}

void mz_signals_pass_on(mz_run *run) {
  if (mz_signals_stopping()) mz_run_request(run, MZ_REQUEST_STOP);
  if (atomic_exchange(&checkpoint_wanted, false)) mz_run_request(run, MZ_REQUEST_CHECKPOINT);
}

bool mz_signals_stopping(void) { return atomic_load(&stops) > 0 || mz_signals_hung_up(); }

bool mz_signals_hung_up(void) { return atomic_load(&hung_up); }
