"""TLS of a server, as it is set up and as it runs on a connection (`TlsSystemConfig`, `TlsHelper`, `HandshakeHandler`).

The first byte of a connection decides: 0x16 begins a TLS handshake, and no frame of the protocol begins so.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import ipaddress
import ssl
import tempfile
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from rmqlab.errors import BadInput, did_you_mean
from rmqlab.language import _, joined

if TYPE_CHECKING:
    from collections.abc import Mapping

HANDSHAKE_MAGIC_CODE: Final = 0x16
Mode = Literal["disabled", "permissive", "enforcing"]
TLS_MODES: Final[tuple[Mode, ...]] = ("disabled", "permissive", "enforcing")
CLIENT_AUTH: Final = {"none": ssl.CERT_NONE, "optional": ssl.CERT_OPTIONAL, "require": ssl.CERT_REQUIRED}
_YEARS = 10


class TlsError(Exception):
    """A connection on which TLS cannot go on; the text says why."""


@dataclass(frozen=True)
class TlsConfig:
    """How a server takes TLS. The names of the settings are those of 4.8.0, where they are system properties.

    `test_mode`: the server makes a certificate of its own, which cannot be checked. With `cert_path` and `key_path`
    (PEM) it is off unless it is asked for: 4.8.0 wants `tls.test.mode.enable=false` beside them.
    """

    mode: Mode = "permissive"
    test_mode: bool = True
    cert_path: str | None = None
    key_path: str | None = None
    key_password: str | None = None
    need_client_auth: str = "none"
    auth_client: bool = False
    trust_cert_path: str | None = None

    @classmethod
    def of(cls, properties: Mapping[str, str], where: str) -> TlsConfig:
        """Read the settings that are there.

        >>> TlsConfig.of({"tls.server.mode": "enforcing"}, "settings").mode
        'enforcing'

        Raises:
            BadInput: a mode that does not exist, a file that cannot be used, or half of what a certificate needs.
        """
        mode = properties.get("tls.server.mode", "permissive").lower()
        if mode not in TLS_MODES:
            hint = did_you_mean(mode, TLS_MODES)
            raise BadInput(
                _(
                    "{where}: tls.server.mode is {mode}; right is one of {modes}{hint}",
                    where=where,
                    mode=f"{mode!r}",
                    modes=joined(", ", TLS_MODES),
                    hint=hint,
                )
            )
        cert, key = properties.get("tls.server.certPath"), properties.get("tls.server.keyPath")
        test_mode = properties.get("tls.test.mode.enable", "true" if cert is None and key is None else "false")
        config = cls(
            mode=TLS_MODES[TLS_MODES.index(mode)],
            test_mode=test_mode.lower() == "true",
            cert_path=cert,
            key_path=key,
            key_password=properties.get("tls.server.keyPassword"),
            need_client_auth=properties.get("tls.server.need.client.auth", "none").lower(),
            auth_client=properties.get("tls.server.authClient", "false").lower() == "true",
            trust_cert_path=properties.get("tls.server.trustCertPath"),
        )
        if mode != "disabled" and not config.test_mode:
            if cert is None or key is None:
                missing = "tls.server.certPath" if cert is None else "tls.server.keyPath"
                raise BadInput(
                    _(
                        "{where}: {missing} is missing: TLS needs a certificate and its key, files in PEM",
                        where=where,
                        missing=missing,
                    )
                )
            config.context()
        return config

    def context(self) -> ssl.SSLContext:
        """What handshakes need.

        Raises:
            BadInput: no certificate can be read, or none can be made here.
        """
        return self._context

    @cached_property
    def _context(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        if self.test_mode:
            with tempfile.TemporaryDirectory(prefix="rmqlab-tls-") as folder:
                pem = Path(folder) / "self-signed.pem"
                pem.write_bytes(self_signed())
                context.load_cert_chain(pem)
            return context
        try:
            context.load_cert_chain(str(self.cert_path), self.key_path, lambda: self.key_password or "")
            if self.auth_client and self.trust_cert_path is not None:
                context.load_verify_locations(self.trust_cert_path)
                context.verify_mode = CLIENT_AUTH.get(self.need_client_auth, ssl.CERT_NONE)
        except OSError as error:
            files = [self.cert_path, self.key_path, self.trust_cert_path if self.auth_client else None]
            named = joined(", ", (name for name in files if name is not None))
            raise BadInput(
                _("TLS: {named}: {error}; certificate and key are wanted as PEM", named=named, error=error)
            ) from error
        return context


def self_signed(host: str = "localhost") -> bytes:
    """A new key and its certificate, good for ten years, as PEM.

    Raises:
        BadInput: without `cryptography`.
    """
    try:
        x509: Any = import_module("cryptography.x509")
        hazmat = "cryptography.hazmat.primitives"
        ec: Any = import_module(f"{hazmat}.asymmetric.ec")
        hashes: Any = import_module(f"{hazmat}.hashes")
        serialization: Any = import_module(f"{hazmat}.serialization")
    except ImportError as error:
        raise BadInput(
            _(
                "TLS needs a certificate: give tls.server.certPath and tls.server.keyPath, or have one "
                "made: pip install 'rmqlab[tls]'"
            )
        ) from error
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, host)])
    now = dt.datetime.now(dt.UTC)
    names = x509.SubjectAlternativeName([x509.DNSName(host), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=365 * _YEARS))
        .add_extension(names, critical=False)
        .sign(key, hashes.SHA256())
    )
    encoding = serialization.Encoding.PEM
    private = key.private_bytes(encoding, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return bytes(private + certificate.public_bytes(encoding))


class TlsSession:
    """The server's side of TLS on one connection: bytes in, bytes out, no socket.

    What is to be sent to the peer is in `outgoing` after every call.
    """

    def __init__(self, context: ssl.SSLContext) -> None:
        self._in, self._out = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._in, self._out, server_side=True)
        self._shaken = False

    def received(self, data: bytes) -> bytes:
        """Take what came and return what it says, nothing while the handshake goes on.

        Raises:
            TlsError: the handshake or the session is broken.
        """
        self._in.write(data)
        parts = []
        try:
            if not self._shaken:
                self._tls.do_handshake()
                self._shaken = True
            while part := self._tls.read(1 << 18):
                parts.append(part)
        except (ssl.SSLWantReadError, ssl.SSLZeroReturnError):
            pass
        except ssl.SSLError as error:
            raise TlsError(_("TLS: {reason}", reason=error.reason or error)) from error
        return b"".join(parts)

    def sealed(self, data: bytes) -> bytes:
        """What to send for `data`.

        Raises:
            TlsError: the handshake or the session is broken.
        """
        try:
            self._tls.write(data)
        except ssl.SSLError as error:
            raise TlsError(_("TLS: {reason}", reason=error.reason or error)) from error
        return self.outgoing()

    def outgoing(self) -> bytes:
        """What the peer is to be sent now."""
        return self._out.read()

    def goodbye(self) -> bytes:
        """The bytes by which the peer learns that nothing follows."""
        with contextlib.suppress(ssl.SSLError):  # the peer's own goodbye is not waited for
            self._tls.unwrap()
        return self.outgoing()
