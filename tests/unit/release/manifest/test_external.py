"""What a wheel needs that no package index has."""

from dataclasses import replace

from packageurl import PackageURL
from packaging.specifiers import SpecifierSet

from tests.unit.build.conftest import PROVENANCE
from wheelmill.config.model import SystemPackages
from wheelmill.names import Sha256
from wheelmill.release.manifest.external import external_of
from wheelmill.smoke.verdict import Certificate, Evidence

EVIDENCE = Evidence(
    policy="manylinux_2_28_x86_64",
    needed=("libcudart.so.13",),
    glibc="2.27",
    glibcxx=None,
    cuda_major=13,
    sass=("sm_90",),
    ptx=(),
    undefined_symbols=1,
)
BUILT = replace(
    PROVENANCE, driver="580.65.06", system_packages=SystemPackages(dnf=("libaio-devel",), apt=("libaio-dev", "g++"))
)
CERTIFICATE = Certificate(sha256=Sha256("0" * 64), evidence=EVIDENCE, clean_rooms=(), provenance=BUILT)


def test_it_names_driver_libc_and_cuda_where_torch_does_not_bring_that() -> None:
    alone = external_of(CERTIFICATE, ("numpy",))
    assert alone.dependencies == (
        "dep:generic/nvidia-driver@>=580.65.06",
        "dep:generic/glibc@>=2.27",
        "dep:generic/cuda-toolkit@>=13,<14",
    )
    assert external_of(CERTIFICATE, ("torch==2.11.*",)).dependencies == alone.dependencies[:2]


def test_it_names_compilers_toolkit_and_the_packages_of_its_system() -> None:
    here = external_of(CERTIFICATE, ())
    assert here.build_requires[:2] == ("dep:virtual/compiler/cxx", "dep:virtual/compiler/cuda")
    assert here.build_requires[2] == "dep:generic/cuda-toolkit@13.0.2"
    assert here.host_requires == ("dep:deb/debian/libaio-dev", "dep:deb/debian/g++")
    contained = replace(CERTIFICATE, provenance=replace(BUILT, images=("quay.io/x@sha256:1",)))
    assert external_of(contained, ()).host_requires == ("dep:rpm/almalinux/libaio-devel",)


def test_of_a_wheel_that_was_not_built_here_its_bytes_tell() -> None:
    stranger = external_of(replace(CERTIFICATE, provenance=None), ())
    assert (stranger.build_requires, stranger.host_requires) == ((), ())
    assert stranger.dependencies == ("dep:generic/glibc@>=2.27", "dep:generic/cuda-toolkit@>=13,<14")


def test_every_word_is_a_depurl() -> None:
    """A package URL in all but the scheme, the type 'virtual' and ranges (PEP 725)."""
    found = external_of(CERTIFICATE, ())
    for text in (*found.build_requires, *found.host_requires, *found.dependencies):
        url, _, version = text.partition("@")
        assert PackageURL.from_string(url.replace("dep:", "pkg:")).name
        assert not version or SpecifierSet(version if version[0] in "<>" else f"=={version}")
