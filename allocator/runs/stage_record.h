/* Lines of the ledger about stages: what the agent of a course proposed at the beginning of each, and what came of all of them. Their
 * inputs read back to the same bits, so that a resumed run continues from its last line. Plain structs. */
#pragma once
#include "base/json/fields.h"
#include "allocator/runs/curve.h"

/* Decision makers whose regrets are summed up: the agent, and beside it the plan in force kept and the plan redone (course_policy.h). */
typedef enum mz_stage_decider { MZ_DECIDER_POLICY, MZ_DECIDER_STATIC, MZ_DECIDER_REPLAN, MZ_DECIDERS } mz_stage_decider;
extern const char *const mz_stage_decider_names[MZ_DECIDERS]; /* "policy", "static", "replan" */

/* {"event":"stage","phase","round","stage","course","policy","drives","state":{…},"mask":[…],"offered":[…],"plans":{"policy","static",
 * "replan"},"regrets":{…},"sums":{…},"half_cost","chosen","reason"} */
typedef struct mz_stage_record {
  int64_t phase, round;
  uint64_t course, policy;     /* digests */
  bool drives;                 /* the agent's plan comes into force; otherwise it is only recorded */
  mz_course_state state;       /* at the beginning of the stage; stage = the course's stages: at the end of the last one */
  uint32_t mask, offered;      /* bit per plan: that the course's limits allow; those of them that this run can take */
  int plans[MZ_DECIDERS];      /* that each would take; −1 after the last stage */
  double regrets[MZ_DECIDERS]; /* of these, in the course's rewards */
  double sums[MZ_DECIDERS];    /* of the regrets, this one included */
  double half_cost;            /* cost when the first half of the stages had ended; NAN: it has not */
  int chosen;                  /* that the stage begins under; −1: another strategy's */
  char reason[320];            /* in words */
} mz_stage_record;
cJSON *mz_stage_record_to_json(const mz_stage_record *record, int plan_count);
/* code: of errors. */
mz_status mz_stage_record_from_json(mz_stage_record *out, const cJSON *json, const char *where, mz_status code);

/* {"event":"stages","phase","round","course","policy","drives","stages","complete","seconds","cost","score","violations",
 *  "regrets":{"policy","static","replan"},"early","reason"} */
typedef struct mz_stages_record {
  int64_t phase, round;
  uint64_t course, policy;
  bool drives, complete; /* complete: all stages of the course were run */
  int stages;            /* that were run */
  double seconds, cost, score;
  int violations;              /* limits of the course that the run violates; of one that is not complete as if it had ended */
  double regrets[MZ_DECIDERS]; /* sums over the stages */
  double early;                /* share of the cost that the first half of the course's stages took; NAN: they were not run */
  char reason[320];
} mz_stages_record;
cJSON *mz_stages_record_to_json(const mz_stages_record *record);
mz_status mz_stages_record_from_json(mz_stages_record *out, const cJSON *json, const char *where, mz_status code);

/* {"event":"epoch","number","score","use":[…],"stall":[…],"noise_scale"}: an epoch that ended within a stage, as the stage's progress
 * counts it; null: not measured. */
cJSON *mz_stage_epoch_to_json(const mz_epoch *epoch);
mz_status mz_stage_epoch_from_json(mz_epoch *out, const cJSON *json, const char *where, mz_status code);
