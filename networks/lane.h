/* A place for computations: a backend, one of its devices, and what one thread owns there. On CPUs that is nothing; on a GPU it is a
 * stream, the libraries' handles and their workspace. An open lane belongs to one thread, and stays open as long as the tapes on it.
 * A lane that is not open only says where: whoever is given one (a planner, a learner) opens one of its own there. */
#pragma once
#include "networks/tape/backend.h"

struct mz_lane {
  const mz_backend *backend;
  int device; /* number among the backend's devices */
  void *own;  /* the backend's; NULL on CPUs, and while the lane is not open */
};

extern const mz_lane mz_lane_cpu; /* the CPUs; open or not is all the same there */

/* Opens a lane for this thread there. Cheap: the backend keeps what closed ones owned. */
mz_status mz_lane_open(mz_lane *lane, const mz_lane *where);
void mz_lane_close(mz_lane *lane); /* a zeroed one is fine */

static inline bool mz_lane_is_cpu(const mz_lane *lane) { return lane->backend == &mz_backend_cpu; }
static inline bool mz_lane_same(const mz_lane *a, const mz_lane *b) { return a->backend == b->backend && a->device == b->device; }

/* Returns whether the device multiplies bfloat16. */
bool mz_lane_halves(const mz_lane *lane);

/* Memory of the lane's device, zeroed, aligned to 64 bytes; free with mz_lane_free. On CPUs it is the host's. */
mz_status mz_lane_alloc(const mz_lane *lane, void *out_pointer, size_t bytes);
void mz_lane_free(const mz_lane *lane, void *memory);
/* Copies from the host, which may change `from` at once, and to the host, where the bytes are after the next mz_lane_sync. */
mz_status mz_lane_load(const mz_lane *lane, void *to, const void *from, size_t bytes);
mz_status mz_lane_fetch(const mz_lane *lane, void *to, const void *from, size_t bytes);
/* Packs all parameters, one after the other. pack: of the lane's backend; values: params->size elements; out: as mz_backend_layout
 * says. Both in the lane's memory. */
mz_status mz_lane_pack(const mz_lane *lane, mz_pack *pack, const mz_params *params, const void *values, bool bf16, void *out);
/* Within the device's memory. */
mz_status mz_lane_copy(const mz_lane *lane, void *to, const void *from, size_t bytes);
/* Waits until everything that the lane was asked for is done. */
mz_status mz_lane_sync(const mz_lane *lane);

/* Bytes that something takes which works on a lane. */
typedef struct mz_lane_bytes {
  double device; /* of the lane's memory; on CPUs all there are */
  double host;   /* of the host's beside it */
  double moved;  /* sent and fetched between two calls of mz_lane_sync, at the most */
} mz_lane_bytes;

/* Returns the most bytes of the host that a lane there keeps for copies while it is open, which moves `moved` bytes between two calls of
 * mz_lane_sync. */
double mz_lane_pinned(const mz_lane *where, double moved);
