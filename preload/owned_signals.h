// Signals that Hearth uses as long as the program does not (SIGTERM and SIGUSR2: write the report).
//
// own_signal takes a signal only if its disposition is the default. The program does not see it: queries answer
// SIG_DFL, and a handler that it installs later really replaces ours, in silence. Thread-safety: any thread. No malloc,
// no lock beyond the record of one signal.
#pragma once

namespace hearth::preload {

// The handler runs with all asynchronous signals blocked. False: the program uses the signal itself.
bool own_signal(int signo, void (*handler)(int));
// Back to the default, if the signal is still ours: for the child of a fork, which must not act for its parent.
void disown_signal(int signo);
// For the end of a handler whose signal should have ended the process: restores the default action and sends the signal
// again; the process ends when the handler returns.
void die_of(int signo);

}  // namespace hearth::preload
