// Trainings on demand, each in a child of one process that has PyTorch loaded: to load it takes longer, in a guest,
// than a short training.
//
//   serve           reads lines 'BATCH STEPS NODE [VARIABLE=VALUE...]' from its input
//
// NODE is the only node that the child may allocate on; '-' for any. The child prints 'begin PID', for each step
// 'forward' and 'loss X' with all bits, and 'end'; after each of these lines it waits for a line of input, the time to
// look at it from outside. The server then prints 'status N', as waitpid gave it.
//
// Preloaded libraries find the same: Hearth reads its knobs as the child makes its first tensor.
#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <torch/torch.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace {

constexpr int kWidth = 16;  // small, so that activations are many bytes for few operations, which are slow in a guest
constexpr int kLayers = 24;

// Byte by byte: what follows the line is for the other process.
bool read_line(std::string& line) {
  line.clear();
  char next = 0;
  while (::read(STDIN_FILENO, &next, 1) == 1) {
    if (next == '\n') return true;
    line.push_back(next);
  }
  return false;
}

void tell(const char* format, double value = 0) {
  std::printf(format, value);
  std::fflush(stdout);
  std::string ignored;
  if (!read_line(ignored)) ::_exit(3);  // who asked is gone
}

struct Network : torch::nn::Module {
  Network() {
    for (int layer = 0; layer < kLayers; ++layer) {
      layers.push_back(register_module("layer" + std::to_string(layer), torch::nn::Linear(kWidth, kWidth)));
    }
    output = register_module("output", torch::nn::Linear(kWidth, 1));
  }

  torch::Tensor forward(torch::Tensor state) {
    for (auto& layer : layers) state = state + 0.1 * torch::relu(layer(state));
    return output(state);
  }

  std::vector<torch::nn::Linear> layers;
  torch::nn::Linear output{nullptr};
};

void (*mark(const char* name))() { return reinterpret_cast<void (*)()>(::dlsym(RTLD_DEFAULT, name)); }

void train(std::int64_t batch, int steps) {
  torch::set_num_threads(1);
  torch::manual_seed(7);
  const auto begin_iteration = mark("hearth_iteration_begin"), end_iteration = mark("hearth_iteration_end");
  const auto teacher = torch::randn({kWidth, 1});
  const auto samples = torch::randn({batch, kWidth});
  const auto wanted = torch::tanh(samples.matmul(teacher));
  Network network;
  torch::optim::SGD optimizer(network.parameters(), torch::optim::SGDOptions(0.02).momentum(0.9));
  for (int step = 0; step < steps; ++step) {
    if (begin_iteration != nullptr) begin_iteration();
    optimizer.zero_grad();
    const auto loss = torch::mse_loss(network.forward(samples), wanted);
    tell("forward\n");
    loss.backward();
    optimizer.step();
    const double reached = loss.item<double>();
    if (end_iteration != nullptr) end_iteration();
    tell("loss %a\n", reached);
  }
}

void bind_to(const std::string& node) {
  constexpr int kDefault = 0, kBind = 2;  // MPOL_DEFAULT, MPOL_BIND
  const unsigned long mask = node == "-" ? 0 : 1UL << std::atoi(node.c_str());
  const long failed = mask == 0 ? ::syscall(SYS_set_mempolicy, kDefault, nullptr, 0)
                                : ::syscall(SYS_set_mempolicy, kBind, &mask, 8 * sizeof mask);
  if (failed != 0) {
    std::perror("set_mempolicy");
    ::_exit(4);
  }
}

// Where memory ends it is the child that ends.
void set_oom_score(int score) { std::ofstream("/proc/self/oom_score_adj") << score; }

[[noreturn]] void train_as_told(const std::string& told) {
  set_oom_score(1000);
  std::istringstream words(told);
  std::int64_t batch = 0;
  int steps = 0;
  std::string node, variable;
  words >> batch >> steps >> node;
  while (words >> variable) {
    const auto sign = variable.find('=');
    ::setenv(variable.substr(0, sign).c_str(), variable.substr(sign + 1).c_str(), 1);
  }
  bind_to(node);
  tell("begin %.0f\n", ::getpid());
  train(batch, steps);
  if (const auto write = reinterpret_cast<int (*)(const char*)>(::dlsym(RTLD_DEFAULT, "hearth_write_report"))) {
    write(nullptr);
  }
  tell("end\n");
  ::_exit(0);  // libmemtier's malloc fails once its destructor has run, and destructors after it allocate
}

}  // namespace

int main() {
  set_oom_score(-1000);
  // Where memory is short the children's code would otherwise be dropped and read again and again, before memory ends.
  if (::mlockall(MCL_CURRENT) != 0) std::perror("mlockall");
  for (std::string told; read_line(told);) {
    if (told.empty()) continue;  // an answer to a child that was gone
    const pid_t child = ::fork();
    if (child < 0) return 1;
    if (child == 0) train_as_told(told);
    int status = 0;
    ::waitpid(child, &status, 0);
    std::printf("status %d\n", status);
    std::fflush(stdout);
  }
  return 0;
}
