"""The official Python SDK as a client of `verger mcp`: lists, reads, writes, searches, errs, deletes with a question.

    python_client.py MODE stdio VERGER VAULT
    python_client.py MODE http URL TOKEN

MODE is `legacy` (a handshake, up to 2025-11-25) or a revision without one (2026-07-28).
"""

import asyncio
import json
import os
import sys

import httpx2
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp_types import ElicitResult

MODE, KIND, WHERE, MORE = sys.argv[1:5]
questions = 0


async def answer(context, params):
    global questions
    questions += 1
    return ElicitResult(action="accept", content={"confirm": True})


def door():
    if KIND == "stdio":
        return StdioServerParameters(command=WHERE, args=["mcp", "--vault", MORE], env=dict(os.environ))
    http = httpx2.AsyncClient(headers={"authorization": f"Bearer {MORE}"}, timeout=30)
    return streamable_http_client(WHERE, http_client=http)


async def main():
    path = f"clients/python-{MODE}-{KIND}.md"
    target = {"type": "path", "path": path}
    text = "# Python\nthe medlar is ripe\n"
    async with Client(door(), mode=MODE, elicitation_callback=answer) as client:
        tools = [tool.name for tool in (await client.list_tools()).tools]
        assert "obsidian_get_note" in tools, tools
        written = await client.call_tool("obsidian_write_note", {"target": target, "content": text})
        assert not written.is_error, written
        read = await client.call_tool("obsidian_get_note", {"target": target, "format": "content"})
        assert read.structured_content["result"]["content"] == text, read
        found = await client.call_tool("obsidian_search_notes", {"mode": "text", "query": "medlar is ripe"})
        assert path in [hit["filename"] for hit in found.structured_content["result"]["hits"]], found
        nowhere = {"target": {"type": "path", "path": "no/such.md"}, "format": "content"}
        missing = await client.call_tool("obsidian_get_note", nowhere)
        assert missing.is_error and missing.structured_content["error"]["data"]["reason"] == "note_missing", missing
        resource = await client.read_resource(f"obsidian://vault/{path}")
        assert json.loads(resource.contents[0].text)["path"] == path, resource
        deleted = await client.call_tool("obsidian_delete_note", {"target": target})
        assert not deleted.is_error and questions == 1, (deleted, questions)
        version = client.protocol_version
    print(f"ok      Python SDK over {KIND}, {version}: {len(tools)} tools, one question answered")


asyncio.run(main())
