"""Marks and questions for the Hearth runtime of this process.

Hearth needs no change to a program. This module is for loops whose iterations it cannot see by itself, and for tools
that ask what it knows. Without libhearth.so in LD_PRELOAD every function does nothing, at the cost of a Python call.

    import hearth

    for batch in loader:
        with hearth.iteration():
            train(batch)

    @hearth.iteration
    def step(batch): ...
"""

import contextlib
import ctypes
import operator
import os
from typing import Any, Callable, NamedTuple, Optional, TypeVar, Union, overload

from . import _library

__all__ = ["Counters", "Tensor", "active", "counters", "find", "iteration", "state", "version", "write_report"]
__version__ = "0.1.0"

_Function = TypeVar("_Function", bound=Callable[..., Any])
_lib = _library.load()


class Counters(NamedTuple):
    """What Hearth has counted in this process; all 0 where it is absent."""

    state: str
    allocations: int
    frees: int
    live_tensors: int
    live_bytes: int
    peak_bytes: int
    iterations: int
    profiled: int
    page_faults_caught: int


class Tensor(NamedTuple):
    """The storage that an address points into."""

    serial: int
    address: int
    bytes: int
    iteration: int
    op: str
    own_pages: bool


def version() -> Optional[str]:
    """Version of the preloaded library, or None where there is none."""
    return _lib.hearth_version().decode() if _lib is not None else None


def state() -> str:
    """'bootstrap', 'observe', 'profile', 'plan', 'managed', 'disabled', 'forwarding', or 'absent'."""
    return _state_name(_lib.hearth_get_state()) if _lib is not None else "absent"


def active() -> bool:
    """Whether Hearth watches the tensors of this process: preloaded, not switched off, not a forked child."""
    return state() not in ("absent", "disabled", "forwarding")


def counters() -> Counters:
    """What was counted so far."""
    raw = _library.Counters(struct_size=ctypes.sizeof(_library.Counters))
    if _lib is None:
        return Counters("absent", *(0,) * 8)
    _lib.hearth_get_counters(ctypes.byref(raw))
    return Counters(
        _state_name(raw.state),
        raw.allocations,
        raw.frees,
        raw.live_tensors,
        raw.live_bytes,
        raw.peak_bytes,
        raw.iterations,
        raw.profiled,
        raw.page_faults_caught,
    )


def find(tensor_or_address: Any) -> Optional[Tensor]:
    """The storage behind a tensor, or at an address; None if Hearth does not know it (not allocated by PyTorch's CPU
    allocator: numpy memory, shared memory, files; or Hearth is absent)."""
    address = _address_of(tensor_or_address)
    if _lib is None or not address:
        return None
    raw = _library.TensorInfo(struct_size=ctypes.sizeof(_library.TensorInfo))
    if not _lib.hearth_find_tensor(address, ctypes.byref(raw)):
        return None
    op = raw.op.decode(errors="replace") if raw.op else ""
    return Tensor(raw.serial, raw.address or 0, raw.bytes, raw.iteration, op, bool(raw.own_pages))


def write_report(path: Union[str, "os.PathLike[str]", None] = None) -> bool:
    """Writes the JSON report now, to `path` or where HEARTH_REPORT says. False where Hearth is absent; OSError if it
    cannot be written."""
    if _lib is None:
        return False
    error = _lib.hearth_write_report(os.fsencode(path) if path is not None else None)
    if error != 0:
        raise OSError(error, os.strerror(error), None if path is None else os.fspath(path))
    return True


class _Iteration(contextlib.ContextDecorator):
    """Stateless, so one object serves nested and concurrent uses; the library counts unbalanced ones."""

    __slots__ = ()

    def __enter__(self) -> "_Iteration":
        if _lib is not None:
            _lib.hearth_iteration_begin()
        return self

    def __exit__(self, *_: Any) -> None:
        if _lib is not None:
            _lib.hearth_iteration_end()


_iteration = _Iteration()


@overload
def iteration() -> _Iteration: ...


@overload
def iteration(function: _Function) -> _Function: ...


def iteration(function: Optional[_Function] = None) -> Any:
    """Marks one iteration of this thread's loop: `with hearth.iteration():`, or `@hearth.iteration` on the function
    that does one. From the first mark on, marks decide where iterations end."""
    if function is None:
        return _iteration
    return _iteration(function) if _lib is not None else function


def _state_name(number: int) -> str:
    return _library.STATES[number] if 0 <= number < len(_library.STATES) else "unknown"


def _address_of(tensor_or_address: Any) -> int:
    # Any object with PyTorch's data_ptr() will do; a view points into its storage, which find() understands. It comes
    # first, since a tensor of one integer is a number as well.
    pointer = getattr(tensor_or_address, "data_ptr", None)
    if pointer is not None:
        return int(pointer())
    try:
        return operator.index(tensor_or_address)
    except TypeError:
        name = type(tensor_or_address).__name__
        raise TypeError("expected a tensor or an address, not %s" % name) from None
