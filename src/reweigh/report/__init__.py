"""The report: a run folder becomes one page that a person with messy data can read."""
