// Names of scopes that have no schema (autograd nodes, TorchScript functions, user scopes): text to the runtime's id.
// Their strings live inside a RecordFunction on the stack, so an address says nothing; the text is hashed and compared.
//
// Called by the callbacks on any thread. No lock; memory comes from a bounded, never freed arena: a program that makes
// up ever new scope names fills it, and from then on asks the runtime each time.
#pragma once

#include <cstdint>
#include <string>

namespace hearth::adapter {

std::uint32_t name_of(const std::string& text);

}  // namespace hearth::adapter
