"""The one door for evidence: codes, texts, files, folders; each is recognised by its content."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from rmqlab.errors import BadInput
from rmqlab.files import contents, exists, is_dir, is_file, opened
from rmqlab.language import _
from rmqlab_tools.doctor.evidence.config_folder import config_pieces, config_root, file_as_config
from rmqlab_tools.doctor.evidence.piece import Piece
from rmqlab_tools.doctor.evidence.report import Evidence, GivenEvidence
from rmqlab_tools.doctor.evidence.sections import UNKNOWN_PIECE, Sections, pieces_of_value, sections
from rmqlab_tools.doctor.explain import explain as explain_text
from rmqlab_tools.doctor.explain import explain_lines, explain_stream
from rmqlab_tools.search.lint.members import read_groups

if TYPE_CHECKING:
    from typing import IO

MAX_FILE_BYTES: Final = 32 << 20
"""A larger file is read as a log, line by line."""
MAX_FILES: Final = 500
WANTED_THINGS: Final = "a log, output of mqadmin, JSON of RocketMQ, a configuration, or a folder of such"
_CODE: Final = re.compile(r"-?\d+|[A-Z][A-Z0-9]*(_[A-Z0-9]+)+")
_FRAMES: Final = "frames.jsonl.gz"
_TAR: Final = slice(257, 262)


def explain(*what: int | str | Path | Mapping[str, Any] | list[Any]) -> Evidence:
    """Say what each thing is, and what all of them say together: of a group, its members, and what is lost.

    `what` are codes (24, "SUBSCRIPTION_NOT_EXIST"), texts (lines of logs, exceptions, output of mqadmin, JSON), parsed
    JSON, and paths of files and folders: logs, plain or .gz; output of mqadmin; JSON of brokers, members, heartbeats,
    also as fastjson writes it; broker.conf; the files of a store's `config`; what rmqlab itself writes. Known lines
    are in `found`, the worst first; groups in `groups`, with `missing` and the `commands` to go on with.

    Source: the forms are those of RocketMQ 4.8.0 and 5.x.

    >>> explain(25).found[0].entry.name
    'SUBSCRIPTION_NOT_LATEST'
    >>> one = explain("the consumer's subscription not exist, group: Orders, topic:Paid").found[0]
    >>> one.effect, one.values
    ('stop', {'group': 'Orders', 'topic': 'Paid'})
    >>> explain({"consumerIdList": ["A"]}).pieces[0].kind
    'client_ids'

    Raises:
        BadInput: there is no such code or file, or a file cannot be read.
    """
    if not what:
        raise BadInput(_("nothing to explain: give a code, a text, or files: {wanted}", wanted=WANTED_THINGS))
    given: list[GivenEvidence] = []
    commands: list[str] = []
    for number, thing in enumerate(what, 1):
        if isinstance(thing, Mapping | list):
            value = dict(thing) if isinstance(thing, Mapping) else thing
            given.append(GivenEvidence(f"argument {number}", tuple(pieces_of_value(value, f"argument {number}"))))
        elif isinstance(thing, Path) or (isinstance(thing, str) and _is_file(thing)):
            given += _of_path(Path(thing), commands)
        else:
            given.append(_of_text(str(thing), f"argument {number}"))
    return Evidence(tuple(given), tuple(dict.fromkeys(commands)))


def explain_pipe(stream: IO[bytes]) -> Evidence:
    """What comes from a pipe: at most `MAX_FILE_BYTES` are recognised as more than lines of a log."""
    data = stream.read(MAX_FILE_BYTES + 1)
    if len(data) > MAX_FILE_BYTES:
        from io import BytesIO

        first = explain_stream(BytesIO(data), "-")
        rest = explain_stream(stream, "-")
        return Evidence((GivenEvidence("-", log=first), GivenEvidence("-", log=rest)))
    return Evidence((_of_data(data, "-"),))


def _is_file(text: str) -> bool:
    try:
        return bool(text.strip()) and "\n" not in text and exists(Path(text))
    except BadInput:  # behind a folder that may not be entered: a line of a log has more than a path
        if " " in text:
            return False
        raise


def _of_text(text: str, source: str) -> GivenEvidence:
    if _CODE.fullmatch(text.strip()) or not text.strip():
        return GivenEvidence(text.strip(), log=explain_text(text))
    cut = sections(text, source)
    if not cut.pieces:
        return GivenEvidence(
            text, log=explain_text(text) if "\n" not in text.strip() else explain_lines(text.splitlines(), source)
        )
    return _cut(cut, source)


def _cut(cut: Sections, source: str) -> GivenEvidence:
    log = explain_lines(cut.rest, source) if any(line.strip() for line in cut.rest) else None
    if log is not None:  # lines that belong to a piece are blank there, so that the others keep their numbers
        log = replace(log, lines=log.lines - cut.taken, trace=log.trace - cut.taken)
    return GivenEvidence(source, tuple(cut.pieces), log)


def _of_data(data: bytes, source: str, name: str = "") -> GivenEvidence:
    if data[_TAR] == b"ustar":
        title = _("an archive: unpack it and give the folder, or give it to `rmqlab audit`")
        return GivenEvidence(source, (Piece(kind=UNKNOWN_PIECE, title=title, source=source),))
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):  # as PowerShell writes what a command prints
        text = data.decode("utf-16", "replace")
    elif b"\0" in data.strip(b"\0 \r\n")[:4096]:
        title = _("nothing is known of this: bytes that are no text")
        return GivenEvidence(source, (Piece(kind=UNKNOWN_PIECE, title=title, source=source),))
    else:
        text = data.decode("utf-8-sig", "replace")
    cut = sections(text, source, name)
    if cut.pieces:
        return _cut(cut, source)
    return GivenEvidence(source, log=explain_lines(text.splitlines() if text.strip() else [], source))


def _of_path(path: Path, commands: list[str]) -> list[GivenEvidence]:
    if is_dir(path):
        return _of_folder(path, commands)
    return [_of_file(path)]


def _of_file(path: Path, *, inside: bool = False) -> GivenEvidence:
    with opened(path, WANTED_THINGS) as stream:
        data = stream.read(MAX_FILE_BYTES + 1)
    if len(data) > MAX_FILE_BYTES:
        with opened(path, WANTED_THINGS) as stream:
            return GivenEvidence(str(path), log=explain_stream(stream, str(path)), inside=inside)
    as_config = file_as_config(path, data)
    if as_config is not None:
        return GivenEvidence(str(path), (as_config,), inside=inside)
    given = _of_data(data, str(path), path.name)
    return GivenEvidence(given.source, given.pieces, given.log, given.notes, inside)


def _of_folder(path: Path, commands: list[str]) -> list[GivenEvidence]:
    if is_file(path / _FRAMES):
        title = _("a recording of frames (rmqlab tap)")
        piece = Piece(kind="members", title=title, source=str(path), value=read_groups(str(path)))
        commands.append(shlex.join(["rmqlab", "replay", str(path)]))
        return [GivenEvidence(str(path), (piece,))]
    store = next((folder for folder in (path, path / "store") if is_dir(folder / "commitlog")), None)
    config = config_root(path)
    given: list[GivenEvidence] = []
    if store is not None:
        commands.append(shlex.join(["rmqlab", "audit", str(store)]))
        title = _("a store of a broker: its messages are read by `rmqlab audit`")
        notes = []
        if exists(store / "abort"):
            notes.append(_("its broker runs, or was not stopped in order: there is a file abort"))
        given.append(
            GivenEvidence(str(store), (Piece(kind="store", title=title, source=str(store), notes=tuple(notes)),))
        )
    if config is not None:
        given.append(GivenEvidence(str(config), tuple(config_pieces(config))))
    if given:
        return given
    files = [entry for entry in contents(path) if is_file(entry) and not entry.name.startswith(".")]
    if not files:
        raise BadInput(_("{path}: there is no file in it; give {wanted}", path=path, wanted=WANTED_THINGS))
    if len(files) > MAX_FILES:
        raise BadInput(
            _(
                "{path}: {count} files; name those that matter, at most {most}",
                path=path,
                count=len(files),
                most=MAX_FILES,
            )
        )
    return [_of_file(file, inside=True) for file in files]
