#include "networks/cpu/onednn_engine.h"
#include "networks/cpu/onednn.h"
#include "networks/isa.h"
#include <omp.h>
#include <pthread.h>

const char *mz_onednn_version(void) {
  static char text[32];
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  const dnnl_version_t *version = dnnl_version();
  pthread_mutex_lock(&mutex);
  snprintf(text, sizeof text, "%d.%d.%d", version->major, version->minor, version->patch);
  pthread_mutex_unlock(&mutex);
  return text;
}

mz_status mz_onednn_check(dnnl_status_t status, const char *what) {
  if (status == dnnl_success) return MZ_OK;
  if (status == dnnl_out_of_memory) return mz_fail(MZ_E_MEMORY, "oneDNN: %s: out of memory", what);
  return mz_fail(MZ_E_INTERNAL, "oneDNN %s: %s: status %d", mz_onednn_version(), what, (int)status);
}

mz_status mz_onednn_attributes_create(dnnl_primitive_attr_t *out, bool add, bool relu) {
  dnnl_post_ops_t after = NULL;
  MZ_TRY(mz_onednn_check(dnnl_primitive_attr_create(out), "attributes"));
  MZ_TRY(mz_onednn_check(dnnl_post_ops_create(&after), "attributes"));
  dnnl_status_t status = dnnl_success;
  if (add) status = dnnl_post_ops_append_sum(after, 1.0f);
  if (status == dnnl_success && relu) status = dnnl_post_ops_append_eltwise(after, 1.0f, dnnl_eltwise_relu, 0.0f, 0.0f);
  if (status == dnnl_success) status = dnnl_primitive_attr_set_post_ops(*out, after);
  dnnl_post_ops_destroy(after);
  return mz_onednn_check(status, "post-ops");
}

static dnnl_engine_t engine;
static dnnl_status_t engine_status;

static void make_engine(void) {
#if defined(__x86_64__)
  const mz_isa level = mz_isa_level();
  if (level < MZ_ISA_LEVEL_AVX512) {
    engine_status = dnnl_set_max_cpu_isa(level == MZ_ISA_LEVEL_AVX2 ? dnnl_cpu_isa_avx2 : dnnl_cpu_isa_sse41);
    if (engine_status != dnnl_success) return;
  }
#endif
  engine_status = dnnl_engine_create(&engine, dnnl_cpu, 0);
}

void mz_onednn_one_thread(void) {
  static _Thread_local bool one_thread;
  if (!one_thread) omp_set_num_threads(1);
  one_thread = true;
}

static pthread_mutex_t creating = PTHREAD_MUTEX_INITIALIZER;

mz_status mz_onednn_lock(dnnl_engine_t *out) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, make_engine);
  MZ_TRY(mz_onednn_check(engine_status, "engine"));
  mz_onednn_one_thread(); /* a primitive keeps the number of threads it was made for */
  pthread_mutex_lock(&creating);
  *out = engine;
  return MZ_OK;
}

void mz_onednn_unlock(void) { pthread_mutex_unlock(&creating); }
