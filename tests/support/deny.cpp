// deny [--errno EPERM|ENOSYS] CALL[,CALL...] -- COMMAND...: runs COMMAND as a container would that forbids these system
// calls; every call of them fails with the error (EPERM if none is given), in COMMAND and in all that it starts.
//
//   CALL  mbind, move_pages, get_mempolicy, set_mempolicy, perf_event_open, userfaultfd
//
// Exits with 64 for a bad command line, 71 where the kernel takes no filter, 127 where COMMAND cannot be started.
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "deny_calls.h"

namespace {

[[noreturn]] void leave(int status, const char* what, const char* detail) {
  std::fprintf(stderr, "deny: %s%s\n", what, detail);
  std::_Exit(status);
}

}  // namespace

int main(int, char** arguments) {
  const char* error = "EPERM";
  ++arguments;
  if (*arguments != nullptr && std::strcmp(*arguments, "--errno") == 0 && arguments[1] != nullptr) {
    error = arguments[1];
    arguments += 2;
  }
  if (arguments[0] == nullptr || arguments[1] == nullptr || std::strcmp(arguments[1], "--") != 0 ||
      arguments[2] == nullptr) {
    leave(64, "usage: deny [--errno EPERM|ENOSYS] CALL[,CALL...] -- COMMAND...", "");
  }
  const deny_result result = deny_calls(arguments[0], error);
  if (result == deny_bad_words)
    leave(64, "no call that can be denied, or --errno is not EPERM or ENOSYS: ", arguments[0]);
  if (result != deny_done) leave(71, "the kernel takes no seccomp filter: ", std::strerror(errno));
  execvp(arguments[2], arguments + 2);
  leave(127, "cannot be started: ", arguments[2]);
}
