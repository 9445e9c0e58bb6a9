/* A process that plays a shared object: opens it, describes it, and answers batches of rows (own/row_layout.h) until the program at the
 * socket's other end is gone. One row after another is played, so that a crash belongs to one state and one function. It is compiled
 * into the library as bytes (own/embed_process.cmake). */
#include "envs/own/abi_versions.h"
#include "envs/own/random_source.h"
#include "envs/own/row_layout.h"
#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { SOCKET_FD = 3 };
static const char OBJECT[] = "/proc/self/fd/5";

/* ---- beginning ---- */

/* Ends this process with what the object has started. */
__attribute__((noreturn)) static void end(void) {
  if (getpgrp() == getpid()) kill(0, SIGKILL);
  _exit(0);
}

/* An endless loop of the object's does not see that the program has ended. */
static void *watch_program(void *context) {
  struct pollfd program = {.fd = SOCKET_FD};
  while (!(program.revents & (POLLHUP | POLLERR))) poll(&program, 1, -1);
  (void)context;
  end();
}

static void receive(char *out, size_t size) {
  const ssize_t got = recv(SOCKET_FD, out, size - 1, 0);
  if (got <= 0) end();
  out[got] = '\0';
}

/* Takes the cores of the message that a worker begins with: the thread that started it may be bound to one. */
static void take_cores(const char *message) {
  const char *at = strstr(message, "\"cores\":[");
  cpu_set_t cores;
  CPU_ZERO(&cores);
  if (at) at += strlen("\"cores\":[");
  while (at && *at >= '0' && *at <= '9') {
    char *end;
    const long core = strtol(at, &end, 10);
    if (core < CPU_SETSIZE) CPU_SET((size_t)core, &cores);
    at = *end == ',' ? end + 1 : end;
  }
  if (CPU_COUNT(&cores) > 0) sched_setaffinity(0, sizeof cores, &cores);
}

/* ---- describing ---- */

typedef struct message {
  char text[MZ_WORKER_MESSAGE_MAX - 1];
  size_t used;
} message;

