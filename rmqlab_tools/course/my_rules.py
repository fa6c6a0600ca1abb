"""`my_rules.py`: the rules that a learner wrote, in one file that grows lesson by lesson; `check` writes into it.

In a learner's copy it lies beside the tasks. Each rule is a part between two lines `# %%`; its first line says which
task found it right, and for which lines. Lines outside of the parts, and parts of others, stay as they are; a rule that
another takes the place of goes to the end of `my_rules_earlier.py`. The file is replaced whole, or not at all.
"""

from __future__ import annotations

import ast
import hashlib
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from rmqlab.errors import BadInput
from rmqlab.files import is_dir, is_file, read_text, reason_of, replace_text
from rmqlab.language import _, joined, sentences
from rmqlab.rules import Rules
from rmqlab_tools.course.progress import learners_folder
from rmqlab_tools.course.rule_sources import NotWritable, lines_of_rule, meaning

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

FILE: Final = "my_rules.py"
EARLIER: Final = "my_rules_earlier.py"
MARK: Final = "# %%"
PERIODS: Final = ("heartbeat_period_ms", "channel_expired_ms", "scan_period_ms", "rebalance_period_ms")
LADDER: Final[Mapping[str, tuple[str, ...]]] = {
    "01-rule": ("update_subscription",),
    "02-code": ("tags_code",),
    "02-broker": ("is_matched_by_consume_queue",),
    "02-client": ("client_keeps",),
    "04-positions": ("bit_positions",),
    "04-hit": ("is_hit",),
    "06-rule": ("is_expired",),
    "06-periods": PERIODS,
    "07-rule": ("allocate",),
    "08-rule": ("update_subscription",),
    "10-rule": ("is_latest",),
    "15-waiter": ("waiter_to_wake",),
}
"""The tasks whose right answer is a rung: the rules that each writes."""
STEPS: Final = tuple(dict.fromkeys(field for fields in LADDER.values() for field in fields))
HEAD = _(
    '"""A broker of my own: the rules that I wrote, lesson by lesson. rmqlab.mine() reads them.\n\n'
    "Each rule stands between two lines that begin with # %%. Change what you like, and add what you like:\n"
    'a rule that you changed counts as not judged, until its task finds it right again.\n"""\n'
)
_PART = re.compile(
    r"^# %% (\w+)(?: · (\d\d-[\w-]+) · ([0-9a-f]{8}))?[^\n]*\n(.*?)(?=^# %%|\Z)", re.MULTILINE | re.DOTALL
)


class Part(NamedTuple):
    """A rule in the file: its name, the task that found it right with the mark of those lines, its lines, its place."""

    field: str
    task: str
    mark: str
    text: str
    start: int
    end: int

    @property
    def is_as_judged(self) -> bool:
        """Whether these are the lines that the task found right."""
        return bool(self.task) and self.mark == mark_of(self.text)


def place() -> Path | None:
    """Where the learner's `my_rules.py` lies or will lie; None: nothing is written here.

    In a learner's copy beside the tasks, in a browser (JupyterLite) beside the notebook or its tasks; elsewhere only a
    file that is there already counts.
    """
    folder = learners_folder()
    if folder is not None:
        return folder / "exercises" / FILE
    here = Path.cwd()
    if sys.platform == "emscripten":
        return (here / "exercises" if is_dir(here / "exercises") else here) / FILE
    return here / FILE if is_file(here / FILE) else None


def mark_of(text: str) -> str:
    """A short name of what Python reads in these lines; empty if it cannot read them."""
    try:
        return hashlib.sha256(meaning(text).encode()).hexdigest()[:8]
    except (SyntaxError, ValueError):
        return ""


def parts_of(text: str) -> Iterator[Part]:
    """The rules that stand in the text of a file between lines `# %%`."""
    for match in _PART.finditer(text):
        field, task, mark, lines = match.groups()
        yield Part(field, task or "", mark or "", lines, *match.span())


def rungs_of(lesson: str) -> tuple[int, int]:
    """How many rules of a lesson's tasks stand in the learner's file as judged, and how many there are.

    A rule that a later task took the place of counts as standing.
    """
    rungs = [field for name, fields in LADDER.items() if name.startswith(f"{lesson}-") for field in fields]
    path = place()
    try:
        text = read_text(path, _("a file of rules")) if path is not None and is_file(path) else ""
    except (OSError, BadInput):
        text = ""
    standing = {part.field for part in parts_of(text) if part.is_as_judged}
    return sum(field in standing for field in rungs), len(rungs)


