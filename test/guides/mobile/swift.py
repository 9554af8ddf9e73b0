"""Prints the places where the grammar of Swift does not fit the source on standard input."""

import sys

import tree_sitter
import tree_sitter_swift

parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_swift.language()))


def report(node):
    if node.is_error or node.is_missing:
        print(f"line {node.start_point.row + 1}: {node.text.decode()[:80]!r}")
    for child in node.children:
        report(child)


report(parser.parse(sys.stdin.buffer.read()).root_node)