static void put(message *m, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put(message *m, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const size_t room = sizeof m->text - m->used;
  const int length = vsnprintf(m->text + m->used, room, format, arguments);
  va_end(arguments);
  m->used += length < 0 ? 0 : (size_t)length < room ? (size_t)length : room - 1;
}

static void put_text(message *m, const char *key, const char *text) {
  put(m, ",\"%s\":\"", key);
  for (; *text; text++) {
    const bool is_plain = (unsigned char)*text >= ' ' && *text != '"' && *text != '\\';
    if (is_plain)
      put(m, "%c", *text);
    else
      put(m, "\\u%04x", (unsigned)(unsigned char)*text);
  }
  put(m, "\"");
}

static void say(const char *text) {
  if (send(SOCKET_FD, text, strlen(text), MSG_NOSIGNAL) < 0) end();
}

static const muzero_env_abi *open_object(message *m) {
  void *library = dlopen(OBJECT, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char *why = dlerror(), *rest = strstr(why, OBJECT); /* the user knows it by another path */
    put(m, "{\"version\":%d", MZ_WORKER_VERSION);
    char text[1024];
    snprintf(text, sizeof text, "cannot be opened as a shared object: %s", rest ? rest + strlen(OBJECT) + 2 : why);
    put_text(m, "error", text);
    return NULL;
  }
  const muzero_env_abi *(*entry)(void);
  void *symbol = dlsym(library, "muzero_env");
  put(m, "{\"version\":%d", MZ_WORKER_VERSION);
  if (!symbol) {
    put_text(
        m, "error",
        "exports no function muzero_env; it has to define 'MUZERO_ENV_EXPORT const muzero_env_abi *muzero_env(void)', in C++ "
        "within extern \"C\"");
    return NULL;
  }
  memcpy(&entry, &symbol, sizeof entry);
  static muzero_env_abi abi;
  const muzero_env_abi *given = entry();
  if (!given) {
    put_text(m, "error", "muzero_env: returned NULL");
    return NULL;
  }
  mz_own_abi_copy(given, &abi);
  return &abi;
}

static void describe(message *m, const muzero_env_abi *abi) {
  put(m, ",\"abi_version\":%u,\"abi_size\":%u", (unsigned)abi->version, (unsigned)abi->size);
  if (abi->size != mz_own_abi_size(abi->version)) return; /* the rest is of another layout */
  if (abi->title) put_text(m, "title", abi->title);
  if (abi->rules) put_text(m, "rules", abi->rules);
  if (abi->observation) put_text(m, "observation", abi->observation);
  put(m, ",\"functions\":[%d,%d,%d,%d,%d,%d,%d,%d]", abi->reset != NULL, abi->step != NULL, abi->observe != NULL,
      abi->legal != NULL, abi->to_play != NULL, abi->text != NULL, abi->action_text != NULL, abi->valid != NULL);
  put(m, ",\"state_size\":%zu,\"numbers\":[%d,%d,%d,%d,%d,%d,%d,%d,%d,%d,%d,%d,%d]", abi->state_size, (int)abi->observation_kind,
      (int)abi->observation_shape[0], (int)abi->observation_shape[1], (int)abi->observation_shape[2], (int)abi->actions,
      (int)abi->action_kind, (int)abi->players, (int)abi->alternating, (int)abi->max_moves, (int)abi->symmetries, (int)abi->draws,
      (int)abi->one_sided, (int)abi->frames);
  put(m, ",\"floats\":[\"%a\",\"%a\",\"%a\",\"%a\",\"%a\"]", (double)abi->reward_min, (double)abi->reward_max,
      (double)abi->return_min, (double)abi->return_max, (double)abi->observation_scale);
}

/* Returns the object's functions once the program knows them; ends the process where there are none. */
static const muzero_env_abi *begin(void) {
  static message m;
  static char start[MZ_WORKER_MESSAGE_MAX];
  receive(start, sizeof start);
  take_cores(start);
  const muzero_env_abi *abi = open_object(&m);
  if (abi) describe(&m, abi);
  put(&m, "}");
  if (m.used >= sizeof m.text - 1)
    snprintf(m.text, sizeof m.text, "{\"version\":%d,\"error\":\"its texts are too long\"}", MZ_WORKER_VERSION);
  say(m.text);
  return abi;
}

static mz_mailbox_head *take_mailbox(void) {
  char text[1024];
  union {
    char bytes[CMSG_SPACE(sizeof(int))];
    struct cmsghdr aligned;
  } control = {0};
  struct iovec part = {.iov_base = text, .iov_len = sizeof text};
  struct msghdr packet = {
      .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
  struct stat about;
  int fd;
  if (recvmsg(SOCKET_FD, &packet, 0) <= 0 || !CMSG_FIRSTHDR(&packet)) end();
  memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&packet)), sizeof fd);
  if (fstat(fd, &about) != 0) _exit(1);
  mz_mailbox_head *head = mmap(NULL, (size_t)about.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (head == MAP_FAILED) _exit(1);
  close(fd);
  say("r");
  return head;
}

/* ---- rows ---- */

typedef struct player {
  const muzero_env_abi *abi;
  mz_own_layout layout;
  mz_mailbox_head *head;
  mz_mailbox_row *row;
} player;

static uint8_t *part(const player *p, size_t at) { return (uint8_t *)p->row + at; }

static void call(const player *p, mz_worker_call which) {
  p->head->calling = which;
  __atomic_signal_fence(__ATOMIC_SEQ_CST); /* it stands there when the function crashes */
}

/* Takes the first complaint. */
static void complain(const player *p, mz_worker_call which, const char *why) {
  if (!why || p->row->complains) return;
  p->row->complains = (uint8_t)which;
  snprintf((char *)part(p, p->layout.text_at), MZ_OWN_ROW_TEXT_BYTES, "%s", why);
}

static void complain_of_step(void *p, const char *what) { complain(p, MZ_CALL_STEP, what); }

