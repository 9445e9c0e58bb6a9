/* The files in page/ and Dygraphs, as bytes; written by embed.cmake. */
#pragma once
#include <stddef.h>

typedef struct mz_asset {
  const char *name; /* "page.css" */
  const unsigned char *data;
  size_t size;
} mz_asset;

extern const mz_asset mz_assets[];
extern const int mz_asset_count;
