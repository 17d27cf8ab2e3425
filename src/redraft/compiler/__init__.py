"""Rows -> optimizer -> gate -> artifact."""

from redraft.compiler.compiler import compile_program
from redraft.compiler.estimate import CompileEstimate, estimate_compile
from redraft.compiler.run import CompileRun

__all__ = ["CompileEstimate", "CompileRun", "compile_program", "estimate_compile"]
