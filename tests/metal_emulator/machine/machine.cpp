// Runs a kernel's threads as fibers of one OS thread: one threadgroup after the other, its threads in a chosen order until each waits
// or has returned, then whatever they wait for is resolved. What Metal leaves undefined (threads that wait for different things) is
// a fault.
#include <csetjmp>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <dlfcn.h>
#include <sys/mman.h>
#include <utility>
#include <vector>
#if !defined(__x86_64__)
#include <ucontext.h>
#endif

#include "memory.h"

namespace msl {
Thread* current;
Group group;

namespace {
constexpr size_t STACK = 256 * 1024, MOST_THREADS = 1024;
enum Order { forwards, backwards, shuffled };

Thread threads[MOST_THREADS];
char message[512];
bool failed;
void (*kernel)(void**, const Thread&);
void** arguments;
Order order;
uint32_t random_state;

// ---- fibers
#if defined(__x86_64__)
void* scheduler;
extern "C" void emulator_switch(void** save, void* to);
__asm__(
    ".text\n.globl emulator_switch\n.hidden emulator_switch\nemulator_switch:\n"
    " push %rbp\n push %rbx\n push %r12\n push %r13\n push %r14\n push %r15\n"
    " mov %rsp,(%rdi)\n mov %rsi,%rsp\n"
    " pop %r15\n pop %r14\n pop %r13\n pop %r12\n pop %rbx\n pop %rbp\n ret\n");
void to_scheduler() { emulator_switch(&current->stack_pointer, scheduler); }
void to_thread(Thread& t) { emulator_switch(&scheduler, t.stack_pointer); }
void begin();
void prepare(Thread& t) {
  void** top = reinterpret_cast<void**>(t.stack + STACK - 16);
  *--top = nullptr;
  *--top = reinterpret_cast<void*>(begin);
  for (int i = 0; i < 6; i++) *--top = nullptr;
  t.stack_pointer = top;
}
#else  // slower, and everywhere
ucontext_t scheduler, contexts[MOST_THREADS];
void to_scheduler() { swapcontext(&contexts[current->index], &scheduler); }
void to_thread(Thread& t) { swapcontext(&scheduler, &contexts[t.index]); }
void begin();
void prepare(Thread& t) {
  ucontext_t& context = contexts[t.index];
  getcontext(&context);
  context.uc_stack.ss_sp = t.stack;
  context.uc_stack.ss_size = STACK;
  context.uc_link = nullptr;
  makecontext(&context, begin, 0);
}
#endif
void begin() {
  kernel(arguments, *current);
  settle_write();
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

// ---- what threads wait for
void differ(const Thread& a, const Thread& b) {
  const char* who = a.state == State::barrier || b.state == State::barrier ? "threadgroup" : "simdgroup";
  const Thread &one = a.state == State::done ? b : a, &other = a.state == State::done ? a : b;
  if (other.state == State::done)
    fail("%s:%d: divergent %s: thread %u of the %s has returned, thread %u waits", one.file, one.line, one.operation, other.index, who,
        one.index);
  fail("%s:%d: divergent %s: thread %u of the %s waits at %s:%d (%s)", one.file, one.line, one.operation, other.index, who, other.file,
      other.line, other.operation);
}
bool same_call(const Thread& a, const Thread& b) {
  return a.state == b.state && a.line == b.line && !std::strcmp(a.file, b.file) && !std::strcmp(a.operation, b.operation);
}
void pass(int flags, uint32_t* device, uint32_t* threadgroup) {
  if (flags & 1) ++*device;
  if (flags & 2) ++*threadgroup;
}

// Whether a simdgroup went on.
bool resolve_simdgroup(int first, int last) {
  Thread* waiting = nullptr;
  for (int i = first; i < last; i++)
    if (threads[i].state == State::simd_operation || threads[i].state == State::simd_barrier) waiting = &threads[i];
  if (!waiting) return false;
  Thread* lanes[SIMD];
  for (int i = first; i < last; i++) {
    if (!same_call(*waiting, threads[i])) differ(*waiting, threads[i]);
    lanes[i - first] = &threads[i];
  }
  const int s = waiting->simdgroup;
  if (waiting->state == State::simd_barrier) pass(waiting->argument, &epochs.simdgroup[0][s], &epochs.simdgroup[1][s]);
  else waiting->combine(lanes, last - first);
  for (int i = first; i < last; i++) threads[i].state = State::runs;
  return true;
}

// Whether the threadgroup goes on; not when all have returned.
bool resolve_group(int count) {
  for (int i = 1; i < count; i++)
    if (threads[i].state == State::done ? threads[0].state != State::done : !same_call(threads[0], threads[i]))
      differ(threads[0], threads[i]);
  if (threads[0].state == State::done) return false;
  pass(threads[0].argument, &epochs.group[0], &epochs.group[1]);
  for (int i = 0; i < count; i++) threads[i].state = State::runs;
  return true;
}

void run_group(int count) {
  std::vector<int> turn(count);
  for (int i = 0; i < count; i++) turn[i] = order == backwards ? count - 1 - i : i;
  for (;;) {
    if (order == shuffled)
      for (int i = count - 1; i > 0; i--) std::swap(turn[i], turn[random_below(i + 1)]);
    for (int i : turn)
      if (threads[i].state == State::runs) {
        resume(threads[i]);
        if (failed) return;
      }
    current = nullptr;
    bool went_on = false;
    for (int first = 0; first < count; first += SIMD) went_on |= resolve_simdgroup(first, first + SIMD < count ? first + SIMD : count);
    if (!went_on && !resolve_group(count)) return;
  }
}

jmp_buf out;  // from a fault that the scheduler finds itself
sigjmp_buf crash;
void on_crash(int signal, siginfo_t* info, void* context) {
  if (!current) {
    std::signal(signal, SIG_DFL);
    raise(signal);
    return;
  }
  std::snprintf(message, sizeof message, "memory fault: thread %u touches %p, outside every buffer", current->index, info->si_addr);
  siglongjmp(crash, 1);
}
}  // namespace

void wait(State state, const char* operation, const char* file, int line) {
  settle_write();
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
  if (!current) longjmp(out, 1);
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

// Runs the kernel over `grid` threads in groups of `size`; 0 if nothing was wrong.
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
  else if (!setjmp(out)) {
    const uint64_t total = uint64_t(groups[0]) * groups[1] * groups[2];
    for (uint64_t n = 0; n < total && !failed; n++) {
      const uint64_t q = order == backwards ? total - 1 - n : n;
      const uint3 at(q % groups[0], q / groups[0] % groups[1], q / (uint64_t(groups[0]) * groups[1]));
      uint edge[3];  // groups at the grid's end are smaller
      for (int i = 0; i < 3; i++) edge[i] = s[i] < grid[i] - at[i] * s[i] ? s[i] : grid[i] - at[i] * s[i];
      const uint count = edge[0] * edge[1] * edge[2];
      group = {at, uint3(groups[0], groups[1], groups[2]), uint3(grid[0], grid[1], grid[2]), uint3(edge[0], edge[1], edge[2]),
          uint3(s[0], s[1], s[2]), count, (count + SIMD - 1) / SIMD};
      new_group();
      for (uint i = 0; i < count; i++) {
        Thread& t = threads[i];
        t.index = i, t.lane = i % SIMD, t.simdgroup = i / SIMD, t.state = State::runs;
        t.in_threadgroup = uint3(i % edge[0], i / edge[0] % edge[1], i / (edge[0] * edge[1]));
        t.in_grid = uint3(at.x * s[0] + t.in_threadgroup.x, at.y * s[1] + t.in_threadgroup.y, at.z * s[2] + t.in_threadgroup.z);
        prepare(t);
      }
      run_group(count);
      if (!failed) settle_doubt();
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
