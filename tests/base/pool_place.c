/* Pools on sets of cores: tasks run where the pool was placed last, and nothing else changes. */
#include "base/threads/pool.h"
#include "base/maths/rng.h"
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { TASKS = 200, CORES_MAX = 64 };

static int16_t cores[CORES_MAX]; /* that this process may use */
static int core_count;

static int note_cores(void **state) {
  (void)state;
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  for (int core = 0; core < CPU_SETSIZE && core_count < CORES_MAX; core++) {
    if (CPU_ISSET(core, &set)) cores[core_count++] = (int16_t)core;
  }
  return 0;
}

typedef struct batch {
  atomic_int ran[TASKS];
  int core; /* where tasks are to run; -1: anywhere */
  atomic_int elsewhere;
} batch;

static mz_status note_core(void *context, int task, int worker) {
  (void)worker;
  batch *b = context;
  const bool here = b->core < 0 || sched_getcpu() == b->core;
  volatile unsigned work = 0;
  for (int i = 0; i < 2000; i++) work = work + (unsigned)i;
  const bool still_here = b->core < 0 || sched_getcpu() == b->core;
  if (!here || !still_here) atomic_fetch_add(&b->elsewhere, 1);
  atomic_fetch_add(&b->ran[task], 1);
  return MZ_OK;
}

static void expect_each_once(const batch *b) {
  for (int i = 0; i < TASKS; i++) assert_int_equal(b->ran[i], 1);
}

static void expect_mask(const cpu_set_t *wanted) {
  cpu_set_t now;
  assert_int_equal(sched_getaffinity(0, sizeof now, &now), 0);
  assert_true(CPU_EQUAL(&now, wanted));
}

static bool too_few_cores(void) {
  if (core_count < 2) print_message("skipped: one core only\n");
  return core_count < 2;
}

static void run_on_core(mz_pool *pool, int core) {
  cpu_set_t before;
  assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
  batch started = {.core = core}, run = {.core = core}, single = {.core = core};
  mz_pool_start(pool, note_core, &started, TASKS);
  assert_int_equal(mz_pool_wait(pool), MZ_OK);
  expect_each_once(&started);
  assert_int_equal(mz_pool_run(pool, note_core, &run, TASKS), MZ_OK); /* this thread among them … */
  expect_each_once(&run);
  expect_mask(&before); /* … and free again */
  assert_int_equal(mz_pool_run(pool, note_core, &single, 1), MZ_OK);
  expect_mask(&before);
  assert_int_equal(started.elsewhere + run.elsewhere + single.elsewhere, 0);
}

static void test_tasks_run_where_the_pool_is_placed(void **state) {
  (void)state;
  if (too_few_cores()) return;
  for (int gives_way = 0; gives_way < 2; gives_way++) {
    mz_pool *pool = NULL;
    assert_int_equal(mz_pool_create(&pool, "test", 3, NULL), MZ_OK);
    if (gives_way) mz_pool_give_way(pool);
    run_on_core(pool, -1);
    for (int i = 0; i < 6; i++) {
      mz_pool_place(pool, &cores[i % 2], 1);
      run_on_core(pool, cores[i % 2]);
      assert_int_equal(mz_pool_resize(pool, 1 + i), MZ_OK); /* threads yet to come go there too */
      run_on_core(pool, cores[i % 2]);
    }
    mz_pool_free(pool);
  }
}

/* Notes the mask that its thread has. */
typedef struct masks {
  cpu_set_t whole, seen[TASKS];
} masks;

static mz_status note_mask(void *context, int task, int worker) {
  (void)worker;
  masks *m = context;
  return sched_getaffinity(0, sizeof m->seen[task], &m->seen[task]) == 0 ? MZ_OK : mz_fail(MZ_E_INTERNAL, "no mask");
}

static cpu_set_t mask_of_task(mz_pool *pool, masks *m) {
  mz_pool_start(pool, note_mask, m, 1);
  assert_int_equal(mz_pool_wait(pool), MZ_OK);
  return m->seen[0];
}

/* This thread stays on cores[0], which its workers avoid where they may run elsewhere (core.h). */
static void test_lifted_placement_leaves_threads_where_they_could_run_before(void **state) {
  (void)state;
  if (too_few_cores() || core_count == CORES_MAX) return;
  mz_pool *pool = NULL;
  masks *m = NULL;
  cpu_set_t one;
  const int16_t others[] = {-1, 1023, 2000}, mixed[] = {cores[1], 1023};
  assert_int_equal(mz_alloc(&m, 1, sizeof *m), MZ_OK);
  assert_int_equal(sched_getaffinity(0, sizeof m->whole, &m->whole), 0);
  assert_int_equal(mz_pool_create(&pool, "test", 1, NULL), MZ_OK);
  CPU_ZERO(&one);
  CPU_SET(cores[0], &one);
  assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
  for (int i = 0; i < 2; i++) {
    mz_pool_place(pool, cores, 1);
    const cpu_set_t placed = mask_of_task(pool, m);
    assert_true(CPU_EQUAL(&placed, &one));
    if (i == 0)
      mz_pool_place(pool, NULL, 0);
    else
      mz_pool_place(pool, others, 3); /* none of which may be used */
    cpu_set_t lifted = mask_of_task(pool, m);
    CPU_SET(cores[0], &lifted);
    assert_true(CPU_EQUAL(&lifted, &m->whole));
  }
  mz_pool_place(pool, mixed, 2); /* cut to what may be used */
  const cpu_set_t cut = mask_of_task(pool, m);
  assert_true(CPU_COUNT(&cut) == 1 && CPU_ISSET(cores[1], &cut));
  mz_pool_free(pool);
  assert_int_equal(sched_setaffinity(0, sizeof m->whole, &m->whole), 0);
  free(m);
}

