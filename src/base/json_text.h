// JsonText: reads JSON whose form is known, strictly and in bounded memory. For cold code only (it allocates), inside
// the training process too: it depends on the C++ standard library alone and never recurses deeper than the caller
// does or kDeepest.
//
// Every read says whether it went well; the first failure is kept, with its place, and all later reads fail too.
// Thread-safety: plain object of its caller, which keeps the text alive. May throw bad_alloc, nothing else.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>
#include <string_view>
#include <system_error>

namespace hearth {

class JsonText {
 public:
  explicit JsonText(std::string_view text) : text_(text) {}

  bool fail(std::string what) {
    if (problem_.empty()) {
      problem_ = std::move(what);
      failed_at_ = at_;
    }
    return false;
  }
  bool failed() const { return !problem_.empty(); }

  // "12:3: what"; lines and columns count from 1, columns in bytes.
  std::string problem() const {
    const std::string_view before = text_.substr(0, failed_at_);
    const auto line = 1 + std::count(before.begin(), before.end(), '\n');
    const std::size_t begin = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
    return std::to_string(line) + ":" + std::to_string(failed_at_ - begin + 1) + ": " + problem_;
  }

  bool next_is(char wanted) {
    skip_space();
    return at_ < text_.size() && text_[at_] == wanted;
  }

  bool take(char wanted) {
    if (failed()) return false;
    if (!next_is(wanted)) return fail(std::string("expected '") + wanted + "'");
    ++at_;
    return true;
  }

  // Text without escapes, which names and the like do not need: one that has any is not of this format.
  bool string(std::string_view& value, std::size_t longest = kLongestName) {
    if (!take('"')) return false;
    const std::size_t length = text_.substr(at_, longest + 1).find_first_of("\"\\");
    if (length == std::string_view::npos || text_[at_ + length] != '"') return fail("expected a name of this format");
    value = text_.substr(at_, length);
    at_ += length + 1;
    return true;
  }

  template <class Number>
  bool number(Number& value) {
    if (failed()) return false;
    skip_space();
    const char* const first = text_.data() + at_;
    const char* const last = text_.data() + text_.size();
    if (first == last || *first < '0' || *first > '9') return fail("expected a whole number");
    std::uint64_t read = 0;
    const auto [end, error] = std::from_chars(first, last, read);
    if (error != std::errc() || read > std::numeric_limits<Number>::max()) return fail("the number is too large");
    if (end - first > 1 && *first == '0') return fail("a number does not begin with 0");
    if (end != last && (*end == '.' || *end == 'e' || *end == 'E')) return fail("expected a whole number");
    at_ += static_cast<std::size_t>(end - first);
    value = static_cast<Number>(read);
    return true;
  }

  // Zero or more, finite.
  bool real(double& value) {
    if (failed()) return false;
    skip_space();
    const char* const first = text_.data() + at_;
    const char* const last = text_.data() + text_.size();
    if (first == last || *first < '0' || *first > '9') return fail("expected a number that is not negative");
    const auto [end, error] = std::from_chars(first, last, value);
    if (error != std::errc()) return fail("the number is too large or too small");
    at_ += static_cast<std::size_t>(end - first);
    return true;
  }

  // Absent is written null; the number that stands for it in memory may not be written.
  bool number_or_null(std::uint32_t& value, std::uint32_t null) {
    if (next_is('n')) {
      value = null;
      return word("null") || fail("expected a whole number or null");
    }
    return number(value) && (value != null || fail("the number is too large"));
  }

  bool boolean(bool& value) {
    if (failed()) return false;
    value = word("true");
    return value || word("false") || fail("true or false is missing");
  }

  bool take_null() { return !failed() && word("null"); }

  // Passes over one value of any form, for members that only others read.
  bool skip(unsigned depth = 0) {
    if (failed()) return false;
    if (depth > kDeepest) return fail("nested too deeply");
    if (next_is('"')) return skip_string();
    if (next_is('[')) return list([&] { return skip(depth + 1); });
    if (next_is('{')) return skip_object(depth);
    if (word("true") || word("false") || word("null")) return true;
    if (next_is('-')) ++at_;
    double ignored = 0;
    return real(ignored);
  }

  bool end(const char* of_what) {
    if (failed()) return false;
    skip_space();
    return at_ == text_.size() || fail(std::string("there is more after the end of the ") + of_what);
  }

  // An object with exactly these members, in any order. `read` is given the index of the member whose value is next.
  template <class Read>
  bool object(std::initializer_list<std::string_view> names, Read read) {
    if (!take('{')) return false;
    std::uint32_t seen = 0;
    for (bool more = true; more;) {
      std::string_view name;
      if (!string(name)) return false;
      const auto found = std::find(names.begin(), names.end(), name);
      if (found == names.end()) return fail("there is no such member here: " + std::string(name));
      const auto index = static_cast<std::uint32_t>(found - names.begin());
      if ((seen >> index & 1) != 0) return fail("member " + std::string(name) + " is there twice");
      seen |= 1u << index;
      if (!take(':') || !read(index)) return false;
      more = next_is(',');
      if (more && !take(',')) return false;
    }
    for (std::uint32_t i = 0; i < names.size(); ++i) {
      if ((seen >> i & 1) == 0) return fail("member " + std::string(names.begin()[i]) + " is missing");
    }
    return take('}');
  }

  template <class Read>
  bool list(Read read) {
    if (!take('[')) return false;
    if (next_is(']')) return take(']');
    for (bool more = true; more;) {
      if (!read()) return false;
      more = next_is(',');
      if (more && !take(',')) return false;
    }
    return take(']');
  }

 private:
  static constexpr std::size_t kLongestName = 32;
  static constexpr unsigned kDeepest = 16;

  bool word(std::string_view wanted) {
    skip_space();
    if (text_.substr(at_, wanted.size()) != wanted) return false;
    at_ += wanted.size();
    return true;
  }

  bool skip_string() {
    for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
      if (text_[at_] == '\\') ++at_;
    }
    return take('"');
  }

  bool skip_object(unsigned depth) {
    if (!take('{')) return false;
    if (next_is('}')) return take('}');
    for (bool more = true; more;) {
      if (!next_is('"')) return fail("expected the name of a member");
      if (!skip_string() || !take(':') || !skip(depth + 1)) return false;
      more = next_is(',');
      if (more && !take(',')) return false;
    }
    return take('}');
  }

  void skip_space() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos) ++at_;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string problem_;
  std::size_t failed_at_ = 0;
};

}  // namespace hearth
