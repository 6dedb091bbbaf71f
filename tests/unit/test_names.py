"""Names, versions and values with one spelling, and what is refused as one."""

import json
from collections.abc import Callable

import pytest
from packaging.version import Version
from pydantic import TypeAdapter, ValidationError

from wheelmill.names import (
    Architecture,
    CudaVersion,
    Platform,
    PythonVersion,
    StableTorch,
    TorchVersion,
    Word,
    project_name,
    project_version,
    read_requirement,
)


@pytest.mark.parametrize(
    ("parse", "text"),
    [
        *(
            (CudaVersion.parse, text)
            for text in ("", "cu", "12", "cu12", "13.0.2.1", "13.0rc1", "\uff11\uff13\uff10", "1!13.0")
        ),
        *((TorchVersion.parse, text) for text in ("", "2", "2.11+cpu", "2.11a1", "2.11.0.0", "1!2.11")),
        *((TorchVersion.parse, text) for text in ("2.16rc", "2.16.1rc1", "2.16rc\u0661")),
        *((PythonVersion.parse, text) for text in ("", "3", "t", "3.13tt", "3.13T", "pp310", "1!3.13")),
        *(
            (Architecture.parse, text)
            for text in ("", "9", "90", "sm_90", "9.0b", "9.0af", "9.0+ptx", "9.0.1", "1!9.0")
        ),
        *(
            (Platform.parse, text)
            for text in ("", "any", "linux", "linux_", "win32", "_x86_64", "manylinux_2_28_x86_64")
        ),
        *((Architecture.of_code, text) for text in ("", "sm_", "sm_5", "90", "sm_9x", "sm_90af")),
    ],
)
def test_other_text_is_refused_with_an_example(parse: Callable[[str], Word], text: str) -> None:
    with pytest.raises(ValueError, match="expected a"):
        parse(text)


@pytest.mark.parametrize("text", ["3", "x", "2,7"])
def test_what_was_written_stands_in_the_refusal(text: str) -> None:
    with pytest.raises(ValueError, match=rf", not '{text}'$"):
        PythonVersion.parse(text)


def test_versions_are_ordered_by_number() -> None:
    assert CudaVersion(9, 2) < CudaVersion(12, 8) < CudaVersion(13, 0)
    assert TorchVersion(2, 9) < TorchVersion(2, 11)


@pytest.mark.parametrize(
    "word",
    [
        CudaVersion(13, 0),
        TorchVersion(2, 11),
        TorchVersion(2, 16, 1),
        PythonVersion(3, 13, free_threaded=True),
        Architecture(9, 0, "a"),
        Platform("linux", "x86_64"),
    ],
)
def test_records_hold_words_as_text(word: Word) -> None:
    adapter = TypeAdapter(type(word))
    assert json.loads(adapter.dump_json(word)) == str(word)
    assert adapter.validate_json(json.dumps(str(word))) == word
    assert adapter.validate_python(word) is word


@pytest.mark.parametrize("value", [2.1, 2, None, ["2.10"]])
def test_a_number_is_no_word(value: object) -> None:
    with pytest.raises(ValidationError, match="expected text in quotes"):
        TypeAdapter(TorchVersion).validate_python(value)


@pytest.mark.parametrize("text", ["13.0", "13.0.2", "130", "cu130", " 13.0 "])
def test_a_cuda_version_is_read_in_every_form(text: str) -> None:
    assert CudaVersion.parse(text) == CudaVersion(13, 0)


@pytest.mark.parametrize("text", ["3.13t", "313t", "cp313t"])
def test_a_python_version_is_read_in_every_form(text: str) -> None:
    assert PythonVersion.parse(text) == PythonVersion(3, 13, free_threaded=True)
    assert PythonVersion.parse(text.removesuffix("t")) == PythonVersion(3, 13)


@pytest.mark.parametrize(
    ("text", "platform"),
    [
        ("linux_x86_64", Platform("linux", "x86_64")),
        ("win_amd64", Platform("win", "amd64")),
        ("macosx_14_0_arm64", Platform("macosx_14_0", "arm64")),
    ],
)
def test_a_platform_is_a_system_and_a_machine(text: str, platform: Platform) -> None:
    assert Platform.parse(text) == Platform.of_tag(text) == platform
    assert str(platform) == text


@pytest.mark.parametrize("tag", ["linux", "manylinux1", "manylinux2014", "manylinux_2_28", "musllinux_1_2"])
def test_every_policy_is_for_the_same_platform(tag: str) -> None:
    intel = Platform("linux", "x86_64")
    assert Platform.of_tag(intel.tag(tag)) == intel


@pytest.mark.parametrize("tag", ["any", "win32", "ios_13_0_arm64_iphoneos", "many_x86_64"])
def test_other_tags_are_for_no_platform_of_ours(tag: str) -> None:
    assert Platform.of_tag(tag) is None


def test_words_know_the_names_that_tools_give_them() -> None:
    assert CudaVersion(12, 8).tag == "cu128"
    assert (PythonVersion(3, 12).interpreter, PythonVersion(3, 12).abi) == ("cp312", "cp312")
    assert PythonVersion(3, 13, free_threaded=True).interpreter == "cp313"
    assert PythonVersion(3, 13, free_threaded=True).abi == "cp313t"
    assert Architecture(9, 0, "a", ptx=True).capability == "9.0a"
    assert Architecture(9, 0, "a", ptx=True).sm == "sm_90a"
    assert Architecture(9, 0, "a", ptx=True).compute == "compute_90a"
    assert Architecture.of_code("sm_90a") == Architecture.of_code("compute_90a") == Architecture(9, 0, "a")
    assert Architecture.of_code("sm_120") == Architecture(12, 0)


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
def test_a_range_of_torches_is_one_value_everywhere(stable: StableTorch, plain: dict[str, str], text: str) -> None:
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


@pytest.mark.parametrize(("text", "name"), [("Flash_Attn", "flash-attn"), ("a..B", "a-b"), ("torch", "torch")])
def test_a_project_has_one_name(text: str, name: str) -> None:
    assert project_name(text) == name


@pytest.mark.parametrize("text", ["", "-a", "a-", "a b", "a/b", "a\n", "größe"])
def test_other_text_names_no_project(text: str) -> None:
    with pytest.raises(ValueError, match="expected a project name"):
        project_name(text)


@pytest.mark.parametrize(("text", "version"), [("2.8.3", "2.8.3"), ("v1.0-1", "1.0.post1"), ("1.0+A_B", "1.0+a.b")])
def test_a_version_has_one_spelling(text: str, version: str) -> None:
    assert project_version(text) == version


@pytest.mark.parametrize("text", ["", "main", "1.0 or so"])
def test_other_text_is_no_version(text: str) -> None:
    with pytest.raises(ValueError, match="expected a version"):
        project_version(text)


@pytest.mark.parametrize("end", ["\n", "\r", "\x0b", "\x0c", "\x85", "\u2028", "\u202e"])
def test_no_requirement_has_a_line_break(end: str) -> None:
    with pytest.raises(ValueError, match="PEP 508"):
        read_requirement(f"a @ https://h.example/{end}--index-url=https://evil.example/")
    assert str(read_requirement("a\t>=1 ; python_version < '4'")) == 'a>=1; python_version < "4"'
