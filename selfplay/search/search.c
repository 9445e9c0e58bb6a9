#include "base/arena.h"
#include "base/machine/clock.h"
#include "selfplay/search/search_state.h"
#include <unistd.h>

size_t mz_search_slot_bytes(const mz_search_settings *settings, int actions, int latent_stride) {
  return (size_t)(settings->simulations + 1) * (mz_tree_node_bytes(actions) + (size_t)latent_stride * sizeof(float));
}

/* As many slots as leave a quarter of the second-level cache to the weights and the stack; at least TILE_MIN, since a model wants
 * some rows together. */
int mz_search_tile(const mz_search_settings *settings, int actions, int latent_stride, int slots) {
  enum { TILE_MIN = 16, CACHE_DEFAULT = 1 << 20 };
  const long reported = sysconf(_SC_LEVEL2_CACHE_SIZE);
  const size_t cache = reported > 0 ? (size_t)reported : CACHE_DEFAULT;
  const size_t fitting = cache / 4 * 3 / mz_search_slot_bytes(settings, actions, latent_stride);
  const int most = fitting > TILE_MIN ? (int)fitting : TILE_MIN;
  return slots < most ? slots : most;
}

int mz_search_latents(const mz_search_settings *settings, int actions, int latent_stride, int slots) {
  return mz_search_tile(settings, actions, latent_stride, slots) * ((int)settings->simulations + 1);
}

/* Sets what is known before there is memory. */
static void carve(mz_search *s, const mz_search_settings *settings, int actions, int latent_stride, mz_turns turns, int slots,
                  mz_carver *carver) {
  MZ_ASSERT(actions >= 1 && latent_stride >= 1 && slots >= 1 && settings->simulations >= 1);
  s->settings = *settings;
  s->latent_stride = latent_stride;
  s->slots = mz_search_tile(settings, actions, latent_stride, slots);
  mz_roots_configure(&s->roots, settings, actions);
  s->tree = (mz_tree){
      .slots = s->slots, .nodes = (int)settings->simulations + 1, .actions = actions, .node_bytes = mz_tree_node_bytes(actions)};
  const size_t n = (size_t)s->slots, nodes = n * (size_t)s->tree.nodes, a = (size_t)actions;
  const bool gumbel = settings->algorithm == MZ_GUMBEL;
  mz_carve(carver, &s->tree.records, nodes, s->tree.node_bytes);
  mz_carve(carver, &s->roots.schedules, gumbel ? ((size_t)s->roots.considered_max + 1) * (size_t)settings->simulations : 0,
           sizeof(int32_t));
  mz_carve(carver, &s->roots.logits, n * a, sizeof(float));
  mz_carve(carver, &s->roots.gumbel_logits, n * a, sizeof(float));
  mz_carve(carver, &s->roots.first, n, sizeof(int32_t));
  mz_carve(carver, &s->roots.considered, n, sizeof(int32_t));
  mz_carve(carver, &s->score, a, sizeof(float));
  int32_t **const counts[] = {&s->leaf, &s->row, &s->in, &s->action, &s->out};
  for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) mz_carve(carver, counts[i], n, sizeof(int32_t));
  mz_carve(carver, &s->policy, n * a, sizeof(float));
  mz_carve(carver, &s->value, n, sizeof(float));
  mz_carve(carver, &s->reward, n, sizeof(float));
  if (turns != MZ_TURNS_TOLD) return;
  mz_carve(carver, &s->discount, n, sizeof(float));
  mz_carve(carver, &s->edge_discount, nodes, sizeof(float));
}

double mz_search_bytes(const mz_search_settings *settings, int actions, int latent_stride, mz_turns turns, int slots) {
  mz_search s;
  mz_carver carver = {0};
  carve(&s, settings, actions, latent_stride, turns, slots, &carver);
  return (double)sizeof s + (double)carver.bytes + mz_scorer_bytes(s.tree.nodes);
}

mz_status mz_search_create(mz_search **out, const mz_search_settings *settings, int actions, int latent_stride, double discount,
                           mz_turns turns, int slots) {
  MZ_ASSERT(discount >= 0 && discount <= 1);
  mz_search *s;
  MZ_TRY(mz_alloc(&s, 1, sizeof *s));
  mz_carver carver = {0};
  carve(s, settings, actions, latent_stride, turns, slots, &carver);
  mz_status status = mz_carve_commit(&carver, &s->block);
  const double edge = turns == MZ_TURNS_ALTERNATE ? -discount : discount;
  if (status == MZ_OK) status = mz_scorer_init(&s->scorer, settings, (float)edge, s->tree.nodes);
  if (status != MZ_OK) {
    mz_search_free(s);
    return status;
  }
  *out = s;
  return MZ_OK;
}

