#include "cli/torch_probe.h"

#include <sstream>

#include "cli/subprocess.h"
#include "cli/wrap.h"
#include "report/layout.h"

namespace hearth::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::chrono::seconds kTimeout{120};
// The answer is the line that begins so: whatever is imported may print as well.
constexpr std::string_view kAnswer = "hearth-probe ";

constexpr const char* kTorchScript = R"(
import json, os, sys
facts = {"python": sys.executable, "python_version": "%d.%d.%d" % sys.version_info[:3]}
try:
    import torch
    facts["version"] = str(torch.__version__)
    facts["cxx11_abi"] = int(torch._C._GLIBCXX_USE_CXX11_ABI)
    facts["folder"] = os.path.dirname(torch.__file__)
except Exception as error:
    facts["error"] = "%s: %s" % (type(error).__name__, error)
)";

// Mirrors the structures of include/hearth/hearth.h.
constexpr const char* kHookScript = R"(
import ctypes
U64, U32 = ctypes.c_uint64, ctypes.c_uint32
class Counters(ctypes.Structure):
    _fields_ = [("struct_size", U32), ("state", U32), ("allocations", U64), ("frees", U64), ("live_tensors", U64),
                ("live_bytes", U64), ("peak_bytes", U64), ("iterations", U64), ("profiled", U64), ("faults", U64)]
class Info(ctypes.Structure):
    _fields_ = [("struct_size", U32), ("serial", U32), ("address", ctypes.c_void_p), ("bytes", U64), ("iteration", U64),
                ("op", ctypes.c_char_p), ("own_pages", ctypes.c_int)]
def counters(library):
    result = Counters(struct_size=ctypes.sizeof(Counters))
    library.hearth_get_counters(ctypes.byref(result))
    return result
def look():
    library = ctypes.CDLL(None)
    facts["loaded"] = hasattr(library, "hearth_get_counters")
    if not facts["loaded"] or "error" in facts:
        return
    library.hearth_version.restype = ctypes.c_char_p
    facts["hearth_version"] = library.hearth_version().decode()
    before = counters(library).allocations
    tensors = [torch.empty(1 << 18) for _ in range(8)]
    facts["made"] = len(tensors)
    facts["counted"] = counters(library).allocations - before
    facts["found"] = facts["named"] = 0
    for tensor in tensors:
        info = Info(struct_size=ctypes.sizeof(Info))
        if library.hearth_find_tensor(ctypes.c_void_p(tensor.data_ptr() + 100), ctypes.byref(info)):
            facts["found"] += 1
            facts["named"] += bool(info.op)
    model = torch.nn.Linear(256, 256)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(4):
        optimizer.zero_grad()
        model(torch.ones(32, 256)).sum().backward()
        optimizer.step()
    facts["state"] = library.hearth_get_state()
    facts["iterations"] = counters(library).iterations
look()
)";

constexpr const char* kPrint = R"(
print("\nhearth-probe " + json.dumps(facts), flush=True)
)";

// Of what a program printed when it should have answered.
constexpr std::size_t kMaxTold = 200;

// Empty if `python` runs a line of Python, else what it did instead.
std::string not_python(const std::string& python, const Variables& environment) {
  const Finished finished = run_and_capture({python, "-c", "print('hearth-' + 'python')"}, environment, kTimeout);
  if (finished.exit_status < 0 || finished.out.find("hearth-python") != std::string::npos) return "";
  std::string text = python + " is not a Python interpreter (" + describe_end(finished) + ")";
  const std::string told = wrapped(finished.err.empty() ? finished.out : finished.err, std::string::npos);
  return told.empty() ? text : text + ": " + report::shortened(told, kMaxTold);
}

Json unreadable(const std::string& python, const Finished& finished) {
  std::string error = python + ": " + describe_end(finished);
  std::string last;
  std::istringstream lines(finished.err);
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty()) last = line;
  }
  if (!last.empty()) error += ": " + report::shortened(last, kMaxTold);
  return {{"python", python}, {"error", error}};
}

Json ask(const std::string& python, const Variables& environment, const std::string& script, Finished& finished) {
  finished = run_and_capture({python, "-c", script}, environment, kTimeout);
  std::istringstream lines(finished.out);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(kAnswer)) continue;
    Json answer = Json::parse(line.substr(kAnswer.size()), nullptr, false);
    // A crash at exit is a failure too, whatever was printed before.
    if (answer.is_object() && finished.succeeded()) return answer;
  }
  if (finished.exit_status >= 0) {
    const std::string error = not_python(python, environment);
    if (!error.empty()) return {{"python", python}, {"error", error}};
  }
  return unreadable(python, finished);
}

}  // namespace

Json probe_torch(const std::string& python, const Variables& environment) {
  Finished finished;
  return ask(python, environment, std::string(kTorchScript) + kPrint, finished);
}

const Adapter* matching_adapter(const std::vector<Adapter>& adapters, const Json& torch) {
  const std::string version = torch.value("version", "");
  const std::string abi = std::to_string(torch.value("cxx11_abi", -1));
  for (const Adapter& adapter : adapters) {
    if (adapter.cxx11_abi == abi && version.starts_with(adapter.torch_version + ".")) return &adapter;
  }
  return nullptr;
}

Json probe_hook(const std::string& python, const Variables& environment) {
  Finished finished;
  Json facts = ask(python, environment, std::string(kTorchScript) + kHookScript + kPrint, finished);
  facts["messages"] = Json::array();
  std::istringstream lines(finished.err);
  for (std::string line; std::getline(lines, line);) {
    // Hearth's own, and the loader's when it could not preload the library.
    if (line.starts_with("[hearth:") || line.starts_with("ERROR: ld.so")) facts["messages"].push_back(line);
  }
  return facts;
}

}  // namespace hearth::cli
