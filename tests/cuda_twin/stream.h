/* Streams, the operations that wait on them, and who runs when. The lock is held in every function. */
#pragma once
#include "kernel.h"
#include "race.h"
#include "twin.h"
#include <deque>
#include <memory>

struct twin_capture;
struct twin_graph_run;

/* A point on a stream: done once everything before it is. */
struct twin_record {
  CUstream_st *stream;
  bool is_done;
  double seconds; /* when, for cudaEventElapsedTime */
  twin_clock clock;
};

/* One operation: waits for `waits`, runs `work`, the kernel or the graph (or nothing), and completes `records`. */
struct twin_op {
  std::string name;
  std::vector<twin_range> ranges;
  std::function<void()> work;
  std::shared_ptr<const twin_kernel> kernel;
  std::shared_ptr<twin_graph_run> graph;
  std::shared_ptr<twin_record> waits, records;
  twin_clock clock; /* of what happens before it, itself included */
};

/* cudaStream_t. */
struct CUstream_st {
  int device;
  std::deque<twin_op> ops;
  std::shared_ptr<twin_capture> capture; /* NULL: work is run, not recorded */
  bool is_destroyed;                     /* goes when its work is done */
  long number;                           /* tells streams apart, destroyed ones too */
  twin_clock clock;                      /* of the last operation */
};

CUstream_st *twin_stream_create(int device);
void twin_stream_destroy(CUstream_st *stream);
/* Returns why this is no stream that work may go to, or NULL. The null stream is none, and asking for it a violation. */
const char *twin_stream_check(cudaStream_t stream);
/* Ends a call whose stream does not exist. */
#define TWIN_FIND_STREAM(call, stream)                                                                                           \
  do {                                                                                                                           \
    const char *const twin_why_ = twin_stream_check(stream);                                                                     \
    if (twin_why_) return call.fail(cudaErrorInvalidResourceHandle, "%s", twin_why_);                                            \
  } while (0)

/* Appends an operation, or records it in the stream's capture. */
cudaError_t twin_stream_push(CUstream_st *stream, const twin_op &op);

/* Run work until the stream is empty, the record is done, or the device has nothing to do; return the device's sticky error. */
cudaError_t twin_stream_run(CUstream_st *stream);
cudaError_t twin_record_run(const std::shared_ptr<twin_record> &record, int device);
cudaError_t twin_device_run(int device);
/* Runs as much work of the stream as chance wants. */
void twin_stream_advance(CUstream_st *stream);

/* Returns whether work that waits has told that it touches any of these bytes. */
bool twin_stream_touches(const void *pointer, size_t bytes);
/* Drops all work of the device. */
void twin_stream_drop(int device);
/* Lists the streams that exist on stderr; returns whether there were any. */
bool twin_stream_list(void);
