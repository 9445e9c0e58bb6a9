/* The program, as the module was handed it. */
#pragma once
extern "C" {
#include "networks/module.h"
}

extern const mz_module_host *mz_host; /* set before anything else happens */
