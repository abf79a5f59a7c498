"""The kind of a game: own, professional, ladder and so on, by the players' names and the type of the game."""

from __future__ import annotations

# Players known from international tournaments: Zerg, Terran, Protoss. `replays.professionals` adds to them.
_NAMES = """
Serral Reynor Dark Rogue soO Solar Shin RagnaroK Lambo Elazer Scarlett Nerchio Stephano Jaedong DRG DongRaeGu Armani
Impact Leenock ByuL Curious Soulkey NesTea TLO Snute Bly SortOf
Maru Clem ByuN Cure TY INnoVation GuMiho Bunny Dream HeroMarine uThermal SpeCial Ryung TaeJa Mvp MMA Polt KeeN
herO Zest Stats Classic Trap PartinG ShoWTimE MaxPax Astrea Neeb Creator Rain sOs MC Harstem Zoun Dear Patience
Hurricane SKillous MaNa
"""
PROFESSIONALS = frozenset(name.casefold() for name in _NAMES.split())


def names_in(text: str) -> frozenset[str]:
    """The comma-separated names of a setting, normalised for comparison."""
    return frozenset(name.strip().casefold() for name in text.split(",")) - {""}


def kind_of(kind: str, player: str, opponent: str, own: frozenset[str], professionals: frozenset[str]) -> str:
    """The kind of a game, from the one that its replay gives.

    `own`: one of the players is you. `professional`: both names are professionals', and it is not a ladder game, where
    anybody can use these names. Otherwise the type in the replay, or `custom` if it has none.
    """
    names = {player.casefold(), opponent.casefold()}
    if player.casefold() in own:
        return "own"
    return "professional" if kind == "custom" and names <= professionals else kind
