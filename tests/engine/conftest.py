"""A Ray cluster of two nodes on this machine, one processor each; nodes can be killed and come back."""

from __future__ import annotations

import logging
import warnings

import pytest


class Nodes:
    """A running cluster."""

    def __init__(self) -> None:
        from polysema.engine.ray import _ray

        ray = _ray()
        from ray.cluster_utils import Cluster

        quick = {"health_check_initial_delay_ms": 500, "health_check_period_ms": 500, "health_check_timeout_ms": 1000,
                 "health_check_failure_threshold": 3}  # fmt: skip
        self.cluster = Cluster(
            initialize_head=True,
            head_node_args={
                "num_cpus": 1, "object_store_memory": 100 << 20, "include_dashboard": False, "_system_config": quick,
            },
        )  # fmt: skip
        self.address = self.cluster.address
        self.second = self._add()
        ray.init(address=self.address, log_to_driver=False, logging_level=logging.ERROR)

    def _add(self):
        return self.cluster.add_node(num_cpus=1, object_store_memory=100 << 20)

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
    pytest.importorskip("ray", reason="the extra ray is not installed")
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
    from polysema.engine.ray import RayEngine

    return RayEngine(nodes.address)
