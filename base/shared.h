/* Formulas that a CPU and a GPU share. A header that holds some compiles as C11, as C++17 and, by nvcc, as code for a device: it does
 * without compound literals, designated initialisers and pointers to functions, and casts bits by memcpy. Results are the same bits
 * everywhere, since products and sums are rounded one by one (gcc -ffp-contract=off, nvcc -fmad=false). */
#pragma once

/* Begins the definition of a shared function. */
#ifdef __CUDACC__
#define MZ_SHARED static inline __host__ __device__
#else
#define MZ_SHARED static inline
#endif

/* MZ_ASSERT (base/status.h) in a shared function; checks nothing on a device. */
#ifdef __CUDA_ARCH__
#define MZ_SHARED_ASSERT(cond) ((void)(cond))
#else
#define MZ_SHARED_ASSERT(cond) MZ_ASSERT(cond)
#endif

/* MZ_C_BEGIN and MZ_C_END enclose declarations of functions that are compiled as C and called from C++, too. */
#ifdef __cplusplus
#define MZ_C_BEGIN extern "C" {
#define MZ_C_END }
#else
#define MZ_C_BEGIN
#define MZ_C_END
#endif
