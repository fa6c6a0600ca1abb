"""The JSON serialisation of a command's header, as fastjson 1.2.69 writes and reads it for 4.8.0."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.message.java import hash_map_order
from rmqlab.protocol import fastjson
from rmqlab.protocol.frame_error import FrameError
from rmqlab.protocol.language import LANGUAGES

if TYPE_CHECKING:
    from rmqlab.protocol.command import RemotingCommand


def write(command: RemotingCommand) -> bytes:
    """Return the header's text; null values are left out, `extFields` come in java.util.HashMap order."""
    fields: dict[str, object] = {"code": command.code}
    ext_fields = command.all_ext_fields()
    if ext_fields is not None:
        fields["extFields"] = {
            name: value for name in hash_map_order(ext_fields) if (value := ext_fields[name]) is not None
        }
    fields["flag"] = command.flag
    if command.language is not None:
        fields["language"] = command.language
    fields["opaque"] = command.opaque
    if command.remark is not None:
        fields["remark"] = command.remark
    fields["serializeTypeCurrentRPC"] = command.serialize_type.name
    fields["version"] = command.version
    return fastjson.write(fields)


def read(command: RemotingCommand, header: bytes) -> bool:
    """Fill `command` from the header's text and tell whether it named an `opaque`; raises FrameError."""
    fields = fastjson.read(header)
    if fields is None or fields == []:
        raise FrameError("NullPointerException", "the header holds no object")
    if not isinstance(fields, dict):
        raise FrameError("JSONException", f"the header must be an object, not {fields!r}")
    opaque: int | None = None
    for name, value in fields.items():
        match str(name).lower().replace("_", "").replace("-", ""):
            case "code":
                command.code = fastjson.to_int(value) or 0
            case "language":
                command.language = _language(value)
            case "version":
                command.version = fastjson.to_int(value) or 0
            case "opaque":
                opaque = fastjson.to_int(value)
            case "flag":
                command.flag = fastjson.to_int(value) or 0
            case "remark":
                command.remark = fastjson.to_text(value)
            case "extfields":
                command.ext_fields = _ext_fields(value)
    command.opaque = opaque or 0
    return opaque is not None


def _language(value: object) -> str | None:
    if isinstance(value, int):
        if not 0 <= value < len(LANGUAGES):
            raise FrameError("JSONException", f"language {value}: the numbers are 0..{len(LANGUAGES) - 1}")
        return LANGUAGES[value]
    name = (fastjson.to_text(value) or "").upper()
    return name if name in LANGUAGES else None


def _ext_fields(value: object) -> dict[str, str | None] | None:
    if value is None or value in ("", "null"):
        return None
    if not isinstance(value, dict):
        raise FrameError("JSONException", f"extFields must be an object, not {value!r}")
    return {str(name): fastjson.to_text(item) for name, item in value.items()}
