"""Looks at the files of an environment and has them judged; imports nothing of what it looks at."""
