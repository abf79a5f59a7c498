"""The settings of replay analysis: the section `[replays]`."""

from dataclasses import dataclass

from understudy.settings import Section, setting


@dataclass(frozen=True, slots=True)
class ReplaySettings(Section):
    """Replay analysis. A replay is untrusted input: a worker process reads it within these limits."""

    directory: str = setting(
        "", "folder of replays, subfolders included (also REPLAY_ARCHIVE_DIR); empty = the game's own replay folder"
    )
    scan_seconds: float = setting(30.0, "seconds between two scans for new replays", 0.1)
    time_limit: float = setting(60.0, "seconds that one replay may take", 0.1)
    memory_limit: int = setting(1_000_000_000, "bytes of memory that one replay may use", 10_000_000)
    file_bytes: int = setting(50_000_000, "refuse a replay file larger than this", 1)
    own_players: str = setting("", "comma-separated names of players whose games count as your own")
    professionals: str = setting("", "comma-separated names of professionals, in addition to the built-in list")
    starting_workers: int = setting(12, "learn build orders only from games that start with this many workers", 1)
