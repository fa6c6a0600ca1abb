"""The JSON serialisation of a command's header, as fastjson 1.2.69 writes and reads it for 4.8.0."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from rmqlab.message.java import hash_map_order
from rmqlab.protocol.frame_error import FrameError

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
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def read(command: RemotingCommand, header: bytes) -> bool:
    """Fill `command` from the header's text and tell whether it named an `opaque`; raises FrameError."""
    try:
        fields = json.loads(header.decode("utf-8", "replace"))
    except ValueError as error:
        raise FrameError("JSONException", str(error)) from error
    command.code = fields.get("code", 0)
    command.language = fields.get("language", "JAVA")
    command.version = fields.get("version", 0)
    command.flag = fields.get("flag", 0)
    command.remark = fields.get("remark")
    command.ext_fields = fields.get("extFields")
    command.opaque = fields.get("opaque", 0)
    return "opaque" in fields
