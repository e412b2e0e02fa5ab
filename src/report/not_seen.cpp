#include "report/profile_json.h"

namespace hearth::report {
namespace {

struct Count {
  std::uint64_t tensors = 0;
  std::uint64_t bytes = 0;
};

// How much of it there is: null where nobody can know.
void entry(JsonWriter& json, const char* what, const char* why, const Count* count) {
  json.begin_object().member("what", what).member("why", why);
  json.key("tensors");
  if (count != nullptr)
    json.value(count->tensors);
  else
    json.null();
  json.key("bytes");
  if (count != nullptr)
    json.value(count->bytes);
  else
    json.null();
  json.end_object();
}

template <class Applies>
Count count(const profile::Profile* profile, Applies applies) {
  Count found;
  if (profile == nullptr) return found;
  for (const profile::Tensor& tensor : profile->tensors) {
    if (!applies(tensor)) continue;
    ++found.tensors;
    found.bytes += tensor.bytes;
  }
  return found;
}

}  // namespace

void write_not_seen(JsonWriter& json, const RunFacts& facts, const profile::Profile* profile) {
  using profile::Tensor;
  const Count small = count(profile, [&](const Tensor& t) { return !t.own_pages && t.bytes < facts.min_size; });
  const Count shared = count(profile, [&](const Tensor& t) { return !t.own_pages && t.bytes >= facts.min_size; });
  const Count open = count(profile, [](const Tensor& t) { return t.own_pages && t.watch == HEARTH_WATCH_NONE; });
  json.key("not_seen").begin_array();
  entry(json, "page faults of tensors smaller than HEARTH_MIN_SIZE",
        "they share pages with other data, so their accesses are known from the dispatcher's operands only",
        profile != nullptr ? &small : nullptr);
  entry(json, "page faults of larger tensors outside Hearth's heap",
        "allocated before Hearth began to manage memory, or when its heap was full; known from operands only",
        profile != nullptr ? &shared : nullptr);
  entry(json, "page faults of tensors in Hearth's heap that were left unguarded",
        "mode ops guards none; else the budget of memory mappings was used up or mprotect refused; known from operands",
        profile != nullptr ? &open : nullptr);
  entry(json, "storage of numpy arrays, torch.from_numpy, torch.frombuffer, from_file and mmap loading",
        "not allocated by PyTorch's CPU allocator", nullptr);
  entry(json, "shared-memory tensors (share_memory_, batches of DataLoader workers)",
        "mapped by PyTorch itself, not allocated by its CPU allocator", nullptr);
  entry(json, "which op ran inside compiled code (torch.compile, custom C++ kernels)",
        "no dispatcher op per kernel: accesses show as faults of the op around, or outside any op", nullptr);
  entry(json, "internal memory of OpenBLAS and oneDNN (buffers, generated code)",
        "taken from mmap and malloc, which are left alone", nullptr);
  entry(json, "accesses beyond the first to a page within one op, and those to pages that are not guarded",
        "a fault opens the page; mode faults guards the first page of each tensor, mode pages a sample", nullptr);
  json.end_array();
}

}  // namespace hearth::report
