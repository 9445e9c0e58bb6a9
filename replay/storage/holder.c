#include "replay/storage/holder.h"
#include "replay/buffer_state.h"

typedef struct mz_wanted {
  uint64_t serial;
  int draw;
} mz_wanted;

void mz_holder_drop(mz_holder *holder) {
  for (int i = 0; i < holder->copy_count; i++) mz_segment_release(holder->copies[i]);
  holder->copy_count = 0;
}

static void free_lists(mz_holder *holder) {
  mz_holder_drop(holder);
  free(holder->wanted);
  free(holder->copies);
  holder->wanted = NULL;
  holder->copies = NULL;
  holder->capacity = 0;
}

void mz_holder_deinit(mz_holder *holder) {
  free_lists(holder);
  mz_unpacker_deinit(&holder->unpacker);
}

static mz_status reserve(mz_holder *holder, int n) {
  if (holder->capacity >= n) return MZ_OK;
  free_lists(holder);
  MZ_TRY(mz_alloc(&holder->wanted, (size_t)n, sizeof *holder->wanted));
  MZ_TRY(mz_alloc(&holder->copies, (size_t)n, sizeof *holder->copies));
  holder->capacity = n;
  return MZ_OK;
}

static int by_serial(const void *a, const void *b) {
  const mz_wanted *x = a, *y = b;
  return (x->serial > y->serial) - (x->serial < y->serial);
}

/* In the order of serials: what is spilled is read forwards. */
static int list_wanted(mz_holder *holder, int n, const mz_draw *draws) {
  int count = 0;
  for (int i = 0; i < n; i++)
    if (!draws[i].segment) holder->wanted[count++] = (mz_wanted){.serial = draws[i].serial, .draw = i};
  qsort(holder->wanted, (size_t)count, sizeof *holder->wanted, by_serial);
  return count;
}

mz_status mz_buffer_hold(const mz_buffer *buffer, mz_holder *holder, int n, mz_draw *draws) {
  const mz_tiers *tiers = mz_buffer_tiers(buffer);
  if (tiers->first_raw == tiers->oldest) return MZ_OK; /* everything is raw */
  mz_holder_drop(holder);
  MZ_TRY(reserve(holder, n));
  int count = list_wanted(holder, n, draws);
  for (int i = 0; i < count; i++) {
    const mz_wanted *w = &holder->wanted[i];
    if (i == 0 || w->serial != w[-1].serial) {
      MZ_TRY(mz_tiers_unpack(tiers, w->serial, &holder->unpacker, &holder->copies[holder->copy_count]));
      holder->copy_count++;
    }
    draws[w->draw].segment = holder->copies[holder->copy_count - 1];
  }
  return MZ_OK;
}
