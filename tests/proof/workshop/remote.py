"""A learner's functions, labs and rules as the judge has them: proxies, whose behaviour is asked for over a socket."""

from __future__ import annotations

import builtins
import inspect
import io
import pickle
from typing import TYPE_CHECKING, Any, ClassVar, Final

from rmqlab.errors import BadInput
from rmqlab.lab.lab import Lab
from rmqlab.rules import DEFAULT_RULES
from rmqlab_tools.course.answers import FunctionElsewhere, stopped_elsewhere
from rmqlab_tools.show.link import Link
from tests.proof.workshop.wire import BrokenAnswerError, BrokenConnectionError, decode, message_of, receive, send

if TYPE_CHECKING:
    from collections.abc import Sequence
    from socket import socket

# What a function that is given a lab may do with it: steps and tables, nothing that reaches a file or another object.
LAB_METHODS: Final = {
    "clock", "consumed", "consumer", "cut", "dropped", "events", "fates", "freeze", "heartbeats", "kill",
    "lose_heartbeat", "messages", "offsets", "owners", "pause", "pulls", "reset_offset", "resize", "restart_broker",
    "run", "send", "slow", "start_namesrv", "step", "stop", "stop_namesrv", "subscribe", "subscriptions", "unsubscribe",
}  # fmt: skip
LAB_VALUES: Final = {"now", "seed"}
PARAMETER_KINDS: Final = (
    inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.VAR_POSITIONAL,
    inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_KEYWORD,
)  # fmt: skip
KEPT: Final = 50_000
"""Answers of one function that are kept: the same question is asked once."""


class Learner:
    """The connection to a learner's process, as the judge has it."""

    def __init__(self, connection: socket) -> None:
        """`connection` leads into the sandbox."""
        self.connection = connection
        self.labs: list[Lab] = []
        self.ended: Exception | None = None
        """Why nothing more can come: a check in the middle of a call sees that only as an error."""
        self.kinds = {"function": self._function, "lab": _lab, "rules": self._rules}

    def hear(self) -> dict[str, Any]:
        """The next message; raises `EOFError` where none can come."""
        try:
            return message_of(receive(self.connection))
        except (EOFError, ConnectionError) as problem:
            self.ended = problem
            raise

    def reply(self, **order: object) -> None:
        """Let the process go on."""
        send(self.connection, pickle.dumps(order))

    def value(self, value: object) -> Any:
        """An answer of the process."""
        return decode(value, self.kinds)

    def call(self, number: int, arguments: bytes, real: str) -> dict[str, Any]:
        """What one of its functions answers; meanwhile it may use the labs that it was given."""
        self.reply(call=number, arguments=arguments, real=real)
        while True:
            message = self.hear()
            if "lab" not in message:
                return message
            self.reply(**self._asked(message))

    def pickled(self, arguments: Sequence[Any]) -> bytes:
        """Arguments of a call; a lab stays here, and goes as its number."""
        buffer = io.BytesIO()
        pickler = pickle.Pickler(buffer, protocol=5)
        pickler.persistent_id = self._number_of  # type: ignore[method-assign]
        pickler.dump(list(arguments))
        return buffer.getvalue()

    def _number_of(self, value: Any) -> int | None:
        if not isinstance(value, Lab):
            return None
        number = next((number for number, lab in enumerate(self.labs) if lab is value), None)
        if number is None:
            self.labs.append(value)
            number = len(self.labs) - 1
        return number

    def _asked(self, message: dict[str, Any]) -> dict[str, Any]:
        """What a lab does or tells; a mistake in that is told to the function, as the lab tells it."""
        number, name = message.get("lab"), message.get("name")
        if type(number) is not int or not 0 <= number < len(self.labs) or not isinstance(name, str):
            self.ended = BrokenConnectionError("a lab is asked for that is not there")
            raise self.ended
        lab = self.labs[number]
        if name in LAB_VALUES:
            return {"value": getattr(lab, name)}
        if name == "clients":
            return {"value": dict.fromkeys(lab.clients)}
        if name not in LAB_METHODS or not hasattr(lab, name):
            return {"error": f"lab.{name}: this is not offered while a task is judged; use the steps and tables"}
        if "arguments" not in message:
            return {"method": True}
        try:
            value = getattr(lab, name)(
                *self.value(message["arguments"]), **self.value(message.get("named", ["dict", []]))
            )
        except (BadInput, TypeError) as problem:
            return {"error": str(problem)[:1_000]}
        try:
            pickle.dumps(value)
        except Exception:  # noqa: BLE001 - a client or another object of the lab: it stays here
            value = None
        return {"value": value}

    def _function(self, content: Any) -> RemoteFunction:
        number, parameters = content
        if type(number) is not int:
            raise BrokenAnswerError("a function has no number")
        known = {"learner": self, "number": number, "known": {}}
        if parameters is not None:  # None: a built-in without a signature
            known["__signature__"] = inspect.Signature([_parameter(*described) for described in parameters])
        function: RemoteFunction = type("RemoteFunction", (RemoteFunction,), known)()
        return function

    def _rules(self, content: Any) -> Any:
        return DEFAULT_RULES.replace(**{name: self.value(rule) for name, rule in content.items()})


