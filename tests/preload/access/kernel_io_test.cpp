// A system call into or out of a protected page returns EFAULT or a short count and no signal: training data would be
// lost in silence. Every call that moves data is tried on a buffer whose pages are all armed.
#include <aio.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <thread>

#include "preload/hooked_symbols.h"
#include "probe.h"

// What a fortified program calls when it knows the room but not the count.
extern "C" ssize_t checked_read(int, void*, size_t, size_t) __asm__("__read_chk");

namespace {

constexpr size_t kPage = 4096;
constexpr size_t kBytes = 8 * kPage;
constexpr int kRead = 1;
constexpr int kWrite = 2;

class KernelIo : public ::testing::Test {
 protected:
  void SetUp() override {
    tensor_ = probe_tensor(kBytes);
    file_ = memfd_create("data", 0);
    pattern_.resize(kBytes);
    for (size_t i = 0; i < kBytes; ++i) pattern_[i] = static_cast<char>(i * 31 + i / 4096);
    ASSERT_EQ(write(file_, pattern_.data(), kBytes), static_cast<ssize_t>(kBytes));
    ASSERT_EQ(lseek(file_, 0, SEEK_SET), 0);
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets_), 0);
    const int room = 1 << 20;
    for (const int end : sockets_) setsockopt(end, SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
  }
  void TearDown() override {
    probe_stop();
    close(file_);
    close(sockets_[0]);
    close(sockets_[1]);
  }

  // The call fills the armed tensor with the pattern.
  void fills(const std::function<ssize_t()>& call) {
    ASSERT_TRUE(probe_start(1));
    ASSERT_EQ(probe_watch(tensor_), 8);
    errno = 0;
    EXPECT_EQ(call(), static_cast<ssize_t>(kBytes)) << strerror(errno);
    check(kWrite);
    EXPECT_EQ(std::string(tensor_, kBytes), pattern_);
  }
  // The call copies the armed tensor's contents, which `copy` then returns.
  void drains(const std::function<ssize_t()>& call, const std::function<std::string()>& copy) {
    memcpy(tensor_, pattern_.data(), kBytes);
    ASSERT_TRUE(probe_start(1));
    ASSERT_EQ(probe_watch(tensor_), 8);
    errno = 0;
    EXPECT_EQ(call(), static_cast<ssize_t>(kBytes)) << strerror(errno);
    check(kRead);
    EXPECT_EQ(copy(), pattern_);
  }
  void check(int access) {
    EXPECT_EQ(probe_faults(), 0u) << "opened by the hook, not by a lucky touch";
    EXPECT_EQ(probe_seen(tensor_), access) << "the kernel's access is an access";
    probe_rearm();
    static_cast<void>(*static_cast<volatile char*>(tensor_));
    EXPECT_EQ(probe_faults(), 1u) << "armed again after the call";
  }
  void feed_socket() { ASSERT_EQ(send(sockets_[0], pattern_.data(), kBytes, 0), static_cast<ssize_t>(kBytes)); }
  std::string from_socket() {
    std::string copy(kBytes, 0);
    EXPECT_EQ(recv(sockets_[1], copy.data(), kBytes, MSG_WAITALL), static_cast<ssize_t>(kBytes));
    return copy;
  }
  std::string from_file() {
    std::string copy(kBytes, 0);
    EXPECT_EQ(pread(file_, copy.data(), kBytes, 0), static_cast<ssize_t>(kBytes));
    return copy;
  }
  iovec* halves() {
    parts_[0] = {tensor_, 3 * kPage + 5};
    parts_[1] = {tensor_ + 3 * kPage + 5, kBytes - 3 * kPage - 5};
    return parts_;
  }
  msghdr* message() {
    message_ = {};
    message_.msg_iov = halves();
    message_.msg_iovlen = 2;
    return &message_;
  }
  mmsghdr* messages() {
    messages_ = {};
    messages_.msg_hdr = *message();
    return &messages_;
  }
  void empty_file() { ASSERT_EQ(ftruncate(file_, 0), 0); }

