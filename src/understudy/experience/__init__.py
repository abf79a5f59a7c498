"""What a game leaves behind: episodes, the journal of a game in progress, and the spool they wait in."""
