"""``wheelmill plan`` as a person and as a program use it."""

import json
import shutil
import subprocess
from functools import partial
from pathlib import Path

import pytest

from tests.commands import ROOT
from tests.integration.conftest import Command


@pytest.fixture
def plan(python: Command) -> Command:
    """Run ``wheelmill plan``."""
    return partial(python, "-m", "wheelmill", "plan", exit_code=0)


def test_json_is_the_one_thing_on_stdout(plan: Command) -> None:
    done = plan("torch-spline-conv", "--python=3.12,3.8", "--cuda=cu130", "--torch=2.11", "--json", "--all")
    content = json.loads(done.stdout)
    assert content["schema"] == "wheelmill.plan/1"
    assert content["counts"] == {"cells": 4, "wheels": 2, "skips": 2}
    assert content["targets"][0] == {
        "id": "torch-spline-conv-1.2.2+cu130torch2.11-cp312-linux_x86_64",
        "project": "torch-spline-conv",
        "version": "1.2.2",
        "python": "3.12",
        "cuda": "13.0",
        "torch": "2.11",
        "torch_abi": None,
        "platform": "linux_x86_64",
        "policy": "auto",
        "group": "torch-spline-conv-1.2.2+cu130torch2.11-linux_x86_64",
        "architectures": ["7.5", "8.0", "9.0", "10.0", "12.0+PTX"],
    }
    assert {skip["python"] for skip in content["skips"]} == {"3.8"}


def test_a_cuda_that_is_too_old_for_the_newest_gpus_has_ptx_for_them(plan: Command) -> None:
    done = plan("torch-spline-conv", "--python", "3.12", "--cuda", "12.6", "--platform", "linux_x86_64", "--json")
    planned = json.loads(done.stdout)["targets"]
    assert {tuple(target["architectures"]) for target in planned} == {("7.5", "8.0", "9.0+PTX")}


def test_the_table_counts_and_gives_reasons(plan: Command) -> None:
    done = plan("flash-attn", "--cuda", "12.4", "--torch", "2.11")
    assert "CUDA 12.4" in " ".join(done.stdout.split())
    assert "wheels to build: 0" in done.stdout


def test_everything_that_ships_fits_a_screen_and_nothing_is_hidden(plan: Command) -> None:
    overview = plan()
    assert len(overview.stdout.splitlines()) <= 60
    assert "no such torch" in overview.stdout
    (line,) = [line for line in overview.stdout.splitlines() if line.startswith("torch-spline-conv")]
    shown = json.loads(plan("torch-spline-conv", "--json").stdout)
    assert line.split()[1] == str(shown["counts"]["wheels"])
    assert {skip["kind"] for skip in shown["skips"]} == {
        "no such torch",
        "not by default",
        "no such Python to build with",
    }
    unbuilt = {skip["python"] for skip in shown["skips"] if skip["kind"] == "no such Python to build with"}
    assert unbuilt == {"3.8", "3.13t"}
    everything = plan("torch-spline-conv", "--cuda", "13.2", "--wheels", "--skips").stdout
    assert "To build" in everything
    assert "Skipped" in everything
    assert "CUDA 13.2" in " ".join(everything.replace("│", " ").split())


def test_the_estimate_says_which_hours_are_a_prior_and_which_a_guess(plan: Command) -> None:
    wanted = ("--python", "3.12", "--cuda", "13.0", "--torch", "2.11", "--platform", "linux_x86_64")
    shown = " ".join(plan("causal-conv1d", "natten", "torchsparse", *wanted).stdout.split())
    assert "~0.3 of them for 1 wheel, " in shown
    assert "?2.3 of them for 1 wheel, by the number of files" in shown
    assert "??0.5 of them for 1 wheel, guessed: 454 seconds" in shown
    content = json.loads(plan("causal-conv1d", *wanted, "--json").stdout)
    assert content["estimate"]["machine_hours"] == content["estimate"]["shares"]["prior"]["machine_hours"] == 0.31


def test_the_fit_of_the_estimate_is_printed_on_request(plan: Command) -> None:
    assert "causal-conv1d 474 279 1.70" in " ".join(plan("natten", "-v").stdout.split())


def test_an_unknown_project_is_a_usage_error_that_names_those_like_it(plan: Command) -> None:
    done = plan("flash-atn", exit_code=2)
    done.check_refused("package-unknown", "flash-atn")
    assert done.stderr.splitlines()[-1].startswith("hint: did you mean flash-attn or ")


