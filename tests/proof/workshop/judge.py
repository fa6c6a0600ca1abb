"""The judge's process: no code of a learner runs in it. It asks the learner's process, and judges what comes.

On standard input it gets a job: the socket that leads to the learner's process, and the tasks. On standard output it
says a line of JSON for each cell that begins and for each verdict.
"""

from __future__ import annotations

import json
import sys
from socket import socket
from typing import Any

from rmqlab.errors import BadInput
from rmqlab_tools.course.check import CheckFailed, judge
from tests.proof.workshop.remote import Learner
from tests.proof.workshop.wire import BrokenAnswerError, BrokenConnectionError

LONGEST = 2_000


def say(**what: object) -> None:
    """Say one line."""
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


def verdict(learner: Learner, task: str, answer: object) -> dict[str, Any]:
    """What the check of a task says of an answer.

    Raises:
        EOFError: the learner's process ended while it was asked.
    """
    try:
        return {"task": task, "right": True, "says": judge(task, learner.value(answer))}
    except (BrokenAnswerError, BadInput) as problem:
        return {"task": task, "right": False, "says": f"That cannot be judged: {problem}"[:LONGEST]}
    except CheckFailed as failed:
        if learner.ended is not None:
            raise learner.ended from None
        return {"task": task, "right": False, "says": str(failed.hint)[:LONGEST]}


def next_step(learner: Learner, cells: set[str], tasks: set[str]) -> bool:
    """Take the next message, and say what comes of it; whether another one can follow.

    `tasks` loses the one that was answered: there is one answer to each.

    Raises:
        EOFError: the process has ended, or sent what is no message of the course (`BrokenConnectionError`).
    """
    message = learner.hear()
    if message.get("done") is True:
        say(done=True)
        return False
    at, task = message.get("at"), message.get("task")
    if isinstance(at, str) and at in cells:
        say(at=at)
    elif isinstance(task, str) and task in tasks:
        tasks.discard(task)
        if isinstance(error := message.get("error"), str):
            say(task=task, error=error[:LONGEST])
        else:
            say(**verdict(learner, task, message.get("answer")))
    else:
        raise BrokenConnectionError("its process says what the course does not say there")
    learner.reply(go=True)
    return True


def main() -> None:
    """Judge until the learner's process says that it is done, or ends."""
    job = json.loads(sys.stdin.readline())
    learner = Learner(socket(fileno=job["connection"]))
    cells, tasks = set(job["cells"]), set(job["tasks"])
    try:
        while next_step(learner, cells, tasks):
            pass
    except BrokenConnectionError as problem:
        say(broken=str(problem)[:LONGEST])
    except (EOFError, ConnectionError):
        say(ended=True)


if __name__ == "__main__":
    main()
