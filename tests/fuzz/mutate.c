#include "tests/fuzz/fuzz.h"
#include <string.h>
#include <zstd.h>

uint32_t fuzz_random(uint64_t *state) { /* splitmix64 */
  uint64_t z = *state += 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return (uint32_t)(z ^ z >> 31);
}

uint32_t fuzz_below(uint64_t *state, uint32_t n) { return n ? fuzz_random(state) % n : 0; }

/* ---- text ---- */

static const char *const numbers[] = {
    "0",      "-0",     "1",          "-1",         "2",    "0.5",   "1e-5", "1e308",      "1e309",
    "-1e308", "1e-320", "2147483647", "2147483648", "4096", "65536", "1e18", "4294967295", "9007199254740993",
    "null",   "true",   "\"\"",       "[]",         "{}",   "1e9",   "0.1",  "16",         "18446744073709551616"};

/* Replaces `old` bytes at `at` by a text; the size stays where it would not fit. */
static size_t replace(uint8_t *data, size_t size, size_t max_size, size_t at, size_t old, const char *text, size_t length) {
  if (size - old + length > max_size) return size;
  memmove(data + at + length, data + at + old, size - at - old);
  memcpy(data + at, text, length);
  return size - old + length;
}

static bool in_number(uint8_t c) { return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' || c == 'e'; }

static size_t mutate_number(uint8_t *data, size_t size, size_t max_size, uint64_t *random) {
  const size_t start = fuzz_below(random, (uint32_t)size);
  for (size_t i = 0; i < size; i++) {
    size_t at = (start + i) % size, end = at;
    if (data[at] < '0' || data[at] > '9') continue;
    while (at > 0 && in_number(data[at - 1])) at--;
    while (end < size && in_number(data[end])) end++;
    const char *number = numbers[fuzz_below(random, sizeof numbers / sizeof *numbers)];
    return replace(data, size, max_size, at, end - at, number, strlen(number));
  }
  return size;
}

/* A stretch that begins and ends at a separator is doubled, removed, or put elsewhere. */
static size_t mutate_piece(uint8_t *data, size_t size, size_t max_size, uint64_t *random) {
  static const char separators[] = ",{}[]\n:\" ";
  size_t begin = fuzz_below(random, (uint32_t)size), end;
  while (begin > 0 && !memchr(separators, data[begin], sizeof separators)) begin--;
  end = begin + 1 + fuzz_below(random, 64);
  while (end < size && !memchr(separators, data[end], sizeof separators)) end++;
  if (end > size) end = size;
  char piece[512];
  const size_t length = end - begin < sizeof piece ? end - begin : sizeof piece;
  memcpy(piece, data + begin, length);
  switch (fuzz_below(random, 3)) {
    case 0: return replace(data, size, max_size, begin, 0, piece, length);
    case 1: return replace(data, size, max_size, begin, length, "", 0);
    default: return replace(data, size, max_size, fuzz_below(random, (uint32_t)size), 0, piece, length);
  }
}

size_t fuzz_mutate_text(uint8_t *data, size_t size, size_t max_size, uint64_t *random) {
  if (size == 0) return LLVMFuzzerMutate(data, size, max_size);
  switch (fuzz_below(random, 8)) {
    case 0:
    case 1:
    case 2: return mutate_number(data, size, max_size, random);
    case 3: return mutate_piece(data, size, max_size, random);
    default: return LLVMFuzzerMutate(data, size, max_size);
  }
}

/* ---- bytes ---- */

size_t fuzz_mutate_bytes(uint8_t *data, size_t size, size_t max_size, uint64_t *random) {
  static const uint64_t extremes[] = {0,          1,          2,          0x7f800000, 0x7fc00000,
                                      0xff800000, 0x7fffffff, 0x80000000, 0x80000001, 0xffffffff,
                                      0x7f7fffff, 1u << 16,   1u << 24,   1ull << 32, 0x7fffffffffffffffull,
                                      ~0ull};
  if (size < 8 || fuzz_below(random, 4) != 0) return LLVMFuzzerMutate(data, size, max_size);
  const uint64_t value = extremes[fuzz_below(random, sizeof extremes / sizeof *extremes)];
  const size_t bytes = fuzz_below(random, 2) ? 4 : 8;
  const size_t at = fuzz_below(random, (uint32_t)(size - bytes + 1));
  memcpy(data + (fuzz_below(random, 4) ? at & ~(size_t)3 : at), &value, bytes);
  return size;
}

/* ---- zstd frames ---- */

void fuzz_compress(const void *data, size_t size, mz_writer *out) {
  static ZSTD_CCtx *context;
  static uint8_t *buffer;
  static size_t capacity;
  if (!context) context = ZSTD_createCCtx();
  if (capacity < ZSTD_compressBound(size)) {
    free(buffer);
    capacity = ZSTD_compressBound(size) * 2;
    buffer = malloc(capacity);
  }
  const size_t packed = ZSTD_compressCCtx(context, buffer, capacity, data, size, 1);
  MZ_ASSERT(!ZSTD_isError(packed));
  mz_write(out, buffer, packed);
}

bool fuzz_decompress(const void *frame, size_t size, size_t max, mz_writer *out) {
  const unsigned long long bytes = ZSTD_getFrameContentSize(frame, size);
  mz_writer_free(out);
  if (bytes > max) return false;
  fuzz_must(mz_alloc(&out->data, max + 1, 1));
  out->capacity = max;
  out->size = ZSTD_decompress(out->data, max, frame, size);
  return !ZSTD_isError(out->size);
}

/* The blocks stay; before them stands what a frame's first bytes say: mark, flags, eight bytes of its size. */
uint64_t fuzz_claim(mz_writer *frame, uint64_t *random) {
  static const uint64_t claims[] = {1, 1 << 16, 100 << 20, 1u << 30, UINT32_MAX, 1ull << 36, ~0ull >> 1};
  const uint8_t flags = frame->data[4];
  const size_t window = flags & 0x20 ? 0 : 1, size_bytes = flags >> 6 ? (size_t)1 << (flags >> 6) : 1 - window;
  const size_t head = 5 + window + size_bytes;
  const uint64_t claim = claims[fuzz_below(random, sizeof claims / sizeof *claims)];
  mz_writer out = {0};
  mz_write(&out, frame->data, 4);
  mz_write_u8(&out, (uint8_t)(0xe0 | (flags & 0x04))); /* a single segment, a size of eight bytes, the checksum as it was */
  mz_write_u64(&out, claim);
  mz_write(&out, frame->data + head, frame->size - head);
  mz_writer_free(frame);
  *frame = out;
  return claim;
}
