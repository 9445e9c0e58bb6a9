#include "allocator/search/search_looks.h"
#include "base/maths/streams.h"

const char *mz_search_end_name(mz_search_end end) {
  static const char *const names[] = {"cold", "spent", "all", "nothing"};
  return names[end];
}

void mz_search_random(const mz_search_options *options, mz_search_result *out) {
  mz_looks looks;
  mz_looks_init(&looks, options, out);
  if (out->plans <= looks.budget) {
    mz_search_all(options, out);
    return;
  }
  mz_rng rng = mz_stream_search(options->seed, MZ_SEARCH_DRAWS, 0);
  mz_point point = mz_space_point(&looks.space, &options->start);
  mz_looks_at(&looks, &point);
  /* Refused draws are free, but not without end. */
  for (int64_t most = 100 * (int64_t)looks.budget; !mz_looks_spent(&looks) && out->proposals < most; out->proposals++) {
    point = mz_space_draw(&looks.space, &rng);
    mz_looks_at(&looks, &point);
  }
  out->end = out->count == 0 ? MZ_SEARCH_NOTHING : MZ_SEARCH_SPENT;
}

void mz_search_all(const mz_search_options *options, mz_search_result *out) {
  mz_looks looks;
  mz_looks_init(&looks, options, out);
  mz_point point = {{0}};
  do mz_looks_evaluate(&looks, &point);
  while (mz_space_next(&looks.space, &point));
  out->end = out->count == 0 ? MZ_SEARCH_NOTHING : MZ_SEARCH_ALL;
}
