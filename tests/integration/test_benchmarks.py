"""The benchmarks still run; what they measure is nobody's pass or fail."""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_plan_benchmark_plans_as_many_cells_as_it_was_asked_for() -> None:
    argv = [sys.executable, str(ROOT / "benchmarks" / "plan.py"), "10000"]
    figures = json.loads(subprocess.run(argv, capture_output=True, text=True, check=True).stdout)
    assert 8_000 < figures["cells"] <= 10_000


def test_the_index_benchmark_compares_two_indexes_of_the_same_wheels() -> None:
    argv = [sys.executable, str(ROOT / "benchmarks" / "index.py"), "--wheels", "500", "--json"]
    figures = json.loads(subprocess.run(argv, capture_output=True, text=True, check=True).stdout)
    assert figures["wheels"] == 500
    assert set(figures["ratios"]) == {"seconds", "cpu_seconds", "peak_mb"}
    assert min(figures[each]["files"] for each in ("wheelmill", "dumb_pypi")) > 100


def test_the_index_benchmark_measures_growth() -> None:
    argv = [sys.executable, str(ROOT / "benchmarks" / "index.py"), "--growth", "100", "500", "--json"]
    figures = json.loads(subprocess.run(argv, capture_output=True, text=True, check=True).stdout)
    assert 10 < figures["100"]["files"] < figures["500"]["files"] < figures["500"]["ten_more"]["files"]


def test_the_client_benchmark_measures_both_and_says_where_they_differ(tmp_path: Path) -> None:
    gpkg = tmp_path / "gpkg"
    gpkg.write_text("#!/bin/sh\necho banner\necho '{}'\n")
    gpkg.chmod(0o755)
    argv = [sys.executable, str(ROOT / "benchmarks" / "client.py"), "--gpkg", str(gpkg), "--rounds", "1", "500"]
    lines = subprocess.run(argv, capture_output=True, text=True, check=True).stdout.splitlines()
    for number, form in enumerate(("html", "hashes", "github")):
        printed = lines[7 * number : 7 * number + 7]
        measured = [line.split()[:7] for line in printed[:6]]
        assert measured == [
            [form, "500", "wheels", "a", "page", state, who]
            for state in ("cold", "warm")
            for who in ("gpkg", "wheelmill", "of")
        ]
        assert "flash_attn-1.0.0+cu128torch2.8-cp312-cp312-manylinux_2_28_x86_64.whl" in printed[6]
