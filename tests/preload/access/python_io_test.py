"""Python's own ways of moving data into and out of guarded memory, and faulthandler switched on in mid-profile."""

import ctypes
import os
import signal
import socket
import subprocess
import sys
import tempfile
import unittest

BYTES = 8 * 4096
PATTERN = bytes((i * 31 + i // 4096) % 256 for i in range(BYTES))
READ, WRITE = 1, 2

probe = ctypes.CDLL(None)
probe.probe_tensor.restype = ctypes.c_void_p
probe.probe_tensor.argtypes = [ctypes.c_size_t]
for name in ("probe_watch", "probe_seen", "probe_free"):
    getattr(probe, name).argtypes = [ctypes.c_void_p]
probe.probe_faults.restype = ctypes.c_uint64


class PythonIo(unittest.TestCase):
    def setUp(self):
        self.address = probe.probe_tensor(BYTES)
        self.buffer = (ctypes.c_ubyte * BYTES).from_address(self.address)
        self.file = tempfile.TemporaryFile(buffering=0)
        self.file.write(PATTERN)
        self.file.seek(0)

    def tearDown(self):
        probe.probe_stop()
        self.file.close()

    def arm(self):
        self.assertTrue(probe.probe_start(1))
        self.assertEqual(probe.probe_watch(self.address), 8)

    def check_filled(self):
        self.assertEqual(probe.probe_faults(), 0)
        self.assertEqual(probe.probe_seen(self.address), WRITE)
        self.assertEqual(bytes(self.buffer), PATTERN)

    def check_drained(self, copy):
        self.assertEqual(probe.probe_faults(), 0)
        self.assertEqual(probe.probe_seen(self.address), READ)
        self.assertEqual(copy, PATTERN)

    def fill(self):
        ctypes.memmove(self.address, PATTERN, BYTES)

    def test_readinto(self):
        self.arm()
        self.assertEqual(self.file.readinto(self.buffer), BYTES)
        self.check_filled()

    def test_readinto_buffered(self):
        with open(self.file.fileno(), "rb", closefd=False) as buffered:
            self.arm()
            self.assertEqual(buffered.readinto(self.buffer), BYTES)
        self.assertEqual(bytes(self.buffer), PATTERN)

    def test_readv_and_preadv(self):
        self.arm()
        self.assertEqual(os.readv(self.file.fileno(), [self.buffer]), BYTES)
        self.check_filled()
        probe.probe_rearm()
        self.assertEqual(os.preadv(self.file.fileno(), [self.buffer], 0), BYTES)

    def test_recv_into(self):
        ours, theirs = socket.socketpair()
        with ours, theirs:
            theirs.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
            theirs.sendall(PATTERN)
            self.arm()
            self.assertEqual(ours.recv_into(self.buffer, BYTES, socket.MSG_WAITALL), BYTES)
        self.check_filled()

    def test_write(self):
        self.fill()
        self.arm()
        self.file.seek(0)
        self.assertEqual(self.file.write(self.buffer), BYTES)
        self.check_drained(os.pread(self.file.fileno(), BYTES, 0))

    def test_sendall(self):
        self.fill()
        ours, theirs = socket.socketpair()
        with ours, theirs:
            ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
            self.arm()
            ours.sendall(self.buffer)
            self.check_drained(theirs.recv(BYTES, socket.MSG_WAITALL))

    def test_numpy_tofile_and_fromfile(self):
        try:
            import numpy
        except ImportError:
            self.skipTest("numpy is not installed for this Python")
        self.fill()
        array = numpy.frombuffer(self.buffer, dtype=numpy.uint8)
        with tempfile.NamedTemporaryFile() as target:
            self.arm()
            array.tofile(target.name)
            with open(target.name, "rb") as copy:
                self.check_drained(copy.read())
            self.assertTrue((numpy.fromfile(target.name, dtype=numpy.uint8) == array).all())

    def test_subprocess_in_mid_profile(self):
        self.arm()
        self.assertEqual(subprocess.run(["echo", "hello"], capture_output=True, check=True).stdout, b"hello\n")

    def test_forked_child(self):
        self.fill()
        self.arm()
        child = os.fork()
        if child == 0:
            probe.probe_child()
            os._exit(7 if bytes(self.buffer) == PATTERN else 1)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 7)


CRASH = """
import ctypes, faulthandler, sys
sys.path.insert(0, {folder!r})
from python_io_test import probe, BYTES
if {early}: faulthandler.enable()
address = probe.probe_tensor(BYTES)
assert probe.probe_start(1) and probe.probe_watch(address) == 8
if not {early}: faulthandler.enable()
ctypes.string_at(address, 1)
assert probe.probe_faults() == 1, "the guard's own fault"
if {stopped}: probe.probe_stop()
print("crashing", flush=True)
ctypes.string_at(16, 1)
"""


class Faulthandler(unittest.TestCase):
    def crash(self, early, stopped=False):
        code = CRASH.format(folder=os.path.dirname(os.path.abspath(__file__)), early=early, stopped=stopped)
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.stdout, "crashing\n", done.stderr)
        self.assertEqual(done.returncode, -signal.SIGSEGV)
        self.assertIn("Segmentation fault", done.stderr)
        self.assertIn("most recent call first", done.stderr)

    def test_enabled_before(self):
        self.crash(early=True)

    def test_enabled_in_mid_profile(self):
        self.crash(early=False)

    def test_after_the_run(self):
        self.crash(early=False, stopped=True)


if __name__ == "__main__":
    unittest.main(verbosity=2)
