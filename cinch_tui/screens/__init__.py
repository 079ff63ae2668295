"""Whole screens: each asks one thing and hands back one answer."""
