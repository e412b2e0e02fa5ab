#include "optimizer_identity.h"

#include <string_view>

#include "python_api.h"

namespace hearth::adapter {
namespace {

constexpr int kMaxFrames = 16;  // the wrapper of step() is three frames above the scope it opens

// torch.optim's wrapper around every optimizer's step(): it opens the scope and holds the optimizer in a local
// variable.
bool is_step_wrapper(const PythonApi& python, PyObject* frame) {
  const PythonRef code(python, python.get_attribute(frame, "f_code"));
  if (!code) return false;
  const PythonRef name(python, python.get_attribute(code.get(), "co_name"));
  if (python.text(name.get()) != "wrapper") return false;
  const PythonRef file(python, python.get_attribute(code.get(), "co_filename"));
  const std::string_view path = python.text(file.get());
  constexpr std::string_view kSource = "optim/optimizer.py";
  return path.size() >= kSource.size() && path.substr(path.size() - kSource.size()) == kSource;
}

std::uint64_t optimizer_in(const PythonApi& python, PyObject* frame) {
  const PythonRef locals(python, python.get_attribute(frame, "f_locals"));
  if (!locals) return 0;
  for (const char* variable : {"self", "obj"}) {  // 2.x, 1.x
    const PythonRef optimizer(python, python.get_item(locals.get(), variable));
    if (optimizer) return reinterpret_cast<std::uintptr_t>(optimizer.get());
  }
  return 0;
}

std::uint64_t search_frames(const PythonApi& python) {
  PyObject* top = python.current_frame();
  if (top == nullptr) return 0;
  PythonRef frame(python, python.new_reference(top));
  for (int i = 0; i < kMaxFrames && frame; ++i) {
    if (is_step_wrapper(python, frame.get())) return optimizer_in(python, frame.get());
    frame = PythonRef(python, python.get_attribute(frame.get(), "f_back"));
  }
  return 0;
}

}  // namespace

std::uint64_t identify_optimizer() {
  const PythonApi* python = PythonApi::get();
  // A thread that Python does not know has no frames, and asking for the GIL would create a state for it.
  if (python == nullptr || !python->usable() || !python->thread_known()) return 0;
  const PythonSession session(*python);
  return search_frames(*python);
}

}  // namespace hearth::adapter
