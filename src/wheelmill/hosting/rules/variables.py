"""Variables, and what they ask for: secrets and machines."""

from __future__ import annotations

import shlex

from wheelmill.hosting.factory import NOTIFY, WEBHOOK
from wheelmill.hosting.settings import ORGANIZATION, RepositorySettings, Unseen
from wheelmill.hosting.variables import NOTIFIES, PREFIX, VARIABLES, labels_asked_for
from wheelmill.hosting.wrong import Judgement, SettingCode, wrong


def check_variables(settings: RepositorySettings) -> Judgement:
    """Workflows read every variable that is meant for them, and understand it."""
    variables = settings.variables
    if isinstance(variables, Unseen):
        yield variables
        return
    for name, value in sorted(variables.items()):
        values = VARIABLES.get(name)
        if values and not values.fits(value):
            what = f"{name} is {value!r}; expected {values.expected}"
            yield wrong(SettingCode.VARIABLE_VALUE, what, f"gh variable set {name} --repo {settings.full_name}")
        elif not values and name.startswith(PREFIX):
            command = f"gh variable delete {shlex.quote(name)} --repo {settings.full_name}"
            yield wrong(SettingCode.VARIABLE_UNKNOWN, f"no workflow reads the variable {name}", command)


def check_webhook(settings: RepositorySettings) -> Judgement:
    """Whoever wants to be told of failures says where."""
    variables, secrets = settings.variables, settings.secrets
    if isinstance(variables, Unseen) or variables.get(NOTIFIES) != "true":
        return
    if isinstance(secrets, Unseen):
        yield secrets
    elif WEBHOOK not in secrets:
        what = f"{NOTIFIES} is true, and there is no secret {WEBHOOK}"
        command = f"gh secret set {WEBHOOK} --env {NOTIFY} --repo {settings.full_name}"
        yield wrong(SettingCode.SECRET_MISSING, what, command)


def check_runners(settings: RepositorySettings) -> Judgement:
    """There is a machine for the labels that jobs will ask for."""
    if isinstance(settings.variables, Unseen):
        return
    page = f"{settings.settings_url}/actions/runners"
    for asked in labels_asked_for(settings.variables):
        if isinstance(settings.runners, Unseen):
            yield settings.runners
            continue
        wanted = {label.casefold() for label in asked}
        states = {
            runner.status for runner in settings.runners if wanted <= {label.name.casefold() for label in runner.labels}
        }
        text = " and ".join(asked)
        if not states and settings.description.owner.type == ORGANIZATION:
            yield Unseen(f"whether a machine has the label {text}", f"a look at {page}, which shows the organization's")
        elif "online" not in states:
            what = f"no machine with the label {text} is {'online' if states else 'there'}"
            yield wrong(SettingCode.RUNNER_MISSING, what, page)
