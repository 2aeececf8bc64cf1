"""An engine maps tasks over workers and yields their results in the order of the tasks.

A task is pure: its result depends on the shared value and on the task, not on who does it, when, or how often. So the
number of workers, the order in which they finish and workers that die do not change the results.

:class:`Local` does tasks in this process, :class:`RayEngine` on a Ray cluster. Ray is imported only when it is asked
for. Its tasks are stateless, not actors: when a node dies, a task moves to any node that is left, while an actor would
wait for the resources it had. What a worker keeps between tasks it can always make again.
"""

from __future__ import annotations

import logging
import os
import shutil
import signal
import socket
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import Any, Protocol, TypeVar

from polysema.errors import InputError, OutputError, PolysemaError, check_choice, needing
from polysema.progress import Progress, Report, silent
from polysema.version import __version__

Shared = TypeVar("Shared")
Value = TypeVar("Value")
Value_co = TypeVar("Value_co", covariant=True)
Task = TypeVar("Task")
Result = TypeVar("Result")
Own = TypeVar("Own")
Joint = TypeVar("Joint")

Work = Callable[[Shared, Task, Report], Result]
"""What a worker does: a function of a module, since workers import it. It may report the progress of its task."""

Merge = Callable[[list[Joint]], Joint]  # merges results that follow each other; also a function of a module

ENGINES = ("local", "ray")

FAN = 4  # how many results are merged into one

LEAST_STORE, MOST_STORE = 80 << 20, 2 << 30
"""Bounds of Ray's object store in bytes where Ray is started here; it takes half of /dev/shm."""

TRIES = 8  # how often a task is begun again after its worker or its node died

_PATIENCE = 5.0  # seconds for an address to answer
_SHM = "/dev/shm"  # noqa: S108 - where Ray keeps its object store
_LOOK = 0.5  # seconds between two reports of progress
_SHORT, _PARTING = 1.0, 20.0  # seconds that tasks have to end by themselves, and after they were cancelled
_LOG = logging.getLogger(__name__)
_KEPT: dict[str, Any] = {}  # in a worker: the shared value of a map


class Placed(Protocol[Value_co]):
    """A value that was placed; a task may hold it."""

    def __call__(self) -> Value_co:
        """The value, read-only where it is an array."""


class Engine:
    """The interface of engines, and the one that does tasks one after the other in this process.

    Attributes:
        workers: how many tasks are done at once.
    """

    workers = 1

    def put(self, value: Value) -> Placed[Value]:
        """Place a value where workers can get it: once for all of them, whatever the number of tasks."""
        return lambda: value

    def map(
        self,
        work: Work[Shared, Task, Result],
        shared: Placed[Shared],
        tasks: Iterable[Task],
        *,
        cores: int = 1,
        gpus: int = 0,
        progress: Report = silent,
    ) -> Iterator[Result]:
        """The results of all tasks, in their order; few are held at once.

        Args:
            shared: what all tasks need. A worker gets it once and keeps it; expensive parts, such as a loaded encoder,
                are made at first use (``functools.cached_property``).
            tasks: what differs between tasks, small; larger values are placed. They are taken as they are needed.
            cores, gpus: how many processors and cards a task uses.
            progress: called with the progress of each task here, on a cluster with how many tasks are done.
        """
        for task in tasks:
            yield work(shared(), task, progress)

    def merged(
        self,
        work: Work[Shared, Task, tuple[Own, Joint]],
        shared: Placed[Shared],
        tasks: Sequence[Task],
        merge: Merge[Joint],
        *,
        cores: int = 1,
    ) -> tuple[list[Own], list[Joint]]:
        """As :meth:`map`, where workers also merge the second half of each result, by a tree (:func:`tree`).

        Its shape depends on the number of tasks only, so results have the same bits for any number of workers. Returns
        the first halves, and at most ``FAN`` merged second halves.
        """
        owns: list[Own] = []

        def joints() -> Iterator[Joint]:
            for task in tasks:
                own, joint = work(shared(), task, silent)
                owns.append(own)
                yield joint

        return owns, tree(joints(), len(tasks), merge)

    def see(self, paths: Iterable[str | os.PathLike[str]]) -> None:
        """Raise InputError if a worker cannot see one of these files or folders, or sees others."""

    def status(self) -> str:
        """What each worker has done and how many tasks wait, in a few words."""
        return ""

    def close(self) -> None:
        """Release what the engine holds."""


