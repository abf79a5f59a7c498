"""Replay analysis: learns build orders from StarCraft II replays."""
