"""Runs in the cage: the cells of one notebook, in order; each answer goes out as it comes up.

An answer that is plain data (numbers, texts, lists, dicts) is sent as text, and the project judges it outside: nothing
that happens in here can change that verdict. A function, a lab or a set of rules cannot leave, so it is judged in here,
after a look whether the package is still as it was imported.
"""

from __future__ import annotations

import json
import os
import sys
import types
from pathlib import Path
from typing import Any

PLAIN = (str, int, float, bool, bytes, type(None))
LONGEST = 200_000


def main() -> None:
    """Read the job from standard input, run it, write a line of JSON for each answer to the given descriptor."""
    from tests.proof.workshop.cage import Limits, close_in, open_loopback

    job = json.loads(sys.stdin.readline())
    out = os.fdopen(job["out"], "w", encoding="utf-8")
    secret = job["secret"]
    sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: PTH123, SIM115 - for the whole process

    def tell(**what: object) -> None:
        out.write(json.dumps({"secret": secret, **what}) + "\n")
        out.flush()

    os.environ["IPYTHONDIR"] = job["scratch"]
    from IPython.core.interactiveshell import InteractiveShell

    import rmqlab
    from rmqlab.lessons.check import CheckFailed, checks, judge

    for notebook in {cell["task"][:2] for cell in job["cells"] if cell["task"]}:
        checks(notebook)
    shell = InteractiveShell.instance(history_length=0)
    shell.history_manager.enabled = False
    answers: dict[str, object] = {}
    vars(rmqlab)["check"] = lambda name, answer, show="hint": answers.__setitem__(name, answer)  # noqa: ARG005
    before = fingerprint()
    os.chdir(job["folder"])
    if not job["network"]:
        open_loopback()
    close_in(Path(job["scratch"]), Limits(**job["limits"]), writes=job["writes"])
    tell(ready=True)
    for cell in job["cells"]:
        if cell["id"] in job["skip"]:
            continue
        tell(at=cell["id"])
        ran = shell.run_cell(cell["source"])
        error = ran.error_before_exec or ran.error_in_exec
        if not cell["task"] or cell["task"] in job["known"]:
            continue
        if cell["task"] not in answers and error is None:
            named = shell.run_cell(cell["answer"])
            error = named.error_before_exec or named.error_in_exec
            if error is None:
                answers[cell["task"]] = named.result
        if cell["task"] not in answers:
            tell(task=cell["task"], error=f"{type(error).__name__}: {error}"[:300])
            continue
        answer = answers[cell["task"]]
        if is_plain(answer) and len(text := repr(answer)) < LONGEST:
            tell(task=cell["task"], plain=text)
            continue
        changed = differing(before)
        try:
            said, right = judge(cell["task"], answer), True
        except CheckFailed as failed:
            said, right = failed.hint, False
        except Exception as problem:  # noqa: BLE001 - a stranger's function may raise anything
            said, right = f"{type(problem).__name__}: {problem}"[:300], False
        changed = changed or differing(before)
        tell(task=cell["task"], right=right, says=said, changed=changed)
    tell(done=True)


def is_plain(value: Any) -> bool:
    """Whether it is data of the plain kinds through and through, so that its text says all."""
    if type(value) in PLAIN:
        return bool(value == value)  # noqa: PLR0124 - a float that is no number has no text
    if type(value) is dict:
        return all(is_plain(key) and is_plain(one) for key, one in value.items())
    return (type(value) in {list, tuple} or (type(value) is set and bool(value))) and all(map(is_plain, value))


def fingerprint() -> dict[str, int]:
    """The functions and methods of the package, each by the code that it runs."""
    found: dict[str, int] = {}
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == "rmqlab":
            for key, value in list(vars(module).items()):
                found |= {} if key.startswith("__") else _codes(f"{name}.{key}", value)
    return found


def _codes(name: str, value: Any) -> dict[str, int]:
    if isinstance(value, types.FunctionType):
        return {name: id(value.__code__)}
    if type(value) is dict and any(isinstance(one, types.FunctionType) for one in value.values()):
        return {name: hash(tuple(id(getattr(one, "__code__", one)) for one in value.values()))}
    if isinstance(value, type) and value.__module__.startswith("rmqlab"):
        inner = {key: getattr(one, "__func__", one) for key, one in vars(value).items()}
        return {f"{name}.{key}": id(one.__code__) for key, one in inner.items() if isinstance(one, types.FunctionType)}
    return {}


def differing(before: dict[str, int]) -> list[str]:
    """What of the package is another function than it was when it was imported."""
    now = fingerprint()
    return sorted(name for name, code in before.items() if now.get(name) != code and name != "rmqlab.check")[:5]


if __name__ == "__main__":
    main()
