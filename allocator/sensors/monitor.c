#include "allocator/sensors/monitor.h"
#include "allocator/sensors/nvml.h"
#include "allocator/sensors/pressure.h"
#include "allocator/sensors/procfs.h"
#include "base/machine/clock.h"
#include "base/machine/machine.h"
#include "base/threads/thread.h"
#include <math.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

static const char nvml_library[] = "libnvidia-ml.so.1";

enum { SHARE_STEPS = 100, NS_PER_TICK = 10000000 };

/* Counters that only grow: a window reads them at its ends, so they cost nothing in between. */
typedef struct totals {
  uint64_t ns;
  double cpu_s, busy_s, throttled_s, waited_s[MZ_PRESSURES];
} totals;

/* Since the last take. */
typedef struct sums {
  totals progress;
  int samples; /* the thread's */
  int rss_count, share_count, gpu_count;
  double rss, rss_peak;
  int shares[SHARE_STEPS + 1]; /* samples by cores in use / cores granted, in hundredths: as fine as the ticks */
  mz_gpu_reading gpus[MZ_GPUS_MAX];
} sums;

struct mz_monitor {
  char proc[512], cgroup[512];
  int cores; /* granted */
  double (*more_cpu_s)(void *), (*more_bytes)(void *);
  void *more;
  uint64_t period_ns;
  bool threaded;
  pthread_t thread;
  mz_nvml *nvml;                       /* the thread's alone until gpu_ready */
  char gpus[MZ_GPUS_MAX][MZ_GPU_UUID]; /* of those that are read */
  int gpu_count;
  _Atomic(const char *) missing[MZ_SENSOR_COUNT]; /* why; NULL: it is there */

  pthread_mutex_t mutex; /* guards what follows */
  pthread_cond_t wake;   /* pause or stop changed something for the thread */
  bool closing, paused, gpu_ready;
  mz_procfs procfs;
  mz_pressure pressure;
  sums sums;
  totals begun;         /* at the start of the stretch: since then nothing was taken and nobody paused */
  uint64_t sampled_ns;  /* the last sample, or the stretch's start … */
  double sampled_cpu_s; /* … and the CPU time then */
  uint64_t next_ns;     /* when the thread is to sample next */
  bool stretch_has_samples;
};

/* ---- sensors ---- */

static bool has(const mz_monitor *m, mz_sensor sensor) { return atomic_load(&m->missing[sensor]) == NULL; }

/* Whoever did not answer once is not asked again. */
static void expect(mz_monitor *m, mz_sensor sensor, bool answered, const char *why) {
  if (!answered) atomic_store(&m->missing[sensor], why);
}

static void read_cpu(mz_monitor *m, double *out) {
  if (!has(m, MZ_SENSOR_CPU)) return;
  expect(m, MZ_SENSOR_CPU, mz_procfs_cpu_s(&m->procfs, out), "no /proc/self/stat");
  if (m->more_cpu_s) *out += m->more_cpu_s(m->more);
}

static totals read_totals(mz_monitor *m) {
  totals t = {.ns = mz_clock_ns()};
  read_cpu(m, &t.cpu_s);
  if (has(m, MZ_SENSOR_LOAD)) {
    const bool known = mz_procfs_busy_s(&m->procfs, &t.busy_s) && has(m, MZ_SENSOR_CPU); /* others = all − own */
    expect(m, MZ_SENSOR_LOAD, known, "no /proc/stat");
  }
  if (has(m, MZ_SENSOR_PRESSURE))
    expect(m, MZ_SENSOR_PRESSURE, mz_pressure_waited_s(&m->pressure, t.waited_s), "no /proc/pressure");
  if (has(m, MZ_SENSOR_THROTTLED))
    expect(m, MZ_SENSOR_THROTTLED, mz_pressure_throttled_s(&m->pressure, &t.throttled_s), "no cgroup with a CPU quota");
  return t;
}

static void open_sensors(mz_monitor *m) {
  mz_procfs_open(&m->procfs, m->proc);
  mz_pressure_open(&m->pressure, m->proc, m->cgroup);
  expect(m, MZ_SENSOR_THREADS, !isnan(mz_procfs_threads_cpu_s(m->proc, "")), "no /proc/self/task");
  m->nvml = mz_nvml_load(nvml_library);
  expect(m, MZ_SENSOR_GPU, false, m->nvml != NULL ? "NVML is starting" : "no NVML");
}

