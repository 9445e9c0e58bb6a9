/* A drawing that is being written, as SVG or in Graphviz's language DOT: text that grows in memory, so that the file is written whole
 * or not at all. One thread. */
#pragma once
#include "base/status.h"
#include <stddef.h>

typedef struct mz_drawing { /* zeroed at first */
  char *text;               /* NUL-terminated; NULL: nothing was added yet */
  size_t used, capacity;
  mz_status status; /* of the first failure: what is added after it is lost */
} mz_drawing;

/* Appends to the text. MZ_E_MEMORY is kept in drawing->status. */
void mz_drawing_add(mz_drawing *drawing, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Appends the beginning of an SVG of so many pixels: small sans-serif letters in a grey that shows on light and dark pages. */
void mz_drawing_begin_svg(mz_drawing *drawing, int width, int height);
void mz_drawing_end_svg(mz_drawing *drawing);
/* Writes the file, replacing one that is there, unless the drawing failed, and frees the text. Returns the first failure: MZ_E_MEMORY,
 * MZ_E_IO naming the path. */
mz_status mz_drawing_write(mz_drawing *drawing, const char *path);
void mz_drawing_free(mz_drawing *drawing);

enum { MZ_DRAWN_SIZE = 1024 };
/* MZ_E_USAGE where the path that `option` gives does not end in .svg. */
mz_status mz_drawing_check_name(const char *option, const char *path);
/* Writes a name from outside as text of XML, between tags or in quotes; control characters and what is not UTF-8 as \xNN. What does not
 * fit is cut. Returns out. */
const char *mz_drawing_xml(const char *text, char out[MZ_DRAWN_SIZE]);
/* The same as text of a DOT string in double quotes. */
const char *mz_drawing_dot(const char *text, char out[MZ_DRAWN_SIZE]);
