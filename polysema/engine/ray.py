"""Tasks on a Ray cluster. Ray is imported here only, when this engine is asked for.

Tasks are Ray's stateless ones, not actors: when a node dies, a task moves to any node that is left, while an actor
would wait for the resources it had. What a worker keeps between tasks it can always make again.
"""

from __future__ import annotations

import logging
import os
import platform
import shutil
import signal
import socket
import threading
import time
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from polysema.engine import Engine, Joint, Merge, Own, Placed, Result, Shared, Task, Value, Work, grouped, tree
from polysema.errors import InputError, OutputError, PolysemaError, needing
from polysema.progress import Progress, Report, silent
from polysema.version import __version__

LEAST_STORE = 80 << 20
MOST_STORE = 2 << 30
"""Bytes of Ray's object store on this machine, where Ray is started here: half of /dev/shm, between these bounds."""

TRIES = 8
"""How often a task is begun again after its worker or its node died."""

_PATIENCE = 5.0  # seconds for an address to answer
_SHM = "/dev/shm"  # noqa: S108 - where Ray keeps its object store
_LOOK = 0.5  # seconds between two looks at what workers say
_SHORT = 1.0  # seconds that tasks have to end by themselves
_PARTING = 20.0  # seconds that tasks have to end, when they are stopped
_LOG = logging.getLogger(__name__)
_KEPT: dict[str, Any] = {}  # in a worker: what the tasks of a map share


def _ray() -> Any:
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"  # nothing is sent anywhere
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    os.environ.setdefault("RAY_raylet_start_wait_time_s", "120")  # a busy machine is not a broken one
    with needing("the engine ray", "ray"):
        import ray
    return ray


@dataclass(slots=True)
class _Sent:
    """Tasks on their way, whose results come together.

    Attributes:
        owns: of each task.
        joints: what is merged of them.
    """

    tasks: list[Any]
    number: int
    owns: list[Any]
    joints: list[Any]
    avoid: list[str] = field(default_factory=list)

    @property
    def references(self) -> list[Any]:
        """All that is waited for."""
        return [*self.owns, *self.joints]


