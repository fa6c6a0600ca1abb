"""Arrow's file systems of addresses, opened with what their own tools read from the environment.

Arrow reads the variables of AWS, and no other of these: STORAGE_EMULATOR_HOST of Google's, AZURE_STORAGE_ACCOUNT, _KEY
and _SAS_TOKEN of Azure's. An endpoint that is named is asked for any answer first: clients ask a deaf one again
for one to fifteen minutes.
"""

from __future__ import annotations

import os
import re
import socket
import ssl
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import SplitResult, parse_qsl, unquote, urlencode, urlsplit
from urllib.request import getproxies

from rmqlab.language import _
from rmqlab_tools.java_runtime import find_java, home_from_wheel
from rmqlab_tools.spark.files.filesystem_failures import as_os_errors

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

ANSWER_SECONDS: Final = 10.0
"""How long an endpoint may take to answer anything at all."""
_RETRIED_SECONDS: Final = 30
_GOOGLE, _AZURE, _HADOOP = ("gs", "gcs"), ("abfs", "abfss"), ("hdfs", "viewfs")
_OF_THIS_MACHINE: Final = re.compile("load lib|CLASSPATH|NoClassDefFound|ClassNotFound|dlsym|connection failed")
"""What is said where libhdfs, a Java or its classes are missing."""
_ENDPOINTS: Final = ("endpoint_override", "blob_storage_authority")


class Endpoint(NamedTuple):
    """Host and port of a service, named by an address or a variable."""

    host: str
    port: int
    tls: bool

    def __str__(self) -> str:
        """Host and port."""
        return f"{self.host}:{self.port}"


def filesystem_at(address: str) -> tuple[Any, str]:
    """Arrow's file system of an address, and the path in it.

    Raises:
        OSError: the endpoint that is named does not answer, or what the file system needs is not here.
        ValueError: Arrow knows no such address.
    """
    import pyarrow.fs as pafs

    scheme = _parts(address).scheme
    if scheme in _GOOGLE:
        address = _of_google(address)
    elif scheme in _AZURE:
        address = _of_azure(address)
    endpoint = _endpoint(address)
    if endpoint is not None and not getproxies():
        _require_answer(endpoint)
    if scheme in _HADOOP:
        return _opened_of_hadoop(address, pafs.FileSystem.from_uri)
    filesystem, inner = pafs.FileSystem.from_uri(address)
    return (_with_key(filesystem, address) if scheme in _AZURE else filesystem), inner


def errors_at(where: str) -> AbstractContextManager[None]:
    """Within, whatever Arrow cannot do at a path or an address is an OSError: `as_os_errors`."""
    return as_os_errors(hdfs=urlsplit(where).scheme in _HADOOP)


def named_endpoint(address: str) -> str:
    """The option of an address that says where its service listens, "" without one: addresses that differ in it differ.

    >>> named_endpoint("s3://bucket/b?region=eu&endpoint_override=127.0.0.1:9000"), named_endpoint("s3://bucket/b")
    ('endpoint_override=127.0.0.1:9000', '')
    """
    options = dict(parse_qsl(urlsplit(address).query))
    return "&".join(f"{name}={options[name]}" for name in _ENDPOINTS if name in options)


def _parts(address: str) -> SplitResult:
    """The parts of an address.

    Raises:
        ValueError: a port that is none, as a key with a slash in it makes one; the text has nothing of it.
    """
    parts = urlsplit(address)
    try:
        _port = parts.port
    except ValueError:
        raise ValueError(_("its port is no number; a slash in a key is %2F in an address")) from None
    return parts


def _of_google(address: str) -> str:
    """With an emulator, as Google's own clients take it, and a limit of retries: Google's is 15 minutes."""
    base, _mark, query = address.partition("?")
    options = dict(parse_qsl(query))
    emulator = os.environ.get("STORAGE_EMULATOR_HOST", "")
    if emulator and "endpoint_override" not in options:
        scheme, _mark, host = emulator.rpartition("://")
        options |= {"endpoint_override": host.rstrip("/"), "scheme": scheme or "http"}
        if "@" not in urlsplit(base).netloc:
            base = base.replace("://", "://anonymous@", 1)
    options.setdefault("retry_limit_seconds", str(_RETRIED_SECONDS))
    return f"{base}?{urlencode(options, safe=':/')}"


