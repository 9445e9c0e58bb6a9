#include "cli/terminal_window.h"
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

mz_terminal_window mz_terminal_window_measure(void) {
  struct winsize size;
  const bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > 0;
  return known ? (mz_terminal_window){.columns = size.ws_col, .rows = size.ws_row}
               : (mz_terminal_window){.columns = 80, .rows = 24};
}

bool mz_terminal_window_follow(mz_terminal_window *window) {
  const mz_terminal_window now = mz_terminal_window_measure();
  if (now.columns == window->columns && now.rows == window->rows) return false;
  *window = now;
  printf("\033[H\033[2J");
  return true;
}

int mz_window_text_columns(int most) {
  enum { LEAST = 40 };
  if (!isatty(STDOUT_FILENO)) return most;
  const int columns = mz_terminal_window_measure().columns;
  return columns < LEAST ? LEAST : columns > most ? most : columns;
}
