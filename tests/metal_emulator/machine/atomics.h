// Atomics. All threads are fibers of one OS thread, so plain memory is enough. The emulator checks the bounds.
#pragma once
#include "threads.h"

namespace metal {
enum memory_order { memory_order_relaxed };
template <typename T>
struct atomic {
  T value;
};
typedef atomic<int> atomic_int;
typedef atomic<uint> atomic_uint;
typedef atomic<float> atomic_float;
typedef atomic<bool> atomic_bool;

#define MSL_UNWATCHED __attribute__((noinline, no_sanitize("thread")))
template <typename T>
MSL_UNWATCHED T atomic_load_explicit(const atomic<T>* a, memory_order) {
  msl::atomic_access(a, sizeof(T));
  return a->value;
}
template <typename T, typename U>
MSL_UNWATCHED void atomic_store_explicit(atomic<T>* a, U value, memory_order) {
  msl::atomic_access(a, sizeof(T));
  a->value = T(value);
}
#define MSL_ATOMIC(NAME, ...)                                                                       \
  template <typename T, typename U>                                                                 \
  MSL_UNWATCHED T atomic_##NAME##_explicit(atomic<T>* a, U given, memory_order) {                   \
    msl::atomic_access(a, sizeof(T));                                                               \
    const T old = a->value, value = T(given);                                                       \
    a->value = __VA_ARGS__;                                                                         \
    return old;                                                                                     \
  }
MSL_ATOMIC(exchange, value)
MSL_ATOMIC(fetch_add, old + value)
MSL_ATOMIC(fetch_sub, old - value)
MSL_ATOMIC(fetch_max, value > old ? value : old)
MSL_ATOMIC(fetch_min, value < old ? value : old)
MSL_ATOMIC(fetch_or, old | value)
MSL_ATOMIC(fetch_and, old & value)
MSL_ATOMIC(fetch_xor, old ^ value)
template <typename T>
MSL_UNWATCHED bool atomic_compare_exchange_weak_explicit(atomic<T>* a, T* expected, T value, memory_order, memory_order) {
  msl::atomic_access(a, sizeof(T));
  if (std::memcmp(&a->value, expected, sizeof(T)) == 0) {
    a->value = value;
    return true;
  }
  *expected = a->value;
  return false;
}
}  // namespace metal
