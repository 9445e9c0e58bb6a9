#include "muzero/steering/curve_record.h"
#include "base/machine/machine.h"
#include "muzero/knobs.h"
#include "networks/isa.h"
#include <math.h>

void mz_curve_key_of(mz_curve_key *key, const mz_history_key *measured, const mz_settings *settings) {
  char model[80];
  mz_machine_model(model, sizeof model);
  snprintf(key->machine, sizeof key->machine, "%s, %d cores, %s", model, mz_machine_cores(), mz_isa_name(mz_isa_level()));
  snprintf(key->env, sizeof key->env, "%s", measured->env);
  snprintf(key->network, sizeof key->network, "%s", measured->network);
  snprintf(key->learning, sizeof key->learning, "%016llx", (unsigned long long)mz_settings_learning_hash(settings));
  snprintf(key->timing, sizeof key->timing, "%016llx", (unsigned long long)mz_settings_timing_hash(settings));
}

double mz_epoch_moves(const mz_settings *s) { return (double)(s->train.phase_rounds * s->selfplay.games * s->selfplay.moves); }

static double share(double part, double whole) { return whole > 0 ? fmin(fmax(part / whole, 0), 1) : NAN; }

void mz_epoch_of_phase(mz_epoch *out, const mz_phase *p, double closing_s) {
  *out = (mz_epoch){.number = (int32_t)p->phase,
                    .score = p->evaluated ? p->score : NAN,
                    .wall_s = p->wall_s - closing_s,
                    .rounds_s = p->round_s,
                    .evaluation_s = p->evaluation_s,
                    .closing_s = closing_s,
                    .batch_size = (double)p->batch_size,
                    .amounts = {0, 0, p->phase_s > 0 ? p->gib_s / p->phase_s : NAN},
                    .use = {share(p->cpu_s, p->reserved_core_s), NAN, 1},
                    .stall = {share(p->learner_wait, 1), NAN, 0},
                    .noise_scale = p->noise_scale,
                    .plan = mz_plan_of_knobs(&p->plan)};
}
