/* The analytic model T_ana: seconds per unit of work of a plan, from how much work each stage has, what an item costs at a batch
 * size, how many threads share it, and what a finite queue loses. (Reference: Graham's bounds for makespans; Kendall's M/M/1/K
 * and the machine-repair model for queues; Amdahl for the serial share; processor sharing for threads on shared cores.)
 *
 * Per stage s with k threads, batch b, n = ceil(groups / b) tasks, on a device of C cores:
 *   t_s(b)  = fixed_s / b + item_s                    CPU seconds per item; the last task may be a smaller batch
 *   d_s(b)  = likewise, of seconds at work on a GPU; 0 on a CPU
 *   D_s     = items · (t_s(b) · (serial_s + (1 − serial_s) · share) + d_s(b))
 *   share   = of the busiest thread: ceil(n / k) / n; tasks that are more than the cores take turns; n unbounded: 1 / min(k, C)
 *   a chain = stages of a step that queues join, else a stage alone: max D_s + fill
 *   fill    = what starting, ending and a queue's finite places add; of what exponential task times would lose on top
 *             (a = λ/μ, P_empty = (1 − a)/(1 − a^(K+1)), 1/(K+1) at a = 1) the share `variation`
 *   a step  = max( (Σ chains^γ)^(1/γ), least + contention · (even − least) )     γ in [1, 10]: how far chains overlap
 *   least   = the longest chain, or Σ items · t_s(b) / C, or a GPU's Σ items · d_s(b), where that is more; even: when all threads
 *             share the cores, and the GPU, evenly
 *   T_ana   = scale · Σ steps, without those that are apart
 * Two hardware threads of one core do 1.25 cores' work together: C threads on W cores count as W + 0.25 (C − W), and as many as are busy
 * likewise; t_s is what an item takes on a whole core.
 * On a GPU the tasks of all threads share the device, so that threads make d_s no shorter; t_s is then what its calls take on the
 * cores that the device hangs on (mz_device_home). What a stage costs is known by kind of device: by probes on it, or once it was seen
 * there. A stage that was timed or seen on one kind only is unknown on another, and so is every plan that puts it there; one that no
 * probe times (a fold) is taken to cost the same wherever it is.
 * fixed_s, item_s, serial_s, γ, contention and scale are fitted to observations by weighted least squares on relative errors, with
 * the pipeline's probes as weak priors, all brought to the level of cost of the newest (drift.h); what a plan that was measured
 * itself showed beyond that is kept as its residual.
 * Against a discrete-event simulation of random pipelines with known costs: median error 1.5 %, 90 % within 6.1 %, worst of 800
 * 24 %; with GPUs, by probes of them, 3.5 %, 16 %, 36 % (tests/allocator/analytic.c). Plain structs, no memory of their own,
 * deterministic. */
#pragma once
#include "allocator/model/drift.h"
#include "allocator/pipeline/telemetry.h"

typedef struct mz_prediction {
  double unit_s, low,
      high;       /* seconds per unit; 90 % interval. All NAN: nothing is known of any stage, or not what one costs where it is */
  double apart_s; /* besides, of stages that are apart: their mean per unit */
} mz_prediction;
#define MZ_UNPREDICTED                                                                                                           \
  { NAN, NAN, NAN, 0 }

/* Costs of a stage on devices of one kind. All 0: unknown. */
typedef struct mz_analytic_cost {
  double fixed_s, item_s;               /* CPU seconds per call, per item */
  double device_fixed_s, device_item_s; /* seconds at work on a GPU, likewise */
} mz_analytic_cost;

typedef struct mz_analytic_stage {
  double items, serial;
  mz_analytic_cost costs[MZ_DEVICE_KINDS]; /* unknown on all: the stage counts for nothing */
} mz_analytic_stage;

enum { MZ_RESIDUALS_MAX = MZ_DRIFT_PLANS_MAX };
typedef struct mz_analytic {
  const mz_pipeline *pipeline;
  double cores; /* that all stages share: limits.cpu_max or the grant */
  mz_analytic_stage stages[MZ_STAGES_MAX];
  double gamma, contention, log_scale;
  double variation; /* squared coefficient of variation of an item's time; 1: exponential. Given, not fitted */
  double sigma;     /* standard deviation of log(observed / predicted), leave-one-plan-out where there are two plans or more */
  double drift;     /* standard deviation of the level of cost from one observation to the next (drift.h) */
  int plan_count;   /* plans measured, newest first */
  struct {
    mz_plan plan;
    double residual; /* mean log(observed / T_ana), shrunk the less the more it was measured */
    double sigma;    /* of that mean */
    int count;
  } plans[MZ_RESIDUALS_MAX];
  int observations;
} mz_analytic;

/* From probes alone: what can be said before anything has run. The pipeline stays alive as long as the model. */
void mz_analytic_init(mz_analytic *model, const mz_pipeline *pipeline, double cores);
/* Anew from the observations, oldest first; of more than 128 the newest (later ones weigh more: half as much every 32).
 * Observations without a time, and samples of stages without items, are passed over. For 128 of 6 stages some 0.8 ms under 8 plans, 2 ms
 * under 64. */
void mz_analytic_fit(mz_analytic *model, const mz_observation *observations, int count);
mz_prediction mz_analytic_predict(const mz_analytic *model, const mz_plan *plan);
/* Whether every stage is on a kind of device on which its cost is known, or is unknown on all. */
bool mz_analytic_covers(const mz_analytic *model, const mz_plan *plan);
/* Among the plans it was fitted to. */
bool mz_analytic_measured(const mz_analytic *model, const mz_plan *plan);

/* How a prediction comes about, for `why` and the report; seconds per unit, scaled as the prediction is. */
typedef struct mz_analysis {
  double demand_s[MZ_STAGES_MAX]; /* D_s */
  double cpu_s[MZ_STAGES_MAX];    /* items · t_s(b) */
  double device_s[MZ_STAGES_MAX]; /* items · d_s(b) */
  double starved[MZ_QUEUES_MAX];  /* share of its time that a queue's consumer finds nothing */
  double step_s[MZ_STAGES_MAX];   /* by step */
  int bottleneck; /* of the longest step: the stage with the largest demand; −1: what several stages share binds */
  int shared;     /* that is then: the device, or −1: all cores */
} mz_analysis;
void mz_analytic_explain(const mz_analytic *model, const mz_plan *plan, mz_analysis *out);

/* P_empty of an M/M/1/K queue: share of time that a consumer finds nothing. offered: λ/μ. */
double mz_queue_empty(double offered, int64_t capacity);
