"""A disk that is full: one sentence, exit status 2, the old file where it was, and none that is half written."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from rmqlab.checkout import ROOT
from rmqlab.errors import BadInput
from rmqlab.scenario.scenario import read_scenarios
from rmqlab_tools.cli.cli import main
from rmqlab_tools.doctor.snapshot_json import save_look
from rmqlab_tools.live.tap_recording import TapRecording
from tests.proof.site.build import MARK, put_in_place
from tests.proof.stress.readers import READERS

FULL = "No space left on device"
PAGE = 4096
KEEPER = """
import subprocess, sys
subprocess.run(sys.argv[1:], check=True)
print("there", flush=True)
sys.stdin.read()
"""
BASE = ROOT / "data" / "golden" / "broker-4.8.0" / "base"
SCENARIOS = str(BASE / "scenarios.jsonl")
OLD = "what lay here before"


@pytest.fixture
def disk(tmp_path):
    """A disk of 64 kB; it lies in a namespace of mounts of its own, and is seen through /proc."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k,mode=777", "tmpfs", str(place)]
    alone = ["unshare", "-m" if os.geteuid() == 0 else "-rm"]
    with subprocess.Popen(
        [*alone, sys.executable, "-c", KEEPER, *mount],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as keeper:  # fmt: skip
        if keeper.stdout.readline() != "there\n":
            pytest.skip(f"this machine lets nobody mount a small disk: {keeper.stderr.read().strip()}")
        yield Path(f"/proc/{keeper.pid}/root{place}")
        keeper.stdin.close()  # which ends it, and its disk


def fill(disk, *, leave=0):
    """Take what room there is, but for so many pages."""
    with (disk / "ballast").open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(PAGE))
        except OSError:
            file.truncate(file.seek(0, os.SEEK_END) - leave * PAGE)


def refused(capsys, *arguments):
    assert main(list(map(str, arguments))) == 2
    out = capsys.readouterr()
    assert "Traceback" not in out.err
    (line,) = [line for line in out.err.splitlines() if FULL in line]
    return line


JSON_VERBS = {
    "lint": ["--member", "A:T=tagA", "--member", "B:T=tagB"],
    "sql92": ["a > 1"],
    "explain": ["SUBSCRIPTION_NOT_LATEST"],
    "simulate": [SCENARIOS, "--id", "p-article-000"],
    "explore": [f"{SCENARIOS}#p-article-000", "--budget", "3"],
    "plan": ["tagA", "tagB", "--budget", "3"],
}


@pytest.mark.parametrize("verb", JSON_VERBS)
def test_json_of_a_verb_is_whole_or_the_old_one(disk, capsys, verb):
    path = disk / "told.json"
    path.write_text(OLD)
    fill(disk)
    line = refused(capsys, verb, *JSON_VERBS[verb], "--json", path)
    assert str(path) in line
    assert path.read_text() == OLD
    assert sorted(one.name for one in disk.iterdir()) == ["ballast", "told.json"]


@pytest.mark.parametrize(
    ("verb", "option", "name"),
    [
        ("simulate", "--out", "events.jsonl"),
        ("simulate", "--schedule-out", "schedule.json"),
        ("explore", "--picture", "story.svg"),
        ("explore", "--schedules", ""),
        ("plan", "--schedules", ""),
    ],
)
def test_files_of_a_verb_are_whole_or_not_there(disk, capsys, verb, option, name):
    fill(disk)
    line = refused(capsys, verb, *JSON_VERBS[verb], option, disk / name)
    assert str(disk) in line
    assert [one.name for one in disk.iterdir()] == ["ballast"]


def test_what_a_file_was_half_written_to_is_not_there(disk, capsys):
    """The first page of it has room."""
    fill(disk, leave=1)
    assert FULL in refused(capsys, "simulate", *JSON_VERBS["simulate"], "--out", disk / "events.jsonl")
    assert [one.name for one in disk.iterdir()] == ["ballast"]


def test_the_doctors_report_and_looks(disk, capsys, tmp_path):
    look = tmp_path / "look.json"
    look.write_bytes(READERS["look"].examples()[0])
    fill(disk)
    line = refused(capsys, "doctor", "--recorded", look, "--report", disk)
    assert str(disk / "index.html") in line
    from rmqlab_tools.doctor.snapshot_json import read_look

    with pytest.raises(OSError, match=FULL) as error:
        save_look(read_look(look), disk / "look.json")
    assert error.value.filename == str(disk / "look.json")
    assert [one.name for one in disk.iterdir()] == ["ballast"]


