#include "networks/ref/norm.h"
#include "networks/ref/access.h"
#include <math.h>

/* One channel of a group of rows: entry e of `count` lies e · stride behind the first. */
typedef struct channel {
  const double *x;
  double *y, *dy, *dx; /* dy NULL in tapes without gradients, dx where none is wanted */
  int count, stride;
  double gamma, beta;
  double mean, variance;
} channel;

static channel channel_of(const mz_tape *tape, const mz_node *node, int group, int c) {
  const int row = group * node->group_rows;
  double *dx = mz_ref_gradient(tape, node->inputs[0], row), *dy = mz_ref_gradient(tape, node->output, row);
  channel own = {.x = mz_ref_data(tape, node->inputs[0], row) + c,
                 .y = mz_ref_data(tape, node->output, row) + c,
                 .dy = dy == NULL ? NULL : dy + c,
                 .dx = dx == NULL ? NULL : dx + c,
                 .count = node->group_rows * node->positions,
                 .stride = mz_ref_param_at(tape, node->norm.gamma).columns,
                 .gamma = mz_ref_param_at(tape, node->norm.gamma).values[c],
                 .beta = mz_ref_param_at(tape, node->norm.beta).values[c]};
  for (int e = 0; e < own.count; e++) own.mean += own.x[e * own.stride] / own.count;
  for (int e = 0; e < own.count; e++) own.variance += pow(own.x[e * own.stride] - own.mean, 2.0) / own.count;
  return own;
}

static double deviation(const channel *c) { return sqrt(c->variance + (double)MZ_NORM_EPSILON); }

static double normalised(const channel *c, int e) { return (c->x[e * c->stride] - c->mean) / deviation(c); }

/* dy before the activation. */
static double gradient_at(const mz_node *node, const channel *c, int e) {
  return node->activation == MZ_RELU && c->y[e * c->stride] <= 0.0 ? 0.0 : c->dy[e * c->stride];
}

void mz_ref_norm(mz_tape *tape, const mz_node *node, int rows) {
  for (int g = 0; g < rows / node->group_rows; g++) {
    for (int i = 0; i < mz_ref_param_at(tape, node->norm.gamma).columns; i++) {
      const channel c = channel_of(tape, node, g, i);
      for (int e = 0; e < c.count; e++) {
        const double y = c.gamma * normalised(&c, e) + c.beta;
        c.y[e * c.stride] = node->activation == MZ_RELU && y < 0.0 ? 0.0 : y;
      }
    }
  }
}

/* The chain rule through x̂ = (x − mean)/√(variance + ε), the variance and the mean, as in Ioffe & Szegedy 2015, section 3. */
static void differentiate(const mz_node *node, const channel *c) {
  const double d = deviation(c);
  double dvariance = 0.0, dmean = 0.0;
  for (int e = 0; e < c->count; e++) {
    const double dnormalised = gradient_at(node, c, e) * c->gamma, off = c->x[e * c->stride] - c->mean;
    dvariance += dnormalised * off * -0.5 / (d * d * d);
    dmean += dnormalised * -1.0 / d;
  }
  for (int e = 0; e < c->count; e++) {
    const double dnormalised = gradient_at(node, c, e) * c->gamma, off = c->x[e * c->stride] - c->mean;
    c->dx[e * c->stride] += dnormalised / d + dvariance * 2.0 * off / c->count + dmean / c->count;
  }
}

void mz_ref_norm_backward(mz_tape *tape, const mz_node *node, int rows) {
  for (int g = 0; g < rows / node->group_rows; g++) {
    for (int i = 0; i < mz_ref_param_at(tape, node->norm.gamma).columns; i++) {
      const channel c = channel_of(tape, node, g, i);
      if (c.dx != NULL) differentiate(node, &c);
    }
  }
}

/* Returns the number of uses of this norm that also share its running statistics. */
static int sharing(const mz_tape *tape, const mz_node *node, const mz_norm *statistics) {
  int count = 0;
  for (int u = 0; u < node->use_count; u++) count += tape->nodes[node->uses[u]].norm.mean == statistics->mean;
  return count;
}

