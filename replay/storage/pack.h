/* The file format of a pack: "MZPACK01" (the digits are the format's number), the number of segments, a table with a row for
 * each, XXH64 of all that; then, one behind the other, the frame of each (frame.h). Little-endian. The file is named by that
 * XXH64, which covers the frames through their checksums in the table. Internal to this room. */
#pragma once
#include "replay/segments/content.h"
#include "replay/segments/frame.h"

typedef struct mz_pack_row {
  uint64_t hash;       /* of the segment */
  uint64_t offset;     /* of its frame in the file */
  uint64_t compressed; /* bytes of the frame */
  uint64_t raw;        /* bytes of its contents */
  uint64_t checksum;   /* XXH64 of the frame */
} mz_pack_row;

/* The whole file and its name ("0123456789abcdef.pack"). MZ_E_MEMORY. */
mz_status mz_pack_build(const mz_content *contents, int count, const mz_spec *spec, mz_writer *file, char name[64]);
bool mz_pack_is_name(const char *name);
/* Returns whether the file says that it is a pack of a later format than this program's. */
bool mz_pack_is_newer(const char *path);

/* Reading. `path` ends in the pack's name; errors name it: MZ_E_CHECKPOINT where its contents are damaged or foreign, MZ_E_IO
 * where they cannot be had. Sizes are checked before anything is allocated from them. */
mz_status mz_pack_read_table(const char *path, mz_pack_row **rows, int *count); /* free(*rows) */
mz_status mz_pack_read_segment(const char *path, const mz_pack_row *row, const mz_spec *spec, mz_segment **out);
/* Reads the one with this hash. MZ_E_CHECKPOINT, too, where there is none. */
mz_status mz_pack_find_segment(const char *path, uint64_t hash, const mz_spec *spec, mz_segment **out);
/* Reads every segment; the first damage. */
mz_status mz_pack_verify(const char *path, const mz_spec *spec);
