"""JupyterLab, and a headless Chromium driven through its debugging protocol: open, look, press, take a picture."""

from __future__ import annotations

import base64
import contextlib
import itertools
import json
import os
import re
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest
import websocket

from rmqlab.checkout import ROOT

LEFT = re.compile("navigated or closed|context was destroyed|Cannot find context|Cannot find default execution context")
NAMES = ("chromium", "chromium-browser", "google-chrome")
KEYS = {
    "Tab": (9, "\t"), "Enter": (13, "\r"), " ": (32, " "), "End": (35, ""), "Home": (36, ""),
    "Escape": (27, ""), "ArrowLeft": (37, ""), "ArrowRight": (39, ""),
}  # fmt: skip
# No question about news, and no cell left undrawn because it is off the screen.
SETTINGS = {
    "@jupyterlab/apputils-extension/notification": {"fetchNews": "false"},
    "@jupyterlab/notebook-extension/tracker": {"windowingMode": "none"},
}


def program():
    """Path of a Chromium, or None."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class BrowserError(AssertionError):
    """The page did not do what was waited for."""


class PageLeftError(BrowserError):
    """The page was left for another one while it was asked."""


class Page:
    """One tab. ``evaluate`` runs JavaScript in it, ``until`` waits for an expression to become true."""

    def __init__(self, address):
        self._socket = websocket.create_connection(address, suppress_origin=True, timeout=60)
        self._ids = itertools.count(1)
        self.events = []  # what was told meanwhile: method and parameters, of the domains that were enabled

    def call(self, method, **parameters):
        number = next(self._ids)
        self._socket.send(json.dumps({"id": number, "method": method, "params": parameters}))
        while True:
            answer = json.loads(self._socket.recv())
            if "method" in answer:
                self.events.append((answer["method"], answer["params"]))
            if answer.get("id") == number:
                if "error" in answer:
                    message = answer["error"]["message"]
                    raise (PageLeftError if LEFT.search(message) else BrowserError)(f"{method}: {message}")
                return answer["result"]

    def evaluate(self, script):
        result = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            details = result["exceptionDetails"]
            raise BrowserError(details.get("exception", {}).get("description", details["text"]))
        return result["result"].get("value")

    def until(self, script, what, seconds=60):
        """Wait until the expression is true and return its value."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            with contextlib.suppress(
                PageLeftError
            ):  # the page was left while it was asked: the next one is asked again
                if value := self.evaluate(script):
                    return value
            time.sleep(0.1)
        raise BrowserError(f"waited {seconds} s in vain for: {what}")

    def open(self, url):
        self.call("Page.enable")
        self.call("Page.navigate", url=url)

    def resize(self, width, height=1600):
        """Make the window so wide and high, in pixels."""
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False
        )  # fmt: skip

    def press(self, key):
        """Press and release one key, where the focus is."""
        number, text = KEYS[key]
        extra = {"text": text} if text else {}
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=number, **extra)
            extra = {}

    def type(self, text):
        """Type text where the focus is."""
        self.call("Input.insertText", text=text)

    def picture(self, path):
        """Write what the window shows as PNG."""
        data = self.call("Page.captureScreenshot", format="png")["data"]
        Path(path).write_bytes(base64.b64decode(data))


@contextlib.contextmanager
def browser(width=1280, height=1600, *flags):
    """A new Chromium with nothing in it; gives its one page. `flags` are further arguments of the program."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        command = [
            program(), "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
            "--remote-debugging-port=0", f"--user-data-dir={profile}", f"--window-size={width},{height}", *flags,
            "about:blank",
        ]  # fmt: skip
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            port = _port(Path(profile) / "DevToolsActivePort", process)
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/json/list", timeout=30) as answer:
                pages = [page for page in json.load(answer) if page["type"] == "page"]
            yield Page(pages[0]["webSocketDebuggerUrl"])
        finally:
            process.terminate()
            process.wait(timeout=30)


def _port(file, process):
    """The port that Chromium chose."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        if file.is_file() and (text := file.read_text(encoding="utf-8")).strip():
            return int(text.splitlines()[0])
        if process.poll() is not None:
            raise BrowserError(f"{program()} ended with status {process.returncode}")
        time.sleep(0.1)
    raise BrowserError("Chromium opened no debugging port")


