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

struct Rows {
  std::uint64_t count = 0;  // 0: not to be told
  std::uint64_t bytes = 0;
};

// The one index tensor, of an argument that is a tensor or a list in which only the first element is one.
const at::Tensor* index_tensor(const c10::IValue& value) {
  if (value.isTensor()) return &value.toTensor();
  if (!value.isList()) return nullptr;
  const auto list = value.toListRef();
  if (list.size() != 1 || !list[0].isTensor()) return nullptr;
  return &list[0].toTensor();
}

// What the op touches of its gathered argument.
template <class Inputs>  // an ArrayRef of const values in some versions
Rows rows_of(const OperatorRules& rules, const Inputs& inputs) {
  const auto gathered = static_cast<std::size_t>(rules.gathered);
  const auto indices = static_cast<std::size_t>(rules.indices);
  if (indices >= inputs.size() || !inputs[gathered].isTensor()) return {};
  const at::Tensor* index = index_tensor(inputs[indices]);
  const at::Tensor& from = inputs[gathered].toTensor();
  if (index == nullptr || !index->defined() || !from.defined() || from.is_sparse() || from.dim() == 0) return {};
  if (index->scalar_type() == at::kBool || index->scalar_type() == at::kByte) return {};  // a mask: any number of rows
  const auto item = static_cast<std::uint64_t>(from.itemsize());
  if (rules.row == OperatorRules::Row::element) return {static_cast<std::uint64_t>(index->numel()), item};
  const bool along_0 = rules.row == OperatorRules::Row::slice || (inputs[1].isInt() && inputs[1].toInt() == 0);
  if (!along_0 || from.size(0) == 0) return {};
  return {static_cast<std::uint64_t>(index->numel()), static_cast<std::uint64_t>(from.numel() / from.size(0)) * item};
}

// False if it touches no less than all of it.
bool announce_gather(const at::Tensor& tensor, const Rows& rows, std::uint32_t access) {
  if (!tensor.has_storage()) return false;
  c10::StorageImpl* storage = tensor.unsafeGetTensorImpl()->unsafe_storage().unsafeGetStorageImpl();
  if (storage == nullptr || storage->device_type() != c10::DeviceType::CPU) return false;
  const void* data = compat::data_of(*storage);
  const std::uint64_t span = span_of(*tensor.unsafeGetTensorImpl(), storage->nbytes());
  if (data == nullptr || rows.count == 0 || rows.bytes == 0 || rows.count >= span / rows.bytes) return false;
  g_bridge->gather(data, storage->nbytes(), rows.count, rows.bytes, access);
  return true;
}

bool has_bit(std::uint64_t bits, std::size_t index) { return index < 64 && ((bits >> index) & 1) != 0; }

}  // namespace

void announce_inputs(const at::RecordFunction& function, const c10::FunctionSchema& schema) {
  OperatorRules storage;
  const OperatorRules& rules = rules_of(schema, storage);
  if (rules.touches_nothing()) return;
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
    const bool gathered = rules.gathered >= 0 && i == static_cast<std::size_t>(rules.gathered);
    if (gathered && announce_gather(inputs[i].toTensor(), rows_of(rules, inputs), access)) continue;
    announce(inputs[i], access);
  }
}

void announce_outputs(const at::RecordFunction& function, const c10::FunctionSchema& schema) {
  OperatorRules storage;
  const OperatorRules& rules = rules_of(schema, storage);
  if (rules.returned_written == 0) return;
  const auto& outputs = function.outputs();
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (i >= 64 || has_bit(rules.returned_written, i)) announce(outputs[i], HEARTH_ACCESS_WRITE);
  }
}

}  // namespace hearth::adapter
