"""Which builds need not be tried again."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.unit.plan.conftest import target
from wheelmill.names import Architecture, Sha256
from wheelmill.plan.failures import inputs_of
from wheelmill.plan.targets import BuildTarget

TARGET = target()


def test_equal_inputs_have_equal_hashes() -> None:
    assert inputs_of(target()) == inputs_of(target())


@pytest.mark.parametrize(
    "other",
    [
        target(python="3.12"),
        replace(TARGET, toolkit="13.0.3"),
        replace(TARGET, architectures=(Architecture(9, 0),)),
        replace(TARGET, package=replace(TARGET.package, env={"FORCE_CUDA": "1"})),
        replace(TARGET, package=replace(TARGET.package, memory_per_job=1 << 30)),
    ],
)
def test_other_inputs_are_worth_another_try(other: BuildTarget) -> None:
    assert inputs_of(other) != inputs_of(TARGET)


def test_a_description_does_not_decide_how_a_build_goes() -> None:
    assert inputs_of(replace(TARGET, package=replace(TARGET.package, description="other"))) == inputs_of(TARGET)


def test_the_content_of_patches_and_of_a_source_folder_counts(tmp_path: Path) -> None:
    patch = tmp_path / "demo.patch"
    patched = replace(TARGET, package=replace(TARGET.package, patches=(patch,)))
    local = replace(TARGET, source=tmp_path)

    def hashes_with(content: str) -> tuple[Sha256, Sha256]:
        patch.write_text(content)
        return inputs_of(patched), inputs_of(local)

    first, second = hashes_with("a"), hashes_with("b")
    assert first[0] != second[0]
    assert first[1] != second[1]
    assert hashes_with("a") == first
