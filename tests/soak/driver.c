/* Trains one run in one process and never leaves it alone: pools, queues and tiers of replay resized at random between phases, saves,
 * rests, limits of a few rounds. For tests/soak.sh.
 *
 *   soak_driver RUN ENV PRESET SEED PLAN SECONDS SAMPLE_SECONDS [KEY=VALUE]…
 *
 * Resumes RUN, or opens it with ENV, PRESET and SEED where there is none. PLAN is the seed of what is done to it. Stops after SECONDS
 * or SIGTERM, with a checkpoint; SIGUSR1 saves. Prints `opened ROUND`, at every SAMPLE_SECONDS, always under one and the same plan,
 * `sample SECONDS ROUND RSS HEAP DESCRIPTORS THREADS` (bytes; HEAP is what malloc has given out), and `done ROUND` at last. */
#include "base/machine/clock.h"
#include "base/file/file.h"
#include "base/machine/machine.h"
#include "base/maths/rng.h"
#include "muzero/trainer.h"
#include <limits.h>
#include <malloc.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef struct soak {
  mz_run *run;
  mz_rng rng;
  uint64_t start_ns, sampled_ns;
  double seconds, sample_seconds;
  bool stopped;
} soak;

/* The plan of every sample. */
static const mz_knobs reference = {
    .cpu_actor = 2, .batch_actor = 1, .learner_threads = 2, .mcts_storage_size = 4, .batch_buffer_size = 4};
/* As many threads as this driver or the allocator (twice the budget) ever asks for. A pool keeps its threads for the next time,
 * so a size that is first reached late would look like a leak. */
static const mz_knobs most = {.cpu_actor = 4, .batch_actor = 4, .learner_threads = 4};
enum { RAW_LEAST = 1 << 20 }; /* that the allocator takes for replay_raw */

static _Atomic(mz_run *) signalled;

static void on_signal(int number) {
  mz_run *run = atomic_load(&signalled);
  if (run) mz_run_request(run, number == SIGTERM ? MZ_REQUEST_STOP : MZ_REQUEST_CHECKPOINT);
}

static void handle_signals(mz_run *run) {
  atomic_store(&signalled, run);
  struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
  sigemptyset(&action.sa_mask);
  if (sigaction(SIGTERM, &action, NULL) != 0 || sigaction(SIGUSR1, &action, NULL) != 0) abort();
}

static double seconds_since(uint64_t ns) { return (double)(mz_clock_ns() - ns) * 1e-9; }
static uint32_t below(soak *s, uint32_t n) { return mz_rng_below(&s->rng, n); }
static int64_t one_to(soak *s, uint32_t n) { return 1 + below(s, n); }

/* ---- what is done ---- */

static mz_status play(soak *s, int64_t more_rounds) {
  const mz_limits limits = {.rounds = more_rounds ? mz_run_counters(s->run)->rounds + more_rounds : INT64_MAX};
  mz_phase phase;
  mz_reason reason;
  MZ_TRY(mz_run_phase(s->run, &limits, NULL, NULL, &phase, &reason));
  s->stopped = reason == MZ_REASON_INTERRUPTED;
  return MZ_OK;
}

/* Any of the knobs, the others stay. */
static mz_status resize(soak *s) {
  mz_knobs knobs = {0};
  if (below(s, 2)) knobs.cpu_actor = one_to(s, 4);
  if (below(s, 2)) knobs.batch_actor = one_to(s, 3);
  if (below(s, 2)) knobs.learner_threads = one_to(s, 4);
  if (below(s, 2)) knobs.mcts_storage_size = one_to(s, 8);
  if (below(s, 2)) knobs.batch_buffer_size = one_to(s, 16);
  const mz_replay_settings *replay = &mz_run_settings(s->run)->replay;
  if (!replay->raw_bytes && below(s, 2)) knobs.replay_raw = RAW_LEAST + below(s, 4) * (RAW_LEAST / 4);
  return mz_run_resize(s->run, &knobs);
}

static void rest(soak *s) {
  mz_run_rest(s->run);
  const struct timespec a_moment = {.tv_nsec = (long)below(s, 5000000)};
  nanosleep(&a_moment, NULL);
}

