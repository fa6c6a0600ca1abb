"""The compiled loops over a commit log, made before the first test needs them.

`python -m tests.proof.compiled_loops` reads a store of one message, so that numba compiles what reads any store, some
six seconds, and keeps the code beside the modules. In a fresh clone each worker of each session would else do so, all
of them at once.
"""

from __future__ import annotations

import tempfile

from rmqlab.lab.lab import Lab
from rmqlab_tools.spark.files.commit_log_files import log_files, log_ranges
from rmqlab_tools.spark.store_source import Options


def compile_loops() -> int:
    """Read a store of one message, whatever has to be compiled for that; return how many messages were found."""
    lab = Lab(topics={"T": 1})
    lab.send("T", "a tag")
    lab.run(seconds=1)
    with tempfile.TemporaryDirectory(prefix="rmqlab-loops-") as folder:
        options = Options({"path": str(lab.write_store(f"{folder}/store"))})
        reader, files = options.log_reader(), log_files(options.root)
        batches = [batch for part in log_ranges(files, files[0].size, 0, None) for batch in reader.read(part)]
    return sum(batch.num_rows for batch in batches)


if __name__ == "__main__":
    compile_loops()
