# Options, and the flags that every target shares.
option(HEARTH_BUILD_TESTS "Build the tests" ON)
option(HEARTH_BUILD_BENCH "Build the micro benchmarks" ON)
option(HEARTH_WERROR "Treat warnings as errors" OFF)
set(HEARTH_SANITIZE "" CACHE STRING "Sanitizers for tests and tools, e.g. address,undefined or thread")
set(HEARTH_TORCH_PYTHONS "" CACHE STRING
    "Python interpreters whose PyTorch gets an adapter (semicolon list); scripts/setup fills it")

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/archive)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "" FORCE)
endif()

find_program(HEARTH_CCACHE ccache)
if(HEARTH_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${HEARTH_CCACHE})
endif()

add_library(hearth_flags INTERFACE)
target_compile_options(hearth_flags INTERFACE -Wall -Wextra -Wconversion -Wshadow -Wnon-virtual-dtor
  $<$<BOOL:${HEARTH_WERROR}>:-Werror> -fvisibility=hidden -fvisibility-inlines-hidden)
target_include_directories(hearth_flags INTERFACE
  ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/profiler)
if(HEARTH_SANITIZE)
  # The vptr check asks for type information, which the runtime's rooms are compiled without.
  target_compile_options(hearth_flags INTERFACE -fsanitize=${HEARTH_SANITIZE} -fno-sanitize=vptr -fno-omit-frame-pointer)
  target_link_options(hearth_flags INTERFACE -fsanitize=${HEARTH_SANITIZE})
endif()

# Hot code: what it may not use, the compiler refuses.
add_library(hearth_hot_flags INTERFACE)
target_compile_options(hearth_hot_flags INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-fno-rtti> -fno-exceptions -ftls-model=initial-exec -fno-plt
  $<$<COMPILE_LANGUAGE:CXX>:-fno-threadsafe-statics>)