void mz_search_free(mz_search *s) {
  if (!s) return;
  mz_scorer_deinit(&s->scorer);
  free(s->block);
  free(s);
}

const mz_tree *mz_search_tree(const mz_search *s) { return &s->tree; }

void mz_search_count_cost(mz_search *s, bool on) { s->counting = on; }

mz_search_cost mz_search_cost_read(const mz_search *s) { return s->cost; }

static void plan_halving(mz_search *s, int simulations) {
  if (s->settings.algorithm != MZ_GUMBEL || s->roots.schedule_simulations == simulations) return;
  for (int m = 0; m <= s->roots.considered_max; m++)
    mz_halving_schedule(m, simulations, s->roots.schedules + (size_t)m * (size_t)simulations);
  s->roots.schedule_simulations = simulations;
}

/* Initial inference of n roots, one call for each stretch of observations that lie one behind the other. */
static mz_status evaluate_roots(mz_search *s, const mz_search_model *model, int n, const mz_root *roots) {
  for (int slot = 0; slot < n; slot++) s->out[slot] = slot * s->tree.nodes;
  for (int first = 0, end; first < n; first = end) {
    const char *start = roots[first].observation;
    end = first + 1;
    while (end < n &&
           (model->obs_bytes == 0 || (const char *)roots[end].observation == start + (size_t)(end - first) * model->obs_bytes))
      end++;
    MZ_TRY(model->initial(model->context, end - first, start, s->out + first, s->policy + (size_t)first * (size_t)s->tree.actions,
                          s->value + first));
  }
  return MZ_OK;
}

/* Recurrent inference of the rows that the slots have asked for. */
static mz_status ask(mz_search *s, const mz_search_model *model) {
  if (!s->edge_discount)
    return model->recurrent(model->context, s->rows, s->in, s->action, s->out, s->policy, s->value, s->reward);
  return model->recurrent_discounted(model->context, s->rows, s->in, s->action, s->out, s->policy, s->value, s->reward,
                                     s->discount);
}

static mz_status search_tile(mz_search *s, const mz_search_model *model, int n, const mz_root *roots, int simulations,
                             mz_root_result *results) {
  uint64_t started = s->counting ? mz_clock_ns() : 0;
  MZ_TRY(evaluate_roots(s, model, n, roots));
  if (s->counting) s->cost.model_ns += mz_clock_ns() - started;
  s->rows = 0;
  for (int slot = 0; slot < n; slot++) {
    mz_search_init_root(s, slot, &roots[slot]);
    mz_search_begin(s, slot);
  }
  for (int simulation = 1; simulation <= simulations; simulation++) {
    started = s->counting ? mz_clock_ns() : 0;
    if (s->rows) MZ_TRY(ask(s, model));
    if (s->counting) s->cost.model_ns += mz_clock_ns() - started;
    mz_search_finish(s, n, simulation, simulation == simulations);
  }
  if (s->counting) s->cost.simulations += (uint64_t)n * (uint64_t)simulations;
  for (int slot = 0; slot < n; slot++) mz_search_result(s, slot, &results[slot]);
  return MZ_OK;
}

mz_status mz_search_run(mz_search *s, const mz_search_model *model, int n, const mz_root *roots, int simulations,
                        mz_root_result *results) {
  MZ_ASSERT(model->actions == s->tree.actions && model->latent_stride == s->latent_stride);
  MZ_ASSERT(simulations >= 0 && simulations <= s->settings.simulations);
  MZ_ASSERT(!s->edge_discount || model->recurrent_discounted);
  if (simulations == 0) simulations = (int)s->settings.simulations;
  const uint64_t started = s->counting ? mz_clock_ns() : 0;
  plan_halving(s, simulations);
  for (int done = 0; done < n;) { /* tiles of nearly equal size */
    const int tiles = (n - done + s->slots - 1) / s->slots, size = (n - done + tiles - 1) / tiles;
    MZ_TRY(search_tile(s, model, size, roots + done, simulations, results + done));
    done += size;
  }
  if (s->counting) s->cost.total_ns += mz_clock_ns() - started;
  return MZ_OK;
}