  char* tensor_ = nullptr;
  int file_ = -1;
  int sockets_[2] = {-1, -1};
  std::string pattern_;
  iovec parts_[2];
  msghdr message_;
  mmsghdr messages_;
};

TEST_F(KernelIo, WithoutTheHookTheKernelRefuses) {
  ASSERT_TRUE(probe_start(1));
  ASSERT_EQ(probe_watch(tensor_), 8);
  long result = SYS_read;
#if defined(__x86_64__)
  __asm__ volatile("syscall" : "+a"(result) : "D"(file_), "S"(tensor_), "d"(kBytes) : "rcx", "r11", "memory");
#else
  GTEST_SKIP() << "written for x86-64";
#endif
  EXPECT_EQ(result, -EFAULT) << "what all other tests are about";
}

TEST_F(KernelIo, Read) {
  fills([&] { return read(file_, tensor_, kBytes); });
}
TEST_F(KernelIo, ReadFortified) {
  fills([&] { return checked_read(file_, tensor_, kBytes, kBytes); });
}
TEST_F(KernelIo, Pread) {
  fills([&] { return pread(file_, tensor_, kBytes, 0); });
}
TEST_F(KernelIo, Pread64) {
  fills([&] { return pread64(file_, tensor_, kBytes, 0); });
}
TEST_F(KernelIo, Readv) {
  fills([&] { return readv(file_, halves(), 2); });
}
TEST_F(KernelIo, Preadv) {
  fills([&] { return preadv(file_, halves(), 2, 0); });
}
TEST_F(KernelIo, Preadv2) {
  fills([&] { return preadv2(file_, halves(), 2, 0, 0); });
}
TEST_F(KernelIo, Recv) {
  feed_socket();
  fills([&] { return recv(sockets_[1], tensor_, kBytes, MSG_WAITALL); });
}
TEST_F(KernelIo, Recvfrom) {
  feed_socket();
  fills([&] { return recvfrom(sockets_[1], tensor_, kBytes, MSG_WAITALL, nullptr, nullptr); });
}
TEST_F(KernelIo, Recvmsg) {
  feed_socket();
  fills([&] { return recvmsg(sockets_[1], message(), MSG_WAITALL); });
}
TEST_F(KernelIo, Recvmmsg) {
  feed_socket();
  fills([&]() -> ssize_t {
    const int count = recvmmsg(sockets_[1], messages(), 1, MSG_WAITALL, nullptr);
    return count == 1 ? messages_.msg_len : count;
  });
}
TEST_F(KernelIo, Fread) {
  FILE* file = fdopen(dup(file_), "r");
  fills([&] { return static_cast<ssize_t>(fread(tensor_, 1, kBytes, file)); });
  fclose(file);
}
TEST_F(KernelIo, FreadUnlocked) {
  FILE* file = fdopen(dup(file_), "r");
  fills([&] { return static_cast<ssize_t>(fread_unlocked(tensor_, 4, kBytes / 4, file)) * 4; });
  fclose(file);
}
TEST_F(KernelIo, SyscallRead) {
  fills([&] { return syscall(SYS_read, file_, tensor_, kBytes); });
}
TEST_F(KernelIo, SyscallReadv) {
  fills([&] { return syscall(SYS_readv, file_, halves(), 2); });
}
TEST_F(KernelIo, ProcessVmReadvIntoATensor) {
  iovec source{pattern_.data(), kBytes};
  fills([&] { return process_vm_readv(getpid(), halves(), 2, &source, 1, 0); });
}
TEST_F(KernelIo, Getrandom) {
  ASSERT_TRUE(probe_start(1));
  ASSERT_EQ(probe_watch(tensor_), 8);
  EXPECT_EQ(getrandom(tensor_, 256, 0), 256);
  EXPECT_EQ(probe_seen(tensor_), kWrite);
}

