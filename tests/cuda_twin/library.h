/* Shared by the stand-ins of libraries. */
#pragma once
#include "twin.h"

/* Keeps why a library's call refuses what it was given, for twin_message. */
void twin_library_refuses(const char *call, const char *why);

/* Returns either, in an order without a short period: for what a library does in one order or another. */
bool twin_library_toss(void);

/* Plans that cuDNN's twin has built since it began, for tests of what is shared. */
long twin_dnn_plans(void);
