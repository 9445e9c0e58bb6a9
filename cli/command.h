/* The command line as data: a table of commands, each with one table of options that drives parsing, --help and suggestions.
 * A command is one file; add it here, in commands.c, and nowhere else. */
#pragma once
#include "base/config/config.h"

typedef enum mz_option_type {
  MZ_OPTION_SWITCH, /* bool */
  MZ_OPTION_TEXT,   /* const char *; NULL when not given */
  MZ_OPTION_COUNT,  /* int64_t, takes k, M, G …; MZ_COUNT_UNSET when not given */
  MZ_OPTION_NUMBER, /* double; NAN when not given */
  MZ_OPTION_TIME,   /* double seconds, takes s, m, h; NAN when not given */
  MZ_OPTION_LIST,   /* mz_text_list: may be given many times; by position: takes all that are left */
} mz_option_type;

enum { MZ_COUNT_UNSET = -1, MZ_LIST_MAX = 128 };

typedef struct mz_text_list {
  const char *items[MZ_LIST_MAX];
  int count;
} mz_text_list;

typedef struct mz_option {
  const char *name; /* "--rounds"; without dashes it is an argument by position: "ENV" */
  mz_option_type type;
  size_t offset;         /* in the command's arguments struct */
  const char *value;     /* what stands for the value in the help: "N"; of an optional argument by position: "optional" */
  const char *fallback;  /* the default as a user would type it, parsed like a given one; NULL: unset */
  const char *otherwise; /* what the help says where fallback is NULL: "the preset's" */
  bool is_kept;          /* a run that continues keeps what it has, where this flag is not given */
  double min, max;       /* of counts, numbers and times; both 0: unchecked */
  mz_class class_;
  const char *help;
  const char *(*choice)(int index); /* names that the value may be, which the help lists after `help`; NULL past the last one */
  const char *refused; /* why the command does not take this flag of its shared table: it is not listed, and giving it fails */
} mz_option;

enum { MZ_OPTION_HELP_SIZE = 512 };
/* `help` and the choices. Returns out. */
const char *mz_option_help(const mz_option *option, char out[MZ_OPTION_HELP_SIZE]);

/* Rows that several commands have. */
#define MZ_OPTION_ENV(offset_)                                                                                                   \
  {                                                                                                                              \
    .name = "ENV", .type = MZ_OPTION_TEXT, .offset = offset_,                                                                    \
    .help = "an environment; `muzero envs` lists them; or the path of your own: ./mine.so, ./mine.so:isolate=1; or gym:ID, "     \
            "spiel:NAME"                                                                                                         \
  }
#define MZ_OPTION_PRESET(offset_)                                                                                                \
  {                                                                                                                              \
    .name = "--preset", .type = MZ_OPTION_TEXT, .offset = offset_, .value = "P", .otherwise = "ENV's own",                       \
    .class_ = MZ_ALGORITHMIC,                                                                                                    \
    .help = "settings to begin with: a bundled name, a JSON file, or RUN for all the settings of that run (its config.json)"     \
  }
#define MZ_OPTION_PHASE(offset_, otherwise_, help_)                                                                              \
  {                                                                                                                              \
    .name = "--phase", .type = MZ_OPTION_COUNT, .offset = offset_, .value = "N", .otherwise = otherwise_, .min = 0,              \
    .max = 9.2e18, .class_ = MZ_OPERATIONAL, .help = help_                                                                       \
  }
#define MZ_OPTION_HISTORY(offset_, help_)                                                                                        \
  {                                                                                                                              \
    .name = "--history", .type = MZ_OPTION_TEXT, .offset = offset_, .value = "FILE",                                             \
    .otherwise = "$XDG_DATA_HOME/muzero/history.db", .class_ = MZ_OPERATIONAL, .help = help_                                     \
  }
#define MZ_OPTION_DEVICE(offset_, fallback_, help_)                                                                              \
  {                                                                                                                              \
    .name = "--device", .type = MZ_OPTION_TEXT, .offset = offset_, .value = "D", .fallback = fallback_, .class_ = MZ_NUMERIC,    \
    .help = help_                                                                                                                \
  }
#define MZ_OPTION_JSON(offset_)                                                                                                  \
  { .name = "--json", .type = MZ_OPTION_SWITCH, .offset = offset_, .class_ = MZ_OPERATIONAL, .help = "one JSON object on stdout" }
#define MZ_OPTION_THREADS(offset_, help_)                                                                                        \
  {                                                                                                                              \
    .name = "--threads", .type = MZ_OPTION_COUNT, .offset = offset_, .value = "N", .otherwise = "the cores granted", .min = 1,   \
    .max = 1024, .class_ = MZ_EXACT, .help = help_                                                                               \
  }

typedef struct mz_command {
  const char *name, *summary; /* summary: one line for the list of commands */
  const char *about;          /* a paragraph for its own help */
  const mz_option *options;   /* both tables end with a row without a name */
  const mz_option *shared;    /* NULL: none; a row of `options` replaces the one of the same name here */
  size_t arguments_size;      /* at most MZ_ARGUMENTS_MAX; starts zeroed */
  bool lists_settings;        /* the help shows keys of --set */
  bool continues;             /* it continues a run */
  const char *examples[2];    /* without the program's name */
  mz_status (*run)(const void *arguments);
} mz_command;

enum { MZ_ARGUMENTS_MAX = 4096, MZ_COMMANDS_MAX = 32 };

extern const mz_command *const mz_commands[]; /* NULL-terminated, in the order of the help */
int mz_command_count(void);
/* MZ_E_USAGE naming the nearest one. */
mz_status mz_command_find(const char *name, const mz_command **out);

/* Returns row `index` of those that the command takes, over both tables; NULL past the end. */
const mz_option *mz_command_option(const mz_command *command, int index);
/* Returns what the help says of an option's default; "" for none. */
const char *mz_command_default(const mz_command *command, const mz_option *option);
bool mz_option_is_flag(const mz_option *option);
/* Fills `arguments` with defaults, then from argv (without program and command). MZ_E_USAGE: what, why, nearest valid name. */
mz_status mz_command_parse(const mz_command *command, int argc, char **argv, void *arguments);
