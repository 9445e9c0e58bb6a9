/* A worker: a process that plays environments, of Python or for the machine, and the socket, memory and log that it has in common with
 * the program. It ends within a few seconds of the socket's other end, however the program ends. One thread at a time uses a worker. */
#pragma once
#include "base/file/memory_file.h"
#include "base/status.h"
#include <stdbool.h>
#include <sys/types.h>

typedef struct mz_worker_program {
  const unsigned char *bytes; /* [size]: a script of Python's, or a program for the machine */
  size_t size;
  bool is_native;              /* a program for the machine */
  const unsigned char *object; /* [object_size]: a file that it finds as descriptor 5; NULL: none */
  size_t object_size;
} mz_worker_program;
extern const mz_worker_program mz_worker_python; /* the script, compiled in (embed.cmake) */

typedef struct mz_worker_process {
  pid_t pid; /* 0: none */
  int socket;
  int end;                /* becomes readable when the process ends; −1 where the system has none */
  double timeout_s;       /* of a wait for an answer */
  mz_memory_file log;     /* its stdout and stderr */
  mz_memory_file mailbox; /* fd −1 until mz_worker_process_share */
} mz_worker_process;

typedef enum mz_worker_answer {
  MZ_WORKER_ANSWERED,
  MZ_WORKER_DIED,
  MZ_WORKER_SILENT, /* nothing came within the time limit */
  MZ_WORKER_ASTRAY, /* an answer came, to another batch than was sent (workers.c finds out) */
} mz_worker_answer;

/* Starts a program, or Python (MUZERO_PYTHON, else python3) on a script. timeout_s bounds every wait for an answer. MZ_E_CONFIG
 * naming the interpreter where it cannot be started, MZ_E_MEMORY. */
mz_status mz_worker_process_start(mz_worker_process *process, const mz_worker_program *program, double timeout_s);
/* Sends a message; false: the process is gone. */
bool mz_worker_process_send(const mz_worker_process *process, const char *message);
/* Makes a mailbox of `bytes` and sends its descriptor with a message. *sent false: the process is gone. MZ_E_MEMORY. */
mz_status mz_worker_process_share(mz_worker_process *process, size_t bytes, const char *message, bool *sent);
/* Waits for a message; NUL-terminated, at most size − 1 bytes. */
mz_worker_answer mz_worker_process_receive(const mz_worker_process *process, char *out, size_t size);
/* Tells the process that nothing more will be asked: it closes its environments and ends. */
void mz_worker_process_leave(const mz_worker_process *process);
/* Gives the process patience_s to end by itself, kills it then, and what it has started; says how it ended: "killed by signal 9". Returns
 * the CPU seconds that it used. */
double mz_worker_process_end(mz_worker_process *process, double patience_s, char *how, size_t size);
