"""The article's experiment with everything that may be varied: two consumers of one group, two tags, eight messages.

The defaults are the article's own values, so that ids, sizes, checksums and times come out as it prints them (rows
S-13..S-30). What the article does not tell was chosen: the minute between the starts, both client ids, and the delays
of two frames (those that give the two times of consumption it prints).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta, timezone
from functools import lru_cache
from itertools import repeat
from typing import TYPE_CHECKING

from rmqlab.broker.broker_config import BrokerConfig
from rmqlab.protocol.codes import RequestCode, ResponseCode
from rmqlab.rules import DEFAULT_RULES, Rules
from rmqlab.run.recorded_events import MessageSent
from rmqlab.scenario.scenario import Alloc, Offsets, OutgoingMessage, Scenario, Send, Start, Step, Subscription
from rmqlab.scenario.schedule import Chooser, FirstQueues, SeededChooser, Timing
from rmqlab.sim.cluster import ClusterConfig
from rmqlab.sim.scenario_steps import ClientSettings
from rmqlab.sim.simulate import Simulation, simulate
from rmqlab_tools.search.explorer.timings import MOVED_SHARE, RACE_TIMING

if TYPE_CHECKING:
    from rmqlab.run.run import Run

ARTICLE_TOPIC = "SUBSCRIBE_TEST"
ARTICLE_GROUP = "SUBSCRIBE_TEST_CONSUMER_GROUP"
PRODUCER_GROUP = "SUBSCRIBE_TEST_PRODUCER_GROUP"
SEND_TIMEOUT_MS = 15_000
CLIENT_IP = "172.16.0.103"
BROKER_IP = "172.16.1.15"
FIRST_BORN_MS = 1_630_810_315_676  # the client's clock at the first send, from the article's first msgId
BORN_AFTER_MS = (0, 104, 218, 237, 290, 381, 412, 585)  # of each message after the first, from the msgIds
ROUTE_MS = 2  # before its first message the producer asks the name server for the route
BROKER_SKEW_MS = 165  # MsgStr5 was stored 166 ms after it was born, and a frame takes 1 ms
BASE_OFFSET = 98_843_386_814
PORT = 62_659

CALM_BEFORE_SENDS_MS = 5_000  # from the last start to the first message: nothing moves any more
FINAL_MS = 25_000  # from the first message to the last look: a hold of 15 s, a check every 5 s, a commit every 5 s

# Microseconds: the usual delay, then those of three frames of the article's run.
USUAL_DELAY_US, SEND_OF_4, ANSWER_WITH_4, ANSWER_WITH_5 = 1_000, 16_000, 86_000, 30_000


@dataclass(frozen=True, slots=True)
class EightMessages:
    """The experiment's settings; `run` runs it.

    `start_order`: who starts first, then who; `gap_ms` lies between the starts. `client_ids`: "ip@pid" of each
    consumer. `tags`: what each one subscribes. `sending_order`: the tags of the messages in order, as a list, or as
    a text in which the letter X stands for tagX. `first_queue`: where the first message goes. `skew_ms`: how far
    each consumer's clock is ahead. `seed`: None for delays that are always the same, a number for those of a real
    machine, drawn from it. `rules`: those of broker and clients.
    """

    start_order: Sequence[str] = ("A", "B")
    gap_ms: int = 60_000
    client_ids: dict[str, str] = field(default_factory=lambda: {"A": f"{CLIENT_IP}@4711", "B": f"{CLIENT_IP}@4902"})
    queues: int = 4
    tags: dict[str, str] = field(default_factory=lambda: {"A": "tagA", "B": "tagB"})
    sending_order: str | Sequence[str] = "AAAABBBB"
    first_queue: int = 2
    skew_ms: dict[str, int] = field(default_factory=dict)
    seed: int | None = None
    rules: Rules = DEFAULT_RULES

    def message_tags(self) -> list[str]:
        """The tag of each message, in sending order."""
        order = self.sending_order
        return [f"tag{letter}" for letter in order] if isinstance(order, str) else list(order)

    def scenario(self) -> Scenario:
        """The scenario, as a line of a scenario file would have it."""
        steps: list[Step] = []
        at = 0
        for number, name in enumerate(self.start_order):
            at = number * self.gap_ms
            steps.append(
                Start(
                    at,
                    who=name,
                    group=ARTICLE_GROUP,
                    subscribe={ARTICLE_TOPIC: Subscription(type="TAG", expr=self.tags[name])},
                )
            )
        at += CALM_BEFORE_SENDS_MS
        steps.append(Alloc(at))
        for number, tag in enumerate(self.message_tags()):
            again, place = divmod(number, len(BORN_AFTER_MS))
            after = again * 2 * BORN_AFTER_MS[-1] + BORN_AFTER_MS[place] + (ROUTE_MS if number else 0)
            steps.append(Send(at + after, topic=ARTICLE_TOPIC, messages=[OutgoingMessage(f"MsgStr{number}", tag)]))
        steps.append(Offsets(max(at + FINAL_MS, steps[-1].at)))
        return Scenario("eight-messages", {ARTICLE_TOPIC: self.queues}, steps)

    def run(self) -> Run:
        """Run the experiment in virtual time."""
        return self.simulation().run()

    def simulation(self) -> Simulation:
        """The experiment before it runs: to step by hand, or to look into the broker afterwards."""
        scenario = self.scenario()
        if self.seed is None:
            timing = Timing((USUAL_DELAY_US, SEND_OF_4, ANSWER_WITH_4, ANSWER_WITH_5))
            times: Chooser = _ArticlesDelays()
        else:
            timing, times = RACE_TIMING, SeededChooser(self.seed, MOVED_SHARE)
        chooser = FirstQueues(times, repeat(self.first_queue))
        first_send_at = next(step.at for step in scenario.steps if isinstance(step, Send))
        cluster = ClusterConfig(
            epoch_ms=FIRST_BORN_MS - ROUTE_MS - _lead_ms() - first_send_at,
            namesrv_address=f"{BROKER_IP}:9876",
            broker=BrokerConfig(broker_name=f"broker-{BROKER_IP}:10911", broker_ip1=BROKER_IP),
            base_offset=BASE_OFFSET,
            broker_skew_ms=BROKER_SKEW_MS,
            rules=self.rules,
        )
        clients = ClientSettings(
            client_ip=CLIENT_IP,
            pid=4630,
            class_loader_hash=0x18B4AAC2,
            skew_ms=self.skew_ms,
            ports={"P": PORT - 1},  # its first connection goes to the name server
            unique_id_ip="172.16.223.214",
            zone=timezone(timedelta(hours=8)),
            client_ids=self.client_ids,
            plain_names=True,
            producer_group=PRODUCER_GROUP,
            send_timeout_ms=SEND_TIMEOUT_MS,
        )
        return Simulation(scenario, chooser=chooser, timing=timing, cluster=cluster, clients=clients)


@lru_cache(maxsize=1)
def _lead_ms() -> int:
    """Ms of a run before its first step: the producer starts and makes the topic."""
    run = simulate(
        Scenario("lead", {ARTICLE_TOPIC: 4}, [Send(0, topic=ARTICLE_TOPIC, messages=[OutgoingMessage("first")])])
    )
    sent = next(run.recorded(MessageSent))
    return int(sent.t) - ROUTE_MS - 2 * USUAL_DELAY_US // 1_000


class _ArticlesDelays(Chooser):
    """All frames take the usual time, but for three with MsgStr4 and MsgStr5: they explain the times printed."""

    _SEND = f"delay P c2s {RequestCode.SEND_MESSAGE_V2:d}"
    _ANSWER = f"delay B s2c {ResponseCode.SUCCESS:d}"

    def __init__(self) -> None:
        super().__init__()
        self._sent = 0
        self._next_answer = 0

    def pick(self, number: int, label: str, n: int) -> int:
        if label == self._SEND:
            self._sent += 1
            self._next_answer = {5: 2, 6: 3}.get(self._sent, 0)
            return 1 if self._sent == 5 else 0
        if label == self._ANSWER and self._next_answer:
            option, self._next_answer = self._next_answer, 0
            return option
        return super().pick(number, label, n)
