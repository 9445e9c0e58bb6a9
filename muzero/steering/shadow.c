#include "muzero/steering/shadow.h"
#include "allocator/records/stage_lines.h"
#include "base/file/file.h"
#include <string.h>

enum { PATH_MAX_BYTES = 512 };
static const double EQUAL = 1e-9; /* sums of the same regrets differ by rounding */

typedef struct judged {
  const mz_shadowed *of;
  int runs;
  double regrets[MZ_DECIDERS]; /* sums over them */
} judged;

static mz_status refuse(const judged *j, const char *why) {
  return mz_fail(MZ_E_CONFIG,
                 "allocate.strategy=staged: %s; a run with --set allocate.policy=%s and another strategy, to the score or the "
                 "end of the course, makes a record, and --set allocate.shadow=THAT_RUN names it, or several, RUN:RUN",
                 why, j->of->policy);
}

static mz_status read_lines(const char *run, mz_stage_lines *out) {
  char path[PATH_MAX_BYTES + 128];
  if (!mz_file_is_dir(run)) return mz_stage_lines_read(out, run);
  MZ_TRY(mz_ledger_path(run, path, sizeof path));
  return mz_stage_lines_read(out, path);
}

static mz_status add(judged *j, const char *run) {
  char why[MZ_MESSAGE_MAX] = "";
  mz_stage_lines lines;
  const mz_status status = read_lines(run, &lines);
  if (status == MZ_E_MEMORY) return status;
  if (status != MZ_OK) {
    snprintf(why, sizeof why, "allocate.shadow: %.800s", mz_message());
    return refuse(j, why);
  }
  const mz_stages_record *whole = &lines.whole;
  if (!lines.ended || !whole->complete)
    snprintf(why, sizeof why, "allocate.shadow: %s has no record of all stages", run);
  else if (whole->course != j->of->course || whole->policy != j->of->agent)
    snprintf(why, sizeof why, "allocate.shadow: %s recorded another agent, or another course", run);
  else if (whole->drives)
    snprintf(why, sizeof why, "allocate.shadow: in %s the agent drove, which is no shadow", run);
  if (why[0]) return refuse(j, why);
  for (int d = 0; d < MZ_DECIDERS; d++) j->regrets[d] += whole->regrets[d];
  j->runs++;
  return MZ_OK;
}

static mz_status add_each(judged *j, const char *runs) {
  for (const char *at = runs; at; at = strchr(at, ':') ? strchr(at, ':') + 1 : NULL) {
    char run[PATH_MAX_BYTES];
    const size_t length = strcspn(at, ":");
    if (length == 0 || length >= sizeof run) return refuse(j, "allocate.shadow: takes runs, with a colon between two");
    memcpy(run, at, length);
    run[length] = '\0';
    MZ_TRY(add(j, run));
  }
  return MZ_OK;
}

mz_status mz_shadow_check(const char *shadow, const mz_shadowed *of) {
  judged j = {.of = of};
  if (shadow[0] == '\0') return refuse(&j, "no shadow run shows yet that the agent may drive");
  MZ_TRY(add_each(&j, shadow));
  const double own = j.regrets[MZ_DECIDER_POLICY], fixed = j.regrets[MZ_DECIDER_STATIC];
  if (own <= fixed + EQUAL) return MZ_OK;
  char why[MZ_MESSAGE_MAX];
  snprintf(
      why, sizeof why,
      "the agent's regret in %.600s, %.3g, is above that of a fixed plan, %.3g: an agent that was trained longer may do better",
      shadow, own / j.runs, fixed / j.runs);
  return refuse(&j, why);
}
