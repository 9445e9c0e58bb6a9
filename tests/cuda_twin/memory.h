/* Memory of devices and pinned memory: every allocation has pages of its own between guard pages, and its end is as close to the
 * guard as an alignment of 256 bytes allows. Device memory is unreadable until work opens it. The lock is held in every
 * function. */
#pragma once
#include "twin.h"
#include <string>

enum { TWIN_PINNED_DEVICE = -1 };

struct twin_allocation {
  unsigned char *base; /* first byte, aligned to 256 */
  size_t bytes;
  unsigned char *pages; /* first page; base is in it or behind it */
  size_t page_bytes;
  int device;        /* or TWIN_PINNED_DEVICE */
  bool is_open;      /* all of it */
  bool is_part_open; /* single pages */
};

/* Returns an allocation of `bytes` > 0, or NULL where the device's memory or the machine's is used up. */
twin_allocation *twin_allocation_create(int device, size_t bytes);
void twin_allocation_free(twin_allocation *allocation);
/* Returns the allocation that holds the byte at `pointer`, or NULL. */
twin_allocation *twin_allocation_find(const void *pointer);
size_t twin_memory_used(int device);
/* Lists what is allocated on stderr; returns whether there was anything. */
bool twin_memory_list(void);

/* Returns why `range` is no memory that work of `device` may touch, or "". */
std::string twin_range_check(const twin_range &range, int device);
/* Returns where `address` is, in words: "12 bytes behind an allocation of 64 bytes". */
std::string twin_address_describe(const void *address);

/* Makes an allocation readable and writable until the next twin_memory_close. */
void twin_memory_open(twin_allocation *allocation);
/* As open, for the page that holds `address`; returns the page. */
const unsigned char *twin_memory_open_page(twin_allocation *allocation, const void *address, bool writable);
/* Makes everything that is open unreadable again. Returns what was written outside of allocations, in words, or "". */
std::string twin_memory_close(void);
/* Returns whether the address lies in the region that device memory is taken from. Needs no lock. */
bool twin_memory_is_device_region(const void *address);
