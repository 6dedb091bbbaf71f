"""The benchmarks still run, with as few wheels as can be compared; what they measure is no test's pass or fail."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


def printed(name: str, *options: str) -> str:
    argv = [sys.executable, str(ROOT / "benchmarks" / f"{name}.py"), *options]
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout


def figures(name: str, *options: str) -> dict[str, Any]:
    return dict(json.loads(printed(name, *options)))


def test_the_plan_benchmark_plans_as_many_cells_as_it_was_asked_for() -> None:
    assert 3_000 < figures("plan", "4000")["cells"] <= 4_000


@pytest.mark.parametrize("counts", [("50",), pytest.param(("100", "500"), marks=pytest.mark.nightly)])
def test_the_index_benchmark_measures_growth(counts: tuple[str, ...]) -> None:
    found = figures("index", "--growth", *counts, "--json")
    firsts = [found[count]["files"] for count in counts]
    assert firsts[0] > 100
    assert firsts == sorted(set(firsts))
    assert all(found[count]["files"] < found[count]["ten_more"]["files"] for count in counts)


@pytest.mark.nightly
def test_the_index_benchmark_compares_two_indexes_of_the_same_wheels() -> None:
    found = figures("index", "--wheels", "50", "--json")
    assert found["wheels"] == 50
    assert set(found["ratios"]) == {"seconds", "cpu_seconds", "peak_mb"}
    assert min(found[each]["files"] for each in ("wheelmill", "dumb_pypi")) > 100


@pytest.mark.nightly
def test_the_ledger_benchmark_measures_every_step_from_released_to_packed() -> None:
    heading, *steps = printed("ledger", "--live", "50").splitlines()
    assert heading == "50 wheels, and ten more:"
    assert [step.partition(":")[0].strip() for step in steps] == [
        *("documents", "index build", "index check", "tar", "zip of the tar", "CPU s of parts of index build")
    ]


@pytest.mark.parametrize(
    "form", ["github", *(pytest.param(form, marks=pytest.mark.nightly) for form in ("relative", "json", "huggingface"))]
)
def test_the_client_benchmark_measures_both_and_says_where_they_differ(form: str, tmp_path: Path) -> None:
    gpkg = tmp_path / "gpkg"
    gpkg.write_text("#!/bin/sh\necho banner\necho '{}'\n")
    gpkg.chmod(0o755)
    lines = printed("client", "--gpkg", str(gpkg), "--rounds", "1", "--form", form, "300").splitlines()
    assert [line.split(" | ")[:3] for line in lines[2:4]] == [[f"| {form}", "300", state] for state in ("cold", "warm")]
    assert "flash_attn-1.0.0+cu128torch2.8-cp312-cp312-manylinux_2_28_x86_64.whl" in lines[4]
    assert lines[5] == f"300 cold: {form} takes 1.00 times as long as {form}"
