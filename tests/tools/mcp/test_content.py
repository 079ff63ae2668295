from __future__ import annotations

import base64
from pathlib import Path

import mcp_types as types

from harness.messages import Text
from tools.mcp.content import contents_of, prompt_content


def pdf(text: bytes) -> types.BlobResourceContents:
    data = base64.b64encode(text).decode()
    return types.BlobResourceContents(uri="file:///a.pdf", mime_type="application/pdf", blob=data)


async def test_resources_of_a_server_are_saved_in_different_files(tmp_path: Path) -> None:
    first = await contents_of([pdf(b"one")], tmp_path, "srv-resource")
    await contents_of([pdf(b"two")], tmp_path, "srv-resource")

    assert sorted(each.read_bytes() for each in tmp_path.iterdir()) == [b"one", b"two"]
    (note,) = first.blocks
    assert isinstance(note, Text)
    path = Path(note.text.partition("saved in ")[2].rstrip("]"))
    assert path.name.startswith("mcp-srv-resource-")
    assert path.read_bytes() == b"one"


async def test_attachments_of_a_prompt_are_saved_in_different_files(tmp_path: Path) -> None:
    def prompt(data: bytes) -> types.GetPromptResult:
        content = types.EmbeddedResource(type="resource", resource=pdf(data))
        return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=content)])

    await prompt_content(prompt(b"one"), tmp_path, "srv-prompt")
    await prompt_content(prompt(b"two"), tmp_path, "srv-prompt")

    assert sorted(each.read_bytes() for each in tmp_path.iterdir()) == [b"one", b"two"]
