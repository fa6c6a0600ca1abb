"""What is compiled beforehand is what pytest looks for, and no other."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.proof.compiled_tests import compile_modules

MODULES = {
    "conftest.py": "import pytest\n@pytest.fixture\ndef two():\n    return 2\n",
    "test_sum.py": "import names\ndef test_sum(two):\n    assert names.ONE + 1 == two + 1\n",
    "names.py": "ONE = 1\n",
}


def test_pytest_takes_what_was_compiled_and_compiles_nothing_anew(tmp_path, request, monkeypatch):
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    for name, text in MODULES.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "pytest.ini").write_text("[pytest]\npythonpath = .\n")
    compile_modules(request.config, [tmp_path / name for name in MODULES])
    compiled = {path: path.stat().st_ino for path in tmp_path.rglob("*.pyc")}
    assert sorted(path.name.partition(".")[0] for path in compiled) == ["conftest", "names", "test_sum"]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--disable-plugin-autoload", "."]
    printed = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False).stdout
    assert "assert (1 + 1) == (2 + 1)" in printed  # the asserts are rewritten
    assert {path: path.stat().st_ino for path in tmp_path.rglob("*.pyc")} == compiled


@pytest.mark.parametrize("content", [b"def test(:\n", b"\xff\n", b"\0\n"])
def test_what_cannot_be_compiled_is_left_for_the_collection(tmp_path, request, content):
    (tmp_path / "test_bad.py").write_bytes(content)
    (tmp_path / "test_good.py").write_text("def test():\n    pass\n")
    compile_modules(request.config, [tmp_path / "test_bad.py", tmp_path / "test_good.py", tmp_path / "test_gone.py"])
    assert [path.name.partition(".")[0] for path in tmp_path.rglob("*.pyc")] == ["test_good"]
