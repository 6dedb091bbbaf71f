"""What GitHub cannot take, or would change, is not sent."""

from pathlib import Path

import pytest

from tests.releases import NOW, stopped_at
from wheelmill.names import Sha256
from wheelmill.release.github import Repository
from wheelmill.release.github.api import Pace
from wheelmill.release.github.store import GitHubStore
from wheelmill.wheel.archive import MAX_WHEEL
from wheelmill.wheel.name import WheelFile

STORE = GitHubStore(repository=Repository(full_name="octo/wheels"), pace=Pace(stopped_at(NOW)))


def wheel(tags: str, *, version: str = "1.0+cu130torch2.11", size: int = 1) -> WheelFile:
    return WheelFile(path=Path(f"demo-{version}-{tags}.whl"), sha256=Sha256("0" * 64), size=size)


@pytest.mark.parametrize(
    "tags",
    [
        "cp312-cp312-manylinux_2_28_x86_64",
        "cp312-cp312-manylinux_2_17_x86_64.manylinux2014_x86_64",
        "cp39-abi3-manylinux_2_28_aarch64",
        "py3-none-any",
    ],
)
def test_the_published_policy_and_older_are_taken(tags: str) -> None:
    assert STORE.reason_to_refuse(wheel(tags)) is None


@pytest.mark.parametrize("platform", ["manylinux_2_34_x86_64", "manylinux_3_0_x86_64", "linux_x86_64", "win_amd64"])
def test_others_are_refused(platform: str) -> None:
    reason = STORE.reason_to_refuse(wheel(f"cp312-cp312-{platform}"))
    assert reason
    assert reason.startswith(f"is for {platform}; published wheels are for manylinux_2_28 or older")


def test_a_name_that_github_would_change_is_refused() -> None:
    assert (
        STORE.reason_to_refuse(wheel("py3-none-any", version="1!2.0"))
        == "has '!' in its name, which GitHub would replace"
    )


@pytest.mark.parametrize(("size", "refused"), [(MAX_WHEEL - 1, False), (MAX_WHEEL, True)])
def test_assets_stay_below_two_gibibytes(size: int, refused: bool) -> None:  # noqa: FBT001 - a parameter of a test
    assert bool(STORE.reason_to_refuse(wheel("py3-none-any", size=size))) is refused
