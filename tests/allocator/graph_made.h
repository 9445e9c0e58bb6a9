/* Graphs of pipelines that are not running, and their features by name. */
#pragma once
#include "allocator/graph/graph.h"
#include "tests/allocator/invented.h"

/* By the model that probes alone give. */
static inline mz_graph graph_of(const mz_pipeline *pipeline, const mz_plan *plan, bool explained, const mz_observation *newest) {
  mz_analytic model;
  mz_analytic_init(&model, pipeline, mz_pipeline_cores(pipeline));
  const mz_graph_situation situation = {.model = &model, .explained = explained, .newest = newest};
  mz_graph graph;
  mz_graph_init(&graph, &situation, plan);
  return graph;
}

static inline double node_feature(const mz_graph_node *node, const char *name) {
  const char *at;
  for (int f = 0; (at = mz_graph_node_feature_name(node->kind, f)); f++)
    if (strcmp(at, name) == 0) return (double)node->features[f];
  fail_msg("a node of kind %s has no feature '%s'", mz_graph_node_kind_name(node->kind), name);
  return NAN;
}

/* Gives stages of a pipeline drawn at random (draw_pipeline) work and devices, and adds networks and links. */
static inline void draw_uses(mz_rng *rng, mz_pipeline *p) {
  const int device_knobs = draw(rng, 1, p->knob_count);
  for (int i = 0; i < device_knobs; i++) {
    p->knobs[i].scale = MZ_SCALE_CHOICE;
    p->knobs[i].min = 0;
    p->knobs[i].max = p->device_count - 1;
  }
  for (int s = 0; s < p->stage_count; s++) {
    p->stages[s].work = (mz_work_kind)draw(rng, MZ_WORK_OTHER, MZ_WORK_TRAINING);
    p->stages[s].apart = draw(rng, 0, 5) == 0;
    p->stages[s].device = draw(rng, -1, device_knobs - 1);
  }
  p->network_count = draw(rng, 0, MZ_NETWORKS_MAX);
  for (int n = 0; n < p->network_count; n++) {
    draw_name(rng, n, p->networks[n].name);
    p->networks[n].parameters = draw_amount(rng);
    p->networks[n].flops = draw_amount(rng);
    p->networks[n].users = mz_rng_below(rng, 1u << p->stage_count);
  }
  p->link_count = p->store_count > 0 ? draw(rng, 0, MZ_LINKS_MAX) : 0;
  for (int i = 0; i < p->link_count; i++)
    p->links[i] = (mz_pipeline_link){.stage = draw(rng, 0, p->stage_count - 1),
                                     .store = draw(rng, 0, p->store_count - 1),
                                     .writes = draw(rng, 0, 1),
                                     .items = draw_amount(rng),
                                     .bytes = draw_amount(rng)};
}
