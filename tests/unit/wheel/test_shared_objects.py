import io
import platform
import random
import struct
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from tests.refusals import coded
from tests.shared_objects import EXTENSION, compiled
from tests.wheels import write_wheel
from wheelmill.errors import UnreadableError
from wheelmill.wheel.shared_objects import CodeBudget, SharedObject, Symbol, shared_objects_of

SECTION_HEADER = {"sh_offset": (24, "<Q"), "sh_size": (32, "<Q"), "sh_link": (40, "<I"), "sh_info": (44, "<I")}
SECTION_HEADER |= {"sh_type": (4, "<I"), "sh_flags": (8, "<Q"), "sh_entsize": (56, "<Q")}
"""Where a field stands in a section's header, and its form."""


@pytest.fixture(scope="module")
def extension(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library that names CUDA's, prints, may use ``maybe`` and leaves ``outside`` open."""
    folder = tmp_path_factory.mktemp("extension")
    runtime = compiled(folder / "libcudart.so.13", "", "-Wl,-soname,libcudart.so.13")
    return compiled(folder / "extension.so", EXTENSION, runtime)


@pytest.fixture(scope="module")
def read(extension: Path) -> SharedObject:
    return SharedObject.read(extension, name="demo/_C.so", budget=CodeBudget())


def test_a_shared_object_names_itself_and_what_it_needs(read: SharedObject) -> None:
    assert read.name == "demo/_C.so"
    assert read.machine == platform.machine()
    assert read.needed == ("libcudart.so.13", "libc.so.6")
    assert "own" in read.defined
    assert (read.device_code.sass, read.device_code.ptx) == (("sm_90",), ())


@pytest.mark.parametrize(
    ("name", "search_path", "outside"),
    [
        ("demo/_C.so", "", []),
        ("demo/_C.so", "$ORIGIN", []),
        ("demo/_C.so", "$ORIGIN/../demo.libs:${ORIGIN}/../torch/lib", []),
        ("demo-1.0.data/platlib/demo/_C.so", "$ORIGIN/../nvidia/cu13/lib", []),
        ("demo-1.0.data/scripts/demo", "$ORIGIN/../lib", []),
        ("demo-1.0.data/data/lib/libdemo.so", "$ORIGIN/../lib64", []),
        ("demo/_C.so", "/tmp/wheelmill/cuda/lib64", ["/tmp/wheelmill/cuda/lib64"]),
        ("demo/_C.so", "$ORIGIN:/home/builder/lib", ["/home/builder/lib"]),
        ("demo/_C.so", "$ORIGIN:", [""]),
        ("demo/_C.so", "lib:$LIB", ["lib", "$LIB"]),
        ("demo/_C.so", "$ORIGIN/../..", ["$ORIGIN/../.."]),
        ("demo/_C.so", "$ORIGIN/x/../../../tmp", ["$ORIGIN/x/../../../tmp"]),
        ("demo/_C.so", "$ORIGINAL/lib", ["$ORIGINAL/lib"]),
    ],
)
def test_an_outside_search_path_is_known(name: str, search_path: str, outside: list[str], read: SharedObject) -> None:
    assert list(replace(read, name=name, search_path=search_path).folders_outside) == outside


def test_compilers_say_who_they_are(read: SharedObject) -> None:
    assert [text.partition(":")[0] for text in read.compilers] == ["GCC"]


def test_the_cuda_runtime_is_linked_in_where_gpu_code_is_registered_by_nobody_else(tmp_path: Path) -> None:
    alone = compiled(tmp_path / "alone.so", EXTENSION)
    calls = EXTENSION.replace("int own", "extern int __cudaRegisterFatBinary(void);\nint own").replace(
        "outside(number)", "outside(__cudaRegisterFatBinary())"
    )
    held = {
        path: SharedObject.read(path, name="x.so", budget=CodeBudget()).holds_cuda_runtime
        for path in [alone, compiled(tmp_path / "shared.so", calls), compiled(tmp_path / "plain.so", "")]
    }
    assert list(held.values()) == [True, False, False]


def test_what_it_leaves_open_has_the_version_of_its_library(read: SharedObject) -> None:
    symbols = {symbol.name: symbol for symbol in read.undefined}
    assert symbols["outside"] == Symbol(name="outside", version=None, weak=False)
    assert symbols["maybe"] == Symbol(name="maybe", version=None, weak=True)
    assert (symbols["printf"].version or "").startswith("GLIBC_2.")
    assert symbols.keys().isdisjoint(read.defined)


def test_other_machines_are_told_apart(extension: Path, tmp_path: Path) -> None:
    content = bytearray(extension.read_bytes())
    content[18:20] = struct.pack("<H", {"x86_64": 183, "aarch64": 62}[platform.machine()])
    assert {read_content(tmp_path, bytes(content)).machine, platform.machine()} == {"x86_64", "aarch64"}


def test_the_shared_objects_of_a_wheel_are_known_by_their_first_bytes(extension: Path, tmp_path: Path) -> None:
    content = extension.read_bytes()
    files = {"demo/__init__.py": b"", "demo/_C.so": content, "demo.libs/libx.so.1.2": content, "demo/fake.so": b"text"}
    wheel = write_wheel(tmp_path / "demo-1.0-py3-none-any.whl", files=files)
    assert [found.name for found in shared_objects_of(wheel)] == ["demo/_C.so", "demo.libs/libx.so.1.2"]


def test_a_broken_shared_object_of_a_wheel_is_named(tmp_path: Path) -> None:
    wheel = write_wheel(tmp_path / "demo-1.0-py3-none-any.whl", files={"demo/_C.so": b"\x7fELF and more"})
    with pytest.raises(UnreadableError, check=coded("elf-invalid", "demo/_C.so")):
        shared_objects_of(wheel)


def read_content(folder: Path, content: bytes) -> SharedObject:
    (folder / "x.so").write_bytes(content)
    return SharedObject.read(folder / "x.so", name="x.so", budget=CodeBudget())


@pytest.mark.parametrize("length", [0, 3, 4, 15, 40, 63, 1000, -1])
def test_a_truncated_file_is_refused(length: int, extension: Path, tmp_path: Path) -> None:
    with pytest.raises(UnreadableError, check=coded("elf-invalid")):
        read_content(tmp_path, extension.read_bytes()[:length])


def with_fields(content: bytes, *changes: tuple[str, str, int]) -> bytes:
    """The file with other fields in the headers of sections: their section, name and value."""
    changed = bytearray(content)
    elf = ELFFile(io.BytesIO(content))
    places = {section: elf["e_shoff"] + elf.get_section_index(section) * elf["e_shentsize"] for section, *_ in changes}
    for section, field, value in changes:
        offset, form = SECTION_HEADER[field]
        struct.pack_into(form, changed, places[section] + offset, value)
    return bytes(changed)


@pytest.mark.parametrize(
    ("section", "field", "value", "fault"),
    [
        (".dynsym", "sh_offset", 1 << 63, ""),
        (".dynsym", "sh_size", 1 << 62, ""),
        (".dynamic", "sh_link", 0, ""),
        (".dynamic", "sh_offset", 1 << 40, ""),
        (".nv_fatbin", "sh_size", 1 << 62, ""),
        (".nv_fatbin", "sh_flags", 1 << 11, ""),
        (".nv_fatbin", "sh_flags", 0x802, "its section .nv_fatbin is compressed"),
    ],
)
def test_a_section_header_that_lies_or_is_of_a_compressed_one_is_refused(
    section: str, field: str, value: int, fault: str, *, extension: Path, tmp_path: Path
) -> None:
    with pytest.raises(UnreadableError, check=coded("elf-invalid", fault)):
        read_content(tmp_path, with_fields(extension.read_bytes(), (section, field, value)))


def test_no_more_is_left_to_strip_than_there_is(extension: Path, tmp_path: Path) -> None:
    content = with_fields(extension.read_bytes(), (".shstrtab", "sh_size", 1 << 62))
    assert read_content(tmp_path, content).unloaded == len(content)


@pytest.mark.parametrize("number_of", [".data", None])
def test_a_type_that_nobody_knows_hides_no_section(number_of: str | None, extension: Path, tmp_path: Path) -> None:
    """Such a type is a number, and may be that of a section."""
    content = extension.read_bytes()
    number = (number_of and ELFFile(io.BytesIO(content)).get_section_index(number_of)) or 99
    odd = read_content(tmp_path, with_fields(content, (".comment", "sh_type", number)))
    usual = read_content(tmp_path, content)
    assert odd.unloaded == usual.unloaded > 0
    assert odd.needed == usual.needed


@pytest.mark.usefixtures("an_end")
def test_a_chain_of_versions_without_an_end_is_left(extension: Path, tmp_path: Path) -> None:
    with suppress(ValueError):
        read_content(tmp_path, with_fields(extension.read_bytes(), (".gnu.version_r", "sh_info", 0xFFFFFFFF)))


@pytest.mark.usefixtures("an_end")
@pytest.mark.parametrize(
    "seed", [*range(60), *(pytest.param(seed, marks=pytest.mark.nightly) for seed in range(60, 300))]
)
def test_damage_raises_nothing_but_value_error(seed: int, extension: Path, tmp_path: Path) -> None:
    dice = random.Random(seed)  # noqa: S311 - for tests
    content = bytearray(extension.read_bytes())
    for _ in range(dice.choice([1, 4, 16, 64])):
        content[dice.randrange(len(content))] = dice.choice([0, 255, dice.randrange(256)])
    with suppress(ValueError):
        read_content(tmp_path, bytes(content))


@pytest.mark.usefixtures("an_end")
def test_a_small_wheel_with_millions_of_symbols_is_refused(extension: Path, tmp_path: Path) -> None:
    content, size = extension.read_bytes(), 24 << 20
    wide = with_fields(content, (".dynsym", "sh_offset", len(content)), (".dynsym", "sh_size", size)) + bytes(size)
    wheel = write_wheel(tmp_path / "demo-1.0-py3-none-any.whl", files={"demo/_C.so": wide})
    assert wheel.stat().st_size < 100_000
    with pytest.raises(UnreadableError, check=coded("elf-invalid", "1048576 symbols", "1000000")):
        shared_objects_of(wheel)


@pytest.mark.usefixtures("an_end")
def test_a_wheels_libraries_share_a_budget(extension: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = extension.read_bytes()
    wheel = write_wheel(tmp_path / "demo-1.0-py3-none-any.whl", files={f"demo/_{n}.so": content for n in range(9)})
    monkeypatch.setattr("wheelmill.wheel.shared_objects.CodeBudget", partial(CodeBudget, symbols=40))
    with pytest.raises(UnreadableError, check=coded("elf-invalid", "demo/_", "1000000")):
        shared_objects_of(wheel)


@pytest.mark.usefixtures("an_end")
@pytest.mark.parametrize("names", [b"A" * (6 << 20), b"A" * 65_000 + b"\0"], ids=["without an end", "of one text"])
def test_symbols_with_endless_names_are_refused(names: bytes, extension: Path, tmp_path: Path) -> None:
    symbols = b"".join(struct.pack("<IBBHQQ", number % 60_000, 16, 0, 1, 0, 0) for number in range(100_000))
    content = with_fields(
        extension.read_bytes(),
        (".dynstr", "sh_offset", extension.stat().st_size),
        (".dynstr", "sh_size", len(names)),
        (".dynsym", "sh_offset", extension.stat().st_size + len(names)),
        (".dynsym", "sh_size", len(symbols)),
    )
    with pytest.raises(UnreadableError, check=coded("elf-invalid", "name")):
        read_content(tmp_path, content + names + symbols)


@pytest.mark.usefixtures("an_end")
def test_a_section_name_without_an_end_is_left(extension: Path, tmp_path: Path) -> None:
    content = with_fields(extension.read_bytes(), (".shstrtab", "sh_offset", extension.stat().st_size))
    with pytest.raises(UnreadableError, check=coded("elf-invalid", "500000")):
        read_content(tmp_path, content + b"A" * (36 << 20))


@pytest.mark.usefixtures("an_end")
def test_millions_of_needed_libraries_are_refused(extension: Path, tmp_path: Path) -> None:
    links = struct.pack("<QQ", 1, 1) * (6 << 16)
    changes = (".dynamic", "sh_offset", extension.stat().st_size), (".dynamic", "sh_size", len(links))
    with pytest.raises(UnreadableError, check=coded("elf-invalid", "4 times")):
        read_content(tmp_path, with_fields(extension.read_bytes(), *changes) + links)
