"""Whose game was it? A replay does not say that its players are professionals; their names and the kind of game do."""

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
    """The names in a setting, with commas between, in the form in which they are compared."""
    return frozenset(name.strip().casefold() for name in text.split(",")) - {""}


def kind_of(kind: str, player: str, opponent: str, own: frozenset[str], professionals: frozenset[str]) -> str:
    """The kind of a game, from the one that its replay gives.

    `own`: a player is oneself. `professional`: nobody was matched by the ladder, and both names are professionals';
    on the ladder anybody can have their names. Otherwise it is what the replay says, `custom` where that is nothing.
    """
    names = {player.casefold(), opponent.casefold()}
    if player.casefold() in own:
        return "own"
    return "professional" if kind == "custom" and names <= professionals else kind
