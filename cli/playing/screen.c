#include "cli/playing/screen.h"
#include "base/machine/clock.h"
#include "base/log.h"
#include "cli/print.h"
#include "cli/signals.h"
#include "cli/terminal_window.h"
#include <langinfo.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

enum { SCORES = 48, BAR = 32, LINE_BYTES = 1024, LABEL = 10, REDRAW_MS = 100 };

typedef enum ink { INK_PLAIN, INK_DIM, INK_BOLD, INK_GREEN, INK_YELLOW } ink;

struct mz_screen {
  pthread_mutex_t lock; /* log lines may come from any thread */
  bool colour, unicode;
  mz_terminal_window window;
  int drawn; /* lines on the screen that are ours */
  uint64_t drawn_ns;
  char score_name[128], title[256], warning[256], action[48]; /* action: who allocates, and what was done after the last phase */
  mz_knobs plan;
  double scores[SCORES]; /* of the last evaluations */
  int score_count;
  bool started;
  double first_fraction, first_s; /* when this invocation began, for the time left */
  mz_progress progress;
};

/* One line under construction. A field that does not fit into the window is left out as a whole, and all that follow it. */
typedef struct line {
  char text[LINE_BYTES];
  size_t length;
  int columns, columns_max;
  bool colour, full;
} line;

bool mz_screen_possible(void) {
  const char *term = getenv("TERM");
  return isatty(STDOUT_FILENO) && term && *term && strcmp(term, "dumb") != 0;
}

static void add_bytes(line *out, const char *bytes, size_t count) {
  if (out->length + count >= LINE_BYTES) return;
  memcpy(out->text + out->length, bytes, count);
  out->length += count;
}

static bool is_continuation(char byte) { return (byte & 0xc0) == 0x80; } /* of a character of UTF-8 */

static int width_of(const char *text, size_t bytes) {
  int width = 0;
  for (size_t i = 0; i < bytes; i++) width += !is_continuation(text[i]);
  return width;
}

static __attribute__((format(printf, 3, 4))) void add(line *out, ink colour, const char *format, ...) {
  static const char *const codes[] = {"", "\033[2m", "\033[1m", "\033[32m", "\033[33m"};
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  const int width = width_of(text, strlen(text));
  out->full = out->full || out->columns + width > out->columns_max;
  if (out->full) return;
  const bool coloured = out->colour && colour != INK_PLAIN;
  if (coloured) add_bytes(out, codes[colour], strlen(codes[colour]));
  add_bytes(out, text, strlen(text));
  if (coloured) add_bytes(out, "\033[0m", 4);
  out->columns += width;
}

/* Returns the bytes of `text` that fit into `columns`: up to the end of a word, or of a character where the first word is longer. */
static size_t fitting(const char *text, int columns) {
  size_t end = 0, words = 0;
  int width = 0;
  for (size_t at = 0; text[at] && width < columns; width++) {
    do at++;
    while (is_continuation(text[at]));
    end = at;
    if (text[at] == ' ' || text[at] == '\0') words = at;
  }
  return words ? words : end;
}

/* Adds words, cut at the end of one where there is no room for all. */
static void add_words(const mz_screen *screen, line *out, ink colour, const char *text) {
  const char *mark = screen->unicode ? "…" : "...";
  const int room = out->columns_max - out->columns;
  if (width_of(text, strlen(text)) <= room)
    add(out, colour, "%s", text);
  else
    add(out, colour, "%.*s%s", (int)fitting(text, room - width_of(mark, strlen(mark))), text, mark);
}

static void put(mz_screen *screen, const line *out) {
  if (screen->drawn >= screen->window.rows - 1) return;
  printf("\033[2K%.*s\n", (int)out->length, out->text);
  screen->drawn++;
}

static line blank(const mz_screen *screen) { return (line){.columns_max = screen->window.columns - 1, .colour = screen->colour}; }

static void add_bar(mz_screen *screen, line *out, double fraction, int width) {
  const int full = (int)(fmin(fmax(fraction, 0), 1) * width);
  char text[4 * BAR + 1], *at = text;
  for (int i = 0; i < full; i++) at = stpcpy(at, screen->unicode ? "█" : "#");
  add(out, INK_GREEN, "%.*s", (int)(at - text), text);
  at = text;
  *at = 0;
  for (int i = full; i < width; i++) at = stpcpy(at, screen->unicode ? "░" : ".");
  add(out, INK_DIM, "%s", text);
}

static double seconds_left(const mz_screen *screen) {
  const mz_progress *now = &screen->progress;
  const double done = now->fraction - screen->first_fraction, spent = now->for_s - screen->first_s;
  return done > 0 && spent > 0 ? (1 - now->fraction) * spent / done : NAN;
}