static void look(const player *p) {
  const muzero_env_abi *abi = p->abi;
  const void *state = part(p, MZ_OWN_ROW_STATE_AT);
  uint8_t *observation = part(p, MZ_OWN_ROW_STATE_AT + p->layout.observation_at),
          *mask = part(p, MZ_OWN_ROW_STATE_AT + p->layout.mask_at);
  int32_t mover = 0;
  memset(observation, 0, p->layout.state_bytes - p->layout.observation_at);
  call(p, MZ_CALL_OBSERVE);
  complain(p, MZ_CALL_OBSERVE, abi->observe(state, 1, observation));
  call(p, MZ_CALL_LEGAL);
  if (abi->legal) complain(p, MZ_CALL_LEGAL, abi->legal(state, mask));
  call(p, MZ_CALL_TO_PLAY);
  if (abi->to_play) mover = abi->to_play(state);
  memset(part(p, MZ_OWN_ROW_STATE_AT + p->layout.player_at), 0, 8);
  memcpy(part(p, MZ_OWN_ROW_STATE_AT + p->layout.player_at), &mover, sizeof mover);
}

static void play(const player *p) {
  mz_mailbox_row *row = p->row;
  void *state = part(p, MZ_OWN_ROW_STATE_AT);
  void *numbers = part(p, MZ_OWN_ROW_RNG_AT);
  const mz_generator generator =
      row->draws == MZ_OWN_DRAWS_NUMPY ? mz_generator_from_numpy(numbers) : mz_generator_from_rng(numbers);
  const mz_own_refusal refusal = {(void *)p, complain_of_step};
  const muzero_env_random random = row->draws ? mz_own_random(&generator) : mz_own_refusing(&refusal);
  if (row->action == MZ_WORKER_RESET) {
    memset(state, 0, p->abi->state_size);
    call(p, MZ_CALL_RESET);
    complain(p, MZ_CALL_RESET, p->abi->reset(state, &random));
  } else if (row->action == MZ_WORKER_LOOK) {
    call(p, MZ_CALL_VALID);
    row->refused = p->abi->valid && !p->abi->valid(state);
    if (row->refused) return;
  } else {
    muzero_env_step result = {0};
    const int32_t action = row->action;
    call(p, MZ_CALL_STEP);
    complain(p, MZ_CALL_STEP, p->abi->step(state, 1, &action, &random, &result));
    row->reward = result.reward;
    row->terminated = result.terminated != 0;
    row->truncated = result.truncated != 0;
  }
  look(p);
}

static void answer(const player *p) {
  char *text = (char *)part(p, p->layout.text_at);
  int length = 0;
  p->row->complains = p->row->refused = 0;
  text[0] = '\0';
  if (p->row->action == MZ_WORKER_TEXT) {
    call(p, MZ_CALL_TEXT);
    length = p->abi->text(part(p, MZ_OWN_ROW_STATE_AT), text, MZ_OWN_ROW_TEXT_BYTES);
  } else if (p->row->action == MZ_WORKER_ACTION_TEXT) {
    call(p, MZ_CALL_ACTION_TEXT);
    length = p->abi->action_text(p->row->instance, text, MZ_OWN_ROW_TEXT_BYTES);
  } else
    play(p);
  text[length < 0 ? 0 : MZ_OWN_ROW_TEXT_BYTES - 1] = '\0';
  call(p, MZ_CALL_NONE);
}

static uint64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

int main(void) {
  pthread_t thread;
  char byte[8];
  prctl(PR_SET_NAME, "muzero-env");
  if (pthread_create(&thread, NULL, watch_program, NULL) != 0) return 1;
  player p = {.abi = begin()};
  if (!p.abi) {
    receive(byte, sizeof byte); /* the program reads the answer and ends this process */
    return 1;
  }
  p.head = take_mailbox();
  p.layout = mz_own_layout_of(p.abi);
  for (;;) {
    receive(byte, sizeof byte);
    for (uint32_t i = 0; i < p.head->count; i++) {
      p.row = (mz_mailbox_row *)((uint8_t *)p.head + MZ_MAILBOX_ROWS_AT + (size_t)i * p.head->row_bytes);
      answer(&p);
    }
    p.head->answered_ns = now_ns();
    p.head->done = p.head->serial;
    say("b");
  }
}
