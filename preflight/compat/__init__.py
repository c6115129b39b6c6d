"""Static judgement: will this build run on that card."""
