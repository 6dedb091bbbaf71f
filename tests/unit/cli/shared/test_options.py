"""Values of options that nobody should give."""

from pathlib import Path
from typing import Any

import pytest

from tests.refusals import coded
from wheelmill.cli.shared.options import TargetOptions, signer_of
from wheelmill.errors import UsageError

DIGITS = 4500 * "9"
"""More than Python makes a number of."""


@pytest.mark.parametrize(
    "option",
    [
        *({"driver": f"{DIGITS}.1"}, {"libc": f"{DIGITS}.1"}, {"torch": f"2.8+cu{DIGITS}"}, {"torch": f"{DIGITS}.1"}),
        *({"cuda": DIGITS}, {"gpu": [f"{DIGITS}.1"]}, {"python": DIGITS}, {"platform": f"macosx_{DIGITS}_arm64"}),
        *({"torch": "2.8+cu12.99"}, {"cuda": "1281"}, {"cuda": "9"}, {"cuda": "\u0661\u0662"}),
        *({"torch": "\udcff"}, {"gpu": ["\x1b[2J"]}, {"torch": ""}, {"cuda": ""}, {"cxx11_abi": "1"}),
    ],
)
def test_a_value_that_is_none_is_refused_by_the_name_of_its_option(option: dict[str, Any]) -> None:
    (name,) = option
    with pytest.raises(UsageError, check=coded("value-invalid", "--", "expected", name.replace("_", "-"))):
        TargetOptions(**option).overrides()


def test_a_branch_of_drivers_stands_for_its_oldest() -> None:
    assert TargetOptions(driver="535").overrides().driver == "535"
    with pytest.raises(UsageError, check=coded("value-invalid", "--driver")):
        TargetOptions(driver="535.").overrides()


COMMITS = ("1" * 40, "2" * 40, "3" * 40)


def test_the_commits_of_a_signer_may_be_in_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("wheelmill.commits").write_text(f"# what the workflow called before\n{COMMITS[1]} # 1.0\n\n{COMMITS[2]}\n")
    for words, commits in (
        (f"{COMMITS[0]},wheelmill.commits", COMMITS),
        ("wheelmill.commits", COMMITS[1:]),
        (COMMITS[0], COMMITS[:1]),
    ):
        signer = signer_of(f"me/demo:owner/wheelmill@{words}")
        assert signer
        assert signer.commits == commits
    plain = signer_of("owner/wheelmill@wheelmill.commits")  # a branch may be called so
    assert plain
    assert plain.branch == "wheelmill.commits"


def test_a_file_in_a_clone_that_is_called_like_a_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path(COMMITS[0]).write_text(COMMITS[1])
    signer = signer_of(f"me/demo:owner/wheelmill@{COMMITS[0]}")
    assert signer
    assert signer.commits == COMMITS[:1]


@pytest.mark.parametrize("content", ["", "# none\n", "main\n", "1" * 39, b"\xff"])
def test_a_file_without_commits_is_refused(content: str | bytes, tmp_path: Path) -> None:
    file = tmp_path / "commits"
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    for path in (file, tmp_path / "missing"):
        with pytest.raises(UsageError, check=coded("signer-invalid", "--require-attestation")):
            signer_of(f"me/demo:owner/wheelmill@{path}")
