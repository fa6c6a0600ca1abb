"""`rmqlab doctor --metrics PORT`: what the last look found, for Prometheus. What is not known has no sample."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from rmqlab.errors import BadInput
from rmqlab.language import _

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from prometheus_client.core import Metric

    from rmqlab_tools.doctor.diagnosis import Diagnosis
    from rmqlab_tools.doctor.doctor import Doctor

Family = TypeVar("Family", GaugeMetricFamily, CounterMetricFamily)
GAUGES = {
    "members": ("rmqlab_group_members", "Members that the brokers list"),
    "raw_lag": ("rmqlab_group_raw_lag", "Messages behind the committed offsets"),
    "filtered_lag": ("rmqlab_group_filtered_lag", "Those of them that the group will be given, as far as read"),
    "flips_per_minute": ("rmqlab_group_slot_flips_per_minute", "Changes of the slot seen, a lower bound"),
    "disagreeing_topics": ("rmqlab_group_disagreeing_topics", "Topics of which members ask for different things"),
    "silent_s": ("rmqlab_group_member_silent_seconds", "How long the most silent member has not answered"),
    "state": ("rmqlab_group_state", "0 healthy, 1 note, 2 unknown, 3 at risk, 4 losing"),
}
"""What is told of each group: the field of its diagnosis, the name of the gauge, and what it is."""


class GroupCollector(Collector):
    """Turns the doctor's last diagnosis into samples, and adds up what was lost since the start."""

    def __init__(self, doctor: Doctor) -> None:
        self._doctor = doctor
        self._lost: dict[str, int] = {}

    def saw(self, diagnosis: Diagnosis) -> None:
        """Count what this look found lost since the one before; a first look's window is not counted."""
        for group in diagnosis.groups:
            if diagnosis.look.since is not None and group.lost is not None:
                self._lost[group.group] = self._lost.get(group.group, 0) + group.lost

    def collect(self) -> Iterator[Metric]:
        """The families of the last look; nothing before the first."""
        diagnosis = self._doctor.diagnosis
        if diagnosis is None:
            return
        for field, (name, text) in GAUGES.items():
            values = {group.group: getattr(group, field) for group in diagnosis.groups}
            yield _with_samples(GaugeMetricFamily(name, text, labels=["group"]), values)
        text = "Messages passed by though a member asks for them"
        yield _with_samples(CounterMetricFamily("rmqlab_group_estimated_losses", text, labels=["group"]), self._lost)
        look = diagnosis.look
        yield GaugeMetricFamily("rmqlab_look_seconds", "How long the last look took", value=look.took_ms / 1000)
        yield GaugeMetricFamily("rmqlab_look_time_seconds", "When it began, Unix time", value=look.at / 1000)
        yield GaugeMetricFamily("rmqlab_look_unanswered", "Questions without an answer", value=len(look.unanswered))
        cost = GaugeMetricFamily("rmqlab_look_requests", "Requests that it cost a server", labels=["server"])
        yield _with_samples(cost, {server: spent.requests for server, spent in look.cost.items()})


def _with_samples(family: Family, values: Mapping[str, float | None]) -> Family:
    """The family with a sample for each value that is known, by its label."""
    for label, value in values.items():
        if value is not None:
            family.add_metric([label], value)
    return family


def serve_metrics(doctor: Doctor, port: int, host: str = "127.0.0.1") -> tuple[GroupCollector, int]:
    """Serve `/metrics` until the process ends, on `host`; port 0 means any free one, and the answer has it.

    Raises:
        BadInput: a port that cannot be had.
    """
    collector, registry = GroupCollector(doctor), CollectorRegistry()
    registry.register(collector)
    try:
        server, _thread = start_http_server(port, addr=host, registry=registry)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise BadInput(
            _("--metrics {port}: {reason}; give a free port from 1 to 65535, or 0 for any", port=port, reason=reason)
        ) from error
    return collector, server.server_port
