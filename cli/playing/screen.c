#include "cli/playing/screen.h"
#include "base/machine/clock.h"
#include "base/log.h"
#include "cli/print.h"
#include "cli/signals.h"
#include <langinfo.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { SCORES = 48, BAR = 32, LINE_BYTES = 1024, REDRAW_MS = 100 };

typedef enum ink { INK_PLAIN, INK_DIM, INK_BOLD, INK_GREEN, INK_YELLOW } ink;

struct mz_screen {
  pthread_mutex_t lock; /* log lines may come from any thread */
  bool colour, unicode;
  int columns, rows;
  int drawn; /* lines on the screen that are ours */
  uint64_t drawn_ns;
  char title[256], warning[256], action[48]; /* action: who allocates, and what was done after the last phase */
  mz_knobs plan;
  double scores[SCORES]; /* of the last evaluations */
  int score_count;
  bool started;
  double first_fraction, first_s; /* when this invocation began, for the time left */
  mz_progress progress;
};

/* One line under construction, cut at the window's width. */
typedef struct line {
  char text[LINE_BYTES];
  size_t length;
  int columns, columns_max;
  bool colour;
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

static __attribute__((format(printf, 3, 4))) void add(line *out, ink colour, const char *format, ...) {
  static const char *const codes[] = {"", "\033[2m", "\033[1m", "\033[32m", "\033[33m"};
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  const bool coloured = out->colour && colour != INK_PLAIN;
  if (coloured) add_bytes(out, codes[colour], strlen(codes[colour]));
  for (const char *at = text; *at;) { /* whole characters */
    size_t bytes = 1;
    while ((at[bytes] & 0xc0) == 0x80) bytes++;
    if (out->columns == out->columns_max) break;
    add_bytes(out, at, bytes);
    out->columns++;
    at += bytes;
  }
  if (coloured) add_bytes(out, "\033[0m", 4);
}

static void put(mz_screen *screen, const line *out) {
  if (screen->drawn >= screen->rows - 1) return;
  printf("\033[2K%.*s\n", (int)out->length, out->text);
  screen->drawn++;
}

static line blank(const mz_screen *screen) { return (line){.columns_max = screen->columns - 1, .colour = screen->colour}; }

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
  add(&out, INK_PLAIN, "  ");
  add_bar(screen, &out, now->fraction, BAR);
  add(&out, INK_BOLD, " %3.0f %%", now->fraction * 100);
  add(&out, INK_PLAIN, "   %s", mz_text_time(now->for_s, a));
  const double left = seconds_left(screen);
  if (mz_signals_stopping())
    add(&out, INK_YELLOW, "   stopping: saving this round; again to stop at once");
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
  add(&out, INK_GREEN, " %s ", mz_text_spark(screen->scores, screen->score_count, screen->unicode, spark));
  if (isfinite(now->target) && fabs(now->target) < 1e8) add(&out, INK_PLAIN, " target %s", mz_text_number(now->target, b));
  put(screen, &out);

  out = blank(screen);
  add(&out, INK_DIM, "  loss    ");
  add(&out, INK_PLAIN, "%-9s", mz_text_number(now->loss, a));
  add(&out, INK_DIM, "  return in self-play  ");
  add(&out, INK_PLAIN, "%s", mz_text_number(now->mean_return, b));
  put(screen, &out);
}

static void draw_rates(mz_screen *screen) {
  const mz_progress *now = &screen->progress;
  char a[MZ_TEXT_SIZE], b[MZ_TEXT_SIZE], c[MZ_TEXT_SIZE], d[MZ_TEXT_SIZE];
  line out = blank(screen);
  add(&out, INK_DIM, "  rates   ");
  add(&out, INK_PLAIN, "%s moves/s  %s simulations/s  %s updates/s", mz_text_count(now->env_steps_per_s, a),
      mz_text_count(now->sims_per_s, b), mz_text_count(now->updates_per_s, c));
  put(screen, &out);

  out = blank(screen);
  add(&out, INK_DIM, "  so far  ");
  add(&out, INK_PLAIN, "%s rounds  %s moves  %s simulations  %s updates", mz_text_count((double)now->counters.rounds, a),
      mz_text_count((double)now->counters.env_steps, b), mz_text_count((double)now->counters.simulations, c),
      mz_text_count((double)now->counters.updates, d));
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
  add(&out, INK_PLAIN, "%lld actors × %lld games  %lld builders  queue %lld  %lld learner threads", (long long)plan->cpu_actor,
      (long long)plan->mcts_storage_size, (long long)plan->batch_actor, (long long)plan->batch_buffer_size,
      (long long)plan->learner_threads);
  add(&out, INK_DIM, "  %s", screen->action);
  put(screen, &out);
}

static void erase(mz_screen *screen) {
  if (screen->drawn > 0) printf("\r\033[%dA\033[J", screen->drawn);
  screen->drawn = 0;
}

static void measure(mz_screen *screen) {
  struct winsize window;
  const bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 0 && window.ws_row > 0;
  screen->columns = known ? window.ws_col : 80;
  screen->rows = known ? window.ws_row : 24;
}

static void draw(mz_screen *screen) {
  if (screen->drawn > 0) printf("\r\033[%dA", screen->drawn);
  screen->drawn = 0;
  measure(screen);
  line out = blank(screen);
  add(&out, INK_BOLD, "%s", screen->title);
  put(screen, &out);
  draw_progress(screen);
  draw_score(screen);
  draw_rates(screen);
  if (screen->warning[0]) {
    out = blank(screen);
    add(&out, INK_YELLOW, "  warning: %s", screen->warning);
    put(screen, &out);
  }
  printf("\033[J");
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

mz_status mz_screen_create(mz_screen **out, const char *title) {
  mz_screen *screen;
  MZ_TRY(mz_alloc(&screen, 1, sizeof *screen));
  MZ_ASSERT(pthread_mutex_init(&screen->lock, NULL) == 0);
  const char *no_colour = getenv("NO_COLOR");
  screen->colour = !no_colour || !*no_colour;
  setlocale(LC_CTYPE, "");
  screen->unicode = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
  snprintf(screen->title, sizeof screen->title, "%s", title);
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
  const bool due = !screen->started || mz_clock_ns() - screen->drawn_ns >= REDRAW_MS * 1000000ull || mz_signals_stopping();
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
