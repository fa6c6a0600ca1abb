"""Make the list of texts anew, and bring the entries' `said` up to date with it.

    python -m tests.proof.said --repository DIR --jars DIR --clients DIR
    python -m tests.proof.said                       # only the entries' `said`

`--repository` is a git directory of apache/rocketmq with its tags, `--jars` a folder with the jars of sources of 5.5.0
from Maven Central (`mvn dependency:copy -Dartifact=org.apache.rocketmq:rocketmq-broker:5.5.0:jar:sources`; also client,
common, filter, namesrv, proxy, remoting, store, tools), `--clients` a folder with git directories of
rocketmq-client-go, rocketmq-client-cpp, rocketmq-client-python and rocketmq-clients.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tests.proof.said.entries_said import update
from tests.proof.said.programs import client_list, java_list
from tests.proof.said.said_list import FOLDER, left_over, write


def main() -> None:
    """Do what the arguments ask for; print what is neither explained nor left out."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repository", type=Path)
    parser.add_argument("--jars", type=Path)
    parser.add_argument("--clients", type=Path)
    parser.add_argument("--out", type=Path, default=FOLDER, help="folder of the lists")
    arguments = parser.parse_args()
    if arguments.repository is not None and arguments.jars is not None:
        write("java", java_list(arguments.repository, arguments.jars), arguments.out)
    if arguments.clients is not None:
        write("clients", client_list(arguments.clients), arguments.out)
    for path in update():
        sys.stdout.write(f"{path}: `said` is up to date now\n")
    over = left_over()
    for text in over:
        sys.stdout.write(f"{text.program}: {text.by}: {text.kind} {text.text}\n")
    sys.stdout.write(f"{len(over)} texts are neither explained nor left out\n")


if __name__ == "__main__":
    main()
