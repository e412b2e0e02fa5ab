// The user's program as a child process that is watched and can be ended: its command line, its start, its end.
//
// Called by the commands on the main thread.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "cli/environment.h"

namespace hearth::cli {

// What stands behind the options of a command. A script that ends in .py is run by python3. Fails where there is none;
// `example` is a command line that has one.
std::vector<std::string> command_line(std::vector<std::string> words, const std::string& command,
                                      const std::string& example);

// In a process group of its own; gets no input, and what it prints goes to standard error.
class Program {
 public:
  // Fails if it cannot be started.
  Program(const std::vector<std::string>& command, const Variables& environment);
  ~Program() { stop(); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  bool running();
  // Asks it to end, and makes it after ten seconds.
  void stop();
  // Of one that has ended by itself: "exit status 1", "killed by signal 9 (Killed)"; empty: status 0, or it was
  // stopped.
  std::string failure() const;

 private:
  bool reap(int flags);

  pid_t child_ = -1;
  int status_ = 0;
  bool ended_ = false;
  bool stopped_ = false;
};

}  // namespace hearth::cli
