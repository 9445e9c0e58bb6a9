#include "base/text.h"
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* ---- characters ---- */

size_t mz_text_character(const char *text, uint32_t *code) {
  static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000}; /* anything below has a shorter form */
  const unsigned char first = (unsigned char)text[0];
  *code = first;
  if (first < 0x80) return first != '\0';
  const size_t length = first >= 0xF0 && first < 0xF8 ? 4 : first >= 0xE0 ? 3 : first >= 0xC0 ? 2 : 0;
  if (length == 0 || first >= 0xF8) return 0;
  uint32_t value = first & (0x7Fu >> length);
  for (size_t i = 1; i < length; i++) {
    if (((unsigned char)text[i] & 0xC0) != 0x80) return 0; /* the end of the text, too */
    value = value << 6 | ((unsigned char)text[i] & 0x3F);
  }
  if (value < least[length] || value > 0x10FFFF || (value >= 0xD800 && value < 0xE000)) return 0;
  *code = value;
  return length;
}

int mz_text_is_control(uint32_t code) { return code < 0x20 || (code >= 0x7F && code < 0xA0); }

/* ---- writing ---- */

typedef struct output {
  char *text;
  size_t length, size;
  bool full;
} output;

/* Adds all of it or nothing, and nothing more after that. */
static void add(output *out, const char *bytes, size_t count) {
  out->full = out->full || out->length + count >= out->size;
  if (out->full) return;
  memcpy(out->text + out->length, bytes, count);
  out->length += count;
  out->text[out->length] = '\0';
}

static void add_escaped(output *out, const char *bytes, size_t count, const char *format) {
  char escaped[17]; /* 4 bytes, 4 characters each */
  for (size_t i = 0; i < count; i++) snprintf(escaped + 4 * i, sizeof escaped - 4 * i, format, (unsigned)(unsigned char)bytes[i]);
  add(out, escaped, 4 * count);
}

/* The next character of `text`, and whether it can be shown; an invalid byte counts as one that cannot. Never 0 before the end. */
static size_t next(const char *text, bool *shown) {
  uint32_t code;
  const size_t length = mz_text_character(text, &code);
  *shown = length > 0 && !mz_text_is_control(code);
  return length > 0 ? length : *text != '\0';
}

int mz_text_ends_in(const char *text, const char *ending) {
  const size_t length = strlen(text), of = strlen(ending);
  return length > of && strcmp(text + length - of, ending) == 0;
}

const char *mz_text_printable(const char *text, char *out, size_t size) {
  output to = {.text = out, .size = size};
  if (size > 0) out[0] = '\0';
  bool shown;
  for (size_t length; (length = next(text, &shown)) > 0 && !to.full; text += length) {
    if (shown)
      add(&to, text, length);
    else
      add_escaped(&to, text, length, "\\x%02X");
  }
  return out;
}

/* ---- a word of a shell ---- */

static bool is_plain(const char *text) {
  static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";
  return text[0] != '\0' && text[strspn(text, safe)] == '\0';
}

static bool can_be_shown(const char *text) {
  bool shown;
  for (size_t length; (length = next(text, &shown)) > 0; text += length)
    if (!shown) return false;
  return true;
}

/* Single quotes take everything as it is but the quote itself. */
static void add_quoted(output *to, const char *text) {
  add(to, "'", 1);
  for (; *text; text++) {
    if (*text == '\'')
      add(to, "'\\''", 4);
    else
      add(to, text, 1);
  }
  add(to, "'", 1);
}

/* Octal, for it ends after three digits whatever follows. */
static void add_escapes(output *to, const char *text) {
  bool shown;
  add(to, "$'", 2);
  for (size_t length; (length = next(text, &shown)) > 0; text += length) {
    if (!shown)
      add_escaped(to, text, length, "\\%03o");
    else {
      if (*text == '\'' || *text == '\\') add(to, "\\", 1);
      add(to, text, length);
    }
  }
  add(to, "'", 1);
}

const char *mz_shell_quote(const char *text, char *out, size_t size) {
  output to = {.text = out, .size = size};
  if (size > 0) out[0] = '\0';
  if (text[0] == '-') add(&to, "./", 2);
  if (is_plain(text))
    add(&to, text, strlen(text));
  else if (can_be_shown(text))
    add_quoted(&to, text);
  else
    add_escapes(&to, text);
  if (to.full) snprintf(out, size, "'…'");
  return out;
}
