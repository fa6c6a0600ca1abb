"""JupyterLite on the site: lessons that run in the reader's browser, Pyodide and packages from the site itself.

Packages of Python alone are taken from this environment, so they are the versions that the lessons were made with.
pandas is not among them: neither it nor numpy has a wheel for Pyodide's Python in the registry.
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
from rmqlab.language import ENGLISH, LANGUAGES, SETTING
from tests.proof.learner_copy import in_language, learners
from tests.proof.notebook_files import write
from tests.proof.site.playgrounds import CORE, EPOCH, fetch, pyodide, tree

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

LESSONS = ("01", "02", "03", "04", "06", "07", "08", "09")
KERNEL = "@jupyterlite/pyodide-kernel-extension:kernel"
MICROPIP = "0.11.1"
# What a notebook's kernel imports, and what lessons import: pure Python, with all that they need in turn.
PURE = (
    "ipython", "ipython-pygments-lexers", "jedi", "parso", "matplotlib-inline", "prompt-toolkit", "wcwidth", "pygments",
    "stack-data", "executing", "asttokens", "pure-eval", "traitlets", "comm", "ipywidgets", "drawsvg", "polib",
)  # fmt: skip
UNWANTED = ("__pycache__", "tests", "test", "third_party")  # folders
NO_PANDAS = '''"""Stands in for pandas, which has no build for this Python: whoever asks it for something is told so."""


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    raise NotImplementedError(
        "this cell makes a table with pandas, which cannot run in this page; the lesson's page on this site shows what "
        "comes out, and an installed rmqlab runs it"
    )
'''
SPEAKS = "import os\n\nos.environ[{setting!r}] = {language!r}"


def assemble(out: Path) -> None:
    """Write JupyterLite with the lessons that can run there into the folder `out`; `list.json` names them.

    Raises:
        BadInput: what lies outside the source tree cannot be fetched, or JupyterLite cannot be built.
    """
    with tempfile.TemporaryDirectory(prefix="rmqlab-lite-") as scratch:
        folder = Path(scratch)
        core = folder / "static" / "pyodide"
        core.mkdir(parents=True)
        names = _distribution(core)
        settings = {"disablePyPIFallback": True, "loadPyodideOptions": {"packages": names}}
        config = {"appName": "rmqlab", "exposeAppInBrowser": True, "litePluginSettings": {KERNEL: settings}}
        told = {"jupyter-lite-schema-version": 0, "jupyter-config-data": config}
        (folder / "jupyter-lite.json").write_text(json.dumps(told), encoding="utf-8")
        known = _lessons(folder / "lessons")
        command = [sys.executable, "-m", "jupyterlite_core.app", "build", "--contents", "lessons", "--no-sourcemaps"]
        ran = subprocess.run(  # noqa: S603
            [*command, "--output-dir", "out"], cwd=folder, check=False, capture_output=True, text=True
        )
        if ran.returncode:
            raise BadInput(f"JupyterLite cannot be built: {(ran.stderr or ran.stdout).strip()[-500:]}")
        (folder / "out" / "list.json").write_text(json.dumps(known), encoding="utf-8")
        shutil.copytree(folder / "out", out, dirs_exist_ok=True)


def _distribution(core: Path) -> list[str]:
    """Pyodide and every package with the list that Pyodide reads (`pyodide-lock.json`); gives their names."""
    place = pyodide()
    for name in CORE:
        shutil.copy(place / "node_modules" / "pyodide" / name, core / name)
    known: dict[str, dict[str, Any]] = {}
    for name, number, file, content in _packages(place):
        (core / file).write_bytes(content)
        known[name] = {
            "name": name, "version": number, "file_name": file, "sha256": hashlib.sha256(content).hexdigest(),
            "install_dir": "site", "package_type": "package", "imports": [], "depends": [], "unvendored_tests": False,
        }  # fmt: skip
    lock = json.loads((place / "node_modules" / "pyodide" / "pyodide-lock.json").read_text(encoding="utf-8"))
    told = {"info": lock["info"], "packages": known}
    (core / "pyodide-lock.json").write_text(json.dumps(told), encoding="utf-8")
    return list(known)


def _packages(place: Path) -> Iterator[tuple[str, str, str, bytes]]:
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
    yield "rmqlab", version("rmqlab"), "rmqlab.zip", _zip([*_package(), ("pandas.py", NO_PANDAS.encode())])


def _installed(name: str) -> Iterator[tuple[str, bytes]]:
    """The files of an installed package; a compiled module is left out, for the package has the same in Python."""
    for file in distribution(name).files or ():
        wanted = not file.parts[0].startswith("..") and not set(file.parts) & set(UNWANTED)
        if wanted and file.suffix not in {".so", ".pyi"} and file.name != "RECORD":
            yield file.as_posix(), Path(str(file.locate())).read_bytes()


def _package() -> Iterator[tuple[str, bytes]]:
    """This package with the data that its wheel brings."""
    yield from tree(ROOT / "rmqlab", "rmqlab")
    told = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    for name in told["tool"]["hatch"]["build"]["targets"]["wheel"]["only-include"]:
        path = ROOT / name
        if name.startswith("data/"):
            yield from tree(path, f"rmqlab/{name}") if path.is_dir() else [(f"rmqlab/{name}", path.read_bytes())]


def _zip(files: Iterable[tuple[str, bytes]]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, content in files:
            archive.writestr(zipfile.ZipInfo(name, EPOCH), content, zipfile.ZIP_DEFLATED)
    return packed.getvalue()


def _lessons(folder: Path) -> list[dict[str, str]]:
    """The learner's copies, those of other languages in folders of their own; gives path and titles of each lesson."""
    known = []
    for source in sorted((ROOT / "notebooks").glob("**/*.ipynb")):
        inner = source.relative_to(ROOT / "notebooks")
        if source.name[:2] not in LESSONS or inner.parts[0] == "solutions":
            continue
        titles = {}
        for language in LANGUAGES:
            mine = learners(in_language(source, language))
            titles[language] = mine["cells"][0]["source"].partition("\n")[0].lstrip("# ")
            if language != ENGLISH:
                mine["cells"].insert(1, _cell(SPEAKS.format(setting=SETTING, language=language)))
            write((folder if language == ENGLISH else folder / language) / inner, mine)
        if len(inner.parts) == 1:
            known.append({"path": inner.as_posix(), **titles})
    return known


def _cell(source: str) -> dict[str, Any]:
    told = {"tags": ["hide-input"]}
    return {"cell_type": "code", "id": "language", "metadata": told, "source": source, "outputs": [],
            "execution_count": None}  # fmt: skip