static mz_status act(soak *s) {
  const uint32_t what = below(s, 16);
  if (what < 7) MZ_TRY(resize(s));
  if (what == 7) MZ_TRY(mz_run_save(s->run));
  if (what == 8) rest(s);
  return play(s, what == 9 ? one_to(s, 4) : 0);
}

/* ---- what is seen ---- */

static mz_status count_entry(void *count, const char *name) {
  (void)name;
  ++*(int *)count;
  return MZ_OK;
}

/* The fewest of several looks: the kernel lists a thread for a moment after it was joined. */
static mz_status count_threads(int *out) {
  enum { LOOKS = 10 };
  *out = INT_MAX;
  for (int look = 0; look < LOOKS; look++) {
    int threads = 0;
    MZ_TRY(mz_file_list("/proc/self/task", count_entry, &threads));
    if (threads < *out) *out = threads;
    usleep(1000);
  }
  return MZ_OK;
}

static mz_status sample(soak *s) {
  int descriptors = 0, threads = 0;
  mz_knobs knobs = reference;
  if (!mz_run_settings(s->run)->replay.raw_bytes) knobs.replay_raw = RAW_LEAST;
  MZ_TRY(mz_run_resize(s->run, &knobs));
  MZ_TRY(play(s, 0));
  MZ_TRY(mz_run_save(s->run));
  MZ_TRY(mz_file_list("/proc/self/fd", count_entry, &descriptors));
  MZ_TRY(count_threads(&threads));
  const struct mallinfo2 heap = mallinfo2();
  printf("sample %.1f %lld %llu %zu %d %d\n", seconds_since(s->start_ns), (long long)mz_run_counters(s->run)->rounds,
         (unsigned long long)mz_machine_rss(), heap.uordblks + heap.hblkhd, descriptors, threads);
  fflush(stdout);
  s->sampled_ns = mz_clock_ns();
  return MZ_OK;
}

static mz_status drive(soak *s) {
  MZ_TRY(mz_run_resize(s->run, &most));
  s->start_ns = s->sampled_ns = mz_clock_ns();
  while (!s->stopped && seconds_since(s->start_ns) < s->seconds) {
    MZ_TRY(act(s));
    if (!s->stopped && seconds_since(s->sampled_ns) >= s->sample_seconds) MZ_TRY(sample(s));
  }
  return s->stopped ? MZ_OK : mz_run_save(s->run);
}

static bool is_there(const char *run) {
  char path[4096];
  return mz_path_join(path, sizeof path, run, "LATEST") == MZ_OK && mz_file_exists(path);
}

static mz_status soak_run(int count, char **words) {
  soak s = {.rng = mz_rng_at(strtoull(words[5], NULL, 10), MZ_RNG_TEST, 0, 0),
            .seconds = atof(words[6]),
            .sample_seconds = atof(words[7])};
  const mz_run_options options = {.env = words[2],
                                  .preset = words[3],
                                  .dir = words[1],
                                  .sets = (const char *const *)words + 8,
                                  .set_count = count - 8,
                                  .seed = strtoull(words[4], NULL, 10),
                                  .seed_given = true,
                                  .threads = 2};
  MZ_TRY(is_there(words[1]) ? mz_run_resume(&s.run, words[1], &options, 0) : mz_run_open(&s.run, &options));
  handle_signals(s.run);
  printf("opened %lld\n", (long long)mz_run_counters(s.run)->rounds);
  fflush(stdout);
  const mz_status status = drive(&s);
  const int64_t rounds = mz_run_counters(s.run)->rounds;
  atomic_store(&signalled, NULL);
  mz_run_close(s.run);
  if (status == MZ_OK) printf("done %lld\n", (long long)rounds);
  return status;
}

int main(int count, char **words) {
  if (count < 8) {
    fprintf(stderr, "usage: soak_driver RUN ENV PRESET SEED PLAN SECONDS SAMPLE_SECONDS [KEY=VALUE]...\n");
    return 2;
  }
  const mz_status status = soak_run(count, words);
  if (status != MZ_OK) fprintf(stderr, "soak_driver: %s\n", mz_message());
  return (int)status;
}
