"""A Ray cluster of two nodes on this machine, one processor each, which can be killed and come back; texts."""

import gzip
import logging
import lzma
import socket
import warnings
from contextlib import ExitStack

import pytest

import polysema as ps
from polysema.corpus import encoding
from polysema.engine import _ray
from polysema.errors import MissingExtraError
from tests.engine.work import REPLICAS, text
from tests.training.planted import Planted


def _ports() -> dict[str, int]:
    """Free ports for a node's agents: a node that need not ask them for theirs does not wait until they have started."""
    names = ("metrics_agent_port", "metrics_export_port", "dashboard_agent_listen_port", "runtime_env_agent_port")
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in names]
        for taken in sockets:
            taken.bind(("127.0.0.1", 0))
        return {name: taken.getsockname()[1] for name, taken in zip(names, sockets, strict=True)}


class Nodes:
    """A running cluster."""

    def __init__(self) -> None:
        ray = _ray()
        from ray.cluster_utils import Cluster

        quick = {"health_check_initial_delay_ms": 500, "health_check_period_ms": 500, "health_check_timeout_ms": 10_000,
                 "health_check_failure_threshold": 3}  # fmt: skip
        self.cluster = Cluster(
            initialize_head=True,
            head_node_args={
                "num_cpus": 1, "object_store_memory": 100 << 20, "include_dashboard": False, "_system_config": quick,
                "include_log_monitor": False, "no_monitor": True, **_ports(),
            },
        )  # fmt: skip
        self.address = self.cluster.address
        self.second = self._add()
        ray.init(address=self.address, log_to_driver=False, logging_level=logging.ERROR)

    def _add(self):
        return self.cluster.add_node(num_cpus=1, object_store_memory=100 << 20, **_ports())

    def kill(self) -> None:
        """The second node, without a word."""
        self.cluster.remove_node(self.second, allow_graceful=False)
        self.second = None

    def whole(self) -> None:
        """Two nodes again."""
        if self.second is None:
            self.second = self._add()

    def end(self) -> None:
        import ray

        ray.shutdown()
        self.cluster.shutdown()


@pytest.fixture(scope="session")
def cluster():
    try:
        _ray()  # before anything else imports it: it says how long nodes may take to start
    except MissingExtraError:
        pytest.skip("the extra ray is not installed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        running = Nodes()
        yield running
        running.end()


@pytest.fixture
def nodes(cluster):
    cluster.whole()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield cluster


@pytest.fixture
def engine(nodes):
    from polysema.engine import RayEngine

    return RayEngine(nodes.address)


@pytest.fixture
def sources(tmp_path, monkeypatch):
    monkeypatch.setattr(encoding, "PIECE", 1 << 12)
    folder = tmp_path / "texts"
    folder.mkdir()
    (folder / "a.txt").write_bytes(text(1))
    (folder / "b.txt.xz").write_bytes(lzma.compress(text(2)))
    (folder / "c.vert").write_text("<s>\nThe\tDT\tthe\ncats\tNNS\tcat\n</s>\n" * 500)
    (folder / "d.txt").write_bytes("größer als groß.\n".encode("utf-16") * 40)
    (folder / "e.txt.gz").write_bytes(gzip.compress(text(3)))
    return folder


@pytest.fixture(scope="session")
def corpus(tmp_path_factory):
    return ps.build_corpus(Planted(sentences=1500).sentences, tmp_path_factory.mktemp("text") / "planted.corpus")


@pytest.fixture(scope="session")
def alone(corpus):
    """What one process learns with four replicas."""
    return ps.train(corpus, **REPLICAS)
