"""Broken brokers and clients: each has one line of one rule replaced by a wrong one, for the bug hunt.

A mutant lasts as long as its ``with`` block. It changes the code of a function in place, so whoever holds the function
has the wrong rule too; nothing else is touched. The file tells what is wrong, so read it after the hunt.
"""

from __future__ import annotations

import importlib
import inspect
import textwrap
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from rmqlab.errors import BadInput
from rmqlab.lab.articles.eight_messages import CLIENT_IP, EightMessages

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import CodeType, FunctionType

    from rmqlab.lab.run import Run


class Mutant(NamedTuple):
    """A wrong rule: ``right`` becomes ``wrong`` in the function ``where``; it breaks the invariant ``breaks``."""

    name: str
    where: str
    right: str
    wrong: str
    breaks: str


MUTANTS = {
    one.name: one
    for one in (
        Mutant(
            "amber",
            "rmqlab.client.pull_api_wrapper:PullAPIWrapper._filter_again",
            "if message.tags in subscription.tags_set:",
            "if message.tags is not None:",
            "client-checks-its-own-tags",
        ),
        Mutant(
            "basalt",
            "rmqlab.broker.consumer_group_info:ConsumerGroupInfo.update_subscription",
            "elif new.sub_version <= old.sub_version:",
            "elif new.sub_version == old.sub_version:",
            "older-version-is-ignored",
        ),
        Mutant(
            "coral",
            "rmqlab.client.push_consumer:DefaultMQPushConsumer._correct_tags_offset",
            "if request.process_queue.msg_count != 0:",
            "if request.process_queue.msg_count == 0:",
            "offsets-move-past-dropped-messages",
        ),
        Mutant(
            "dune",
            "rmqlab.broker.pull_check:_group_subscription",
            "if subscription.sub_version < header.sub_version:",
            "if subscription.sub_version != header.sub_version:",
            "newer-slot-serves-everybody",
        ),
        Mutant(
            "ember",
            "rmqlab.client.rebalance_impl:RebalanceImpl._allocate",
            "client_ids = list(_in_order(tuple(client_ids)))",
            "client_ids = sorted(client_ids, key=len)",
            "client-ids-decide-ownership",
        ),
        Mutant(
            "flint",
            "rmqlab.store.record_check:_code_in_queue",
            "return string_hash(tags) if tags else 0",
            "return string_hash(tags.lower()) if tags else 0",
            "broker-compares-tag-codes",
        ),
        Mutant(
            "garnet",
            "rmqlab.client.rebalance_push:RebalancePushImpl.message_queue_changed",
            "old, subscription.sub_version = subscription.sub_version, self.instance.runtime.now()",
            "old = subscription.sub_version",
            "queue-change-stamps-anew",
        ),
        Mutant(
            "hazel",
            "rmqlab.broker.consumer_group_info:ConsumerGroupInfo.update_subscription",
            "elif new.sub_version <= old.sub_version:",
            "elif new.sub_version < old.sub_version:",
            "equal-version-keeps-the-slot",
        ),
        Mutant(
            "iris",
            "rmqlab.broker.consumer_group_info:ConsumerGroupInfo.update_subscription",
            "table[new.topic] = new",
            "table[new.topic], updated = new, True",
            "new-tags-notify-nobody",
        ),
        Mutant(
            "jade",
            "rmqlab.store.queue_reader:_Reading.read",
            "result.next_begin_offset = offset + looked_at",
            "result.next_begin_offset = offset + (looked_at if result.messages else 0)",
            "next-offset-passes-dropped-entries",
        ),
    )
}


@contextmanager
def mutated(name: str) -> Iterator[Mutant]:
    """Put the wrong rule of the named mutant in place for the length of the block.

    Raises:
        BadInput: no such mutant; the text names those there are.
    """
    if name not in MUTANTS:
        raise BadInput(f"no broken broker {name!r}; there are: {', '.join(MUTANTS)}")
    mutant = MUTANTS[name]
    function = _function(mutant.where)
    code = function.__code__
    function.__code__ = _wrong_code(function, mutant)
    try:
        yield mutant
    finally:
        function.__code__ = code


def _function(where: str) -> FunctionType:
    module, _, path = where.partition(":")
    found = importlib.import_module(module)
    for part in path.split("."):
        found = getattr(found, part)
    return found  # type: ignore[return-value]


def _wrong_code(function: FunctionType, mutant: Mutant) -> CodeType:
    source = textwrap.dedent(inspect.getsource(function))
    if source.count(mutant.right) != 1:
        raise LookupError(f"{mutant.where} should contain once: {mutant.right}")
    names: dict[str, object] = {}
    text = f"from __future__ import annotations\n{source.replace(mutant.right, mutant.wrong)}"
    exec(compile(text, f"<{mutant.name}>", "exec"), dict(function.__globals__), names)  # noqa: S102 - our own source
    wrong = names[function.__name__]
    return wrong.__code__  # type: ignore[attr-defined, no-any-return]


def hunted(name: str | None = None) -> Run:
    """Run the eight messages on the named broken broker, or on a sound one (None): same starts, same messages.

    B starts a minute after A, and has the lower client id.

    Raises:
        BadInput: no such broken broker.
    """
    experiment = EightMessages(client_ids={"A": f"{CLIENT_IP}@5307", "B": f"{CLIENT_IP}@4902"})
    if name is None:
        return experiment.run()
    with mutated(name):
        return experiment.run()
