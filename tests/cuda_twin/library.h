/* Shared by the stand-ins of libraries. */
#pragma once
#include "twin.h"

/* Keeps why a library's call refuses what it was given, for twin_message. */
void twin_library_refuses(const char *call, const char *why);

/* Plans that cuDNN's twin has built since it began, for tests of what is shared. */
long twin_dnn_plans(void);
