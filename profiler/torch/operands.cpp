#include "operands.h"

#include <algorithm>

#include "attach.h"
#include "hearth/trace.h"

namespace hearth::adapter {
namespace {

constexpr int kMaxNesting = 4;  // lists of tuples of lists; deeper structures hold no operands in practice

// Bytes from the first to the last element that the view can reach.
std::uint64_t span_of(const c10::TensorImpl& tensor, std::uint64_t storage_bytes) {
  if (!compat::has_plain_sizes(tensor)) return storage_bytes;
  const auto sizes = tensor.sizes();
  const auto strides = tensor.strides();
  std::uint64_t elements = 1;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == 0) return 0;
    elements += static_cast<std::uint64_t>((sizes[i] - 1) * strides[i]);
  }
  const std::uint64_t item = tensor.itemsize();
  const std::uint64_t offset = std::min(static_cast<std::uint64_t>(tensor.storage_offset()) * item, storage_bytes);
  return std::min(elements * item, storage_bytes - offset);
}

void announce_strided(const c10::TensorImpl& tensor, std::uint32_t access) {
  if (!tensor.has_storage()) return;  // oneDNN's opaque tensors, functorch's wrappers
  c10::StorageImpl* storage = tensor.unsafe_storage().unsafeGetStorageImpl();
  if (storage == nullptr || storage->device_type() != c10::DeviceType::CPU) return;
  const void* data = compat::data_of(*storage);
  if (data == nullptr) return;
  const std::uint64_t bytes = storage->nbytes();
  const std::uint64_t span = span_of(tensor, bytes);
  if (span != 0) g_bridge->operand(data, bytes, span, access);
}

void announce(const at::TensorBase& tensor, std::uint32_t access) {
  if (!tensor.defined()) return;
  c10::TensorImpl* impl = tensor.unsafeGetTensorImpl();
  if (impl->is_sparse()) {
    const auto* sparse = static_cast<const at::SparseTensorImpl*>(impl);
    announce(sparse->indices(), access);
    announce(sparse->values(), access);
  } else if (impl->key_set().has_any(c10::sparse_csr_ks)) {
    const auto* compressed = static_cast<const at::SparseCsrTensorImpl*>(impl);
    announce(compressed->compressed_indices(), access);
    announce(compressed->plain_indices(), access);
    announce(compressed->values(), access);
  } else {
    announce_strided(*impl, access);
  }
}

void announce(const c10::IValue& value, std::uint32_t access, int depth = 0) {
  if (value.isTensor()) {
    announce(value.toTensor(), access);
  } else if (depth == kMaxNesting) {
    return;
  } else if (value.isTensorList() ||
             (value.isList() && !value.isIntList() && !value.isDoubleList() && !value.isBoolList())) {
    for (const c10::IValue& element : value.toListRef()) announce(element, access, depth + 1);
  } else if (value.isTuple()) {
    for (const c10::IValue& element : value.toTupleRef().elements()) announce(element, access, depth + 1);
  } else if (value.isGenericDict()) {
    for (const auto& entry : value.toGenericDict()) announce(entry.value(), access, depth + 1);
  }
}

// Which parts of a gathered argument an op touches.
struct Rows {
  std::uint64_t count = 0;  // 0: not to be told
  std::uint64_t bytes = 0;
};

const c10::TensorImpl* plain_tensor(const c10::IValue& value) {
  if (!value.isTensor() || !value.toTensor().defined()) return nullptr;
  const c10::TensorImpl* impl = value.toTensor().unsafeGetTensorImpl();
  return compat::has_plain_sizes(*impl) ? impl : nullptr;
}

// The one index tensor, of an argument that is a tensor or a list in which only the first element is one.
const c10::TensorImpl* index_tensor(const c10::IValue& value) {
  if (!value.isList()) return plain_tensor(value);
  const auto list = value.toListRef();
  if (list.empty()) return nullptr;
  for (std::size_t i = 1; i < list.size(); ++i) {
    if (!list[i].isNone() && !(list[i].isTensor() && !list[i].toTensor().defined())) return nullptr;
  }
  return plain_tensor(list[0]);
}

// Where one index was expanded over the dimensions behind `dim`, its elements lie side by side: they are one row.
std::uint64_t neighbours(const c10::TensorImpl& from, const c10::TensorImpl& index, std::int64_t dim) {
  std::int64_t together = 1;
  for (std::int64_t i = index.dim() - 1; i > dim && i < from.dim(); --i) {
    const auto at = static_cast<std::size_t>(i);
    if (index.strides()[at] != 0 || from.strides()[at] != together) break;
    together *= index.sizes()[at];
    if (index.sizes()[at] != from.sizes()[at]) break;
  }
  return static_cast<std::uint64_t>(std::max<std::int64_t>(together, 1));
}

// The rows of a dense tensor that a sparse one of the same shape has.
Rows rows_of_sparse(const c10::TensorImpl& from, const c10::IValue& value) {
  const c10::TensorImpl* impl = plain_tensor(value);
  if (impl == nullptr || !impl->is_sparse() || impl->sizes() != from.sizes()) return {};
  const auto* sparse = static_cast<const at::SparseTensorImpl*>(impl);
  const auto count = static_cast<std::uint64_t>(sparse->nnz());
  if (count == 0) return {};
  return {count, static_cast<std::uint64_t>(sparse->values().numel()) / count * from.itemsize()};
}

