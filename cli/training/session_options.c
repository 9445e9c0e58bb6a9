/* The flags that `train` and `resume` have in common. */
#include "allocator/strategies/strategy.h"
#include "cli/training/session.h"

#define AT(field) offsetof(mz_session_arguments, field)
/* The rows, where a flag that is not given means `whose` value ("the preset's"), and these defaults. */
#define SESSION_OPTIONS(whose, strategy, action, seed_)                                                                          \
  {.name = "--set",                                                                                                              \
   .type = MZ_OPTION_LIST,                                                                                                       \
   .offset = AT(sets),                                                                                                           \
   .value = "k=v",                                                                                                               \
   .otherwise = whose,                                                                                                           \
   .class_ = MZ_ALGORITHMIC,                                                                                                     \
   .help = "a setting, which has a class of its own; may be repeated"},                                                          \
      MZ_OPTION_DEVICE(AT(device), "auto", "auto, cpu, cuda or cuda:N"),                                                         \
      {.name = "--allocate",                                                                                                     \
       .type = MZ_OPTION_TEXT,                                                                                                   \
       .offset = AT(allocate),                                                                                                   \
       .value = "STRATEGY",                                                                                                      \
       .otherwise = strategy,                                                                                                    \
       .class_ = MZ_OPERATIONAL,                                                                                                 \
       .help = "who moves the knobs while the run trains",                                                                       \
       .choice = mz_strategy_name},                                                                                              \
      MZ_OPTION_HISTORY(AT(history), "measured phases of all runs; none: neither read nor kept"),                                \
      {.name = "--watchdog",                                                                                                     \
       .type = MZ_OPTION_TEXT,                                                                                                   \
       .offset = AT(watchdog),                                                                                                   \
       .value = "ACTION",                                                                                                        \
       .otherwise = action,                                                                                                      \
       .class_ = MZ_OPERATIONAL,                                                                                                 \
       .help = "warn or abort, when nothing moves for watchdog.time"},                                                           \
      MZ_OPTION_THREADS(AT(threads), "budget of worker threads in all"),                                                         \
      {.name = "--seed",                                                                                                         \
       .type = MZ_OPTION_COUNT,                                                                                                  \
       .offset = AT(seed),                                                                                                       \
       .value = "N",                                                                                                             \
       .otherwise = seed_,                                                                                                       \
       .min = 0,                                                                                                                 \
       .max = 9.2e18,                                                                                                            \
       .class_ = MZ_ALGORITHMIC,                                                                                                 \
       .help = "everything random follows from it"},                                                                             \
      {.name = "--for",                                                                                                          \
       .type = MZ_OPTION_TIME,                                                                                                   \
       .offset = AT(for_s),                                                                                                      \
       .value = "TIME",                                                                                                          \
       .otherwise = whose,                                                                                                       \
       .min = 0.001,                                                                                                             \
       .max = 1e9,                                                                                                               \
       .class_ = MZ_OPERATIONAL,                                                                                                 \
       .help = "stop at the end of a round so that this invocation, closing evaluation included, takes at most this long: 90s, " \
               "10m, 2h"},                                                                                                       \
      {.name = "--rounds",                                                                                                       \
       .type = MZ_OPTION_COUNT,                                                                                                  \
       .offset = AT(rounds),                                                                                                     \
       .value = "N",                                                                                                             \
       .otherwise = whose,                                                                                                       \
       .min = 1,                                                                                                                 \
       .max = 9.2e18,                                                                                                            \
       .class_ = MZ_OPERATIONAL,                                                                                                 \
       .help = "stop at this many rounds since the run began, those of the run that it was made from (train --from) included"},  \
      {.name = "--env-steps",                                                                                                    \
       .type = MZ_OPTION_COUNT,                                                                                                  \
       .offset = AT(env_steps),                                                                                                  \
       .value = "N",                                                                                                             \
       .otherwise = whose,                                                                                                       \
       .min = 1,                                                                                                                 \
       .max = 9.2e18,                                                                                                            \
       .class_ = MZ_OPERATIONAL,                                                                                                 \
       .help = "stop at the end of the first round with this many moves, counted like --rounds"},                                \
      {.name = "--updates",                                                                                                      \
       .type = MZ_OPTION_COUNT,                                                                                                  \
       .offset = AT(updates),                                                                                                    \
       .value = "N",                                                                                                             \
       .otherwise = whose,                                                                                                       \
       .min = 1,                                                                                                                 \
       .max = 9.2e18,                                                                                                            \
       .class_ = MZ_OPERATIONAL,                                                                                                 \
       .help = "stop at this many updates, counted like --rounds"},                                                              \
      {.name = "--until",                                                                                                        \
       .type = MZ_OPTION_NUMBER,                                                                                                 \
       .offset = AT(until),                                                                                                      \
       .value = "SCORE",                                                                                                         \
       .otherwise = whose,                                                                                                       \
       .class_ = MZ_OPERATIONAL,                                                                                                 \
       .help = "stop when an evaluation reaches the score and 100 fresh games confirm it"},                                      \
      {.name = "--json",                                                                                                         \
       .type = MZ_OPTION_SWITCH,                                                                                                 \
       .offset = AT(json),                                                                                                       \
       .class_ = MZ_OPERATIONAL,                                                                                                 \
       .help = "one JSON object a line on stdout, nothing else"},                                                                \
  {                                                                                                                              \
    0                                                                                                                            \
  }

const mz_option mz_session_options[] = {SESSION_OPTIONS("the preset's", "greedy", "warn", "1")};
const mz_option mz_resume_options[] = {SESSION_OPTIONS("the run's", "the run's", "the run's", "the run's")};
