import json

import pytest
from packaging.version import Version
from pydantic import TypeAdapter, ValidationError

from wheelmill.names import (
    Architecture,
    StableTorch,
    TorchVersion,
)


@pytest.mark.parametrize("text", ["2.11", "2.11.0", "2.11.1"])
def test_a_torch_version_is_read_with_and_without_patch(text: str) -> None:
    assert TorchVersion.parse(text) == TorchVersion(2, 11)


@pytest.mark.parametrize("text", ["2.16rc3", "2.16.0rc3", " 2.16rc3 "])
def test_a_release_candidate_of_torch_is_another_torch_than_its_release(text: str) -> None:
    candidate, release = TorchVersion.parse(text), TorchVersion(2, 16)
    assert candidate == TorchVersion(2, 16, 3) != release
    assert (str(candidate), candidate.pin) == ("2.16rc3", ">=2.16.0rc3,<=2.16.0")
    assert (str(release), release.pin) == ("2.16", "==2.16.*")
    assert sorted([release, candidate, TorchVersion(2, 16, 12), TorchVersion(2, 15), TorchVersion(2, 17, 1)]) == [
        TorchVersion(2, 15),
        candidate,
        TorchVersion(2, 16, 12),
        release,
        TorchVersion(2, 17, 1),
    ]


@pytest.mark.parametrize(
    ("version", "torch"),
    [
        *(("2.16.0rc1+cu130", "2.16rc1"), ("2.16.0+cu130", "2.16"), ("2.16.1rc1", "2.16")),
        *(("2.17.0.dev20261122+cu130", "2.17"), ("2.17.0a0+gitabc", "2.17")),
    ],
)
def test_an_installed_torch_is_a_candidate_only_before_its_minor_release(version: str, torch: str) -> None:
    assert str(TorchVersion.of_release(Version(version))) == torch


@pytest.mark.parametrize(
    ("text", "architecture"),
    [
        ("9.0", Architecture(9, 0)),
        ("9.0a", Architecture(9, 0, "a")),
        ("10.0f", Architecture(10, 0, "f")),
        ("12.0+PTX", Architecture(12, 0, ptx=True)),
        ("9.0a+PTX", Architecture(9, 0, "a", ptx=True)),
    ],
)
def test_an_architecture_is_read_as_torch_writes_it(text: str, architecture: Architecture) -> None:
    assert Architecture.parse(text) == architecture
    assert str(architecture) == text


STABLE = StableTorch(oldest=TorchVersion(2, 10))


@pytest.mark.parametrize(
    ("stable", "plain", "text"),
    [
        (STABLE, {"stable": "2.10"}, ">=2.10"),
        (
            StableTorch(oldest=TorchVersion(2, 10), below=TorchVersion(2, 16)),
            {"stable": "2.10", "below": "2.16"},
            ">=2.10,<2.16",
        ),
    ],
)
def test_a_range_of_torches_is_one_value_in_files_json_and_requirements(
    stable: StableTorch, plain: dict[str, str], text: str
) -> None:
    adapter = TypeAdapter(StableTorch)
    assert adapter.validate_python(plain) == adapter.validate_json(json.dumps(plain), strict=True) == stable
    assert json.loads(adapter.dump_json(stable)) == plain
    assert str(stable) == text


def test_a_range_of_torches_has_its_oldest_and_ends_before_its_bound() -> None:
    bounded = StableTorch(oldest=TorchVersion(2, 10), below=TorchVersion(2, 12))
    assert [TorchVersion(2, minor) in bounded for minor in (9, 10, 11, 12)] == [False, True, True, False]
    assert TorchVersion(3, 0) in STABLE
    assert bounded in STABLE
    assert STABLE not in bounded
    assert StableTorch(oldest=TorchVersion(2, 9), below=TorchVersion(2, 12)) not in STABLE


@pytest.mark.parametrize("plain", [{}, {"below": "2.10"}, {"stable": 2.10}, {"stable": "2.10", "above": "2.9"}, "2.10"])
def test_what_is_no_range_of_torches_is_refused(plain: object) -> None:
    with pytest.raises(ValidationError):
        TypeAdapter(StableTorch).validate_python(plain)


@pytest.mark.parametrize("below", [TorchVersion(2, 10), TorchVersion(2, 9)])
def test_a_range_of_no_torch_is_refused(below: TorchVersion) -> None:
    with pytest.raises(ValueError, match="expected 'below' to be a torch newer"):
        StableTorch(oldest=TorchVersion(2, 10), below=below)
