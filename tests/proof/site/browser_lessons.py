"""JupyterLite on the site: lessons that run in the reader's browser, Pyodide and packages from the site itself.

Packages of Python alone are taken from this environment, so they are the versions that the lessons were made with.
pandas is not among them: neither it nor numpy has a wheel for Pyodide's Python in the registry. A cell that needs it
says so, and shows what the lesson has there (`browser_cells.py`); Pyodide itself is that of the playgrounds.
"""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from importlib.metadata import distribution, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rmqlab.checkout import ROOT
from rmqlab.errors import BadInput
from rmqlab.language import ENGLISH, LANGUAGES
from rmqlab_tools.course.learner_copy import begin_with_setting, in_language, learners
from tests.proof.notebook_files import WIDGET_MIME, write
from tests.proof.site import browser_cells
from tests.proof.site.browser_cells import digest
from tests.proof.site.lesson_cards import lessons
from tests.proof.site.playgrounds import EPOCH, fetch, pyodide, tree

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

LESSONS = ("01", "02", "03", "04", "05", "06", "07", "08", "09", "10", "14")
Shown = dict[str, dict[str, list[dict[str, str]]]]  # language to digest of a cell to its outputs, by MIME type
KERNEL = "@jupyterlite/pyodide-kernel-extension:kernel"
MICROPIP = "0.11.1"
# What a notebook's kernel imports, and what lessons import: pure Python, with all that they need in turn.
PURE = (
    "ipython", "ipython-pygments-lexers", "jedi", "parso", "matplotlib-inline", "prompt-toolkit", "wcwidth", "pygments",
    "stack-data", "executing", "asttokens", "pure-eval", "traitlets", "comm", "ipywidgets", "drawsvg", "polib",
)  # fmt: skip
UNWANTED = ("__pycache__", "tests", "test", "third_party")  # folders
NO_PANDAS = '''"""Stands in for pandas: whoever asks it for something is told that it is not here."""

from browser_cells import NotHere


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    raise NotHere("pandas")
'''
# The one copy of Pyodide is that of the playgrounds.
PYODIDE = """// JupyterLite's kernel starts Python from here; its files are those of the playgrounds.
import { start } from "../../../python.js";

export async function loadPyodide(options) {
  const known = await fetch(new URL("../../../files.json", import.meta.url), { cache: "no-cache" });
  return (await start(await known.json(), options)).python;
}
"""
# Of the package's data, what only lessons about Spark read: they are not there.
LEFT_OUT = ("data/cluster", "data/golden/broker-4.8.0/audit", "data/sweeps")
FIRST = "import browser_cells\n\nbrowser_cells.begin({language!r}, {place!r})"


def assemble(out: Path) -> None:
    """Write JupyterLite with the lessons into the folder `out` below the playgrounds; `list.json` names the lessons.

    Raises:
        BadInput: what lies outside the source tree cannot be fetched, or JupyterLite cannot be built.
    """
    with tempfile.TemporaryDirectory(prefix="rmqlab-lite-") as scratch:
        folder = Path(scratch)
        core = folder / "static" / "pyodide"
        core.mkdir(parents=True)
        copies = _Lessons(folder / "lessons")
        names = _distribution(core, copies.shown)
        settings = {"disablePyPIFallback": True, "loadPyodideOptions": {"packages": names}}
        config = {"appName": "rmqlab", "exposeAppInBrowser": True, "litePluginSettings": {KERNEL: settings}}
        settings_file = {"jupyter-lite-schema-version": 0, "jupyter-config-data": config}
        (folder / "jupyter-lite.json").write_text(json.dumps(settings_file), encoding="utf-8")
        command = [sys.executable, "-m", "jupyterlite_core.app", "build", "--contents", "lessons", "--no-sourcemaps"]
        ran = subprocess.run(  # noqa: S603
            [*command, "--output-dir", "out"], cwd=folder, check=False, capture_output=True, text=True
        )
        if ran.returncode:
            raise BadInput(f"JupyterLite cannot be built: {(ran.stderr or ran.stdout).strip()[-500:]}")
        (folder / "out" / "list.json").write_text(json.dumps(copies.known), encoding="utf-8")
        shutil.copytree(folder / "out", out, dirs_exist_ok=True)


def _distribution(core: Path, shown: Shown) -> list[str]:
    """Every package, the list of them that Pyodide reads (`pyodide-lock.json`), and where it is; gives their names."""
    place = pyodide()
    (core / "pyodide.mjs").write_text(PYODIDE, encoding="utf-8")
    known: dict[str, dict[str, Any]] = {}
    for name, number, file, content in _packages(place, shown):
        (core / file).write_bytes(content)
        known[name] = {
            "name": name, "version": number, "file_name": file, "sha256": hashlib.sha256(content).hexdigest(),
            "install_dir": "site", "package_type": "package", "imports": [], "depends": [], "unvendored_tests": False,
        }  # fmt: skip
    lock = json.loads((place / "node_modules" / "pyodide" / "pyodide-lock.json").read_text(encoding="utf-8"))
    lock_file = {"info": lock["info"], "packages": known}
    (core / "pyodide-lock.json").write_text(json.dumps(lock_file), encoding="utf-8")
    return list(known)


