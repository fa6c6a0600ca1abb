"""The container files: what they name is there, and their commands work in a folder that has just what an image has."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path

import pytest
import yaml

from rmqlab.checkout import ROOT
from tests.proof.installed import closure, make_environment
from tests.proof.real.clusters import free_ports

pytestmark = pytest.mark.slow

FOLDER = ROOT / "data" / "docker"
DOCKERFILE = (FOLDER / "Dockerfile").read_text(encoding="utf-8")
COMPOSE = yaml.safe_load((FOLDER / "compose.yaml").read_text(encoding="utf-8"))
EXTRAS = re.search(r'"pins_of"\]\((\{[^}]*\})\)', DOCKERFILE)[1]


def instruction(name):
    """What follows each line of the Dockerfile that begins with this word."""
    return re.findall(rf"^{name} (.+)$", DOCKERFILE, re.MULTILINE)


def exec_form(name):
    """The arguments of an instruction in JSON form, of its last line."""
    return json.loads(instruction(name)[-1])


def in_context(path):
    """Whether a committed file is part of what `docker build` sees: the last rule that fits decides."""
    kept = True
    parents = [Path(*path.parts[: n + 1]).as_posix() for n in range(len(path.parts))]
    for rule in (FOLDER / "Dockerfile.dockerignore").read_text(encoding="utf-8").splitlines():
        pattern = rule.removeprefix("!").removeprefix("**/")
        if rule and not rule.startswith("#") and any(fnmatch(parent, pattern) for parent in parents):
            kept = rule.startswith("!")
    return kept


def test_nobody_is_root_and_each_place_that_is_written_is_a_volume():
    assert instruction("USER") == ["10001"]
    assert DOCKERFILE.index("USER 10001") < DOCKERFILE.index("ENTRYPOINT")
    assert instruction("VOLUME") == ["/store"]
    assert exec_form("CMD")[-2:] == ["--store", "/store"]
    assert "--interval=10s" in instruction("HEALTHCHECK")[0]
    for name in ("broker", "doctor"):
        service = COMPOSE["services"][name]
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]


def test_every_file_that_compose_mounts_is_there_and_its_ports_are_the_images():
    services = COMPOSE["services"]
    mounts = [mount for service in services.values() for mount in service.get("volumes", [])]
    files = [mount.split(":")[0] for mount in mounts if mount.startswith(".")]
    assert len(files) == 5
    assert [file for file in files if not (FOLDER / file).is_file()] == []
    assert {mount.split(":")[0] for mount in mounts if not mount.startswith(".")} == set(COMPOSE["volumes"])
    open_ports = {port.rsplit(":", 1)[1] for port in services["broker"]["ports"]} | {"9109"}
    assert open_ports == set(instruction("EXPOSE")[0].split())
    assert all(port.startswith(("127.0.0.1:", "${RMQLAB_HOST:-127.0.0.1}:")) for service in services.values()
               for port in service.get("ports", []))  # fmt: skip
    for name in ("broker", "doctor"):
        build = services[name]["build"]
        assert (FOLDER / build["context"]).resolve() == ROOT
        assert (ROOT / build["dockerfile"]).is_file()


def test_prometheus_and_grafana_are_wired_to_the_doctor():
    services = COMPOSE["services"]
    prometheus = yaml.safe_load((FOLDER / "prometheus.yml").read_text(encoding="utf-8"))
    (target,) = prometheus["scrape_configs"][0]["static_configs"][0]["targets"]
    host, port = target.split(":")
    # The doctor has the network of that service, and serves its figures on that port for others to reach.
    assert services["doctor"]["network_mode"] == f"service:{host}"
    assert {f"--metrics={port}", "--metrics-host=0.0.0.0"} <= set(services["doctor"]["command"])
    inside = {mount.split(":")[1]: FOLDER / mount.split(":")[0] for name in ("prometheus", "grafana")
              for mount in services[name]["volumes"] if mount.startswith(".")}  # fmt: skip
    assert set(prometheus["rule_files"]) <= set(inside)
    provider = yaml.safe_load((FOLDER / "grafana" / "dashboards.yml").read_text(encoding="utf-8"))["providers"][0]
    dashboard = next(place for place in inside if place.startswith(provider["options"]["path"] + "/"))
    assert json.loads(inside[dashboard].read_text(encoding="utf-8"))["title"]
    assert services["grafana"]["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"] == dashboard
    source = yaml.safe_load((FOLDER / "grafana" / "datasource.yml").read_text(encoding="utf-8"))["datasources"][0]
    assert (source["url"], source["type"]) == ("http://prometheus:9090", "prometheus")


@pytest.fixture(scope="module")
def image(tmp_path_factory):
    """The folder of an image's programs: built from the context alone, with the packages that its pins name."""
    folder = tmp_path_factory.mktemp("image")
    committed = subprocess.check_output(["git", "ls-files", "-z"], cwd=ROOT, text=True).split("\0")
    for name in filter(None, committed):
        if in_context(Path(name)) and (ROOT / name).is_file():
            target = folder / "src" / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.symlink_to(ROOT / name) if name.startswith("data/golden/") else shutil.copy2(ROOT / name, target)
    (pins_of,) = re.findall(r"^RUN python -c '(.+?)' > /tmp/pins.txt$", DOCKERFILE, re.MULTILINE)
    pins = subprocess.check_output([sys.executable, "-c", pins_of], cwd=folder / "src", text=True)
    extras = set(re.findall(r'"(\w+)"', EXTRAS))
    pinned = {re.sub(r"[-_.]+", "-", name).lower() for name in re.findall(r"^([\w.-]+)==", pins, re.MULTILINE)}
    assert pinned | {"rmqlab"} >= set(closure(extras))
    python = make_environment(folder / "env", extras)
    for link in (folder / "env").rglob("*rmqlab*"):  # of the environment that runs this test: the tree, not a wheel
        shutil.rmtree(link) if link.is_dir() else link.unlink()
    wheel = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder / "dist")]
    subprocess.run(wheel, cwd=folder / "src", check=True, capture_output=True)
    command = [
        sys.executable,
        "-m",
        "uv",
        "pip",
        "install",
        "--quiet",
        "--offline",
        "--no-deps",
        "--python",
        str(python),
    ]
    subprocess.run([*command, *map(str, (folder / "dist").glob("*.whl"))], check=True)
    copied = re.findall(r"^COPY (?!--from)(\S+) (/\S+)$", DOCKERFILE, re.MULTILINE)
    assert ("data/docker/healthy.py", "/opt/rmqlab/healthy.py") in copied
    shutil.copy2(folder / "src" / "data/docker/healthy.py", folder / "env" / "healthy.py")
    return folder / "env"