static void draw_progress(mz_screen *screen) {
  const mz_progress *now = &screen->progress;
  char a[MZ_TEXT_SIZE], b[MZ_TEXT_SIZE];
  line out = blank(screen);
  enum { BESIDE = 20 }; /* columns for the numbers behind the bar */
  const int room = out.columns_max - BESIDE;
  add(&out, INK_PLAIN, "  ");
  add_bar(screen, &out, now->fraction, room < 0 ? 0 : room < BAR ? room : BAR);
  add(&out, INK_BOLD, " %3.0f %%", now->fraction * 100);
  add(&out, INK_PLAIN, "   %s", mz_text_time(now->for_s, a));
  const double left = seconds_left(screen);
  if (mz_signals_stopping())
    add_words(screen, &out, INK_YELLOW, "   stopping: saving this round; again to stop at once");
  else if (isfinite(left) && now->fraction < 1)
    add(&out, INK_PLAIN, ", at most %s left", mz_text_time(left, b));
  put(screen, &out);
}

static void draw_score(mz_screen *screen) {
  const mz_progress *now = &screen->progress;
  char a[MZ_TEXT_SIZE], b[MZ_TEXT_SIZE], spark[3 * SCORES + 1];
  line out = blank(screen);
  add(&out, INK_DIM, "  score   ");
  add(&out, INK_BOLD, "%-9s", mz_text_number(now->score, a));
  enum { TARGET = 20, WIDE = 76 }; /* columns for the target behind the curve; a window with room for the score's name, too */
  const int name = out.columns_max < WIDE ? 0 : 2 + width_of(screen->score_name, strlen(screen->score_name));
  const int room = out.columns_max - out.columns - TARGET - name;
  const int count = screen->score_count < room ? screen->score_count : room < 0 ? 0 : room; /* the latest */
  add(&out, INK_GREEN, " %s ", mz_text_spark(screen->scores + screen->score_count - count, count, screen->unicode, spark));
  if (isfinite(now->target) && fabs(now->target) < 1e8) add(&out, INK_PLAIN, " target %s", mz_text_number(now->target, b));
  add(&out, INK_DIM, "  %s", screen->score_name);
  put(screen, &out);

  out = blank(screen);
  add(&out, INK_DIM, "  loss    ");
  add(&out, INK_PLAIN, "%-9s", mz_text_number(now->loss, a));
  add(&out, INK_DIM, "  return in self-play  %s", mz_text_number(now->mean_return, b));
  put(screen, &out);
}

static void add_counted(line *out, double count, const char *of) {
  char text[MZ_TEXT_SIZE];
  add(out, INK_PLAIN, "%s%s %s", out->columns > LABEL ? "  " : "", mz_text_count(count, text), of);
}

static void draw_rates(mz_screen *screen) {
  const mz_progress *now = &screen->progress;
  char a[MZ_TEXT_SIZE], b[MZ_TEXT_SIZE];
  line out = blank(screen);
  add(&out, INK_DIM, "  rates   ");
  add_counted(&out, now->env_steps_per_s, "moves/s");
  add_counted(&out, now->sims_per_s, "simulations/s");
  add_counted(&out, now->updates_per_s, "updates/s");
  put(screen, &out);

  out = blank(screen);
  add(&out, INK_DIM, "  so far  ");
  add_counted(&out, (double)now->counters.rounds, "rounds");
  add_counted(&out, (double)now->counters.env_steps, "moves");
  add_counted(&out, (double)now->counters.simulations, "simulations");
  add_counted(&out, (double)now->counters.updates, "updates");
  put(screen, &out);

  out = blank(screen);
  add(&out, INK_DIM, "  replay  ");
  add(&out, INK_PLAIN, "%s positions", mz_text_count((double)now->positions, a));
  if (now->positions < now->min_fill) add(&out, INK_YELLOW, "  learning starts at %s", mz_text_count((double)now->min_fill, b));
  put(screen, &out);

  const mz_knobs *plan = &screen->plan;
  if (!plan->cpu_actor) return; /* no phase has ended yet */
  out = blank(screen);
  add(&out, INK_DIM, "  plan    ");
  add(&out, INK_PLAIN, "%lld actors %s %lld games", (long long)plan->cpu_actor, screen->unicode ? "×" : "x",
      (long long)plan->mcts_storage_size);
  add(&out, INK_PLAIN, "  %lld builders", (long long)plan->batch_actor);
  add(&out, INK_PLAIN, "  queue %lld", (long long)plan->batch_buffer_size);
  add(&out, INK_PLAIN, "  %lld learner threads", (long long)plan->learner_threads);
  if (plan->env_workers > 0)
    add(&out, INK_PLAIN, "  %lld process%s play%s", (long long)plan->env_workers, plan->env_workers == 1 ? "" : "es",
        plan->env_workers == 1 ? "s" : "");
  add(&out, INK_DIM, "  %s", screen->action);
  put(screen, &out);
}

