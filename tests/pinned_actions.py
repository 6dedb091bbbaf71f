"""Actions of others that our workflows run, each at a commit, and what contradicts its ``action.yml`` there."""

import os
import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

GITHUB: Final = "https://github.com"
OLDEST_NODE: Final = 20
"""Oldest Node that GitHub's runners still have for actions.

https://docs.github.com/en/actions/reference/workflows-and-actions/metadata-syntax#runs-for-javascript-actions
"""

_PINNED: Final = re.compile(r"uses: (\S+@[0-9a-f]{40}) # (\S+)")
_OUTPUT: Final = re.compile(r"\bsteps\.([\w-]+)\.outputs\.([\w-]+)")


@dataclass(frozen=True, kw_only=True)
class Action:
    """Action at a commit."""

    name: str
    """OWNER/REPOSITORY, and its folder there."""
    commit: str
    release: str
    """Tag that a comment gives to the commit."""

    @property
    def url(self) -> str:
        """The repository."""
        return f"{GITHUB}/{'/'.join(self.name.split('/')[:2])}"

    @property
    def folder(self) -> str:
        """Path in the repository, with a slash at its end; empty for the root."""
        return "".join(f"{part}/" for part in self.name.split("/")[2:])


@dataclass(frozen=True, kw_only=True)
class Use:
    """Step that runs an action."""

    where: str
    inputs: frozenset[str]
    outputs: frozenset[str]
    """Outputs of the step that its job or action reads."""


def uses_in(paths: Iterable[Path]) -> dict[Action, list[Use]]:
    """Find the steps of workflows and composite actions that run an action at a commit."""
    uses: dict[Action, list[Use]] = {}
    for path in paths:
        text = path.read_text()
        releases = dict(_PINNED.findall(text))
        for part, steps in _parts(yaml.safe_load(text)):
            read = _OUTPUT.findall(str(part))
            for step in steps:
                if (used := step.get("uses", "")) in releases:
                    name, _, commit = used.partition("@")
                    action = Action(name=name, commit=commit, release=releases[used])
                    outputs = frozenset(output for step_id, output in read if step_id == step.get("id"))
                    use = Use(where=path.name, inputs=frozenset(step.get("with", ())), outputs=outputs)
                    uses.setdefault(action, []).append(use)
    return uses


def _parts(content: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], Iterable[Mapping[str, Any]]]]:
    """Yield each part whose steps see each other's outputs, and these steps."""
    if "runs" in content:
        yield content, content["runs"]["steps"]
    for job in content.get("jobs", {}).values():
        yield job, job.get("steps", ())


def contradictions(uses: Iterable[Use], action: Mapping[str, Any]) -> Iterator[str]:
    """Name what steps give to an action, or read of it, and its ``action.yml`` does not declare."""
    declared, outputs = action.get("inputs") or {}, action.get("outputs") or {}
    required = {name for name, entry in declared.items() if entry.get("required") and "default" not in entry}
    for use in uses:
        yield from (f"{use.where}: no input {name}" for name in sorted(use.inputs - declared.keys()))
        yield from (f"{use.where}: input {name} is missing" for name in sorted(required - use.inputs))
        yield from (f"{use.where}: no output {name}" for name in sorted(use.outputs - outputs.keys()))
    using = action["runs"]["using"]
    node = re.fullmatch(r"node(\d+)", using)
    if int(node[1]) < OLDEST_NODE if node else using not in {"composite", "docker"}:
        yield f"runs.using: GitHub runs no {using}"


def find_contradictions(action: Action, uses: Iterable[Use], folder: Path) -> list[str]:
    """Ask GitHub for an action's commit and name what contradicts it, also a tag that points at another one."""
    tag = f"refs/tags/{action.release}"
    try:
        _git(folder, "init", "--quiet", "--bare")
        _git(folder, "fetch", "--quiet", "--depth=1", action.url, action.commit)
        content = yaml.safe_load(_git(folder, "show", f"{action.commit}:{_file_of(action, folder)}"))
        listed = _git(folder, "ls-remote", action.url, tag, f"{tag}^{{}}")  # the latter is an annotated tag's commit
    except subprocess.CalledProcessError as error:
        return [f"cannot be read: {' '.join(error.stderr.split())}"]
    found = [*contradictions(uses, content)]
    return found if action.commit in listed.split()[-2:] else [*found, f"{action.release} is another commit"]


def _file_of(action: Action, folder: Path) -> str:
    files = _git(folder, "ls-tree", "-r", "--name-only", action.commit).splitlines()
    return next(name for name in (f"{action.folder}action.yml", f"{action.folder}action.yaml") if name in files)


def _git(folder: Path, *words: str) -> str:
    variables = os.environ | {"GIT_TERMINAL_PROMPT": "0"}  # GitHub asks for a password where there is no repository
    return subprocess.run(["git", *words], cwd=folder, env=variables, capture_output=True, text=True, check=True).stdout