Rows rows_of_index(OperatorRules::Row row, const c10::TensorImpl& from, const c10::TensorImpl& index,
                   const c10::IValue& along) {
  using Row = OperatorRules::Row;
  const c10::ScalarType type = c10::typeMetaToScalarType(index.dtype());
  if (type == at::kBool || type == at::kByte) return {};  // a mask: any number of rows
  const auto count = static_cast<std::uint64_t>(index.numel());
  const std::uint64_t item = from.itemsize();
  if (row == Row::element) return {count, item};
  std::int64_t dim = 0;
  if (row != Row::slice) {
    if (!along.isInt()) return {};  // named
    dim = along.toInt() + (along.toInt() < 0 ? from.dim() : 0);
    if (dim < 0) return {};  // the op is about to say so
  }
  if (row == Row::element_along) {
    const std::uint64_t together = neighbours(from, index, dim);
    return {count / together, together * item};
  }
  if (dim != 0 || from.sizes()[0] == 0) return {};
  return {count, static_cast<std::uint64_t>(from.numel() / from.sizes()[0]) * item};
}

// What is touched of the argument `gathered`, whose rows the other one of the two arguments of the rules names.
template <class Inputs>  // an ArrayRef of const values in some versions
Rows rows_of(const OperatorRules& rules, std::size_t gathered, const Inputs& inputs) {
  const auto indices = static_cast<std::size_t>(rules.gathered + rules.indices) - gathered;
  if (indices >= inputs.size()) return {};
  const c10::TensorImpl* from = plain_tensor(inputs[gathered]);
  if (from == nullptr || !from->has_storage() || from->dim() == 0) return {};
  if (rules.by_sparse()) {
    if (rules.into >= 0 && plain_tensor(inputs[static_cast<std::size_t>(rules.into)]) != from) return {};
    return rows_of_sparse(*from, inputs[indices]);
  }
  const c10::TensorImpl* index = index_tensor(inputs[indices]);
  if (index == nullptr || !index->has_storage()) return {};
  return rows_of_index(rules.row, *from, *index, inputs[1]);
}

// False if it touches no less than all of it.
bool announce_gather(const c10::IValue& value, const Rows& rows, std::uint32_t access) {
  if (rows.count == 0 || rows.bytes == 0) return false;
  const c10::TensorImpl& tensor = *value.toTensor().unsafeGetTensorImpl();
  c10::StorageImpl* storage = tensor.unsafe_storage().unsafeGetStorageImpl();
  if (storage == nullptr || storage->device_type() != c10::DeviceType::CPU) return false;
  const void* data = compat::data_of(*storage);
  const std::uint64_t span = span_of(tensor, storage->nbytes());
  if (data == nullptr || rows.count >= span / rows.bytes) return false;
  if (hearth_bridge_gathers(g_bridge) != 0) {
    g_bridge->gather(data, storage->nbytes(), rows.count, rows.bytes, access);
  } else {
    g_bridge->operand(data, storage->nbytes(), rows.count * rows.bytes, access);
  }
  return true;
}

// The open op of this thread of which the output was announced with the inputs, since it is one of them and only its
// rows are written; when the op ends, its inputs cannot be looked at any more.
__thread const at::RecordFunction* t_output_announced = nullptr;

bool has_bit(std::uint64_t bits, std::size_t index) { return index < 64 && ((bits >> index) & 1) != 0; }

}  // namespace

void announce_inputs(const at::RecordFunction& function, const c10::FunctionSchema& schema) {
  OperatorRules storage;
  const OperatorRules& rules = rules_of(schema, storage);
  if (rules.touches_nothing()) return;
  if (t_output_announced == &function) t_output_announced = nullptr;  // of one before it, which threw
  const auto inputs = function.inputs();
  std::uint64_t written = rules.written;
  const auto training = static_cast<std::size_t>(rules.training);
  if (rules.training >= 0 && training < inputs.size() && inputs[training].isBool() && inputs[training].toBool()) {
    written |= rules.written_in_training;
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const bool reads = i >= 64 || has_bit(rules.read, i);
    const std::uint32_t access = static_cast<std::uint32_t>(reads ? HEARTH_ACCESS_READ : 0) |
                                 static_cast<std::uint32_t>(has_bit(written, i) ? HEARTH_ACCESS_WRITE : 0);
    if (access == 0) continue;
    if (rules.may_gather(i)) {
      const bool updates = rules.into >= 0;
      if (announce_gather(inputs[i], rows_of(rules, i, inputs), updates ? access | HEARTH_ACCESS_WRITE : access)) {
        if (updates) t_output_announced = &function;
        continue;
      }
    }
    announce(inputs[i], access);
  }
}

void announce_outputs(const at::RecordFunction& function, const c10::FunctionSchema& schema) {
  OperatorRules storage;
  const OperatorRules& rules = rules_of(schema, storage);
  if (rules.returned_written == 0) return;
  if (t_output_announced == &function) {
    t_output_announced = nullptr;
    return;
  }
  const auto& outputs = function.outputs();
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (i >= 64 || has_bit(rules.returned_written, i)) announce(outputs[i], HEARTH_ACCESS_WRITE);
  }
}

}  // namespace hearth::adapter
