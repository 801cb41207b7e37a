"""Time as entities cut it: zones, calendars, periods and their names, sets of instances as ordinals, and maps between two calendars."""
