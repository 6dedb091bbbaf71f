"""The configuration of Docker builds with the stand-ins for public images in place of these."""

from __future__ import annotations

import json

from wheelmill.config.model.files import ImageReference, Images
from wheelmill.errors import ProcessError
from wheelmill.system import process


def with_stand_ins(text: str, images: Images) -> str:
    """Put the IDs of images of this machine into the text of images.yml, for the digests of those they stand for."""
    for reference in references(images):
        if stand_in := stand_in_of(reference):
            text = text.replace(reference.digest, stand_in)
    return text


def references(images: Images) -> list[ImageReference]:
    """Every image of the file."""
    of_cuda = [image for each in images.cuda.values() for image in (each.devel, each.runtime)]
    return [*images.manylinux.images.values(), images.plain.image, *of_cuda]


def stand_in_of(reference: ImageReference) -> str | None:
    """The ID of the image that stands for another, if there is one."""
    try:
        (found,) = json.loads(process.run(["docker", "image", "inspect", reference.tagged]))
    except ProcessError:
        return None
    stand_in = (found["Config"]["Labels"] or {}).get("wheelmill.stand-in") == "true"
    return str(found["Id"]) if stand_in else None
