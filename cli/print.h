/* Output for people and for scripts. Sizes of `out` are for the longest text. */
#pragma once
#include "base/json/json.h"
#include "base/text.h"
#include <stdint.h>

enum { MZ_TEXT_SIZE = 32 };
const char *mz_text_count(double count, char out[MZ_TEXT_SIZE]);   /* 950, 12.3k, 4.56M */
const char *mz_text_time(double seconds, char out[MZ_TEXT_SIZE]);  /* 4.2 s, 3m 05s, 2h 07m */
const char *mz_text_bytes(double bytes, char out[MZ_TEXT_SIZE]);   /* 12.3 MiB */
const char *mz_text_number(double number, char out[MZ_TEXT_SIZE]); /* "-" when not finite */
int mz_text_columns(const char *text, size_t bytes);               /* on a terminal, where a character of UTF-8 has one */
/* A bar for each value, scaled to their range: `count` columns of UTF-8, or digits 0–9. out: 3·count + 1 bytes. */
const char *mz_text_spark(const double *values, int count, bool unicode, char *out);

/* Text from outside (paths, names, what files and other programs say) as mz_text_printable shows it. */
enum { MZ_SHOWN_SIZE = MZ_PRINTABLE_SIZE(1024) };
const char *mz_text_shown(const char *text, char out[MZ_SHOWN_SIZE]);
/* Replaces every string and key in `json`, which came from a file, by the same. */
mz_status mz_json_show(cJSON *json);

/* From here on, what is written to a pipe whose reader has left is no failure: for commands that have something else to do. */
void mz_print_let_readers_leave(void);
/* Takes over `object` (NULL: memory was out) and writes it as one line to stdout, flushed. */
mz_status mz_print_json(cJSON *object);
/* Writes a line to stderr, which is a terminal, over the one before it. It is cut at the terminal's edge: a line that went on in the
 * next one could not be written over. */
void mz_print_progress(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* MZ_E_IO when something written to stdout was lost, unless the terminal has hung up or a reader who may has left. */
mz_status mz_print_flush(void);
