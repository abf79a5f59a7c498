"""`understudy completion SHELL`: prints a script that completes commands, flags and choices in that shell."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

_BASH = """\
_understudy() {{
    local words
    case "${{COMP_WORDS[1]}}" in
{cases}
        *) words="{commands}" ;;
    esac
    if [ "$COMP_CWORD" -eq 1 ]; then words="{commands}"; fi
    COMPREPLY=($(compgen -W "$words" -- "${{COMP_WORDS[COMP_CWORD]}}"))
}}
complete -o default -F _understudy understudy ./understudy
"""
_POWERSHELL = """\
Register-ArgumentCompleter -Native -CommandName understudy -ScriptBlock {{
    param($word, $line, $position)
    $known = @{{
{cases}
    }}
    $given = @($line.CommandElements | ForEach-Object {{ $_.ToString() }})
    $first = $given.Count -lt 2 -or ($given.Count -eq 2 -and $word)
    $words = if ($first) {{ $known[''] }} else {{ $known[$given[1]] }}
    $words | Where-Object {{ $_ -like "$word*" }} |
        ForEach-Object {{ [System.Management.Automation.CompletionResult]::new($_) }}
}}
"""
SHELLS = {
    "bash": "add to ~/.bashrc: source <(understudy completion bash)",
    "zsh": "add to ~/.zshrc: source <(understudy completion zsh)",
    "fish": "understudy completion fish > ~/.config/fish/completions/understudy.fish",
    "powershell": "add to $PROFILE: understudy completion powershell | Out-String | Invoke-Expression",
}


def script(parser: argparse.ArgumentParser, shell: str) -> str:
    """The completion script of a command line for one of SHELLS. Its first line says how to install it."""
    known = {name: sorted(set(words)) for name, words in _words(parser).items()}
    return f"# To install: {SHELLS[shell]}\n{_SCRIPTS[shell](known)}"


def _words(parser: argparse.ArgumentParser) -> dict[str, list[str]]:
    """The words that may follow each command; under "", those that may come first."""
    found: dict[str, list[str]] = {"": list(_own_words(parser))}
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, command in action.choices.items():
                found[name] = list(_own_words(command))
    return found


def _own_words(parser: argparse.ArgumentParser) -> Iterator[str]:
    for action in parser._actions:
        yield from (flag for flag in action.option_strings if flag.startswith("--"))
        if action.choices is not None and not action.option_strings:
            yield from map(str, action.choices)


def _bash(known: dict[str, list[str]]) -> str:
    cases = "\n".join(f'        {name}) words="{" ".join(words)}" ;;' for name, words in known.items() if name)
    return _BASH.format(cases=cases, commands=" ".join(known[""]))


def _zsh(known: dict[str, list[str]]) -> str:
    return "autoload -U +X compinit && compinit\nautoload -U +X bashcompinit && bashcompinit\n" + _bash(known)


def _fish(known: dict[str, list[str]]) -> str:
    lines = [f"complete -c understudy -n __fish_use_subcommand -a '{' '.join(known[''])}'"]
    for name, words in known.items():
        for word in words if name else ():
            flag = f"-l {word[2:]}" if word.startswith("--") else f"-a {word}"
            lines.append(f"complete -c understudy -n '__fish_seen_subcommand_from {name}' {flag}")
    return "\n".join(lines) + "\n"


def _powershell(known: dict[str, list[str]]) -> str:
    cases = "\n".join(f"        '{name}' = @({', '.join(map(repr, words))})" for name, words in known.items())
    return _POWERSHELL.format(cases=cases)


_SCRIPTS = {"bash": _bash, "zsh": _zsh, "fish": _fish, "powershell": _powershell}
