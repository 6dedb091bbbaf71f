"""What became of the packages of an environment."""

import sys
from pathlib import Path

import pytest

from wheelmill.client.install import changes
from wheelmill.client.install.changes import ChangeKind, InstalledPackage, compare_packages, packages_in
from wheelmill.client.install.distributions import read_distributions
from wheelmill.names import project_name

TORCH = project_name("torch")


@pytest.mark.parametrize(
    ("before", "after", "kind", "sign", "versions"),
    [
        (None, "2.9.0", ChangeKind.INSTALLED, "+", "2.9.0"),
        ("2.8.0", None, ChangeKind.REMOVED, "-", "2.8.0"),
        ("2.8.0", "2.10.0", ChangeKind.UPGRADED, "~", "2.8.0 -> 2.10.0"),
        ("2.10.0", "2.9.0", ChangeKind.DOWNGRADED, "~", "2.10.0 -> 2.9.0"),
        ("2.8.0+cu126", "2.8.0+cu128", ChangeKind.UPGRADED, "~", "2.8.0+cu126 -> 2.8.0+cu128"),
        ("of old", "2.9.0", ChangeKind.REPLACED, "~", "of old -> 2.9.0"),
    ],
)
def test_a_change_in_words(before: str | None, after: str | None, kind: ChangeKind, sign: str, versions: str) -> None:
    old, new = (({TORCH: InstalledPackage(version=each, size=8)} if each else {}) for each in (before, after))
    (change,) = compare_packages(old, new)
    assert (change.kind, change.sign, change.versions, change.size) == (kind, sign, versions, 8)


def test_another_build_of_a_version_is_a_change() -> None:
    one, other, unknown = (InstalledPackage(version="1.0", size=8, identity=number) for number in (1, 2, None))
    (change,) = compare_packages({TORCH: one}, {TORCH: other})
    assert (change.kind, change.versions) == (ChangeKind.REPLACED, "1.0")
    assert compare_packages({TORCH: one}, {TORCH: unknown}) == ()
    assert compare_packages({TORCH: one}, {TORCH: one}) == ()


def test_packages_have_the_size_that_their_record_tells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, record in {"torch": "torch/a.py,,100\ntorch/b.so,,23\ntorch/RECORD,,\n", "broken": 'a,"'}.items():
        folder = tmp_path / f"{name}-1.0.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (folder / "RECORD").write_text(record)
    monkeypatch.setattr(changes, "distributions_of", lambda _: read_distributions([tmp_path]))
    found = packages_in(Path(sys.executable))
    assert {project: package.size for project, package in found.items()} == {"torch": 123, "broken": None}
