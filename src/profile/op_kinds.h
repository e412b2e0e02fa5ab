// What kind of op a name says: used only to explain disagreements (agreement.h), never to decide about tensors.
// Names as the dispatcher gives them, "aten::view".
#pragma once

#include <string_view>

namespace hearth::profile {

// Reads shapes and strides only, allocates without writing, or may hand its input on as its result.
bool is_metadata_op(std::string_view name);

// Reads or writes rows chosen by an index, so that most of an operand may stay untouched.
bool is_sparse_op(std::string_view name);

}  // namespace hearth::profile
