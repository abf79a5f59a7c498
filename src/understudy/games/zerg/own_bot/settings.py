"""The settings sections `[package]` and `[ladder]`: the zip of a user's bot, and its place on the ladder."""

from dataclasses import dataclass

from understudy.settings import Section, setting


@dataclass(frozen=True, slots=True)
class PackageSettings(Section):
    """The bot that `understudy package` packs."""

    bot: str = setting("", "file and class, as in bot.py:MyBot; empty = the bot that comes with Understudy")
    files: str = setting("", "more files for the zip, comma-separated names and patterns, as in data/*.json")


@dataclass(frozen=True, slots=True)
class LadderSettings(Section):
    """The bot's place on AI Arena, for `understudy ladder`. The token is not a setting, but in AIARENA_TOKEN."""

    bot: int = setting(0, "number of the bot, as in the address of its page; 0 = none", 0)
    url: str = setting("https://aiarena.net", "address of the ladder")
    compare: bool = setting(
        True, "while the gate compares a candidate with the champion, the candidate plays a share of the ladder's games"
    )
