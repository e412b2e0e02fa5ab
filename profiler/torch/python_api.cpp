#include "python_api.h"

#include <dlfcn.h>

#include <cstring>

namespace hearth::adapter {
namespace {

template <class T>
bool find(T& target, const char* symbol) {
  void* address = dlsym(RTLD_DEFAULT, symbol);
  static_assert(sizeof target == sizeof address);
  std::memcpy(&target, &address, sizeof target);
  return address != nullptr;
}

constexpr int kFileInput = 257;    // Py_file_input
constexpr int kOneArgument = 0x8;  // METH_O

// CPython's PyMethodDef, part of its stable ABI.
struct MethodDefinition {
  const char* name;
  PythonApi::Function function;
  int flags;
  const char* documentation;
};

}  // namespace

const PythonApi* PythonApi::get() {
  static PythonApi api;
  static const bool found = api.resolve();
  return found ? &api : nullptr;
}

bool PythonApi::resolve() {
  // Since 3.13; an underscore before.
  const bool finalizing = find(is_finalizing_, "Py_IsFinalizing") || find(is_finalizing_, "_Py_IsFinalizing");
  return finalizing && find(is_initialized_, "Py_IsInitialized") &&
         find(this_thread_state_, "PyGILState_GetThisThreadState") && find(ensure_, "PyGILState_Ensure") &&
         find(leave_, "PyGILState_Release") && find(fetch_error_, "PyErr_Fetch") &&
         find(restore_error_, "PyErr_Restore") && find(clear_error_, "PyErr_Clear") &&
         find(frame_, "PyEval_GetFrame") && find(attribute_, "PyObject_GetAttrString") &&
         find(item_, "PyMapping_GetItemString") && find(utf8_, "PyUnicode_AsUTF8AndSize") &&
         find(increment_, "Py_IncRef") && find(decrement_, "Py_DecRef") && find(new_dict_, "PyDict_New") &&
         find(set_item_, "PyDict_SetItemString") && find(builtins_, "PyEval_GetBuiltins") &&
         find(compile_, "Py_CompileString") && find(evaluate_, "PyEval_EvalCode") &&
         find(new_function_, "PyCFunction_NewEx") && find(call_, "PyObject_CallObject") &&
         find(import_, "PyImport_ImportModule") && find(none_, "_Py_NoneStruct");
}

bool PythonApi::usable() const { return is_initialized_() != 0 && is_finalizing_() == 0; }
bool PythonApi::thread_known() const { return this_thread_state_() != nullptr; }
PyObject* PythonApi::current_frame() const { return frame_(); }

PyObject* PythonApi::get_attribute(PyObject* object, const char* name) const {
  PyObject* value = attribute_(object, name);
  if (value == nullptr) clear_error_();
  return value;
}

PyObject* PythonApi::get_item(PyObject* mapping, const char* key) const {
  PyObject* value = item_(mapping, key);
  if (value == nullptr) clear_error_();
  return value;
}

PyObject* PythonApi::new_reference(PyObject* object) const {
  increment_(object);
  return object;
}

PyObject* PythonApi::none() const { return new_reference(none_); }

PyObject* PythonApi::import(const char* module) const {
  PyObject* imported = import_(module);
  if (imported == nullptr) clear_error_();
  return imported;
}

void PythonApi::release(PyObject* object) const { decrement_(object); }

std::string_view PythonApi::text(PyObject* unicode) const {
  if (unicode == nullptr) return {};
  long length = 0;
  const char* characters = utf8_(unicode, &length);
  if (characters == nullptr) {
    clear_error_();
    return {};
  }
  return {characters, static_cast<std::size_t>(length)};
}

bool PythonApi::define(PyObject* name_space, const Named& function) const {
  // Python keeps the address of the definition for the life of the function, which the program may prolong.
  auto* definition = new MethodDefinition{function.name, function.function, kOneArgument, nullptr};
  const PythonRef object(*this, new_function_(definition, nullptr, nullptr));
  return object && set_item_(name_space, function.name, object.get()) == 0;
}

PyObject* PythonApi::run(const char* source, const char* file, const Named* functions, int count) const {
  PythonRef name_space(*this, new_dict_());
  bool good = name_space && set_item_(name_space.get(), "__builtins__", builtins_()) == 0;
  for (int i = 0; good && i < count; ++i) good = define(name_space.get(), functions[i]);
  if (good) {
    const PythonRef code(*this, compile_(source, file, kFileInput));
    const PythonRef result(*this, code ? evaluate_(code.get(), name_space.get(), name_space.get()) : nullptr);
    if (result) return new_reference(name_space.get());
  }
  clear_error_();
  return nullptr;
}

bool PythonApi::call(PyObject* mapping, const char* function) const {
  const PythonRef callable(*this, get_item(mapping, function));
  if (!callable) return false;
  const PythonRef result(*this, call_(callable.get(), nullptr));
  if (!result) clear_error_();
  return static_cast<bool>(result);
}

PythonSession::PythonSession(const PythonApi& python) : python_(python), gil_(python.ensure_()) {
  python_.fetch_error_(&error_[0], &error_[1], &error_[2]);
}

PythonSession::~PythonSession() {
  python_.restore_error_(error_[0], error_[1], error_[2]);
  python_.leave_(gil_);
}

}  // namespace hearth::adapter
