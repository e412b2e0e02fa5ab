// What commands write: text on standard output, and files, of which it is known before long work that they can be
// written. Main thread; allocates.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace hearth::cli {

// Fails if not all of it can be written.
void print(const std::string& text);

// For check() of an option that names a file to be written: its folder is there, and it may be written. Nothing is
// created or changed.
CLI::Validator writable_file();

}  // namespace hearth::cli
