"""Access control: how requests are signed.

A signature is HMAC-SHA1 over the values of all fields, in the order of their names, and the body. Source:
`AclUtils.combineRequestContent`, `AclSigner`, `AclClientRPCHook`.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from typing import TYPE_CHECKING, Final

from rmqlab.message.java import text_of, to_utf8, utf16_key
from rmqlab_tools.live.extra.query_message_processor import UNIQUE_MSG_QUERY_FLAG

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rmqlab.protocol.command import RemotingCommand

ACCESS_KEY: Final = "AccessKey"
SIGNATURE: Final = "Signature"
SECURITY_TOKEN: Final = "SecurityToken"  # noqa: S105 - the name of a field
_UNSIGNED = {SIGNATURE, UNIQUE_MSG_QUERY_FLAG}


def signed_content(fields: Mapping[str, str | None], body: bytes | None) -> bytes:
    """The bytes that are signed; a field without a value counts as the text "null", as in Java."""
    names = sorted((name for name in fields if name not in _UNSIGNED), key=utf16_key)
    text = "".join(text_of(fields[name]) for name in names)
    return to_utf8(text) + (body or b"")


def signature(content: bytes, secret_key: str) -> str:
    """The signature as base64 text."""
    return base64.b64encode(hmac.new(to_utf8(secret_key), content, hashlib.sha1).digest()).decode("ascii")


class AclClientRPCHook:
    """Signs every request of a client; give it to a `SocketRuntime` as its hook. Its text does not show the secret."""

    def __init__(self, access_key: str, secret_key: str, security_token: str | None = None) -> None:
        self.access_key = access_key
        self._secret_key = secret_key
        self._security_token = security_token

    def __call__(self, command: RemotingCommand) -> None:
        """Add access key and signature to a request that is about to be sent."""
        added: dict[str, str | None] = {ACCESS_KEY: self.access_key}
        if self._security_token is not None:
            added[SECURITY_TOKEN] = self._security_token
        fields = {**(command.all_ext_fields() or {}), **added}
        added[SIGNATURE] = signature(signed_content(fields, command.body), self._secret_key)
        command.ext_fields = {**(command.ext_fields or {}), **added}
