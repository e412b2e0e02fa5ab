// Classes: lifetime x access frequency of every tensor, after Sentinel (HPCA 2021, sections 3 and 4): tensors that live
// and are used alike are placed and moved together. docs/classes.md explains the rules to users.
//
// Lifetime, first rule that holds:
//   persistent   alive across an iteration boundary (weights, optimizer state, what the next iteration still holds)
//   activation   alive across a turn from forward to backward
//   short        dies in the layer in which it was born or in the next one, since a layer's output is the next one's
//                input. Layers are windows of outermost ops with one module (Sentinel's "layer"; the paper has the user
//                annotate them), of at most `short_ops` ops; where module names are unknown at either end, short means
//                that at most `short_ops` outermost ops begin while it lives (HEARTH_SHORT_OPS).
//   activation   whatever lives longer
// Frequency: touches per byte and iteration = touched bytes / tensor bytes. Bucket 0: less than one; bucket k: from
// base^(k-1) to below base^k; the last bucket is open (HEARTH_FREQUENCY_BUCKETS; base 2).
//
// Pure functions on values; they allocate.
#pragma once

#include <cstdint>
#include <vector>

#include "profile/profile.h"

namespace hearth::profile {

// Sets lifetime and frequency of every tensor, and profile.thresholds. build() has called it once already.
void classify(Profile& profile, const Thresholds& thresholds);

// Bytes of the tensor that this access is taken to move between core and memory: the sampled share of its pages, else
// the operand's span, else (a fault alone) the whole tensor. Read and write count one each; 0 for a covered access.
double touched_bytes(const Tensor& tensor, const Access& access);

// Sum over all accesses / bytes.
double touches_per_byte(const Tensor& tensor);

std::uint8_t frequency_bucket(double touches, const Thresholds& thresholds);

struct ClassSummary {
  Lifetime lifetime = Lifetime::short_lived;
  std::uint8_t frequency = 0;
  std::uint64_t tensors = 0;
  std::uint64_t bytes = 0;       // of all its tensors
  std::uint64_t peak_bytes = 0;  // alive at once
  std::uint64_t accesses = 0;    // (tensor, op) pairs, without covered ones
  double touched_bytes = 0;
};

// Non-empty classes, by lifetime, then frequency.
std::vector<ClassSummary> summarize(const Profile& profile);

// "short", "activation", "persistent".
const char* lifetime_name(Lifetime lifetime);

}  // namespace hearth::profile
