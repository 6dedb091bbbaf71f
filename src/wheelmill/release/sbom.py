"""The bill of materials beside a released wheel: a copy of the one inside it, or made from what its bytes show."""

from __future__ import annotations

from wheelmill.errors import UnreadableError
from wheelmill.smoke.verdict import TestedWheel
from wheelmill.system.files import sha256_of_bytes
from wheelmill.wheel.archive import open_archive, read_member
from wheelmill.wheel.build_facts import MAX_SBOM, OWN_SBOM, SBOMS, read_sbom
from wheelmill.wheel.libraries import is_bundled
from wheelmill.wheel.metadata import dist_info_of, licence_in, metadata_in, read_fields
from wheelmill.wheel.name import name_without_label


def sbom_of(wheel: TestedWheel) -> bytes:
    """The bill of a wheel; the same wheel gives the same bytes.

    One that was not built here has its name, its licence and the libraries in it.
    """
    from wheelmill.wheel.bill_of_materials import Bill, BundledLibrary, bill_bytes  # noqa: PLC0415 - half a second
    from wheelmill.wheel.shared_objects import shared_objects_of  # noqa: PLC0415 - the same

    with wheel.file.path.open("rb") as file, open_archive(file) as archive:
        own = f"{dist_info_of(archive)}/{SBOMS}/{OWN_SBOM}"
        try:
            content = read_member(archive, own, MAX_SBOM)
            read_sbom(own, content)
        except UnreadableError:
            metadata = metadata_in(archive)
            bundled = tuple(
                BundledLibrary(member=name, sha256=sha256_of_bytes(archive.read(name)))
                for name in archive.namelist()
                if is_bundled(name)
            )
        else:
            return content
    name = name_without_label(wheel.file.filename)
    return bill_bytes(
        Bill(
            project=name.project,
            version=str(name.version),
            contents=wheel.file.sha256,
            licence=licence_in(read_fields(metadata)),
            facts=None,
            bundled=bundled,
            holds_cuda_runtime=any(each.holds_cuda_runtime for each in shared_objects_of(wheel.file.path)),
        )
    )