/* Without the mutex: the driver may take long. */
static void start_gpu(mz_monitor *m) {
  if (m->nvml == NULL) return;
  const bool ready = mz_nvml_init(m->nvml);
  if (ready) mz_nvml_keep(m->nvml, m->gpus, m->gpu_count);
  pthread_mutex_lock(&m->mutex);
  m->gpu_ready = ready;
  atomic_store(&m->missing[MZ_SENSOR_GPU], ready ? NULL : "NVML knows none");
  pthread_mutex_unlock(&m->mutex);
}

/* ---- samples; mutex held ---- */

/* Too short an interval says nothing: CPU time is counted in ticks. */
static void sample_share(mz_monitor *m) {
  const uint64_t now = mz_clock_ns();
  double cpu_s = 0;
  read_cpu(m, &cpu_s);
  if (!has(m, MZ_SENSOR_CPU) || now < m->sampled_ns + NS_PER_TICK) return;
  const double granted_s = 1e-9 * (double)(now - m->sampled_ns) * m->cores;
  const double share = fmin(fmax(cpu_s - m->sampled_cpu_s, 0) / granted_s, 1);
  m->sums.shares[lround(share * SHARE_STEPS)]++;
  m->sums.share_count++;
  m->sampled_ns = now;
  m->sampled_cpu_s = cpu_s;
}

static void sample_rss(mz_monitor *m) {
  double bytes = 0;
  if (has(m, MZ_SENSOR_RSS)) expect(m, MZ_SENSOR_RSS, mz_procfs_rss(&m->procfs, &bytes), "no /proc/self/statm");
  if (m->more_bytes) bytes += m->more_bytes(m->more);
  m->sums.rss += bytes;
  m->sums.rss_peak = fmax(m->sums.rss_peak, bytes);
  m->sums.rss_count++;
}

static void sample_gpus(mz_monitor *m) {
  mz_gpu_reading now[MZ_GPUS_MAX];
  if (!m->gpu_ready || !has(m, MZ_SENSOR_GPU)) return;
  const bool answered = mz_nvml_read(m->nvml, now);
  expect(m, MZ_SENSOR_GPU, answered, "NVML does not tell");
  for (int i = 0; answered && i < mz_nvml_count(m->nvml); i++) {
    m->sums.gpus[i].busy += now[i].busy;
    m->sums.gpus[i].bytes += now[i].bytes;
  }
  m->sums.gpu_count++;
}

static void sample(mz_monitor *m) {
  sample_share(m);
  sample_rss(m);
  sample_gpus(m);
  m->stretch_has_samples = true;
}

/* ---- stretches of a window; mutex held ---- */

static void begin_stretch(mz_monitor *m, const totals *now) {
  m->begun = *now;
  m->sampled_ns = now->ns;
  m->sampled_cpu_s = now->cpu_s;
  m->next_ns = now->ns + m->period_ns;
  m->stretch_has_samples = false;
}

static double progress(double before, double now) { return now > before ? now - before : 0; }

static totals end_stretch(mz_monitor *m) {
  if (!m->stretch_has_samples) sample(m);
  const totals now = read_totals(m);
  totals *sum = &m->sums.progress;
  sum->ns += now.ns - m->begun.ns;
  sum->cpu_s += progress(m->begun.cpu_s, now.cpu_s);
  sum->busy_s += progress(m->begun.busy_s, now.busy_s);
  sum->throttled_s += progress(m->begun.throttled_s, now.throttled_s);
  for (int i = 0; i < MZ_PRESSURES; i++) sum->waited_s[i] += progress(m->begun.waited_s[i], now.waited_s[i]);
  return now;
}

/* ---- what was measured; mutex held ---- */

/* The smallest share that 95 % of the samples do not exceed. */
static double share_p95(const sums *s) {
  int below = 0, step = 0;
  for (; step < SHARE_STEPS; step++) {
    below += s->shares[step];
    if (100 * (int64_t)below >= 95 * (int64_t)s->share_count) break;
  }
  return s->share_count > 0 ? (double)step / SHARE_STEPS : 0;
}

