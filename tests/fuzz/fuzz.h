/* What fuzz targets share: files in memory, random numbers for mutators, a mutator of text. A target is one file NAME.c with
 * LLVMFuzzerTestOneInput over the public functions of a room; tests/fuzz/run.sh builds and runs them. */
#pragma once
#include "base/bytes.h"
#include "base/status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* libFuzzer's side. */
int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);

/* Stops with the message when the status is not MZ_OK: a target could not be set up. */
void fuzz_must(mz_status status);

/* Drops what would be said on stderr. */
void fuzz_quiet(void);

/* ---- files in memory (files.c) ---- */

/* Every path below this folder names a file in memory from the first fuzz_file_put on, and nothing that the program does there
 * reaches a disk. What is written is dropped. */
#define FUZZ_FOLDER "/fuzz"
enum { FUZZ_FILES_MAX = 16 };
/* Makes or replaces a file. `data` is not copied. */
void fuzz_file_put(const char *path, const void *data, size_t size);
void fuzz_files_clear(void);

/* Reads a real file of tests/data/fuzz; free(*data). */
void fuzz_seed_read(const char *name, uint8_t **data, size_t *size);

/* ---- mutators (mutate.c) ---- */

/* The next of a stream of numbers; *state may begin with any number. */
uint32_t fuzz_random(uint64_t *state);
/* Returns a number below n. */
uint32_t fuzz_below(uint64_t *state, uint32_t n);
/* Mutates text of JSON, settings or lines: one of its numbers becomes another, a piece is doubled or removed, or whatever
 * libFuzzer makes of it. Returns the new size. */
size_t fuzz_mutate_text(uint8_t *data, size_t size, size_t max_size, uint64_t *random);
/* Mutates bytes: sometimes a whole 32 or 64 bit number becomes an extreme one, otherwise libFuzzer chooses. */
size_t fuzz_mutate_bytes(uint8_t *data, size_t size, size_t max_size, uint64_t *random);

/* ---- zstd frames (mutate.c) ---- */

/* Appends the frame that the bytes pack to. */
void fuzz_compress(const void *data, size_t size, mz_writer *out);
/* Replaces *out by what a frame holds, at most `max` bytes; false: it is none, or holds more. */
bool fuzz_decompress(const void *frame, size_t size, size_t max, mz_writer *out);
/* Makes a frame of fuzz_compress claim another size than it unpacks to, which is returned. */
uint64_t fuzz_claim(mz_writer *frame, uint64_t *random);
