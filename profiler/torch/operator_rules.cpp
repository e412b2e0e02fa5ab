#include "operator_rules.h"

#include <algorithm>
#include <string_view>

#include <ATen/core/enum_tag.h>

namespace hearth::adapter {
namespace {

// No data of any operand: allocation, shape, identity. Views are recognised by their alias annotations instead.
constexpr std::string_view kTouchesNothing[] = {
    "_coalesced_",
    "_cow_materialize",
    "_dimI",
    "_dimV",
    "_empty_affine_quantized",
    "_empty_per_channel_affine_quantized",
    "_has_compatible_shallow_copy_type",
    "_has_same_storage_numel",
    "_lazy_clone",
    "_make_dual",
    "_mkldnn_reshape",
    "_nested_tensor_size",
    "_nnz",
    "_resize_output_",
    "_sparse_compressed_tensor_unsafe",
    "_sparse_coo_tensor_unsafe",
    "_sparse_coo_tensor_with_dims",
    "_sparse_coo_tensor_with_dims_and_tensors",
    "_unsafe_view",
    "_version",
    "can_cast",
    "dense_dim",
    "detach_",
    "empty",
    "empty_like",
    "empty_permuted",
    "empty_quantized",
    "empty_strided",
    "is_coalesced",
    "is_pinned",
    "is_same_size",
    "is_set_to",
    "new_empty",
    "new_empty_strided",
    "record_stream",
    "requires_grad_",
    "resize_",
    "resize_as_",
    "result_type",
    "retain_grad",
    "set_",
    "set_data",
    "size",
    "sparse_dim",
    "stride",
    "sym_numel",
    "sym_size",
    "sym_storage_offset",
    "sym_stride",
    "unsafe_chunk",
    "unsafe_split",
    "unsafe_split_with_sizes",
};

// In-place operators that overwrite `self` without reading it.
constexpr std::string_view kOverwrites[] = {
    "_foreach_copy_", "_foreach_zero_", "bernoulli_", "cauchy_", "copy_",    "exponential_", "fill_",
    "geometric_",     "log_normal_",    "normal_",    "random_", "uniform_", "zero_",
};

struct Gather {
  std::string_view op;
  int gathered;
  int indices;
  OperatorRules::Row row;
};

// Operators that touch only those rows of an argument that another one names. What scatters into them reads them too,
// as every update in place does.
constexpr Gather kGathers[] = {
    {"_embedding_bag", 0, 1, OperatorRules::Row::slice},
    {"_embedding_bag_forward_only", 0, 1, OperatorRules::Row::slice},
    {"_embedding_bag_per_sample_weights_backward", 1, 2, OperatorRules::Row::slice},
    {"_index_put_impl_", 0, 1, OperatorRules::Row::slice},
    {"add", 0, 1, OperatorRules::Row::sparse},  // as add_ calls it: into its own argument
    {"add_", 0, 1, OperatorRules::Row::sparse},
    {"embedding", 0, 1, OperatorRules::Row::slice},
    {"embedding_renorm_", 0, 1, OperatorRules::Row::slice},
    {"gather", 0, 2, OperatorRules::Row::element_along},
    {"index", 0, 1, OperatorRules::Row::slice},
    {"index_add_", 0, 2, OperatorRules::Row::slice_along},
    {"index_copy_", 0, 2, OperatorRules::Row::slice_along},
    {"index_fill_", 0, 2, OperatorRules::Row::slice_along},
    {"index_put_", 0, 1, OperatorRules::Row::slice},
    {"index_reduce_", 0, 2, OperatorRules::Row::slice_along},
    {"index_select", 0, 2, OperatorRules::Row::slice_along},
    {"mul", 0, 1, OperatorRules::Row::sparse_factor},
    {"put_", 0, 1, OperatorRules::Row::element},
    {"scatter_", 0, 2, OperatorRules::Row::element_along},
    {"scatter_add_", 0, 2, OperatorRules::Row::element_along},
    {"scatter_reduce_", 0, 2, OperatorRules::Row::element_along},
    {"sparse_mask", 0, 1, OperatorRules::Row::sparse},
    {"take", 0, 1, OperatorRules::Row::element},
};

template <std::size_t n>
bool contains(const std::string_view (&sorted)[n], std::string_view text) {
  return std::binary_search(std::begin(sorted), std::end(sorted), text);
}

template <std::size_t n>
constexpr bool is_sorted(const std::string_view (&texts)[n]) {
  for (std::size_t i = 1; i < n; ++i) {
    if (!(texts[i - 1] < texts[i])) return false;
  }
  return true;
}
static_assert(is_sorted(kTouchesNothing) && is_sorted(kOverwrites), "they are searched by halves");

bool starts_with(std::string_view text, std::string_view prefix) { return text.substr(0, prefix.size()) == prefix; }

bool ends_with(std::string_view text, std::string_view suffix) {
  return text.size() >= suffix.size() && text.substr(text.size() - suffix.size()) == suffix;
}

// zeros_like(self), new_ones(self, ...): `self` lends its shape and type only.
bool makes_like(std::string_view op) { return ends_with(op, "_like") || starts_with(op, "new_"); }

std::uint64_t bit(std::size_t index) { return index < 64 ? std::uint64_t{1} << index : 0; }

bool is_written(const c10::Argument& argument) {
  return argument.alias_info() != nullptr && argument.alias_info()->isWrite();
}

bool is_view(const c10::Argument& argument) {
  return argument.alias_info() != nullptr && !argument.alias_info()->isWrite();
}

// PyTorch's own composite operators only call other operators, which are announced themselves. (Not so in other
// libraries: there a plain C++ kernel registered without a key counts as composite too, and does touch data.)
bool only_calls_others(const c10::OperatorHandle& op) {
  return op.hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd) &&
         !op.hasKernelForDispatchKey(c10::DispatchKey::CPU);
}

bool touches_nothing(const c10::FunctionSchema& schema, std::string_view op) {
  if (contains(kTouchesNothing, op)) return true;
  const auto handle = c10::Dispatcher::singleton().findSchema(schema.operator_name());
  return handle.has_value() && (handle->hasTag(at::Tag::inplace_view) || only_calls_others(*handle));
}

// batch_norm's running statistics carry no alias annotation, but are updated when `training` is set.
void add_running_statistics(const c10::FunctionSchema& schema, OperatorRules& rules) {
  const auto& arguments = schema.arguments();
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& name = arguments[i].name();
    if (name == "running_mean" || name == "running_var") rules.written_in_training |= bit(i);
    if (name == "training" || name == "train") rules.training = static_cast<int>(i);
  }
}