/* A device counts as in use when it was busy in some sample: others of the machine belong to somebody else. */
static void report_gpus(const mz_monitor *m, mz_usage *out) {
  int in_use = 0;
  for (int i = 0; i < mz_nvml_count(m->nvml); i++) {
    const mz_gpu_reading *gpu = &m->sums.gpus[i];
    if (gpu->busy == 0) continue;
    in_use++;
    out->gpu_busy += gpu->busy / m->sums.gpu_count;
    out->gpu_bytes += gpu->bytes / m->sums.gpu_count;
  }
  if (in_use > 0) out->gpu_busy /= in_use;
}

static void report_pressure(const sums *s, mz_usage *out) {
  double *const shares[MZ_PRESSURES] = {&out->pressure_cpu, &out->pressure_memory, &out->pressure_io};
  for (int i = 0; i < MZ_PRESSURES && out->wall_s > 0; i++) *shares[i] = fmin(s->progress.waited_s[i] / out->wall_s, 1);
}

static mz_usage report(mz_monitor *m) {
  const sums *s = &m->sums;
  mz_usage u = {.wall_s = 1e-9 * (double)s->progress.ns, .samples = s->samples};
  if (has(m, MZ_SENSOR_CPU)) {
    u.cpu_s = s->progress.cpu_s;
    u.core_share_p95 = share_p95(s);
  }
  const bool rss_seen = has(m, MZ_SENSOR_RSS) && s->rss_count > 0; /* not in a window that was paused all the time */
  if (rss_seen) {
    u.rss_bytes = s->rss / s->rss_count;
    u.rss_peak_bytes = s->rss_peak;
  }
  double available;
  if (has(m, MZ_SENSOR_MEMORY))
    expect(m, MZ_SENSOR_MEMORY, mz_memory_available(m->proc, m->cgroup, &available), "no MemAvailable in /proc/meminfo");
  if (has(m, MZ_SENSOR_MEMORY)) u.available_bytes = available;
  if (has(m, MZ_SENSOR_LOAD)) u.others_cpu_s = fmax(s->progress.busy_s - s->progress.cpu_s, 0);
  if (has(m, MZ_SENSOR_PRESSURE)) report_pressure(s, &u);
  if (has(m, MZ_SENSOR_THROTTLED)) u.throttled_s = s->progress.throttled_s;
  const bool gpu_seen = has(m, MZ_SENSOR_GPU) && s->gpu_count > 0; /* not yet, when NVML took longer to start than the window */
  if (gpu_seen) report_gpus(m, &u);
  for (int i = 0; i < MZ_SENSOR_COUNT; i++) {
    const bool seen = i == MZ_SENSOR_RSS ? rss_seen : i == MZ_SENSOR_GPU ? gpu_seen : has(m, (mz_sensor)i);
    if (!seen) u.missing |= UINT32_C(1) << i;
  }
  return u;
}

void mz_monitor_take(mz_monitor *m, mz_usage *out) {
  pthread_mutex_lock(&m->mutex);
  const totals now = m->paused ? m->begun : end_stretch(m);
  *out = report(m);
  memset(&m->sums, 0, sizeof m->sums);
  begin_stretch(m, &now);
  pthread_mutex_unlock(&m->mutex);
}

void mz_monitor_pause(mz_monitor *m, bool paused) {
  pthread_mutex_lock(&m->mutex);
  if (paused && !m->paused) end_stretch(m);
  if (!paused && m->paused) {
    const totals now = read_totals(m);
    begin_stretch(m, &now);
  }
  m->paused = paused;
  pthread_cond_signal(&m->wake);
  pthread_mutex_unlock(&m->mutex);
}

/* ---- the thread ---- */

static void wait_until(mz_monitor *m, uint64_t ns) {
  enum { NS_PER_S = 1000000000 };
  const struct timespec deadline = {.tv_sec = (time_t)(ns / NS_PER_S), .tv_nsec = (long)(ns % NS_PER_S)};
  pthread_cond_timedwait(&m->wake, &m->mutex, &deadline); /* woken early: the caller looks again */
}

