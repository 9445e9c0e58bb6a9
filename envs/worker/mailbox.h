/* Memory that the program and a worker share: a head, and rows of questions with their answers. The program writes the questions of
 * a batch, one byte goes over the socket, the worker writes the answers, one byte comes back. A row is the program's before that
 * byte leaves and after it has come back, and the worker's in between. script/ reads and writes the same layout. */
#pragma once
#include <stdint.h>

enum {
  MZ_WORKER_VERSION = 1,
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
  uint32_t unused;
} mz_mailbox_head;

/* Actions that are none. */
enum {
  MZ_WORKER_RESET = -1,
  MZ_WORKER_LOOK = -2, /* answers for a history as it is */
  MZ_WORKER_TEXT = -3, /* writes a history's position for people */
};

typedef struct mz_mailbox_row {
  /* questions */
  int32_t instance, action;
  uint64_t seed;         /* of a reset, or of what chance draws in this step */
  int32_t history_count; /* entries of the history before the step */
  uint32_t unused;
  /* answers */
  float reward;
  uint8_t terminated, truncated, refused, padding; /* refused: the history is none of this game */
  int32_t player, history_after, moves;
} mz_mailbox_row;
_Static_assert(sizeof(mz_mailbox_row) <= MZ_MAILBOX_BODY_AT && sizeof(mz_mailbox_head) <= MZ_MAILBOX_ROWS_AT, "layout");
