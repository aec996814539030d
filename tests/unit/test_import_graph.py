"""Which module imports which: every edge is a real import, and nothing goes round in a circle."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path

import grimp
import pytest

import headrace

ROOT = Path(headrace.__file__).parent
LAZY_EXPORTS = {"headrace/__init__.py", "headrace/testing/__init__.py"}
"""Packages that load a part when its name is asked for; they name the same parts in imports for type checkers."""


def calls_by_string(tree: ast.AST) -> list[int]:
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
    return [call.lineno for call in calls if ast.unparse(call.func).endswith(("import_module", "__import__"))]


def test_no_module_of_ours_is_imported_by_a_string() -> None:
    found = {
        str(file.relative_to(ROOT.parent)): lines
        for file in sorted(ROOT.rglob("*.py"))
        if (lines := calls_by_string(ast.parse(file.read_text())))
    }
    assert found.keys() == LAZY_EXPORTS


@pytest.mark.parametrize("package", ["headrace", "headrace.testing"])
def test_what_is_loaded_by_name_is_known_to_the_import_rules(package: str) -> None:
    tree = ast.parse((ROOT.parent / package.replace(".", "/") / "__init__.py").read_text())
    module = importlib.import_module(package)
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    written = {alias.asname or alias.name for node in imports for alias in node.names}
    assert set(module.__all__) <= written


def test_the_modules_of_the_dsl_import_each_other_in_one_direction() -> None:
    graph = grimp.build_graph("headrace", exclude_type_checking_imports=True)
    modules = graph.find_descendants("headrace.dsl")
    circles = {
        (one, other)
        for one in modules
        for other in graph.find_modules_directly_imported_by(one) & modules
        if graph.chain_exists(importer=other, imported=one)
    }
    assert circles == set()


def test_packages_import_each_other_in_one_direction_also_for_type_checkers() -> None:
    graph = grimp.build_graph("headrace")
    packages = graph.find_children("headrace")
    for package in packages:
        graph.squash_module(package)
    circles = {
        (one, other)
        for one in packages
        for other in (graph.find_modules_directly_imported_by(one) & packages) - {one}
        if graph.chain_exists(importer=other, imported=one)
    }
    assert circles == set()