def _packages(place: Path, shown: Shown) -> Iterator[tuple[str, str, str, bytes]]:
    """Name, version, file name and content of each package."""
    for name in PURE:
        number = version(name)
        yield name, number, f"{name}-{number}.zip", _zip(_installed(name))
    kernel = Path(sys.prefix) / "share" / "jupyter" / "labextensions" / KERNEL.partition(":")[0] / "static" / "pypi"
    if not list(place.glob("micropip-*.whl")):
        wanted = ["--no-deps", "--only-binary=:all:", "--python-version", "314", "--dest", str(place)]
        fetch(sys.executable, "-m", "pip", "download", "--quiet", *wanted, f"micropip=={MICROPIP}")
    wheels = [next(kernel.glob(f"{name}-*.whl")) for name in ("ipykernel", "piplite", "pyodide_kernel")]
    for wheel in [*wheels, *place.glob("micropip-*.whl"), *place.glob("msgspec-*.whl")]:
        name, number, *_ = wheel.name.split("-")
        yield name.replace("_", "-"), number, wheel.name, wheel.read_bytes()
    yield "rmqlab", version("rmqlab"), "rmqlab.zip", _zip(_package())
    yield "browser-cells", version("rmqlab"), "browser_cells.zip", _zip(_beside(shown))


def _installed(name: str) -> Iterator[tuple[str, bytes]]:
    """The files of an installed package; a compiled module is left out, for the package has the same in Python."""
    for file in distribution(name).files or ():
        wanted = not file.parts[0].startswith("..") and not set(file.parts) & set(UNWANTED)
        if wanted and file.suffix not in {".so", ".pyi"} and file.name != "RECORD":
            yield file.as_posix(), Path(str(file.locate())).read_bytes()


def _package() -> Iterator[tuple[str, bytes]]:
    """Both packages with the data that their wheel brings, as far as lessons here read it; lesson 10 replays."""
    for name in ("rmqlab", "rmqlab_tools", "tests/proof/replay"):
        yield from tree(ROOT / name, name)
    yield "tests/proof/commands/__init__.py", (ROOT / "tests/proof/commands/__init__.py").read_bytes()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    for name in project["tool"]["hatch"]["build"]["targets"]["wheel"]["only-include"]:
        path = ROOT / name
        if name.startswith("data/") and name not in LEFT_OUT:
            yield from tree(path, f"rmqlab/{name}") if path.is_dir() else [(f"rmqlab/{name}", path.read_bytes())]


def _zip(files: Iterable[tuple[str, bytes]]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, content in files:
            archive.writestr(zipfile.ZipInfo(name, EPOCH), content, zipfile.ZIP_DEFLATED)
    return packed.getvalue()


def _beside(shown: Shown) -> Iterator[tuple[str, bytes]]:
    """What a lesson's kernel has besides packages: a word for what is not there, and what cells show elsewhere."""
    yield "pandas.py", NO_PANDAS.encode()
    yield "browser_cells.py", Path(browser_cells.__file__).read_bytes()
    texts = json.loads((ROOT / "docs" / "playgrounds" / "words.json").read_text(encoding="utf-8"))
    texts_shown = {language: {"words": texts[language]["lessons"], "shown": shown[language]} for language in LANGUAGES}
    yield f"{browser_cells.FOLDER}/shown.json", json.dumps(texts_shown, ensure_ascii=False).encode()
    for name in browser_cells.PLACES:
        yield f"{browser_cells.FOLDER}/{name}/.gitkeep", b""  # a folder of its own, in which a lesson runs


class _Lessons:
    """Learner's copies, those of other languages in folders of their own.

    `known` has the path of each lesson and its card in each language, `shown` the outputs of their cells.
    """

    def __init__(self, folder: Path) -> None:
        """Write the copies into `folder`."""
        self.known: list[dict[str, Any]] = []
        self.shown: Shown = {language: {} for language in LANGUAGES}
        for source in sorted((ROOT / "notebooks").glob("**/*.ipynb")):
            inner = source.relative_to(ROOT / "notebooks")
            if source.name[:2] in LESSONS and inner.parts[0] != "solutions":
                for language in LANGUAGES:
                    self._write(source, folder if language == ENGLISH else folder / language, language)
                if len(inner.parts) == 1:
                    cards = {language: self._card(source.stem, language) for language in LANGUAGES}
                    self.known.append({"path": inner.as_posix(), **cards})

    @staticmethod
    def _card(name: str, language: str) -> dict[str, Any]:
        return next(lesson._asdict() for lesson in lessons(language) if lesson.name == name)

    def _write(self, source: Path, folder: Path, language: str) -> None:
        """Write the copy in one language, and take down its outputs."""
        inner = source.relative_to(ROOT / "notebooks")
        lesson = in_language(source, language)
        mine = learners(lesson)
        for cell, ran in zip(mine["cells"], lesson["cells"], strict=True):
            if cell["cell_type"] == "code":
                self.shown[language][digest("".join(cell["source"]))] = [
                    data for output in ran["outputs"] if (data := _data(output))
                ]
        place = browser_cells.PLACES[len(inner.parts) - 1]
        (folder / inner).parent.mkdir(parents=True, exist_ok=True)
        begin_with_setting(mine, lesson, folder / inner)
        mine["cells"].insert(1, _cell(FIRST.format(language=language, place=place)))
        write(folder / inner, mine)


def _data(output: dict[str, Any]) -> dict[str, str]:
    """An output as MIME types and texts; nothing of an error."""
    if "text" in output:
        return {"text/plain": "".join(output["text"])}
    return {kind: "".join(text) for kind, text in output.get("data", {}).items() if kind != WIDGET_MIME}


def _cell(source: str) -> dict[str, Any]:
    metadata = {"tags": ["hide-input"]}
    return {"cell_type": "code", "id": "in-the-browser", "metadata": metadata, "source": source, "outputs": [],
            "execution_count": None}  # fmt: skip
