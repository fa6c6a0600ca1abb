"""What can be done in a `Lab`: consumers and messages, and everything that can break."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from rmqlab.errors import BadInput
from rmqlab.lab.step_arguments import (
    is_several,
    next_step,
    property_texts,
    queue_lists,
    refuse_condition,
    require_expressions,
    require_possible,
    what_is_meant,
)
from rmqlab.language import _, joined
from rmqlab.run.recorded_events import StartFailed, StepFailed
from rmqlab.run.records import MessageRecord, from_zero
from rmqlab.run.results import LabTables
from rmqlab.scenario.life_steps import Assign, Unsubscribe
from rmqlab.scenario.scenario import (
    Start,
    Stop,
    Subscribe,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rmqlab.lab.interactive import InteractiveSimulation
    from rmqlab.scenario.scenario import Kind
    from rmqlab.sim.consumers import Client

_OF_LISTENERS = ("mode", "strategy", "consume_from", "orderly", "post_subscription")
_OF_RECEIVES = ("batch", "invisible")
NOT_OF_KIND = {
    "push": _OF_RECEIVES,
    "lite": (*_OF_LISTENERS, "later_times", *_OF_RECEIVES),
    "pop": ("mode", "orderly", "post_subscription", *_OF_RECEIVES, "via"),
    "grpc": (*_OF_LISTENERS, *_OF_RECEIVES, "via"),
    "simple": (*_OF_LISTENERS, "via"),
}
"""Options of `LabSteps.consumer` that a consumer of a kind has not."""
_BEATS_ON = _("its heartbeats go on, as with 4.8.0; lab.kill({who}) ends them")


class LabSteps(LabTables):
    """The steps of a `Lab`. Each is done now, and stands in the scenario that the lab makes."""

    _simulation: InteractiveSimulation

    def _running(self) -> InteractiveSimulation:
        raise NotImplementedError

    @property
    def clients(self) -> dict[str, Client]:
        """The consumers that run, by the names they were started under: the clients themselves."""
        return {name: consumer.client for name, consumer in self._simulation.consumers.items()}

    def consumer(
        self,
        who: str,
        *,
        group: str,
        subscribe: Mapping[str, str] | None = None,
        sql92: Mapping[str, str] | None = None,
        kind: Kind = "push",
        mode: Literal["clustering", "broadcasting"] = "clustering",
        strategy: Literal["avg", "circle", "hash"] = "avg",
        consume_from: Literal["last", "first"] = "last",
        orderly: bool = False,
        post_subscription: bool = False,
        later_times: int = 0,
        assign: Mapping[str, Iterable[int]] | None = None,
        batch: int = 32,
        invisible: int = 15,
        via: Literal["broker", "proxy"] = "broker",
    ) -> Client:
        """Start a consumer of `group` and return the client itself.

        `subscribe` maps topics to tag expressions ("tagA", "a || b", "*"), `sql92` topics to conditions. `strategy`
        names how queues are shared out; `later_times`: the listener refuses each message that often before it takes it.
        A consumer of kind "lite" is clustering, has no listener, and takes none of the options after `kind` but
        `assign`: queues by topic that it reads in place of a subscription, as `Lab.assign` has it.

        Of 5.x there are three kinds more, whose every request carries the consumer's own expression: "pop" is a push
        consumer to which the broker gives queues to pop, "grpc" a PushConsumer of a proxy, "simple" a
        SimpleConsumer there, which asks for `batch` messages, to be invisible to others for `invisible` seconds. A
        push or lite pull consumer may speak to the remoting side of a proxy as well: `via="proxy"`.

        >>> from rmqlab import Lab
        >>> Lab(topics={"T": 1}).consumer("A", group="G", subscribe={"T": "*"})
        <DefaultMQPushConsumer A of group G: T TAG *; owns nothing>

        Raises:
            BadInput: the name is taken, a topic is unknown, an expression is of the other kind, or an option is not for
                this kind of consumer.
        """
        options = {
            "mode": mode != "clustering", "strategy": strategy != "avg", "consume_from": consume_from != "last",
            "orderly": orderly, "post_subscription": post_subscription, "later_times": later_times,
            "batch": batch != 32, "invisible": invisible != 15, "via": via != "broker",
        }  # fmt: skip
        too_much = [name for name in NOT_OF_KIND.get(kind, ()) if options[name]]
        if too_much:
            kind_name, given_too = repr(kind), joined(", ", too_much)
            raise BadInput(
                _(
                    "{who}: kind is {kind_name}, which takes no {given_too}",
                    who=who,
                    kind_name=kind_name,
                    given_too=given_too,
                )
            )
        subscriptions: dict[str, dict[str, str]] = {}
        for kind_of_expression, given in (("TAG", subscribe), ("SQL92", sql92)):
            wanted = {} if given is None else given
            require_expressions(who, wanted, kind_of_expression)
            for topic, expression in wanted.items():
                if topic in subscriptions:
                    raise BadInput(
                        _(
                            "{who} asks twice for {topic}: by a tag and by SQL92; a consumer has one of the two",
                            who=who,
                            topic=f"{topic!r}",
                        )
                    )
                if kind_of_expression == "TAG":
                    refuse_condition(topic, expression)
                subscriptions[topic] = {"type": kind_of_expression, "expr": expression}
        from rmqlab.plugins import warn

        warn((f"{who}, {topic}:", wish["type"], wish["expr"]) for topic, wish in subscriptions.items())
        extra = {
            "kind": kind, "mode": mode, "strategy": strategy, "from": consume_from, "orderly": orderly,
            "post": post_subscription, "laterTimes": later_times,
            "batch": batch, "invisible": invisible, "via": via,
            "assign": None if assign is None else queue_lists(f"{who}: assign", assign),
        }  # fmt: skip
        self._do("start", who=who, group=group, subscribe=subscriptions, **extra)
        return self.clients[who]

    def subscribe(self, who: str, topic: str, expression: str | None = None, *, sql92: str | None = None) -> None:
        """Let a running consumer subscribe `topic` anew, by a tag expression or by `sql92`."""
        if (expression is None) == (sql92 is None):
            raise BadInput(_("subscribe: give a tag expression or sql92='...', one of the two"))
        require_expressions(
            who, {topic: sql92 if expression is None else expression}, "TAG" if sql92 is None else "SQL92"
        )
        if expression is not None:
            refuse_condition(topic, expression)
        from rmqlab.plugins import warn

        warn([(f"{who}, {topic}:", *(("SQL92", sql92) if expression is None else ("TAG", expression)))], refused=True)
        if expression is not None:
            self._do("subscribe", who=who, topic=topic, expr=expression)
        else:
            self._do("subscribe", who=who, topic=topic, expr=sql92, type="SQL92")

    def unsubscribe(self, who: str, topic: str) -> None:
        """Let a running consumer end its subscription of `topic`, as its client's `unsubscribe` does.

        No member is notified at once. Its next heartbeat lacks the topic, and the broker takes that from the group's
        one table for ALL members: until another one beats, their pulls are refused. And queues are still shared out
        among all members, so that those of the one that unsubscribed have no owner. Source: 4.8.0
        `DefaultMQPushConsumerImpl.unsubscribe`, `ConsumerGroupInfo.updateSubscription`.

        >>> from rmqlab import Lab
        >>> lab = Lab(topics={"T": 4})
        >>> a = lab.consumer("A", group="G", subscribe={"T": "*"})
        >>> b = lab.consumer("B", group="G", subscribe={"T": "*"})
        >>> lab.run(seconds=30)
        >>> lab.unsubscribe("A", "T")
        >>> lab.run(seconds=30)
        >>> a
        <DefaultMQPushConsumer A of group G: nothing; owns nothing>
        >>> sent = lab.send("T", ["x"] * 4)
        >>> lab.run(seconds=30)
        >>> [str(fate.fate) for fate in lab.fates()].count("no_owner")
        2

        Raises:
            BadInput: it does not run, or does not subscribe the topic.
        """
        self._do("unsubscribe", who=who, topic=topic)

    def assign(self, who: str, queues: Mapping[str, Iterable[int]]) -> None:
        """Let a lite pull consumer read these queues, by topic, and no others: it shares them with no member.

        It has no subscription: with 4.8.0 it takes every message whatever the others of its group ask for. Its
        heartbeats name no topic, so they take all topics from the group's table, and they make it a member, so queues
        that the others share out fall to it as well, whether it reads them or not. From 4.9.8 on
        `setSubExpressionForAssign` filters: `Rules.assigned_expression`.
        Source: 4.8.0 `DefaultLitePullConsumerImpl.assign`.

        >>> from rmqlab import Lab
        >>> lab = Lab(topics={"T": 2})
        >>> a = lab.consumer("A", group="G", kind="lite")
        >>> lab.assign("A", {"T": [0]})
        >>> lab.run(seconds=5)
        >>> sent = lab.send("T", ["tagA", "tagB"], queues=0)
        >>> lab.run(seconds=5)
        >>> [row.tag for row in lab.consumed()]
        ['tagA', 'tagB']

        Raises:
            BadInput: it does not run, is no lite pull consumer or subscribes; or there is no such queue.
        """
        self._do("assign", who=who, queues=queue_lists("assign", queues))

    def delete_topic(self, topic: str) -> None:
        """Delete a topic at the broker and the name server, as mqadmin's deleteTopic does.

        Consumers are not notified: they keep the route and their queues. A pull that is held learns it when its time is
        over, others at once (TOPIC_NOT_EXIST), each second. The messages of the topic cannot be read any more, and its
        offsets stay: when the topic is made again (`resize`, or a send where autoCreateTopicEnable is on) its queues
        begin at 0, so that what comes before the old offset is skipped, or all is consumed again.
        Source: 4.8.0 `AdminBrokerProcessor.deleteTopic`, `DefaultMessageStore.cleanUnusedTopic`.

        Raises:
            BadInput: there is no such topic, or it was deleted before.
        """
        self._do("deleteTopic", topic=topic)

    def create_group(self, group: str) -> None:
        """Make a group as mqadmin's updateSubGroup does; needed where autoCreateSubscriptionGroup is off."""
        self._do("createGroup", group=group)

    def delete_group(self, group: str) -> None:
        """Delete a group, its retry and its dead letter topic, as mqadmin's deleteSubGroup does.

        Members and their subscriptions stay. With autoCreateSubscriptionGroup (the default) the next pull or heartbeat
        makes the group anew; without it pulls are refused (SUBSCRIPTION_GROUP_NOT_EXIST), each second. Offsets stay in
        `consumerOffset.json`: a new group of that name goes on there.
        Source: 4.8.0 `AdminBrokerProcessor.deleteSubscriptionGroup`.

        >>> from rmqlab import Lab
        >>> lab = Lab(topics={"T": 1})
        >>> a = lab.consumer("A", group="G", subscribe={"T": "*"})
        >>> lab.run(seconds=5)
        >>> sent = lab.send("T", ["x"])
        >>> lab.run(seconds=10)
        >>> lab.stop("A")
        >>> lab.delete_group("G")
        >>> lab.broker.consumer_offset_manager.offset_table["T@G"]
        {0: 1}

        Raises:
            BadInput: no step has started a member of the group, or made it.
        """
        self._do("deleteGroup", group=group)

    def stop(self, who: str) -> None:
        """Shut a consumer down in good order."""
        self._do("stop", who=who)

    def send(
        self,
        topic: str,
        tags: str | Iterable[str | None] | None = None,
        *,
        bodies: Iterable[str] | None = None,
        properties: Mapping[str, str] | Iterable[Mapping[str, str] | None] | None = None,
        queues: int | Iterable[int | None] | None = None,
        keys: str | Iterable[str | None] | None = None,
    ) -> list[MessageRecord]:
        """Send messages one after another, and return where they went.

        One message for each of `tags` (None: no tag), `bodies` or `properties`, whichever is a list; a single value
        is for all of them. Bodies are MsgStr0, MsgStr1, ... unless given. Without `queues` the producer goes round.
        A send that fails on its way is the last one: the answer is shorter then, and `events()` says why.

        >>> from rmqlab import Lab
        >>> [(row.body, row.queue) for row in Lab(topics={"T": 2}).send("T", ["a", "b"], queues=1)]
        [('MsgStr0', 1), ('MsgStr1', 1)]

        Raises:
            BadInput: lists of different lengths, an unknown topic or queue, a property that is no text or that only
                RocketMQ itself sets, a body that is empty or above 4 MiB; then none of them is sent.
        """
        columns: dict[str, Any] = {"tag": tags, "body": bodies, "props": properties, "queue": queues, "keys": keys}
        lists = {
            name: list(values.tolist() if hasattr(values, "tolist") else values)
            for name, values in columns.items()
            if values is not None and is_several(values)
        }
        lengths = {len(values) for values in lists.values()} or {1}
        if len(lengths) > 1:
            differing = joined(
                ", ", (_("{values} for {name}", values=len(values), name=name) for name, values in lists.items())
            )
            raise BadInput(_("send: the lists have different lengths: {told}", told=differing))
        count, first = lengths.pop(), len(self._simulation.recorder.sent)
        rows = []
        for number in range(count):
            row = {name: lists[name][number] if name in lists else value for name, value in columns.items()}
            if row["body"] is None:
                row["body"] = f"MsgStr{first + number}"
            row["props"] = property_texts(row["props"])
            rows.append({name: value for name, value in row.items() if value is not None})
        self._do("send", topic=topic, messages=rows)
        recorder = self._simulation.recorder
        sent = enumerate(zip(recorder.sent[first:], recorder.results[first:], strict=True), first)
        rows_sent = (
            MessageRecord(
                n, round(message.t), message.topic, message.queue, message.offset, message.body, message.tag,
                message.message_id, str(result.offset_msg_id),
            )
            for n, (message, result) in sent
        )  # fmt: skip
        return list(from_zero(rows_sent, self._simulation.zero))

    def resize(self, topic: str, queues: int) -> None:
        """Give a topic more queues, as mqadmin's updateTopic does; one that was deleted is made again."""
        self._do("resize", topic=topic, queues=queues)

    def reset_offset(self, group: str, topic: str, to: int = -1, *, direct: bool = False) -> None:
        """Let a group go on at the time `to` (ms, the clock of `now`; -1: the end), as mqadmin's resetOffsetByTime."""
        self._do("resetOffset", group=group, topic=topic, to=to, direct=direct)

    # Faults: what each one does stands in the class of its step, in rmqlab.scenario.fault_steps.

    def cut(self, who: str) -> None:
        """Reset `who`'s connection to the broker; both sides learn of it."""
        self._do("cut", who=who)

    def freeze(self, who: str, ms: int | None = None) -> None:
        """Swallow every frame of `who`'s connection, and notify no side; with `ms` hold them so long instead."""
        self._do("freeze", who=who, forMs=ms)

    def kill(self, who: str, *, silent: bool = False) -> None:
        """End `who`'s process without a goodbye; `silent`: its connections do not even close."""
        self._do("kill", who=who, silent=silent)

    def pause(self, who: str, ms: int) -> None:
        """Stop `who` (or "broker") for `ms`, as a long garbage collection does."""
        self._do("pause", who=who, forMs=ms)

    def slow(self, who: str, ms: int, for_ms: int | None = None) -> None:
        """Every frame of `who`'s links takes `ms` more."""
        self._do("slow", who=who, ms=ms, forMs=for_ms)

    def clock(self, who: str, by_ms: int) -> None:
        """Move the clock of `who` (or "broker") by `by_ms`; timers do not notice."""
        self._do("clock", who=who, byMs=by_ms)

    def lose_heartbeat(self, who: str, times: int = 1) -> None:
        """The next heartbeats of `who` never arrive."""
        self._do("loseHeartbeat", who=who, times=times)

    def restart_broker(self, down_ms: int, *, crash: bool = False) -> None:
        """Stop the broker for `down_ms`; with `crash` the offsets that were not written yet are gone."""
        self._do("restartBroker", downMs=down_ms, crash=crash)

    def stop_namesrv(self) -> None:
        """Stop the name server."""
        self._do("namesrvDown")

    def start_namesrv(self) -> None:
        """Start the name server again; it knows nothing until the broker registers."""
        self._do("namesrvUp")

    def _do(self, kind: str, /, **fields: Any) -> None:
        simulation = self._running()
        rules = simulation.cluster.config.rules
        step = next_step(simulation.scenario, {"do": kind, "at": simulation.next_at, **fields}, rules)
        require_possible(step)
        if isinstance(step, Stop | Subscribe | Unsubscribe | Assign) and step.who not in simulation.consumers:
            raise BadInput(
                _(
                    "{kind}: {who} did not start; {beats}",
                    kind=kind,
                    who=step.who,
                    beats=_BEATS_ON.format(who=repr(step.who)),
                )
            )
        facts = simulation.cluster.facts
        before = len(facts)
        simulation.do(step)
        for fact in facts[before:]:
            match fact.event:
                case StartFailed(who=client, error=error, message=message):
                    meant = what_is_meant(step) if isinstance(step, Start) else ""
                    failure = f"{kind} {client}: {error}: {message}{meant}"
                    raise BadInput(joined("; ", (failure, _BEATS_ON.format(who=repr(client)))))
                case StepFailed(error=error, message=message) if kind != "send":
                    meant = what_is_meant(step) if isinstance(step, Subscribe) else ""
                    raise BadInput(f"{kind}: {error}: {message}{meant}")
