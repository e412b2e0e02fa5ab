#include "access/perf_sampler.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "access/perf_event.h"
#include "access/raw_syscall.h"
#include "access/threads.h"

namespace hearth::access {

namespace {

constexpr std::size_t kPageBytes = 4096;
// Data bytes of one ring, a power of two of pages: 8 pages fit the locked memory that every user may have for a dozen
// threads (perf_event_mlock_kb); one is tried when that is used up.
constexpr std::size_t kRingBytes[] = {8 * kPageBytes, kPageBytes};

void* map_ring(long file, long* error) {
  for (const std::size_t bytes : kRingBytes) {
    const long ring = raw(SYS_mmap, nullptr, kPageBytes + bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (ring > 0) return reinterpret_cast<void*>(ring);
    *error = ring;
  }
  return nullptr;
}

// Reads a ring's bytes, which may wrap around.
class RingReader {
 public:
  explicit RingReader(void* ring)
      : page_(static_cast<perf_event_mmap_page*>(ring)), data_(static_cast<const char*>(ring) + page_->data_offset) {
    head_ = __atomic_load_n(&page_->data_head, __ATOMIC_ACQUIRE);
    tail_ = page_->data_tail;
  }
  // Gives the space back to the kernel.
  ~RingReader() { __atomic_store_n(&page_->data_tail, tail_, __ATOMIC_RELEASE); }
  RingReader(const RingReader&) = delete;
  RingReader& operator=(const RingReader&) = delete;

  bool next(perf_event_header* header) {
    if (head_ - tail_ < sizeof *header) return false;
    copy(tail_, header, sizeof *header);
    return header->size >= sizeof *header && header->size <= head_ - tail_;
  }
  // The body behind the header, cut to `capacity`.
  void body(const perf_event_header& header, void* to, std::size_t capacity) const {
    copy(tail_ + sizeof header, to, std::min<std::size_t>(capacity, header.size - sizeof header));
  }
  void skip(const perf_event_header& header) { tail_ += header.size; }

 private:
  void copy(std::uint64_t from, void* to, std::size_t bytes) const {
    const std::uint64_t size = page_->data_size;
    const std::uint64_t start = from & (size - 1);
    const std::size_t first = std::min<std::size_t>(bytes, size - start);
    std::memcpy(to, data_ + start, first);
    std::memcpy(static_cast<char*>(to) + first, data_, bytes - first);
  }

  perf_event_mmap_page* page_;
  const char* data_;
  std::uint64_t head_;
  std::uint64_t tail_;
};

// As PERF_SAMPLE_TID | TIME | ADDR | DATA_SRC lay it out.
struct SampleBody {
  std::uint32_t process, thread;
  std::uint64_t time;
  std::uint64_t address;
  std::uint64_t source;
};

hearth_access access_of(PerfEvent event, std::uint64_t source) {
  if (event == PerfEvent::page_faults) return HEARTH_ACCESS_UNKNOWN;
  const std::uint64_t operation = source >> PERF_MEM_OP_SHIFT;
  const bool load = (operation & PERF_MEM_OP_LOAD) != 0;
  const bool store = (operation & PERF_MEM_OP_STORE) != 0;
  if (load && store) return HEARTH_ACCESS_READ_WRITE;
  if (load) return HEARTH_ACCESS_READ;
  return store || event == PerfEvent::stores ? HEARTH_ACCESS_WRITE : HEARTH_ACCESS_UNKNOWN;
}

}  // namespace

bool PerfSampler::open(const PerfOptions& options) {
  close();
  options_ = options;
  stats_ = {};
  attach_new_threads();
  return std::any_of(stats_.status, stats_.status + kPerfEvents, [](PerfStatus s) { return s == PerfStatus::ok; });
}

bool PerfSampler::attached(std::int32_t thread) const {
  return std::any_of(sources_, sources_ + count_, [&](const Source& source) { return source.thread == thread; });
}

void PerfSampler::attach_new_threads() {
  std::int32_t threads[kMaxThreads];
  const std::uint32_t found = std::min(list_threads(threads, kMaxThreads), kMaxThreads);
  for (std::uint32_t i = 0; i < found; ++i) {
    if (attached(threads[i])) continue;
    bool any = options_.page_faults && attach(threads[i], PerfEvent::page_faults);
    if (options_.precise) {
      any = attach(threads[i], PerfEvent::loads) || any;
      any = attach(threads[i], PerfEvent::stores) || any;
    }
    stats_.threads += any;
  }
}

bool PerfSampler::attach(std::int32_t thread, PerfEvent event) {
  PerfStatus& status = stats_.status[static_cast<std::size_t>(event)];
  if (status != PerfStatus::off && status != PerfStatus::ok) return false;  // refused once is refused for all
  const PerfRecipes tries = recipes(event, options_, processor_vendor(), ibs_op_type());
  long file = tries.count == 0 ? -ENODEV : -EINVAL;
  for (std::uint32_t i = 0; i < tries.count && file < 0; ++i) file = open_perf_event(tries.attributes[i], thread);
  if (file == -ESRCH) return false;  // the thread has ended meanwhile
  long error = file;
  void* ring = file >= 0 && count_ < kMaxThreads * kPerfEvents ? map_ring(file, &error) : nullptr;
  if (ring == nullptr) {
    if (file >= 0) {
      raw(SYS_close, file);
      error = -ENOMEM;  // the kernel says EPERM when locked memory is used up
    }
    // A thread too many does not make the event unavailable.
    if (status == PerfStatus::off) status = status_of_error(event, error);
    return false;
  }
  status = PerfStatus::ok;
  sources_[count_++] = {thread, static_cast<std::int32_t>(file), event, ring};
  return true;
}

void PerfSampler::drain(const Source& source, PerfSink sink, void* context) {
  RingReader reader(source.ring);
  perf_event_header header;
  for (; reader.next(&header); reader.skip(header)) {
    if (header.type == PERF_RECORD_LOST) {
      std::uint64_t id_and_lost[2] = {};
      reader.body(header, id_and_lost, sizeof id_and_lost);
      stats_.lost += id_and_lost[1];
    } else if (header.type == PERF_RECORD_SAMPLE) {
      SampleBody body{};
      reader.body(header, &body, sizeof body);
      ++stats_.samples;
      sink({body.address, body.time, body.thread, source.event, access_of(source.event, body.source)}, context);
    }
  }
}

void PerfSampler::poll(PerfSink sink, void* context) {
  for (std::uint32_t i = 0; i < count_; ++i) drain(sources_[i], sink, context);
}

void PerfSampler::close() {
  for (std::uint32_t i = 0; i < count_; ++i) {
    const auto* page = static_cast<const perf_event_mmap_page*>(sources_[i].ring);
    raw(SYS_munmap, sources_[i].ring, kPageBytes + page->data_size);
    raw(SYS_close, sources_[i].file);
  }
  count_ = 0;
}

}  // namespace hearth::access
