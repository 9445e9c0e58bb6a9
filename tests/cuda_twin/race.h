/* Races between streams: accesses to the same page of device memory, at least one of them a write, that neither events nor
 * synchronisation of the host order. Their values may come out right by chance; the race is a violation nevertheless.
 * Watched for only where twin_races_watch asks, on x86-64: every operation then faults at each page that it touches. Nodes of one
 * graph are taken to be in order, and all threads of the host to know what one of them waited for. The lock is held in every function. */
#pragma once
#include <map>
#include <string>

/* For each stream's number, how many of its operations have happened before. */
struct twin_clock {
  std::map<long, long> ticks;
  void join(const twin_clock &other);
};

/* Operations that the host knows to be done. */
twin_clock &twin_clock_of_host(void);

bool twin_race_is_watched(void);
/* Called by a signal handler: the operation that runs touched this byte of the page. */
void twin_race_touch(const unsigned char *page, const void *byte, bool is_write);
/* Compares what the operation touched with earlier operations; `clock` is the operation's own, which is of this stream. */
void twin_race_check(const std::string &name, long stream, const twin_clock &clock);
/* Forgets the pages of memory that is freed. */
void twin_race_forget(const unsigned char *pages, size_t bytes);
