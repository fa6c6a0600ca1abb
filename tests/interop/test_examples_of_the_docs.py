"""The Java programs of the how-to pages compile; the one that needs no container does what its page says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.interop.conftest import HERE, LOGBACK, OPENS, QUICK, fetched, java_home

JAVA = re.compile(r"^```java\n(.*?)^```", re.DOTALL | re.MULTILINE)


def test_a_java_program_that_starts_serve_reads_its_ports_and_sends(jars, tmp_path, root):
    (code,) = JAVA.findall((root / "docs" / "how-to" / "test-with-a-broker.md").read_text(encoding="utf-8"))
    source = tmp_path / "OrdersTest.java"
    source.write_text(code, encoding="utf-8")
    (tmp_path / "logback.xml").write_text(LOGBACK, encoding="utf-8")
    java = jars()
    libraries = java.classpath
    tools = java.java / "bin"
    subprocess.run([str(tools / "javac"), "-nowarn", "-cp", libraries, "-d", str(tmp_path), str(source)], check=True)
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    told = subprocess.run(
        [str(tools / "java"), *OPENS, *QUICK, f"-Duser.home={tmp_path}", "-Drocketmq.client.logUseSlf4j=true",
         f"-Dlogback.configurationFile={tmp_path / 'logback.xml'}", "-cp", os.pathsep.join([str(tmp_path), libraries]),
         "OrdersTest"],
        capture_output=True, text=True, check=False, timeout=60, env={**os.environ, "PATH": path},
    )  # fmt: skip
    assert (told.returncode, told.stdout) == (0, "SEND_OK\n"), told.stderr


def test_the_classes_for_testcontainers_compile(request, tmp_path, root):
    """They run where Docker is; what the container's commands do is shown by tests/live/test_container.py."""
    codes = JAVA.findall((root / "docs" / "how-to" / "containers.md").read_text(encoding="utf-8"))
    names = [re.search(r"class (\w+)", code)[1] for code in codes]
    assert names == ["RmqlabContainer", "OrdersTest"]
    for name, code in zip(names, codes, strict=True):
        (tmp_path / f"{name}.java").write_text(code, encoding="utf-8")
    java = java_home()
    libraries = fetched(HERE / "pom-containers.xml", request.config.cache)
    command = [java / "bin" / "javac", "-nowarn", "-cp", f"{libraries / '*'}", "-d", tmp_path]
    subprocess.run([*command, *(tmp_path / f"{name}.java" for name in names)], check=True)
