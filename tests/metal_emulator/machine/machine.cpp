// Runs a kernel's threads as fibers of one OS thread, one threadgroup at a time. The threads of a threadgroup run in a chosen order
// until each waits or has returned. Then the operation that they wait for is carried out. Threads that wait for different operations,
// which is undefined in Metal, are a fault.
#include <csetjmp>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <dlfcn.h>
#include <sys/mman.h>
#include <utility>
#include <vector>

#include "memory.h"

namespace msl {
Thread* current;
Group group;

namespace {
constexpr size_t STACK = 256 * 1024, MAX_THREADS = 1024;
enum Order { forward, backward, shuffled };

Thread threads[MAX_THREADS];
char message[512];
bool failed;
void (*kernel)(void**, const Thread&);
void** arguments;
Order order;
uint32_t random_state;

// ---- fibers
// Saves the callee-saved registers on the stack, stores the stack pointer in `*save` and continues from the stack pointer `to`.
// In assembly because Darwin's makecontext clears the whole stack and its swapcontext makes system calls. The explicit assembler name
// keeps Mach-O's leading underscore away.
extern "C" void emulator_switch(void** save, void* to) __asm__("emulator_switch");
#if defined(__x86_64__)
__asm__(
    ".text\n"
    "emulator_switch:\n"
    " push %rbp\n push %rbx\n push %r12\n push %r13\n push %r14\n push %r15\n"
    " mov %rsp,(%rdi)\n mov %rsi,%rsp\n"
    " pop %r15\n pop %r14\n pop %r13\n pop %r12\n pop %rbx\n pop %rbp\n ret\n");
constexpr int SAVED = 8, RETURN_ADDRESS = 6;  // words; the last one only aligns the stack
#elif defined(__aarch64__)
__asm__(
    ".text\n.p2align 2\n"
    "emulator_switch:\n"
    " sub sp, sp, #160\n"
    " stp x19, x20, [sp]\n stp x21, x22, [sp, #16]\n stp x23, x24, [sp, #32]\n stp x25, x26, [sp, #48]\n"
    " stp x27, x28, [sp, #64]\n stp x29, x30, [sp, #80]\n"
    " stp d8, d9, [sp, #96]\n stp d10, d11, [sp, #112]\n stp d12, d13, [sp, #128]\n stp d14, d15, [sp, #144]\n"
    " mov x9, sp\n str x9, [x0]\n mov sp, x1\n"
    " ldp x19, x20, [sp]\n ldp x21, x22, [sp, #16]\n ldp x23, x24, [sp, #32]\n ldp x25, x26, [sp, #48]\n"
    " ldp x27, x28, [sp, #64]\n ldp x29, x30, [sp, #80]\n"
    " ldp d8, d9, [sp, #96]\n ldp d10, d11, [sp, #112]\n ldp d12, d13, [sp, #128]\n ldp d14, d15, [sp, #144]\n"
    " add sp, sp, #160\n ret\n");
constexpr int SAVED = 20, RETURN_ADDRESS = 11;  // words; x30 is the return address
#else
#error "emulator_switch is written for x86-64 and arm64"
#endif
void* scheduler;
void to_scheduler() { emulator_switch(&current->stack_pointer, scheduler); }
void to_thread(Thread& t) { emulator_switch(&scheduler, t.stack_pointer); }
void begin();
void prepare(Thread& t) {
  void** top = reinterpret_cast<void**>(t.stack + STACK) - SAVED;
  for (int i = 0; i < SAVED; i++) top[i] = nullptr;
  top[RETURN_ADDRESS] = reinterpret_cast<void*>(begin);
  t.stack_pointer = top;
}
void begin() {
  kernel(arguments, *current);
  check_repeated_write();
  current->state = State::done;
  to_scheduler();
  __builtin_trap();
}
void resume(Thread& t) {
  current = &t;
  to_thread(t);
}

uint32_t random_below(uint32_t n) {
  random_state = random_state * 1664525u + 1013904223u;
  return (random_state >> 8) % n;
}

// ---- operations that threads wait for
void fail_divergent(const Thread& a, const Thread& b) {
  const char* scope = a.state == State::barrier || b.state == State::barrier ? "threadgroup" : "simdgroup";
  const Thread &one = a.state == State::done ? b : a, &other = a.state == State::done ? a : b;
  if (other.state == State::done)
    fail("%s:%d: divergent %s: thread %u of the %s has returned, thread %u waits", one.file, one.line, one.operation, other.index, scope,
        one.index);
  fail("%s:%d: divergent %s: thread %u of the %s waits at %s:%d (%s)", one.file, one.line, one.operation, other.index, scope, other.file,
      other.line, other.operation);
}
bool same_call(const Thread& a, const Thread& b) {
  return a.state == b.state && a.line == b.line && !std::strcmp(a.file, b.file) && !std::strcmp(a.operation, b.operation);
}
void advance(int flags, uint32_t* device, uint32_t* threadgroup) {
  if (flags & 1) ++*device;
  if (flags & 2) ++*threadgroup;
}

// Returns whether the simdgroup continues.
bool resolve_simdgroup(int first, int last) {
  Thread* waiting = nullptr;
  for (int i = first; i < last; i++)
    if (threads[i].state == State::simd_operation || threads[i].state == State::simd_barrier) waiting = &threads[i];
  if (!waiting) return false;
  Thread* lanes[SIMD];
  for (int i = first; i < last; i++) {
    if (!same_call(*waiting, threads[i])) fail_divergent(*waiting, threads[i]);
    lanes[i - first] = &threads[i];
  }
  const int s = waiting->simdgroup;
  if (waiting->state == State::simd_barrier) advance(waiting->argument, &epochs.simdgroup[0][s], &epochs.simdgroup[1][s]);
  else waiting->combine(lanes, last - first);
  for (int i = first; i < last; i++) threads[i].state = State::running;
  return true;
}

// Returns whether the threadgroup continues: not if all threads have returned.
bool resolve_group(int count) {
  for (int i = 1; i < count; i++)
    if (threads[i].state == State::done ? threads[0].state != State::done : !same_call(threads[0], threads[i]))
      fail_divergent(threads[0], threads[i]);
  if (threads[0].state == State::done) return false;
  advance(threads[0].argument, &epochs.group[0], &epochs.group[1]);
  for (int i = 0; i < count; i++) threads[i].state = State::running;
  return true;
}

void run_group(int count) {
  std::vector<int> sequence(count);
  for (int i = 0; i < count; i++) sequence[i] = order == backward ? count - 1 - i : i;
  for (;;) {
    if (order == shuffled)
      for (int i = count - 1; i > 0; i--) std::swap(sequence[i], sequence[random_below(i + 1)]);
    for (int i : sequence)
      if (threads[i].state == State::running) {
        resume(threads[i]);
        if (failed) return;
      }
    current = nullptr;
    bool continues = false;
    for (int first = 0; first < count; first += SIMD) continues |= resolve_simdgroup(first, first + SIMD < count ? first + SIMD : count);
    if (!continues && !resolve_group(count)) return;
  }
}

jmp_buf scheduler_fault;
sigjmp_buf crash;
void on_crash(int signal, siginfo_t* info, void* context) {
  if (!current) {
    std::signal(signal, SIG_DFL);
    raise(signal);
    return;
  }
  std::snprintf(message, sizeof message, "memory fault: thread %u accesses %p, outside every buffer", current->index, info->si_addr);
  siglongjmp(crash, 1);
}
}  // namespace

void wait(State state, const char* operation, const char* file, int line) {
  check_repeated_write();
  current->state = state;
  current->operation = operation;
  current->file = file;
  current->line = line;
  to_scheduler();
}

void fail(const char* format, ...) {
  va_list values;
  va_start(values, format);
  std::vsnprintf(message, sizeof message, format, values);
  va_end(values);
  failed = true;
  if (!current) longjmp(scheduler_fault, 1);
  to_scheduler();
  __builtin_trap();
}
}  // namespace msl

