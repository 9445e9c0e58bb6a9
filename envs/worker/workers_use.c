/* Where the workers of an environment run, and what they take of cores and memory. */
#include "base/file/file.h"
#include "base/machine/machine.h"
#include "envs/worker/workers_state.h"
#include <math.h>

/* ---- cores ---- */

/* A thread that has just ended does not matter. */
static mz_status confine_thread(void *context, const char *name) {
  const int id = atoi(name);
  if (id > 0) (void)sched_setaffinity(id, sizeof(cpu_set_t), context);
  return MZ_OK;
}

/* Under the lock of the clocks: no process is reaped meanwhile, so its number is still its own. One that has just been killed
 * has nothing to confine. */
static void confine(mz_env_workers *w, const mz_env_worker *one) {
  char path[64];
  if (!one->is_clocked) return;
  snprintf(path, sizeof path, "/proc/%ld/task", (long)one->process.pid);
  (void)mz_file_list(path, confine_thread, &w->cores);
}

void mz_env_worker_confine(mz_env_workers *w, const mz_env_worker *one) {
  mz_env_worker_lock(&w->clocks);
  confine(w, one);
  mz_env_worker_unlock(&w->clocks);
}

void mz_env_workers_place(mz_env_workers *w, const cpu_set_t *cores) {
  mz_env_worker_lock(&w->clocks);
  const bool differ = !CPU_EQUAL(&w->cores, cores);
  w->cores = *cores;
  for (int i = 0; differ && i < MZ_WORKERS_MAX; i++) confine(w, &w->items[i]);
  mz_env_worker_unlock(&w->clocks);
}

/* ---- clocks ---- */

void mz_env_worker_begin_clock(mz_env_workers *w, mz_env_worker *one) {
  mz_env_worker_lock(&w->clocks);
  one->is_clocked = clock_getcpuclockid(one->process.pid, &one->clock) == 0;
  mz_env_worker_unlock(&w->clocks);
}

static double read_clock(mz_env_worker *one) {
  struct timespec now;
  if (one->is_clocked && clock_gettime(one->clock, &now) == 0)
    one->cpu_s = fmax(one->cpu_s, (double)now.tv_sec + 1e-9 * (double)now.tv_nsec);
  return one->cpu_s;
}

mz_env_workers_use mz_env_workers_used(mz_env_workers *w) {
  mz_env_workers_use use = {.rows = (double)atomic_load(&w->answered),
                            .busy_s = 1e-9 * (double)atomic_load(&w->busy_ns),
                            .waited_for_s = 1e-9 * (double)atomic_load(&w->waited_for_ns)};
  mz_env_worker_lock(&w->clocks);
  use.cpu_s = w->ended_cpu_s;
  for (int i = 0; i < MZ_WORKERS_MAX; i++) use.cpu_s += read_clock(&w->items[i]);
  mz_env_worker_unlock(&w->clocks);
  return use;
}

/* ---- memory ---- */

mz_env_workers_memory mz_env_workers_memory_now(mz_env_workers *w) {
  mz_env_workers_memory memory = {0};
  mz_env_worker_lock(&w->clocks);
  for (int i = 0; i < MZ_WORKERS_MAX; i++) {
    if (!w->items[i].is_clocked) continue;
    const double bytes = (double)mz_machine_anonymous_bytes(w->items[i].process.pid);
    memory.bytes += bytes;
    memory.largest = fmax(memory.largest, bytes);
  }
  mz_env_worker_unlock(&w->clocks);
  return memory;
}