/* Puts the cursor to where the picture begins. */
static void go_back(mz_screen *screen) {
  if (!mz_terminal_window_follow(&screen->window) && screen->drawn > 0) printf("\r\033[%dA", screen->drawn);
  screen->drawn = 0;
}

static void erase(mz_screen *screen) {
  go_back(screen);
  printf("\033[J");
}

/* A line that is wider than was counted is cut by the terminal: one that wrapped would make the picture a line longer. */
static void draw(mz_screen *screen) {
  printf("\033[?7l");
  go_back(screen);
  line out = blank(screen);
  add_words(screen, &out, INK_BOLD, screen->title);
  put(screen, &out);
  draw_progress(screen);
  draw_score(screen);
  draw_rates(screen);
  if (screen->warning[0]) {
    out = blank(screen);
    add(&out, INK_YELLOW, "  warning: ");
    add_words(screen, &out, INK_YELLOW, screen->warning);
    put(screen, &out);
  }
  printf("\033[J\033[?7h");
  fflush(stdout); /* a terminal that has gone is met by the final mz_print_flush */
  screen->drawn_ns = mz_clock_ns();
}

static void log_above(void *context, mz_log_level level, const char *text) {
  mz_screen *screen = context;
  pthread_mutex_lock(&screen->lock);
  erase(screen);
  fflush(stdout);
  fprintf(stderr, "%s%s\n", level == MZ_LOG_WARNING ? "warning: " : level == MZ_LOG_ERROR ? "error: " : "", text);
  if (screen->started) draw(screen);
  pthread_mutex_unlock(&screen->lock);
}

mz_status mz_screen_create(mz_screen **out, const char *title, const char *score_name) {
  mz_screen *screen;
  MZ_TRY(mz_alloc(&screen, 1, sizeof *screen));
  MZ_ASSERT(pthread_mutex_init(&screen->lock, NULL) == 0);
  const char *no_colour = getenv("NO_COLOR");
  screen->colour = !no_colour || !*no_colour;
  setlocale(LC_CTYPE, "");
  screen->unicode = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
  snprintf(screen->title, sizeof screen->title, "%s", title);
  snprintf(screen->score_name, sizeof screen->score_name, "%s", score_name);
  screen->window = mz_terminal_window_measure();
  mz_log_set_sink(log_above, screen);
  *out = screen;
  return MZ_OK;
}

void mz_screen_free(mz_screen *screen) {
  if (!screen) return;
  mz_log_set_sink(NULL, NULL);
  pthread_mutex_lock(&screen->lock);
  if (screen->started) draw(screen);
  pthread_mutex_unlock(&screen->lock);
  pthread_mutex_destroy(&screen->lock);
  free(screen);
}

void mz_screen_progress(mz_screen *screen, const mz_progress *progress) {
  pthread_mutex_lock(&screen->lock);
  if (!screen->started) screen->first_fraction = progress->fraction, screen->first_s = progress->for_s;
  screen->progress = *progress;
  const mz_terminal_window window = mz_terminal_window_measure(); /* after a change the picture is torn: it cannot wait */
  const bool resized = window.columns != screen->window.columns || window.rows != screen->window.rows;
  const bool due =
      !screen->started || resized || mz_clock_ns() - screen->drawn_ns >= REDRAW_MS * 1000000ull || mz_signals_stopping();
  screen->started = true;
  if (due) draw(screen);
  pthread_mutex_unlock(&screen->lock);
}

void mz_screen_phase(mz_screen *screen, const mz_phase *phase) {
  pthread_mutex_lock(&screen->lock);
  if (phase->evaluated) {
    if (screen->score_count == SCORES)
      memmove(screen->scores, screen->scores + 1, --screen->score_count * sizeof screen->scores[0]);
    screen->scores[screen->score_count++] = phase->score;
    screen->progress.score = phase->score;
  }
  screen->plan = phase->plan;
  snprintf(screen->action, sizeof screen->action, "%s%s%s", phase->strategy ? phase->strategy : "", phase->action ? ": " : "",
           phase->action ? phase->action : "");
  snprintf(screen->warning, sizeof screen->warning, "%s", phase->warning ? phase->warning : "");
  if (screen->started) draw(screen);
  pthread_mutex_unlock(&screen->lock);
}
