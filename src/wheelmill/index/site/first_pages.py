"""The first page, how to trust the index, and what the finder and the search read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from jinja2 import Environment
from pydantic_core import to_json

from wheelmill.index.render import Page
from wheelmill.index.site.addresses import package_folder
from wheelmill.index.site.evidence import Tried
from wheelmill.index.site.finder import FinderData
from wheelmill.index.site.packages import PackagePage
from wheelmill.index.site.tables import Trees
from wheelmill.index.tree import IndexFile
from wheelmill.names import ProjectName
from wheelmill.wheel.gpu_code import CARDS
from wheelmill.wheel.platforms import PLATFORMS


def first_pages(
    packages: Sequence[PackagePage],
    files: Sequence[IndexFile],
    trees: Trees,
    finder: FinderData,
    templates: Environment,
) -> Iterator[Page]:
    """Render them, one at a time.

    Args:
        packages: all of them.
        files: every wheel that is not yanked.
        trees: the torches that have a tree, by CUDA.
        finder: what it searches.
        templates: with the filters of pages for people.
    """
    tried = Tried.of(files)
    start = templates.get_template("site/start.html").render(
        root="./",
        tried=tried,
        packages=packages,
        built=[package for package in packages if package.wheel_count],
        planned=[package for package in packages if not package.wheel_count],
        updated=max((file.uploaded_at for file in files if file.uploaded_at), default=None),
        families=trees,
        pin_example=_pin_example(packages),
        gpus={gpu: ", ".join(cards) for gpu, cards in CARDS.items()},
        platforms=PLATFORMS,
        finder={**finder, "wheels": {}},
    )
    yield "index.html", [start.encode()]
    about = templates.get_template("site/about.html").render(root="../", tried=tried)
    yield "about/index.html", [about.encode()]
    yield "packages/packages.js", [_search_data(packages)]
    for name, wheels in finder["wheels"].items():
        script = b'"use strict";\naddWheels(' + to_json(name) + b", " + to_json(wheels) + b");\n"
        yield f"{package_folder(ProjectName(name))}wheels.js", [script]


def _search_data(packages: Iterable[PackagePage]) -> bytes:
    """What the search reads: names, how many wheels they have, and descriptions; a script works from a disk, too."""
    rows = [(package.name, package.wheel_count, package.description) for package in packages]
    return b'"use strict";\nconst PACKAGES = ' + to_json(rows) + b";\n"


def _pin_example(packages: Iterable[PackagePage]) -> str:
    """A pin that would work here."""
    pins = (f"{package.name}=={package.groups[0].kind.exact_version}" for package in packages if package.groups)
    return next(pins, "PACKAGE==2.8.3+cu128torch2.8")
