"""The files of a store's `config`: which is whole, which is damaged where, and what 4.8.0 makes of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from rmqlab.files import exists, is_file
from rmqlab.language import _
from rmqlab.protocol.header import FrameError
from rmqlab_tools.doctor.evidence.json_forms import CONFIG_FILES, form_of
from rmqlab_tools.doctor.evidence.piece import Piece
from rmqlab_tools.doctor.evidence.sections import UNREADABLE, named_fields
from rmqlab_tools.live.config_load import ConfigFile, ConfigLoad, FileState, check_config, load_config
from rmqlab_tools.live.wire import lenient_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rmqlab_tools.doctor.evidence.json_forms import JsonForm

COPY = ".bak"


def is_config_folder(path: Path) -> bool:
    """Whether a folder has files of a broker's `config`."""
    return any(is_file(path / f"{name}{end}") for name in CONFIG_FILES for end in ("", COPY))


def of_config(piece: Piece) -> bool:
    """Whether a piece is a file of `config`, or its copy."""
    return Path(piece.source).name.removesuffix(COPY) in CONFIG_FILES


def config_root(path: Path) -> Path | None:
    """The folder of `config` files at or below a folder: itself, its `config`, or that of its `store`."""
    places = (path, path / "config", path / "store" / "config")
    return next((place for place in places if is_config_folder(place)), None)


def config_pieces(folder: Path) -> Iterator[Piece]:
    """Every file of `config`, as a broker takes it in at its start."""
    for name, form in CONFIG_FILES.items():
        path = folder / name
        load = load_config(path, _decoder(form, str(path)))
        if load.file.state is FileState.MISSING and not load.from_backup and not load.is_lost:
            continue  # a broker that never wrote it
        yield _piece(form, path, load)


def _decoder(form: JsonForm, source: str) -> Callable[[str], Any]:
    def decode(text: str) -> Any:
        value = lenient_json.read_file_text(text)
        try:
            return form.read(value, source)
        except UNREADABLE as error:
            raise error if isinstance(error, FrameError) else FrameError("JSONException", str(error)) from error

    return decode


def _piece(form: JsonForm, path: Path, load: ConfigLoad[Any]) -> Piece:
    says = load.says()
    notes = [says] if says else []
    if load.is_lost and form.file == "consumerOffset.json":
        notes.append(
            _("then each group goes on where consumeFromWhere says, or at 0: messages come again, or are passed")
        )
    if load.is_lost and load.file.state is FileState.DAMAGED and load.file.reason == lenient_json.Damage.MORE.value:
        notes.append(
            _(
                "what stands before is whole: its first {count} bytes are a file that 4.8.0 reads",
                count=load.file.offset,
            )
        )
    return Piece(
        kind=form.kind,
        title=_(form.title),
        source=str(path),
        value=load.value,
        notes=tuple(notes),
        damaged=load.is_lost,
    )


def file_as_config(path: Path, data: bytes) -> Piece | None:
    """A file that is one of `config` by its content, or by its name where nothing can be read; None for another.

    Only a damaged or empty one: what is whole is recognised as everything else is. Whether there is a copy is known
    where the copy lies beside it, or where it lies in a folder `config`.
    """
    name = path.name.removesuffix(COPY)
    form = _form(data, name)
    if form is None:
        return None
    file, value = check_config(path, data, _decoder(form, str(path)))
    if file.state is FileState.GOOD:
        if not path.name.endswith(COPY):
            return None
        note = _("it is the older copy, which 4.8.0 takes only where the file itself is no use")
        return Piece(kind=form.kind, title=_(form.title), source=str(path), value=value, notes=(note,))
    if path.name.endswith(COPY):
        note = _(
            "{file}; it is the older copy, which 4.8.0 takes only where the file itself is no use", file=file.says()
        )
        return Piece(kind=form.kind, title=_(form.title), source=str(path), notes=(note,), damaged=True)
    if exists(path.with_name(path.name + COPY)) or path.resolve().parent.name == "config":
        return _piece(form, path, load_config(path, _decoder(form, str(path))))
    notes = [_alone(file, form)]
    if file.reason == lenient_json.Damage.MORE.value:
        notes.append(
            _("what stands before is whole: its first {count} bytes are a file that 4.8.0 reads", count=file.offset)
        )
    return Piece(kind=form.kind, title=_(form.title), source=str(path), notes=tuple(notes), damaged=True)


def _alone(file: ConfigFile, form: JsonForm) -> str:
    return _(
        "{file}; 4.8.0 takes {name}.bak, if that is whole; without one it starts with an empty table, and with a "
        "damaged one it does not start: give the whole folder config",
        file=file.says(), name=form.file,
    )  # fmt: skip


def _form(data: bytes, name: str) -> JsonForm | None:
    """What kind of file of `config` bytes are that may be damaged: by the names in them, else by the file's name."""
    text = data.decode("utf-8", "replace")
    stripped = text.strip("\0 \t\r\n\ufeff")
    if not stripped:
        return CONFIG_FILES.get(name)
    if stripped[0] != "{":
        return None
    form = form_of(named_fields(stripped))
    if form is None or not form.file:
        return None
    # output of mqadmin or a log behind a whole file is no damage of it
    try:
        lenient_json.read_file_text(text)
    except lenient_json.TextDamage as error:
        rest = text[error.position :].lstrip("\0 \t\r\n")
        is_other = error.damage is lenient_json.Damage.MORE and rest[:1].isalnum() and name not in CONFIG_FILES
        return None if is_other else form
    return form
