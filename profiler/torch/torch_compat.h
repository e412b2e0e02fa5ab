// Everything in which PyTorch versions differ, and the few places where their insides are looked at.
// Included by the adapter's sources only; each build of the adapter sees one PyTorch.
#pragma once

#ifndef NDEBUG
#error "RecordFunction has one member more without NDEBUG than in the released libraries"
#endif

#include <ATen/SparseCsrTensorImpl.h>
#include <ATen/SparseTensorImpl.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>
#include <ATen/record_function.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/StorageImpl.h>
#include <c10/core/TensorImpl.h>
#include <torch/version.h>

#include <cstring>
#include <string>

#define HEARTH_TORCH_AT_LEAST(major, minor) \
  (TORCH_VERSION_MAJOR > (major) || (TORCH_VERSION_MAJOR == (major) && TORCH_VERSION_MINOR >= (minor)))

namespace hearth::adapter::compat {

// RecordFunction tells its name only as a C string and its schema only as a copy; both are needed thousands of times
// a step. The standard lets an explicit instantiation name a private member, whose type and offset come from the same
// header that the rest is compiled against.
#if HEARTH_TORCH_AT_LEAST(2, 0)
template <class... T>
using Variant = std::variant<T...>;
using std::get_if;
#else
template <class... T>
using Variant = c10::variant<T...>;
using c10::get_if;
#endif
using Description = Variant<std::string, at::RecordFunction::schema_ref_t>;

template <class Tag, typename Tag::Member member>
struct PrivateMember {
  friend constexpr typename Tag::Member member_of(Tag) { return member; }
};
struct DescriptionTag {
  using Member = Description at::RecordFunction::*;
  friend constexpr Member member_of(DescriptionTag);
};
template struct PrivateMember<DescriptionTag, &at::RecordFunction::fn_>;

// The operator's schema, which lives as long as the operator is registered, or null for scopes named by text.
inline const c10::FunctionSchema* schema_of(const at::RecordFunction& function) {
  const auto* schema = get_if<at::RecordFunction::schema_ref_t>(&(function.*member_of(DescriptionTag{})));
  return schema != nullptr ? &schema->get() : nullptr;
}

// The name of a scope named by text; it lives as long as the RecordFunction. Null for operators.
inline const std::string* text_of(const at::RecordFunction& function) {
  return get_if<std::string>(&(function.*member_of(DescriptionTag{})));
}

// What the first word of `fn_` holds for a scope named by text: a pointer to the characters, in every std::string ABI.
// Compared with name() it proves that header and library agree on the layout, without trusting either.
inline const void* first_word_of_description(const at::RecordFunction& function) {
  const void* word = nullptr;
  std::memcpy(&word, static_cast<const void*>(&(function.*member_of(DescriptionTag{}))), sizeof word);
  return word;
}

// The first byte of a storage, as it is: no copy-on-write storage is materialised, no access check raises.
inline const void* data_of(c10::StorageImpl& storage) {
#if HEARTH_TORCH_AT_LEAST(2, 2)
  return storage._mutable_data_ptr_no_checks().get();
#else
  return storage.data_ptr().get();
#endif
}

// False where sizes live in Python or in a nested tensor, or are symbols: asking would call Python or raise.
inline bool has_plain_sizes(const c10::TensorImpl& tensor) {
  return !tensor.key_set().has(c10::DispatchKey::Python) && !tensor.is_nested() && !tensor.has_symbolic_sizes_strides();
}

// The base of the fallback allocator: `allocate` was const before 2.3, `copy_data` exists since then.
#if HEARTH_TORCH_AT_LEAST(2, 3)
#define HEARTH_ALLOCATE_CONST
#define HEARTH_ALLOCATOR_COPIES 1
#else
#define HEARTH_ALLOCATE_CONST const
#define HEARTH_ALLOCATOR_COPIES 0
#endif

}  // namespace hearth::adapter::compat
