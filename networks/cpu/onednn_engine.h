/* Shared by the files that use oneDNN's C API (2.6): its engine, one thread, statuses. */
#pragma once
#include "base/status.h"
#include <oneapi/dnnl/dnnl.h>
#include <stdbool.h>

mz_status mz_onednn_check(dnnl_status_t status, const char *what);
/* Makes attributes of a primitive, which the caller destroys (also after a failure, where *out is not NULL). They describe its last
 * step: none, or the result's old value is added and negative values become 0. */
mz_status mz_onednn_attributes_create(dnnl_primitive_attr_t *out, bool add, bool relu);
/* To create and destroy what needs an engine, one thread at a time: rare, and oneDNN's primitive cache is thread safe by means that
 * ThreadSanitizer does not see. */
mz_status mz_onednn_lock(dnnl_engine_t *out);
void mz_onednn_unlock(void);
/* oneDNN runs on the calling thread alone: parallel work is cut above, threads own whole shards.
 * Before any execution; mz_onednn_lock sees to it before any creation. */
void mz_onednn_one_thread(void);
