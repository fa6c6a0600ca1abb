"""`rmqlab.mine()`: the learner's own rules as `Rules`, with a table of whose each rule is, and who judged it."""

from __future__ import annotations

import dataclasses
import difflib
import inspect
import linecache
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any

from rmqlab.errors import BadInput
from rmqlab.files import is_file, read_text
from rmqlab.language import _, joined, ngettext
from rmqlab.rules import DEFAULT_VERSION, RULES, Rules
from rmqlab_tools.course.my_rules import FILE, LADDER, STEPS, Part, parts_of, place
from rmqlab_tools.course.rule_judge import first_difference
from rmqlab_tools.show.tables import Table

if TYPE_CHECKING:
    from collections.abc import Mapping

_NEAR = 0.8  # of two names: a slip of the pen


class MyRules(Rules):
    """`Rules`, shown as a table of whose each rule is."""

    __slots__ = ("standing",)
    standing: Table

    def __repr__(self) -> str:
        """The table; of rules that were replaced once more, what `Rules` says."""
        table = getattr(self, "standing", None)
        return repr(table) if table is not None else super().__repr__()

    def _repr_html_(self) -> str | None:
        table = getattr(self, "standing", None)
        return table.html() if table is not None else None

    def __eq__(self, other: object) -> bool:
        """Whether the rules are the same, of whichever class."""
        if not isinstance(other, Rules):
            return NotImplemented
        names = [field.name for field in dataclasses.fields(Rules)]
        return all(getattr(self, name) == getattr(other, name) for name in names)

    __hash__ = Rules.__hash__


def mine(
    file: str | Path | None = None, *, otherwise: str | Path | None = None, version: str = DEFAULT_VERSION
) -> MyRules:
    """Your own rules, for `Lab(rules=...)`: what stands in your `my_rules.py`, and the rest from `version`.

    It is shown as a table: which rules are yours, whether a task found them right, where they differ from `version`,
    and which rungs are still missing. In your copy of the lessons the file lies beside the tasks; `file` names another
    one, `otherwise` the one to read where you have none.

    >>> import rmqlab
    >>> rmqlab.mine(rmqlab.data("tasks/my_rules.py")).client_keeps(rmqlab.tags("tagA"), "tagB")
    False

    Raises:
        BadInput: the file cannot be read, or a rule in it is none; the text names file and line.
    """
    base = RULES[version]
    path = Path(file) if file is not None else place()
    if file is not None and not is_file(Path(file)):
        raise BadInput(_("{path}: there is no such file; rmqlab.mine() reads your own {file}", path=file, file=FILE))
    if path is None or not is_file(path):
        path = Path(otherwise) if otherwise is not None else None
    if path is None:
        return _standing(
            base, {}, {}, _("You have no {file} yet: all rules are those of {version}", file=FILE, version=version)
        )
    text = read_text(path, _("a file of rules"))
    made = _run(path, text)
    rules = {}
    for field in dataclasses.fields(Rules):
        if field.name in made and field.name not in {"version", "wire"}:
            rules[field.name] = _checked(path, text, field.name, made[field.name], base)
    title = ngettext(
        "{file}: {count} rule is yours, the others are those of {version}",
        "{file}: {count} rules are yours, the others are those of {version}",
        len(rules),
        file=path.name,
        version=version,
    )
    parts = {part.field: part for part in parts_of(text)}
    return _standing(base, rules, parts, title, _slips(made, rules))


def _run(path: Path, text: str) -> dict[str, Any]:
    """The names that the file makes."""
    linecache.checkcache(str(path))
    made: dict[str, Any] = {"__name__": Path(FILE).stem, "__file__": str(path)}
    try:
        exec(compile(text, str(path), "exec"), made)  # noqa: S102 - the learner's own file
    except SyntaxError as error:
        raise BadInput(
            _(
                "{path}, line {line}: this is no Python ({why}); mend that line",
                path=path.name,
                line=error.lineno,
                why=error.msg,
            )
        ) from None
    except Exception as error:  # noqa: BLE001 - whatever the file does
        raise BadInput(
            _(
                "{path}, line {line}: it stops with {kind}: {why}; mend that line",
                path=path.name,
                line=_line_of(error, str(path)),
                kind=type(error).__name__,
                why=str(error),
            )
        ) from None
    except SystemExit:
        raise BadInput(_("{path} ends Python; it is to hold rules only", path=path.name)) from None
    return made


