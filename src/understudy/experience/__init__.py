"""Recorded games: episodes, the journal of a running game, and the spool of games that wait for the learner."""
