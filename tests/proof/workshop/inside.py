"""Runs in the sandbox: the cells of one notebook, in order. Nothing is judged here.

Each answer goes to the judge, which is another process: data as data, a function as a handle that the judge calls, a
lab as its link. While it judges, this process answers its calls. A learner's code can change all of this process. That
can only make its own answers wrong.
"""

from __future__ import annotations

import inspect
import json
import os
import pickle
import sys
import traceback
from dataclasses import fields
from socket import socket
from typing import Any, Final

from tests.proof.workshop.wire import encode, receive, send

REFUSED: Final = "this is not offered while a task is judged; use the steps and tables of the lab"
SHOWN: Final = 300


class Answers:
    """The learner's side of the connection: what was answered, and the functions that the judge may call."""

    def __init__(self, connection: socket) -> None:
        """`connection` leads to the judge."""
        self.connection = connection
        self.functions: list[Any] = []

    def say(self, **message: object) -> None:
        """Send one message."""
        send(self.connection, json.dumps(message, separators=(",", ":")).encode("utf-8", "backslashreplace"))

    def ask(self, **message: object) -> Any:
        """Send one message, and answer the judge's calls until it has what was asked for."""
        self.say(**message)
        while True:
            order: dict[str, Any] = pickle.loads(receive(self.connection))  # noqa: S301
            if "call" not in order:
                return order
            self.say(**self.called(order["call"], order["arguments"], order["real"]))

    def value(self, value: Any) -> Any:
        """An answer, or what a function gave, as JSON."""
        return encode(_rows(value), self.handle)

    def handle(self, value: Any) -> list[Any] | None:
        """What stands for a function, a lab or a set of rules."""
        import rmqlab
        from rmqlab.rules import DEFAULT_RULES, Rules

        if isinstance(value, rmqlab.Lab):
            try:
                return ["lab", [value.link(), self.value(value.now)]]
            except rmqlab.BadInput as problem:
                return ["unknown", f"a lab that has no link: {problem}"[:100]]
        if isinstance(value, Rules):
            values = {field.name: getattr(value, field.name) for field in fields(Rules)}
            own = {name: rule for name, rule in values.items() if rule is not getattr(DEFAULT_RULES, name)}
            return ["rules", {name: self.value(rule) for name, rule in own.items()}]
        if not callable(value):
            return None
        self.functions.append(value)
        try:
            parameters = [
                [parameter.name, int(parameter.kind), parameter.default is not parameter.empty]
                for parameter in inspect.signature(value).parameters.values()
            ]
        except (TypeError, ValueError):
            parameters = None  # a built-in
        return ["function", [len(self.functions) - 1, parameters]]

    def called(self, number: int, arguments: bytes, real: str) -> dict[str, Any]:
        """What a function of the learner's answers, or how it stops; and whether it changed what it was given.

        `real` names the rule of 4.8.0 that the function stands for: asking that one is told.
        """
        from rmqlab.rules import DEFAULT_RULES

        function, asks = self.functions[number], list[bool]()
        code = getattr(getattr(DEFAULT_RULES, real, None), "__code__", None)
        given, same = self.loaded(arguments), self.loaded(arguments)
        if code is not None:
            sys.setprofile(lambda frame, *_: asks.append(True) if frame.f_code is code else None)
        try:
            value = self.value(function(*given))
        except Exception as error:  # noqa: BLE001 - whatever a learner's code raises
            sys.setprofile(None)
            return {
                "raised": type(error).__name__,
                "text": str(error)[:SHOWN],
                "says": sentence(error, function)[:SHOWN],
            }
        finally:
            sys.setprofile(None)
        return {"value": value, "changed": _differ(given, same), "asks": bool(asks)}

    def loaded(self, arguments: bytes) -> list[Any]:
        """The arguments of a call; a lab is one that the judge holds."""
        import io

        unpickler = pickle.Unpickler(io.BytesIO(arguments))  # noqa: S301
        unpickler.persistent_load = lambda number: LabOfJudge(self, number)  # type: ignore[method-assign]
        loaded: list[Any] = unpickler.load()
        return loaded


class LabOfJudge:
    """A lab that lies in the judge's process: its steps and tables, each asked over the connection."""

    def __init__(self, answers: Answers, number: int) -> None:
        """`number` is the judge's name for it."""
        vars(self).update(_answers=answers, _number=number)

    def __getattr__(self, name: str) -> Any:
        """A method or a value of the lab."""
        answers, number = self._answers, self._number
        if name.startswith("_"):
            raise AttributeError(name)
        reply = answers.ask(lab=number, name=name)
        if not reply.get("method"):
            return _result(reply)

        def method(*arguments: Any, **named: Any) -> Any:
            return _result(
                answers.ask(lab=number, name=name, arguments=answers.value(arguments), named=answers.value(named))
            )

        return method


def _result(reply: dict[str, Any]) -> Any:
    if "error" in reply:
        import rmqlab

        raise rmqlab.BadInput(reply["error"])
    return reply["value"]


def _rows(value: Any) -> Any:
    """A frame of Spark or pandas as its rows."""
    if hasattr(value, "toPandas"):
        value = value.toPandas()
    return value.to_dict("records") if hasattr(value, "to_dict") and hasattr(value, "columns") else value


def _differ(given: list[Any], same: list[Any]) -> bool:
    """Whether a function changed its arguments; a lab is there to be changed."""
    return any(left != right for left, right in zip(given, same, strict=True) if not isinstance(left, LabOfJudge))


def sentence(error: BaseException, function: Any) -> str:
    """Where a learner's function stopped, as the lesson says it."""
    from rmqlab_tools.course.answers import in_a_sentence

    return in_a_sentence(error, function)


def main() -> None:
    """Read the job from standard input, run the cells, hand each answer over."""
    job = json.loads(sys.stdin.readline())
    sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: PTH123, SIM115 - for the whole process
    answers = Answers(socket(fileno=job["connection"]))
    from IPython.core.interactiveshell import InteractiveShell

    import rmqlab

    shell = InteractiveShell.instance(history_length=0)
    shell.history_manager.enabled = False
    given: dict[str, object] = {}
    vars(rmqlab)["check"] = lambda name, answer, show="hint": given.__setitem__(name, answer)  # noqa: ARG005
    os.chdir(job["folder"])
    for cell in job["cells"]:
        answers.ask(at=cell["id"])
        ran = shell.run_cell(cell["source"])
        error = ran.error_before_exec or ran.error_in_exec
        if not cell["task"] or cell["known"]:
            continue
        if cell["task"] not in given and error is None:
            named = shell.run_cell(cell["answer"])
            error = named.error_before_exec or named.error_in_exec
            if error is None:
                given[cell["task"]] = named.result
        if cell["task"] not in given:
            answers.ask(task=cell["task"], error="".join(traceback.format_exception_only(error)).strip()[:SHOWN])
            continue
        try:
            value = answers.value(given[cell["task"]])
        except Exception as problem:  # noqa: BLE001 - an answer of a learner's own kind may raise when it is looked at
            answers.ask(
                task=cell["task"], error=f"the answer cannot be read: {type(problem).__name__}: {problem}"[:SHOWN]
            )
            continue
        answers.ask(task=cell["task"], answer=value)
    answers.say(done=True)


if __name__ == "__main__":
    main()
