"""Rows -> optimizer -> gate -> artifact."""

from redraft.compiler.compiler import compile_program
from redraft.compiler.estimate import CompileEstimate, estimate_compile
from redraft.compiler.headroom import Advice, Headroom
from redraft.compiler.probe import headroom_calls, measure_headroom
from redraft.compiler.run import CompileOptions, CompileRun

__all__ = [
    "Advice",
    "CompileEstimate",
    "CompileOptions",
    "CompileRun",
    "Headroom",
    "compile_program",
    "estimate_compile",
    "headroom_calls",
    "measure_headroom",
]
