import pytest

from wheelmill.names import (
    Architecture,
    CudaVersion,
    Platform,
    PythonVersion,
)


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
