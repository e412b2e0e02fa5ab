// What kind of op a name says: used to explain (agreement.h, the report), never to decide about tensors.
// Names as the dispatcher gives them, "aten::view".
#pragma once

#include <cstdint>
#include <string_view>

#include "profile/profile.h"

namespace hearth::profile {

// Reads shapes and strides only, allocates without writing, or may hand its input on as its result.
bool is_metadata_op(std::string_view name);

// Reads or writes rows chosen by an index, so that most of an operand may stay untouched.
bool is_sparse_op(std::string_view name);

// The op that made the tensor in the eyes of a user: around the `empty` that allocated it, the first op that computes.
// An op index or, like Tensor::born, kBefore or kOutside.
std::uint32_t making_op(const Profile& profile, const Tensor& tensor);

}  // namespace hearth::profile
