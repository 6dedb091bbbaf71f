"""The small CUDA package of the tests, with the real compiler, clean room and installers."""

import json
from pathlib import Path

import pytest

from tests.real.conftest import ROOT, Command
from wheelmill.files import sha256_of

pytestmark = pytest.mark.real

TARGET = ("wheelmill-demo", "--config", ROOT / "tests" / "data" / "demo", "--python", "3.12", "--cuda", "13.0")


def test_two_builds_give_one_hash(wheelmill: Command, tmp_path: Path) -> None:
    for folder in ("first", "second"):
        wheelmill("build", *TARGET, "--output", tmp_path / folder)
    (first,) = tmp_path.glob("first/*.whl")
    assert sha256_of(first) == sha256_of(tmp_path / "second" / first.name)


def test_a_policy_that_the_symbols_do_not_allow_is_refused_by_name(wheelmill: Command, tmp_path: Path) -> None:
    refused = wheelmill("build", *TARGET, "--policy", "manylinux_2_5", "--output", tmp_path, exit_code=4)
    assert "it needs a glibc newer than 2.5" in refused.stderr
    assert "@GLIBC_2." in refused.stderr
    assert list(tmp_path.glob("*.whl")) == []


def test_run_is_a_no_op_when_everything_is_published(wheelmill: Command, tmp_path: Path) -> None:
    first = json.loads(wheelmill("run", *TARGET, "--output", tmp_path, "--json").stdout)
    assert [wheel["ok"] for wheel in first["wheels"]] == [True]
    assert len(first["releases"]) == 1
    forced = json.loads(wheelmill("run", *TARGET, "--output", tmp_path, "--json", "--force").stdout)
    assert forced["counts"]["wheels"] == 1
    assert (forced["wheels"], forced["releases"]) == ([], [])  # built again, and the bytes were the published ones
    again = json.loads(wheelmill("run", *TARGET, "--output", tmp_path, "--json").stdout)
    assert again["counts"] == {"cells": 1, "wheels": 0, "skips": 1}
    assert "already published" in again["skips"][0]["reason"]