def keep(name: str, answer: object) -> str:
    """Write the rules of a right answer to the task `name` into the learner's file; a sentence that says so.

    Nothing is written, and nothing said, where there is no learner's copy, or for a task that is no rung of the ladder.
    """
    path = place() if name in LADDER else None
    if path is None:
        return ""
    rules = {field: getattr(answer, field) if isinstance(answer, Rules) else answer for field in LADDER[name]}
    try:
        text = read_text(path, _("a file of rules")) if is_file(path) else str(HEAD)
        ast.parse(text)
        before = [*parts_of(text)]
        for field, rule in rules.items():
            text = _with(path, text, field, rule, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_text(path, text, encoding="utf-8")
    except NotWritable as why:
        return _("It does not stand in {file}: {why}.", file=FILE, why=str(why))
    except SyntaxError as error:
        return _("It does not stand in {file}: line {line} of that file cannot be read.", file=FILE, line=error.lineno)
    except (OSError, BadInput) as error:
        why_not = reason_of(error) if isinstance(error, OSError) else str(error)
        return _("It does not stand in {file}: {why}.", file=FILE, why=why_not)
    said = _("It stands in {file} now.", file=FILE)
    after = {part.field: part.mark for part in parts_of(text)}
    others = dict.fromkeys(
        part.task or part.field for part in before if part.field in rules and part.mark != after[part.field]
    )
    if not others:
        return said
    return sentences(
        said, _("The earlier one ({tasks}) is kept in {earlier}.", tasks=joined(", ", others), earlier=EARLIER)
    )


def _with(path: Path, text: str, field: str, rule: object, task: str) -> str:
    """The text of the file with this rule as its last part; what it takes the place of is kept elsewhere."""
    replaced: list[str] = []
    kept: list[str] = []
    for chunk in _chunks(text):
        part = next(parts_of(chunk), None)
        own = part is not None and part.field == field
        rest, cut = _without(chunk, field, all_but_rules=own)
        replaced += [f"{chunk.splitlines()[0]}\n{cut}" if own else cut] if cut else []
        if rest.strip() not in {"", MARK}:
            kept.append(rest.strip())
    text = "\n\n\n".join(kept)
    body = lines_of_rule(field, rule, dict(_names(text)))
    note = ""
    if replaced and mark_of("".join(replaced)) != mark_of(body):
        _keep_earlier(path, replaced)
        judged = dict.fromkeys(part.task for piece in replaced for part in parts_of(piece) if part.task)
        whose = joined(", ", judged) or field
        note = f"# {_('It took the place of an earlier one ({tasks}): {file}.', tasks=whose, file=EARLIER)}\n"
    return f"{text}\n\n\n{MARK} {field} · {task} · {mark_of(body)}\n{note}{body}\n\n{MARK}\n"


def _chunks(text: str) -> list[str]:
    """The text in front of the first mark, then from each mark to the next."""
    return [chunk for chunk in re.split(rf"^(?={MARK})", text, flags=re.MULTILINE) if chunk]


def _without(chunk: str, field: str, *, all_but_rules: bool) -> tuple[str, str]:
    """The lines without those that make `field` (`all_but_rules`: but those of other rules), and what was cut."""
    lines, places, others = chunk.splitlines(keepends=True), list[tuple[int, int]](), False
    for node in ast.parse(chunk).body:
        first = min([node.lineno, *(decorator.lineno for decorator in getattr(node, "decorator_list", []))])
        made = _rules_made_by(node)
        others = others or any(name != field for name in made)
        if field in made or (all_but_rules and not made):
            places.append((first - 1, node.end_lineno or node.lineno))
    if all_but_rules and not others:
        return "", "".join(lines[1:])
    cut = "".join("".join(lines[start:end]) for start, end in places)
    for start, end in reversed(places):
        del lines[start:end]
    return "".join(["# %%\n", *lines[1:]] if all_but_rules else lines), cut


def _rules_made_by(node: ast.stmt) -> list[str]:
    return [name for name in _made_by(node) if name in Rules.__dataclass_fields__]


def _keep_earlier(path: Path, pieces: Iterable[str]) -> None:
    """Add what a new rule takes the place of to the end of the file of earlier ones, in one write."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.with_name(EARLIER).open("ab", buffering=0) as file:
        file.write("".join(f"{piece.strip()}\n\n\n" for piece in pieces).encode())


def _names(text: str) -> Iterator[tuple[str, str]]:
    """The names that are made at the top of a file, and what each is."""
    for node in ast.parse(text).body:
        for name in _made_by(node):
            yield name, ast.dump(ast.Module([node], []))


def _made_by(node: ast.stmt) -> list[str]:
    match node:
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            return [name]
        case ast.Assign(targets=targets):
            return [target.id for target in targets if isinstance(target, ast.Name)]
        case ast.AnnAssign(target=ast.Name(id=name)):
            return [name]
    return []
