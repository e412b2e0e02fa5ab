#include "cli/probe_gemm.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/subprocess.h"
#include "machine/gemm.h"

namespace hearth::cli {
namespace {

using Json = nlohmann::json;

// The answer is the line that begins so: whatever is imported may print as well.
constexpr std::string_view kAnswer = "hearth-gemm ";

// {0}: threads, {1}: seconds to go on at most.
constexpr const char* kScript = R"(
import json, time
import torch
torch.set_num_threads({0})
size = 1024
a, b, c = (torch.rand(size, size) for _ in range(3))
def rate():
    begin = time.perf_counter()
    torch.mm(a, b, out=c)
    return 2 * size ** 3 / (time.perf_counter() - begin)
end = time.perf_counter() + {1}
rates = [rate() for _ in range(4)][3:]
while len(rates) < 5 or (time.perf_counter() < end and len(rates) < 50):
    rates.append(rate())
print("\nhearth-gemm " + json.dumps({{"version": str(torch.__version__), "rates": rates}}), flush=True)
)";

Json answer_of(const std::string& out) {
  std::istringstream lines(out);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(kAnswer)) return Json::parse(line.substr(kAnswer.size()), nullptr, false);
  }
  return {};
}

}  // namespace

GemmRate measure_gemm_rate(const std::string& python, const Variables& environment, unsigned cores, bool quick) {
  const std::string script = fmt::format(kScript, cores, quick ? 0.3 : 1.5);
  const std::chrono::seconds timeout(quick ? 6 : 25);
  const Finished finished = run_and_capture({python, "-c", script}, environment, timeout);
  const Json answer = answer_of(finished.out);
  if (finished.succeeded() && answer.is_object()) {
    return {machine::figure_of(answer.at("rates").get<std::vector<double>>()),
            "PyTorch " + answer.at("version").get<std::string>()};
  }
  const std::string why = finished.exit_status == 1 ? "it has no PyTorch" : describe_end(finished);
  return {machine::measure_gemm(cores, quick ? 3 : 5), fmt::format("a kernel of Hearth's own ({}: {})", python, why)};
}

}  // namespace hearth::cli