def _line_of(error: BaseException, path: str) -> int:
    frame, line = error.__traceback__, 1
    while frame is not None:
        if frame.tb_frame.f_code.co_filename == path:
            line = frame.tb_lineno
        frame = frame.tb_next
    return line


def _checked(path: Path, text: str, name: str, rule: Any, base: Rules) -> Any:
    """The rule, if it can stand where the one of `base` stands."""
    usual = getattr(base, name)
    line = next(
        (number for number, line in enumerate(text.splitlines(), 1) if name in line and not line.startswith("#")), 1
    )
    try:
        base.replace(**{name: rule})
        if callable(usual):
            names = list(inspect.signature(usual).parameters)
            inspect.signature(rule).bind(*names)
    except BadInput as error:
        raise BadInput(_("{path}, line {line}: {why}", path=path.name, line=line, why=str(error))) from None
    except TypeError:
        raise BadInput(
            _(
                "{path}, line {line}: {name} takes other arguments; right are {names}",
                path=path.name,
                line=rule.__code__.co_firstlineno if isinstance(rule, FunctionType) else line,
                name=name,
                names=joined(", ", names),
            )
        ) from None
    except ValueError:
        pass  # a built-in without a signature: its first call will tell
    return rule


def _slips(made: Mapping[str, Any], rules: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Functions of the file whose name is nearly that of a rule which it does not have."""
    names = [field.name for field in dataclasses.fields(Rules) if field.name not in rules]
    functions = [name for name, value in made.items() if isinstance(value, FunctionType) and name not in rules]
    near = ((name, difflib.get_close_matches(name, names, 1, _NEAR)) for name in functions)
    return [(name, close[0]) for name, close in near if close]


def _standing(
    base: Rules,
    rules: Mapping[str, Any],
    parts: Mapping[str, Part],
    title: str,
    slips: list[tuple[str, str]] | None = None,
) -> MyRules:
    """The rules with the table of what stands."""
    mine = MyRules(**{field.name: getattr(base, field.name) for field in dataclasses.fields(Rules)} | dict(rules))
    rows, marked = list[tuple[object, ...]](), set[int]()
    for name in dict.fromkeys([*STEPS, *rules]):
        if name not in rules:
            rows.append((name, base.version, _("missing: task {task}", task=_tasks(name)), ""))
            continue
        part = parts.get(name)
        if part is not None and part.is_as_judged:
            judged = _("right in task {task}", task=part.task)
        else:
            judged = _("not judged since you changed it") if part and part.task else _("not judged yet")
            marked.add(len(rows))
        rows.append((name, _("yours"), judged, _beside(name, rules[name], base)))
    for name, near in slips or []:
        marked.add(len(rows))
        rows.append((name, _("yours"), _("no rule has this name; did you mean {near}?", near=near), ""))
    headers = (_("rule"), _("whose"), _("judged"), _("beside {version}", version=base.version))
    object.__setattr__(mine, "standing", Table(title, headers, rows, frozenset(marked)))
    return mine


def _tasks(name: str) -> str:
    return joined(_(" or "), (task for task, fields in LADDER.items() if name in fields))


def _beside(name: str, rule: Any, base: Rules) -> str:
    """How a rule compares with that of the version."""
    usual = getattr(base, name)
    if not callable(usual):
        return (
            _("the same")
            if rule == usual
            else _(
                "{mine}, there {usual}",
                mine=f"{rule:,}" if isinstance(rule, int) else rule,
                usual=f"{usual:,}" if isinstance(usual, int) else usual,
            )
        )
    count, difference = first_difference(name, rule, base)
    if not count:
        return _("not compared")
    if difference is None:
        return ngettext("the same in {count} case", "the same in {count} cases", count)
    return difference
