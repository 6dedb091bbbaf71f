"""A program named docker that answers as it is told and remembers what it was asked."""

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import pytest

PROGRAM = """\
#!{python} -IS
import json, os, subprocess, sys

def starts(argv, words):
    return argv[:len(words)] == words

argv = sys.argv[1:]
with open("{folder}/asked.jsonl", "a+") as asked:
    asked.seek(0)
    before = [json.loads(line)["argv"] for line in asked]
    asked.write(json.dumps({{"argv": argv, "environment": dict(os.environ)}}) + "\\n")
with open("{folder}/answers.json") as file:
    answers = json.load(file)
for words, replies in reversed(answers):
    if starts(argv, words):
        reply = replies[min(sum(starts(other, words) for other in before), len(replies) - 1)]
        sys.stdout.write(reply["says"])
        sys.stdout.flush()
        sys.exit(subprocess.call(["sh", "-c", reply["does"]]) or reply["exit_code"])
sys.exit("docker was not expected to be asked " + " ".join(argv))
"""


@dataclass(frozen=True)
class Reply:
    """What docker prints, does and exits with."""

    says: str = ""
    exit_code: int = 0
    does: str = "true"
    """A line of shell, whose failure is docker's own."""


@dataclass(frozen=True)
class _Call:
    argv: list[str]
    environment: dict[str, str]


class FakeDocker:
    """Stands first on PATH."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._answers: list[tuple[list[str], list[dict[str, object]]]] = []
        program = folder / "bin" / "docker"
        program.parent.mkdir(parents=True)
        program.write_text(PROGRAM.format(python=sys.executable, folder=folder))
        program.chmod(0o755)
        self.answer("version", says='{"Client": {"ApiVersion": "1.50"}, "Server": {"ApiVersion": "1.50"}}')
        self.answer("ps")

    def answer(self, *words: str, says: str = "") -> None:
        """Print text whenever it is asked something that begins with these words; the last such answer counts."""
        self.reply(words, Reply(says))

    def reply(self, words: tuple[str, ...], *replies: Reply) -> None:
        """Give these replies one after the other, the last one ever after."""
        self._answers.append(([*words], [asdict(reply) for reply in replies]))
        (self._folder / "answers.json").write_text(json.dumps(self._answers))

    def has_containers(self, containers: Mapping[str, tuple[str, ...]]) -> None:
        """Have these containers, by the run whose label they carry."""
        labels = [run for run, ids in containers.items() for _ in ids]
        self.answer("ps", "--all", "--filter", "label=wheelmill", says="\n".join(labels))
        for run, ids in containers.items():
            self.answer("ps", "--all", "--quiet", "--filter", f"label=wheelmill={run}", says="\n".join(ids))
        self.answer("rm")

    def asked(self, *words: str) -> list[list[str]]:
        """What it was asked that begins with these words."""
        return [call.argv for call in self._calls() if call.argv[: len(words)] == [*words]]

    def environments(self, *words: str) -> list[dict[str, str]]:
        """The environments it was asked that in."""
        return [call.environment for call in self._calls() if call.argv[: len(words)] == [*words]]

    def _calls(self) -> list[_Call]:
        path = self._folder / "asked.jsonl"
        return [_Call(**json.loads(line)) for line in path.read_text().splitlines()] if path.exists() else []


def put_first_on_path(folder: Path, monkeypatch: pytest.MonkeyPatch) -> FakeDocker:
    """Make a docker that has nothing and answers."""
    docker = FakeDocker(folder)
    monkeypatch.setenv("PATH", f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}")
    return docker
