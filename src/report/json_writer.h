// JsonWriter: writes one JSON document, value by value, into a Sink, without building it in memory.
//
// Async-signal-safe where the sink is: no allocation, no lock, no locale. Text is taken as UTF-8; what is not becomes
// U+FFFD. The caller keeps begin and end balanced and gives every member of an object its key; nesting is at most 63
// deep.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace hearth::report {

// Collects small pieces and passes them on in chunks.
class Sink {
 public:
  Sink() = default;
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;

  void put(char c) {
    if (used_ == sizeof(buffer_)) flush();
    buffer_[used_++] = c;
  }
  void put(std::string_view text) {
    for (const char c : text) put(c);
  }
  void flush() {
    if (used_ > 0) pass_on(buffer_, used_);
    used_ = 0;
  }

 protected:
  ~Sink() = default;

 private:
  virtual void pass_on(const char* data, std::size_t bytes) = 0;

  std::size_t used_ = 0;
  char buffer_[512];
};

class StringSink final : public Sink {
 public:
  explicit StringSink(std::string& out) : out_(out) {}

 private:
  void pass_on(const char* data, std::size_t bytes) override { out_.append(data, bytes); }
  std::string& out_;
};

class FileSink final : public Sink {
 public:
  explicit FileSink(int fd) : fd_(fd) {}
  int error() const { return error_; }  // of the first write that failed, 0 if none did

 private:
  void pass_on(const char* data, std::size_t bytes) override;
  int fd_;
  int error_ = 0;
};

class JsonWriter {
 public:
  explicit JsonWriter(Sink& sink) : sink_(sink) {}

  // Continues an object that was begun elsewhere and has members already.
  static JsonWriter continuing(Sink& sink);

  JsonWriter& begin_object() { return open('{'); }
  JsonWriter& end_object() { return close('}'); }
  JsonWriter& begin_array() { return open('['); }
  JsonWriter& end_array() { return close(']'); }
  JsonWriter& key(std::string_view name);

  JsonWriter& value(std::string_view text);
  JsonWriter& value(const char* text) { return value(std::string_view(text == nullptr ? "" : text)); }
  JsonWriter& value(bool truth);
  JsonWriter& value(std::uint64_t number);
  JsonWriter& value(std::int64_t number);
  JsonWriter& value(std::uint32_t number) { return value(std::uint64_t{number}); }
  JsonWriter& value(int number) { return value(std::int64_t{number}); }
  // Six decimals at most; null if not finite or beyond 2^53.
  JsonWriter& value(double number);
  JsonWriter& null();
  // numerator / denominator with three decimals, in integers only; null for denominator 0.
  JsonWriter& ratio(std::uint64_t numerator, std::uint64_t denominator);

  template <class Value>
  JsonWriter& member(std::string_view name, Value value_of_it) {
    key(name);
    return value(value_of_it);
  }
  // A hash, as text: beyond 2^53 a number does not survive JavaScript.
  JsonWriter& hex(std::uint64_t number);
  // A line break, for the reader of the raw file; only between complete values.
  void newline() { sink_.put('\n'); }

 private:
  JsonWriter& open(char bracket);
  JsonWriter& close(char bracket);
  void separate();
  void text(std::string_view text);
  void digits(std::uint64_t number);
  void fraction(std::uint64_t whole, std::uint64_t parts, std::uint32_t places);

  Sink& sink_;
  std::uint64_t has_members_ = 0;  // bit per depth
  unsigned depth_ = 0;
  bool after_key_ = false;
};

}  // namespace hearth::report