@contextlib.contextmanager
def jupyterlab(folder):
    """JupyterLab of this environment on a copy of notebooks/ in ``folder``, data/ beside; gives (address, token)."""
    shutil.copytree(ROOT / "notebooks", folder / "notebooks")
    (folder / "data").symlink_to(ROOT / "data")
    for name, setting in SETTINGS.items():
        path = folder / "settings" / f"{name}.jupyterlab-settings"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(setting), encoding="utf-8")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    token = secrets.token_hex(16)
    environment = os.environ | {
        "JUPYTERLAB_SETTINGS_DIR": str(folder / "settings"),
        "JUPYTER_CONFIG_DIR": str(folder / "config"),
        "JUPYTER_DATA_DIR": str(folder / "jupyter"),
        "JUPYTER_RUNTIME_DIR": str(folder / "runtime"),
    }
    command = [
        sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--ServerApp.ip=127.0.0.1",
        f"--ServerApp.port={port}", f"--ServerApp.root_dir={folder / 'notebooks'}", f"--IdentityProvider.token={token}",
        "--LabApp.expose_app_in_browser=True", "--LabApp.news_url=",
    ]  # fmt: skip
    log = folder / "jupyterlab.log"
    with log.open("wb") as output:
        process = subprocess.Popen(command, env=environment, stdout=output, stderr=subprocess.STDOUT)
    try:
        address = f"http://127.0.0.1:{port}"
        _wait_for(f"{address}/api/status?token={token}", process, log)
        yield address, token
    finally:
        process.terminate()
        process.wait(timeout=60)


def _wait_for(url, process, log):
    end = time.monotonic() + 120
    while time.monotonic() < end:
        with contextlib.suppress(urllib.error.URLError):
            urllib.request.urlopen(url, timeout=30).close()  # noqa: S310 - our own server
            return
        if process.poll() is not None:
            break
        time.sleep(0.2)
    raise BrowserError(f"JupyterLab does not answer:\n{log.read_text(encoding='utf-8')[-2_000:]}")


@pytest.fixture
def empty_page():
    """The page of a browser of its own."""
    if program() is None:
        pytest.skip("no Chromium here; on Debian and Ubuntu: apt install chromium")
    with browser() as page:
        yield page


@pytest.fixture(scope="session")
def notebook_page(tmp_path_factory):
    """Open a notebook in JupyterLab in the browser: ``notebook_page("01_eight_messages.ipynb")`` gives its page."""
    if program() is None:
        pytest.skip("no Chromium here; on Debian and Ubuntu: apt install chromium")
    with jupyterlab(tmp_path_factory.mktemp("lab")) as (address, token), browser() as page:

        def open_notebook(name):
            if page.evaluate("window.panel !== undefined"):  # leaving the page would ask about what is not saved
                page.evaluate("panel.context.sessionContext.shutdown().then(() => panel.dispose())")
                page.evaluate(f"void jupyterapp.commands.execute('docmanager:open', {{path: {name!r}}})")
            else:
                page.open(f"{address}/lab/tree/{name}?token={token}")
            panels = "[...(window.jupyterapp?.shell.widgets('main') ?? [])]"
            panel = f"{panels}.find(w => w.content?.widgets && w.context.path.endsWith({name!r}))"
            page.until(f"(window.panel = {panel}) !== undefined", f"{name} to open", 120)
            page.evaluate("jupyterapp.shell.activateById(panel.id)")
            page.until("panel.sessionContext.session?.kernel?.status === 'idle'", "its kernel", 120)
            return page

        yield open_notebook
