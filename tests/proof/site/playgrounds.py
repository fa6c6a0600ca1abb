"""The playgrounds of the site: pages that run this package in a browser, and the Python they need.

Pyodide (CPython as WebAssembly) comes from npm and the one compiled package of the core from the Python registry; both
are kept in `.venv`. Files that a first visit has to fetch are packed, because a plain server does not pack them, and
named by their content, so that a browser may keep them.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import shutil
import subprocess
import sys
import tempfile
import zipfile
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rmqlab.checkout import ROOT, checkout_path
from rmqlab.errors import BadInput
from tests.proof.site import playground_pages
from tests.proof.site.build import OLD_ADDRESS

if TYPE_CHECKING:
    from collections.abc import Iterator

PYODIDE = "314.0.7"
MSGSPEC_PLATFORM = ("--platform", "pyemscripten_2026_0_wasm32", "--python-version", "314", "--implementation", "cp")
ONE_CALL_S = 300
CORE = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip")
PURE = ("drawsvg", "polib")
# Rooms of the package that no page opens.
LEFT_OUT = ("spark", "cli", "course", "doctor", "live/extra")
COMPILER = Path(__file__).with_name("compile.mjs")
EPOCH = (1980, 1, 1, 0, 0, 0)  # of every file in the zip: the same bytes from the same sources


def pyodide() -> Path:
    """The folder with Pyodide (`node_modules/pyodide`) and msgspec's wheel for it, fetched when first asked for.

    Raises:
        BadInput: npm is missing, or a registry cannot be reached.
    """
    place = Path(sys.prefix) / f"pyodide-{PYODIDE}"
    if not (place / "node_modules" / "pyodide").is_dir():
        npm = shutil.which("npm")
        if npm is None:
            raise BadInput("npm is not installed, and Pyodide comes from there: apt-get install nodejs npm")
        place.mkdir(exist_ok=True)
        fetch(npm, "install", "--silent", "--no-package-lock", "--prefix", str(place), f"pyodide@{PYODIDE}")
    if not list(place.glob("msgspec-*.whl")):
        wanted = ["--no-deps", "--only-binary=:all:", *MSGSPEC_PLATFORM, "--abi", "cp314", "--dest", str(place)]
        fetch(sys.executable, "-m", "pip", "download", "--quiet", *wanted, f"msgspec=={version('msgspec')}")
    return place


def fetch(*command: str) -> None:
    """Bring a package from its registry."""
    ran = subprocess.run(command, check=False, capture_output=True, text=True, timeout=ONE_CALL_S)  # noqa: S603
    if ran.returncode:
        raise BadInput(f"{command[-1]} cannot be fetched: {ran.stderr.strip()[-300:]}")


def packages(place: Path) -> Iterator[tuple[str, bytes]]:
    """Name and content of every file that Python in a browser imports: this package and its core packages."""
    (wheel,) = place.glob("msgspec-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        for name in sorted(archive.namelist()):
            if not name.endswith((".pyi", "/")) and ".dist-info/" not in name:
                yield name, archive.read(name)
    for name in PURE:
        spec = find_spec(name)
        origin = Path(spec.origin or "") if spec is not None else Path()
        yield from tree(origin.parent, name) if origin.name == "__init__.py" else [(origin.name, origin.read_bytes())]
    for package in ("rmqlab", "rmqlab_tools"):
        for name, content in tree(ROOT / package, package):
            if not name.startswith(tuple(f"rmqlab_tools/{room}/" for room in LEFT_OUT)):
                yield name, content
    for file in sorted(checkout_path("docs").joinpath("playgrounds").glob("*.py")):
        yield file.name, file.read_bytes()


def tree(top: Path, name: str) -> Iterator[tuple[str, bytes]]:
    """Name, below `name`, and content of every file below a folder."""
    for path in sorted(top.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            yield f"{name}/{path.relative_to(top).as_posix()}", path.read_bytes()


def assemble(out: Path) -> None:
    """Write the playgrounds into the folder `out`: pages, Pyodide, packages; `files.json` lists the large ones.

    Raises:
        BadInput: what lies outside the source tree cannot be fetched.
    """
    place = pyodide()
    core = place / "node_modules" / "pyodide"
    out.mkdir(parents=True, exist_ok=True)
    for file in sorted(checkout_path("docs").joinpath("playgrounds").iterdir()):
        if file.is_file() and file.suffix not in {".py", ".html"}:
            shutil.copy(file, out / file.name)
    playground_pages.write(out)
    files = {name: _kept(out, name, (core / name).read_bytes()) for name in CORE}
    files["site.zip"] = _kept(out, "site.zip", _compiled(place, _zip(packages(place))))
    lock = json.loads((core / "pyodide-lock.json").read_text(encoding="utf-8"))
    (out / "files.json").write_text(json.dumps({"info": lock["info"], "files": files}), encoding="utf-8")


OLD_PAGES = ("lessons/index.html", "lessons/lab/index.html")  # those of JupyterLite that people have saved


def redirect(out: Path) -> None:
    """Write into the folder `out` what leads from the address that the playgrounds had, `lab/`, to today's.

    What a link holds behind `?` and `#`, the state of a page, goes along.
    """
    pages = [file.name for file in sorted(checkout_path("docs").joinpath("playgrounds").glob("*.html"))]
    for name in (*pages, *OLD_PAGES):
        path = out / name
        path.parent.mkdir(parents=True, exist_ok=True)
        address = f"{'../' * (name.count('/') + 1)}playgrounds/{name}"
        path.write_text(OLD_ADDRESS.format(address=address), encoding="utf-8")


def _zip(files: Iterator[tuple[str, bytes]]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, content in files:
            archive.writestr(zipfile.ZipInfo(name, EPOCH), content, zipfile.ZIP_DEFLATED, 9)
    return packed.getvalue()


def _compiled(place: Path, source: bytes) -> bytes:
    """The zip with its modules compiled, which halves the time of their import; the last one is kept for the next time.

    Raises:
        BadInput: node is missing, or a module cannot be compiled.
    """
    name = f"compiled-{hashlib.sha256(source + COMPILER.read_bytes()).hexdigest()[:12]}.zip"
    made = place / name
    if not made.is_file():
        node = shutil.which("node")
        if node is None:
            raise BadInput("node is not installed, and Pyodide runs in it: apt-get install nodejs npm")
        with tempfile.TemporaryDirectory(dir=place) as folder:
            given, compiled = Path(folder) / "source.zip", Path(folder) / name
            given.write_bytes(source)
            command = [node, str(COMPILER), str(place / "node_modules" / "pyodide"), str(given), str(compiled)]
            ran = subprocess.run(command, check=False, capture_output=True, text=True, timeout=ONE_CALL_S)  # noqa: S603
            if ran.returncode:
                raise BadInput(f"the pages' Python cannot be compiled: {ran.stderr.strip()[-300:]}")
            for old in place.glob("compiled-*.zip"):
                old.unlink(missing_ok=True)
            compiled.replace(made)
    return made.read_bytes()


def _kept(out: Path, name: str, content: bytes) -> dict[str, Any]:
    """Write one large file under a name made of its content; a zip is packed as it is."""
    packed = not name.endswith(".zip")
    if packed:
        content = gzip.compress(content, mtime=0)
    stem, _, ending = name.rpartition(".")
    path = out / "python" / f"{stem}-{hashlib.sha256(content).hexdigest()[:12]}.{ending}{'.packed' if packed else ''}"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)
    return {"path": path.relative_to(out).as_posix(), "bytes": len(content), "packed": packed}
