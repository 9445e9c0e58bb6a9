#include "cli/explaining/drawing.h"
#include "base/file/file.h"
#include "base/text.h"
#include <stdarg.h>
#include <string.h>

enum { FIRST_BYTES = 1 << 14 };

/* Room for `more` bytes and a NUL. */
static mz_status reserve(mz_drawing *d, size_t more) {
  size_t capacity = d->capacity > 0 ? d->capacity : FIRST_BYTES;
  while (capacity < d->used + more + 1) capacity *= 2;
  if (capacity == d->capacity) return MZ_OK;
  char *text;
  MZ_TRY(mz_alloc(&text, capacity, 1));
  if (d->used > 0) memcpy(text, d->text, d->used);
  free(d->text);
  d->text = text;
  d->capacity = capacity;
  return MZ_OK;
}

void mz_drawing_add(mz_drawing *d, const char *format, ...) {
  va_list arguments, again;
  va_start(arguments, format);
  va_copy(again, arguments);
  const int length = vsnprintf(NULL, 0, format, arguments);
  va_end(arguments);
  MZ_ASSERT(length >= 0);
  if (d->status == MZ_OK) d->status = reserve(d, (size_t)length);
  if (d->status == MZ_OK) {
    vsnprintf(d->text + d->used, (size_t)length + 1, format, again);
    d->used += (size_t)length;
  }
  va_end(again);
}

void mz_drawing_begin_svg(mz_drawing *d, int width, int height) {
  mz_drawing_add(d,
                 "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" "
                 "font-family=\"sans-serif\" font-size=\"12\" fill=\"#777\">\n",
                 width, height, width, height);
}

void mz_drawing_end_svg(mz_drawing *d) { mz_drawing_add(d, "</svg>\n"); }

mz_status mz_drawing_check_name(const char *option, const char *path) {
  if (mz_text_ends_in(path, ".svg")) return MZ_OK;
  return mz_fail(MZ_E_USAGE, "%s %s: a picture's name ends in .svg", option, path);
}

mz_status mz_drawing_write(mz_drawing *d, const char *path) {
  mz_status status = d->status;
  if (status == MZ_OK) status = mz_file_write_output(path, d->text, d->used);
  mz_drawing_free(d);
  return status;
}

void mz_drawing_free(mz_drawing *d) {
  free(d->text);
  *d = (mz_drawing){0};
}

/* ---- names from outside ---- */

typedef const char *(*replacement)(char letter); /* NULL: the letter stays */

static const char *replace(const char *text, replacement of, char out[MZ_DRAWN_SIZE]) {
  char shown[MZ_DRAWN_SIZE];
  mz_text_printable(text, shown, sizeof shown);
  size_t used = 0;
  for (const char *at = shown; *at;) {
    uint32_t code;
    const size_t bytes = mz_text_character(at, &code);
    const char *other = of(*at);
    const size_t length = other ? strlen(other) : bytes;
    if (used + length >= MZ_DRAWN_SIZE) break;
    memcpy(out + used, other ? other : at, length);
    used += length;
    at += bytes;
  }
  out[used] = '\0';
  return out;
}

static const char *in_xml(char letter) {
  switch (letter) {
    case '&': return "&amp;";
    case '<': return "&lt;";
    case '>': return "&gt;";
    case '"': return "&quot;";
    default: return NULL;
  }
}

static const char *in_dot(char letter) { return letter == '"' ? "\\\"" : letter == '\\' ? "\\\\" : NULL; }

const char *mz_drawing_xml(const char *text, char out[MZ_DRAWN_SIZE]) { return replace(text, in_xml, out); }
const char *mz_drawing_dot(const char *text, char out[MZ_DRAWN_SIZE]) { return replace(text, in_dot, out); }
