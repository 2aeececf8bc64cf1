"""Stands in for CuPy where there is no GPU: kernels are compiled for the processor (``lanes.h``), streams are queues.

One of two streams can be made to lag behind: what is put in it is done only when someone waits for it. So a kernel that
would read what has not come yet, or a copy onto what is still read, shows.
"""

import contextlib
import ctypes
import hashlib
import subprocess
import threading
from collections import deque
from pathlib import Path
from types import SimpleNamespace

import numpy as np

LOCK = threading.RLock()


class Event:
    """Marks a point in a stream."""

    def __init__(self, block=False, disable_timing=False):
        self.asked = self.reached = 0
        self.stream = None

    def record(self, stream):
        with LOCK:
            self.asked += 1
            self.stream = stream
            stream.put(lambda time=self.asked: setattr(self, "reached", time))

    def synchronize(self):
        with LOCK:
            time = self.asked
            while self.reached < time:
                self.stream.step()


class Stream:
    """A queue of things to do. An event that has to be waited for is an item of its own: (event, time)."""

    ptr = 1

    def __init__(self, non_blocking=False):
        self.todo = deque()
        self.lags = False

    def put(self, item):
        with LOCK:
            self.todo.append(item)
            while self.todo and not self.lags and self.step(force=False):
                pass

    def wait_event(self, event):
        with LOCK:
            self.put((event, event.asked))

    def step(self, force=True):
        """Do the next thing; without force, not if others have to do something first."""
        item = self.todo[0]
        if isinstance(item, tuple):
            event, time = item
            while event.reached < time:
                if not force:
                    return False
                event.stream.step()
            self.todo.popleft()
        else:
            self.todo.popleft()()
        return True

    def synchronize(self):
        with LOCK:
            while self.todo:
                self.step()

    def __enter__(self):
        CURRENT.stream = self

    def __exit__(self, *exception):
        CURRENT.stream = KERNELS


KERNELS = Stream()


class Current(threading.local):
    stream = KERNELS


CURRENT = Current()


class Array(np.ndarray):
    """An array "on the GPU": whoever looks at it waits for the kernels."""

    @property
    def data(self):
        return SimpleNamespace(ptr=self.ctypes.data)

    def get(self, out=None):
        KERNELS.synchronize()
        if out is None:
            return np.array(self)
        out[...] = self
        return out

    def __setitem__(self, key, value):
        KERNELS.put(lambda: np.asarray(self).__setitem__(key, value))


def there(array):
    return np.array(array).view(Array)


class Kernel:
    def __init__(self, function):
        self.function = function

    def __call__(self, grid, block, arguments):
        held = [a if isinstance(a, np.ndarray) else np.array(a) for a in arguments]
        values = [ctypes.c_void_p(a.ctypes.data) if isinstance(a, Array) else np.ctypeslib.as_ctypes(a) for a in held]
        pointers = (ctypes.c_void_p * len(values))(*(ctypes.addressof(value) for value in values))
        blocks = min(grid[0], 2)  # whatever their number, they share out all there is

        def run(alive=(held, values)):
            self.function(ctypes.c_uint(blocks), ctypes.c_uint(block[0]), pointers)

        CURRENT.stream.put(run)


class StandIn:
    """The part of CuPy that the engine uses.

    Args:
        folder: where compiled kernels are kept.
        compiler: a C++ compiler.
        free: bytes of "the GPU" that are free.
    """

    uint32, int64, float64 = np.uint32, np.int64, np.float64

    def __init__(self, folder, compiler, free=int(8e9)):
        self.folder, self.compiler, self.copies = Path(folder), compiler, []
        self.cuda = SimpleNamespace(
            runtime=SimpleNamespace(memGetInfo=lambda: (free, int(8e9)), memcpyAsync=self._copy),
            Device=lambda: SimpleNamespace(use=lambda: None, attributes={"MultiProcessorCount": 1}),
            Event=Event,
            Stream=self._stream,
            get_current_stream=lambda: CURRENT.stream,
            alloc_pinned_memory=lambda size: bytearray(size),
        )

    def _stream(self, non_blocking=False):
        self.copies.append(Stream())
        self.copies[-1].lags = self.lags == "copies"
        return self.copies[-1]

    lags = None

    @contextlib.contextmanager
    def lagging(self, which):
        """Let "kernels", "copies" or neither (None) lag behind."""
        self.lags, KERNELS.lags = which, which == "kernels"
        yield
        KERNELS.synchronize()
        self.lags, KERNELS.lags = None, False

    def _copy(self, to, start, size, kind, stream):
        assert kind == 1
        CURRENT.stream.put(lambda: ctypes.memmove(to, start, size))

    def asarray(self, array):
        return there(array)

    def zeros(self, shape, dtype):
        return np.zeros(shape, dtype).view(Array)

    def empty(self, shape, dtype):
        return np.full(shape, 12345, dtype).view(Array)

    def zeros_like(self, array):
        return np.zeros_like(array)

    def RawModule(self, code, options, backend):
        defines = [option[2:].replace("=", " ", 1) for option in options if option.startswith("-D")]
        adam = "ADAM 1" in defines
        names = ["to_rows", "train", "adam" if adam else "bound"]
        lanes = Path(__file__).with_name("lanes.h")
        source = "\n".join(
            [
                f'#include "{lanes}"',
                *(f"#define {define}" for define in defines),
                code,
                *(f"LAUNCHED({n})" for n in names),
            ]
        )
        name = hashlib.sha256((source + lanes.read_text()).encode()).hexdigest()[:16]
        library = self.folder / f"{name}.so"
        if not library.exists():
            file = self.folder / f"{name}.cpp"
            file.write_text(source)
            flags = ["-std=c++17", "-O1", "-shared", "-fPIC", "-Wno-unknown-pragmas", "-w"]
            subprocess.run([self.compiler, *flags, "-o", str(library), str(file)], check=True)
        loaded = ctypes.CDLL(str(library))
        return SimpleNamespace(get_function=lambda name: Kernel(getattr(loaded, f"launch_{name}")))
