"""What shells offer where TAB is pressed, with the script that --show-completion prints for each."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.real

BASH = """
eval "$(wheelmill --show-completion bash)"
COMP_WORDS=({typed}) COMP_CWORD={last}
_wheelmill_completion wheelmill
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
ZSH = """
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell 'autoload -U compinit; compinit -u -D; eval "$(wheelmill --show-completion zsh)"; PS1=; print re''ady'
zpty -r shell answer '*ready*'
zpty -w -n shell $'{typed}\\t'
zpty -r -m shell answer '*{awaited}*'
print -r -- "$answer"
"""
FISH = """
wheelmill --show-completion fish | source
complete --do-complete '{typed}'
"""
SCRIPTS = {"bash": BASH, "zsh": ZSH, "fish": FISH}


@pytest.mark.parametrize("shell", SCRIPTS)
@pytest.mark.parametrize(
    ("typed", "awaited"), [("wheelmill insta", "install"), ("wheelmill resolve --offl", "--offline")]
)
def test_a_shell_completes(shell: str, typed: str, awaited: str, tmp_path: Path) -> None:
    assert shutil.which(shell), f"apt-get install {shell}"
    script = SCRIPTS[shell].format(typed=typed, awaited=awaited, last=typed.count(" "))
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    variables = os.environ | {"PATH": path, "HOME": str(tmp_path), "SHELL": f"/bin/{shell}", "TERM": "dumb"}
    argv = [shell, "-c", script]
    done = subprocess.run(argv, env=variables, capture_output=True, text=True, check=False, timeout=120)
    assert awaited in done.stdout, done.stderr


def test_it_is_installed_for_the_sessions_to_come(tmp_path: Path) -> None:
    variables = os.environ | {"HOME": str(tmp_path), "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    script = "wheelmill --install-completion; exit $?"  # it asks which shell has started it: bash must not be replaced
    installed = subprocess.run(["bash", "-c", script], env=variables, capture_output=True, text=True, check=False)
    assert installed.returncode == 0, installed.stderr
    script = "source ~/.bashrc; complete -p wheelmill"
    done = subprocess.run(["bash", "-c", script], env=variables, capture_output=True, text=True, check=True)
    assert done.stdout == "complete -o default -F _wheelmill_completion wheelmill\n"
