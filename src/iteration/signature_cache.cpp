#include "iteration/signature_cache.h"

namespace hearth::iteration {
namespace {

bool alike(const Signature& cached, const Signature& seen) {
  if (cached.exact != seen.exact || cached.allocation_count != seen.allocation_count) return false;
  if (cached.op_count == 0 || seen.op_count == 0) return true;
  return cached.ops == seen.ops && cached.op_count == seen.op_count;
}

}  // namespace

SignatureCache::Entry* SignatureCache::find(const Signature& signature) {
  Entry* found = nullptr;
  for (std::uint32_t i = 0; i < size_; ++i) {
    Entry& entry = entries_[i];
    if (entry.signature == signature) return &entry;
    // Several may share the allocations; the latest is the best guess.
    if (alike(entry.signature, signature) && (!found || entry.last_seen > found->last_seen)) found = &entry;
  }
  return found;
}

SignatureCache::Entry* SignatureCache::place_for_another() {
  if (size_ < capacity_) return &entries_[size_++];
  const Entry* usual = &entries_[0];
  for (std::uint32_t i = 1; i < size_; ++i) {
    if (entries_[i].times_seen > usual->times_seen) usual = &entries_[i];
  }
  Entry* oldest = nullptr;
  for (std::uint32_t i = 0; i < size_; ++i) {
    Entry& entry = entries_[i];
    if (&entry != usual && (!oldest || entry.last_seen < oldest->last_seen)) oldest = &entry;
  }
  return oldest ? oldest : &entries_[0];
}

std::uint32_t SignatureCache::count(Signature* signature) {
  if (capacity_ == 0) return 1;
  Entry* entry = find(*signature);
  if (!entry) {
    entry = place_for_another();
    *entry = {*signature, 0, 0};
  } else if (entry->signature.op_count == 0) {
    entry->signature = *signature;
  } else {
    *signature = entry->signature;
  }
  entry->last_seen = ++sightings_;
  return ++entry->times_seen;
}

}  // namespace hearth::iteration