#pragma GCC visibility push(default)
extern "C" {
void emulator_open() {
  Dl_info info;
  dladdr(reinterpret_cast<void*>(&emulator_open), &info);
  msl::open_memory(static_cast<const char*>(info.dli_fbase));
  msl::message[0] = 0;
}
void emulator_close() { msl::close_memory(); }
const char* emulator_message() { return msl::message; }
size_t emulator_threadgroup_bytes() { return msl::threadgroup_bytes(); }

// Runs the kernel over `grid` threads in threadgroups of `size`. Returns 0 if there was no fault.
int emulator_run(void (*kernel)(void**, const msl::Thread&), void** arguments, const uint* grid, const uint* size, int order, uint seed) {
  using namespace msl;
  msl::kernel = kernel, msl::arguments = arguments, msl::order = Order(order), random_state = seed * 2654435761u + 1;
  failed = false;
  uint s[3], groups[3];
  for (int i = 0; i < 3; i++) s[i] = size[i] < grid[i] ? size[i] : grid[i], groups[i] = (grid[i] + s[i] - 1) / s[i];
  for (Thread& t : threads)
    if (!t.stack)
      t.stack = static_cast<char*>(mmap(nullptr, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));

  static char handler_stack[1 << 16];
  stack_t alternative{}, old_stack;
  alternative.ss_sp = handler_stack, alternative.ss_size = sizeof handler_stack;
  sigaltstack(&alternative, &old_stack);
  struct sigaction action{}, old_segv, old_bus;
  action.sa_sigaction = on_crash, action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigaction(SIGSEGV, &action, &old_segv);
  sigaction(SIGBUS, &action, &old_bus);

  if (sigsetjmp(crash, 1)) failed = true;
  else if (!setjmp(scheduler_fault)) {
    const uint64_t total = uint64_t(groups[0]) * groups[1] * groups[2];
    for (uint64_t n = 0; n < total && !failed; n++) {
      const uint64_t q = order == backward ? total - 1 - n : n;
      const uint3 at(q % groups[0], q / groups[0] % groups[1], q / (uint64_t(groups[0]) * groups[1]));
      uint edge[3];  // threadgroups at the end of the grid are smaller
      for (int i = 0; i < 3; i++) edge[i] = s[i] < grid[i] - at[i] * s[i] ? s[i] : grid[i] - at[i] * s[i];
      const uint count = edge[0] * edge[1] * edge[2];
      group = {at, uint3(groups[0], groups[1], groups[2]), uint3(grid[0], grid[1], grid[2]), uint3(edge[0], edge[1], edge[2]),
          uint3(s[0], s[1], s[2]), count, (count + SIMD - 1) / SIMD};
      new_group();
      for (uint i = 0; i < count; i++) {
        Thread& t = threads[i];
        t.index = i, t.lane = i % SIMD, t.simdgroup = i / SIMD, t.state = State::running;
        t.in_threadgroup = uint3(i % edge[0], i / edge[0] % edge[1], i / (edge[0] * edge[1]));
        t.in_grid = uint3(at.x * s[0] + t.in_threadgroup.x, at.y * s[1] + t.in_threadgroup.y, at.z * s[2] + t.in_threadgroup.z);
        prepare(t);
      }
      run_group(count);
      if (!failed) report_uninitialized_read();
    }
  }
  current = nullptr;
  sigaction(SIGSEGV, &old_segv, nullptr);
  sigaction(SIGBUS, &old_bus, nullptr);
  sigaltstack(&old_stack, nullptr);
  return failed;
}
}
#pragma GCC visibility pop
