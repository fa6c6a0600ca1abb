"""Keys and encryption for a client that reads: from files or the environment, never from a command line."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rmqlab.errors import BadInput
from rmqlab.message.java_properties import load_properties
from rmqlab.protocol.acl import AclClientRPCHook
from rmqlab.runtime.configuration_files import AclFileError, read_rules

if TYPE_CHECKING:
    from collections.abc import Mapping

ACCESS_KEY: Final = "RMQLAB_ACCESS_KEY"
SECRET_KEY: Final = "RMQLAB_SECRET_KEY"  # noqa: S105 - the name of a variable
SECURITY_TOKEN: Final = "RMQLAB_SECURITY_TOKEN"  # noqa: S105


def access_keys(file: str | Path | None, environment: Mapping[str, str]) -> AclClientRPCHook | None:
    """Return what signs requests: the keys of a file, else those of the environment, else None.

    The file is that of 4.8.0's admin tool, conf/tools.yml: `accessKey:` and `secretKey:` (`AclUtils.getAclRPCHook`),
    and `securityToken:` if there is one. Raises BadInput when one of the two keys is missing. Example::

        access_keys(None, {"RMQLAB_ACCESS_KEY": "reader", "RMQLAB_SECRET_KEY": "12345678"})
    """
    if file is not None:
        where = f"{file}: accessKey: and secretKey: are wanted, as in 4.8.0's conf/tools.yml"
        try:
            found = read_rules(Path(file))
        except AclFileError as error:
            if isinstance(error.__cause__, ImportError):
                raise
            raise BadInput(f"{where}: {getattr(error.__cause__, 'strerror', None) or error.__cause__}") from error
        told = found if isinstance(found, dict) else {}
        keys = [told.get(name) for name in ("accessKey", "secretKey", "securityToken")]
    else:
        keys = [environment.get(name) for name in (ACCESS_KEY, SECRET_KEY, SECURITY_TOKEN)]
        where = f"{ACCESS_KEY} and {SECRET_KEY} belong together: one of them is not set"
        if not keys[0] and not keys[1]:
            return None
    access_key, secret_key, token = ("" if key is None else str(key).strip() for key in keys)
    if not access_key or not secret_key:
        raise BadInput(where)
    return AclClientRPCHook(access_key, secret_key, token or None)


def tls_context(file: str | Path | None = None) -> ssl.SSLContext:
    """Return how connections are encrypted: as a Java client with `-Dtls.enable=true` does it.

    `file` has the settings of 4.8.0's `tls.config.file`, `name=value` lines: `tls.client.trustCertPath`,
    `tls.client.authServer`, `tls.client.certPath`, `tls.client.keyPath`, `tls.client.keyPassword`; other names are
    passed over. Without `tls.client.authServer=true` every server is believed, and names of hosts are never checked
    (`TlsHelper.buildSslContext`). What the file says counts even where Java's `tls.test.mode.enable` is left on.

    Raises BadInput for a file that cannot be read, here or by one of those settings.
    """
    settings: dict[str, str] = {}
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    name = file
    try:
        if file is not None:
            settings = load_properties(Path(file).read_bytes())
        if settings.get("tls.client.authServer", "false").lower() == "true":
            context.verify_mode = ssl.CERT_REQUIRED
            name = settings.get("tls.client.trustCertPath")
            context.load_verify_locations(name) if name else context.load_default_certs()
        if name := settings.get("tls.client.certPath"):
            key = settings.get("tls.client.keyPath") or None
            context.load_cert_chain(name, key, settings.get("tls.client.keyPassword", ""))
    except (OSError, ssl.SSLError) as error:
        raise BadInput(f"{name}: {error.strerror or error}; a PEM file is wanted, or settings tls.client.*") from error
    return context
