/* Graphviz, the program `dot`, where it is on PATH: it is run without a shell, on files in a temporary folder. */
#pragma once
#include "cli/explaining/drawing.h"

/* Appends to `svg` what dot makes of the text `dot`. Waits for dot as long as it takes. MZ_E_IO: there is no dot, it failed, or what it
 * wrote is no SVG; nothing is appended then. */
mz_status mz_graphviz_draw(mz_drawing *svg, const mz_drawing *dot);
