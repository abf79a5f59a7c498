"""Compiled convolutions for boards of 9×9 squares."""
