"""A ``pyproject.toml`` with nothing in it but the wheels that were chosen, for ``uv sync``.

https://docs.astral.sh/uv/concepts/projects/dependencies/#dependency-sources
"""

from __future__ import annotations

import tomlkit

from wheelmill.client.records import Choice, Resolution


def pyproject_text(resolution: Resolution, *, name: str) -> str:
    """Write a project that depends on the chosen wheels, by URL and hash, and on the torch they are linked to."""
    target = resolution.environment
    dependencies = tomlkit.array().multiline(multiline=True)
    sources = tomlkit.table()
    document = tomlkit.document()
    document["project"] = {
        "name": name,
        "version": "0.1.0",
        "requires-python": f"=={target.python.major}.{target.python.minor}.*",
        "dependencies": dependencies,
    }
    tool = tomlkit.table(is_super_table=True)
    if target.torch and target.cuda:
        dependencies.append(f"torch=={target.torch}.*")
        index = f"pytorch-{target.cuda.tag}"
        sources["torch"] = _inline(index=index)
        indexes = tomlkit.aot()
        url = f"https://download.pytorch.org/whl/{target.cuda.tag}"
        indexes.append(tomlkit.item({"name": index, "url": url, "explicit": True}))
        tool["index"] = indexes
    for choice in resolution.choices.values():
        dependencies.append(choice.candidate.project)
        sources[choice.candidate.project] = _inline(url=hashed_url(choice))
    tool["sources"] = sources
    document["tool"] = {"uv": tool}
    return tomlkit.dumps(document)


def hashed_url(choice: Choice) -> str:
    """The wheel's URL with its hash behind it, which installers check."""
    digest = choice.candidate.sha256
    return f"{choice.candidate.url}#sha256={digest}" if digest else choice.candidate.url


def _inline(**values: str) -> tomlkit.items.InlineTable:
    table = tomlkit.inline_table()
    table.update(values)
    return table
