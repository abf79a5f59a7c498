"""For authors of StarCraft II bots of their own: a new bot, its evaluation, its ladder zip and the check of that."""
