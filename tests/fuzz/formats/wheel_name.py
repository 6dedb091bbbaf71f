"""File names of wheels, as releases and manifests have them and as pages link to them."""

from tests.fuzz.harness import Format
from tests.fuzz.mutation import mutated_text
from wheelmill.client.choose.finder import tags_in, version_of
from wheelmill.client.sources.forms import group_links
from wheelmill.web.pages import Form, Link, Page, with_sound_links
from wheelmill.wheel.label import BuiltFor
from wheelmill.wheel.name import VARIANTS_SUFFIX, VariantWheelName, WheelName, is_label, split_label

NAMES = [
    "demo-1.0-py3-none-any.whl",
    "flash_attn-2.8.3+cu12torch2.8cxx11abiTRUE-cp312-cp312-linux_x86_64.whl",
    "demo-1!2.0rc1.post2.dev3+git1a2b.cu130torch2.11-2post-cp312.cp313-abi3.none-manylinux1_x86_64.manylinux_2_5_x86_64.whl",
    "demo-1.0-1-py3-none-any-cu130.whl",
    "demo-1.0-variants.json",
]
WORDS = ["-", ".", "_", "+", "cu", "torch", "pt", "py3", "1!", "cp312", ".whl", "9" * 5000, "-py3.py2", "%2B"]


def read(name: str) -> None:
    page = Page(form=Form.HTML, base="https://index.example/", links=[Link(name, "x.whl")])
    sound = with_sound_links(page, (".whl", VARIANTS_SUFFIX))
    for group, links in group_links((link.filename, link) for link in sound.links).items():
        assert group.project is not None
        assert is_label(group.variant) or group.variant in ("", VARIANTS_SUFFIX)
        BuiltFor.parse(group.local)
        tags_in(group.tags)
        assert [version_of(link.filename.split("-")[1]) for link in links]
    if split_label(name)[1]:
        variant = VariantWheelName.parse(name)
        assert VariantWheelName.parse(variant.filename) == variant
    wheel = WheelName.parse(name)
    assert WheelName.parse(wheel.filename) == wheel
    assert wheel.platforms
    str(wheel.label)


FORMAT = Format(inputs=mutated_text(NAMES, WORDS), read=read)
