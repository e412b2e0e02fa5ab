// HEARTH_POLICY=lru at run time: tells the lists of pages (migrate/page_lists.h) what the program uses, as the
// dispatcher announces it, and which pages have come to lie on a tier. What they make of it is theirs.
//
// Hot: begin_op and used are on the way of every op and operand while the policy is in force, and do nothing else than
// one test otherwise. Not while an iteration is profiled (pages are protected then, and nothing may move), nor while a
// plan says what lies where. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "report/tier_facts.h"

namespace hearth::runtime {

// Once, when the tiers are there.
void start_lru();
// A range of tensors besides the heap's.
void lru_watch(const void* base, std::uint64_t bytes);

void lru_begin_op();
// An operand of `storage_bytes`; of so many rows of it, 0 = all.
void lru_used(const void* storage, std::uint64_t storage_bytes, std::uint64_t rows);
void lru_placed(const void* address, std::uint64_t bytes);

void add_lru_facts(report::TierFacts& tiers);

}  // namespace hearth::runtime
