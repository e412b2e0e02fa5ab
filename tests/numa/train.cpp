// A training without Python: a small convolutional network on generated images, every loss printed with all its bits.
//
//   train STEPS [PAUSE_AFTER]
//
// After step PAUSE_AFTER it prints 'paused' and the ranges of some tensors, and waits for a line of input: the time to
// look from outside where its pages lie.
#include <torch/torch.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>

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

}  // namespace

int main(int count, char** words) {
  const int steps = count > 1 ? std::atoi(words[1]) : 0;
  const int pause_after = count > 2 ? std::atoi(words[2]) : 0;
  if (steps < 1) {
    std::fputs("usage: train STEPS [PAUSE_AFTER]\n", stderr);
    return 2;
  }
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
