#include "report/json.h"

#include "platform/os_files.h"
#include "report/json_writer.h"
#include "report/live_json.h"
#include "report/profile_json.h"

namespace hearth::report {
namespace {

constexpr int kSchemaVersion = 1;

void write_process(JsonWriter& json, const RunFacts& facts) {
  json.key("process").begin_object();
  json.member("pid", facts.pid);
  json.member("host", std::string_view(facts.host));
  json.member("rank", std::string_view(facts.rank));
  json.member("local_rank", std::string_view(facts.local_rank));
  json.member("world_size", std::string_view(facts.world_size));
  json.member("command", std::string_view(facts.command));
  json.member("start_unix_ns", facts.start_unix_ns);
  json.member("torch_version", std::string_view(facts.torch_version));
  json.key("adapter").begin_object();
  json.member("file", std::string_view(facts.adapter));
  json.member("absent_because", std::string_view(facts.adapter_absent));
  json.end_object().end_object();
}

void write_options(JsonWriter& json, const RunFacts& facts) {
  json.key("options").begin_array();
  for (const KnobFact& knob : facts.knobs) {
    json.begin_object();
    json.member("name", std::string_view(knob.name));
    json.member("value", std::string_view(knob.value));
    json.member("origin", std::string_view(knob.origin));
    json.end_object();
  }
  json.end_array();
}

// All of the fixed part but the closing brace. A line break after each section costs nothing and lets `head` and `diff`
// make sense of the raw file.
void write_fixed(JsonWriter& json, const RunFacts& facts, const profile::Profile* profile, const Limits& limits) {
  json.begin_object();
  json.member("schema_version", kSchemaVersion);
  json.key("generator").begin_object();
  json.member("name", "hearth").member("version", std::string_view(facts.version)).end_object();
  json.newline();
  write_process(json, facts);
  json.newline();
  write_options(json, facts);
  json.newline();
  write_not_seen(json, facts, profile);
  json.newline();
  write_profile(json, profile, limits);
  json.newline();
}

void write_tail(Sink& sink, const LiveFacts& live) {
  JsonWriter json = JsonWriter::continuing(sink);
  write_live(json, live);
  json.end_object();
  json.newline();
  sink.flush();
}

}  // namespace

Prepared prepare(const RunFacts& facts, const profile::Profile* profile, const Limits& limits) {
  Prepared prepared;
  StringSink sink(prepared.text);
  JsonWriter json(sink);
  write_fixed(json, facts, profile, limits);
  sink.flush();
  return prepared;
}

int write_prepared(int fd, const Prepared& prepared, const LiveFacts& live) {
  if (const int error = os::write_all(fd, prepared.text.data(), prepared.text.size()); error != 0) return error;
  FileSink sink(fd);
  write_tail(sink, live);
  return sink.error();
}

void write_json(std::string& out, const RunFacts& facts, const profile::Profile* profile, const Limits& limits) {
  out += prepare(facts, profile, limits).text;
  StringSink sink(out);
  write_tail(sink, facts.live);
}

}  // namespace hearth::report
