#include "muzero/compare/sentences.h"
#include "base/machine/machine.h"
#include <math.h>

enum { TEXT_MAX = 640 };

static void add_sentence(cJSON *sentences, const char *text) { cJSON_AddItemToArray(sentences, cJSON_CreateString(text)); }

void mz_sentences_add(cJSON *o, const mz_series *series, const mz_arm *arms, int count, const mz_interval *noise,
                      double noise_log) {
  char text[TEXT_MAX];
  cJSON *sentences = cJSON_AddArrayToObject(o, "sentences");
  int block = 0;
  const int seed = mz_series_differ(series, arms, &block), cores = mz_machine_cores();
  if (seed < 0)
    add_sentence(
        sentences,
        "Arms that differ in exact knobs only ended every block with the same digest: they learned the same, bit for bit.");
  else {
    snprintf(
        text, sizeof text,
        "The digests of arms that should learn the same differ from seed number %d, block %d on: do not trust this comparison.",
        seed + 1, block + 1);
    add_sentence(sentences, text);
  }
  cJSON_AddBoolToObject(o, "same_digest", seed < 0);
  if (isfinite(noise_log))
    snprintf(text, sizeof text,
             "%s against itself: ratio %.3f, 95 %% interval %.3f to %.3f; no difference below %.1f %% is claimed.", arms[0].name,
             noise->estimate, noise->low, noise->high, 100 * expm1(noise_log));
  else
    snprintf(text, sizeof text,
             "%s met itself in fewer than two blocks: how much two runs alike differ is not known, and nothing is claimed.",
             arms[0].name);
  add_sentence(sentences, text);
  if (cores <= 4 && !cJSON_HasObjectItem(o, "machine_simulated")) { /* it speaks of this machine */
    snprintf(text, sizeof text,
             "On %d cores almost no split of workers is left to adapt: what can be gained lies in how many games are searched "
             "together, in queue depth, in learner threads and in releasing what is not needed.",
             cores);
    add_sentence(sentences, text);
  }
  for (int a = 0; a < count - 1; a++) {
    int missed = 0, began = 0;
    for (int s = 0; s < series->seeds; s++) {
      const mz_cell_series *cell = mz_series_cell(series, a, s);
      began += !cell->refused;
      missed += !cell->refused && !cell->reached;
    }
    if (!mz_series_censored(series, a) || missed == 0) continue;
    snprintf(text, sizeof text,
             "%s did not reach the target in %d of %d seeds: its times are lower bounds, and nothing is claimed from them.",
             arms[a].name, missed, began);
    add_sentence(sentences, text);
  }
}
