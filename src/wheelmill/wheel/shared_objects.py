"""Shared objects: the libraries and symbols that they need, the symbols that they define, and their GPU code.

pyelftools reads the headers of ELF files, within limits. Sections, such as the tables of the dynamic linker, are read
whole: reading one entry at a time takes minutes for the symbols that a small wheel can hold.

https://refspecs.linuxfoundation.org/elf/gabi4+/contents.html
https://refspecs.linuxfoundation.org/LSB_5.0.0/LSB-Core-generic/LSB-Core-generic/symversion.html
"""

from __future__ import annotations

import posixpath
import re
import shutil
import struct
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, takewhile
from mmap import ACCESS_READ, mmap
from operator import itemgetter
from pathlib import Path, PurePosixPath
from typing import IO, Final, Self, cast

from elftools.common.utils import struct_parse
from elftools.construct.lib.container import Container
from elftools.elf.elffile import ELFFile

from wheelmill.errors import UnreadableError
from wheelmill.system.folders import temporary_folder
from wheelmill.wheel.archive import MAX_READS, MAX_SECTIONS, MAX_SYMBOLS, open_archive, open_member
from wheelmill.wheel.gpu_code import DeviceCode, KernelReader, Texts, read_device_code
from wheelmill.wheel.processor import INSTRUCTIONS_UNREAD, Function, ProcessorUse, processor_use
from wheelmill.wheel.record import installed_files

_NEEDED, _SONAME, _RPATH, _TEXTREL, _RUNPATH, _FLAGS = 1, 14, 15, 22, 29, 30
_TEXTREL_FLAG: Final = 4
_UNDEFINED, _WEAK = 0, 2


@dataclass(frozen=True, kw_only=True, slots=True)
class Symbol:
    """Symbol that a shared object needs from elsewhere."""

    name: str
    version: str | None
    """``GLIBC_2.32``; None when the symbol is not versioned."""
    weak: bool
    """True if it may stay undefined."""


@dataclass(frozen=True, kw_only=True)
class Links:
    """Instructions to the dynamic linker in the section ``.dynamic``."""

    soname: str | None = None
    """Name that others need it by."""
    needed: tuple[str, ...] = ()
    """The libraries it names, as in ``libcudart.so.13``."""
    text_relocations: bool = False
    """True if its code is written to when it is loaded."""
    search_path: str = ""
    """Folders of its libraries, with a colon between them; ``$ORIGIN`` is its own."""


class DynamicForm:
    """Reader of sections for the dynamic linker, by the byte order and the word size of their file."""

    def __init__(self, elf: ELFFile) -> None:
        self._order, is_wide = "<" if elf.little_endian else ">", elf.elfclass == 64  # noqa: PLR2004 - bits
        self.symbol: Final = struct.Struct(f"{self._order}{'IBxH16x' if is_wide else 'I8xBxH'}")
        """Name, kind and section of a symbol."""
        self._entry: Final = struct.Struct(f"{self._order}{'2Q' if is_wide else '2I'}")
        """Tag and value of an entry of the section ``.dynamic``."""

    def read_links(self, entries: bytes, texts: Texts) -> Links:
        """Read the section ``.dynamic``, of whole entries up to a zero entry; `texts` is the section ``.dynstr``."""
        soname, needed, text_relocations, search_path = None, [], False, ""
        for tag, value in takewhile(itemgetter(0), self._entry.iter_unpack(entries)):
            if tag == _NEEDED:
                needed.append(texts.at(value))
            elif tag == _SONAME:
                soname = texts.at(value)
            elif tag in (_RPATH, _RUNPATH):
                search_path = texts.at(value)
            elif tag == _TEXTREL or (tag == _FLAGS and value & _TEXTREL_FLAG):
                text_relocations = True
        return Links(soname=soname, needed=tuple(needed), text_relocations=text_relocations, search_path=search_path)

    def read_symbols(
        self, symbols: bytes, texts: Texts, *, versions: bytes, needed_versions: bytes
    ) -> tuple[tuple[Symbol, ...], frozenset[str]]:
        """Read the undefined symbols, and the names of the others.

        `symbols` is the section ``.dynsym``, of whole symbols, and `texts` is ``.dynstr``. `versions` is
        ``.gnu.version``, with a version number for each symbol, or empty. `needed_versions` is ``.gnu.version_r``, the
        versions of other libraries with these numbers.
        """
        names = self._version_names(needed_versions, texts)
        numbers = struct.unpack(f"{self._order}{len(versions) // 2}H", versions)
        undefined, defined = [], set()
        for index, (place, kind, section) in enumerate(self.symbol.iter_unpack(symbols)):
            name = texts.at(place)
            if name and section == _UNDEFINED:
                version = names.get(numbers[index]) if index < len(numbers) else None
                undefined.append(Symbol(name=name, version=version, weak=kind >> 4 == _WEAK))
            elif name:
                defined.add(name)
        return tuple(undefined), frozenset(defined)

    def _version_names(self, section: bytes, texts: Texts) -> dict[int, str]:
        """Versions by number: the section is a chain of libraries, each with a chain of its versions."""
        library, version = struct.Struct(f"{self._order}2xH4x2I"), struct.Struct(f"{self._order}6xH2I")
        names: dict[int, str] = {}
        at, following = 0, len(section)
        try:
            while following:
                count, first, following = library.unpack_from(section, at)
                entry = at + first
                for _ in range(count):
                    number, name, next_version = version.unpack_from(section, entry)
                    if number in names:
                        raise UnreadableError("elf-versions", "two versions that its symbols need have one number")
                    names[number] = texts.at(name)
                    entry += next_version
                at += following
        except struct.error:
            raise UnreadableError("elf-versions", "its section .gnu.version_r leads out of itself") from None
        return names


