/* Names and sizes that the symbol table of a kernel's program or library has of it. */
#pragma once
#include <cstddef>
#include <string>

struct twin_symbol {
  std::string name;    /* "reduce_rows", or "kernel at 0x…" where there is no symbol */
  size_t static_bytes; /* of its __shared__ arrays, those of device functions that it calls left out */
};

/* Returns what is known of the function; the first time it is asked for, the file that it lies in is read. The lock is held. */
const twin_symbol &twin_symbol_find(const void *function);
