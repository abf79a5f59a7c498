"""What other people's games teach: StarCraft II replays in, build orders out."""
