#include "race.h"
#include "memory.h"
#include "state.h"
#include <cstdlib>
#include <set>

struct touch {
  const unsigned char *page;
  const void *byte;
  bool is_write;
};

/* An access in the past. */
struct mark {
  long stream, tick;
  const std::string *name;
};

struct page_history {
  mark writer;                  /* `name` is NULL: none */
  std::map<long, mark> readers; /* since then, the last of each stream */
};

static const size_t TOUCHES_MAX = 1 << 20; /* 4 GiB of pages; an operation that touches more is not watched to its end */

static bool is_watched;
static std::vector<touch> &touches() {
  static auto &list = *new std::vector<touch>();
  return list;
}
static std::map<const unsigned char *, page_history> &histories() {
  static auto &map = *new std::map<const unsigned char *, page_history>();
  return map;
}

static const std::string *name_keep(const std::string &name) {
  static auto &names = *new std::set<std::string>();
  return &*names.insert(name).first;
}

void twin_clock::join(const twin_clock &other) {
  for (const auto &tick : other.ticks) ticks[tick.first] = std::max(ticks[tick.first], tick.second);
}

twin_clock &twin_clock_of_host(void) {
  static auto &clock = *new twin_clock();
  return clock;
}

static void watch([[maybe_unused]] bool on) {
#if defined(__x86_64__)
  is_watched = on;
#endif
  histories().clear();
  twin_clock_of_host().ticks.clear();
  touches().clear();
  if (is_watched) touches().reserve(TOUCHES_MAX); /* handlers take no memory */
}

void twin_races_watch(int on) {
  const twin_guard guard;
  watch(on != 0);
}

__attribute__((constructor)) static void watch_from_environment() {
  const char *const text = getenv("MUZERO_TWIN_RACES");
  watch(text && atoi(text) == 1);
}

bool twin_race_is_watched(void) { return is_watched; }

void twin_race_touch(const unsigned char *page, const void *byte, bool is_write) {
  if (touches().size() < touches().capacity()) touches().push_back({page, byte, is_write});
}

void twin_race_forget(const unsigned char *pages, size_t bytes) {
  histories().erase(histories().lower_bound(pages), histories().lower_bound(pages + bytes));
}

static bool is_before(const mark &earlier, long stream, const twin_clock &clock) {
  const auto known = clock.ticks.find(earlier.stream);
  return earlier.stream == stream || (known != clock.ticks.end() && known->second >= earlier.tick);
}

/* Returns the earlier access that this one races with, or NULL. */
static const mark *race_find(const page_history &history, const touch &now, long stream, const twin_clock &clock) {
  if (history.writer.name && !is_before(history.writer, stream, clock)) return &history.writer;
  if (!now.is_write) return nullptr;
  for (const auto &reader : history.readers)
    if (!is_before(reader.second, stream, clock)) return &reader.second;
  return nullptr;
}

void twin_race_check(const std::string &name, long stream, const twin_clock &clock) {
  std::string why;
  for (const touch &now : touches()) {
    page_history &history = histories()[now.page];
    const mark *const other = race_find(history, now, stream, clock);
    if (other && why.empty())
      why = twin_format("race: %s %s %s, on a page that %s %s on another stream, and no event orders them", name.c_str(),
                        now.is_write ? "writes" : "reads", twin_address_describe(now.byte).c_str(), other->name->c_str(),
                        other == &history.writer ? "wrote" : "read");
    const mark own = {stream, clock.ticks.at(stream), name_keep(name)};
    if (now.is_write)
      history = {own, {}};
    else
      history.readers[stream] = own;
  }
  touches().clear();
  if (!why.empty()) twin_violate(why);
}