TEST_F(KernelIo, Write) {
  empty_file();
  drains([&] { return pwrite(file_, tensor_, kBytes, 0); }, [&] { return from_file(); });
}
TEST_F(KernelIo, PlainWrite) {
  drains([&] { return write(file_, tensor_, kBytes); }, [&] { return from_file(); });
}
TEST_F(KernelIo, Writev) {
  drains([&] { return writev(file_, halves(), 2); }, [&] { return from_file(); });
}
TEST_F(KernelIo, Pwritev) {
  empty_file();
  drains([&] { return pwritev(file_, halves(), 2, 0); }, [&] { return from_file(); });
}
TEST_F(KernelIo, Pwritev2) {
  empty_file();
  drains([&] { return pwritev2(file_, halves(), 2, 0, 0); }, [&] { return from_file(); });
}
TEST_F(KernelIo, Send) {
  drains([&] { return send(sockets_[0], tensor_, kBytes, 0); }, [&] { return from_socket(); });
}
TEST_F(KernelIo, Sendto) {
  drains([&] { return sendto(sockets_[0], tensor_, kBytes, 0, nullptr, 0); }, [&] { return from_socket(); });
}
TEST_F(KernelIo, Sendmsg) {
  drains([&] { return sendmsg(sockets_[0], message(), 0); }, [&] { return from_socket(); });
}
TEST_F(KernelIo, Sendmmsg) {
  drains(
      [&]() -> ssize_t {
        const int count = sendmmsg(sockets_[0], messages(), 1, 0);
        return count == 1 ? messages_.msg_len : count;
      },
      [&] { return from_socket(); });
}
TEST_F(KernelIo, Fwrite) {
  empty_file();
  FILE* file = fdopen(dup(file_), "w");
  setvbuf(file, nullptr, _IONBF, 0);
  drains([&] { return static_cast<ssize_t>(fwrite(tensor_, 1, kBytes, file)); }, [&] { return from_file(); });
  fclose(file);
}
TEST_F(KernelIo, ProcessVmWritevFromATensor) {
  std::string copy(kBytes, 0);
  iovec target{copy.data(), kBytes};
  drains([&] { return process_vm_writev(getpid(), halves(), 2, &target, 1, 0); }, [&] { return copy; });
}

// Another process in its profiled iteration: its tensor is armed, and it does nothing while we look into it.
class PeerIo : public KernelIo {
 protected:
  void SetUp() override {
    KernelIo::SetUp();
    memcpy(tensor_, pattern_.data(), kBytes);
    peer_ = fork();
    if (peer_ == 0) {
      char word = probe_start(1) && probe_watch(tensor_) == 8;
      send(sockets_[1], &word, 1, 0);
      static_cast<void>(recv(sockets_[1], &word, 1, 0));
      _exit(memcmp(tensor_, pattern_.data(), kBytes) == 0 ? 0 : 1);
    }
    char armed = 0;
    ASSERT_EQ(recv(sockets_[0], &armed, 1, 0), 1);
    ASSERT_EQ(armed, 1);
  }
  bool ends_unharmed() {
    send(sockets_[0], "", 1, 0);
    int status = -1;
    waitpid(peer_, &status, 0);
    return status == 0;
  }

  pid_t peer_ = -1;
};

