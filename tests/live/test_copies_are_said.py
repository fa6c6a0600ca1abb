"""A file of `config/` that its `.bak` stands in for: whoever reads the folder says so, and names the file."""

from __future__ import annotations

import json
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


def test_lint_says_it_where_it_reads_the_folder_beside_what_a_broker_said(store, tmp_path, capsys):
    folder, says = store
    subscription = {"topic": "TopicTest", "subString": "tagA", "tagsSet": ["tagA"], "codeSet": [3552281]}
    connection = {
        "connectionSet": [{"clientId": "A", "clientAddr": "1.2.3.4:5", "language": "JAVA", "version": 373}],
        "consumeType": "CONSUME_PASSIVELY", "messageModel": "CLUSTERING",
        "consumeFromWhere": "CONSUME_FROM_LAST_OFFSET", "subscriptionTable": {"TopicTest": subscription},
    }  # fmt: skip
    view = tmp_path / "consumerConnection.json"
    view.write_text(json.dumps(connection))
    for given in (folder, folder / "config"):
        main(["lint", str(given), str(view), "--json", str(tmp_path / "lint.json")])
        assert capsys.readouterr().out.replace("\n", " ").startswith(says)
        assert json.loads((tmp_path / "lint.json").read_text())["config_damage"] == [says]


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
    warnings = [record.getMessage() for record in caplog.records if says in record.getMessage()]
    assert warnings == [f"{folder / 'config'}: {says}"]
