"""What programs print is bounded, and harmless where it is shown."""

import resource
from pathlib import Path

import pytest

from wheelmill.errors import ProcessError
from wheelmill.system import output, process

MIB = 1 << 20
ENDLESS_LINE = ["sh", "-c", "head -c 64M /dev/zero | tr '\\0' x"]


def test_one_endless_line_fills_neither_memory_nor_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output, "MAX_LOGGED", 10 * MIB)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    process.run(ENDLESS_LINE, log=tmp_path / "log")
    kilobytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert (tmp_path / "log").stat().st_size < 10 * MIB + 1000
    assert (tmp_path / "log").read_text().endswith(f"\n[{54 * MIB} more characters]\n")
    assert kilobytes < 10_000


def test_a_caller_is_given_no_more_than_can_be_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output, "MAX_RETURNED", 2 * MIB)
    with pytest.raises(ProcessError, match=r"printed more than 2 MiB$"):
        process.run(ENDLESS_LINE)


def test_a_long_line_that_is_asked_for_is_whole() -> None:
    assert len(process.run(["sh", "-c", "head -c 100000 /dev/zero | tr '\\0' x"])) == 100_000


@pytest.mark.parametrize(
    ("printed", "shown"),
    [
        ("\033[2Jgone", "\\x1b[2Jgone"),
        ("::set-output name=a::b", ": :set-output name=a::b"),
        ("  ::add-mask::x", "  : :add-mask::x"),
        ("\u3000\u200b::add-mask::x", "\u3000\\u200b::add-mask::x"),
        ("a\u202egnp.whl\u2028\U000e0041", "a\\u202egnp.whl\\u2028\\U000e0041"),
        (":::add-mask::x", ": ::add-mask::x"),
        ("a.cpp:1:2: error: 'std::vector' has no member", "a.cpp:1:2: error: 'std::vector' has no member"),
        ("##[group]x", "## [group]x"),
        ("a\tb größe «\u00a0日本\u00a0»", "a\tb größe «\u00a0日本\u00a0»"),
        ("bell\a \x9b31m", "bell\\x07 \\x9b31m"),
    ],
)
def test_foreign_lines_command_neither_terminals_nor_runners(printed: str, shown: str, tmp_path: Path) -> None:
    lines: list[str] = []
    (tmp_path / "printed").write_text(f"{printed}\n", encoding="utf-8")
    with pytest.raises(ProcessError) as caught:
        process.run(["sh", "-c", 'cat "$0"; exit 1', tmp_path / "printed"], on_line=lines.append)
    assert (lines, caught.value.tail) == ([shown], shown)