TEST_F(PeerIo, ReadsByProcessVmReadv) {
  for (const bool raw : {false, true}) {
    SCOPED_TRACE(raw ? "syscall()" : "process_vm_readv");
    std::string copy(kBytes, 0);
    // Cut otherwise than the tensor's halves, and with an empty part.
    iovec ours[] = {{copy.data(), 100}, {nullptr, 0}, {copy.data() + 100, kBytes - 100}};
    const long moved = raw ? syscall(SYS_process_vm_readv, peer_, ours, 3, halves(), 2, 0)
                           : process_vm_readv(peer_, ours, 3, halves(), 2, 0);
    EXPECT_EQ(moved, static_cast<long>(kBytes)) << strerror(errno);
    EXPECT_EQ(copy, pattern_);
  }
  EXPECT_TRUE(ends_unharmed());
}
TEST_F(PeerIo, WritesByProcessVmWritev) {
  iovec theirs{tensor_ + 10, kBytes - 10};
  std::string other(kBytes - 10, 'x');
  iovec ours{other.data(), other.size()};
  EXPECT_EQ(process_vm_writev(peer_, &ours, 1, &theirs, 1, 0), static_cast<ssize_t>(other.size())) << strerror(errno);
  iovec back{pattern_.data() + 10, kBytes - 10};
  std::string copy(other.size(), 0);
  ours.iov_base = copy.data();
  EXPECT_EQ(process_vm_readv(peer_, &ours, 1, &theirs, 1, 0), static_cast<ssize_t>(copy.size())) << strerror(errno);
  EXPECT_EQ(copy, other);
  EXPECT_EQ(process_vm_writev(peer_, &back, 1, &theirs, 1, 0), static_cast<ssize_t>(other.size())) << strerror(errno);
  EXPECT_TRUE(ends_unharmed());
}
TEST_F(PeerIo, WhatIsNotThereIsRefusedAsEver) {
  std::string copy(kBytes, 0);
  iovec ours{copy.data(), kBytes};
  iovec theirs[] = {{reinterpret_cast<void*>(4096), kBytes}};  // lower than anything is mapped
  errno = 0;
  EXPECT_EQ(process_vm_readv(peer_, &ours, 1, theirs, 1, 0), -1);
  EXPECT_EQ(errno, EFAULT);
  EXPECT_TRUE(ends_unharmed());
  errno = 0;
  EXPECT_EQ(process_vm_readv(peer_, &ours, 1, halves(), 2, 0), -1);
  EXPECT_EQ(errno, ESRCH);
}
TEST_F(KernelIo, ProcessVmReadvFromATensorOfOurOwn) {
  std::string copy(kBytes, 0);
  iovec ours{copy.data(), kBytes};
  drains([&] { return process_vm_readv(getpid(), &ours, 1, halves(), 2, 0); }, [&] { return copy; });
}
TEST_F(KernelIo, ProcessVmWritevIntoATensorOfOurOwn) {
  iovec ours{pattern_.data(), kBytes};
  fills([&] { return process_vm_writev(getpid(), &ours, 1, halves(), 2, 0); });
}
TEST_F(KernelIo, Vmsplice) {
  int pipes[2];
  ASSERT_EQ(pipe(pipes), 0);
  std::string copy(kBytes, 0);
  drains([&] { return vmsplice(pipes[1], halves(), 2, 0); },
         [&] {
           for (size_t got = 0; got < kBytes;) {
             const ssize_t some = read(pipes[0], copy.data() + got, kBytes - got);
             if (some <= 0) break;
             got += static_cast<size_t>(some);
           }
           return copy;
         });
  close(pipes[0]);
  close(pipes[1]);
}

TEST_F(KernelIo, AsynchronousReadLongAfterTheCall) {
  // In a child: libc's helper thread blocks all signals, and no run can start while it is there.
  const pid_t child = fork();
  if (child == 0) {
    if (!probe_start(1) || probe_watch(tensor_) != 8) _exit(1);
    aiocb request{};
    request.aio_fildes = file_;
    request.aio_buf = tensor_;
    request.aio_nbytes = kBytes;
    if (aio_read(&request) != 0) _exit(2);
    probe_rearm();
    const aiocb* list[] = {&request};
    while (aio_error(&request) == EINPROGRESS) aio_suspend(list, 1, nullptr);
    if (aio_return(&request) != static_cast<ssize_t>(kBytes)) _exit(3);
    _exit(std::string(tensor_, kBytes) == pattern_ ? 7 : 4);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 7);
}

TEST_F(KernelIo, ABlockedReadSurvivesTheMarksOfOtherThreads) {
  ASSERT_TRUE(probe_start(1));
  ASSERT_EQ(probe_watch(tensor_), 8);
  ssize_t got = 0;
  std::thread reader([&] { got = recv(sockets_[1], tensor_, kBytes, MSG_WAITALL); });
  while (probe_kernel_io() == 0) usleep(100);
  for (int i = 0; i < 20; ++i) probe_rearm();
  feed_socket();
  reader.join();
  EXPECT_EQ(got, static_cast<ssize_t>(kBytes));
  EXPECT_EQ(std::string(tensor_, kBytes), pattern_);
}

