#include "base/machine/cgroup_own.h"
#include "base/file/file.h"
#include "base/machine/cgroup.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { PERIOD_US = 100000 };

/* The kernel's files are there already: one that is not has no such control. */
static mz_status write_control(const mz_cgroup_own *own, const char *name, const char *text) {
  char path[640];
  int fd;
  MZ_TRY(mz_path_join(path, sizeof path, own->folder, name));
  if (!mz_file_exists(path)) return mz_fail(MZ_E_IO, "%s: there is no such control", path);
  MZ_TRY(mz_file_open(path, MZ_FILE_APPEND, &fd));
  const mz_status status = mz_file_append(fd, path, text, strlen(text));
  const mz_status closed = mz_file_close(&fd, path);
  return status != MZ_OK ? status : closed;
}

static bool has_quota(const mz_cgroup_own *own) {
  char path[640];
  return mz_path_join(path, sizeof path, own->folder, own->version_2 ? "cpu.max" : "cpu.cfs_quota_us") == MZ_OK &&
         mz_file_exists(path);
}

static mz_status make_below(mz_cgroup_own *out, const char *root, const char *self, const char *name, const char *controller) {
  char group[512];
  *out = (mz_cgroup_own){.version_2 = controller == NULL};
  if (!mz_cgroup_folder(root, self, controller, group, sizeof group))
    return mz_fail(MZ_E_IO, "%s: this process is in no control group", self);
  MZ_TRY(mz_path_join(out->folder, sizeof out->folder, group, name));
  mz_status status = mz_file_mkdirs(out->folder);
  if (status == MZ_OK && !has_quota(out)) {
    status = mz_fail(MZ_E_IO, "%s: has no CPU quota", out->folder);
    mz_file_remove_folder(out->folder);
  }
  if (status != MZ_OK) *out = (mz_cgroup_own){0};
  return status;
}

mz_status mz_cgroup_own_make(mz_cgroup_own *out, const char *root, const char *self, const char *name) {
  return make_below(out, root, self, name, NULL) == MZ_OK ? MZ_OK : make_below(out, root, self, name, "cpu");
}

mz_status mz_cgroup_own_take(const mz_cgroup_own *own, pid_t pid) {
  char text[32];
  snprintf(text, sizeof text, "%ld", (long)pid);
  return write_control(own, "cgroup.procs", text);
}

mz_status mz_cgroup_own_set_cores(const mz_cgroup_own *own, double cores) {
  char text[64];
  const long quota = lround(cores * PERIOD_US);
  if (own->version_2) {
    snprintf(text, sizeof text, cores > 0 ? "%ld %d" : "max", quota, PERIOD_US);
    return write_control(own, "cpu.max", text);
  }
  snprintf(text, sizeof text, "%d", PERIOD_US);
  MZ_TRY(write_control(own, "cpu.cfs_period_us", text));
  snprintf(text, sizeof text, "%ld", cores > 0 ? quota : -1);
  return write_control(own, "cpu.cfs_quota_us", text);
}

mz_status mz_cgroup_own_remove(mz_cgroup_own *own) {
  const mz_status status = own->folder[0] ? mz_file_remove_folder(own->folder) : MZ_OK;
  *own = (mz_cgroup_own){0};
  return status;
}