def test_a_scenario_that_is_saved(disk):
    scenario = read_scenarios(Path(SCENARIOS))[0]
    fill(disk)
    with pytest.raises(BadInput, match=FULL):
        scenario.save(disk / "mine.jsonl")
    assert [one.name for one in disk.iterdir()] == ["ballast"]


@pytest.mark.parametrize("leave", [0, 1, 4])
def test_events_as_tables(disk, capsys, leave):
    pytest.importorskip("pyarrow", reason="pyarrow is not installed: ./lab test installs it")
    pytest.importorskip("pyspark", reason="PySpark is not installed: ./lab test installs it")
    fill(disk, leave=leave)
    line = refused(capsys, "events", SCENARIOS, "--id", "p-article-000", "--out", disk)
    assert str(disk) in line
    left = sorted(one.name for one in disk.iterdir())
    import pyarrow.parquet as pq

    assert all(pq.read_table(disk / name).num_rows >= 0 for name in left if name != "ballast")
    assert not [name for name in left if name.startswith(".")]


@pytest.mark.parametrize("leave", [0, 2])
def test_the_rows_of_a_sweep(disk, capsys, leave):
    """What is whole is gone on with when there is room again."""
    pytest.importorskip("pyarrow", reason="pyarrow is not installed: ./lab test installs it")
    folder = disk / "sweep"
    folder.mkdir()
    fill(disk, leave=leave)
    sweep = ["sweep", "heartbeats", "--set", "clients=5", "--set", "lost=0.1", "--spark", "none", "--out", folder]
    line = refused(capsys, *sweep, "--rows-a-task", "1")
    assert str(folder) in line
    assert not [one.name for one in folder.iterdir() if one.name.startswith(".")]
    (disk / "ballast").unlink()
    assert main([*map(str, sweep), "--rows-a-task", "100"]) == 0


def test_the_report_of_an_audit(disk, capsys, tmp_path):
    pq = pytest.importorskip("pyarrow.parquet", reason="PyArrow is not installed: ./lab test installs it")

    shutil.unpack_archive(BASE.parent / "noprop" / "store.tar.gz", tmp_path, filter="data")
    report = disk / "report"
    report.mkdir()
    fill(disk, leave=1)
    line = refused(capsys, "audit", tmp_path / "store", "--out", report)
    assert f"--out {report}: {FULL}" in line
    for path in report.iterdir():
        assert path.suffix == ".parquet"
        pq.read_table(path)
    assert not [one.name for one in report.iterdir() if one.name.startswith(".")]


def test_a_site_stays_where_the_new_one_has_no_room(disk, tmp_path):
    made, out = tmp_path / "made", disk / "site"
    for folder, pages in ((made, 40), (out, 1)):
        folder.mkdir()
        (folder / MARK).touch()
        for number in range(pages):
            (folder / f"{number}.html").write_text(OLD * 100)
    with pytest.raises(BadInput, match=FULL):
        put_in_place(made, out)
    assert sorted(one.name for one in out.iterdir()) == [MARK, "0.html"]
    assert [one.name for one in disk.iterdir()] == ["site"]
    shutil.rmtree(made)
    shutil.copytree(out, made)
    (made / "1.html").touch()
    put_in_place(made, out)
    assert sorted(one.name for one in out.iterdir()) == [MARK, "0.html", "1.html"]


def test_a_recording_of_frames_ends_with_its_last_whole_line(disk):
    recording = TapRecording(disk / "set")
    fill(disk, leave=3)
    for number in range(200):
        recording.frame(float(number), 1, "broker", "c2s", bytes(100))
        recording.flush()
    recording.finish()
    assert recording.stopped == FULL
    rows = [json.loads(line) for line in (disk / "set" / "frames.jsonl").read_text().splitlines()]
    assert 0 < len(rows) == recording.frames < 200
    assert [row["t"] for row in rows] == list(range(len(rows)))


def test_a_full_standard_output_is_one_sentence():
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "rmqlab", "lint", "--member", "A:T=tagA"],
            stdout=full, stderr=subprocess.PIPE, text=True, cwd=ROOT, check=False,
        )  # fmt: skip
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.endswith(f"lint: standard output cannot be written: {FULL}")