class RayEngine(Engine):
    """Does tasks on a Ray cluster; see :class:`polysema.engine.Engine`.

    Args:
        address: of a cluster; None starts Ray on this machine.
        workers: how many tasks at once; by default as many as the cluster has processors.
    """

    def __init__(self, address: str | None = None, workers: int | None = None) -> None:
        self._ray = ray = _ray()
        self._done: Counter[str] = Counter()
        self._words: Counter[str] = Counter()
        self._begun = time.monotonic()
        self._waiting = 0
        self._opened = not ray.is_initialized()
        if self._opened:
            handlers = _handlers()
            try:
                quiet = {"log_to_driver": False, "logging_level": logging.ERROR, "configure_logging": True}
                if address is None:
                    ray.init(
                        address="local",
                        num_cpus=workers,
                        object_store_memory=_store(),
                        include_dashboard=False,
                        **quiet,
                    )
                else:
                    _check_address(address)
                    ray.init(address=address, **quiet)
            except PolysemaError:
                raise
            except (ConnectionError, RuntimeError, ValueError) as error:
                what = f"no Ray cluster at {address}" if address else "Ray cannot be started on this machine"
                raise InputError(f"{what}: {str(error).splitlines()[0]}") from None
            finally:  # Ray puts its own in their place
                for number, handler in handlers.items():
                    signal.signal(number, handler)
        self.nodes = self._probe()
        processors = int(ray.cluster_resources().get("CPU", 1))
        self.workers = max(1, min(workers or processors, processors))
        self._window = self.workers if self.workers < processors else 2 * self.workers
        store = sum(node["store"] for node in self.nodes)
        _LOG.info(
            f"Ray: {self.workers} workers on {len(self.nodes)} nodes, at most {store / 1e9:.2f} GB of object store"
        )

    # ------------------------------------------------------------------------------------------------------- tasks

    def put(self, value: Value) -> Placed[Value]:
        """Place a value in Ray's object store."""
        return _InStore(self._ray.put(value))

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
        """The results of all tasks in their order, however workers finish or die."""
        for owns, _ in self._done_in_order(work, shared, tasks, None, 1, cores, gpus, progress):
            yield owns[0]

    def merged(
        self,
        work: Work[Shared, Task, tuple[Own, Joint]],
        shared: Placed[Shared],
        tasks: Iterable[Task],
        merge: Merge[Joint],
        *,
        group: int,
        cores: int = 1,
    ) -> Iterator[tuple[list[Own], list[Joint]]]:
        """What is merged goes from worker to worker."""
        return self._done_in_order(work, shared, tasks, merge, group, cores, 0, silent)

    def _done_in_order(
        self, work: Any, shared: Any, tasks: Iterable[Any], merge: Any, group: int, cores: int, gpus: int,
        progress: Report,
    ) -> Iterator[tuple[list[Any], list[Any]]]:  # fmt: skip
        """Groups of results."""
        ray = self._ray
        board = None
        total = 0
        if progress is not silent:
            tasks = list(tasks)
            total = len(tasks)
            here = self._affinity(ray.get_runtime_context().get_node_id())  # another node may die
            board = ray.remote(num_cpus=0, scheduling_strategy=here)(_Board).remote()
        halves = 1 if merge is None else 2
        remote = ray.remote(num_cpus=cores, num_gpus=gpus, max_retries=TRIES, num_returns=halves)(_work)
        join = ray.remote(num_cpus=1, max_retries=TRIES)(_merge)
        common = [work, shared, board, merge is not None]
        sent: deque[_Sent] = deque()

        def submit(some: list[Any], number: int, avoid: list[str]) -> _Sent:
            options: dict[str, Any] = {"name": getattr(work, "__qualname__", "work")}
            if avoid and (others := [node for node in self._alive() if node not in avoid]):
                options["scheduling_strategy"] = self._affinity(others[0], soft=True)
            owns: list[Any] = []
            joints: list[Any] = []
            for task in some:
                if len(owns) >= self._window:
                    ray.wait(owns, num_returns=len(owns) - self._window + 1)
                made = remote.options(**options).remote(*common, task, number + len(owns))
                own, *joint = made if merge is not None else [made]
                owns.append(own)
                joints += joint
            joints = tree(joints, len(joints), lambda values: join.remote(merge, *values))
            return _Sent(some, number, owns, joints, avoid)

        def taken() -> tuple[list[Any], list[Any]]:
            while True:
                item = sent[0]
                self._waiting = sum(len(item.tasks) for item in sent)
                self._await(item, board, progress, total)
                try:
                    owns, joints = ray.get(item.owns), ray.get(item.joints)
                except ray.exceptions.RayTaskError as error:
                    sent[0] = self._again(item, error, submit)
                except ray.exceptions.RayError as error:
                    raise OutputError(f"a task could not be done: {' '.join(str(error).split())[:300]}") from None
                else:
                    sent.popleft()
                    for node, words, _ in owns:
                        self._done[node] += 1
                        self._words[node] += words
                    return [value for *_, value in owns], joints

        try:
            number = 0
            for some in grouped(tasks, group):
                sent.append(submit(some, number, []))
                number += len(some)
                if sum(len(item.tasks) for item in sent) >= self._window:
                    yield taken()
            while sent:
                yield taken()
        finally:
            self._end([reference for item in sent for reference in item.references])
            self._waiting = 0
            if board is not None:
                ray.kill(board)

    def _end(self, left: list[Any]) -> None:
        """Stop tasks that are no longer wanted: they get time to write what they have.

        Short ones are waited for: Ray ends the whole process when it is told to stop a task that is just being done.
        """
        for timeout, force in ((_SHORT, False), (_PARTING, True)):
            left = self._ray.wait(left, num_returns=len(left), timeout=timeout)[1] if left else []
            for reference in left:
                self._ray.cancel(reference, force=force)

    def _await(self, item: _Sent, board: Any, progress: Report, total: int) -> None:
        """Wait until tasks are done; meanwhile tell how far all have come."""
        while self._ray.wait(item.references, num_returns=len(item.references), timeout=_LOOK)[1]:
            if board is not None:
                progress(_joined(self._ray.get(board.look.remote()), total))

    def _again(self, item: _Sent, error: Any, submit: Any) -> _Sent:
        """Send a task that failed for its node's disk to another node; anything else that failed is raised."""
        cause = error.cause if isinstance(error.cause, _Failure) else None
        if cause is None:
            raise error
        if cause.disk and len(item.avoid) < len(self._alive()) - 1:
            _LOG.warning(f"{cause.node}: {cause.error}: the task goes to another node")
            return submit(item.tasks, item.number, [*item.avoid, cause.id])  # type: ignore[no-any-return]
        if isinstance(cause.error, PolysemaError) and not cause.disk:
            raise cause.error from None
        if cause.disk:
            raise OutputError(f"node {cause.node}: {cause.error}") from None
        raise cause.error from error

    # ------------------------------------------------------------------------------------------------------- nodes

    def _alive(self) -> list[str]:
        """The ids of the nodes."""
        return [node["NodeID"] for node in self._ray.nodes() if node["Alive"]]

    @staticmethod
    def _affinity(node: str, soft: bool = False) -> Any:
        """On that node; elsewhere, if it is soft and the node is gone."""
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        return NodeAffinitySchedulingStrategy(node, soft=soft)

    def _ask(self, work: Any, *arguments: Any) -> list[Any]:
        """What a function says on every node."""
        remote = self._ray.remote(num_cpus=0, max_retries=2)(work)
        asked = {}
        for node in self._alive():
            asked[node] = remote.options(scheduling_strategy=self._affinity(node)).remote(*arguments)
        answers = []
        for node, reference in asked.items():
            try:
                answers.append(self._ray.get(reference, timeout=120))
            except self._ray.exceptions.RayTaskError as error:
                what = str(error.cause or error).splitlines()[-1]
                raise InputError(f"a node cannot run polysema: {what}: install it on every node") from None
            except self._ray.exceptions.RayError as error:
                if self._stays(node):  # else it died while it was asked
                    raise InputError(f"a node does not answer: {' '.join(str(error).split())[:200]}") from None
        return answers

    def _stays(self, node: str) -> bool:
        """Whether a node that did not answer is still there when the cluster has had time to notice."""
        end = time.monotonic() + _PATIENCE
        while node in self._alive() and time.monotonic() < end:
            time.sleep(0.1)
        return node in self._alive()

    def _probe(self) -> list[dict[str, Any]]:
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
        """Look from every node whether it sees the same files."""
        wanted = {str(path): _seen(os.fspath(path)) for path in paths if "://" not in str(path)}
        for name, found in self._ask(_looked, list(wanted)):
            for path, size in found.items():
                if size != wanted[path]:
                    what = "cannot see" if size is None else "sees another file as"
                    raise InputError(
                        f"node {name} {what} {path}: put it where all nodes find it (a shared folder or a URL)"
                    )

    def status(self) -> str:
        """The speed of each node, or the tasks done by each where they do not count words; and how many are waiting."""
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


