#include "self_test.h"
int test_streams(void) { return 0; }