TEST_F(KernelIo, ACancelledReadLeavesNothingBroken) {
  ASSERT_TRUE(probe_start(1));
  ASSERT_EQ(probe_watch(tensor_), 8);
  struct Buffer {
    int socket;
    char* data;
  } buffer{sockets_[1], tensor_};
  pthread_t thread;
  ASSERT_EQ(pthread_create(
                &thread, nullptr,
                [](void* to) -> void* {
                  auto* where = static_cast<Buffer*>(to);
                  return reinterpret_cast<void*>(recv(where->socket, where->data, kBytes, 0));
                },
                &buffer),
            0);
  while (probe_kernel_io() == 0) usleep(100);
  pthread_cancel(thread);
  void* result = nullptr;
  pthread_join(thread, &result);
  EXPECT_EQ(result, PTHREAD_CANCELED);
  probe_rearm();
  memset(tensor_, 1, kBytes);
}

TEST_F(KernelIo, ImpossibleCountsReachTheKernel) {
  ASSERT_TRUE(probe_start(1));
  ASSERT_EQ(probe_watch(tensor_), 8);
  volatile int impossible = -1;
  EXPECT_EQ(readv(file_, halves(), impossible), -1);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(read(-1, tensor_, kBytes), -1);
  EXPECT_EQ(errno, EBADF);
  EXPECT_EQ(read(file_, tensor_, 0), 0);
}

TEST_F(KernelIo, TheProgramsOwnMappingCallsWin) {
  ASSERT_TRUE(probe_start(1));
  ASSERT_EQ(probe_watch(tensor_), 8);
  EXPECT_EQ(mlock(tensor_, kBytes), 0) << strerror(errno);
  EXPECT_EQ(munlock(tensor_, kBytes), 0);
  EXPECT_EQ(mprotect(tensor_, kPage, PROT_READ), 0);
  probe_rearm();
  EXPECT_EQ(static_cast<volatile char*>(tensor_)[0], 0);
  tensor_[2 * kPage] = 9;
  EXPECT_EQ(madvise(tensor_ + 2 * kPage, kPage, MADV_DONTNEED), 0);
  EXPECT_EQ(static_cast<volatile char*>(tensor_)[2 * kPage], 0);
  auto* moved = static_cast<char*>(mremap(tensor_ + 4 * kPage, 2 * kPage, 4 * kPage, MREMAP_MAYMOVE));
  ASSERT_NE(moved, MAP_FAILED);
  moved[3 * kPage] = 1;
  EXPECT_EQ(munmap(tensor_ + 6 * kPage, 2 * kPage), 0);
  auto* tenant = static_cast<char*>(
      mmap(tensor_ + 6 * kPage, 2 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
  probe_rearm();
  EXPECT_EQ(write(sockets_[0], tenant, kPage), static_cast<ssize_t>(kPage)) << "no page of the new tenant is armed";
  probe_stop();
  tenant[0] = 1;
}

TEST_F(KernelIo, EveryHookedNameIsExportedHereAndByTheMap) {
  std::ifstream map(HEARTH_EXPORT_MAP);
  const std::string exports{std::istreambuf_iterator<char>(map), {}};
#define HEARTH_NAME_OF(result, name, ...) #name,
  const char* names[] = {HEARTH_IO_HOOKS(HEARTH_NAME_OF) HEARTH_MAPPING_HOOKS(HEARTH_NAME_OF)
                             HEARTH_SIGNAL_HOOKS(HEARTH_NAME_OF) HEARTH_OTHER_HOOKS(HEARTH_NAME_OF)};
  for (const char* name : names) {
    EXPECT_NE(exports.find(" " + std::string(name) + ";\n"), std::string::npos) << name << " is not in libhearth.map";
    Dl_info found{};
    ASSERT_NE(dladdr(dlsym(RTLD_DEFAULT, name), &found), 0) << name;
    EXPECT_NE(std::string(found.dli_fname).find("access_probe"), std::string::npos)
        << name << " in " << found.dli_fname;
  }
}

}  // namespace
