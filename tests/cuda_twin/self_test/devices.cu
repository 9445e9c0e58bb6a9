#include "self_test.h"
int test_devices(void) { return 0; }
