// The memory that a kernel may touch, and who touched it when.
#pragma once
#include "threads.h"

namespace msl {
enum class Space { device, threadgroup };

void open_memory(const char* module);  // where code addresses are counted from
void close_memory();
bool is_watched(const void* address);
// A kernel's access, told by the compiler's instrumentation, before it happens.
void on_access(const void* address, size_t bytes, bool writes, const void* code);

struct Epochs {  // barriers passed: by the whole threadgroup, by each simdgroup; one of each a space
  uint32_t group[2];
  uint32_t simdgroup[2][SIMD];
};
extern Epochs epochs;
void new_group();
size_t threadgroup_bytes();
void settle_write();  // before a thread stops
void settle_doubt();  // at the end of a threadgroup
}  // namespace msl

#pragma GCC visibility push(default)
extern "C" {
void* emulator_buffer(const char* name, size_t bytes, int kind);  // 0 input, 1 output, 2 output that is initialised
long emulator_unwritten(int buffer);  // first byte of an output that nobody wrote, -1 if there is none
}
#pragma GCC visibility pop
