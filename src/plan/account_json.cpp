#include "plan/account_json.h"

#include <charconv>
#include <cstdint>
#include <string_view>

#include "profile/classes.h"

namespace hearth::plan {
namespace {

using profile::Lifetime;

std::string number(std::uint64_t value) {
  char digits[24];
  return {digits, std::to_chars(digits, digits + sizeof(digits), value).ptr};
}

std::string quoted(std::string_view name) { return "\"" + plain_name(name) + "\""; }

template <class T, class Write>
void write_rows(std::string& out, const char* name, const std::vector<T>& rows, const Write& write) {
  out += std::string("\"") + name + "\": [";
  for (std::size_t i = 0; i < rows.size(); ++i) {
    out += i == 0 ? "\n        [" : ",\n        [";
    write(rows[i]);
    out += "]";
  }
  out += "]";
}

// The members of a row come one after the other, between brackets and commas.
class Row {
 public:
  explicit Row(JsonText& text) : text_(text) { good_ = text.take('['); }
  template <class Number>
  Row& number(Number& value) {
    return next([&] { return text_.number(value); });
  }
  Row& name(std::string& value) {
    return next([&] {
      std::string_view read;
      const bool good = text_.string(read, kLongestName);
      value = read;
      return good;
    });
  }
  // One of a closed set, by its name.
  template <class Value>
  Row& one_of(Value& value, std::uint32_t count, const char* (*name_of)(Value)) {
    return next([&] {
      std::string_view read;
      if (!text_.string(read)) return false;
      for (std::uint32_t i = 0; i < count; ++i) {
        value = static_cast<Value>(i);
        if (read == name_of(value)) return true;
      }
      return text_.fail("there is no such word here");
    });
  }
  template <class Read>
  Row& next(const Read& read) {
    good_ = good_ && (first_ || text_.take(',')) && read();
    first_ = false;
    return *this;
  }
  bool end() { return good_ && text_.take(']'); }

 private:
  JsonText& text_;
  bool good_ = false;
  bool first_ = true;
};

constexpr std::uint32_t kLifetimes = 3;

void write_stake(std::string& out, const Stake& stake) {
  for (const std::uint64_t each : {stake.bytes, stake.gain_ns, stake.possible_ns, stake.moved_bytes, stake.lane_ns,
                                   stake.fast_average, stake.fast_most}) {
    out += number(each) + ", ";
  }
  out += "[";
  for (std::size_t i = 0; i < stake.windows.size(); ++i) {
    out += (i == 0 ? "[" : ", [") + number(stake.windows[i].from) + ", " + number(stake.windows[i].to) + "]";
  }
  out += "], ";
}

bool read_window(JsonText& text, Window& window) { return Row(text).number(window.from).number(window.to).end(); }

Row& read_stake(JsonText& text, Row& row, Stake& stake) {
  row.number(stake.bytes).number(stake.gain_ns).number(stake.possible_ns).number(stake.moved_bytes);
  row.number(stake.lane_ns).number(stake.fast_average).number(stake.fast_most);
  return row.next([&] { return text.list([&] { return read_window(text, stake.windows.emplace_back()); }); });
}

bool read_class(JsonText& text, ClassAccount& of) {
  Row row(text);
  read_stake(text, row, of.stake).one_of(of.lifetime, kLifetimes, profile::lifetime_name).number(of.frequency);
  row.number(of.tensors);
  for (std::uint64_t& bytes : of.bytes_by_reason) row.number(bytes);
  return row.end();
}

bool read_tensor(JsonText& text, TensorAccount& of) {
  Row row(text);
  read_stake(text, row, of.stake).name(of.op).name(of.module).number(of.serial);
  row.one_of(of.lifetime, kLifetimes, profile::lifetime_name).number(of.frequency);
  row.one_of(of.reason, kReasons, reason_name).number(of.uses).number(of.fast_uses);
  return row.number(of.first_stretch).number(of.stretches).end();
}

bool read_moment(JsonText& text, Moment& moment) {
  Row row(text);
  row.number(moment.op).number(moment.ns);
  for (std::uint64_t& bytes : moment.fast) row.number(bytes);
  return row.end();
}

}  // namespace

void write_account(std::string& out, const Account& account) {
  out += ",\n    \"account\": {\n      ";
  write_rows(out, "classes", account.classes, [&](const ClassAccount& of) {
    write_stake(out, of.stake);
    out += quoted(profile::lifetime_name(of.lifetime)) + ", " + number(of.frequency) + ", " + number(of.tensors);
    for (const std::uint64_t bytes : of.bytes_by_reason) out += ", " + number(bytes);
  });
  out += ",\n      ";
  write_rows(out, "tensors", account.tensors, [&](const TensorAccount& of) {
    write_stake(out, of.stake);
    out += quoted(of.op) + ", " + quoted(of.module) + ", " + number(of.serial) + ", ";
    out += quoted(profile::lifetime_name(of.lifetime)) + ", " + number(of.frequency) + ", ";
    out += quoted(reason_name(of.reason)) + ", " + number(of.uses) + ", " + number(of.fast_uses) + ", ";
    out += number(of.first_stretch) + ", " + number(of.stretches);
  });
  out += ",\n      ";
  write_rows(out, "timeline", account.timeline, [&](const Moment& moment) {
    out += number(moment.op) + ", " + number(moment.ns);
    for (const std::uint64_t bytes : moment.fast) out += ", " + number(bytes);
  });
  out += "}";
}

bool read_account(JsonText& text, Account& account) {
  return text.object({"classes", "tensors", "timeline"}, [&](std::uint32_t member) {
    switch (member) {
      case 0:
        return text.list([&] { return read_class(text, account.classes.emplace_back()); });
      case 1:
        return text.list([&] { return read_tensor(text, account.tensors.emplace_back()); });
      default:
        return text.list([&] { return read_moment(text, account.timeline.emplace_back()); });
    }
  });
}

}  // namespace hearth::plan
