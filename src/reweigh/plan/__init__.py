"""Plans: what to train and how; every option checked, every default chosen from the data."""

from reweigh.plan.plan import Part, Plan

__all__ = ["Part", "Plan"]
