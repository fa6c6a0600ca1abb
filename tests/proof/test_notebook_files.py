"""Notebooks as files: running, cleaning."""

from __future__ import annotations

import pytest
from nbclient.exceptions import CellExecutionError
from nbformat.v4 import new_code_cell, new_notebook, new_output

from rmqlab.errors import BadInput
from tests.proof import notebook_files

pytestmark = pytest.mark.slow


def simple(*sources):
    return new_notebook(cells=[new_code_cell(source, id=f"c{number}") for number, source in enumerate(sources)])


def test_clean_leaves_nothing_of_one_run():
    notebook = simple("x")
    cell = notebook["cells"][0]
    cell["metadata"] = {"tags": ["row:S-84"], "execution": {"iopub.execute_input": "2021-09-05"}, "trusted": True}
    data = {notebook_files.WIDGET_MIME: {"model_id": "f00"}, "text/plain": "Controls"}
    cell["outputs"] = [new_output("display_data", data=data, metadata={"isolated": True})]
    notebook["metadata"] = {"widgets": {}, "language_info": {"name": "python", "version": "3.11.7"}}
    done = notebook_files.clean(notebook)
    assert done["metadata"] == {"kernelspec": notebook_files.KERNEL, "language_info": {"name": "python"}}
    assert done["cells"][0]["metadata"] == {"tags": ["row:S-84"]}
    assert done["cells"][0]["outputs"][0]["data"] == {"text/plain": "Controls"}
    assert done["cells"][0]["outputs"][0]["metadata"] == {}
    assert notebook["metadata"]["widgets"] == {}


def test_renew_runs_and_cleans(tmp_path):
    path = tmp_path / "n.ipynb"
    notebook_files.write(path, simple("import os; os.path.basename(os.getcwd())"))
    notebook_files.renew(path)
    first = path.read_bytes()
    (output,) = notebook_files.read(path)["cells"][0]["outputs"]
    assert output["data"]["text/plain"] == repr(tmp_path.name)
    notebook_files.renew(path)
    assert path.read_bytes() == first


def test_a_cell_that_fails(tmp_path):
    with pytest.raises(CellExecutionError, match="ZeroDivisionError"):
        notebook_files.execute(simple("1 / 0"), tmp_path)


def test_what_is_no_notebook(tmp_path):
    path = tmp_path / "n.ipynb"
    path.write_text("{}", encoding="utf-8")
    with pytest.raises(BadInput, match=r"n\.ipynb: not a notebook"):
        notebook_files.read(path)
