"""The managers of the bot."""