class Local(Engine):
    """This process; what a task does may use all cores."""


def tree(values: Iterable[Value], count: int, merge: Callable[[list[Value]], Value]) -> list[Value]:
    """Merge neighbours, ``FAN`` at a time, and the results again, until ``FAN`` are left or fewer.

    The caller merges those. Few values are held at once.
    """

    def merged(left: Iterator[Value]) -> Iterator[Value]:
        while some := list(islice(left, FAN)):
            yield merge(some) if len(some) > 1 else some[0]

    while count > FAN:
        values = merged(iter(values))
        count = -(-count // FAN)
    return list(values)


@contextmanager
def engine_named(
    engine: str | Engine = "local", address: str | None = None, workers: int | None = None
) -> Iterator[Engine]:
    """The engine of that name, closed at the end; an engine that is handed in is left open.

    Args:
        engine: ``local``, ``ray``, or an engine.
        address: of a Ray cluster, such as ``10.0.0.1:6379``, or ``auto`` for the one this machine belongs to; without
            it Ray is started on this machine and ends with the work.
        workers: how many tasks at once; by default one per processor of the cluster.
    """
    if not isinstance(engine, str):
        yield engine
        return
    check_choice("engine", engine, ENGINES)
    if engine == "local" and address is not None:
        raise InputError(f"the address {address} is a Ray cluster's: choose the engine ray")
    opened = Local() if engine == "local" else RayEngine(address, workers)
    try:
        yield opened
    finally:
        opened.close()


# ---------------------------------------------------------------------------------------------------------------- Ray


def _ray(local: bool = False) -> Any:
    """Import Ray; for a cluster on this machine alone, so that nothing listens on other interfaces."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"  # nothing is sent anywhere
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    os.environ.setdefault("RAY_raylet_start_wait_time_s", "120")  # a busy machine is not a broken one
    if local:  # what Ray does by default on macOS and Windows: all its servers bind to 127.0.0.1. Read at import
        os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
    with needing("the engine ray", "ray"):
        import ray
    return ray


@dataclass(slots=True)
class _Group:
    """Tasks under way whose results are awaited together."""

    tasks: list[Any]
    owns: list[Any]  # references to the results, and to the merged second halves
    joints: list[Any]
    avoid: list[str]  # ids of nodes whose disk failed


class RayEngine(Engine):
    """Does tasks on a Ray cluster.

    Args:
        address: of a cluster; None starts Ray on this machine, listening on 127.0.0.1 only.
        workers: how many tasks at once; by default as many as the cluster has processors.
    """

    def __init__(self, address: str | None = None, workers: int | None = None) -> None:
        self._ray = ray = _ray(local=address is None)
        self._done: Counter[str] = Counter()
        self._words: Counter[str] = Counter()
        self._begun = time.monotonic()
        self._waiting = 0
        self._opened = not ray.is_initialized()
        if self._opened:
            options: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
            if address is None:
                options |= {"num_cpus": workers, "object_store_memory": _store(), "include_dashboard": False}
            else:
                _check_address(address)
            try:
                with _own_handlers():
                    ray.init(address=address or "local", **options)
            except (ConnectionError, RuntimeError, ValueError) as error:
                what = f"no Ray cluster at {address}" if address else "Ray cannot be started on this machine"
                raise InputError(f"{what}: {str(error).splitlines()[0]}") from None
        self.nodes = self._probe()
        processors = int(ray.cluster_resources().get("CPU", 1))
        self.workers = max(1, min(workers or processors, processors))
        self._window = self.workers if self.workers < processors else 2 * self.workers
        _LOG.info(f"Ray: {self.workers} workers on {len(self.nodes)} nodes")

    # ------------------------------------------------------------------------------------------------------- tasks

    def put(self, value: Value) -> Placed[Value]:
        """Place a value in Ray's object store."""
        return _InStore(self._ray.put(value))

    def map(
        self, work: Any, shared: Any, tasks: Iterable[Any], *, cores: int = 1, gpus: int = 0, progress: Report = silent
    ) -> Iterator[Any]:
        """The results of all tasks, in their order, in whatever order workers finish or die."""
        for owns, _ in self._groups(work, shared, ([task] for task in tasks), None, cores, gpus, progress):
            yield owns[0]

    def merged(
        self, work: Any, shared: Any, tasks: Sequence[Any], merge: Any, *, cores: int = 1
    ) -> tuple[list[Any], list[Any]]:
        """As :meth:`Engine.merged`; workers merge among themselves."""
        [found] = self._groups(work, shared, [list(tasks)], merge, cores, 0, silent)
        return found

    def _groups(
        self, work: Any, shared: Any, groups: Iterable[list[Any]], merge: Any, cores: int, gpus: int, progress: Report
    ) -> Iterator[tuple[list[Any], list[Any]]]:
        """For each group of tasks its results (the first halves, if there is a ``merge``) and merged second halves."""
        ray, done = self._ray, 0
        halves = 1 if merge is None else 2
        remote = ray.remote(num_cpus=cores, num_gpus=gpus, max_retries=TRIES, num_returns=halves)(_work)
        join = ray.remote(num_cpus=1, max_retries=TRIES)(_merge)
        sent: deque[_Group] = deque()

        def submit(some: list[Any], avoid: list[str]) -> _Group:
            options: dict[str, Any] = {"name": getattr(work, "__qualname__", "work")}
            if avoid and (others := [node for node in self._alive() if node not in avoid]):
                options["scheduling_strategy"] = _affinity(others[0], soft=True)
            owns: list[Any] = []
            joints: list[Any] = []
            for task in some:
                if len(owns) >= self._window:
                    ray.wait(owns, num_returns=len(owns) - self._window + 1)
                made = remote.options(**options).remote(work, shared, merge is not None, task)
                own, *joint = made if merge is not None else [made]
                owns.append(own)
                joints += joint
            joints = tree(joints, len(joints), lambda values: join.remote(merge, *values))
            return _Group(some, owns, joints, avoid)

        def taken() -> tuple[list[Any], list[Any]]:
            nonlocal done
            while True:
                item = sent[0]
                self._waiting = sum(len(item.tasks) for item in sent)
                awaited = [*item.owns, *item.joints]
                while ray.wait(awaited, num_returns=len(awaited), timeout=_LOOK)[1]:
                    progress(Progress("tasks", done, None, "tasks", detail=self.status()))
                try:
                    owns, joints = ray.get(item.owns), ray.get(item.joints)
                except ray.exceptions.RayTaskError as error:
                    sent[0] = submit(item.tasks, [*item.avoid, self._failing_node(item, error)])
                except ray.exceptions.RayError as error:
                    raise OutputError(f"a task could not be done: {' '.join(str(error).split())[:300]}") from None
                else:
                    sent.popleft()
                    done += len(item.tasks)
                    for node, words, _ in owns:
                        self._done[node] += 1
                        self._words[node] += words
                    return [value for *_, value in owns], joints

        try:
            for some in groups:
                sent.append(submit(some, []))
                if sum(len(item.tasks) for item in sent) >= self._window:
                    yield taken()
            while sent:
                yield taken()
        finally:
            self._end([reference for item in sent for reference in (*item.owns, *item.joints)])
            self._waiting = 0

    def _end(self, left: list[Any]) -> None:
        """Stop tasks that are no longer wanted, with time to write a checkpoint.

        Short tasks are awaited: Ray ends the whole process when a task is cancelled just as it ends.
        """
        for timeout, force in ((_SHORT, False), (_PARTING, True)):
            left = self._ray.wait(left, num_returns=len(left), timeout=timeout)[1] if left else []
            for reference in left:
                self._ray.cancel(reference, force=force)

    def _failing_node(self, item: _Group, error: Any) -> str:
        """The node whose disk failed a task that another node can do; any other failure is raised."""
        failure = error.cause
        if not isinstance(failure, _FailedTask):
            raise error
        if failure.disk and len(item.avoid) < len(self._alive()) - 1:
            _LOG.warning(f"{failure.node}: {failure.error}: the task goes to another node")
            return failure.id
        if failure.disk:
            raise OutputError(f"node {failure.node}: {failure.error}") from None
        raise failure.error from (None if isinstance(failure.error, PolysemaError) else error)

    # ------------------------------------------------------------------------------------------------------- nodes

    def _alive(self) -> list[str]:
        """The ids of the nodes."""
        return [node["NodeID"] for node in self._ray.nodes() if node["Alive"]]

    def _ask(self, work: Any, *arguments: Any) -> list[Any]:
        """The result of a function on every node."""
        remote = self._ray.remote(num_cpus=0, max_retries=2)(work)
        asked = {node: remote.options(scheduling_strategy=_affinity(node)).remote(*arguments)
                 for node in self._alive()}  # fmt: skip
        answers = []
        for node, reference in asked.items():
            try:
                answers.append(self._ray.get(reference, timeout=120))
            except self._ray.exceptions.RayTaskError as error:
                what = str(error.cause or error).splitlines()[-1]
                raise InputError(f"a node cannot run polysema: {what}: install it on every node") from None
            except self._ray.exceptions.RayError as error:
                end = time.monotonic() + _PATIENCE  # for the cluster to notice that the node has died
                while node in self._alive():
                    if time.monotonic() > end:
                        raise InputError(f"a node does not answer: {' '.join(str(error).split())[:200]}") from None
                    time.sleep(0.1)
        return answers

    def _probe(self) -> list[dict[str, Any]]:
        """Name, id, version and memory of each node; another version of polysema is an error."""
        nodes: list[dict[str, Any]] = self._ask(_facts)
        stores = {node["NodeID"]: node["Resources"].get("object_store_memory", 0) for node in self._ray.nodes()}
        for node in nodes:
            node["store"] = stores.get(node["id"], 0)
            if node["polysema"] != __version__:
                raise InputError(f"node {node['name']} has polysema {node['polysema']}, this one {__version__}")
            if node["shared memory"] < node["store"]:
                _LOG.warning(
                    f"node {node['name']}: /dev/shm has {node['shared memory'] / 1e6:.0f} MB and Ray's object store "
                    f"wants {node['store'] / 1e6:.0f} MB: it uses the disk, slowly (a container takes --shm-size=1g)"
                )
        return nodes

    def see(self, paths: Iterable[str | os.PathLike[str]]) -> None:
        """Check on every node that it sees the same files."""
        wanted = {str(path): _size(os.fspath(path)) for path in paths if "://" not in str(path)}
        for name, found in self._ask(_sizes, list(wanted)):
            for path, size in found.items():
                if size != wanted[path]:
                    what = "cannot see" if size is None else "sees another file as"
                    raise InputError(
                        f"node {name} {what} {path}: put it where all nodes find it (a shared folder or a URL)"
                    )

    def status(self) -> str:
        """The speed of each node, or the tasks done by each where they do not count words; and how many wait."""
        seconds = max(time.monotonic() - self._begun, 1e-9)
        speeds = [f"{node}: {words / seconds / 1e6:.2f}" for node, words in sorted(self._words.items()) if words]
        tasks = [f"{node}: {count}" for node, count in sorted(self._done.items())]
        done = f"{', '.join(speeds)} M words/s" if speeds else f"{', '.join(tasks) or 'no'} tasks done"
        return f"{done}; {self._waiting} waiting"

    def close(self) -> None:
        """Leave the cluster; Ray that was started here ends."""
        if self._opened and self._ray.is_initialized():
            self._ray.shutdown()


# ------------------------------------------------------------------------------------------------------- in a worker


class _FailedTask(Exception):
    """An error in a worker, and the node it happened on."""

    def __init__(self, error: Exception, node: str, id: str) -> None:
        super().__init__(error, node, id)
        self.error, self.node, self.id = error, node, id

    @property
    def disk(self) -> bool:
        """Whether the node's disk is at fault: full, read-only, gone."""
        return isinstance(self.error, OutputError | OSError) and not isinstance(self.error, ImportError)


@dataclass(frozen=True, slots=True)
class _InStore:
    """A value in the object store."""

    reference: Any

    def __call__(self) -> Any:
        return _ray().get(self.reference)


def _affinity(node: str, soft: bool = False) -> Any:
    """Schedule on a node; if soft, elsewhere when it is gone."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    return NodeAffinitySchedulingStrategy(node, soft=soft)


def _work(work: Any, shared: _InStore, halves: bool, task: Any) -> Any:
    """Do a task. Returns its node, how many words it read, and its result; the second half separately if ``halves``."""
    name, id = _node()
    words = 0

    def report(at: Progress) -> None:
        nonlocal words
        words = at.done if at.unit == "words" else 0

    try:
        key = shared.reference.hex()
        if key not in _KEPT:
            _KEPT.clear()
            _KEPT[key] = shared()
        result = work(_KEPT[key], task, report)
    except Exception as error:
        raise _FailedTask(error, name, id) from error
    return ((name, words, result[0]), result[1]) if halves else (name, words, result)


def _merge(merge: Any, *values: Any) -> Any:
    return merge(list(values))


def _node() -> tuple[str, str]:
    """This node's name for people, and its id."""
    id = str(_ray().get_runtime_context().get_node_id())
    return f"{socket.gethostname()}/{id[:6]}", id


def _facts() -> dict[str, Any]:
    name, id = _node()
    memory = shutil.disk_usage(_SHM).total if os.path.isdir(_SHM) else 1 << 62
    return {"name": name, "id": id, "polysema": __version__, "shared memory": memory}


def _sizes(paths: list[str]) -> tuple[str, dict[str, int | None]]:
    return _node()[0], {path: _size(path) for path in paths}


def _size(path: str) -> int | None:
    """The size of a file, 0 for a folder, None if it does not exist."""
    try:
        return 0 if os.path.isdir(path) else os.stat(path).st_size
    except OSError:
        return None


# ------------------------------------------------------------------------------------------------------ starting Ray


def _store() -> int:
    """Bytes for the object store of Ray on this machine; too small a /dev/shm is an error."""
    if not os.path.isdir(_SHM):
        return MOST_STORE
    free = shutil.disk_usage(_SHM).free
    if free < LEAST_STORE:
        raise InputError(
            f"{_SHM} has {free / 1e6:.0f} MB free and Ray's object store needs {LEAST_STORE / 1e6:.0f} MB: "
            "start the container with --shm-size=1g, or use the engine local"
        )
    return max(LEAST_STORE, min(MOST_STORE, free // 2))


def _check_address(address: str) -> None:
    """Check that something answers there: Ray itself would try for minutes."""
    if address in ("auto", "local"):
        return
    host, _, port = address.rpartition(":")
    if "://" in address or not host or not port.isdigit():
        raise InputError(f"{address!r} is no address of a Ray cluster: HOST:PORT, such as 10.0.0.1:6379, or auto")
    try:
        socket.create_connection((host, int(port)), _PATIENCE).close()
    except (OSError, OverflowError) as error:
        raise InputError(f"nothing answers at {address} ({error}): is the cluster up (ray status)?") from None


@contextmanager
def _own_handlers() -> Iterator[None]:
    """Keep the handlers of signals, which Ray replaces when it starts in the main thread."""
    here = threading.current_thread() is threading.main_thread()
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM) if here}
    try:
        yield
    finally:
        for number, handler in handlers.items():
            if handler is not None:
                signal.signal(number, handler)