def _of_azure(address: str) -> str:
    """With the account that Azure's tools take where an address names a container alone."""
    account = os.environ.get("AZURE_STORAGE_ACCOUNT", "")
    parts = urlsplit(address)
    if account and parts.hostname and "." not in parts.hostname and parts.username is None and parts.port is None:
        return address.replace("://", f"://{account}@", 1)
    return address


def _with_key(filesystem: Any, address: str) -> Any:
    """The same file system with a key or signature, where one is known; else Arrow looks for an identity."""
    import pyarrow.fs as pafs

    options = filesystem.__reduce__()[1][0]
    account = os.environ.get("AZURE_STORAGE_ACCOUNT", "") or options["account_name"]
    variables = os.environ if account == options["account_name"] else {}
    key = unquote(urlsplit(address).password or "") or variables.get("AZURE_STORAGE_KEY", "")
    signature = variables.get("AZURE_STORAGE_SAS_TOKEN", "")
    if not (key or signature):
        return filesystem
    known = {name: value for name, value in options.items() if value}
    known |= {"account_key": key} if key else {"sas_token": f"?{signature.removeprefix('?')}"}
    return pafs.AzureFileSystem(**known)


def _opened_of_hadoop(address: str, opened: Callable[[str], tuple[Any, str]]) -> tuple[Any, str]:
    if not os.environ.get("JAVA_HOME"):
        home = find_java(os.environ) or home_from_wheel(Path(sys.prefix))
        if home is not None:
            os.environ["JAVA_HOME"] = str(home)
    try:
        with as_os_errors(hdfs=True):
            return opened(address)
    except OSError as error:
        reason = (str(error).splitlines() or [""])[0]
        if not _OF_THIS_MACHINE.search(reason):
            raise
        raise OSError(
            _(
                "{reason}; this machine needs Hadoop: libhdfs.so (HADOOP_HOME or ARROW_LIBHDFS_DIR), and its jars "
                "(CLASSPATH, as `hadoop classpath --glob` prints it)",
                reason=reason,
            )
        ) from error


def _endpoint(address: str) -> Endpoint | None:
    """The endpoint that an address or a variable names; None for those that every client knows."""
    parts = urlsplit(address)
    options = dict(parse_qsl(parts.query))
    if parts.scheme in _HADOOP:
        return Endpoint(parts.hostname, parts.port, tls=False) if parts.hostname and parts.port else None
    tls = options.get("scheme", "https") == "https" and options.get("enable_tls", "true") == "true"
    authority = next((options[name] for name in _ENDPOINTS if name in options), "")
    if not authority and parts.scheme == "s3":
        url = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL", "")
        authority, tls = url, not url.startswith("http://")
    if not authority and parts.scheme in _AZURE and parts.port:
        authority = f"{parts.hostname}:{parts.port}"
    if not authority or authority.startswith("."):  # all accounts' of a cloud
        return None
    server = urlsplit(authority if "://" in authority else f"//{authority}")
    return Endpoint(server.hostname or "", server.port or (443 if tls else 80), tls)


def _require_answer(endpoint: Endpoint) -> None:
    """Raise `OSError` unless an endpoint answers anything: a service of HTTP does, and a name node of HDFS."""
    try:
        with socket.create_connection((endpoint.host, endpoint.port), ANSWER_SECONDS) as connection:
            if endpoint.tls:
                context = ssl.create_default_context()  # whose certificate it is, its client asks
                context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
                context.wrap_socket(connection, server_hostname=endpoint.host).close()
            else:
                connection.sendall(b"GET / HTTP/1.0\r\n\r\n")
                connection.recv(1)
    except TimeoutError as error:
        raise OSError(
            _("nobody answers at {endpoint} within {seconds} s", endpoint=endpoint, seconds=int(ANSWER_SECONDS))
        ) from error
    except ssl.SSLError as error:
        raise OSError(_("{endpoint} does not speak HTTPS: name it as one of HTTP", endpoint=endpoint)) from error
    except OSError as error:
        says = _("nobody answers at {endpoint}", endpoint=endpoint)
        raise OSError(f"{says} ({error.strerror or error})") from error
