"""The actions of others in our workflows, as GitHub has them at their commits: nothing contradicts how we use them."""

import sys
from pathlib import Path

import pytest

from tests.pinned_actions import find_contradictions, uses_in
from tests.real.conftest import ROOT
from tests.skips import KINDS

pytestmark = [pytest.mark.real, pytest.mark.nightly]

HEAD = "| action | release | commit | inputs | outputs | contradictions |\n|---|---|---|---|---|---|\n"


def test_no_action_contradicts_our_workflows(tmp_path: Path) -> None:
    if KINDS["no GitHub"]():
        pytest.skip("GitHub does not answer")
    found: list[str] = []
    sys.stdout.write(HEAD)
    for action, uses in sorted(uses_in((ROOT / ".github").glob("*s/**/*.yml")).items(), key=str):
        (folder := tmp_path / action.name.replace("/", "+")).mkdir()
        faults = find_contradictions(action, uses, folder)
        inputs = sorted({name for use in uses for name in use.inputs})
        outputs = sorted({name for use in uses for name in use.outputs})
        cells = (action.name, action.release, action.commit, ", ".join(inputs), ", ".join(outputs))
        sys.stdout.write(f"| {' | '.join(cells)} | {'; '.join(faults) or 0} |\n")
        found += [f"{action.name}: {fault}" for fault in faults]
    assert found == []
