"""What programs print is bounded, and harmless where it is shown."""

import resource
import sys
from pathlib import Path

import pytest

from wheelmill.errors import ProcessError
from wheelmill.system import output, process

MIB = 1 << 20
ENDLESS_LINE = "import sys\nfor _ in range(64): sys.stdout.write('x' * (1 << 20))"


def test_one_endless_line_fills_neither_memory_nor_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output, "MAX_LOGGED", 10 * MIB)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    process.run([sys.executable, "-c", ENDLESS_LINE], log=tmp_path / "log")
    kilobytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before

    assert (tmp_path / "log").stat().st_size < 10 * MIB + 1000
    assert (tmp_path / "log").read_text().endswith(f"\n[{54 * MIB} more characters]\n")
    assert kilobytes < 10_000


def test_a_caller_is_given_no_more_than_can_be_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output, "MAX_RETURNED", 2 * MIB)
    with pytest.raises(ProcessError, match=r"printed more than 2 MiB$"):
        process.run([sys.executable, "-c", ENDLESS_LINE])


def test_a_long_line_that_is_asked_for_is_whole() -> None:
    assert len(process.run([sys.executable, "-c", "print('x' * 100_000, end='')"])) == 100_000


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
def test_foreign_lines_command_neither_terminals_nor_runners(printed: str, shown: str) -> None:
    lines: list[str] = []
    program = f"print({printed!r}); exit(1)"
    with pytest.raises(ProcessError) as caught:
        process.run([sys.executable, "-X", "utf8", "-c", program], on_line=lines.append)
    assert (lines, caught.value.tail) == ([shown], shown)
