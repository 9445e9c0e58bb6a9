#include "envs/own/shared_object.h"
#include "base/file/file.h"
#include "base/maths/digest.h"
#include "envs/own/abi_versions.h"
#include "envs/own/boundary.h"
#include "envs/own/declared.h"
#include "envs/worker/worker_env.h"
#include <ctype.h>
#include <dlfcn.h>

#define ENTRY "muzero_env"
enum { FILE_BYTES_MAX = 256 << 20 };

typedef struct opened opened;
struct opened {
  mz_env env;
  mz_own_env own;
  muzero_env_abi abi; /* of a file that this process opened, as the present version has it */
  mz_env_file file;
  void *library;
  opened *next;
  char texts[]; /* name and path */
};

static opened *kept;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- opening ---- */

static mz_status load(opened *o, const char *path) {
  char with_slash[4096]; /* without a slash, dlopen would look into the system's folders */
  if (snprintf(with_slash, sizeof with_slash, "%s%s", strchr(path, '/') ? "" : "./", path) >= (int)sizeof with_slash)
    return mz_fail(MZ_E_CONFIG, "%s: path too long", path);
  o->library = dlopen(with_slash, RTLD_NOW | RTLD_LOCAL);
  if (!o->library) return mz_fail(MZ_E_CONFIG, "%s: cannot be opened as a shared object: %s", path, dlerror());
  for (const opened *other = kept; other; other = other->next)
    if (other->library && other->library == o->library)
      return mz_fail(MZ_E_CONFIG, "%s: was overwritten while this program uses it; start the program again", path);
  const muzero_env_abi *(*entry)(void);
  void *symbol = dlsym(o->library, ENTRY);
  if (!symbol)
    return mz_fail(
        MZ_E_CONFIG,
        "%s: exports no function %s; it has to define 'MUZERO_ENV_EXPORT const muzero_env_abi *muzero_env(void)', in C++ "
        "within extern \"C\"",
        path, ENTRY);
  memcpy(&entry, &symbol, sizeof entry); /* ISO C has no cast from data to functions */
  const muzero_env_abi *given = entry();
  if (!given) return mz_fail(MZ_E_CONFIG, "%s: %s: returned NULL", path, ENTRY);
  mz_own_abi_copy(given, &o->abi);
  o->own.abi = &o->abi;
  return MZ_OK;
}

static void drop(opened *o) {
  mz_own_isolated_free(o->own.isolated);
  if (o->library) dlclose(o->library);
  free((void *)o->file.bytes);
  free(o);
}

/* Opens what has been read already. */
static mz_status open_new(const char *name, const mz_env_file *file, opened **out) {
  opened *o;
  const size_t name_bytes = strlen(name) + 1, path_bytes = strlen(file->path) + 1;
  MZ_TRY(mz_alloc(&o, 1, sizeof *o + name_bytes + path_bytes));
  char *const copy_of_path = o->texts + name_bytes;
  memcpy(o->texts, name, name_bytes);
  memcpy(copy_of_path, file->path, path_bytes);
  o->own.path = copy_of_path;
  const int failed = pthread_mutex_init(&o->own.lock, NULL);
  MZ_ASSERT(!failed);
  const mz_own_object object = {.path = copy_of_path, .bytes = file->bytes, .size = file->size};
  const bool isolated = file->isolation.on;
  mz_status status =
      isolated ? mz_own_isolated_create(&o->own.isolated, &object, &file->isolation, &o->own.abi) : load(o, copy_of_path);
  if (status == MZ_OK) status = mz_own_declared_check(o->own.abi, copy_of_path, &o->env.spec);
  if (status == MZ_OK && isolated) status = mz_own_isolated_begin(o->own.isolated);
  if (status != MZ_OK) {
    drop(o);
    return status;
  }
  o->file = *file;
  o->file.path = copy_of_path;
  o->env.name = o->texts;
  mz_own_env_wrap(&o->env, &o->own);
  *out = o;
  return MZ_OK;
}

static mz_status read_file(const char *path, uint8_t **bytes, size_t *size) {
  if (!mz_file_exists(path)) return mz_fail(MZ_E_IO, "environment: %s: there is no such file", path);
  MZ_TRY(mz_file_read(path, FILE_BYTES_MAX, bytes, size));
  if (*size >= 4 && memcmp(*bytes, "\177ELF", 4) == 0) return MZ_OK;
  free(*bytes);
  return mz_fail(MZ_E_CONFIG, "environment: %s: not a shared object; `cc -shared -fPIC -o mine.so mine.c` makes one", path);
}

static bool is_same(const mz_env_file *a, const mz_env_file *b) {
  return a->hash == b->hash && a->size == b->size && a->isolation.on == b->isolation.on &&
         a->isolation.workers == b->isolation.workers && a->isolation.timeout_s == b->isolation.timeout_s;
}

mz_status mz_env_open(const char *path, const char *name, const mz_own_isolation *isolation, const mz_env **out) {
  uint8_t *bytes;
  size_t size;
  MZ_TRY(read_file(path, &bytes, &size));
  const mz_env_file file = {.path = path, .hash = mz_hash(bytes, size, 0), .bytes = bytes, .size = size, .isolation = *isolation};
  mz_status status = MZ_OK;
  pthread_mutex_lock(&lock);
  opened *found = kept;
  while (found && !is_same(&found->file, &file)) found = found->next;
  if (found)
    free(bytes);
  else {
    status = open_new(name, &file, &found);
    if (status != MZ_OK)
      free(bytes);
    else {
      found->next = kept;
      kept = found;
    }
  }
  pthread_mutex_unlock(&lock);
  if (status == MZ_OK) *out = &found->env;
  return status;
}

/* ---- files ---- */

const mz_env_file *mz_env_file_of(const mz_env *env) {
  const mz_own_env *own = mz_own_env_of(env);
  if (!own) return NULL;
  return &((const opened *)((const char *)own - offsetof(opened, own)))->file;
}

bool mz_env_is_same_game(const mz_env *a, const mz_env *b) {
  const mz_env_file *one = mz_env_file_of(a), *other = mz_env_file_of(b);
  return a == b || (one && other && one->hash == other->hash && one->size == other->size) || mz_worker_env_is_same_game(a, b);
}

bool mz_env_file_hash(const char *path, uint64_t *hash) {
  uint8_t *bytes;
  size_t size;
  if (!mz_file_exists(path) || mz_file_read(path, FILE_BYTES_MAX, &bytes, &size) != MZ_OK) return false;
  *hash = mz_hash(bytes, size, 0);
  free(bytes);
  return true;
}

/* "CartPole-v1" for "gym:CartPole-v1,limit=100", "ALE-Pong-v5" for "gym:ALE/Pong-v5": the id, fit for a folder. */
static void short_worker_name(const char *name, char *out, size_t size) {
  const char *id = strchr(name, ':') + 1;
  snprintf(out, size, "%.*s", (int)strcspn(id, ",("), id);
  for (char *c = out; *c; c++)
    if (!isalnum((unsigned char)*c) && !strchr("._-", *c)) *c = '-';
  if (out[0] == '.' || out[0] == '-') out[0] = '_';
}

void mz_env_short_name(const mz_env *env, char *out, size_t size) {
  const char *name = env->name, *slash = strrchr(name, '/');
  if (mz_worker_env_is_name(name)) {
    short_worker_name(name, out, size);
    return;
  }
  if (!mz_env_file_of(env)) {
    snprintf(out, size, "%s", name);
    return;
  }
  if (slash) name = slash + 1;
  snprintf(out, size, "%.*s", (int)strlen(name) - 3, name);
}