ELF_MAGIC: Final = b"\x7fELF"
FATBIN: Final = ".nv_fatbin"
COMMENT: Final = ".comment"
_NAMED: Final = (FATBIN, COMMENT)
"""Sections that are known by name, since their type is a general one."""
_COMPRESSED: Final = 0x800
"""SHF_COMPRESSED: linkers never compress the sections that are read here."""
_SHF_ALLOC: Final = 0x2
_EMPTY: Final = ("SHT_NULL", "SHT_NOBITS")
"""Types of sections without bytes in the file."""
_SHF_EXECINSTR: Final = 0x4
_STT_FUNC, _STT_GNU_IFUNC = 2, 10
_SYMBOL: Final = struct.Struct("<IBxHQQ")
"""Name, type, section, address and size of a symbol of x86-64."""
_PF_X: Final = 1


@dataclass(kw_only=True)
class CodeBudget:
    """Remaining reads, symbols and bytes of code for the shared objects of one wheel."""

    symbols: int = MAX_SYMBOLS
    reads: int = MAX_READS
    code: int = 0
    """Bytes to disassemble, about eight million a second."""
    kernels: KernelReader | None = None
    """None if no names of kernels are read."""


class Metered:
    """File for pyelftools, each read of which takes one from the budget.

    pyelftools reads a field at a time and follows every offset, wherever a damaged file sends it.
    """

    def __init__(self, content: mmap, budget: CodeBudget) -> None:
        self.content, self.budget = content, budget
        self.seek, self.tell = content.seek, content.tell

    def read(self, size: int) -> bytes:
        """Read, while the budget lasts."""
        self.budget.reads -= 1
        if self.budget.reads < 0:
            raise ValueError(f"its headers take more than {MAX_READS} reads, with the wheel's other shared objects")
        return self.content.read(size)


