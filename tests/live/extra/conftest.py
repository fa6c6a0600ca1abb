"""A broker under test: see `tests.broker.broker_bench`."""

from tests.broker.broker_bench import bench, bodies, make_bench

__all__ = ["bench", "bodies", "make_bench"]
