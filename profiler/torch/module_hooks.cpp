#include "module_hooks.h"

#include <atomic>
#include <cerrno>
#include <string_view>

#include "attach.h"
#include "python_api.h"

namespace hearth::adapter {
namespace {

// `enter` and `leave` are ours and take a module's name.
//
// A module entered while none is open is a root; its named_modules() give the paths. Before 2.1 a forward that raises
// never reaches the hook after it: what it left open is closed when a module around it leaves or the same one is
// entered again. While torch.compile traces, the hooks are empty to it: it breaks no graph and calls nothing of ours.
constexpr char kHooks[] = R"python(
import sys, threading, weakref

_torch = sys.modules["torch"]
_module = sys.modules["torch.nn.modules.module"]
_compiler = getattr(_torch, "compiler", None)
_is_compiling = getattr(_compiler, "is_compiling", None) or (lambda: False)
_names = weakref.WeakKeyDictionary()
_open = threading.local()
_handles = []
_always = False


def _learn(module, root):
    try:
        if root:
            for path, child in module.named_modules():
                _names.setdefault(child, path or type(module).__name__)
        return _names.setdefault(module, type(module).__name__)
    except Exception:
        return type(module).__name__


def _close(stack, depth):
    while len(stack) > depth:
        leave(stack.pop()[1])


def _position(stack, module):
    for i in range(len(stack) - 1, -1, -1):
        if stack[i][0] == id(module):
            return i
    return -1


def _enter(module):
    stack = _open.__dict__.setdefault("stack", [])
    if not _always:
        again = _position(stack, module)
        if again >= 0:
            _close(stack, again)
    try:
        name = _names.get(module)
    except Exception:
        name = None
    if name is None:
        name = _learn(module, not stack)
    stack.append((id(module), name))
    enter(name)


def _leave(module):
    stack = _open.__dict__.setdefault("stack", [])
    position = _position(stack, module)
    if position >= 0:
        _close(stack, position)


def _before(module, inputs):
    if not _is_compiling():
        _enter(module)


def _after(module, inputs, output):
    if not _is_compiling():
        _leave(module)


def start():
    global _always
    if _handles:
        return
    _handles.append(_module.register_module_forward_pre_hook(_before))
    try:
        _handles.append(_module.register_module_forward_hook(_after, always_call=True))
        _always = True
    except TypeError:
        _handles.append(_module.register_module_forward_hook(_after))


def stop():
    while _handles:
        _handles.pop().remove()
)python";

PyObject* report(PyObject* name, void (*function)(std::uint32_t)) {
  const PythonApi& python = *PythonApi::get();
  const std::string_view text = python.text(name);
  function(text.empty() ? 0 : g_bridge->intern(text.data(), text.size()));
  return python.none();
}

PyObject* enter(PyObject*, PyObject* name) { return report(name, g_bridge->module_enter); }
PyObject* leave(PyObject*, PyObject* name) { return report(name, g_bridge->module_exit); }

std::atomic<PyObject*> g_hooks{nullptr};  // the namespace of kHooks; written under the GIL, never released

bool modules_imported(const PythonApi& python) {
  const PythonRef sys(python, python.import("sys"));
  if (!sys) return false;
  const PythonRef modules(python, python.get_attribute(sys.get(), "modules"));
  return modules && PythonRef(python, python.get_item(modules.get(), "torch.nn.modules.module"));
}

}  // namespace

int watch_modules(bool on) {
  const PythonApi* python = PythonApi::get();
  if (python == nullptr || !python->usable()) return ENOSYS;
  const PythonSession session(*python);
  PyObject* hooks = g_hooks.load();
  if (hooks == nullptr && !on) return 0;
  if (hooks == nullptr) {
    if (!modules_imported(*python)) return EAGAIN;
    const PythonApi::Named functions[] = {{"enter", enter}, {"leave", leave}};
    hooks = python->run(kHooks, "hearth_module_hooks.py", functions, 2);
    if (hooks == nullptr) return EIO;
    g_hooks.store(hooks);
  }
  return python->call(hooks, on ? "start" : "stop") ? 0 : EIO;
}

}  // namespace hearth::adapter
