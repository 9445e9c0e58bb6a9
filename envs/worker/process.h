/* A worker: a Python process that plays environments, and the socket, memory and log that it has in common with the program. It ends
 * when the socket's other end does, however the program ends. One thread at a time uses a worker. */
#pragma once
#include "base/file/memory_file.h"
#include "base/status.h"
#include <stdbool.h>
#include <sys/types.h>

/* The script that workers run; compiled in (embed.cmake). */
extern const unsigned char mz_worker_script[];
extern const size_t mz_worker_script_size;

typedef struct mz_worker_process {
  pid_t pid; /* 0: none */
  int socket;
  mz_memory_file log;     /* its stdout and stderr */
  mz_memory_file mailbox; /* fd −1 until mz_worker_process_share */
} mz_worker_process;

typedef enum mz_worker_answer {
  MZ_WORKER_ANSWERED,
  MZ_WORKER_DIED,
  MZ_WORKER_SILENT, /* nothing came within the time limit */
  MZ_WORKER_ASTRAY, /* an answer came, to another batch than was sent (workers.c finds out) */
} mz_worker_answer;

/* Starts Python (MUZERO_PYTHON, else python3) on the script. timeout_s bounds every wait for an answer. MZ_E_CONFIG
 * naming the interpreter where it cannot be started, MZ_E_MEMORY. */
mz_status mz_worker_process_start(mz_worker_process *process, double timeout_s);
/* Sends a message; false: the process is gone. */
bool mz_worker_process_send(const mz_worker_process *process, const char *message);
/* Makes a mailbox of `bytes` and sends its descriptor with a message. *sent false: the process is gone. MZ_E_MEMORY. */
mz_status mz_worker_process_share(mz_worker_process *process, size_t bytes, const char *message, bool *sent);
/* Waits for a message; NUL-terminated, at most size − 1 bytes. */
mz_worker_answer mz_worker_process_receive(const mz_worker_process *process, char *out, size_t size);
/* Kills the process, waits for its end, and says how it ended: "killed by signal 9". `how`: NULL is fine. */
void mz_worker_process_end(mz_worker_process *process, char *how, size_t size);
