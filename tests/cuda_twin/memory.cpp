#include "memory.h"
#include "fault.h"
#include "race.h"
#include "state.h"
#include "sanitize.h"
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <sys/mman.h>
#include <unistd.h>

/* Addresses are handed out once: a pointer to freed memory never points to something else. */
static const size_t REGION_BYTES = (size_t)1 << 38, ALIGNMENT = 256, HUGE_PAGE = 2 << 20;
static const size_t PAGE = (size_t)sysconf(_SC_PAGESIZE);
static unsigned char *region, *region_end; /* of all devices and of pinned memory */
static unsigned char *unused;              /* first address that was never handed out */

static std::map<const unsigned char *, twin_allocation *> &allocations() { /* by first page */
  static auto &map = *new std::map<const unsigned char *, twin_allocation *>();
  return map;
}
static std::vector<twin_allocation *> &open_allocations() {
  static auto &list = *new std::vector<twin_allocation *>();
  return list;
}
static std::map<int, size_t> &used() { /* bytes by device */
  static auto &map = *new std::map<int, size_t>();
  return map;
}

static bool reserve_region() {
  if (region) return true;
  void *const start = mmap(nullptr, REGION_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (start == MAP_FAILED) return false;
  unused = (unsigned char *)start;
  region_end = unused + REGION_BYTES;
  region = unused;
  return true;
}

static size_t charged(size_t bytes) { return (bytes + 511) / 512 * 512; } /* as CUDA's allocator rounds */

twin_allocation *twin_allocation_create(int device, size_t bytes) {
  twin_fault_handler_install();
  if (bytes > REGION_BYTES / 2 || !reserve_region()) return nullptr;
  if (device != TWIN_PINNED_DEVICE && used()[device] + charged(bytes) > twin().memory_max) return nullptr;
  const size_t whole = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT, page_bytes = (whole + PAGE - 1) / PAGE * PAGE;
  if ((size_t)(region_end - unused) < page_bytes + HUGE_PAGE + 2 * PAGE) return nullptr;
  unsigned char *pages = unused + PAGE;
  if (page_bytes >= HUGE_PAGE) { /* opening and closing takes time for each page */
    pages += HUGE_PAGE - (uintptr_t)pages % HUGE_PAGE;
    madvise(pages, page_bytes, MADV_HUGEPAGE);
  }
  if (mprotect(pages, page_bytes, PROT_READ | PROT_WRITE) != 0) return nullptr;
  unused = pages + page_bytes; /* the page behind is the next one's guard in front */
  memset(pages, 0xff, page_bytes);
  twin_allocation *const made =
      new twin_allocation{pages + page_bytes - whole, bytes, pages, page_bytes, device, device == TWIN_PINNED_DEVICE, false};
  if (!made->is_open) mprotect(pages, page_bytes, PROT_NONE);
  twin_poison(pages, (size_t)(made->base - pages));
  twin_poison(made->base + bytes, whole - bytes);
  used()[device] += charged(bytes);
  allocations()[pages] = made;
  open_allocations().reserve(2 * allocations().size()); /* opening, in the midst of work, takes no memory */
  return made;
}

/* Returns the first byte that is not as it was filled, or NULL. */
static unsigned char *first_written(unsigned char *from, const unsigned char *to) {
  while (from < to && *from == 0xff) from++;
  return from < to ? from : nullptr;
}

/* Returns what was written before and behind an open allocation, on its own pages, in words, or ""; and fills it again. */
static std::string slack_check(const twin_allocation *allocation) {
  unsigned char *const end = allocation->base + allocation->bytes, *const pages_end = allocation->pages + allocation->page_bytes;
  const size_t before = (size_t)(allocation->base - allocation->pages), behind = (size_t)(pages_end - end);
  twin_unpoison(allocation->pages, allocation->page_bytes);
  const unsigned char *written = first_written(end, pages_end);
  if (!written) written = first_written(allocation->pages, allocation->base);
  const std::string why = written ? twin_address_describe(written) + ": written" : "";
  memset(allocation->pages, 0xff, before);
  memset(end, 0xff, behind);
  twin_poison(allocation->pages, before);
  twin_poison(end, behind);
  return why;
}

void twin_allocation_free(twin_allocation *allocation) {
  if (allocation->device == TWIN_PINNED_DEVICE) {
    const std::string why = slack_check(allocation);
    if (!why.empty()) twin_violate(why);
  }
  twin_unpoison(allocation->pages, allocation->page_bytes);
  twin_race_forget(allocation->pages, allocation->page_bytes);
  madvise(allocation->pages, allocation->page_bytes, MADV_DONTNEED);
  mprotect(allocation->pages, allocation->page_bytes, PROT_NONE);
  std::vector<twin_allocation *> &open = open_allocations();
  open.erase(std::remove(open.begin(), open.end(), allocation), open.end());
  used()[allocation->device] -= charged(allocation->bytes);
  allocations().erase(allocation->pages);
  delete allocation;
}

/* Returns the allocation with the last first page at or before `address`, or NULL. */
static twin_allocation *allocation_before(const void *address) {
  auto next = allocations().upper_bound((const unsigned char *)address);
  return next == allocations().begin() ? nullptr : std::prev(next)->second;
}

twin_allocation *twin_allocation_find(const void *pointer) {
  twin_allocation *const found = allocation_before(pointer);
  const unsigned char *const byte = (const unsigned char *)pointer;
  return found && byte >= found->base && byte < found->base + found->bytes ? found : nullptr;
}

size_t twin_memory_used(int device) { return used()[device]; }

bool twin_memory_list(void) {
  for (const auto &entry : allocations())
    fprintf(stderr, "cuda twin: leaked: %zu bytes of %s memory\n", entry.second->bytes,
            entry.second->device == TWIN_PINNED_DEVICE ? "pinned" : "device");
  return !allocations().empty();
}

std::string twin_range_check(const twin_range &range, int device) {
  if (range.bytes == 0) return "";
  const twin_allocation *const found = twin_allocation_find(range.pointer);
  if (!found)
    return twin_format("%p is neither device nor pinned memory: %s", range.pointer, twin_address_describe(range.pointer).c_str());
  if (found->device != TWIN_PINNED_DEVICE && found->device != device)
    return twin_format("%p belongs to device %d, the stream to device %d", range.pointer, found->device, device);
  const size_t behind = (size_t)(found->base + found->bytes - (const unsigned char *)range.pointer);
  if (range.bytes > behind)
    return twin_format("%zu bytes are touched where an allocation of %zu bytes has %zu left", range.bytes, found->bytes, behind);
  return "";
}

static std::string holder(const twin_allocation *allocation) {
  return allocation->device == TWIN_PINNED_DEVICE ? "of pinned memory" : twin_format("on device %d", allocation->device);
}

std::string twin_address_describe(const void *address) {
  const unsigned char *const byte = (const unsigned char *)address;
  if (!region || byte < region || byte >= region_end) return twin_format("address %p, which is not device memory", address);
  if (byte >= unused) return twin_format("address %p, behind all device memory", address);
  const auto next = allocations().upper_bound(byte);
  const twin_allocation *const after = next == allocations().end() ? nullptr : next->second;
  const twin_allocation *const before = allocation_before(address);
  if (before && byte >= before->base && byte < before->base + before->bytes)
    return twin_format("byte %zu of an allocation of %zu bytes %s", (size_t)(byte - before->base), before->bytes,
                       holder(before).c_str());
  if (before && byte < before->pages + before->page_bytes + PAGE) {
    if (byte < before->base)
      return twin_format("%zu bytes before an allocation of %zu bytes", (size_t)(before->base - byte), before->bytes);
    return twin_format("%zu bytes behind an allocation of %zu bytes", (size_t)(byte - before->base) - before->bytes + 1,
                       before->bytes);
  }
  if (after && byte >= after->pages - PAGE)
    return twin_format("%zu bytes before an allocation of %zu bytes", (size_t)(after->base - byte), after->bytes);
  return twin_format("address %p, in memory that was freed or never allocated", address);
}

void twin_memory_open(twin_allocation *allocation) {
  if (allocation->is_open) return;
  mprotect(allocation->pages, allocation->page_bytes, PROT_READ | PROT_WRITE);
  allocation->is_open = true;
  open_allocations().push_back(allocation);
}

const unsigned char *twin_memory_open_page(twin_allocation *allocation, const void *address, bool writable) {
  unsigned char *const page = (unsigned char *)((uintptr_t)address / PAGE * PAGE);
  mprotect(page, PAGE, writable ? PROT_READ | PROT_WRITE : PROT_READ);
  if (!allocation->is_part_open) open_allocations().push_back(allocation);
  allocation->is_part_open = true;
  return page;
}

std::string twin_memory_close(void) {
  std::string why;
  for (twin_allocation *const allocation : open_allocations()) {
    if (allocation->is_part_open) mprotect(allocation->pages, allocation->page_bytes, PROT_READ | PROT_WRITE);
    const std::string slack = slack_check(allocation);
    if (!slack.empty()) why = slack;
    mprotect(allocation->pages, allocation->page_bytes, PROT_NONE);
    allocation->is_open = allocation->is_part_open = false;
  }
  open_allocations().clear();
  return why;
}

bool twin_memory_is_device_region(const void *address) {
  return region && (const unsigned char *)address >= region && (const unsigned char *)address < region_end;
}

twin_memory twin_memory_at(const void *pointer) {
  const twin_guard guard;
  const twin_allocation *const found = twin_allocation_find(pointer);
  size_t alignment = 1;
  while (alignment < ALIGNMENT && (uintptr_t)pointer % (2 * alignment) == 0) alignment *= 2;
  if (!found) return {TWIN_PAGEABLE, 0, 0, alignment};
  const size_t behind = (size_t)(found->base + found->bytes - (const unsigned char *)pointer);
  return {found->device == TWIN_PINNED_DEVICE ? TWIN_PINNED : TWIN_DEVICE, found->device, behind, alignment};
}
