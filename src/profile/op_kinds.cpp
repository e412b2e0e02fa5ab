#include "profile/op_kinds.h"

#include <algorithm>
#include <iterator>

namespace hearth::profile {
namespace {

// Both lists are sorted, for binary search.
constexpr std::string_view kMetadataOps[] = {
    "_conj",
    "_dimI",
    "_dimV",
    "_has_same_storage_numel",
    "_indices",
    "_is_zerotensor",
    "_neg_view",
    "_nnz",
    "_reshape_alias",
    "_unsafe_view",
    "_values",
    "_version",
    "alias",
    "align_as",
    "align_to",
    "alpha_dropout",
    "as_strided",
    "as_strided_",
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "broadcast_tensors",
    "broadcast_to",
    "chunk",
    "conj",
    "contiguous",
    "data",
    "dense_dim",
    "detach",
    "detach_",
    "diagonal",
    "dim",
    "dropout",
    "dropout_",
    "empty",
    "empty_like",
    "empty_permuted",
    "empty_strided",
    "expand",
    "expand_as",
    "feature_dropout",
    "flatten",
    "full",
    "full_like",
    "is_coalesced",
    "is_complex",
    "is_contiguous",
    "is_floating_point",
    "is_leaf",
    "is_same_size",
    "layout",
    "lift",
    "lift_fresh",
    "mT",
    "matrix_H",
    "meshgrid",
    "moveaxis",
    "movedim",
    "narrow",
    "new_empty",
    "new_empty_strided",
    "new_full",
    "new_ones",
    "new_zeros",
    "numel",
    "numpy_T",
    "ones",
    "ones_like",
    "output_nr",
    "permute",
    "pin_memory",
    "positive",
    "ravel",
    "real",
    "record_stream",
    "rename",
    "requires_grad_",
    "reshape",
    "reshape_as",
    "resize_",
    "resize_as_",
    "resolve_conj",
    "resolve_neg",
    "result_type",
    "retain_grad",
    "select",
    "set_",
    "set_data",
    "size",
    "slice",
    "sparse_dim",
    "split",
    "split_with_sizes",
    "squeeze",
    "squeeze_",
    "stride",
    "swapaxes",
    "swapdims",
    "sym_numel",
    "sym_size",
    "sym_stride",
    "t",
    "t_",
    "tensor_split",
    "to",
    "transpose",
    "transpose_",
    "type_as",
    "unbind",
    "unflatten",
    "unfold",
    "unsafe_chunk",
    "unsafe_split",
    "unsafe_split_with_sizes",
    "unsqueeze",
    "unsqueeze_",
    "view",
    "view_as",
    "view_as_complex",
    "view_as_real",
    "zeros",
    "zeros_like",
};

constexpr std::string_view kSparseOps[] = {
    "_embedding_bag",
    "_embedding_bag_backward",
    "_embedding_bag_dense_backward",
    "_embedding_bag_forward_only",
    "_index_put_impl_",
    "_unsafe_index",
    "_unsafe_index_put",
    "embedding",
    "embedding_backward",
    "embedding_bag",
    "embedding_dense_backward",
    "embedding_renorm_",
    "gather",
    "grid_sampler_2d",
    "index",
    "index_add",
    "index_add_",
    "index_copy",
    "index_copy_",
    "index_fill",
    "index_fill_",
    "index_put",
    "index_put_",
    "index_reduce",
    "index_select",

    "nll_loss_forward",
    "put_",
    "scatter",
    "scatter_",
    "scatter_add",
    "scatter_add_",
    "scatter_reduce",
    "sparse_mask",
    "take",
};

template <std::size_t N>
constexpr bool sorted(const std::string_view (&list)[N]) {
  return std::is_sorted(std::begin(list), std::end(list));
}
static_assert(sorted(kMetadataOps) && sorted(kSparseOps));

template <std::size_t N>
bool contains(const std::string_view (&list)[N], std::string_view name) {
  constexpr std::string_view kNamespace = "aten::";
  if (!name.starts_with(kNamespace)) return false;
  name.remove_prefix(kNamespace.size());
  return std::binary_search(std::begin(list), std::end(list), name);
}

}  // namespace

bool is_metadata_op(std::string_view name) { return contains(kMetadataOps, name); }
bool is_sparse_op(std::string_view name) { return contains(kSparseOps, name); }

std::uint32_t making_op(const Profile& profile, const Tensor& tensor) {
  if (tensor.born >= profile.ops.size()) return tensor.born;
  std::uint32_t op = tensor.born;
  while (is_metadata_op(profile.names[profile.ops[op].name])) {
    const std::uint32_t parent = profile.ops[op].parent;
    if (parent == kNone || profile.ops[parent].scope == kScopeUser) break;
    op = parent;
  }
  return op;
}

}  // namespace hearth::profile
