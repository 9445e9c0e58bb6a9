#include "muzero/cli/signals.h"
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

static _Atomic(mz_run *) attached;
static atomic_int stops;

static void on_stop(int number) {
  (void)number;
  if (atomic_fetch_add(&stops, 1) > 0) _exit(MZ_INTERRUPTED);
  mz_run *run = atomic_load(&attached);
  if (run) mz_run_request(run, MZ_REQUEST_STOP);
}

static void on_checkpoint(int number) {
  (void)number;
  mz_run *run = atomic_load(&attached);
  if (run) mz_run_request(run, MZ_REQUEST_CHECKPOINT);
}

static void handle(int number, void (*handler)(int)) {
  struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
  sigemptyset(&action.sa_mask);
  MZ_ASSERT(sigaction(number, &action, NULL) == 0);
}

void mz_signals_attach(mz_run *run) {
  atomic_store(&attached, run);
  handle(SIGINT, on_stop);
  handle(SIGTERM, on_stop);
  handle(SIGUSR1, on_checkpoint);
  handle(SIGPIPE, SIG_IGN);
  if (run && atomic_load(&stops) > 0) mz_run_request(run, MZ_REQUEST_STOP);
}

void mz_signals_detach(void) { atomic_store(&attached, NULL); }

bool mz_signals_stopping(void) { return atomic_load(&stops) > 0; }
