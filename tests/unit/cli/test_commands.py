"""The list of commands: what help says without importing them, and that they are there."""

import errno
import importlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NoReturn

import pytest

from wheelmill import cli
from wheelmill.cli import COMMANDS
from wheelmill.cli.shared.commands import print_json
from wheelmill.index.serve import serve_folder

SLOW = ["pydantic", "httpx", "yaml", "rich.console", "sqlite3", "tomlkit", "packaging.requirements"]
OF_LOCKS = ["email.parser", "packaging.metadata", "packaging.pylock", "wheelmill.client.lock.files"]


def loaded_by(*arguments: str, modules: Sequence[str] = SLOW) -> list[str]:
    """Which of some modules, those that take long, a command imports, whether or not it succeeds."""
    code = (
        "import json, sys\nfrom wheelmill.cli import application\n"
        f"try: application({list(arguments)!r})(standalone_mode=False, args={list(arguments)!r})\n"
        f"finally: print(json.dumps([name for name in {list(modules)!r} if name in sys.modules]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    return list(json.loads(done.stdout.splitlines()[-1]))


def test_help_imports_nothing_that_takes_long() -> None:
    assert loaded_by("--help") == []


def test_the_version_is_shown_without_the_command_line() -> None:
    command = [sys.executable, "-X", "importtime", "-m", "wheelmill", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "importlib.metadata" in imported
    assert {name for name in imported if name.startswith("wheelmill")} == {"wheelmill"}
    assert not imported & {"typer", "dataclasses", *SLOW}


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_full_disk_is_reported_for_the_version_too(unbuffered: str) -> None:
    own = os.environ | {"PYTHONUNBUFFERED": unbuffered}
    with Path("/dev/full").open("w") as full:
        command = [sys.executable, "-m", "wheelmill", "--version"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, env=own, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, "error: No space left on device\n")


def test_json_is_written_as_it_is_made(capsys: pytest.CaptureFixture[str]) -> None:
    lists = {"items": [{"a": "x\ny##[", "b": [1, {"c": []}]}, {}], "none": [], "of": {"d": [1]}}
    written_before_the_second = []

    def items() -> Iterator[object]:
        for item in lists["items"]:
            written_before_the_second.append(capsys.readouterr().out)
            yield item

    print_json({**lists, "items": items(), "none": iter(())})
    written_before_the_second.append(capsys.readouterr().out)
    assert '"a"' in written_before_the_second[1]
    assert "".join(written_before_the_second) == json.dumps(lists, indent=2).replace("##[", r"\u0023#[") + "\n"


def test_a_described_target_is_shown_without_network_and_configuration() -> None:
    described = ("--python", "3.12", "--torch", "2.8", "--cuda", "12.8", "--platform", "linux_x86_64", "--json")
    assert set(loaded_by("environment", *described)) <= {"packaging.requirements"}


def test_choosing_wheels_imports_nothing_that_writes_locks(tmp_path: Path) -> None:
    page = ("--source", "find-links:https://wheels.example/", "--offline", "--no-cache")
    assert loaded_by("resolve", "demo", "--python", "3.12", *page, modules=OF_LOCKS) == []
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path], check=True)  # else it examines our own
    python = str(tmp_path / "bin" / "python")
    assert loaded_by("doctor", "--offline", "--python-path", python, modules=OF_LOCKS) == OF_LOCKS


def test_choosing_a_wheel_from_the_cache_loads_few_modules(tmp_path: Path) -> None:
    wheel = "demo-1.0+cu128torch2.8-cp312-cp312-manylinux_2_28_x86_64.whl"
    (tmp_path / "links.html").write_text(f'<a href="{wheel}">{wheel}</a>')
    target = (
        *("--python", "3.12", "--torch", "2.8", "--cuda", "12.8", "--platform", "linux_x86_64", "--no-look"),
        "--json",
    )
    command = [sys.executable, "-X", "importtime", "-m", "wheelmill", "resolve", "demo", *target]
    with serve_folder(tmp_path) as url:
        runs = [
            subprocess.run(
                [*command, "--source", f"find-links:{url}links.html"],
                cwd=tmp_path,
                env={**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")},
                capture_output=True,
                text=True,
                check=True,
            )
            for _ in range(2)
        ]
    modules = {line.rpartition("|")[2].strip() for line in runs[-1].stderr.splitlines() if "import time:" in line}
    assert modules & {"httpx", "tomlkit", "zipfile", "wheelmill.wheel.archive"} == set()
    assert len({name for name in modules if name.startswith("wheelmill")}) <= 62
    assert len(modules) <= 290  # another Python has others of its own


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_in_its_module(name: str) -> None:
    module_name, description = COMMANDS[name]
    module = importlib.import_module(f"wheelmill.cli.{module_name}")
    assert callable(getattr(module, name, None)) or hasattr(module, "app")
    assert description.endswith(".")


def main_that_meets(error: BaseException, monkeypatch: pytest.MonkeyPatch) -> None:
    def meet(_words: object) -> NoReturn:
        raise error

    monkeypatch.setattr(cli, "application", meet)
    cli.main()


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), "error: No space left on device\n"),
        (PermissionError(errno.EACCES, "Permission denied", "out/site"), "error: out/site: Permission denied\n"),
        (
            OSError(errno.ELOOP, "Too many levels of symbolic links", "out"),
            "error: out: Too many levels of symbolic links\n",
        ),
        (OSError(errno.ENAMETOOLONG, "File name too long", "out"), "error: out: File name too long\n"),
    ],
)
def test_what_the_machine_refuses_is_no_bug(
    error: OSError, said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match=r"^2$"):
        main_that_meets(error, monkeypatch)
    assert capsys.readouterr().err == said


def test_a_command_in_a_folder_that_was_removed_is_no_bug(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    with pytest.raises(SystemExit, match=r"^2$"):
        main_that_meets(FileNotFoundError(errno.ENOENT, "No such file or directory"), monkeypatch)
    assert capsys.readouterr().err.startswith("error: the folder that this was started in was removed\n")


def test_a_file_that_nobody_missed_before_is_a_bug(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(FileNotFoundError):
        main_that_meets(FileNotFoundError(errno.ENOENT, "No such file or directory", "x"), monkeypatch)


def test_an_interruption_before_a_command_begins_is_no_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SystemExit, match=r"^130$"):
        main_that_meets(KeyboardInterrupt(), monkeypatch)


def test_letters_that_the_encoding_of_the_output_lacks_are_escaped(tmp_path: Path) -> None:
    interpreter = tmp_path / "Иван" / "bin" / "python"
    interpreter.parent.mkdir(parents=True)
    interpreter.symlink_to(sys.executable)
    argv = [sys.executable, "-m", "wheelmill", "environment", "--python-path", str(interpreter)]
    done = subprocess.run(argv, capture_output=True, check=True, env=os.environ | {"PYTHONIOENCODING": "cp1252"})
    assert rb"\u0418\u0432\u0430\u043d/bin/python" in done.stdout
