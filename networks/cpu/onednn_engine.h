/* Shared by the files that use oneDNN's C API (2.6): its engine, one thread, statuses. */
#pragma once
#include "base/status.h"
#include <oneapi/dnnl/dnnl.h>

mz_status mz_onednn_check(dnnl_status_t status, const char *what);
/* To create and destroy what needs an engine, one thread at a time: rare, and oneDNN's primitive cache is thread safe by means that
 * ThreadSanitizer does not see. */
mz_status mz_onednn_lock(dnnl_engine_t *out);
void mz_onednn_unlock(void);
/* oneDNN runs on the calling thread alone: parallel work is cut above, threads own whole shards.
 * Before any execution; mz_onednn_lock sees to it before any creation. */
void mz_onednn_one_thread(void);