class _Failure(Exception):
    """What went wrong in a worker, and where."""

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


def _work(work: Any, shared: _InStore, board: Any, halves: bool, task: Any, number: int) -> Any:
    """One task, in a worker: where it was done, of how many words, and the result; the second half of it apart."""
    name, id = _node()
    try:
        key = shared.reference.hex()
        if key not in _KEPT:
            _KEPT.clear()
            _KEPT[key] = shared()
        tell = _Teller(board, number, name)
        result = work(_KEPT[key], task, tell)
        return ((name, tell.words, result[0]), result[1]) if halves else (name, tell.words, result)
    except Exception as error:
        raise _Failure(error, name, id) from error


def _merge(merge: Any, *values: Any) -> Any:
    """What becomes of neighbours, in a worker."""
    return merge(list(values))


class _Teller:
    """Notes how many words a task has come through, and tells the board, where there is one, not too often."""

    def __init__(self, board: Any, number: int, node: str) -> None:
        self.board, self.number, self.node = board, number, node
        self.words, self.last = 0, 0.0

    def __call__(self, at: Progress) -> None:
        self.words = at.done if at.unit == "words" else 0
        if self.board is not None and time.monotonic() - self.last >= _LOOK:
            self.last = time.monotonic()
            self.board.tell.remote(self.number, self.node, at)


