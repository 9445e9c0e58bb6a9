/* A folder for a test, emptied by its end. */
#pragma once
#include "base/file/file.h"
#include "base/file/file_calls.h"
#include "base/log.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <dirent.h>
#include <unistd.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

__attribute__((unused)) static char folder[64]; /* of this test; emptied by its end */

static inline const char *in_folder(const char *name) {
  static char path[256];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return path;
}

static inline int make_folder(void **state) {
  (void)state;
  snprintf(folder, sizeof folder, "/tmp/mz_test_file_XXXXXX");
  return mkdtemp(folder) == NULL;
}

static inline int remove_folder(void **state) {
  (void)state;
  char command[256];
  snprintf(command, sizeof command, "chmod -R u+w %s && rm -r %s", folder, folder);
  return system(command);
}

static inline int entries(void) {
  DIR *dir = opendir(folder);
  assert_non_null(dir);
  int count = -2; /* . and .. */
  while (readdir(dir) != NULL) count++;
  closedir(dir);
  return count;
}

/* ---- interrupted and short calls ---- */

#define WITH_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)
