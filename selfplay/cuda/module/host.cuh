/* What the program has handed to the module. */
#pragma once
extern "C" {
#include "networks/module.h"
}

extern const mz_module_host *mz_host; /* set before anything else happens */
