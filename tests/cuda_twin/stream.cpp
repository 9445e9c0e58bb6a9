#include "stream.h"
#include "graph.h"
#include "state.h"
#include "work.h"
#include <algorithm>
#include <chrono>
#include <cstdio>

/* In the order of creation, so that chance never depends on addresses; destroyed ones, too, while they have work. */
static std::vector<CUstream_st *> &streams() {
  static auto &list = *new std::vector<CUstream_st *>();
  return list;
}

static bool is_known(const CUstream_st *stream) {
  return std::find(streams().begin(), streams().end(), stream) != streams().end();
}

CUstream_st *twin_stream_create(int device) {
  static long number;
  streams().push_back(new CUstream_st{device, {}, nullptr, false, ++number, {}});
  return streams().back();
}

static void forget_if_empty(CUstream_st *stream) {
  if (!stream->is_destroyed || !stream->ops.empty()) return;
  streams().erase(std::find(streams().begin(), streams().end(), stream));
  delete stream;
}

void twin_stream_destroy(CUstream_st *stream) {
  stream->is_destroyed = true;
  forget_if_empty(stream);
}

const char *twin_stream_check(cudaStream_t stream) {
  if (stream == nullptr || stream == cudaStreamLegacy || stream == cudaStreamPerThread) {
    static const char why[] = "the null stream was used; it waits for all others and they for it";
    twin_violate(why);
    return why;
  }
  return is_known(stream) && !stream->is_destroyed ? nullptr : "no stream that was created and not destroyed";
}

/* An operation happens after the one before it on its stream, the record that it waits for, and all that the host knows of. */
static void count_operation(CUstream_st *stream, twin_op *op) {
  stream->clock.join(twin_clock_of_host());
  if (op->waits) stream->clock.join(op->waits->clock);
  stream->clock.ticks[stream->number]++;
  op->clock = stream->clock;
  if (op->records) op->records->clock = stream->clock;
}

cudaError_t twin_stream_push(CUstream_st *stream, const twin_op &op) {
  if (twin().sticky[(size_t)stream->device] != cudaSuccess) return twin().sticky[(size_t)stream->device];
  if (stream->capture) return twin_capture_record(stream, op);
  stream->ops.push_back(op);
  if (twin_race_is_watched()) count_operation(stream, &stream->ops.back());
  return cudaSuccess;
}

static bool is_ready(const CUstream_st *stream) {
  return !stream->ops.empty() && (!stream->ops.front().waits || stream->ops.front().waits->is_done);
}

static void complete(const twin_op &op) {
  if (!op.records) return;
  op.records->is_done = true;
  op.records->seconds = std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/* Runs the stream's first operation, or one node of it where it is a graph; `stream` may be gone afterwards. */
static void step(CUstream_st *stream) {
  const twin_op op = stream->ops.front();
  const twin_op *const part = op.graph ? twin_graph_next(op.graph.get()) : &op;
  if (part) twin_work_run(*part, stream->device);
  if (part && twin_race_is_watched()) twin_race_check(twin_work_name(*part), stream->number, op.clock);
  if (twin().sticky[(size_t)stream->device] != cudaSuccess) return twin_stream_drop(stream->device);
  if (op.graph && op.graph->remaining > 0) return;
  complete(op);
  stream->ops.pop_front();
  forget_if_empty(stream);
}

/* Returns the stream that must move first for `stream` to move. */
static CUstream_st *blocker(CUstream_st *stream) {
  while (!is_ready(stream)) stream = stream->ops.front().waits->stream;
  return stream;
}

/* Runs one operation: of `stream` or what it waits for, or where everything shall mix, of any stream that can. */
static void step_towards(CUstream_st *stream, bool mixes) {
  if (!mixes) return step(blocker(stream));
  std::vector<CUstream_st *> able;
  for (CUstream_st *candidate : streams())
    if (is_ready(candidate)) able.push_back(candidate);
  step(able[twin_random(able.size())]);
}

/* Half of the time nothing runs that is not asked for; else streams mix. */
static bool choose_mixing() { return twin_random(2) == 0; }

static cudaError_t finish(int device) {
  twin_work_close();
  if (twin().sticky[(size_t)device] != cudaSuccess) twin_stream_drop(device);
  return twin().sticky[(size_t)device];
}

cudaError_t twin_stream_run(CUstream_st *stream) {
  const bool mixes = choose_mixing();
  const int device = stream->device;
  while (!stream->ops.empty()) step_towards(stream, mixes);
  twin_clock_of_host().join(stream->clock);
  return finish(device);
}

cudaError_t twin_record_run(const std::shared_ptr<twin_record> &record, int device) {
  const bool mixes = choose_mixing();
  while (!record->is_done) step_towards(record->stream, mixes);
  twin_clock_of_host().join(record->clock);
  return finish(device);
}

static CUstream_st *busy_stream(int device) {
  std::vector<CUstream_st *> busy;
  for (CUstream_st *stream : streams())
    if (stream->device == device && !stream->ops.empty()) busy.push_back(stream);
  return busy.empty() ? nullptr : busy[twin_random(busy.size())];
}

cudaError_t twin_device_run(int device) {
  const bool mixes = choose_mixing();
  while (CUstream_st *stream = busy_stream(device)) step_towards(stream, mixes);
  for (const CUstream_st *stream : streams())
    if (stream->device == device) twin_clock_of_host().join(stream->clock);
  return finish(device);
}

void twin_stream_advance(CUstream_st *stream) {
  const int device = stream->device;
  for (uint64_t steps = twin_random(4); steps > 0 && !stream->ops.empty(); steps--) step_towards(stream, false);
  if (stream->ops.empty()) twin_clock_of_host().join(stream->clock);
  finish(device);
}

bool twin_stream_touches(const void *pointer, size_t bytes) {
  const char *const start = (const char *)pointer, *const end = start + bytes;
  for (const CUstream_st *stream : streams())
    for (const twin_op &op : stream->ops)
      for (const twin_range &range : op.ranges)
        if ((const char *)range.pointer < end && (const char *)range.pointer + range.bytes > start) return true;
  return false;
}

void twin_stream_drop(int device) {
  const std::vector<CUstream_st *> all = streams();
  for (CUstream_st *stream : all) {
    if (stream->device != device) continue;
    for (const twin_op &op : stream->ops) complete(op); /* nobody waits for what never comes */
    stream->ops.clear();
    forget_if_empty(stream);
  }
}

void twin_reset(void) {
  const twin_guard guard;
  for (size_t device = 0; device < twin().sticky.size(); device++) {
    twin_stream_drop((int)device);
    twin_capture_invalidate((int)device);
    twin().sticky[device] = cudaSuccess;
  }
}

bool twin_stream_list(void) {
  for (const CUstream_st *stream : streams())
    fprintf(stderr, "cuda twin: leaked: a stream%s, with %zu operations that never ran\n",
            stream->is_destroyed ? ", destroyed" : "", stream->ops.size());
  return !streams().empty();
}
