#include "replay/segments/content.h"

uint64_t mz_content_hash(const mz_content *content) { return content->segment ? content->segment->hash : content->packed->hash; }

size_t mz_content_bytes(const mz_content *content) { return content->segment ? content->segment->bytes : content->packed->bytes; }

void mz_content_release(mz_content *content) {
  mz_segment_release(content->segment);
  mz_packed_release(content->packed);
  *content = (mz_content){0};
}