typedef struct changer {
  mz_pool *pool;
  atomic_bool stop;
  uint32_t seed;
} changer;

static void *change_at_random(void *argument) {
  changer *c = argument;
  mz_rng rng = mz_rng_at(c->seed, MZ_RNG_TEST, 0, 0);
  while (!atomic_load(&c->stop)) {
    const int first = (int)mz_rng_below(&rng, (uint32_t)core_count);
    mz_pool_place(c->pool, &cores[first], (int)mz_rng_below(&rng, (uint32_t)(core_count - first) + 1));
    if (mz_pool_resize(c->pool, 1 + (int)mz_rng_below(&rng, 6)) != MZ_OK) return argument;
    nanosleep(&(struct timespec){.tv_nsec = mz_rng_below(&rng, 100000)}, NULL);
  }
  return NULL;
}

static void test_random_places_and_sizes_lose_nothing(void **state) {
  (void)state;
  mz_pool *pool = NULL;
  pthread_t threads[2];
  cpu_set_t before;
  assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
  assert_int_equal(mz_pool_create(&pool, "test", 1, NULL), MZ_OK);
  changer changers[2] = {{.pool = pool, .seed = 1}, {.pool = pool, .seed = 2}};
  for (int i = 0; i < 2; i++) assert_int_equal(pthread_create(&threads[i], NULL, change_at_random, &changers[i]), 0);
  for (int round = 0; round < 100; round++) {
    batch b = {.core = -1};
    if (round == 50) mz_pool_give_way(pool);
    if (round % 2 != 0) {
      mz_pool_start(pool, note_core, &b, TASKS);
      assert_int_equal(mz_pool_wait(pool), MZ_OK);
    } else {
      assert_int_equal(mz_pool_run(pool, note_core, &b, TASKS), MZ_OK);
    }
    expect_each_once(&b);
    expect_mask(&before);
  }
  for (int i = 0; i < 2; i++) {
    void *failed = NULL;
    atomic_store(&changers[i].stop, true);
    assert_int_equal(pthread_join(threads[i], &failed), 0);
    assert_null(failed);
  }
  mz_pool_free(pool);
}

/* From here on the kernel refuses this thread, and those it creates, any change of their masks. */
static bool refuse_masks(void) {
  struct sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_sched_setaffinity, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const struct sock_fprog program = {.len = sizeof code / sizeof *code, .filter = code};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

typedef struct refusal {
  bool refused, whole;
} refusal;

static void *work_refused(void *result) {
  refusal *r = result;
  mz_pool *pool = NULL;
  r->refused = refuse_masks();
  if (!r->refused || mz_pool_create(&pool, "test", 3, NULL) != MZ_OK) return NULL;
  r->whole = true;
  for (int i = 0; i < 10; i++) {
    batch started = {.core = -1}, run = {.core = -1};
    mz_pool_place(pool, &cores[i % core_count], 1);
    if (i == 5) mz_pool_give_way(pool);
    mz_pool_start(pool, note_core, &started, TASKS);
    r->whole = mz_pool_wait(pool) == MZ_OK && r->whole;
    r->whole = mz_pool_run(pool, note_core, &run, TASKS) == MZ_OK && r->whole;
    for (int t = 0; t < TASKS; t++) r->whole = r->whole && started.ran[t] == 1 && run.ran[t] == 1;
  }
  mz_pool_free(pool);
  return NULL;
}

static void test_a_machine_that_refuses_goes_on_unplaced(void **state) {
  (void)state;
  pthread_t thread;
  refusal r = {0};
  assert_int_equal(pthread_create(&thread, NULL, work_refused, &r), 0);
  assert_int_equal(pthread_join(thread, NULL), 0);
  if (!r.refused) {
    print_message("skipped: no seccomp here\n");
    return;
  }
  assert_true(r.whole);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_tasks_run_where_the_pool_is_placed),
      cmocka_unit_test(test_lifted_placement_leaves_threads_where_they_could_run_before),
      cmocka_unit_test(test_random_places_and_sizes_lose_nothing),
      cmocka_unit_test(test_a_machine_that_refuses_goes_on_unplaced),
  };
  return cmocka_run_group_tests(tests, note_cores, NULL);
}
