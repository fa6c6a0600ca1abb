"""Files that somebody names are read, looked at and written by `rmqlab.files` alone: what may be elsewhere is here."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from rmqlab.checkout import ROOT

READS = {"open", "read_text", "read_bytes", "fromfile", "read_table", "pofile"}
WRITES = {"write_text", "write_bytes", "write_table"}
LOOKS = {"exists", "is_file", "is_dir", "iterdir", "stat", "scandir"}
# What lies in the package or in data/: it is ours, and no stranger writes it.
OURS = {
    "rmqlab/checkout.py",
    "rmqlab/language.py",
    "rmqlab_tools/cli/arguments.py",
    "rmqlab_tools/course/articles/e1_expected.py",
    "rmqlab_tools/course/articles/experiments.py",
    "rmqlab_tools/course/check.py",
    "rmqlab_tools/course/checks_05.py",
    "rmqlab_tools/course/in_language.py",
    "rmqlab_tools/course/article_places.py",
    "rmqlab_tools/course/quiz.py",
    "rmqlab_tools/course/rule_judge.py",
    "rmqlab_tools/doctor/decoder.py",
    "rmqlab_tools/extras.py",
    "rmqlab_tools/java_runtime.py",
    "rmqlab_tools/spark/events.py",
    "rmqlab_tools/show/film/film.py",
    "rmqlab_tools/spark/matrix/recorded.py",
    "rmqlab_tools/spark/matrix/stored.py",
}
PLACES = ("rmqlab.files", "rmqlab_tools.spark.files.stored_files")
"""The modules whose functions do it; the second one leaves files of this machine to the first."""
REASONS = {
    "rmqlab_tools/spark/files/stored_files.py": "files at an address; those of this machine are read by `rmqlab.files`",
    "rmqlab/files.py": "the place where it is done",
    "rmqlab_tools/processes.py": "/proc, which is the kernel's",
    "rmqlab_tools/cli/cli.py": "/dev/null, once standard output is closed",
    "rmqlab_tools/cli/output.py": "a descriptor of its own for --json -; folders for results, whose errors it tells",
    "rmqlab_tools/cli/__init__.py": "no file is read: whether `./lab` is to install what a folder of code needs",
    "rmqlab_tools/cli/notebook.py": "a learner's own copy and Jupyter's settings",
    "rmqlab_tools/course/learner_copy.py": "a learner's own copy, which it has made",
    "rmqlab_tools/course/progress.py": "a learner's own notes, in the copy",
    "rmqlab_tools/course/my_rules.py": "a learner's own rules, in the copy",
    "rmqlab_tools/spark/archived/pivoted_files.py": "a file of an archive, which counts once `archive.json` names it",
    "rmqlab_tools/spark/audit_store.py": "a file of its own in a temporary folder",
    "rmqlab_tools/live/broker_startup.py": "no file: the store folder is taken",
    "rmqlab_tools/live/configuration_files.py": "a broker's own files, in the folder that it has locked",
    "rmqlab_tools/live/file_segments.py": "a broker's own files, in the folder that it has locked",
    "rmqlab_tools/live/store_folder.py": "a broker's own files, in the folder that it has locked",
    "rmqlab_tools/live/serve_config.py": "whether rules of access control lie beside a settings file that was read",
    "rmqlab_tools/live/tap_recording.py": "the recording that it writes",
    "rmqlab_tools/live/tls.py": "a certificate of its own in a temporary folder",
    "rmqlab_tools/recordings/store.py": "an archive, unpacked within limits; what is unpacked is looked at",
    "rmqlab_tools/spark/sweeps/results.py": "Parquet of streams that `open_regular` opened, and into an `atomic_write`",
    "rmqlab_tools/cli/audit.py": "Parquet into an `atomic_write`",
    "rmqlab_tools/spark/files/commit_log_files.py": "a folder of thousands, listed at once; its errors are told",
}
ATOMIC = {
    "rmqlab_tools/cli/audit.py",
    "rmqlab_tools/doctor/snapshot_json.py",
    "rmqlab_tools/doctor/report.py",
    "rmqlab_tools/spark/archived/manifest.py",
    "rmqlab_tools/course/notebooks.py",
}
"""Modules that write a part file inside `atomic_write`."""


def calls(path: Path, names: set[str]) -> list[str]:
    """Calls of these names in a module, with their lines, but for those of `rmqlab.files`' own functions."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    imported = {
        one.asname or one.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module in PLACES
        for one in node.names
    }
    found = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        function = node.func
        if isinstance(function, ast.Name) and (function.id not in names or function.id in imported):
            continue
        if isinstance(function, ast.Attribute) and function.attr not in names:
            continue
        if isinstance(function, ast.Name | ast.Attribute):
            found.append(f"{path.relative_to(ROOT).as_posix()}:{node.lineno}: {ast.unparse(function)}()")
    return found


MODULES = {
    path.relative_to(ROOT).as_posix(): path
    for path in sorted([*(ROOT / "rmqlab").rglob("*.py"), *(ROOT / "rmqlab_tools").rglob("*.py")])
}


def test_files_of_others_are_read_looked_at_and_written_through_one_module():
    allowed = OURS | REASONS.keys()
    told = [one for name, path in MODULES.items() if name not in allowed for one in calls(path, READS | LOOKS)]
    told += [one for name, path in MODULES.items() if name not in allowed | ATOMIC for one in calls(path, WRITES)]
    assert told == []


@pytest.mark.parametrize("name", sorted(OURS | REASONS.keys() | ATOMIC))
def test_what_may_be_elsewhere_is_still_there(name):
    assert name in MODULES
    if name != "rmqlab/files.py":
        assert calls(MODULES[name], READS | LOOKS | WRITES)


def test_the_guard_sees_what_it_is_for(tmp_path, monkeypatch):
    monkeypatch.setattr("tests.test_file_reads.ROOT", tmp_path)
    path = tmp_path / "a.py"
    path.write_text(
        "from rmqlab.files import exists, read_text\n"
        "exists(p); read_text(p)\n"
        "p.read_text(); open(p); np.fromfile(p); p.exists()\n"
    )
    told = [one.rpartition(" ")[2] for one in calls(path, READS | LOOKS)]
    assert sorted(told) == ["np.fromfile()", "open()", "p.exists()", "p.read_text()"]
