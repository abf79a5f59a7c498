"""For authors of other StarCraft II bots: a new bot, its evaluation, its ladder zip, and the check of the zip."""
