/* Runs the program in a folder of its own under /tmp, with its output in memory. Failures of the machinery fail the test. */
#pragma once
#include <stddef.h>
#include <sys/types.h>

typedef struct process {
  pid_t pid;
  int number;      /* of its output files */
  int status;      /* exit status; 128 + signal when it was killed */
  char *out, *err; /* complete when it has ended; freed by the next run of the same struct or process_free */
} process;

/* cmocka group fixtures: the folder is made, and removed with all that is in it. */
int process_make_folder(void **state);
int process_remove_folder(void **state);
const char *process_folder(void);
/* The path of a name in the folder, in one of eight static buffers. */
const char *process_path(const char *name);
/* The whole of a file in the folder, at most 4 MiB, with a NUL; one that is missing or empty fails the test. free() it. */
char *process_text(const char *name);

/* Arguments without the program, NULL at the end. Waits for the end; returns the exit status. */
int process_run(process *p, ...) __attribute__((sentinel));
void process_start(process *p, ...) __attribute__((sentinel));
/* Runs like process_run, through `sh -c`: "ulimit -f 8; exec $MUZERO …". */
int process_shell(process *p, const char *command);
int process_wait(process *p);
void process_free(process *p);

/* Waits, at most 60 s, until the output so far contains `text`; false when it ended or time is over. */
int process_wait_for(const process *p, const char *text);
/* What is on stdout so far; free it. */
char *process_output(const process *p);

#define assert_says(text, word) assert_says_(text, word, __FILE__, __LINE__)
void assert_says_(const char *text, const char *word, const char *file, int line);
/* The exit status with what the program said when it is another one. */
#define assert_status(p, wanted) assert_status_(p, wanted, __FILE__, __LINE__)
void assert_status_(const process *p, int wanted, const char *file, int line);

/* What a command line is refused with: arguments up to the first NULL, exit status, a part of the message. Nothing is printed to
 * stdout. */
typedef struct refusal {
  const char *arguments[6];
  int status;
  const char *says;
} refusal;
void assert_refused(const refusal *refusals, size_t count);
