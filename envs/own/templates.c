#include "envs/own/templates.h"
#include "base/file/file.h"
#include <string.h>

enum { NAME_MAX_BYTES = 64, PATH_BYTES = 1024 };
static const char MARK[] = "@NAME@";

static const mz_template *find(const char *name) {
  int i = 0;
  while (i < mz_template_count && strcmp(mz_templates[i].name, name) != 0) i++;
  MZ_ASSERT(i < mz_template_count);
  return &mz_templates[i];
}

/* Writes a template with its marks replaced by the name. */
static mz_status write_one(const char *folder, const char *template, const char *file, const char *name) {
  const mz_template *from = find(template);
  const char *at = (const char *)from->bytes, *const end = at + from->size;
  const size_t mark = strlen(MARK), length = strlen(name);
  char path[PATH_BYTES], *text;
  MZ_TRY(mz_path_join(path, sizeof path, folder, file));
  MZ_TRY(mz_alloc(&text, from->size / mark * NAME_MAX_BYTES + from->size + 1, 1));
  size_t used = 0;
  while (at < end) {
    const bool marked = (size_t)(end - at) >= mark && memcmp(at, MARK, mark) == 0;
    memcpy(text + used, marked ? name : at, marked ? length : 1);
    used += marked ? length : 1;
    at += marked ? mark : 1;
  }
  const mz_status status = mz_file_write_atomic(path, text, used);
  free(text);
  return status;
}

static mz_status check_name(const char *path, const char *name) {
  static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_", more[] = "0123456789-";
  size_t length = 0;
  while (name[length] && (strchr(letters, name[length]) || (length > 0 && strchr(more, name[length])))) length++;
  if (length >= NAME_MAX_BYTES)
    return mz_fail(MZ_E_CONFIG, "--new %s: a name of %zu bytes; it takes at most %d", path, strlen(name), NAME_MAX_BYTES - 1);
  if (length == 0 || name[length])
    return mz_fail(MZ_E_CONFIG,
                   "--new %s: '%s' is no name for a file; it takes letters, digits, '_' and '-', and begins with a letter", path,
                   name);
  if (mz_file_exists(path)) return mz_fail(MZ_E_CONFIG, "--new %s: is there already; choose another name", path);
  return MZ_OK;
}

mz_status mz_templates_write(const char *path, mz_template_game game) {
  static const char *const games[] = {[MZ_TEMPLATE_ONE_PLAYER] = "one_player.c.in",
                                      [MZ_TEMPLATE_TWO_PLAYERS] = "two_players.c.in",
                                      [MZ_TEMPLATE_PIXELS] = "pixels.c.in"};
  char name[PATH_BYTES], source[PATH_BYTES];
  const char *slash = strrchr(path, '/');
  if (snprintf(name, sizeof name, "%s", slash ? slash + 1 : path) >= (int)sizeof name || strlen(path) >= PATH_BYTES / 2)
    return mz_fail(MZ_E_CONFIG, "--new %s: path too long", path);
  MZ_TRY(check_name(path, name));
  snprintf(source, sizeof source, "%.*s.c", NAME_MAX_BYTES, name);
  MZ_TRY(mz_file_mkdirs(path));
  MZ_TRY(write_one(path, games[game], source, name));
  MZ_TRY(write_one(path, "env_abi.h", "env_abi.h", name));
  MZ_TRY(write_one(path, "CMakeLists.txt.in", "CMakeLists.txt", name));
  return write_one(path, "test.sh.in", "test.sh", name);
}
