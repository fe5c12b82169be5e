// The interface between the Metal headers in this folder and the emulator that runs the threads (machine.cpp).
#pragma once
#include <cstddef>

#include "vectors.h"

// The location of a call in the kernel's text: default arguments are evaluated at the call.
#define MSL_SITE const char *file = __builtin_FILE(), int line = __builtin_LINE()

namespace msl {
constexpr int SIMD = 32;  // threads per simdgroup

enum class State { running, simd_operation, simd_barrier, barrier, done };

struct Thread {
  void* stack_pointer = nullptr;
  char* stack = nullptr;
  State state = State::running;
  // the call that the thread waits for, with its input and output
  const char *file = nullptr, *operation = nullptr;
  int line = 0;
  const void* in = nullptr;
  void* out = nullptr;
  int argument = 0;  // the source lane of a shuffle, the flags of a barrier
  const void* operands[3];
  void (*combine)(Thread** lanes, int count) = nullptr;
  // position
  uint index, lane, simdgroup;
  uint3 in_grid, in_threadgroup;
};

struct Group {
  uint3 position, groups, grid, size, dispatched_size;
  uint threads, simdgroups;
};

extern Thread* current;
extern Group group;

// Waits until the operation described by the current thread's fields has been carried out.
void wait(State state, const char* operation, const char* file, int line);
[[noreturn]] void fail(const char* format, ...) __attribute__((format(printf, 1, 2)));
// Returns memory that the threads of a threadgroup share: the same for all that pass the same key.
void* threadgroup_memory(const void* key, const char* name, size_t bytes);
// Called before every atomic operation.
void atomic_access(const void* address, size_t bytes);

template <typename T>
inline T& shared(const void* key, const char* name) {
  return *static_cast<T*>(threadgroup_memory(key, name, sizeof(T)));
}

// Every active lane passes in a value. `combine` is called once with all lanes in order and sets the result of each.
template <typename In, typename Out>
inline Out exchange(const char* operation, In value, int argument, void (*combine)(Thread**, int), const char* file, int line) {
  Out result;
  current->in = &value;
  current->out = &result;
  current->argument = argument;
  current->combine = combine;
  wait(State::simd_operation, operation, file, line);
  return result;
}
template <typename T>
inline const T& given(Thread* lane) { return *static_cast<const T*>(lane->in); }
template <typename T>
inline T& result(Thread* lane) { return *static_cast<T*>(lane->out); }
}  // namespace msl
