"""The templates of pages for people, with the words and filters that they use."""

from __future__ import annotations

from collections.abc import Container

from jinja2 import Environment

from wheelmill.index.render import site_templates
from wheelmill.index.site.addresses import in_url, page_number, wheels_folder
from wheelmill.index.site.installing import dependencies_of, install_command
from wheelmill.index.site.packages import by_topic
from wheelmill.index.site.sizes import size_rows
from wheelmill.index.site.tables import SIGNS, WORDS, Trees, body_of
from wheelmill.names import ProjectName
from wheelmill.system.progress import duration, number_of, size
from wheelmill.wheel.torch_need import words_for


def templates_for(trees: Trees, projects: Container[ProjectName]) -> Environment:
    """Make them.

    Args:
        trees: the torches that have a tree, by CUDA.
        projects: those of this index.
    """
    templates = site_templates()
    templates.globals |= {"signs": SIGNS, "words": WORDS}
    templates.filters |= {
        "by_topic": by_topic,
        "body": lambda table, folder: body_of(table, folder, trees),
        "command": lambda package, requirement, group: install_command(
            requirement,
            f"{package.name}=={group.kind.exact_version}",
            is_shared=package.is_shared,
            dependencies=dependencies_of(group.requires_dist, projects),
        ),
        "date": lambda moment: f"{moment:%Y-%m-%d}",
        "duration": duration,
        "in_url": in_url,
        "number_of": number_of,
        "page": page_number,
        "size": size,
        "size_rows": size_rows,
        "thousands": lambda number: f"{number:,}",
        "torch": words_for,
        "wheels_of": lambda exact, version: in_url(wheels_folder(version.number, exact)),
    }
    return templates
