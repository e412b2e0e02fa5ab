// Announces the operands of an operator to the runtime: which storage, how much of it, read or written.
// Called by the callbacks between op_begin and op_end, on the operator's thread. Changes nothing: no reference counts
// kept, no copy-on-write storage materialised, no Python called. May throw (PyTorch's accessors may); the callbacks
// catch.
#pragma once

#include "operators.h"

namespace hearth::adapter {

void announce_inputs(const at::RecordFunction& function, const c10::FunctionSchema& schema);
void announce_outputs(const at::RecordFunction& function, const c10::FunctionSchema& schema);

}  // namespace hearth::adapter
