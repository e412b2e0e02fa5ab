#include "cli/report_file.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <span>
#include <stdexcept>
#include <utility>

#include "profile/build.h"
#include "profile/trace_file.h"
#include "report/json.h"

namespace hearth::cli {
namespace {

using json = nlohmann::ordered_json;

constexpr int kSchemaVersion = 1;

// What a trace knows of its run; the rest of the report stays empty.
std::string report_of_trace(const profile::Trace& trace) {
  report::RunFacts facts;
  facts.version = trace.info.hearth_version;
  facts.pid = trace.info.pid;
  facts.host = trace.info.host;
  facts.command = trace.info.command;
  facts.torch_version = trace.info.torch_version;
  facts.start_unix_ns = trace.info.unix_ns;
  const auto profile = profile::build(trace.events, trace.names, trace.info.thresholds, trace.dropped);
  facts.live.profiled.present = true;
  facts.live.profiled.number = trace.info.iteration;
  facts.live.profiled.mode = trace.info.mode.c_str();
  facts.live.profiled.duration_ns = profile.duration_ns;
  facts.live.profiled.events = trace.events.size();
  facts.live.profiled.dropped_events = trace.dropped;
  facts.live.iterations_profiled = 1;
  facts.live.written_because =
      trace.info.extrapolated.empty() ? "made from a trace" : "made from an extrapolated trace";
  std::string text;
  report::write_json(text, facts, &profile);
  return text;
}

Result<std::string> read_text(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return Error{path + ": " + strerrordesc_np(errno)};
  if (S_ISDIR(status.st_mode)) return Error{path + " is a directory; name the report file in it"};
  if (S_ISCHR(status.st_mode) || S_ISBLK(status.st_mode)) return Error{path + " is a device; name a report file"};
  std::ifstream file(path, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (!file.good() && !file.eof()) return Error{path + ": cannot be read"};
  return text;
}

Result<json> checked(json document, const std::string& path) {
  const std::string cure = "; HEARTH_REPORT=path makes one";
  if (!document.is_object() || !document.contains("generator") || !document["generator"].is_object() ||
      document["generator"].value("name", json()) != "hearth") {
    return Error{path + ": JSON, but not a Hearth report" + cure};
  }
  if (document.contains("normalised")) {
    return Error{path + ": what hearth report --json printed; name the report itself"};
  }
  const json version = document.value("schema_version", json());
  if (version != kSchemaVersion) {
    return Error{path + ": schema_version " + version.dump() + ", this program reads " +
                 std::to_string(kSchemaVersion) + "; use the hearth that wrote it"};
  }
  return document;
}

json object_of(const ReportTable& table, std::size_t row) {
  json object = json::object();
  for (std::size_t c = 0; c < table.columns().size(); ++c) {
    object[table.columns()[c].get<std::string>()] = table.row(row).at(c);
  }
  return object;
}

json objects_of(const ReportTable& table) {
  json out = json::array();
  for (std::size_t i = 0; i < table.size(); ++i) out.push_back(object_of(table, i));
  return out;
}

void normalise_account(json& report) {
  const auto tiers = report.find("tiers");  // reports before there were tiers have none
  if (tiers == report.end() || !tiers->contains("account")) return;
  json& account = tiers->at("account");
  account["moves_omitted"] = account.at("moves").at("omitted");
  for (const char* name : {"classes", "tensors", "timeline", "moves"}) {
    json rows = objects_of(ReportTable(account.at(name)));
    account[name] = std::move(rows);
  }
}

json normalised_ops(const json& profile, const ReportTable& ops) {
  json out = json::array();
  for (std::size_t i = 0; i < ops.size(); ++i) {
    json op = object_of(ops, i);
    op["name"] = report_name(profile, op["name"]);
    op["module"] = report_name(profile, op["module"]);
    out.push_back(std::move(op));
  }
  return out;
}

json normalised_tensors(const json& profile, const ReportTable& ops, const ReportTable& tensors) {
  const json& access_columns = profile.at("tensors").at("access_columns");
  json out = json::array();
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    json tensor = object_of(tensors, i);
    tensor["born"] = report_op(profile, ops, tensor.at("born_op"));
    tensor["made_by"] = report_op(profile, ops, tensor.at("made_by_op"));
    tensor["dies"] = report_op(profile, ops, tensor.at("dies_op"));
    tensor["producer"] = report_name(profile, tensor.at("producer_name"));
    tensor["module"] = report_name(profile, tensor.at("module_name"));
    tensor.erase("producer_name");
    tensor.erase("module_name");
    for (json& access : tensor.at("accesses")) {
      json object = json::object();
      for (std::size_t c = 0; c < access_columns.size(); ++c) {
        object[access_columns[c].get<std::string>()] = access.at(c);
      }
      access = std::move(object);
    }
    out.push_back(std::move(tensor));
  }
  return out;
}

std::string csv_cell(const json& value) {
  std::string text = value.is_string() ? value.get<std::string>() : value.dump();
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

}  // namespace

Result<json> load_report(const std::string& path) {
  Result<std::string> text = read_text(path);
  if (!text) return Error{text.error()};
  if (profile::looks_like_trace(std::as_bytes(std::span(*text)))) {
    const Result<profile::Trace> trace = profile::parse_trace(std::as_bytes(std::span(*text)), path);
    if (!trace) return Error{trace.error()};
    *text = report_of_trace(*trace);
  }
  json document = json::parse(*text, nullptr, false);
  if (document.is_discarded()) {
    return Error{path + ": neither a Hearth report (JSON) nor a trace; HEARTH_REPORT=path makes a report"};
  }
  return checked(std::move(document), path);
}

std::size_t ReportTable::column(const char* name) const {
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (columns_[i] == name) return i;
  }
  throw std::runtime_error(std::string("a table has no column '") + name + "'");
}

std::string report_name(const json& profile, const json& name) {
  return profile.at("names").at(name.get<std::size_t>()).get<std::string>();
}

std::string report_op(const json& profile, const ReportTable& ops, const json& index) {
  const auto op = index.get<std::int64_t>();
  const json& special = profile.at("special_op_indices");
  if (op == special.at("before")) return "before the iteration";
  if (op == special.at("after")) return "after it";
  if (op < 0) return "outside any op";
  const auto row = static_cast<std::size_t>(op);
  if (row >= ops.size()) return "op " + std::to_string(op);  // rows are limited, see "omitted"
  return report_name(profile, ops.cell(row, "name"));
}

std::size_t touching_accesses(const ReportTable& tensors, const json& access_columns, std::size_t tensor) {
  const json& accesses = tensors.cell(tensor, "accesses");
  const auto flags = std::find(access_columns.begin(), access_columns.end(), "flags") - access_columns.begin();
  return static_cast<std::size_t>(std::count_if(accesses.begin(), accesses.end(), [&](const json& access) {
    return (access.at(static_cast<std::size_t>(flags)).get<std::uint32_t>() & profile::kCovered) == 0;
  }));
}

json normalised(const json& report) {
  json out = report;
  out["normalised"] = true;
  normalise_account(out);
  if (report.at("profile").is_null()) return out;
  const json& profile = report.at("profile");
  const ReportTable ops(profile.at("ops")), tensors(profile.at("tensors")), timeline(profile.at("timeline"));
  json& to = out["profile"];
  to["ops"] = normalised_ops(profile, ops);
  to["ops_omitted"] = profile.at("ops").at("omitted");
  to["tensors"] = normalised_tensors(profile, ops, tensors);
  to["tensors_omitted"] = profile.at("tensors").at("omitted");
  to["timeline"] = objects_of(timeline);
  if (!profile.at("agreement").is_null()) {
    for (json& each : to["agreement"].at("disagreeing_ops")) {
      each["op"] = report_name(profile, each.at("op_name"));
      each.erase("op_name");
    }
  }
  to.erase("names");
  return out;
}

std::string tensors_csv(const json& report) {
  static constexpr const char* kPlain[] = {"serial",           "bytes",         "lifetime",      "frequency",
                                           "touches_per_byte", "born_position", "dies_position", "own_pages",
                                           "scratch"};
  const json& profile = report.at("profile");
  std::string out;
  for (const char* name : kPlain) out += std::string(name) + ",";
  out += "born,made_by,dies,producer,module,accesses\r\n";
  if (profile.is_null()) return out;
  const ReportTable ops(profile.at("ops")), tensors(profile.at("tensors"));
  const json& access_columns = profile.at("tensors").at("access_columns");
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    for (const char* name : kPlain) out += csv_cell(tensors.cell(i, name)) + ",";
    out += csv_cell(report_op(profile, ops, tensors.cell(i, "born_op"))) + ",";
    out += csv_cell(report_op(profile, ops, tensors.cell(i, "made_by_op"))) + ",";
    out += csv_cell(report_op(profile, ops, tensors.cell(i, "dies_op"))) + ",";
    out += csv_cell(report_name(profile, tensors.cell(i, "producer_name"))) + ",";
    out += csv_cell(report_name(profile, tensors.cell(i, "module_name"))) + ",";
    out += std::to_string(touching_accesses(tensors, access_columns, i)) + "\r\n";
  }
  return out;
}

}  // namespace hearth::cli