def test_a_bad_filter_is_a_usage_error_that_says_what_was_expected(plan: Command) -> None:
    done = plan("--cuda", "12", exit_code=2)
    done.check_refused("value-invalid", "--cuda", "13.0", "cu130", "12")


def test_a_tag_that_is_none_is_refused_with_all_that_there_are(plan: Command) -> None:
    done = plan("--tag", "graph,vision", exit_code=2)
    assert done.stderr.startswith("error: --tag: expected one of attention, state-space, graph, 3d, quantization, ")
    assert done.stderr.endswith(", not 'vision'\n")


def test_a_missing_requirement_is_named_before_the_build(plan: Command, python: Command, tmp_path: Path) -> None:
    wanted = ("--python", "3.12", "--cuda", "13.0", "--torch", "2.11", "--platform", "linux_x86_64")
    lacks = "mamba-ssm requires causal-conv1d, of which there is no wheel for the same Python, CUDA and torch"
    shown = plan("mamba-ssm", *wanted, "--json")
    content = json.loads(shown.stdout)
    (target,) = content["targets"]
    assert content["missing"] == [{"project": "mamba-ssm", "requires": "causal-conv1d", "targets": [target["id"]]}]
    assert lacks in " ".join(shown.stderr.split())
    assert json.loads(plan("causal-conv1d", "mamba-ssm", *wanted, "--json").stdout)["missing"] == []

    argv = ("run", "torch-scatter", "mamba-ssm", *wanted, "--output", tmp_path)
    refused = python("-m", "wheelmill", *argv, exit_code=4)
    assert lacks in " ".join(refused.stderr.split())
    assert refused.stderr.endswith(
        "hint: build it in the same run: wheelmill run causal-conv1d torch-scatter mamba-ssm\n"
    )
    assert list(tmp_path.rglob("*.log")) == []


def test_a_cuda_without_an_image_is_promised_no_wheels(plan: Command, tmp_path: Path) -> None:
    folder = tmp_path / "config"
    shutil.copytree(ROOT / "config", folder)
    facts = folder / "compatibility.yml"
    facts.write_text(facts.read_text().replace('"13.2"', '"13.3"').replace('"13.2.2"', '"13.3.0"'))
    wanted = ("flash-attn", "--config", str(folder), "--cuda")
    assert "wheels to build: 0" not in plan(*wanted, "13.0").stdout
    assert plan(*wanted, "13.3", exit_code=2).stderr.startswith("error: no image is pinned for CUDA 13.3\n")


@pytest.mark.parametrize(("package", "code"), [("torch-spline-conv", 4), ("", 0)])
def test_a_dispatch_that_builds_nothing_fails_if_it_names_packages(plan: Command, package: str, code: int) -> None:
    done = plan("--cuda=14.0", "--matrix", "--", package, exit_code=code)
    assert json.loads(done.stdout)["shards"] == []
    assert ("CUDA 14.0 is not in compatibility.yml" in done.stderr) is bool(package)


def test_a_torch_that_is_new_brings_a_sample_of_three_packages(plan: Command, tmp_path: Path) -> None:
    folder = tmp_path / "config"
    shutil.copytree(ROOT / "config", folder)
    facts = folder / "compatibility.yml"
    now = facts.read_text()
    head, _, tail = now.partition('    "2.15":\n')
    facts.write_text(head + tail[tail.index("\npythons:") :])
    git = ("git", "-C", str(folder), "-c", "user.name=tests", "-c", "user.email=tests@example.org")
    for command in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "before"]):
        subprocess.run([*git, *command], check=True)
    facts.write_text(now)
    done = plan("--config", str(folder), "--changed-since", "HEAD", "--sample", "--matrix")
    (shard,) = json.loads(done.stdout)["shards"]
    assert [group["torch"] for group in shard["include"]] == ["2.15"] * 3
    assert {(group["cuda"], group["platform"], group["wheels"]) for group in shard["include"]} == {
        ("13.2", "linux_x86_64", 1)
    }
    assert len({group["project"] for group in shard["include"]}) == 3


def test_one_form_of_json_at_a_time(plan: Command) -> None:
    plan("torch-spline-conv", "--matrix", "--json", exit_code=2).check_refused("options-conflict", "--json", "--matrix")
