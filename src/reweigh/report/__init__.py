"""The report: run folders become one page for people with messy data."""
