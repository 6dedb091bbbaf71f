"""``python -m tests.messages`` writes the lists of docs/messages.md; braces become capitals."""

from __future__ import annotations

import ast
import functools
import importlib
import itertools
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.source_code import modules
from wheelmill import errors
from wheelmill.client.doctor.rules import DefectCode
from wheelmill.conformance.rule import Rule
from wheelmill.wheel.findings import Code

ROOT: Final = Path(__file__).parents[1]
PAGE: Final = ROOT / "docs" / "messages.md"
SOURCE: Final = ROOT / "src"

CODES: Final = {"Code": (Code, "Findings of smoke"), "DefectCode": (DefectCode, "Findings of doctor")}
"""Findings' codes, by the name of their class."""
BROKEN_RULES: Final = "Findings of index check"
CALLS: Final = {
    "ValueError": "Values",
    "Skip": "Skips of plan",
    **dict.fromkeys(("warn", "say_warning"), "Warnings"),
    **dict.fromkeys(("fault", "note", "phrase_fault"), "ConfigurationError: exit 2"),
}
"""Headings of what these calls say; that of an error is its class and exit code."""
ROOMS: Final = {
    "cli": "Options and arguments",
    "client": "Projects, locks and environments",
    "config": "Packages and their sources",
    "hosting": "Repositories and kernels",
    "web": "Servers and credentials",
    "": "Everything else",
}
"""Headings in a long section, by the folder whose messages stand below."""
MANY: Final = 150
ROOM: Final = 118
"""Columns of a line in a list."""
SEPARATOR: Final = " · "
HINT: Final = "hint: "
WORDS: Final = {
    "tail": "OUTPUT",
    "error": "REASON",
    "strerror": "REASON",
    "problem": "REASON",
    "id": "TARGET",
    "self": "PLACE",
    "has": "FOUND",
    "strip": "TEXT",
    "words": "COMMAND",
    "outcome": "ANSWER",
}
"""What to call a variable whose name says little."""


@dataclass(frozen=True, kw_only=True)
class Message:
    """One sentence, what is beside it, and what it advises."""

    section: str
    room: str
    code: str
    text: str
    hint: str


@functools.cache
def messages() -> frozenset[Message]:
    """All of them."""
    found: set[Message] = set()
    for path, tree in modules().items():
        if path.name not in ("__main__.py", "windows.py"):  # one runs when it is imported, and one cannot be
            parts = path.relative_to(SOURCE).with_suffix("").parts
            module = vars(importlib.import_module(".".join(parts).removesuffix(".__init__")))
            room = parts[1] if parts[1] in ROOMS else ""
            for node in ast.walk(tree):
                if isinstance(node, ast.FunctionDef) or (isinstance(node, ast.AnnAssign) and node in tree.body):
                    found.update(Speech(node, module).messages(room))
    return frozenset(found)


class Speech:
    """A function, in which a message may have a name before it is said, or a table of messages."""

    def __init__(self, function: ast.AST, module: Mapping[str, object]) -> None:
        self._function = function
        self._module = module
        self._named: dict[str, list[ast.expr]] = defaultdict(list)
        for node in ast.walk(function):
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                self._named[node.targets[0].id].append(node.value)

    def messages(self, room: str) -> Iterator[Message]:
        """What it says; nothing of what it only hands on."""
        for call in (node for node in ast.walk(self._function) if isinstance(node, ast.Call)):
            given = {each.arg: each.value for each in call.keywords}
            said = given.get("detail") or given.get("reason") or (call.args[-1] if call.args else given.get("hint"))
            section, code = self._section(call, given)
            hints = self._texts(given["hint"]) if "hint" in given and said is not given["hint"] else [""]
            for text, hint in itertools.product(self._texts(said) if section and said else [], hints):
                if says_something(text):
                    advice = hint if says_something(hint) else ""
                    yield Message(section=section, room=room, code=code, text=" ".join(text.split()), hint=advice)
        for node in ast.walk(self._function):
            match node:
                case ast.Tuple(elts=[ast.Name(id=name), said]) if isinstance(rule := self._module.get(name), Rule):
                    for text in filter(says_something, self._texts(said)):
                        yield Message(section=BROKEN_RULES, room=room, code=rule.number, text=text, hint="")

    def _section(self, call: ast.Call, given: Mapping[str | None, ast.expr]) -> tuple[str, str]:
        """The heading that a call's message stands under, with its code; empty where it makes none."""
        section, code = "", ""
        match call.func:
            case ast.Attribute(value=ast.Name(id=name), attr="violation"):
                if isinstance(rule := self._module.get(name), Rule):
                    section, code = BROKEN_RULES, rule.number
            case ast.Name(id="Finding" | "Defect" | "against" | "_finding"):
                for each in (*call.args, *given.values()):
                    if isinstance(each, ast.Attribute) and isinstance(each.value, ast.Name) and each.value.id in CODES:
                        codes, section = CODES[each.value.id]
                        code = codes[each.attr].value
            case ast.Name(id="Cause"):
                code = str(getattr(given.get("code"), "value", ""))
                section = "Failed imports" if code else "Hints about builds"
            case ast.Name(id=name) | ast.Attribute(attr=name) if name in CALLS:
                section = CALLS[name]
            case ast.Name(id=name) if name.endswith("Error") and hasattr(errors, name):
                section = f"{name}: exit {getattr(errors, name).exit_code}"
                code = str(getattr(call.args[0], "value", ""))  # ConfigurationError has one for all
            case _:
                pass
        return section, code

    def _texts(self, node: ast.expr) -> list[str]:
        """What an expression can say: more than one text where it depends."""
        match node:
            case ast.Constant(value=value):  # which may be a template
                text = re.sub(r"(?<!\{)\{(\w+)\}", lambda word: word[1].upper(), str(value))
                texts = [text.replace("{{", "{").replace("}}", "}")]
            case ast.JoinedStr(values=parts):
                texts = ["".join(each) for each in itertools.product(*map(self._texts, parts))]
            case ast.FormattedValue(value=value, conversion=conversion):
                texts = [f"'{each}'" if conversion == ord("r") else each for each in self._texts(value)]
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                texts = ["".join(each) for each in itertools.product(self._texts(left), self._texts(right))]
            case ast.Call(func=ast.Name(id="number_of"), args=[number, ast.Constant(value=noun)]):
                texts = [f"{word_for(number)} {noun!s}s"]
            case ast.Call(func=ast.Attribute(value=ast.JoinedStr() as value)):
                texts = self._texts(value)
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="get")) if name in self._module:
                table = self._module[name]
                texts = list(table.values()) if isinstance(table, dict) else []
            case ast.IfExp(body=body, orelse=other):
                texts = [*self._texts(body), *self._texts(other)]
            case ast.Name(id=name) if values := self._named.pop(name, []):  # popped: a name may be made of itself
                told = [text for value in values for text in self._texts(value)]
                texts = told if any(map(says_something, told)) or "" in told else [word_for(node)]
                self._named[name] = values
            case _:
                texts = [self._constant(node) or word_for(node)]
        return texts

    def _constant(self, node: ast.expr) -> str:
        names = [each.id for each in ast.walk(node) if isinstance(each, ast.Name)]
        if not names or not all(name.isupper() and name in self._module for name in names):
            return ""
        value = eval(compile(ast.Expression(node), "", "eval"), dict(self._module))  # noqa: S307 - our own source
        return str(value) if isinstance(value, str | int) else ""