void mz_ref_norm_gradients(mz_tape *tape, const mz_node *node, int rows) {
  const int groups = rows / node->group_rows;
  for (int u = 0; u < node->use_count; u++) {
    const mz_norm *norm = &tape->nodes[node->uses[u]].norm;
    const int parameters[] = {norm->gamma, norm->beta, norm->mean, norm->variance};
    for (int k = 0; k < 4; k++) mz_ref_clear(tape, parameters[k]);
  }
  for (int u = 0; u < node->use_count; u++) {
    const mz_node *use = &tape->nodes[node->uses[u]];
    const double share = tape->share / (sharing(tape, node, &use->norm) * groups);
    double *scale = mz_ref_param_at(tape, use->norm.gamma).gradient, *shift = mz_ref_param_at(tape, use->norm.beta).gradient;
    double *mean = mz_ref_param_at(tape, use->norm.mean).gradient, *variance = mz_ref_param_at(tape, use->norm.variance).gradient;
    for (int g = 0; g < groups; g++) {
      for (int i = 0; i < mz_ref_param_at(tape, node->norm.gamma).columns; i++) {
        const channel c = channel_of(tape, use, g, i);
        for (int e = 0; e < c.count; e++) {
          scale[i] += gradient_at(use, &c, e) * normalised(&c, e);
          shift[i] += gradient_at(use, &c, e);
        }
        mean[i] += share * c.mean;
        variance[i] += share * c.variance;
      }
    }
  }
}

void mz_ref_affine(mz_tape *tape, const mz_node *node, int r) {
  const mz_ref_param scale = mz_ref_param_at(tape, node->weight), shift = mz_ref_param_at(tape, node->bias);
  const double *x = mz_ref_data(tape, node->inputs[0], r);
  double *y = mz_ref_data(tape, node->output, r);
  for (int i = 0; i < node->positions * scale.columns; i++) {
    y[i] = scale.values[i % scale.columns] * x[i] + shift.values[i % scale.columns];
    if (node->activation == MZ_RELU && y[i] < 0.0) y[i] = 0.0;
  }
}

/* ---- layer norm ---- */

/* One position: x̂_c = (x_c − mean)/√(variance + ε) over its channels. */
typedef struct position {
  const double *x, *gamma, *beta;
  int channels;
  double mean, deviation;
} position;

static position position_of(const mz_tape *tape, const mz_node *node, int r, int p) {
  const mz_ref_param gamma = mz_ref_param_at(tape, node->weight), beta = mz_ref_param_at(tape, node->bias);
  position own = {mz_ref_data(tape, node->inputs[0], r) + p * gamma.columns, gamma.values, beta.values, gamma.columns, 0.0, 0.0};
  double variance = 0.0;
  for (int c = 0; c < own.channels; c++) own.mean += own.x[c] / own.channels;
  for (int c = 0; c < own.channels; c++) variance += pow(own.x[c] - own.mean, 2.0) / own.channels;
  own.deviation = sqrt(variance + (double)MZ_NORM_EPSILON);
  return own;
}

static double normalised_at(const position *p, int c) { return (p->x[c] - p->mean) / p->deviation; }

void mz_ref_layer_norm(mz_tape *tape, const mz_node *node, int r) {
  double *y = mz_ref_data(tape, node->output, r);
  for (int i = 0; i < node->positions; i++) {
    const position p = position_of(tape, node, r, i);
    for (int c = 0; c < p.channels; c++) *y++ = p.gamma[c] * normalised_at(&p, c) + p.beta[c];
  }
}

/* ∂x̂_i/∂x_j = (δ_ij − 1/n − x̂_i x̂_j / n) / √(variance + ε). */
void mz_ref_layer_norm_backward(mz_tape *tape, const mz_node *node, int r) {
  const double *dy = mz_ref_gradient(tape, node->output, r);
  double *dx = mz_ref_gradient(tape, node->inputs[0], r);
  if (dx == NULL) return;
  for (int i = 0; i < node->positions; i++) {
    const position p = position_of(tape, node, r, i);
    double sum = 0.0, product = 0.0;
    for (int c = 0; c < p.channels; c++) {
      sum += dy[c] * p.gamma[c];
      product += dy[c] * p.gamma[c] * normalised_at(&p, c);
    }
    for (int c = 0; c < p.channels; c++) {
      dx[c] += (dy[c] * p.gamma[c] - sum / p.channels - normalised_at(&p, c) * product / p.channels) / p.deviation;
    }
    dy += p.channels;
    dx += p.channels;
  }
}

void mz_ref_layer_norm_gradients(mz_tape *tape, const mz_node *node, int rows) {
  double *dgamma = mz_ref_param_at(tape, node->weight).gradient, *dbeta = mz_ref_param_at(tape, node->bias).gradient;
  mz_ref_clear(tape, node->weight);
  mz_ref_clear(tape, node->bias);
  for (int u = 0; u < node->use_count; u++) {
    const mz_node *use = &tape->nodes[node->uses[u]];
    for (int r = 0; r < rows; r++) {
      const double *dy = mz_ref_gradient(tape, use->output, r);
      for (int i = 0; i < use->positions; i++) {
        const position p = position_of(tape, use, r, i);
        for (int c = 0; c < p.channels; c++, dy++) {
          dgamma[c] += *dy * normalised_at(&p, c);
          dbeta[c] += *dy;
        }
      }
    }
  }
}
