"""`understudy ladder`: results, games and opponents from AI Arena, and the bot's zip and data to it."""
