"""A file of `config/` that its `.bak` stands in for: whoever reads the folder says so, and names the file."""

from __future__ import annotations

import tarfile

import pytest

from rmqlab.checkout import ROOT
from rmqlab_tools.cli.cli import main
from rmqlab_tools.live.broker_startup import BrokerStartup
from rmqlab_tools.live.serve_config import ServeConfig

SAYS = "consumerOffset.json is {state}; 4.8.0 takes consumerOffset.json.bak instead, which is older"


@pytest.fixture(params=["missing", "empty"])
def store(request, tmp_path):
    """A recorded store whose offsets are in the older copy alone."""
    with tarfile.open(ROOT / "data" / "golden" / "broker-4.8.0" / "noprop" / "store.tar.gz") as packed:
        packed.extractall(tmp_path, filter="data")
    path = tmp_path / "store" / "config" / "consumerOffset.json"
    path.with_name(f"{path.name}.bak").write_bytes(path.read_bytes())
    path.unlink()
    if request.param == "empty":
        path.touch()
    return tmp_path / "store", SAYS.format(state=request.param)


def test_explain_says_it_of_a_store_and_of_its_folder_config(store, capsys):
    folder, says = store
    for given in (folder, folder / "config"):
        main(["explain", str(given)])
        assert capsys.readouterr().out.replace("\n", " ").count(says) == 1


def test_serve_says_it(store, caplog):
    import asyncio

    folder, says = store

    async def run():
        startup = BrokerStartup(
            ServeConfig.of({}, where="t", listen="127.0.0.1:0", namesrv="127.0.0.1:0", store=folder)
        )
        await startup.start()
        await startup.stop()

    asyncio.run(run())
    told = [record.getMessage() for record in caplog.records if says in record.getMessage()]
    assert told == [f"{folder / 'config'}: {says}"]
