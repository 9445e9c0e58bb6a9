/* A search over plans as an SVG: temperature, energies and the share of moves that was accepted, over the plans evaluated. */
#pragma once
#include "allocator/search/search.h"

/* Replaces the file. MZ_E_IO where it cannot be written; a search without temperatures (a space looked at whole) says so in the
 * picture. */
mz_status mz_plan_trace_write(const char *path, const mz_search_result *search);
