"""`understudy ladder`: downloads results, games and opponents from AI Arena, and uploads the bot's zip and data."""
