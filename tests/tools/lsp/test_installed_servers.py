"""Language servers as their authors publish them."""

from __future__ import annotations

from pathlib import Path

import pytest
from fakes.language_servers import CodeTools, code_tools, npm_server

from tools.lsp.options import LanguageServer

SHAPES = """export interface Shape {
  area(): number;
}

export class Square implements Shape {
  constructor(private side: number) {}
  area(): number {
    return twice(this.side);
  }
}

export function twice(value: number): number {
  return value * 2;
}
"""
MAIN = """import { twice } from "./shapes";

export const four = twice(2);
"""
TSCONFIG = '{"compilerOptions": {"strict": true, "lib": ["es5"], "types": []}}'


@pytest.fixture(params=["typescript", "tsc"])
def server(request: pytest.FixtureRequest) -> LanguageServer:
    programs = {"typescript": "typescript-language-server/lib/cli.mjs", "tsc": "typescript-7/bin/tsc"}
    return npm_server(request.param, programs[request.param])


async def test_typescript_is_checked_and_asked(tmp_path: Path, server: LanguageServer) -> None:
    async with code_tools(tmp_path, server, edit_wait_s=60) as tools:
        for name, text in (("shapes.ts", SHAPES), ("main.ts", MAIN), ("tsconfig.json", TSCONFIG)):
            tools.place.put(name, text)

        texts = await errors_of_commands(
            tools, "main.ts", "shapes.ts", SHAPES.replace("value: number", "value: string")
        )
        # An unchanged file that depends on the edited one.
        worse = await tools.edit("shapes.ts", "twice(value: number)", "twice(value: string)")
        better = await tools.edit("shapes.ts", "twice(value: string)", "twice(value: number)")
        harmless = await tools.edit("shapes.ts", "value * 2", "value + value")
        answers = [
            (await tools.ask(operation, "shapes.ts", line, symbol)).text
            for operation, line, symbol in (
                ("definition", 8, "twice"),
                ("references", 12, "twice"),
                ("implementations", 1, "Shape"),
                ("incoming_calls", 12, "twice"),
                ("outgoing_calls", 7, "area"),
                ("document_symbols", 0, ""),
            )
        ]
        await tools.ask("rename", "shapes.ts", 12, "twice", new_name="double")
        renamed = await tools.ask("rename", "shapes.ts", 12, "twice", new_name="double", apply=True)

    assert "Cannot find module './shapes'" in texts.pop(1)
    assert ["not assignable to parameter" in text for text in texts] == [True, False]
    assert [line.partition(": error: ")[0] for line in worse.lines[2:]] == [
        "main.ts:3",
        "shapes.ts:8",
        *["shapes.ts:13"] * (len(worse.lines) - 4),
    ]
    assert len(worse.lines) > 4
    assert [better.lines[1:], harmless.lines[1:]] == [[], []]
    assert answers == [
        "shapes.ts:12: export function twice(value: number): number {",
        'main.ts:1: import { twice } from "./shapes";\nmain.ts:3: export const four = twice(2);\n'
        "shapes.ts:8: return twice(this.side);\nshapes.ts:12: export function twice(value: number): number {",
        "shapes.ts:5: export class Square implements Shape {",
        "main.ts:3: module main.ts\nshapes.ts:8: method area",
        "shapes.ts:12: function twice",
        "1: interface Shape\n  2: method area\n5: class Square\n  6: constructor constructor\n  6: property side\n"
        "  7: method area\n12: function twice",
    ]
    assert renamed.lines == ["Renamed in 2 files:", "main.ts", "shapes.ts"]
    assert (tools.place.root / "main.ts").read_text() == MAIN.replace("twice", "double")


async def test_python_is_checked(tmp_path: Path) -> None:
    pyright = npm_server("pyright", "pyright/langserver.index.js")
    async with code_tools(tmp_path, pyright, edit_wait_s=60) as tools:
        tools.place.put("shapes.py", "def twice(value: int) -> int:\n    return value * 2\n")
        tools.place.put("main.py", "from shapes import twice\n\ntwice(2)\n")
        texts = await errors_of_commands(
            tools, "main.py", "shapes.py", "def twice(value: str) -> str:\n    return value\n"
        )
        await tools.ask("hover", "shapes.py", 1, "twice")
        worse = await tools.edit("shapes.py", "value: int", "value: str")
        harmless = await tools.edit("main.py", "twice(2)", "twice('2')")

    assert "could not be resolved" in texts.pop(1)
    assert ["cannot be assigned to parameter" in text for text in texts] == [True, False]
    assert [line.partition(": error: ")[0] for line in worse.lines[2:]] == ["main.py:3", "shapes.py:2"]
    assert harmless.lines[1:] == []


async def errors_of_commands(tools: CodeTools, user: str, used: str, changed: str) -> list[str]:
    """Return the errors of a file after another one was changed, removed and restored, without being open."""
    path = tools.place.root / used
    text = path.read_text()
    assert (await tools.ask("diagnostics", user)).text.startswith("No errors or warnings")
    await tools.until_watching()
    texts: list[str] = []
    for content in (changed, "", text):
        path.write_text(content) if content else path.unlink()
        texts.append((await tools.ask("diagnostics", user)).text)
    return texts
