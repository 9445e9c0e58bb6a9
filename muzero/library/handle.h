/* The handles that the library gives out. A handle is a number in a pointer's clothes: the index of an entry of a fixed table and
 * the generation of that entry, so that a closed handle is recognised for ever and nothing that a caller hands in is dereferenced.
 * Each entry has a flag that one call at a time holds, and the requests that wait for it; generation, flag and requests are one
 * atomic word. All of it is thread safe. */
#pragma once
#include "muzero/library/include/muzero.h"

typedef enum mz_handle_kind { MZ_HANDLE_RUN = 1, MZ_HANDLE_AGENT, MZ_HANDLE_GAME } mz_handle_kind;

enum { MZ_HANDLES_MAX = 4096 };

/* Makes a handle for `object` that nobody has entered. MUZERO_E_USAGE when the table is full. */
muzero_status mz_handle_create(void **handle, mz_handle_kind kind, void *object);
/* Gives the object to the caller alone, until mz_handle_leave or mz_handle_destroy. MUZERO_E_USAGE, MUZERO_E_BUSY: the message
 * begins with `function`. */
muzero_status mz_handle_enter(const void *handle, mz_handle_kind kind, const char *function, void **object);
void mz_handle_leave(const void *handle);
/* Ends a handle that the caller has entered. */
void mz_handle_destroy(const void *handle);

/* Adds requests (muzero_request) to those that wait. Async-signal-safe; sets no message. MUZERO_E_USAGE: no open handle. */
muzero_status mz_handle_request(const void *handle, mz_handle_kind kind, int requests);
/* Returns the requests that wait on a handle that the caller has entered, and clears them. */
int mz_handle_take_requests(const void *handle);