static void *watch(void *argument) {
  mz_monitor *m = argument;
  start_gpu(m);
  pthread_mutex_lock(&m->mutex);
  while (!m->closing) {
    const uint64_t now = mz_clock_ns();
    if (m->paused) {
      pthread_cond_wait(&m->wake, &m->mutex);
    } else if (now < m->next_ns) {
      wait_until(m, m->next_ns);
    } else {
      sample(m);
      m->sums.samples++;
      m->next_ns = now + m->period_ns;
    }
  }
  pthread_mutex_unlock(&m->mutex);
  return NULL;
}

mz_status mz_monitor_start(mz_monitor **out, const mz_monitor_options *options) {
  *out = NULL;
  mz_monitor *m = NULL;
  MZ_ASSERT(options->hz >= 0);
  MZ_TRY(mz_alloc(&m, 1, sizeof *m));
  snprintf(m->proc, sizeof m->proc, "%s", options->proc ? options->proc : "/proc");
  snprintf(m->cgroup, sizeof m->cgroup, "%s", options->cgroup ? options->cgroup : "/sys/fs/cgroup");
  m->gpu_count = options->gpu_count < MZ_GPUS_MAX ? options->gpu_count : MZ_GPUS_MAX;
  for (int i = 0; i < m->gpu_count; i++) snprintf(m->gpus[i], sizeof m->gpus[i], "%s", options->gpus[i]);
  m->cores = mz_machine_cores();
  m->more_cpu_s = options->more_cpu_s;
  m->more_bytes = options->more_bytes;
  m->more = options->more;
  m->period_ns = options->hz > 0 ? (uint64_t)(1e9 / options->hz) : 0;
  mz_lock_init(&m->mutex, &m->wake);
  open_sensors(m);
  const totals now = read_totals(m);
  begin_stretch(m, &now);
  int rc = 0;
  if (options->hz > 0)
    rc = mz_thread_start(&m->thread, "monitor", watch, m);
  else
    start_gpu(m);
  m->threaded = options->hz > 0 && rc == 0;
  if (rc == 0) {
    *out = m;
    return MZ_OK;
  }
  mz_monitor_stop(m);
  return mz_fail(MZ_E_INTERNAL, "monitor: no thread: %s", strerror(rc));
}

void mz_monitor_stop(mz_monitor *m) {
  if (m == NULL) return;
  if (m->threaded) {
    pthread_mutex_lock(&m->mutex);
    m->closing = true;
    pthread_cond_signal(&m->wake);
    pthread_mutex_unlock(&m->mutex);
    pthread_join(m->thread, NULL);
  }
  mz_nvml_free(m->nvml);
  mz_procfs_close(&m->procfs);
  mz_pressure_close(&m->pressure);
  pthread_cond_destroy(&m->wake);
  pthread_mutex_destroy(&m->mutex);
  free(m);
}

/* ---- questions ---- */

int mz_monitor_cores(const mz_monitor *m) { return m->cores; }

bool mz_monitor_mask(const mz_monitor *m, cpu_set_t *out) {
  return m->threaded && pthread_getaffinity_np(m->thread, sizeof *out, out) == 0;
}

void mz_monitor_missing(const mz_monitor *m, char *out, size_t size) {
  size_t length = 0;
  out[0] = '\0';
  for (int i = 0; i < MZ_SENSOR_COUNT && length < size; i++) {
    const char *why = atomic_load(&m->missing[i]);
    if (why == NULL) continue;
    const char *comma = length > 0 ? ", " : "";
    length += (size_t)snprintf(out + length, size - length, "%s%s (%s)", comma, mz_sensor_name((mz_sensor)i), why);
  }
}

int mz_monitor_gpus(char names[][64], int max) {
  mz_nvml *nvml = mz_nvml_load(nvml_library);
  const int count = nvml != NULL && mz_nvml_init(nvml) ? mz_nvml_count(nvml) : 0;
  for (int i = 0; names != NULL && i < count && i < max; i++) mz_nvml_name(nvml, i, names[i]);
  mz_nvml_free(nvml);
  return count;
}
