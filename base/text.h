/* Text from outside (paths, values of settings, answers of other programs, strings in files) made fit for a terminal, a shell
 * or JSON. Text is UTF-8; whatever is not is still carried through, and shown. */
#pragma once
#include <stddef.h>
#include <stdint.h>

/* Returns the bytes of the character that `text` begins with, 1 to 4, and its code point; 0 at the end of the text and where the
 * bytes are no character of UTF-8 (*code is then the one byte). Surrogates and overlong forms are none. */
size_t mz_text_character(const char *text, uint32_t *code);
/* Returns nonzero for C0 controls, delete and C1 controls, which a terminal obeys instead of showing them. */
int mz_text_is_control(uint32_t code);

/* Returns nonzero where the text is longer than `ending` and ends in it. */
int mz_text_ends_in(const char *text, const char *ending);

/* Returns the ending of a regular plural: "s" unless `count` is 1. */
static inline const char *mz_plural(double count) { return count == 1 ? "" : "s"; }

/* Bytes that always suffice for a text of `length` bytes, the NUL included. */
#define MZ_PRINTABLE_SIZE(length) (4 * (length) + 1)
#define MZ_SHELL_QUOTE_SIZE(length) (4 * (length) + 6)

/* Copies `text` with every byte of control characters and of what is not UTF-8 as \xNN: one line that no terminal obeys. What does
 * not fit is cut behind a whole character. Returns `out`. */
const char *mz_text_printable(const char *text, char *out, size_t size);
/* Writes a path as one word for a POSIX shell: as it is where that is safe, otherwise in quotes, $'…' for what mz_text_printable
 * would escape; a leading '-' gets ./ before it, so that no command reads a flag. A word that does not fit becomes '…': a part of
 * it would name something else. Returns `out`. */
const char *mz_shell_quote(const char *text, char *out, size_t size);
