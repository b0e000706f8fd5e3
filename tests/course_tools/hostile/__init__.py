"""Submissions that attack the walls: none gets a mark, disturbs another's, or leaves anything."""
