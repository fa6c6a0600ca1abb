"""What checks of groups found, for the machines that show it: SARIF, JUnit's XML, annotations of GitHub.

A verb turns what it found into `Check`s, one for each thing that was looked at; what is written of them is the same
for all verbs. Sources: SARIF 2.1.0 (OASIS), the JUnit XML that Jenkins and GitLab read, GitHub's workflow commands.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

import rmqlab
from rmqlab.errors import BadInput
from rmqlab.files import reason_of, replace_text
from rmqlab.language import _

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
HOME: Final = "https://github.com/apache/rocketmq/tree/rocketmq-all-4.8.0"


class Level(StrEnum):
    """How bad a check is, as SARIF names it; `NONE` is a check that holds."""

    NONE = "none"
    NOTE = "note"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Spot:
    """A line of a file, and what is said of it."""

    file: str
    line: int
    text: str = ""


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at: by which rule, of what (a group, a procedure), how it came out, and where.

    `spots`: the places that it is about, the first being where it is shown; none where it is about no file.
    """

    rule: str
    subject: str
    level: Level
    text: str
    spots: tuple[Spot, ...] = ()


def sarif(checks: Iterable[Check], verb: str) -> dict[str, Any]:
    """A SARIF log with one run: a result for each check that does not hold.

    >>> log = sarif([Check("members-differ", "orders", Level.ERROR, "a, b", (Spot("A.java", 3),))], "lint")
    >>> log["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["region"]
    {'startLine': 3}
    """
    wrong = [check for check in checks if check.level is not Level.NONE]
    rules = list(dict.fromkeys(check.rule for check in wrong))
    driver = {
        "name": f"rmqlab {verb}",
        "version": rmqlab.__version__,
        "informationUri": HOME,
        "rules": [
            {"id": rule, "shortDescription": {"text": rule.replace("-", " ").replace("_", " ")}} for rule in rules
        ],
    }
    results = []
    for check in wrong:
        result: dict[str, Any] = {
            "ruleId": check.rule,
            "ruleIndex": rules.index(check.rule),
            "level": str(check.level),
            "message": {"text": str(check.text)},
            "partialFingerprints": {"group/v1": f"{check.rule}:{check.subject}"},
        }
        if check.spots:
            result["locations"] = [_location(check.spots[0], check.subject)]
            result["relatedLocations"] = [
                _location(spot, check.subject) | {"id": number, "message": {"text": str(spot.text)}}
                for number, spot in enumerate(check.spots[1:], 1)
            ]
        else:
            # GitHub takes no log with a result that has no file: its subject stands for one
            result["locations"] = [_located(quote(check.subject, safe=""), 1, check.subject)]
        results.append(result)
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [{"tool": {"driver": driver}, "results": results}]}


def _location(spot: Spot, subject: str) -> dict[str, Any]:
    path = PurePath(_from_here(spot.file))
    uri = Path(path).as_uri() if path.is_absolute() else quote(path.as_posix())
    return _located(uri, max(1, spot.line), subject)


def _located(uri: str, line: int, subject: str) -> dict[str, Any]:
    return {
        "physicalLocation": {"artifactLocation": {"uri": uri}, "region": {"startLine": line}},
        "logicalLocations": [{"name": subject, "kind": "resource"}],
    }


def _from_here(file: str) -> str:
    """A file's name from the working folder, if it lies there: what shows it knows files by their names in the tree."""
    path, here = Path(file), Path.cwd()
    return path.relative_to(here).as_posix() if path.is_absolute() and path.is_relative_to(here) else file


def junit(checks: Sequence[Check], verb: str) -> str:
    """A suite of tests as XML: one for each check; an error fails, a warning is skipped with its text.

    >>> print(junit([Check("members-differ", "orders", Level.NONE, "")], "lint"))
    <?xml version="1.0" encoding="UTF-8"?>
    <testsuites><testsuite name="rmqlab lint" tests="1" failures="0" errors="0" skipped="0"><testcase \
classname="lint.members-differ" name="orders" /></testsuite></testsuites>
    """
    from xml.etree import ElementTree as ET

    failed = sum(check.level is Level.ERROR for check in checks)
    skipped = sum(check.level in {Level.WARNING, Level.NOTE} for check in checks)
    suites = ET.Element("testsuites")
    counts = {"tests": str(len(checks)), "failures": str(failed), "errors": "0", "skipped": str(skipped)}
    suite = ET.SubElement(suites, "testsuite", {"name": f"rmqlab {verb}"} | counts)
    for check in checks:
        # Jenkins' schema has no place for a file and a line: they stand in the text
        case = ET.SubElement(suite, "testcase", {"classname": f"{verb}.{check.rule}", "name": _plain(check.subject)})
        if check.level is Level.NONE:
            continue
        lines = (f"{_from_here(spot.file)}:{spot.line}: {spot.text}" for spot in check.spots)
        text = _plain("\n".join([str(check.text), *lines]))
        kind = "failure" if check.level is Level.ERROR else "skipped"
        ET.SubElement(case, kind, {"message": text.partition("\n")[0]}).text = text
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(suites, encoding="unicode")


def _plain(text: str) -> str:
    """Without the characters that XML cannot hold."""
    return "".join(
        char if char in "\t\n" or " " <= char <= "\ud7ff" or "\ue000" <= char <= "\ufffd" or char > "\uffff" else "?"
        for char in str(text)
    )


def github(checks: Iterable[Check]) -> Iterator[str]:
    """Workflow commands of GitHub, one for each place of a check that does not hold.

    >>> [*github([Check("members-differ", "orders", Level.ERROR, "a, b", (Spot("A.java", 3),))])]
    ['::error file=A.java,line=3,title=orders::a, b']
    """
    for check in checks:
        if check.level is Level.NONE:
            continue
        command = {Level.NOTE: "notice"}.get(check.level, str(check.level))
        title = f"title={_escaped(check.subject, ',:')}"
        for spot in check.spots:
            text = _escaped(spot.text or check.text)
            yield f"::{command} file={_escaped(_from_here(spot.file), ',:')},line={spot.line},{title}::{text}"
        if not check.spots:
            yield f"::{command} {title}::{_escaped(check.text)}"


def _escaped(text: str, more: str = "") -> str:
    text = str(text)
    for char in "%\r\n" + more:
        text = text.replace(char, f"%{ord(char):02X}")
    return text


def write_reports(checks: Sequence[Check], verb: str, sarif_file: Path | None, junit_file: Path | None) -> None:
    """Write the files that were asked for, whole or not at all.

    Raises:
        BadInput: one cannot be written.
    """
    if sarif_file is not None:
        _write(sarif_file, json.dumps(sarif(checks, verb), indent=1) + "\n", "--sarif")
    if junit_file is not None:
        _write(junit_file, junit(checks, verb) + "\n", "--junit")


def _write(path: Path, text: str, option: str) -> None:
    try:
        replace_text(path, text, "utf-8")
    except OSError as error:
        raise BadInput(
            _(
                "{option} {path}: {reason}; name a file that can be written",
                option=option,
                path=path,
                reason=reason_of(error),
            )
        ) from error
