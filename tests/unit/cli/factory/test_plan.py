"""A plan as people read it."""

from dataclasses import replace

import pytest

from tests.unit.plan.conftest import target
from wheelmill.cli.factory.plan import print_plan, report_skips
from wheelmill.names import Architecture, TorchVersion, project_name
from wheelmill.plan.groups import estimate
from wheelmill.plan.targets import BuildTarget, Filters, Obstacle, PastBuild, Plan, Skip


def of(project: str, seconds: int | None = None) -> BuildTarget:
    built = target()
    cell, package = replace(built.cell, project=project_name(project)), replace(built.package, seconds=seconds)
    return replace(built, cell=cell, package=package, architectures=(Architecture(9, 0),))


def test_hours_are_marked_by_what_they_go_by(capsys: pytest.CaptureFixture[str]) -> None:
    past = {project_name("measured"): PastBuild(seconds=7200, size=3 * 10**9)}
    planned = Plan(targets=(of("measured"), of("prior", 3600), of("guessed"), of("quick", 9)), skips=())
    print_plan(planned, past, estimate(planned, past), wheels=False, skips=False)
    printed = capsys.readouterr().out
    hours = {line.split()[0]: line.split()[3] for line in printed.splitlines()[1:5]}
    assert hours == {"measured": "2.0", "prior": "~1.0", "guessed": "??0.1", "quick": "~<0.1"}
    assert [line.strip() for line in printed.splitlines()[5:]] == [
        "wheels to build: 4, in 4 jobs; cells skipped: 0",
        "estimate: 3.1 machine hours, done in 2.0 (2.0 to 2.0) with 4 at work, 3.00 GB of 1 wheel",
        "2.0 of them for 1 wheel, as published wheels took",
        "~1.0 of them for 2 wheels, by 'seconds' in their entries",
        "??0.1 of them for 1 wheel, guessed: 454 seconds a GPU architecture, the median of measured packages",
    ]


def test_thousands_are_told_apart(capsys: pytest.CaptureFixture[str]) -> None:
    planned = Plan(targets=(of("measured"),) * 1200, skips=())
    past = {project_name("measured"): PastBuild(seconds=7200, size=3 * 10**9)}
    print_plan(planned, past, estimate(planned, past), wheels=False, skips=False)
    printed = capsys.readouterr().out
    for words in ("wheels to build: 1,200, in", "2,400.0 of them for 1,200 wheels", ", 3,600.00 GB of 1,200 wheels"):
        assert words in printed


def test_what_a_sample_leaves_out_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    sampled, other = of("sampled").cell, of("other").cell
    skips = (
        Skip(cell=sampled, obstacle=Obstacle.NO_TORCH, reason="no such torch"),
        Skip(cell=sampled, obstacle=Obstacle.NOT_SAMPLED, reason="not in the sample"),
        Skip(cell=other, obstacle=Obstacle.NO_TORCH, reason="no such torch"),
    )
    report_skips(Plan(targets=(of("sampled"),), skips=skips), Filters(torches=(TorchVersion(2, 11),)))
    lines = capsys.readouterr().err.splitlines()
    assert lines == ["skipped 2 of sampled: not in the sample", "skipped 1 of other: no such torch"]