def says_something(text: str) -> bool:
    """Whether it has words of its own, beside the name of an option."""
    return re.search("[a-z]{2}", re.sub(r"--[a-z-]+", "", text)) is not None and text != "None"


def word_for(node: ast.expr) -> str:
    """A word in capitals for what an expression gives: the last name in it."""
    match node:
        case ast.Attribute(value=ast.Name(id="self"), attr=name) | ast.Name(id=name):
            return WORDS.get(name, name).strip("_").upper().replace("_", " ")
        case ast.Attribute(value=value, attr="name" | "path" | "text"):
            return word_for(value)
        case ast.Attribute(attr=name):
            return word_for(ast.Name(id=name))
        case ast.Call(args=[*_, value]) | ast.Call(func=value) | ast.BoolOp(values=[value, *_]):
            return word_for(value)
        case (
            ast.BinOp(left=value) | ast.GeneratorExp(elt=value) | ast.Starred(value=value) | ast.Subscript(value=value)
        ):
            return word_for(value)
        case _:
            return "…"


def page(written: str) -> str:
    """docs/messages.md with its lists as they should be; sentences stay, and a section that is missing comes last."""
    sections: dict[str, list[Message]] = defaultdict(list)
    for message in sorted(messages(), key=lambda each: (each.code, each.text.casefold(), each.hint)):
        sections[message.section].append(message)
    start, *parts = written.split("\n## ")
    told = {part.partition("\n")[0]: re.split(r"\n(?=###|-)", part.partition("\n")[2])[0].strip() for part in parts}
    names = [*(name for name in told if name in sections), *sorted(sections.keys() - told.keys())]
    return start + "".join(f"\n## {name}\n\n{told.get(name, '')}\n{listed(sections[name])}" for name in names)


def listed(found: list[Message]) -> str:
    """One list, or one for each room where there is much to say; each message once."""
    rooms = ROOMS if len(found) > MANY else dict.fromkeys([""], "")
    text = ""
    for room, title in rooms.items():
        own = [each for each in found if each.room == room or len(rooms) == 1]
        codes = itertools.groupby(own, key=lambda each: each.code)
        lines = "".join(f"- {line}\n" for line in packed([item(code, list(same)) for code, same in codes]))
        text += (f"\n### {title}\n" if title and lines else "") + (f"\n{lines}" if lines else "")
    return text


def item(code: str, found: list[Message]) -> str:
    """The messages of a code, those with the same hints together; without a code, a list of them."""
    hints: dict[str, dict[str, None]] = defaultdict(dict)
    for message in found:
        hints[message.text] |= {message.hint: None} if message.hint else {}
    same: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for text, given in sorted(hints.items(), key=lambda each: not each[1]):  # the last hint is for what is before it
        same[tuple(given)].append(f"`{text}`")
    if not code:
        return "\n- ".join(packed(same.pop(())))
    first = next(iter(same.values()))
    first[0] = f"**{code}** {first[0]}"
    return "\\\n  ".join(line for given, texts in same.items() for line in with_hints(texts, given))


def with_hints(texts: list[str], hints: tuple[str, ...]) -> list[str]:
    """The lines of messages and of what they advise: one line where all fit in it."""
    lines = packed(texts)
    if hints:
        advice = f"{HINT}{' or '.join(f'`{hint}`' for hint in hints)}"
        fits = len(lines[-1]) + len(advice) < ROOM
        lines = [*lines[:-1], f"{lines[-1]} {advice}"] if fits else [*lines, advice]
    return lines


def packed(texts: list[str]) -> list[str]:
    """As many texts to a line as fit, unless they have several lines or a hint."""
    lines = texts[:1]
    for text in texts[1:]:
        joined = lines[-1] + SEPARATOR + text
        if len(joined) < ROOM and "\n" not in joined and HINT not in joined:
            lines[-1] = joined
        else:
            lines.append(text)
    return lines


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text()))
