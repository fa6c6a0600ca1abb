"""A RocketMQ broker as a pytest fixture; installed with the package (entry point `pytest11`).

    def test_orders(rocketmq_broker):
        rocketmq_broker.create_topic("Orders")  # before consumers start: else they find it up to 50 s later
        client.connect(rocketmq_broker.namesrv_addr)
        rocketmq_broker.wait_consumed("my-group", "Orders")
        assert rocketmq_broker.lost("my-group", "Orders") == []

`@pytest.mark.rocketmq_broker(enablePropertyFilter=True)` gives it settings; see `rmqlab.serve`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rmqlab_tools.live.serve import ServedBroker

MARKER = "rocketmq_broker(**settings): settings of the fixture's broker, as for rmqlab.serve"


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known."""
    config.addinivalue_line("markers", MARKER)


@pytest.fixture
def rocketmq_broker(request: pytest.FixtureRequest) -> Iterator[ServedBroker]:
    """Give a broker and name server of this test's own, in memory, on free ports of the loopback address."""
    from rmqlab_tools.live.serve import serve

    marker = request.node.get_closest_marker("rocketmq_broker")
    with serve(**({} if marker is None else marker.kwargs)) as broker:
        yield broker
