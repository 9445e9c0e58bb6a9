#include "cli/commands.h"
#include "cli/run_argument.h"
#include "cli/training/session.h"
#include "cli/signals.h"

typedef struct resume_arguments {
  mz_session_arguments session;
  const char *run;
  bool allow_numeric, allow_fallback;
} resume_arguments;

#define AT(field) offsetof(resume_arguments, field)
static const mz_option options[] = {
    {.name = "RUN", .type = MZ_OPTION_TEXT, .offset = AT(run), .help = MZ_WHOLE_RUN_HELP},
    {.name = "--allow-numeric",
     .type = MZ_OPTION_SWITCH,
     .offset = AT(allow_numeric),
     .class_ = MZ_NUMERIC,
     .help = "resume although rounding may differ: another kind of device or processor, another library version"},
    {.name = "--allow-fallback",
     .type = MZ_OPTION_SWITCH,
     .offset = AT(allow_fallback),
     .class_ = MZ_OPERATIONAL,
     .help = "where the latest checkpoint or its replay is damaged: go back to the newest sound one, or leave out what is lost"},
    {0},
};

static mz_status resume(const void *given) {
  const resume_arguments *arguments = given;
  mz_signals_handle();
  const mz_run_options run_options = mz_session_run_options(&arguments->session);
  mz_run *run;
  char path[MZ_RUN_ARGUMENT_SIZE];
  MZ_TRY(mz_run_argument(arguments->run, path));
  const int allow = (arguments->allow_numeric ? MZ_ALLOW_NUMERIC : 0) | (arguments->allow_fallback ? MZ_ALLOW_FALLBACK : 0);
  MZ_TRY(mz_run_resume(&run, path, &run_options, allow));
  const mz_status status = mz_session_check_score(mz_run_env(run), &arguments->session);
  if (status == MZ_OK) return mz_session_finish(run, &arguments->session);
  mz_run_close(run);
  return status;
}

const mz_command mz_command_resume = {
    .name = "resume",
    .summary = "continue a run exactly where it stopped",
    .about =
        "Continues from a run's latest checkpoint; the result is the one of a run that was never stopped, unless games cannot "
        "be saved (gym:ID), which then begin anew. Limits, and settings of the classes exact and operational, may differ from "
        "before; anything else that differs is an error that names the key (`train --from` allows it).",
    .options = options,
    .shared = mz_session_options,
    .continues = true,
    .arguments_size = sizeof(resume_arguments),
    .lists_settings = true,
    .examples = {"resume runs/t", "resume runs/cp --for 10m --threads 4"},
    .run = resume,
};
