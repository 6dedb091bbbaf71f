"""A program named docker that answers as it is told and remembers what it was asked."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import pytest

from wheelmill.errors import ProcessError
from wheelmill.system import process
from wheelmill.system.process import Output

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
        self._answers: list[tuple[list[str], list[Reply]]] = []
        self._program = folder / "bin" / "docker"
        self._program.parent.mkdir(parents=True)
        self._program.write_text(PROGRAM.format(python=sys.executable, folder=folder))
        self._program.chmod(0o755)
        self.answer("version", says='{"Client": {"ApiVersion": "1.50"}, "Server": {"ApiVersion": "1.50"}}')
        self.answer("ps")

    def answer(self, *words: str, says: str = "") -> None:
        """Print text whenever it is asked something that begins with these words; the last such answer counts."""
        self.reply(words, Reply(says))

    def reply(self, words: tuple[str, ...], *replies: Reply) -> None:
        """Give these replies one after the other, the last one ever after."""
        self._answers.append(([*words], [*replies]))
        answers = [(words, [asdict(reply) for reply in replies]) for words, replies in self._answers]
        (self._folder / "answers.json").write_text(json.dumps(answers))

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

    def run(  # as `process.run`
        self,
        argv: list[str | Path],
        *,
        env: Mapping[str, str] | None = None,
        on_line: Callable[[str], None] | None = None,
        **others: object,
    ) -> str:
        """Answer in this process what it would be asked as a program; other programs run."""
        if argv[0] != "docker" or shutil.which("docker") != str(self._program):
            return _run(argv, env=env, on_line=on_line, **others)  # type: ignore[arg-type]  # whatever these are
        words = [str(word) for word in argv[1:]]
        reply = self._reply_to(words)
        with (self._folder / "asked.jsonl").open("a") as asked:
            print(json.dumps({"argv": words, "environment": dict(os.environ if env is None else env)}), file=asked)
        code = (reply.does != "true" and subprocess.call(["sh", "-c", reply.does])) or reply.exit_code
        with Output(["docker", *words], None, on_line) as output:
            output.take(reply.says.encode(), last=True)
        if code:
            raise ProcessError("program-failed", f"docker exited with {code}", returncode=code, tail=output.tail)
        return output.text

    def _reply_to(self, words: list[str]) -> Reply:
        for begin, replies in reversed(self._answers):
            if words[: len(begin)] == begin:
                return replies[min(len(self.asked(*begin)), len(replies) - 1)]
        return Reply(f"docker was not expected to be asked {' '.join(words)}", exit_code=1)

    def _calls(self) -> list[_Call]:
        path = self._folder / "asked.jsonl"
        return [_Call(**json.loads(line)) for line in path.read_text().splitlines()] if path.exists() else []


_run = process.run


def put_first_on_path(folder: Path, monkeypatch: pytest.MonkeyPatch, *, for_us: bool = False) -> FakeDocker:
    """A docker that has nothing and answers: a program in a folder, and with ``for_us`` for this process, too."""
    docker = FakeDocker(folder)
    monkeypatch.setenv("PATH", f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}")
    if not for_us:
        monkeypatch.setattr(process, "run", docker.run)
    return docker
