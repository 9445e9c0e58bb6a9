/* A segment in the form in which it is at hand. */
#pragma once
#include "replay/segments/packed.h"

typedef struct mz_content { /* one reference to one of the two; the other is NULL */
  mz_segment *segment;
  mz_packed *packed;
} mz_content;
uint64_t mz_content_hash(const mz_content *content);
size_t mz_content_bytes(const mz_content *content); /* when raw */
void mz_content_release(mz_content *content);
