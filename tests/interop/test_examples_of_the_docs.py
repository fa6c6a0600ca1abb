"""The Java program in `docs/how-to/test-with-a-broker.md` compiles and does what the page says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.interop.conftest import LOGBACK, OPENS, QUICK

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
