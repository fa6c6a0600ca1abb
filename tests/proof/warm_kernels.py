"""Kernels that start at once: one process imports what every kernel imports, and forks one for each notebook.

Each notebook has a process of its own as before, with a new namespace and with the folder, the environment, the
streams and the ports that Jupyter gives it. It differs from a kernel that Jupyter starts in its parent, and in the
modules that are imported already (`IMPORTED`). Jupyter starts kernels by a provisioner: `use_warm_kernels` makes
`Forked` that of this process, where `ADDRESS_SETTING` names the socket of the process that forks; the kernel keeps its
registered name.
"""

from __future__ import annotations

import gc
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager, suppress
from importlib import import_module
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from jupyter_client.provisioning.factory import KernelProvisionerFactory
from jupyter_client.provisioning.local_provisioner import LocalProvisioner

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, MutableMapping

    from jupyter_client.connect import KernelConnectionInfo

ADDRESS_SETTING: Final = "RMQLAB_WARM_KERNELS"
PROVISIONER: Final = "rmqlab-forked"
# What kernels import when they start, then what nearly every lesson does (`rmqlab` alone imports nothing).
IMPORTED: Final = (
    "ipykernel.debugger", "ipykernel.kernelapp", "ipykernel.zmqshell", "IPython.extensions.storemagic", "ipywidgets",
    "drawsvg", "rmqlab.lab.lab", "rmqlab_tools.course.quiz", "rmqlab_tools.search.explorer.timings",
    "rmqlab_tools.search.expressions.remarks", "rmqlab_tools.show.charts", "rmqlab_tools.show.film.film",
    "rmqlab_tools.show.widgets",
)  # fmt: skip
AT_START: Final = ("PYTHON", "LC_", "LANG", "LD_")  # beginnings of settings that Python reads when it starts, once
NO_CHILD: Final = 0
PARENT: Final = "JPY_PARENT_PID"  # without that process a kernel ends
_NUMBER, _LENGTH = 4, 8  # bytes of a process id or a status, and of the length of a request


def settings_at_start(environ: Mapping[str, str]) -> dict[str, str]:
    """Those settings that a process which runs already cannot take on any more."""
    return {name: value for name, value in environ.items() if name.startswith(AT_START)}


