#include "networks/module.h"
#include <dlfcn.h>
#include <glob.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#define FILE_NAME "libmuzero_cuda.so"
#define LIBRARY_NAME "libmuzero.so"
#define ENTRY "mz_module_enter"

static char path[512], why[MZ_MESSAGE_MAX];
static const mz_module *module; /* NULL: could not be opened, `why` says why */

static mz_status fail(mz_status code, const char *format, va_list arguments) {
  char text[MZ_MESSAGE_MAX];
  vsnprintf(text, sizeof text, format, arguments);
  return mz_fail(code, "%s", text);
}

/* ---- where it is ---- */

static bool is_there(const char *file) { return access(file, R_OK) == 0; }

/* The program's folder, without a slash at its end; "" where it cannot be told. */
static void program_folder(char out[], size_t size) {
  const ssize_t length = readlink("/proc/self/exe", out, size - 1);
  out[length > 0 ? length : 0] = '\0';
  char *slash = strrchr(out, '/');
  if (slash != NULL) *slash = '\0';
}

/* The folder of the shared library that this code is part of, without a slash at its end; "" where it is part of a program. */
static void library_folder(char out[], size_t size) {
  Dl_info info;
  out[0] = '\0';
  if (dladdr(path, &info) == 0 || info.dli_fname == NULL) return;
  const char *slash = strrchr(info.dli_fname, '/');
  if (slash != NULL && strncmp(slash + 1, LIBRARY_NAME, strlen(LIBRARY_NAME)) == 0)
    snprintf(out, size, "%.*s", (int)(slash - info.dli_fname), info.dli_fname);
}

/* Returns whether the user has named the file. */
static bool find_file(void) {
  const char *named = getenv("MUZERO_CUDA_MODULE");
  if (named != NULL && named[0] != '\0') {
    snprintf(path, sizeof path, "%s", named);
    return true;
  }
  char library[384], program[384];
  library_folder(library, sizeof library);
  program_folder(program, sizeof program);
  snprintf(path, sizeof path, "%s/muzero/%s", library, FILE_NAME);
  if (library[0] != '\0' && is_there(path)) return false; /* whoever uses the library may lie anywhere */
  snprintf(path, sizeof path, "%s/%s", program, FILE_NAME);
  if (is_there(path)) return false;
  snprintf(path, sizeof path, "%s/%s/%s", program, MUZERO_MODULE_FOLDER, FILE_NAME); /* as installed */
  if (library[0] != '\0' && !is_there(path)) snprintf(path, sizeof path, "%s/muzero/%s", library, FILE_NAME);
  return false;
}

/* ---- what it needs ---- */

static bool driver_is_there(void) {
  void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (driver != NULL) dlclose(driver);
  return driver != NULL;
}

/* Loads every library that the pattern finds; those that the module needs are then known by their names. */
static void load_all(const char *pattern) {
  glob_t found;
  if (glob(pattern, 0, NULL, &found) != 0) return;
  for (size_t i = 0; i < found.gl_pathc; i++) dlopen(found.gl_pathv[i], RTLD_LAZY | RTLD_GLOBAL);
  globfree(&found);
}

/* Libraries that the loader does not find by itself: of the toolkit, then of Python's wheels (PyTorch brings them along). */
static void load_libraries(void) {
  static const char *const libraries[] = {"libcublasLt.so.*", "libnvrtc.so.*", "libcudnn.so.9"}; /* cuDNN compiles by nvrtc */
  static const struct {
    const char *variable, *folder; /* below what the variable names */
  } places[] = {{"CUDA_HOME", "lib64"},
                {"VIRTUAL_ENV", "lib/python3*/site-packages/nvidia/*/lib"},
                {"HOME", ".local/lib/python3*/site-packages/nvidia/*/lib"},
                {NULL, "/usr/local/cuda/lib64"},
                {NULL, "/usr/local/lib/python3*/*-packages/nvidia/*/lib"},
                {NULL, "/usr/lib/python3*/*-packages/nvidia/*/lib"}};
  for (size_t p = 0; p < sizeof places / sizeof *places; p++) {
    const char *base = places[p].variable == NULL ? "" : getenv(places[p].variable);
    if (base == NULL || (places[p].variable != NULL && base[0] == '\0')) continue;
    for (size_t l = 0; l < sizeof libraries / sizeof *libraries; l++) {
      char pattern[512];
      snprintf(pattern, sizeof pattern, "%s%s%s/%s", base, base[0] == '\0' ? "" : "/", places[p].folder, libraries[l]);
      load_all(pattern);
    }
  }
}

/* ---- opening ---- */

static mz_status enter(void *library) {
  static const mz_module_host host = {.interface = MZ_MODULE_INTERFACE,
                                      .version = MUZERO_VERSION,
                                      .fail = fail,
                                      .alloc = mz_alloc,
                                      .reserve_one = mz_reserve_one,
                                      .message = mz_message};
  mz_module_enter_function *entry;
  void *symbol = dlsym(library, ENTRY);
  memcpy(&entry, &symbol, sizeof entry); /* ISO C has no cast from data to functions */
  if (symbol == NULL) return mz_fail(MZ_E_DEVICE, "%s: no module of muzero: it has no %s", path, ENTRY);
  const mz_module *found = NULL;
  MZ_TRY(entry(&host, &found));
  if (found->interface != MZ_MODULE_INTERFACE)
    return mz_fail(MZ_E_DEVICE,
                   "%s: a module of another version of muzero (interface %d, this program has %d): take the one that was "
                   "built with it",
                   path, found->interface, MZ_MODULE_INTERFACE);
  module = found;
  return MZ_OK;
}

static mz_status find_and_open(void) {
  const bool named = find_file();
  if (!is_there(path))
    return mz_fail(MZ_E_DEVICE,
                   named ? "%s: there is no such file (MUZERO_CUDA_MODULE)"
                         : "no CUDA module: there is no %s; build with -DMUZERO_CUDA=ON, which needs the CUDA toolkit and cuDNN "
                           "9.8 or later, or name "
                           "the file in MUZERO_CUDA_MODULE",
                   path);
  if (!named && !driver_is_there()) return mz_fail(MZ_E_DEVICE, "no NVIDIA driver: libcuda.so.1 is not found");
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    load_libraries();
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  }
  if (library == NULL)
    return mz_fail(MZ_E_DEVICE, "the CUDA module cannot be loaded: %s; set LD_LIBRARY_PATH or CUDA_HOME to where the library is",
                   dlerror());
  const mz_status status = enter(library);
  if (status != MZ_OK) dlclose(library);
  return status;
}

static void open_once(void) {
  if (find_and_open() != MZ_OK) snprintf(why, sizeof why, "%s", mz_message());
}

mz_status mz_module_open(const mz_module **out) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, open_once);
  *out = module;
  return module != NULL ? MZ_OK : mz_fail(MZ_E_DEVICE, "%s", why);
}

const char *mz_module_path(void) { return path; }
