/* Memory that the program and a worker share: a head, and rows of questions with their answers. The program writes the questions of
 * a batch, one byte goes over the socket, the worker writes the answers, one byte comes back. A row is the program's before that
 * byte leaves and after it has come back, and the worker's in between. script/ reads and writes the same layout; processes of shared
 * objects (own/row_layout.h) have more in a row, and say in the head which function is running. */
#pragma once
#include <stdint.h>

enum {
  MZ_WORKER_VERSION = 3,
  MZ_WORKER_MESSAGE_MAX = 1 << 16, /* bytes of a message over the socket */
  MZ_MAILBOX_MAGIC = 0x315A4D57,
  MZ_MAILBOX_ROWS_AT = 64, /* bytes from the beginning */
  MZ_MAILBOX_BODY_AT = 64, /* bytes from a row's beginning: the observation; mask, history and text follow where there are any */
};

typedef struct mz_mailbox_head {
  uint32_t magic, version;
  uint32_t rows, row_bytes;
  uint32_t serial, count; /* of the batch, and how many rows it has */
  uint32_t done;          /* the serial of the batch that was answered last */
  uint32_t calling;       /* mz_worker_call: the function of a shared object that is running */
  uint64_t answered_ns;   /* when that was, by the machine's monotonic clock */
} mz_mailbox_head;

/* Actions that are none. */
enum {
  MZ_WORKER_RESET = -1,
  MZ_WORKER_LOOK = -2,        /* answers for a history as it is */
  MZ_WORKER_TEXT = -3,        /* writes a history's position for people */
  MZ_WORKER_ACTION_TEXT = -4, /* writes the action `instance` for people */
};

/* Functions of a shared object (envs/env_abi.h). */
typedef enum mz_worker_call {
  MZ_CALL_NONE,
  MZ_CALL_RESET,
  MZ_CALL_STEP,
  MZ_CALL_OBSERVE,
  MZ_CALL_LEGAL,
  MZ_CALL_TO_PLAY,
  MZ_CALL_TEXT,
  MZ_CALL_ACTION_TEXT,
  MZ_CALL_VALID,
  MZ_CALLS
} mz_worker_call;
/* Returns its name, "step"; NULL for MZ_CALL_NONE and for numbers that are none. */
static inline const char *mz_worker_call_name(uint32_t call) {
  static const char *const names[MZ_CALLS] = {0, "reset", "step", "observe", "legal", "to_play", "text", "action_text", "valid"};
  return call < MZ_CALLS ? names[call] : (const char *)0;
}

typedef struct mz_mailbox_row {
  /* questions */
  int32_t instance, action;
  uint64_t seed;         /* of a reset, or of what chance draws in this step */
  int32_t history_count; /* entries of the history before the step */
  uint32_t draws;        /* mz_own_draws: which numbers a shared object's function may draw (own/row_layout.h) */
  /* answers */
  float reward;
  uint8_t terminated, truncated;
  uint8_t refused;   /* the history, or the state, is none of this game */
  uint8_t complains; /* mz_worker_call that says what went wrong, in the row's text; 0: none does */
  int32_t player, history_after, moves;
  uint8_t masked; /* Gymnasium's: the mask says which actions are legal; 0: all are */
} mz_mailbox_row;
_Static_assert(sizeof(mz_mailbox_row) <= MZ_MAILBOX_BODY_AT && sizeof(mz_mailbox_head) <= MZ_MAILBOX_ROWS_AT, "layout");
