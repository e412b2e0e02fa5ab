// The few functions of CPython that the adapter uses, found in the process at run time: the adapter links no libpython
// and works with every Python, or none. Nothing here includes Python.h.
//
// Everything but usable() and thread_known() needs the GIL, that is, a PythonSession.
#pragma once

#include <string_view>

struct _object;
using PyObject = _object;

namespace hearth::adapter {

class PythonApi {
 public:
  // Null when the program has no Python.
  static const PythonApi* get();

  bool usable() const;              // initialised and not finalising
  bool thread_known() const;        // the calling thread has run Python before
  PyObject* current_frame() const;  // borrowed
  // New references, or null (never an error set).
  PyObject* get_attribute(PyObject* object, const char* name) const;
  PyObject* get_item(PyObject* mapping, const char* key) const;
  PyObject* new_reference(PyObject* object) const;
  void release(PyObject* object) const;
  std::string_view text(PyObject* unicode) const;  // "" for anything else; lives as long as the object
  // Runs `source` in a namespace of its own that begins with the given functions; the namespace, or null.
  using Function = PyObject* (*)(PyObject* self, PyObject* argument);
  struct Named {
    const char* name;
    Function function;
  };
  PyObject* run(const char* source, const char* file, const Named* functions, int count) const;
  bool call(PyObject* mapping, const char* function) const;  // false if it raised
  PyObject* none() const;                                    // new reference
  PyObject* import(const char* module) const;                // new reference, or null

 private:
  friend class PythonSession;
  bool resolve();
  bool define(PyObject* name_space, const Named& function) const;

  int (*is_initialized_)() = nullptr;
  int (*is_finalizing_)() = nullptr;
  void* (*this_thread_state_)() = nullptr;
  int (*ensure_)() = nullptr;
  void (*leave_)(int) = nullptr;
  void (*fetch_error_)(PyObject**, PyObject**, PyObject**) = nullptr;
  void (*restore_error_)(PyObject*, PyObject*, PyObject*) = nullptr;
  void (*clear_error_)() = nullptr;
  PyObject* (*frame_)() = nullptr;
  PyObject* (*attribute_)(PyObject*, const char*) = nullptr;
  PyObject* (*item_)(PyObject*, const char*) = nullptr;
  const char* (*utf8_)(PyObject*, long*) = nullptr;
  void (*increment_)(PyObject*) = nullptr;
  void (*decrement_)(PyObject*) = nullptr;
  PyObject* (*new_dict_)() = nullptr;
  int (*set_item_)(PyObject*, const char*, PyObject*) = nullptr;
  PyObject* (*builtins_)() = nullptr;
  PyObject* (*compile_)(const char*, const char*, int) = nullptr;
  PyObject* (*evaluate_)(PyObject*, PyObject*, PyObject*) = nullptr;
  PyObject* (*new_function_)(void*, PyObject*, PyObject*) = nullptr;
  PyObject* (*call_)(PyObject*, PyObject*) = nullptr;
  PyObject* (*import_)(const char*) = nullptr;
  PyObject* none_ = nullptr;
};

// Holds the GIL; the error indicator of the program is put aside and given back.
class PythonSession {
 public:
  explicit PythonSession(const PythonApi& python);
  ~PythonSession();
  PythonSession(const PythonSession&) = delete;
  PythonSession& operator=(const PythonSession&) = delete;

 private:
  const PythonApi& python_;
  int gil_;
  PyObject* error_[3] = {};
};

class PythonRef {
 public:
  PythonRef(const PythonApi& python, PyObject* owned) : python_(&python), object_(owned) {}
  ~PythonRef() { python_->release(object_); }
  PythonRef(const PythonRef&) = delete;
  PythonRef& operator=(PythonRef&& other) noexcept {
    PyObject* former = object_;
    object_ = other.object_;
    other.object_ = former;
    return *this;
  }
  explicit operator bool() const { return object_ != nullptr; }
  PyObject* get() const { return object_; }

 private:
  const PythonApi* python_;
  PyObject* object_;
};

}  // namespace hearth::adapter
