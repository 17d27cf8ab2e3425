"""What a program learns from: rows, their card, and the splits they are in."""

from redraft.trainset.folder import Trainset, load_trainset, make_trainset
from redraft.trainset.splits import assign_splits

__all__ = ["Trainset", "assign_splits", "load_trainset", "make_trainset"]