class RemoteFunction(FunctionElsewhere):
    """A function in a learner's process: called here, run there; it answers with data.

    Each question is asked once: what a function answers depends on nothing but its arguments, or it is no rule. Each
    function is of a class of its own, which holds all that is known of it: the explorer takes what an object holds for
    state of the cluster.
    """

    learner: ClassVar[Learner]
    number: ClassVar[int]
    known: ClassVar[dict[bytes, dict[str, Any]]]

    def __call__(self, *arguments: Any) -> Any:
        """Ask the function; raises what it raised, by a built-in exception's name."""
        own = type(self)
        pickled = own.learner.pickled(arguments)
        pure = not any(isinstance(argument, Lab) for argument in arguments)
        message = own.known.get(pickled) if pure else None
        if message is None:
            message = own.learner.call(own.number, pickled, own.real)
            if pure and len(own.known) < KEPT:
                own.known[pickled] = message
        if "raised" in message:
            raise _raised(message)
        if "value" not in message:
            own.learner.ended = BrokenConnectionError("a function was asked and something else came")
            raise own.learner.ended
        own.changed_its_arguments = own.changed_its_arguments or bool(message.get("changed"))
        own.asks_the_real_rule = own.asks_the_real_rule or bool(message.get("asks"))
        return own.learner.value(message["value"])


def _parameter(name: object, kind: Any, optional: object) -> inspect.Parameter:
    """A parameter of a function, without its default: that may be anything."""
    return inspect.Parameter(str(name), PARAMETER_KINDS[kind], default=None if optional else inspect.Parameter.empty)


def _raised(message: dict[str, Any]) -> Exception:
    """The exception of a learner's function: of the built-in kind that it names, else of none."""
    kind = getattr(builtins, str(message["raised"]), None)
    text, says = str(message.get("text", "")), str(message.get("says", ""))
    known = (
        isinstance(kind, type) and issubclass(kind, Exception) and kind not in {UnicodeDecodeError, UnicodeEncodeError}
    )
    return stopped_elsewhere(kind if known and isinstance(kind, type) else Exception, text, says)


def _lab(content: Any) -> Lab:
    """A lab from its link, at the moment at which it was handed in."""
    text, now = content
    until = decode(now, {})
    if not isinstance(text, str) or not isinstance(until, int | float):
        raise BrokenAnswerError("a lab is no link")
    try:
        link = Link.read(text, "the lab")
        settings: dict[str, Any] = dict(link.settings)
        return Lab.from_scenario(link.scenario, until=until, **settings)
    except BadInput as problem:
        raise BrokenAnswerError(str(problem)) from None
