/* The kernel's small text files (procfs, cgroup): opened once, read again and again from their start. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

enum { MZ_SENSOR_PATH = 1024, MZ_SENSOR_TEXT = 4096 };

/* folder/name for reading; -1: not there, or not for us. */
int mz_text_open(const char *folder, const char *name);
int mz_text_open_path(const char *path);
void mz_text_close(int fd); /* -1: nothing */
/* The beginning of the file, ended by NUL; false where there is nothing to read. */
bool mz_text_read(int fd, char out[MZ_SENSOR_TEXT]);

/* The number behind `key` and blanks, where a line starts with them; false: no such line, or no finite number ≥ 0 there. */
bool mz_text_field(const char *text, const char *key, double *out);
/* Reads a finite number ≥ 0 and steps behind it. */
bool mz_sensor_number(const char **at, double *out);
