#include "muzero/steering/shadow.h"
#include "allocator/records/stage_lines.h"
#include "base/file/file.h"

static const double EQUAL = 1e-9; /* sums of the same regrets differ by rounding */

static mz_status refuse(const char *policy, const char *why) {
  return mz_fail(MZ_E_CONFIG,
                 "allocate.strategy=staged: %s; a run with --set allocate.policy=%s and another strategy, to the score or the "
                 "end of the course, makes a record, and --set allocate.shadow=THAT_RUN names it",
                 why, policy);
}

static mz_status read_lines(const char *shadow, mz_stage_lines *out) {
  char path[640];
  if (!mz_file_is_dir(shadow)) return mz_stage_lines_read(out, shadow);
  MZ_TRY(mz_ledger_path(shadow, path, sizeof path));
  return mz_stage_lines_read(out, path);
}

mz_status mz_shadow_check(const char *shadow, const char *policy, uint64_t course, uint64_t agent) {
  char why[MZ_MESSAGE_MAX];
  mz_stage_lines lines;
  if (shadow[0] == '\0') return refuse(policy, "no shadow run shows yet that the agent may drive");
  const mz_status status = read_lines(shadow, &lines);
  if (status == MZ_E_MEMORY) return status;
  if (status != MZ_OK) {
    char message[MZ_MESSAGE_MAX];
    snprintf(message, sizeof message, "%s", mz_message());
    snprintf(why, sizeof why, "allocate.shadow: %.800s", message);
    return refuse(policy, why);
  }
  const mz_stages_record *whole = &lines.whole;
  if (!lines.ended || !whole->complete)
    snprintf(why, sizeof why, "allocate.shadow: %s has no record of all stages", shadow);
  else if (whole->course != course || whole->policy != agent)
    snprintf(why, sizeof why, "allocate.shadow: %s recorded another agent, or another course", shadow);
  else if (whole->drives)
    snprintf(why, sizeof why, "allocate.shadow: in %s the agent drove, which is no shadow", shadow);
  else if (whole->regrets[MZ_DECIDER_POLICY] > whole->regrets[MZ_DECIDER_STATIC] + EQUAL)
    snprintf(
        why, sizeof why,
        "the agent's regret in %s, %.3g, is above that of a fixed plan, %.3g: an agent that was trained longer may do better",
        shadow, whole->regrets[MZ_DECIDER_POLICY], whole->regrets[MZ_DECIDER_STATIC]);
  else
    return MZ_OK;
  return refuse(policy, why);
}
