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
