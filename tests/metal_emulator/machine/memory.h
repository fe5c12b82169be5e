// The memory that a kernel may access, and a record of every access.
#pragma once
#include "threads.h"

namespace msl {
enum class Space { device, threadgroup };

void open_memory(const char* module);  // code offsets are relative to `module`
void close_memory();
bool is_watched(const void* address);
// Called by the compiler's instrumentation before every access of a kernel.
void on_access(const void* address, size_t bytes, bool writes, const void* code);

struct Epochs {  // number of barriers passed by the threadgroup and by each simdgroup, for each Space
  uint32_t group[2];
  uint32_t simdgroup[2][SIMD];
};
extern Epochs epochs;
void new_group();
size_t threadgroup_bytes();
void check_repeated_write();  // called before a thread stops
void report_uninitialized_read();  // called at the end of a threadgroup
}  // namespace msl

#pragma GCC visibility push(default)
extern "C" {
void* emulator_buffer(const char* name, size_t bytes, int kind);  // 0 input, 1 output, 2 initialized output
long emulator_unwritten(int buffer);  // first unwritten byte of an output, -1 if there is none
}
#pragma GCC visibility pop
