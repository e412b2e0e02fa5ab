"""The C API of the preloaded libhearth.so (include/hearth/hearth.h), or None where it is not preloaded."""

import ctypes
from typing import Optional

STATES = ("bootstrap", "observe", "profile", "plan", "managed", "disabled", "forwarding")


class TensorInfo(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("serial", ctypes.c_uint32),
        ("address", ctypes.c_void_p),
        ("bytes", ctypes.c_uint64),
        ("iteration", ctypes.c_uint64),
        ("op", ctypes.c_char_p),
        ("own_pages", ctypes.c_int),
    ]


class Counters(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("state", ctypes.c_uint32),
        ("allocations", ctypes.c_uint64),
        ("frees", ctypes.c_uint64),
        ("live_tensors", ctypes.c_uint64),
        ("live_bytes", ctypes.c_uint64),
        ("peak_bytes", ctypes.c_uint64),
        ("iterations", ctypes.c_uint64),
        ("profiled", ctypes.c_uint64),
        ("page_faults_caught", ctypes.c_uint64),
    ]


def load() -> Optional[ctypes.CDLL]:
    # The global scope of the process: a preloaded library is in it, and nothing is loaded that was not there.
    try:
        library = ctypes.CDLL(None)
        library.hearth_version.restype = ctypes.c_char_p
        library.hearth_version.argtypes = ()
        library.hearth_get_state.restype = ctypes.c_int
        library.hearth_get_state.argtypes = ()
        for name in ("hearth_iteration_begin", "hearth_iteration_end"):
            getattr(library, name).restype = None
            getattr(library, name).argtypes = ()
        library.hearth_write_report.restype = ctypes.c_int
        library.hearth_write_report.argtypes = (ctypes.c_char_p,)
        library.hearth_find_tensor.restype = ctypes.c_int
        library.hearth_find_tensor.argtypes = (ctypes.c_void_p, ctypes.POINTER(TensorInfo))
        library.hearth_get_counters.restype = None
        library.hearth_get_counters.argtypes = (ctypes.POINTER(Counters),)
    except (AttributeError, OSError):
        return None
    return library
