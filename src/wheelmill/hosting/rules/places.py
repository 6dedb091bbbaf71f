"""The repository itself, and where jobs deploy and publish to."""

from __future__ import annotations

import shlex
from fnmatch import fnmatchcase

from wheelmill.hosting.factory import ENVIRONMENTS, NOTIFY, PAGES
from wheelmill.hosting.settings import Environment, NamePattern, RepositorySettings, Unseen
from wheelmill.hosting.variables import NOTIFIES, STORE
from wheelmill.hosting.wrong import Judgement, SettingCode, api_command, wrong


def check_repository(settings: RepositorySettings) -> Judgement:
    """Everybody may read it, and ask for packages; jobs may write to it."""
    name, description = settings.full_name, settings.description
    if description.visibility != "public":
        command = f"gh repo edit {name} --visibility public --accept-visibility-change-consequences"
        yield wrong(SettingCode.PRIVATE, f"the repository is {description.visibility}", command)
    if description.archived:
        yield wrong(SettingCode.ARCHIVED, "the repository is archived", f"gh repo unarchive {name}")
    if not description.has_issues and not settings.is_package:
        what = f"issues are off{', as in every new fork' if description.fork else ''}"
        yield wrong(SettingCode.ISSUES_OFF, what, f"gh repo edit {name} --enable-issues")


def check_pages(settings: RepositorySettings) -> Judgement:
    """A workflow deploys the site."""
    pages = settings.pages
    if isinstance(pages, Unseen):
        yield pages
    elif pages is None:
        command = api_command(settings, "POST", "pages", "-f build_type=workflow")
        yield wrong(SettingCode.PAGES_SOURCE, "Pages is off", command)
    elif pages.build_type != "workflow":
        command = api_command(settings, "PUT", "pages", "-f build_type=workflow")
        yield wrong(SettingCode.PAGES_SOURCE, "Pages shows a branch, not what a workflow deploys", command)


def check_environments(settings: RepositorySettings) -> Judgement:
    """What deploys may use the environments, and nothing else."""
    environments = settings.environments
    if isinstance(environments, Unseen):
        yield environments
        return
    for name in ENVIRONMENTS:
        if environment := environments.get(name):
            yield from _check_environment(settings, environment)
        elif _is_used(settings, name):
            what = f"there is no environment {name}: the first job makes one that every branch may use"
            yield wrong(SettingCode.ENVIRONMENT_OPEN, what, *_closing(settings, name))


def _is_used(settings: RepositorySettings, environment: str) -> bool:
    """Whether jobs will ask for an environment that is not there. GitHub makes that of Pages together with the site."""
    if environment == PAGES:
        return settings.pages is not None
    variables = settings.variables
    return environment != NOTIFY or (not isinstance(variables, Unseen) and variables.get(NOTIFIES) == "true")


def _check_environment(settings: RepositorySettings, environment: Environment) -> Judgement:
    name, policy, source = environment.name, environment.deployment_branch_policy, _source_of(settings)
    refused = f"the {source.type} {source.name} may not use the environment {name}"
    if policy is None:
        # The command would take away reviewers and timers.
        kept = any(rule.type != "branch_policy" for rule in environment.protection_rules)
        remedy = (f"{settings.settings_url}/environments",) if kept else _closing(settings, name)
        yield wrong(SettingCode.ENVIRONMENT_OPEN, f"every branch may use the environment {name}", *remedy)
    elif not policy.custom_branch_policies:  # but protected branches
        if source.type == "tag":
            yield wrong(SettingCode.ENVIRONMENT_CLOSED, refused, *_closing(settings, name))
    elif isinstance(settings.branches, Unseen):
        yield settings.branches
    elif not any(_admits(pattern, source) for pattern in settings.branches[name]):
        yield wrong(SettingCode.ENVIRONMENT_CLOSED, refused, _admitting(settings, name))


def _source_of(settings: RepositorySettings) -> NamePattern:
    """What deploys: the default branch of a factory, the tags of a package whose workflow calls ours."""
    if settings.is_package:
        return NamePattern(name="v*", type="tag")
    return NamePattern(name=settings.description.default_branch)


def _admits(pattern: NamePattern, source: NamePattern) -> bool:
    return pattern.type == source.type and fnmatchcase(source.name.replace("*", "1"), pattern.name)


def _closing(settings: RepositorySettings, environment: str) -> tuple[str, ...]:
    """Make an environment that nobody else may use."""
    policy = "deployment_branch_policy"
    fields = f"-F '{policy}[protected_branches]=false' -F '{policy}[custom_branch_policies]=true'"
    return api_command(settings, "PUT", f"environments/{environment}", fields), _admitting(settings, environment)


def _admitting(settings: RepositorySettings, environment: str) -> str:
    source = _source_of(settings)
    fields = f"-f {shlex.quote(f'name={source.name}')} -f type={source.type}"
    return api_command(settings, "POST", f"environments/{environment}/deployment-branch-policies", fields)


def check_releases(settings: RepositorySettings) -> Judgement:
    """What is published here cannot be changed."""
    own, variables = f"github:{settings.full_name}", settings.variables
    if not isinstance(variables, Unseen) and variables.get(STORE, own).casefold() != own.casefold():
        return
    if isinstance(settings.immutable, Unseen):
        yield settings.immutable
    elif not settings.immutable:
        command = api_command(settings, "PUT", "immutable-releases")
        yield wrong(SettingCode.RELEASES_MUTABLE, "published releases can be changed", command)
