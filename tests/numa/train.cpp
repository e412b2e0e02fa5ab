// A training without Python: a small convolutional network on generated images, every loss printed with all its bits.
//
//   train STEPS [PAUSE_AFTER]
//   train --each CASES STEPS
//
// After step PAUSE_AFTER it prints 'paused' and the ranges of some tensors, and waits for a line of input: the time to
// look from outside where its pages lie.
//
// CASES is a file with a line 'NAME ERROR CALLS VARIABLE=VALUE...' for each of several trainings: ERROR and CALLS as
// tests/support/deny_calls.h has them. To start PyTorch takes longer than the training, in a guest, so that it is
// started once, and each is a child that was forked before the first tensor, which is when Hearth reads its knobs and
// begins. Beside CASES are then NAME.out, NAME.err and NAME.status, which is what waitpid gave.
#include <fcntl.h>
#include <sys/wait.h>
#include <torch/torch.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>
#include <string>

#include "../support/deny_calls.h"

namespace {

struct Network : torch::nn::Module {
  Network()
      : convolution(register_module("convolution", torch::nn::Conv2d(torch::nn::Conv2dOptions(1, 16, 3).padding(1)))),
        hidden(register_module("hidden", torch::nn::Linear(16 * 8 * 8, 512))),
        output(register_module("output", torch::nn::Linear(512, 10))) {}

  torch::Tensor forward(const torch::Tensor& images) {
    const auto features = torch::relu(convolution(images)).flatten(1);
    return output(torch::relu(hidden(features)));
  }

  torch::nn::Conv2d convolution;
  torch::nn::Linear hidden;
  torch::nn::Linear output;
};

// Ten patterns under noise: enough for the loss to fall, and the same on every machine.
struct Batch {
  torch::Tensor images;
  torch::Tensor labels;
};

Batch make_batch(const torch::Tensor& patterns) {
  Batch batch;
  batch.labels = torch::randint(10, {64}, torch::kLong);
  batch.images = patterns.index_select(0, batch.labels) + 0.3 * torch::randn({64, 1, 8, 8});
  return batch;
}

void show_range(const char* name, const torch::Tensor& tensor) {
  const auto begin = reinterpret_cast<std::uintptr_t>(tensor.data_ptr());
  std::printf("range %s %lx-%lx\n", name, begin, begin + tensor.nbytes());
}

void pause(Network& network, const Batch& batch) {
  show_range("weight", network.hidden->weight);
  show_range("gradient", network.hidden->weight.grad());
  show_range("images", batch.images);
  std::printf("paused\n");
  std::fflush(stdout);
  std::string line;
  std::getline(std::cin, line);
}

int train(int steps, int pause_after) {
  torch::set_num_threads(1);
  torch::manual_seed(7);
  const auto patterns = torch::randn({10, 1, 8, 8});
  Network network;
  torch::optim::SGD optimizer(network.parameters(), torch::optim::SGDOptions(0.05).momentum(0.9));
  for (int step = 1; step <= steps; ++step) {
    const Batch batch = make_batch(patterns);
    optimizer.zero_grad();
    const auto loss = torch::nn::functional::cross_entropy(network.forward(batch.images), batch.labels);
    loss.backward();
    optimizer.step();
    std::printf("loss %a\n", loss.item<double>());
    if (step == pause_after) pause(network, batch);
  }
  return 0;
}

void redirect(const std::string& path, int descriptor) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  ::dup2(file, descriptor);
  ::close(file);
}

// In a child of its own.
[[noreturn]] void train_as_told(const std::string& beside, const std::string& told, int steps) {
  std::istringstream words(told);
  std::string name, error, calls, variable;
  words >> name >> error >> calls;
  redirect(beside + name + ".out", STDOUT_FILENO);
  redirect(beside + name + ".err", STDERR_FILENO);
  while (words >> variable) {
    const auto sign = variable.find('=');
    ::setenv(variable.substr(0, sign).c_str(), variable.substr(sign + 1).c_str(), 1);
  }
  const int denied = deny_calls(calls.c_str(), error.c_str());
  std::exit(denied != deny_done ? denied : train(steps, 0));
}

int train_each(const std::string& cases, int steps) {
  constexpr std::size_t kAtOnce = 2;
  const std::string beside = cases.substr(0, cases.rfind('/') + 1);
  std::map<pid_t, std::string> running;
  const auto wait_for_one = [&] {
    int status = 0;
    const pid_t child = ::wait(&status);
    std::ofstream(beside + running[child] + ".status") << status << '\n';
    running.erase(child);
  };
  std::ifstream file(cases);
  for (std::string told; std::getline(file, told);) {
    if (running.size() == kAtOnce) wait_for_one();
    const pid_t child = ::fork();
    if (child < 0) return 1;
    if (child == 0) train_as_told(beside, told, steps);
    running[child] = told.substr(0, told.find(' '));
  }
  while (!running.empty()) wait_for_one();
  return 0;
}

}  // namespace

int main(int count, char** words) {
  if (count == 4 && std::string(words[1]) == "--each") return train_each(words[2], std::atoi(words[3]));
  const int steps = count > 1 ? std::atoi(words[1]) : 0;
  const int pause_after = count > 2 ? std::atoi(words[2]) : 0;
  if (steps < 1) {
    std::fputs("usage: train STEPS [PAUSE_AFTER], or train --each CASES STEPS\n", stderr);
    return 2;
  }
  return train(steps, pause_after);
}
