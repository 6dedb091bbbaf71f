"""What the step that attests each wheel gives to Sigstore, whose command is a stand-in, and what it takes along."""

import base64
import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.programs import needs
from tests.real.conftest import ROOT
from tests.sigstore_instance import Sigstore

pytestmark = [pytest.mark.real, needs("jq")]

WHEEL = "demo-1.0+cu130-py3-none-any.whl"
STAND_IN = f"""#!{sys.executable}
import hashlib, json, sys
from pathlib import Path
sys.path.insert(0, "{ROOT}")
from tests.sigstore_instance import Sigstore
Path("asked").write_text(" ".join(sys.argv[1:]) + Path("out/predicate.json").read_text())
for wheel in (Path(each) for each in sys.argv if each.endswith(".whl")):
    bundle = Sigstore().attest({{wheel.name: hashlib.sha256(wheel.read_bytes()).hexdigest()}})
    Path(f"{{wheel}}.sigstore.json").write_text(json.dumps(json.loads(bundle), indent=2))
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A job's folder: a wheel that was examined, one that was refused, and what a machine with a GPU put there."""
    for name, content in {
        f"wheels/a/{WHEEL}": b"right",
        "wheels/a/refused-1.0-py3-none-any.whl": b"refused",
        f"gpu/{WHEEL}": b"forged",
        "gpu/renamed-1.0-py3-none-any.whl": b"right",
    }.items():
        path = tmp_path / "out" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    examined = {WHEEL: hashlib.sha256(b"right").hexdigest(), f"{WHEEL}.metadata": "0" * 64}
    lines = "".join(f"{sha256}  {name}\n" for name, sha256 in examined.items())
    (tmp_path / "out" / "checksums.txt").write_text(lines)
    for name in ("bundle", "out/attestation.jsonl"):
        (tmp_path / name).write_bytes(Sigstore().attest(examined) + b"\n")
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    (tmp_path / ".venv" / "bin" / "python").write_text(STAND_IN)
    (tmp_path / ".venv" / "bin" / "python").chmod(0o755)
    return tmp_path


def run_step(folder: Path, *, signs: bool) -> list[bytes]:
    """Run the step as a job does, and return what is taken along."""
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "wheels-group.yml").read_text())
    steps = {step.get("name"): step for step in workflow["jobs"]["attest"]["steps"]}
    argv = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", steps["Attest each wheel by itself"]["run"]]
    token = {"ACTIONS_ID_TOKEN_REQUEST_URL": "https://token.example" if signs else ""}
    subprocess.run(argv, cwd=folder, env=os.environ | token | {"BUNDLE": str(folder / "bundle")}, check=True)
    return (folder / "out" / "attestation.jsonl").read_bytes().splitlines()


def test_only_wheels_that_were_examined_are_attested_by_name_and_bytes(folder: Path) -> None:
    _, own = run_step(folder, signs=True)
    statement = json.loads(base64.b64decode(json.loads(own)["dsseEnvelope"]["payload"]))
    assert statement["subject"] == [{"name": WHEEL, "digest": {"sha256": hashlib.sha256(b"right").hexdigest()}}]
    assert (folder / "asked").read_text().startswith("-m sigstore attest --rekor-version 1 --predicate ")


def test_where_nobody_signs_the_bundle_of_the_group_is_taken_along(folder: Path) -> None:
    assert len(run_step(folder, signs=False)) == 1
    assert not (folder / "asked").exists()