class Kernel:
    """A forked kernel as `LocalProvisioner` looks at a process: the methods of `subprocess.Popen` that it calls.

    `connection` brings the exit status when the kernel ends; when it is closed here, or this process ends, the kernel
    is killed.
    """

    stdin = stdout = stderr = None

    def __init__(self, connection: socket.socket, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._connection = connection

    def poll(self) -> int | None:
        """The exit status as `Popen` has it, below zero for a signal; None while the kernel runs."""
        with suppress(BlockingIOError):
            self._take(waits=False)
        return self.returncode

    def wait(self) -> int | None:
        """Wait for the end, and give the exit status."""
        self._take(waits=True)
        return self.returncode

    def _take(self, *, waits: bool) -> None:
        if self.returncode is None:
            self._connection.setblocking(waits)
            status = self._connection.recv(_NUMBER)
            # without a word: the process that forks is gone, and its kernels with it
            self.returncode = int.from_bytes(status, signed=True) if status else -signal.SIGKILL
            self._connection.close()

    def send_signal(self, number: int) -> None:
        """Send a signal to the kernel alone, if it still runs."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Ask the kernel to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End the kernel."""
        self.send_signal(signal.SIGKILL)


class Forked(LocalProvisioner):
    """Has kernels of this interpreter forked; every other kernel starts as Jupyter starts it."""

    async def launch_kernel(self, cmd: list[str], **kwargs: Any) -> KernelConnectionInfo:
        """Fork a kernel, or start one where a fork would be another one than was asked for."""
        streams = {"stdin", "stdout", "stderr", "independent"} & set(kwargs)
        kernel = None
        if cmd[:3] == [sys.executable, "-m", "ipykernel_launcher"] and not streams:
            kernel = forked(cmd[3:], kwargs["env"], kwargs.get("cwd") or Path.cwd())
        if kernel is None:
            return await super().launch_kernel(cmd, **kwargs)
        self.process = kernel  # type: ignore[assignment] # it is asked for nothing else
        self.pid = self.pgid = kernel.pid  # it leads a session of its own
        self.cwd = kwargs.get("cwd", Path.cwd())
        return self.connection_info


def forked(arguments: list[str], environ: Mapping[str, str], folder: str | Path) -> Kernel | None:
    """Ask for a kernel with these arguments; None if no fork can have this environment."""
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.connect(os.environ[ADDRESS_SETTING])
        request = json.dumps([arguments, dict(environ), str(folder)]).encode()
        with Path(os.devnull).open("rb") as nothing:
            streams = [nothing.fileno(), 1, 2]
            socket.send_fds(connection, [len(request).to_bytes(_LENGTH)], streams)
            connection.sendall(request)
            pid = int.from_bytes(_exactly(connection, _NUMBER))
    except OSError:
        connection.close()
        raise
    if pid == NO_CHILD:
        connection.close()
        return None
    return Kernel(connection, pid)


def _exactly(connection: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        part = connection.recv(count - len(data))
        if not part:
            raise ConnectionResetError("the process that forks kernels has ended")
        data += part
    return data


def use_warm_kernels() -> None:
    """Let this process have its kernels forked, if `ADDRESS_SETTING` names where."""
    if ADDRESS_SETTING in os.environ:
        factory = KernelProvisionerFactory.instance()
        factory.provisioners[PROVISIONER] = EntryPoint(PROVISIONER, f"{__name__}:Forked", factory.GROUP_NAME)
        factory.default_provisioner_name = PROVISIONER


@contextmanager
def warm_kernels(environ: MutableMapping[str, str]) -> Iterator[None]:
    """Start the process that forks, and name its socket in `environ`, from which it starts; its kernels end with it."""
    with tempfile.TemporaryDirectory(prefix="rmqlab-forks-") as folder:
        address = f"{folder}/socket"
        with socket.socket(socket.AF_UNIX) as listening:  # already here, so that who asks early waits
            listening.bind(address)
            listening.listen(100)
            # -P: as in the kernels of `notebook_files.kernel_environment`, nothing comes from the current folder
            command = [sys.executable, "-P", "-m", __name__, str(listening.fileno())]
            kept = [listening.fileno()]
            server = subprocess.Popen(command, env=dict(environ), stdin=subprocess.PIPE, pass_fds=kept)  # noqa: S603
        try:
            environ[ADDRESS_SETTING] = address
            yield
        finally:
            del environ[ADDRESS_SETTING]
            server.communicate()


class Server:
    """Waits for requests at a socket, and forks a kernel for each; ends when its standard input does."""

    def __init__(self, listening: socket.socket) -> None:
        self._connections: dict[int, socket.socket] = {}  # by the process id of the kernel
        self._selector = selectors.DefaultSelector()
        self._socket = listening
        self._ended, ended = os.pipe()
        for end in (self._ended, ended):
            os.set_blocking(end, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the one that started this, which then closes stdin
        signal.set_wakeup_fd(ended, warn_on_full_buffer=False)
        for source in (0, self._ended, self._socket):
            self._selector.register(source, selectors.EVENT_READ)

    def next_kernel(self) -> list[str] | None:
        """Serve until a kernel is to be run, in the process that was forked for it: its arguments; None at the end."""
        while True:
            for key, _ in self._selector.select():
                if key.fileobj == 0:
                    for pid in self._connections:
                        _kill(pid)
                    return None
                if key.fileobj == self._ended:
                    self._report()
                elif key.fileobj is self._socket:
                    arguments = self._fork(self._socket.accept()[0])
                    if arguments is not None:
                        return arguments
                else:  # who asked has gone
                    self._selector.unregister(key.fileobj)
                    _kill(key.data)

    def _report(self) -> None:
        """Tell those who asked for them of kernels that have ended."""
        with suppress(BlockingIOError):
            os.read(self._ended, 1_000)
        with suppress(ChildProcessError):
            while (child := os.waitpid(-1, os.WNOHANG))[0]:
                connection = self._connections.pop(child[0])
                with suppress(OSError):
                    connection.send(os.waitstatus_to_exitcode(child[1]).to_bytes(_NUMBER, signed=True))
                with suppress(KeyError):
                    self._selector.unregister(connection)
                connection.close()

    def _fork(self, connection: socket.socket) -> list[str] | None:
        length, streams, _, _ = socket.recv_fds(connection, _LENGTH, 3)
        arguments, environ, folder = json.loads(_exactly(connection, int.from_bytes(length)))
        same = settings_at_start(environ) == settings_at_start(os.environ)
        pid = os.fork() if same else NO_CHILD
        if same and pid == NO_CHILD:
            self._leave()
            connection.close()
            _become(streams, {**environ, PARENT: os.environ[PARENT]}, folder)
            return list(arguments)
        for stream in streams:
            os.close(stream)
        connection.send(pid.to_bytes(_NUMBER))
        if pid == NO_CHILD:
            connection.close()
        else:
            self._connections[pid] = connection
            self._selector.register(connection, selectors.EVENT_READ, pid)
        return None

    def _leave(self) -> None:
        """Let go, in a kernel, of what is the server's."""
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGCHLD, signal.SIGINT):
            signal.signal(number, signal.SIG_DFL if number == signal.SIGCHLD else signal.default_int_handler)
        self._selector.close()
        self._socket.close()
        for connection in self._connections.values():
            connection.close()


def _kill(pid: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def _become(streams: list[int], environ: dict[str, str], folder: str) -> None:
    """Make this fork what a started process would be."""
    os.setsid()
    for place, stream in enumerate(streams):
        os.dup2(stream, place)
        os.close(stream)
    os.environ.clear()
    os.environ.update(environ)
    time.tzset()
    os.chdir(folder)


def main(listening: int) -> None:
    """Import, serve, and in each fork run a kernel as `python -m ipykernel_launcher` does."""
    os.environ[PARENT] = str(os.getpid())  # ipykernel reads it where it is imported
    os.environ["PYDEVD_DISABLE_FILE_VALIDATION"] = "1"  # the debugger warns in a kernel, where nobody sees it
    for module in IMPORTED:
        import_module(module)
    gc.collect()
    gc.freeze()  # what all forks have stays shared
    arguments = Server(socket.socket(fileno=listening)).next_kernel()
    if arguments is not None:
        from ipykernel import kernelapp

        sys.argv[:] = [str(Path(import_module("ipykernel_launcher").__file__ or "")), *arguments]
        kernelapp.launch_new_instance()


if __name__ == "__main__":
    main(int(sys.argv[1]))
