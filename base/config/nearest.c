/* "Did you mean …?" */
#include "base/config/config.h"
#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { WORD_MAX = 63, NAMES_MAX = 32 };

static int min3(int a, int b, int c) {
  const int ab = a < b ? a : b;
  return ab < c ? ab : c;
}

static bool same_letter(char a, char b) { return tolower((unsigned char)a) == tolower((unsigned char)b); }

/* Damerau–Levenshtein distance in its restricted form (optimal string alignment): insert, delete, replace, swap neighbours.
 * Capitals count as small letters. Both words fit WORD_MAX. */
static int edit_distance(const char *a, const char *b) {
  const int na = (int)strlen(a), nb = (int)strlen(b);
  int rows[3][WORD_MAX + 1]; /* the table's rows i-2, i-1, i, in turn */
  for (int j = 0; j <= nb; j++) rows[0][j] = j;
  for (int i = 1; i <= na; i++) {
    int *now = rows[i % 3];
    const int *last = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];
    now[0] = i;
    for (int j = 1; j <= nb; j++) {
      const int cost = same_letter(a[i - 1], b[j - 1]) ? 0 : 1;
      now[j] = min3(last[j] + 1, now[j - 1] + 1, last[j - 1] + cost);
      const bool swapped = i > 1 && j > 1 && same_letter(a[i - 1], b[j - 2]) && same_letter(a[i - 2], b[j - 1]);
      if (swapped && before[j - 2] + 1 < now[j]) now[j] = before[j - 2] + 1;
    }
  }
  return rows[na % 3][nb];
}

const char *mz_nearest(const char *word, const char *const *names, int count) {
  const size_t length = strlen(word);
  if (length == 0 || length > WORD_MAX) return NULL;
  const char *best = NULL;
  int best_distance = 1 + (int)(length + 2) / 3; /* more wrong letters than a third is another word */
  for (int i = 0; i < count; i++) {
    if (strlen(names[i]) > WORD_MAX) continue;
    const int distance = edit_distance(word, names[i]);
    if (distance >= best_distance) continue;
    best = names[i];
    best_distance = distance;
  }
  return best;
}

mz_status mz_find_named(const char *word, const char *kind, const char *(*name)(int index), const char *where, int *index) {
  const char *names[NAMES_MAX];
  char all[256] = "";
  int count = 0;
  for (size_t length = 0; name(count) != NULL; count++) {
    MZ_ASSERT(count < NAMES_MAX);
    names[count] = name(count);
    if (strcmp(word, names[count]) == 0) {
      *index = count;
      return MZ_OK;
    }
    length += (size_t)snprintf(all + length, sizeof all - length, "%s%s", count > 0 ? ", " : "", names[count]);
    MZ_ASSERT(length < sizeof all);
  }
  const char *nearest = mz_nearest(word, names, count);
  if (nearest) return mz_fail(MZ_E_CONFIG, "%s: '%.80s' is no %s; did you mean %s?", where, word, kind, nearest);
  return mz_fail(MZ_E_CONFIG, "%s: '%.80s' is no %s; there are %s", where, word, kind, all);
}
