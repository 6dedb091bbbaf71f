"""``plan --run`` and ``summary --run``: what runs of jobs tell each other through the ledger of their store."""

import json
import os
from pathlib import Path
from typing import Any

from tests.commands import ROOT, Done, Start

PLATFORMS = ("linux_x86_64", "linux_aarch64")
WANTED = ("torch-spline-conv", "--python=3.12", "--cuda=cu130", "--torch=2.11", f"--platform={','.join(PLATFORMS)}")
GROUPS = [f"torch-spline-conv-1.2.2+cu130torch2.11-{platform}" for platform in PLATFORMS]


def test_a_run_takes_up_what_another_one_left(start: Start, tmp_path: Path) -> None:
    def wheelmill(*words: str) -> Done:
        store = {"WHEELMILL_STORE": f"dir:{tmp_path / 'releases'}"}
        return start(["-m", "wheelmill", *words], cwd=ROOT, env=os.environ | store)

    def planned(*words: str) -> Any:
        done = wheelmill("plan", "--matrix", *words)
        assert done.returncode == 0, done.stderr
        (tmp_path / "plan.json").write_text(done.stdout)
        content = json.loads(done.stdout)
        return [group["group"] for shard in content["shards"] for group in shard["include"]], content["force"]

    assert planned(*WANTED, "--run", "1", "--force") == (GROUPS, True)
    assert planned(*WANTED, "--run", "2") == ([], False)

    planned(*WANTED, "--run", "1", "--force")
    ended = wheelmill("summary", str(tmp_path / "none"), "--plan", str(tmp_path / "plan.json"), "--run", "1", "--json")
    content = json.loads(ended.stdout)
    assert (content["goes_on"], content["again"], content["done"]) == (True, GROUPS, [])
    assert content["continues"] == ["1"]
    assert content["notice"].splitlines() == [
        "0 wheels released",
        "2 groups: ended without a report; another run builds it again",
        "Another run continues 2 groups, as attempt 2 of 5.",
    ]
    assert planned("--run", "3", "--continue", "1") == (GROUPS, True)  # with the filters of that run

    unknown = wheelmill("plan", "--run", "4", "--continue", "9")
    assert unknown.returncode == 2
    unknown.check_refused("run-unknown", "run 9")
    for command in (["plan", *WANTED], ["summary", str(tmp_path), "--plan", str(tmp_path / "plan.json")]):
        named = wheelmill(*command, "--run", "1\nnotice=forged")
        named.check_refused("run-invalid", r"'1\nnotice=forged'")
