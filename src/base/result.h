// Result<T>: a value or one sentence for the user. For cold code only (it allocates).
// A message says what happened, to which file or knob, and what to do about it.
#pragma once

#include <string>
#include <utility>
#include <variant>

namespace hearth {

struct Error {
  std::string message;
};

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  explicit operator bool() const { return state_.index() == 0; }
  T& operator*() { return *std::get_if<0>(&state_); }
  const T& operator*() const { return *std::get_if<0>(&state_); }
  T* operator->() { return std::get_if<0>(&state_); }
  const T* operator->() const { return std::get_if<0>(&state_); }
  const std::string& error() const { return std::get_if<1>(&state_)->message; }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : failed_(true), message_(std::move(error.message)) {}
  explicit operator bool() const { return !failed_; }
  const std::string& error() const { return message_; }

 private:
  bool failed_ = false;
  std::string message_;
};

}  // namespace hearth
