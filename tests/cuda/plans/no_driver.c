/* A stand-in for NVIDIA's driver on machines without one, for the test plans: cuDNN asks for it before it compiles a kernel.
 * There is no device, and what is loaded is forgotten. */

enum { NO_DEVICE = 100, DRIVER_VERSION = 13000 };

#define EXPORTED __attribute__((visibility("default")))
#define SUCCEEDS(name)                                                                                                           \
  EXPORTED int name(void);                                                                                                       \
  int name(void) { return 0; }
/* Gives out something that is not NULL. */
#define HANDS_OUT(name)                                                                                                          \
  EXPORTED int name(const void **handle);                                                                                        \
  int name(const void **handle) {                                                                                                \
    *handle = &something;                                                                                                        \
    return 0;                                                                                                                    \
  }

static const int something = 0;

EXPORTED int cuInit(unsigned flags);
int cuInit(unsigned flags) {
  (void)flags;
  return NO_DEVICE;
}

EXPORTED int cuDriverGetVersion(int *version);
int cuDriverGetVersion(int *version) {
  *version = DRIVER_VERSION;
  return 0;
}

HANDS_OUT(cuLibraryLoadData)
HANDS_OUT(cuLibraryGetKernel)
HANDS_OUT(cuModuleLoadData)
HANDS_OUT(cuModuleLoadDataEx)
HANDS_OUT(cuModuleGetFunction)

SUCCEEDS(cuCtxGetCurrent)
SUCCEEDS(cuCtxGetDevice)
SUCCEEDS(cuCtxGetLimit)
SUCCEEDS(cuCtxPopCurrent)
SUCCEEDS(cuCtxPushCurrent)
SUCCEEDS(cuDeviceGet)
SUCCEEDS(cuDeviceGetAttribute)
SUCCEEDS(cuDeviceGetCount)
SUCCEEDS(cuDevicePrimaryCtxRelease)
SUCCEEDS(cuDevicePrimaryCtxReset)
SUCCEEDS(cuDevicePrimaryCtxRetain)
SUCCEEDS(cuFuncGetAttribute)
SUCCEEDS(cuFuncSetAttribute)
SUCCEEDS(cuGetErrorName)
SUCCEEDS(cuGetErrorString)
SUCCEEDS(cuKernelGetAttribute)
SUCCEEDS(cuKernelSetAttribute)
SUCCEEDS(cuLaunchCooperativeKernel)
SUCCEEDS(cuLaunchKernel)
SUCCEEDS(cuLaunchKernelEx)
SUCCEEDS(cuLibraryLoadFromFile)
SUCCEEDS(cuLibraryUnload)
SUCCEEDS(cuLinkAddData)
SUCCEEDS(cuLinkAddData_v2)
SUCCEEDS(cuLinkAddFile_v2)
SUCCEEDS(cuLinkComplete)
SUCCEEDS(cuLinkCreate)
SUCCEEDS(cuLinkCreate_v2)
SUCCEEDS(cuLinkDestroy)
SUCCEEDS(cuMemcpyDtoH_v2)
SUCCEEDS(cuModuleGetGlobal_v2)
SUCCEEDS(cuModuleLoadFatBinary)
SUCCEEDS(cuModuleUnload)
SUCCEEDS(cuOccupancyMaxActiveBlocksPerMultiprocessor)
SUCCEEDS(cuOccupancyMaxPotentialClusterSize)
SUCCEEDS(cuStreamGetCtx)
SUCCEEDS(cuStreamSynchronize)
SUCCEEDS(cuTensorMapEncodeTiled)