void add_arguments(const c10::FunctionSchema& schema, bool overwrites, bool out_is_returned, OperatorRules& rules) {
  const auto& arguments = schema.arguments();
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (is_view(arguments[i])) continue;
    if (!is_written(arguments[i])) {
      rules.read |= bit(i);
    } else if (!arguments[i].is_out()) {
      rules.written |= bit(i);
      rules.read |= overwrites && i == 0 ? 0 : bit(i);
    } else if (!out_is_returned) {
      rules.written |= bit(i);
    }
  }
}

void add_gather(const c10::FunctionSchema& schema, std::string_view op, OperatorRules& rules) {
  const auto& arguments = schema.arguments();
  for (const Gather& gather : kGathers) {
    if (gather.op != op || static_cast<std::size_t>(gather.indices) >= arguments.size()) continue;
    if (op == "add") {
      if (!arguments.back().is_out()) return;  // what it returns is a copy of all
      rules.into = static_cast<int>(arguments.size()) - 1;
    }
    rules.gathered = gather.gathered;
    rules.indices = gather.indices;
    rules.row = gather.row;
  }
}

// `out` may get new storage while the operator runs, so it is announced where it is returned.
bool returns_out(const c10::FunctionSchema& schema) {
  const auto& arguments = schema.arguments();
  return std::any_of(arguments.begin(), arguments.end(), [](const auto& a) { return a.is_out(); }) &&
         std::any_of(schema.returns().begin(), schema.returns().end(), is_written);
}

}  // namespace

OperatorRules derive_rules(const c10::FunctionSchema& schema) {
  OperatorRules rules;
  std::string_view op = schema.name();
  const bool ours = starts_with(op, "aten::");
  if (ours) {
    op.remove_prefix(6);
    if (touches_nothing(schema, op)) return rules;
  }
  const bool out_is_returned = returns_out(schema);
  if (!ours || !makes_like(op)) add_arguments(schema, ours && contains(kOverwrites, op), out_is_returned, rules);
  if (ours) add_gather(schema, op, rules);
  const auto& returns = schema.returns();
  for (std::size_t i = 0; i < returns.size(); ++i) {
    const bool fresh = returns[i].alias_info() == nullptr;
    if (fresh || (out_is_returned && is_written(returns[i]))) rules.returned_written |= bit(i);
  }
  if (ours && op.find("batch_norm") != std::string_view::npos && !ends_with(op, "backward")) {
    add_running_statistics(schema, rules);
  }
  return rules;
}

}  // namespace hearth::adapter