@dataclass(frozen=True, kw_only=True)
class Sections:
    """Sections of a shared object."""

    content: mmap
    headers: Sequence[Container]
    """All section headers, by number."""
    by_kind: Mapping[str, Container]
    """The last section of each type, and those of `_NAMED` by name."""

    def place(self, key: str) -> tuple[int, int]:
        """Start and end of a section in the file, by its type or name; ``(0, 0)`` if there is none."""
        return self._place(header, f"section {key}") if (header := self.by_kind.get(key)) else (0, 0)

    @property
    def unloaded(self) -> int:
        """Bytes of all sections that are not loaded into memory; at most the size of the file."""
        kept = (header for header in self.headers if header["sh_type"] not in _EMPTY)
        return min(len(self.content), sum(header["sh_size"] for header in kept if not header["sh_flags"] & _SHF_ALLOC))

    def code(self, budget: CodeBudget) -> Iterator[tuple[int, bytes]]:
        """Yield the address and the bytes of each section with instructions, using up `budget`."""
        for number, header in enumerate(self.headers):
            if header["sh_type"] == "SHT_PROGBITS" and header["sh_flags"] & _SHF_EXECINSTR:
                start, end = self._place(header, f"section {number}")
                budget.code -= end - start
                if budget.code < 0:
                    return
                yield header["sh_addr"], self.content[start:end]

    def functions(self) -> Iterator[Function]:
        """Yield the functions; of a stripped object, only those that others may call."""
        key = "SHT_SYMTAB" if "SHT_SYMTAB" in self.by_kind else "SHT_DYNSYM"
        table, texts = self.read(key), self.read_texts(key)
        for name, kind, section, start, size in _SYMBOL.iter_unpack(table[: len(table) // _SYMBOL.size * _SYMBOL.size]):
            if section and (kind := kind & 0xF) in (_STT_FUNC, _STT_GNU_IFUNC):
                yield Function(start, start + size, texts.at(name), kind == _STT_GNU_IFUNC)

    def read(self, key: str) -> bytes:
        """Bytes of a section."""
        return self.content[slice(*self.place(key))]

    def read_texts(self, key: str) -> Texts:
        """String table that a section refers to."""
        number = header["sh_link"] if (header := self.by_kind.get(key)) else len(self.headers)
        if number >= len(self.headers):
            return Texts(b"")
        return Texts(self.content[slice(*self._place(self.headers[number], f"section {number}"))])

    def _place(self, header: Container, name: str) -> tuple[int, int]:
        if header["sh_flags"] & _COMPRESSED:
            raise ValueError(f"its {name} is compressed")
        start, end = header["sh_offset"], header["sh_offset"] + header["sh_size"]
        if end > len(self.content):
            raise ValueError(f"its {name} ends behind the end of the file")
        return start, end


def sections_of(elf: ELFFile, content: mmap) -> Sections:
    """Read the section headers; a type that pyelftools does not know is a number.

    pyelftools' own section objects are not used: to make one, it may read the whole section.
    """
    if not 0 < elf.num_sections() <= MAX_SECTIONS:
        raise ValueError(f"it has {elf.num_sections()} section headers; expected 1 to {MAX_SECTIONS}")
    headers: list[Container] = []
    by_kind: dict[str, Container] = {}
    for number in range(elf.num_sections()):
        header = struct_parse(elf.structs.Elf_Shdr, elf.stream, elf["e_shoff"] + number * elf["e_shentsize"])
        headers.append(header)
        if (kind := header["sh_type"]) != "SHT_PROGBITS":
            by_kind[str(kind)] = header
        elif (name := elf.get_section(number).name) in _NAMED:
            by_kind[name] = header
    return Sections(content=content, headers=headers, by_kind=by_kind)


def has_executable_stack(elf: ELFFile, *, default: bool) -> bool:
    """True if the program headers ask for an executable stack; `default` is for a loaded file without that header."""
    places = (elf["e_phoff"] + number * elf["e_phentsize"] for number in range(elf.num_segments()))
    headers = {each["p_type"]: each for each in (struct_parse(elf.structs.Elf_Phdr, elf.stream, at) for at in places)}
    stack = headers.get("PT_GNU_STACK")
    return bool(stack["p_flags"] & _PF_X) if stack else default and "PT_LOAD" in headers


_MAX_COMMENT_BYTES: Final = 1 << 14
"""Bytes of the names of compilers; a linker keeps each text once."""
_REGISTERS_CODE: Final = "__cudaRegisterFatBinary"
"""Function of the CUDA runtime that every shared object with GPU code calls when it is loaded."""
_MACHINES: Final = {
    "EM_X86_64": "x86_64",
    "EM_AARCH64": "aarch64",
    "EM_386": "i686",
    "EM_ARM": "armv7l",
    "EM_PPC64": "ppc64le",
    "EM_S390": "s390x",
    "EM_RISCV": "riscv64",
    "EM_LOONGARCH": "loongarch64",
}
"""Processors, as platform tags name them. GPUs have ELF files as well."""


@dataclass(frozen=True, kw_only=True)
class SharedObject(Links):
    """Linking facts of one shared object of a wheel."""

    name: str
    """Its path in the wheel."""
    machine: str | None
    """``x86_64`` or ``aarch64``; None for code of a GPU."""
    executable_stack: bool
    """True if loading it makes the stack executable."""
    undefined: tuple[Symbol, ...]
    defined: frozenset[str]
    device_code: DeviceCode
    unloaded: int
    """Bytes of it that nothing loads: names of symbols and debug information."""
    compilers: tuple[str, ...] = ()
    """Compilers in their own words: ``GCC: (Debian 12.2.0-14) 12.2.0``."""
    processor: ProcessorUse = INSTRUCTIONS_UNREAD
    """See `processor_use`; as if without instructions if they were not read."""

    @property
    def is_module(self) -> bool:
        """True if its name is that of a module, not of a library."""
        return not self.name.rpartition("/")[2].startswith("lib")

    @property
    def folders_outside(self) -> tuple[str, ...]:
        """Folders of its search path that are not below the environment in which it is installed.

        An absolute one may belong to anyone on another machine; an empty or relative one is below the working folder.
        https://man7.org/linux/man-pages/man8/ld.so.8.html
        """
        (file,) = installed_files([self.name])
        own = PurePosixPath("bin" if file.place == "programs" else "", file.path).parent

        def is_inside(folder: str) -> bool:
            origin, _, below = folder.replace("${ORIGIN}", "$ORIGIN").partition("/")
            return origin == "$ORIGIN" and posixpath.normpath(f"{own}/{below}").split("/")[0] != ".."

        folders = self.search_path.split(":") if self.search_path else ()
        return tuple(folder for folder in folders if not is_inside(folder))

    @property
    def links_to_torch(self) -> bool:
        """True if it names a library of torch."""
        return any(library.startswith(("libtorch", "libc10")) for library in self.needed)

    @property
    def holds_cuda_runtime(self) -> bool:
        """True if the CUDA runtime is linked into it: it has GPU code, and needs no other library to register that."""
        has_code = bool(self.device_code.sass or self.device_code.ptx)
        return has_code and all(symbol.name != _REGISTERS_CODE for symbol in self.undefined)

    @classmethod
    def read(cls, path: Path, *, name: str, budget: CodeBudget) -> Self:
        """Read a shared object, using up `budget`; `name` is its path in the wheel. Raises UnreadableError."""
        try:
            with path.open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as content:
                return cls._of(Metered(content, budget), name=name)
        except (MemoryError, ImportError):  # the budgets have a hole; the client lacks a library of the factory
            raise
        except Exception as error:  # noqa: BLE001 - pyelftools trusts its input, and fails in any way
            raise UnreadableError("elf-invalid", f"not a readable shared object: {error}") from None

    @classmethod
    def _of(cls, file: Metered, *, name: str) -> Self:
        elf = ELFFile(cast("IO[bytes]", file))
        sections = sections_of(elf, file.content)
        form = DynamicForm(elf)
        symbols = sections.read("SHT_DYNSYM")
        file.budget.symbols -= (count := len(symbols) // form.symbol.size)
        if file.budget.symbols < 0:
            raise ValueError(f"it has {count} symbols; with the wheel's other shared objects more than {MAX_SYMBOLS}")
        undefined, defined = form.read_symbols(
            symbols,
            sections.read_texts("SHT_DYNSYM"),
            versions=sections.read("SHT_GNU_versym"),
            needed_versions=sections.read("SHT_GNU_verneed"),
        )
        machine = _MACHINES.get(elf["e_machine"])
        use = INSTRUCTIONS_UNREAD
        if machine == "x86_64" and file.budget.code > 0:
            names = (symbol.name for symbol in undefined)
            use = processor_use(sections.code(file.budget), sections.functions(), names)
        links = form.read_links(sections.read("SHT_DYNAMIC"), sections.read_texts("SHT_DYNAMIC"))
        return cls(
            name=name,
            machine=machine,
            **vars(links),
            executable_stack=has_executable_stack(elf, default=machine == "x86_64"),
            undefined=undefined,
            defined=defined,
            device_code=read_device_code(file.content, *sections.place(FATBIN), kernels=file.budget.kernels),
            unloaded=sections.unloaded,
            compilers=_compilers_in(sections.read(COMMENT)),
            processor=use,
        )


_NUMBER: Final = re.compile(r"\d+")
_MAX_LOADED: Final = 100
"""Most files that are followed from one file of a package."""


def by_names(code: Iterable[SharedObject]) -> dict[str, SharedObject]:
    """Shared objects of a wheel by the names by which others of it can need them."""
    return {name: so for so in code for name in (so.name.rpartition("/")[2], so.soname) if name}


def loaded_with(first: SharedObject, own: Mapping[str, SharedObject]) -> Sequence[SharedObject]:
    """A shared object and those of its wheel that it needs, directly or through others; `own` is as of `by_names`."""
    loaded, names = [first], {first.name}
    for user in islice(loaded, _MAX_LOADED):
        more = {own[library].name: own[library] for library in user.needed if library in own}
        loaded += (so for name, so in more.items() if name not in names)
        names.update(more)
    return loaded


def lost_on_import(code: Sequence[SharedObject], is_there: Callable[[str, SharedObject], bool]) -> dict[str, str]:
    """Libraries that an import of a package's modules, or of its code for torch, does not find, each with its user.

    Other libraries of a package may be unused plugins. Of files whose names differ in numbers, such as ``ops4.so`` and
    ``ops5.so``, a package loads the one that it can, and torchcodec 0.17 can do without all of its ``libtorchcodec``.
    ``is_there`` is called for the libraries that the package lacks.
    """
    own = by_names(code)
    choices: dict[tuple[bool, str], list[dict[str, str]]] = {}
    for so in code:
        if so.is_module or so.links_to_torch:
            lost = {
                library: user.name
                for user in loaded_with(so, own)
                for library in user.needed
                if library not in own and not is_there(library, user)
            }
            choices.setdefault((so.is_module, _NUMBER.sub("", so.name)), []).append(lost)
    needed = [users for (is_module, _), users in choices.items() if all(users) and (is_module or len(users) == 1)]
    return {library: user for users in needed for library, user in users[0].items()}


def shared_objects_of(wheel: Path, budget: CodeBudget | None = None) -> tuple[SharedObject, ...]:
    """Read every shared object in a wheel whose archive was checked; as `read_members` does."""
    with wheel.open("rb") as file, open_archive(file) as archive:
        return read_members(archive, archive.infolist(), budget)


def read_members(
    archive: zipfile.ZipFile, members: Iterable[zipfile.ZipInfo], budget: CodeBudget | None = None
) -> tuple[SharedObject, ...]:
    """Read the shared objects among members of an archive; raises UnreadableError, which names the unreadable one.

    Without a `budget` for them, no instructions and no names of kernels are read.
    """
    shared_objects: list[SharedObject] = []
    budget = budget or CodeBudget()
    with temporary_folder() as folder:
        unpacked = folder / "member"
        for member in members:
            with open_member(archive, member) as source:
                if (first := source.read(len(ELF_MAGIC))) != ELF_MAGIC:
                    continue
                with unpacked.open("wb") as target:
                    target.write(first)
                    shutil.copyfileobj(source, target, 1 << 20)
            try:
                shared_objects.append(SharedObject.read(unpacked, name=member.filename, budget=budget))
            except UnreadableError as error:
                raise UnreadableError("elf-invalid", f"{member.filename}: {error}") from None
    return tuple(shared_objects)


def open_symbols(shared_objects: tuple[SharedObject, ...]) -> frozenset[str]:
    """Symbols that a library outside the wheel must define: not weak, and without a version, which names a library."""
    defined = frozenset[str]().union(*(shared_object.defined for shared_object in shared_objects))
    return frozenset(
        symbol.name
        for shared_object in shared_objects
        for symbol in shared_object.undefined
        if not symbol.weak and symbol.version is None and symbol.name not in defined
    )


def _compilers_in(comment: bytes) -> tuple[str, ...]:
    """Texts of the section ``.comment``, each once and in order."""
    texts = comment[:_MAX_COMMENT_BYTES].decode(errors="replace").split("\0")
    return tuple(dict.fromkeys(text for each in texts if (text := each.strip()) and text.isprintable()))
