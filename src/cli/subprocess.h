// Starts a program, waits for it and keeps what it printed.
//
// Called by the commands on the main thread; the child gets no input.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "cli/environment.h"

namespace hearth::cli {

struct Finished {
  int error = 0;           // errno value if it could not be started
  bool timed_out = false;  // and was killed
  int exit_status = -1;    // -1 if a signal ended it
  int signal = 0;
  std::string out;
  std::string err;
  bool succeeded() const { return error == 0 && exit_status == 0; }
};

Finished run_and_capture(const std::vector<std::string>& command, const Variables& environment,
                         std::chrono::seconds timeout);

// "exit status 3", "killed by signal 11 (Segmentation fault)", "no answer within the time limit" ...
std::string describe_end(const Finished& finished);

}  // namespace hearth::cli
