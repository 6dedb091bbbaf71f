"""Reading which rules are for the branches and tags that jobs write to.

https://docs.github.com/en/rest/repos/rules
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Final
from urllib.parse import quote

from wheelmill.hosting.answers import ADMINISTRATION, Answers
from wheelmill.hosting.factory import TAG
from wheelmill.hosting.settings import ListedRuleset, Protection, RefNames, Rule, Ruleset, Switch, Unseen
from wheelmill.release.github.store import BRANCH

_METADATA: Final = "Metadata: read"


def branch_rules(answers: Answers, branch: str, *, administers: bool) -> frozenset[str] | Unseen:
    """Read the types of rules for a branch, those of its protection among them.

    Args:
        answers: those of the repository.
        branch: its name.
        administers: whether the token sees protection, so that a 404 means that there is none.

    Raises:
        NetworkError: GitHub fails, or gives an answer that cannot be read.
    """

    def read() -> frozenset[str]:
        path = f"/branches/{quote(branch, safe='')}/protection"
        none = Protection(allow_force_pushes=Switch(enabled=True), allow_deletions=Switch(enabled=True))
        protection = answers.one(path, Protection, absent=none if administers else None)
        older = {
            "pull_request": protection.required_pull_request_reviews is not None,
            "non_fast_forward": not protection.allow_force_pushes.enabled,
            "deletion": not protection.allow_deletions.enabled,
        }
        return _ruleset(answers, branch) | {rule for rule, holds in older.items() if holds}

    return answers.seen(f"the protection of the branch {branch}", ADMINISTRATION, read)


def _ruleset(answers: Answers, branch: str) -> frozenset[str]:
    """The types of rules for a branch, which need not be there."""
    return frozenset(rule.type for rule in answers.all(f"/rules/branches/{quote(branch, safe='')}", Rule))


def ledger_rules(answers: Answers) -> frozenset[str] | Unseen:
    """Read the types of rules for the branch of the ledger.

    Raises:
        NetworkError: GitHub fails, or gives an answer that cannot be read.
    """
    return answers.seen(f"the rules for the branch {BRANCH}", _METADATA, lambda: _ruleset(answers, BRANCH))


def tag_rules(answers: Answers) -> frozenset[str] | Unseen:
    """Read the types of rules for the tags of releases, which no call gives as it does for a branch.

    Raises:
        NetworkError: GitHub fails, or gives an answer that cannot be read.
    """

    def read() -> frozenset[str]:
        listed = answers.all("/rulesets", ListedRuleset)
        active = [each.id for each in listed if each.target == "tag" and each.enforcement == "active"]
        rulesets = [answers.one(f"/rulesets/{number}", Ruleset) for number in active]
        own = [each for each in rulesets if _is_for_releases(each.conditions.ref_name)]
        return frozenset(rule.type for each in own for rule in each.rules)

    return answers.seen("the rules for tags", _METADATA, read)


def _is_for_releases(names: RefNames) -> bool:
    def names_them(patterns: tuple[str, ...]) -> bool:
        # In GitHub's patterns a '**/' also stands for no folder.
        return "~ALL" in patterns or any(fnmatchcase(f"refs/tags/{TAG}", each.replace("**/", "*")) for each in patterns)

    return names_them(names.include) and not names_them(names.exclude)
