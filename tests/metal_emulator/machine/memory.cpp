// Every buffer and every threadgroup array has its own slot of address space, so an access outside its bounds names the buffer.
// For every byte of outputs and threadgroup memory, the emulator stores the last writer and reader and the barriers passed until then.
// That reveals uninitialized reads and data races, whatever the order in which the threads run.
#include "memory.h"

#include <sys/mman.h>

#include <cstdio>

namespace msl {
Epochs epochs;

namespace {
constexpr int SLOT_BITS = 30, SLOTS = 128;
constexpr size_t SLOT = size_t(1) << SLOT_BITS;
constexpr uint32_t SEVERAL_LANES = 1u << 31, SEVERAL_SIMDGROUPS = 1u << 30, ID_MASK = SEVERAL_SIMDGROUPS - 1;

struct Cell {                        // one byte
  uint32_t writer, reader;           // thread and threadgroup, from 1; 0: none
  uint64_t write_clock, read_clock;  // barriers passed at that time
  uint32_t write_code, read_code;    // code offsets
};
struct Slot {
  char *begin, *end;
  Cell* cells;
  const char* name;
  const void* key;
  Space space;
  bool writable, initialized;
};
Slot slots[SLOTS];
int used;
char* arena;
const char* module_begin;
uint32_t group_serial;
size_t group_bytes;
char uninitialized_read[256];  // message; reported at the end of the threadgroup, because a data race on the same byte explains more

uint32_t current_id() { return (group_serial << 10 | current->index) + 1; }
uint64_t clock_of(Space space) {
  const int s = int(space);
  return uint64_t(epochs.group[s]) << 32 | epochs.simdgroup[s][current->simdgroup];
}
// Returns whether the access by `id` at `when` is ordered before the current thread's next access.
bool is_ordered(uint32_t id, uint64_t when, uint64_t now) {
  const uint32_t other_id = (id & ID_MASK) - 1;
  if (!(id & (SEVERAL_LANES | SEVERAL_SIMDGROUPS)) && (id & ID_MASK) == current_id()) return true;
  if (other_id >> 10 != group_serial) return false;
  if (when >> 32 != now >> 32) return true;
  if (id & SEVERAL_SIMDGROUPS) return false;
  return (other_id & 1023) / SIMD == current->simdgroup && uint32_t(when) != uint32_t(now);
}
// A write to bytes that another thread wrote: not a race if the value stays the same.
struct Repeated {
  const char* at = nullptr;
  char before[16];
  size_t bytes;
  char message[400];
} repeated;

// compiler.py replaces "@offset" by the line in the kernel's text.
void race(const Slot& slot, long byte, const char* now, const void* code, const char* before, uint32_t before_code, uint32_t id) {
  const uint32_t other_id = (id & ID_MASK) - 1;
  std::snprintf(repeated.message, sizeof repeated.message,
      "@%zx: data race: thread %u %s %s at byte %ld, which thread %u%s %s at @%x with no barrier between",
      size_t(static_cast<const char*>(code) - module_begin), current->index, now, slot.name, byte, other_id & 1023,
      other_id >> 10 != group_serial ? " of another threadgroup" : "", before, before_code);
}

int add(const char* name, const void* key, size_t bytes, Space space, bool writable, bool initialized) {
  if (used == SLOTS || bytes > SLOT / 2) fail("too many or too large buffers for the emulator");
  Slot& slot = slots[used];
  slot.begin = arena + used * SLOT + SLOT / 4;
  slot.end = slot.begin + bytes;
  slot.name = name, slot.key = key, slot.space = space, slot.writable = writable, slot.initialized = initialized;
  mprotect(slot.begin, bytes ? bytes : 1, PROT_READ | PROT_WRITE);
  if (writable)
    slot.cells = static_cast<Cell*>(mmap(nullptr, bytes * sizeof(Cell) + 1, PROT_READ | PROT_WRITE,
        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  return used++;
}
}  // namespace

void open_memory(const char* module) {
  module_begin = module;
  arena = static_cast<char*>(mmap(nullptr, SLOTS * SLOT, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  used = 0, group_serial = 0, group_bytes = 0, uninitialized_read[0] = 0, repeated.at = nullptr;
}
void close_memory() {
  for (int i = 0; i < used; i++)
    if (slots[i].cells) munmap(slots[i].cells, (slots[i].end - slots[i].begin) * sizeof(Cell) + 1);
  for (Slot& slot : slots) slot = Slot{};
  munmap(arena, SLOTS * SLOT);
}
void new_group() {
  group_serial++;
  epochs = Epochs{};
}
size_t threadgroup_bytes() { return group_bytes; }
void check_repeated_write() {
  const char* at = repeated.at;
  repeated.at = nullptr;
  if (at && std::memcmp(at, repeated.before, repeated.bytes)) fail("%s", repeated.message);
}
void report_uninitialized_read() {
  if (uninitialized_read[0]) fail("%s", uninitialized_read);
}

void* threadgroup_memory(const void* key, const char* name, size_t bytes) {
  for (int i = 0; i < used; i++)
    if (slots[i].key == key) return slots[i].begin;
  group_bytes += (bytes + 15) / 16 * 16;
  const int slot = add(name, key, bytes, Space::threadgroup, true, false);
  std::memset(slots[slot].begin, 0xAB, bytes);
  return slots[slot].begin;
}

bool is_watched(const void* address) { return size_t(static_cast<const char*>(address) - arena) < SLOTS * SLOT; }

void on_access(const void* address, size_t bytes, bool writes, const void* code) {
  const char* at = static_cast<const char*>(address);
  const size_t offset = at - arena;
  if (offset >= SLOTS * SLOT || !current) return;
  check_repeated_write();
  Slot& slot = slots[offset >> SLOT_BITS];
  const long byte = at - slot.begin;
  const size_t where = static_cast<const char*>(code) - module_begin;
  if (!slot.name) fail("@%zx: %s outside every buffer", where, writes ? "write" : "read");
  if (at < slot.begin || at + bytes > slot.end)
    fail("@%zx: out of bounds: thread %u %s %zu bytes at byte %ld of %s, which has %ld", where, current->index,
        writes ? "writes" : "reads", bytes, byte, slot.name, long(slot.end - slot.begin));
  if (writes && !slot.writable) fail("@%zx: write to the input %s", where, slot.name);
  if (!slot.cells) return;
  const uint64_t now = clock_of(slot.space);
  const uint32_t id = current_id();
  for (size_t i = 0; i < bytes; i++) {
    Cell& cell = slot.cells[byte + i];
    const bool stale = slot.space == Space::threadgroup && (((cell.writer ? cell.writer : cell.reader) & ID_MASK) - 1) >> 10 != group_serial;
    if (stale) cell = Cell{};
    if (cell.writer && !is_ordered(cell.writer, cell.write_clock, now) && !repeated.at) {
      race(slot, byte + i, writes ? "writes" : "reads", code, "wrote", cell.write_code, cell.writer);
      if (!writes || bytes > sizeof repeated.before) fail("%s", repeated.message);
      repeated.at = at, repeated.bytes = bytes;
      std::memcpy(repeated.before, at, bytes);
    }
    if (writes) {
      if (cell.reader && !is_ordered(cell.reader, cell.read_clock, now)) {
        race(slot, byte + i, "writes", code, "read", cell.read_code, cell.reader);
        fail("%s", repeated.message);
      }
      cell.writer = id, cell.write_clock = now, cell.write_code = where, cell.reader = 0;
      continue;
    }
    if (!cell.writer && !slot.initialized && !uninitialized_read[0])
      std::snprintf(uninitialized_read, sizeof uninitialized_read, "@%zx: uninitialized memory: thread %u reads byte %ld of %s", where,
          current->index, long(byte + i), slot.name);
    uint32_t readers = id;
    if (cell.reader && !is_ordered(cell.reader, cell.read_clock, now)) {
      const uint32_t other_id = (cell.reader & ID_MASK) - 1;
      const bool same_simdgroup = other_id >> 10 == group_serial && (other_id & 1023) / SIMD == current->simdgroup;
      readers |= (cell.reader & SEVERAL_SIMDGROUPS) | (same_simdgroup ? SEVERAL_LANES : SEVERAL_SIMDGROUPS);
    }
    cell.reader = readers, cell.read_clock = now, cell.read_code = where;
  }
}

void atomic_access(const void* address, size_t bytes) {
  if (!is_watched(address)) fail("%s", "an atomic outside every buffer");
  Slot& slot = slots[size_t(static_cast<const char*>(address) - arena) >> SLOT_BITS];
  const long byte = static_cast<const char*>(address) - slot.begin;
  if (!slot.name || byte < 0 || byte + bytes > size_t(slot.end - slot.begin))
    fail("out of bounds: an atomic of thread %u at byte %ld of %s", current->index, byte, slot.name ? slot.name : "no buffer");
  // Atomics don't race with each other. Races between atomics and plain accesses are not detected.
  for (size_t i = 0; i < bytes && slot.cells; i++) slot.cells[byte + i].writer = current_id();
}
}  // namespace msl

extern "C" void* emulator_buffer(const char* name, size_t bytes, int kind) {
  return msl::slots[msl::add(name, nullptr, bytes, msl::Space::device, kind > 0, kind != 1)].begin;
}
extern "C" long emulator_unwritten(int buffer) {
  const msl::Slot& slot = msl::slots[buffer];
  if (!slot.cells || slot.initialized) return -1;
  for (long i = 0; i < slot.end - slot.begin; i++)
    if (!slot.cells[i].writer) return i;
  return -1;
}

// The functions that compilers call under -fsanitize=thread. They replace the thread sanitizer's runtime, which is not linked.
#define MSL_CODE __builtin_return_address(0)
#define MSL_ACCESS(BYTES)                                                                                               \
  void __tsan_read##BYTES(void* a) { msl::on_access(a, BYTES, false, MSL_CODE); }                                       \
  void __tsan_write##BYTES(void* a) { msl::on_access(a, BYTES, true, MSL_CODE); }                                       \
  void __tsan_unaligned_read##BYTES(void* a) { msl::on_access(a, BYTES, false, MSL_CODE); }                             \
  void __tsan_unaligned_write##BYTES(void* a) { msl::on_access(a, BYTES, true, MSL_CODE); }
extern "C" {
MSL_ACCESS(1) MSL_ACCESS(2) MSL_ACCESS(4) MSL_ACCESS(8) MSL_ACCESS(16)
void __tsan_read_range(void* a, size_t n) { msl::on_access(a, n, false, MSL_CODE); }
void __tsan_write_range(void* a, size_t n) { msl::on_access(a, n, true, MSL_CODE); }
void* __tsan_memcpy(void* to, const void* from, size_t n) {
  msl::on_access(from, n, false, MSL_CODE);
  msl::on_access(to, n, true, MSL_CODE);
  return std::memcpy(to, from, n);
}
void* __tsan_memmove(void* to, const void* from, size_t n) {
  msl::on_access(from, n, false, MSL_CODE);
  msl::on_access(to, n, true, MSL_CODE);
  return std::memmove(to, from, n);
}
void* __tsan_memset(void* to, int value, size_t n) {
  msl::on_access(to, n, true, MSL_CODE);
  return std::memset(to, value, n);
}
void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
}
