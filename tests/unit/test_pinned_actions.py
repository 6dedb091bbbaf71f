"""Contradictions between the steps of a workflow and the ``action.yml`` of the action that they run."""

from pathlib import Path

import pytest
import yaml

from tests.git_repositories import Commit, repository
from tests.pinned_actions import Action, contradictions, find_contradictions, uses_in

COMMIT = "0123456789abcdef0123456789abcdef01234567"
WORKFLOW = f"""\
jobs:
  build:
    outputs:
      key: ${{{{ steps.saved.outputs.key }}}}
    steps:
      - uses: owner/tool/save@{COMMIT} # v1.2.3
        id: saved
        with:
          path: out
      - uses: ./.github/actions/setup
  other:
    steps:
      - id: saved
        run: echo ${{{{ steps.saved.outputs.place }}}}
"""
ACTION = """\
inputs:
  path:
    required: true
  level:
    required: true
    default: "6"
outputs:
  key:
    description: Name of what was saved
runs:
  using: node24
"""


def test_an_action_is_known_by_its_folder_its_commit_and_the_release_in_the_comment(tmp_path: Path) -> None:
    (tmp_path / "build.yml").write_text(WORKFLOW)
    ((action, (use,)),) = uses_in([tmp_path / "build.yml"]).items()
    assert action == Action(name="owner/tool/save", commit=COMMIT, release="v1.2.3")
    assert (action.url, action.folder) == ("https://github.com/owner/tool", "save/")
    assert (set(use.inputs), set(use.outputs)) == ({"path"}, {"key"})


@pytest.mark.parametrize(
    ("before", "after", "named"),
    [
        ("path: out", "path: out", []),
        ("path: out", "path: out\n          level: 9", []),
        ("using: node24", "using: composite", []),
        ("path: out", "path: out\n          speed: 9", ["build.yml: no input speed"]),
        ("path: out", "level: 9", ["build.yml: input path is missing"]),
        ("outputs.key", "outputs.digest", ["build.yml: no output digest"]),
        ("using: node24", "using: node16", ["runs.using: GitHub runs no node16"]),
    ],
)
def test_an_actions_steps_use_only_its_inputs(before: str, after: str, named: list[str], tmp_path: Path) -> None:
    assert before in WORKFLOW + ACTION
    (tmp_path / "build.yml").write_text(WORKFLOW.replace(before, after))
    (uses,) = uses_in([tmp_path / "build.yml"]).values()
    assert list(contradictions(uses, yaml.safe_load(ACTION.replace(before, after)))) == named


def test_a_composite_action_runs_others_too(tmp_path: Path) -> None:
    steps = WORKFLOW[WORKFLOW.index("    steps:") : WORKFLOW.index("  other:")]
    (tmp_path / "action.yml").write_text(f"outputs: steps.saved.outputs.key\nruns:\n{steps}")
    ((use,),) = uses_in([tmp_path / "action.yml"]).values()
    assert (use.where, set(use.outputs)) == ("action.yml", {"key"})


@pytest.mark.parametrize(
    ("number", "release", "named"),
    [
        (0, "v1.2.3", []),
        (0, "v1", []),
        (0, "v2.0.0", ["v2.0.0 is another commit"]),
        (0, "v3.0.0", ["v3.0.0 is another commit"]),
        (1, "v2.0.0", ["build.yml: no input path", "build.yml: no output key"]),
        (None, "v1.2.3", ["cannot be read"]),
    ],
)
def test_an_action_is_asked_for_at_its_commit(
    number: int | None, release: str, named: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = Commit(files={"save/action.yml": ACTION}, tags=("v1.2.3",), annotated_tags=("v1",))
    second = Commit(files={"save/action.yml": "runs:\n  using: node24\n"}, tags=("v2.0.0",))
    made = repository(first, second, name="tool")
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", f"url.file://{made.path}.insteadOf")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "https://github.com/owner/tool")
    (tmp_path / "build.yml").write_text(WORKFLOW)
    (uses,) = uses_in([tmp_path / "build.yml"]).values()
    commit = COMMIT if number is None else made.commits[number]
    (folder := tmp_path / "fetched").mkdir()
    found = find_contradictions(Action(name="owner/tool/save", commit=commit, release=release), uses, folder)
    assert [fault.partition(":")[0] if number is None else fault for fault in found] == named