class _Board:
    """An actor that holds what workers said last."""

    def __init__(self) -> None:
        self.said: dict[int, tuple[str, float, Progress]] = {}

    def tell(self, number: int, node: str, at: Progress) -> None:
        """Note it."""
        self.said[number] = (node, time.monotonic(), at)

    def look(self) -> dict[int, tuple[str, bool, Progress]]:
        """All of it, with whether it is fresh."""
        now = time.monotonic()
        return {number: (node, now - when < 10 * _LOOK, at) for number, (node, when, at) in self.said.items()}


def _joined(said: dict[int, tuple[str, bool, Progress]], total: int) -> Progress:
    """What all workers say as one event: how many of the tasks, at which speed on each node."""
    speeds: Counter[str] = Counter()
    share, unit, begun = 0.0, "words", 0
    for node, fresh, at in said.values():
        share += 1.0 if not fresh else at.done / at.total if at.total else 0.0
        unit, begun = at.unit, begun + 1
        if fresh:
            speeds[node] += at.speed  # type: ignore[assignment]
    detail = ", ".join(f"{node} {speed / 1e6:.2f}" for node, speed in sorted(speeds.items()) if speed)
    return Progress(
        f"{total} runs", int(1000 * share), 1000 * total, unit, float(sum(speeds.values())),
        detail=f"{detail}{'; ' if detail else ''}{total - begun} waiting",
    )  # fmt: skip


def _node() -> tuple[str, str]:
    """This node's name for people, and its id."""
    id = str(_ray().get_runtime_context().get_node_id())
    return f"{socket.gethostname()}/{id[:6]}", id


def _facts() -> dict[str, Any]:
    name, id = _node()
    memory = shutil.disk_usage(_SHM).total if os.path.isdir(_SHM) else 1 << 62
    facts = {"name": name, "id": id, "polysema": __version__, "python": platform.python_version()}
    return {**facts, "shared memory": memory}


def _looked(paths: list[str]) -> tuple[str, dict[str, int | None]]:
    return _node()[0], {path: _seen(path) for path in paths}


def _seen(path: str) -> int | None:
    """The size of a file, 0 of a folder, None of nothing."""
    try:
        return 0 if os.path.isdir(path) else os.stat(path).st_size
    except OSError:
        return None


# --------------------------------------------------------------------------------------------------------- beginning


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
    """Ask whether anything answers there, before Ray tries for minutes."""
    if address in ("auto", "local"):
        return
    host, _, port = address.rpartition(":")
    if "://" in address or not host or not port.isdigit():
        raise InputError(f"{address!r} is no address of a Ray cluster: HOST:PORT, such as 10.0.0.1:6379, or auto")
    try:
        socket.create_connection((host, int(port)), _PATIENCE).close()
    except (OSError, OverflowError) as error:
        raise InputError(f"nothing answers at {address} ({error}): is the cluster up (ray status)?") from None


def _handlers() -> dict[int, Any]:
    """The handlers of signals, where this thread may set them."""
    if threading.current_thread() is not threading.main_thread():
        return {}
    return {
        number: handler
        for number in (signal.SIGINT, signal.SIGTERM)
        if (handler := signal.getsignal(number)) is not None
    }
