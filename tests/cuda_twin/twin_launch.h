/* The language of kernels for g++: what nvcc gives a .cu file and networks/cuda/launch.cuh asks for. A block's threads are
 * fibers of one host thread; between barriers they run one after the other, in random order.
 *
 * __shared__ arrays lie in a section of their own, which is filled with NaN (bytes 0xff) before each block; all blocks use it
 * one after the other. They belong into `static` functions or into kernels: an inline function's statics cannot share the
 * section. */
#pragma once
#include "kernel.h"
#include "twin_intrinsics.h"
#include <cstring>
#include <tuple>
#include <type_traits>

extern "C" {
/* Bounds of this program's or library's section, made by the linker; NULL where there is none. */
extern unsigned char __start_twin_shared[] __attribute__((weak, visibility("hidden")));
extern unsigned char __stop_twin_shared[] __attribute__((weak, visibility("hidden")));
}

#undef __shared__
/* `used`: the threads of a block change it for each other, which the compiler cannot see. */
#define __shared__ static __attribute__((section("twin_shared"), used))
#define __launch_bounds__(...)
#define MZ_SHARED_ARRAY(type, name) type *const name = static_cast<type *>(twin_dynamic_shared())

extern uint3 threadIdx, blockIdx;
extern dim3 blockDim, gridDim;
constexpr int warpSize = 32;

/* The block's dynamic shared memory; it ends at most 15 bytes before memory that faults. */
void *twin_dynamic_shared(void);

/* Returns which bytes of an argument may belong to pointers: those between members hold whatever was there, at times a pointer to the
 * host; and a type that is less aligned than pointers has none, whatever its numbers look like. */
template <typename T> static inline const unsigned char *twin_members() {
  struct mask {
    alignas(T) unsigned char bytes[sizeof(T)];
    mask() {
      memset(bytes, alignof(T) < alignof(void *) ? 0 : 0xff, sizeof bytes);
#if defined(__has_builtin)
#if __has_builtin(__builtin_clear_padding)
      if constexpr (std::is_class_v<T>) __builtin_clear_padding(reinterpret_cast<T *>(bytes));
#endif
#endif
    }
  };
  static const mask made;
  return made.bytes;
}

template <typename... Parameters, typename... Arguments>
static inline cudaError_t mz_launch(void (*kernel)(Parameters...), dim3 grid, dim3 block, size_t shared_bytes,
                                    cudaStream_t stream, Arguments... arguments) {
  static_assert((std::is_trivially_copyable_v<Parameters> && ...), "a kernel's arguments are copied to the device as bytes");
  static_assert((sizeof(Parameters) + ... + 0) <= 32764, "a kernel's arguments have at most 32,764 bytes");
  return [&](Parameters... converted) {
    const twin_argument list[] = {{&converted, sizeof converted, twin_members<Parameters>()}..., {nullptr, 0, nullptr}};
    const std::tuple<Parameters...> copies(converted...);
    const twin_kernel launch = {reinterpret_cast<const void *>(kernel),
                                [kernel, copies] { std::apply(kernel, copies); },
                                grid,
                                block,
                                shared_bytes,
                                __start_twin_shared,
                                __stop_twin_shared};
    return twin_launch(launch, stream, list, sizeof...(Parameters));
  }(arguments...);
}

/* As nvcc's overload, which takes kernels of any type. */
template <typename... Parameters>
static inline cudaError_t cudaFuncSetAttribute(void (*kernel)(Parameters...), cudaFuncAttribute attribute, int value) {
  return cudaFuncSetAttribute(reinterpret_cast<const void *>(kernel), attribute, value);
}