def healthy(image, *arguments):
    """What the health check says, and its status."""
    command = [image / "bin" / "python", image / "healthy.py", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=image.parent, timeout=60)
    return done.returncode, done.stdout.strip(), done.stderr


def test_the_images_commands_serve_and_watch_and_are_healthy(image, tmp_path):
    namesrv, metrics = free_ports()
    replaced = {"0.0.0.0:10911": "127.0.0.1:0", "0.0.0.0:9876": f"127.0.0.1:{namesrv}", "/store": str(tmp_path)}
    serve = [replaced.get(text, text) for text in exec_form("CMD")]
    check = instruction("HEALTHCHECK")[0].partition("CMD ")[2]
    assert json.loads(check) == ["python", "/opt/rmqlab/healthy.py", "namesrv", "127.0.0.1:9876"]
    status, said, error = healthy(image, "namesrv", f"127.0.0.1:{namesrv}")
    assert (status, error) == (1, "")
    assert said.startswith(f"no name server answers at 127.0.0.1:{namesrv} ")

    program = str(image / "bin" / "rmqlab")
    broker = subprocess.Popen([program, *serve, "--json", "-", "--quiet"], stdout=subprocess.PIPE, text=True)
    watching = None
    try:
        assert json.loads(broker.stdout.readline())["store"] == str(tmp_path)
        assert healthy(image, "namesrv", f"127.0.0.1:{namesrv}") == (0, "", "")
        given = {
            "--watch": "--watch=1",
            "--metrics": f"--metrics={metrics}",
            "--namesrv": f"--namesrv=127.0.0.1:{namesrv}",
        }
        doctor = [given.get(text.split("=")[0], text) for text in COMPOSE["services"]["doctor"]["command"]]
        assert healthy(image, "metrics", f"http://127.0.0.1:{metrics}/metrics")[0] == 1
        watching = subprocess.Popen([program, *doctor], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        assert f":{metrics}/metrics" in watching.stderr.readline()
        for _ in range(20):
            result = healthy(image, "metrics", f"http://127.0.0.1:{metrics}/metrics")
            if result[0] == 0:
                break
        assert result == (0, "", "")
    finally:
        for process in filter(None, (watching, broker)):
            process.send_signal(signal.SIGTERM)  # what `docker stop` sends
    assert broker.wait(timeout=20) == 0
    assert watching.wait(timeout=20) in {0, 130, 143}
    assert (tmp_path / "config").is_dir()


def test_the_image_reads_code(image, tmp_path):
    name = "org.apache.rocketmq.spring.annotation"
    for tag in ("a", "b"):
        listener = (
            f'@RocketMQMessageListener(topic = "T", consumerGroup = "g", selectorExpression = "{tag}") class {tag} {{}}'
        )
        (tmp_path / f"{tag}.java").write_text(f"import {name}.*; {listener}", encoding="utf-8")
    done = subprocess.run([image / "bin" / "rmqlab", "lint", tmp_path], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "")
    assert "1 inconsistent" in done.stdout
