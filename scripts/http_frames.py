#!/usr/bin/env python3
"""Sends every hostile frame of the corpus by POST, and forty hostile heads; after each one the server must still answer.

    http_frames.py PORT FRAMES.jsonl.gz      against `verger mcp --http 127.0.0.1:PORT --no-auth`
"""

import base64
import gzip
import json
import socket
import sys

PORT = int(sys.argv[1])
ROWS = [json.loads(line) for line in gzip.open(sys.argv[2])]
ACCEPT = "application/json, text/event-stream"


def send(data, wait=20):
    """Sends bytes; returns the status (0: closed without an answer, -1: nothing in time), the head and the body."""
    with socket.create_connection(("127.0.0.1", PORT), timeout=wait) as stream:
        got = b""
        try:
            stream.sendall(data)
        except OSError:
            pass
        try:
            while chunk := stream.recv(65536):
                got += chunk
        except TimeoutError:
            return -1, "", got
        except OSError:
            pass
    head, _, body = got.partition(b"\r\n\r\n")
    words = head.split(b" ", 2)
    return int(words[1]) if len(words) > 1 and words[1].isdigit() else 0, head.decode("latin-1"), body


def post(body, headers=()):
    usual = {"Host": f"localhost:{PORT}", "Connection": "close", "Accept": ACCEPT, "Content-Type": "application/json"}
    usual.update(headers)
    usual["Content-Length"] = str(len(body))
    head = "".join(f"{name}: {value}\r\n" for name, value in usual.items())
    return send(f"POST /mcp HTTP/1.1\r\n{head}\r\n".encode() + body)


def sit():
    hello = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "frames", "version": "1"}}}
    _, head, _ = post(json.dumps(hello).encode())
    lines = dict(line.lower().split(": ", 1) for line in head.split("\r\n")[1:])
    headers = {"Mcp-Session-Id": lines["mcp-session-id"], "MCP-Protocol-Version": "2025-11-25"}
    post(b'{"jsonrpc":"2.0","method":"notifications/initialized"}', headers)
    return headers


def alive(headers):
    status, _, body = post(b'{"jsonrpc":"2.0","id":99,"method":"ping"}', headers)
    return status == 200 and b'"id":99' in body


def frames():
    headers = sit()
    survived = answered = 0
    for row in ROWS:
        raw = base64.b64decode(row["raw_b64"]).replace(b"{READ}", b"obsidian_get_note").replace(b"{PATH}", b"a.md")
        status, _, body = post(raw, headers)
        answered += status > 0
        if status >= 500:
            print("500:", row["id"], row["note"], status, body[:100])
        if not alive(headers):
            headers = sit()
            ended = alive(headers)
            print("session gone" if ended else "DEAD", row["id"], row["note"])
            survived += ended
        else:
            survived += 1
    print(f"frames: {len(ROWS)}, answered {answered}, survived {survived}")
    return answered == survived == len(ROWS)


def heads():
    ping = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
    host = f"Host: localhost:{PORT}\r\n"
    full = f"{host}Accept: {ACCEPT}\r\nContent-Type: application/json\r\n"
    length = f"Content-Length: {len(ping)}\r\n"
    cases = [
        ("POST", host + length), ("POST", full.replace("application/json\r\n", "text/plain\r\n") + length),
        ("POST", full + "Content-Type: text/plain\r\n" + length), ("POST", full + length + length),
        ("POST", full + "Content-Length: -1\r\n"), ("POST", full + "Content-Length: 1e9\r\n"),
        ("POST", full + "Content-Length: 18446744073709551616\r\n"), ("POST", full + length + "Content-Length: 5\r\n"),
        ("POST", full + length + "Transfer-Encoding: chunked\r\n"), ("POST", full + "Transfer-Encoding: gzip\r\n"),
        ("POST", full + "Transfer-Encoding: chunked, chunked\r\n"), ("POST", full + "Transfer-Encoding: xchunked\r\n"),
        ("POST", full + length + "Host: evil.example.com\r\n"), ("POST", full.replace(host, "") + length),
        ("POST", full.replace(host, "Host: evil.example.com\r\n") + length),
        ("POST", full.replace(host, "Host: localhost@evil.com\r\n") + length),
        ("POST", full.replace(host, "Host: \r\n") + length), ("POST", full.replace(host, "Host: [::1\r\n") + length),
        ("POST", full.replace(host, "Host: 127.0.0.1.evil.com\r\n") + length),
        ("POST", full + length + "Origin: http://evil.example.com\r\n"), ("POST", full + length + "Origin: null\r\n"),
        ("POST", full + length + "Origin: http://localhost\r\nOrigin: http://evil.com\r\n"),
        ("POST", full + length + "X-Big: " + "a" * 1_000_000 + "\r\n"), ("POST", full + length + "X: y\r\n" * 500),
        ("POST", full + length + "Bad Header: x\r\n"), ("POST", full + length + "X: a\x00b\r\n"),
        ("POST", full + length + " folded: x\r\n"), ("POST", full + length + "Mcp-Session-Id: guess\r\n"),
        ("POST", full + length + "Mcp-Session-Id: a\r\nMcp-Session-Id: b\r\n"),
        ("POST", full + length + "Mcp-Session-Id: " + "0" * 5000 + "\r\n"),
        ("POST", full + length + "MCP-Protocol-Version: 1999-01-01\r\n"),
        ("POST", full + length + "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/list\r\n"),
        ("POST", full + length + "Expect: 200-maybe\r\n"), ("POST", full + length + "Upgrade: h2c\r\n"),
        ("TRACE", full + length), ("CONNECT", full), ("OPTIONS", full), ("PUT", full + length),
        ("GET", full + "Mcp-Session-Id: guess\r\n"), ("DELETE", full + "Mcp-Session-Id: guess\r\n"),
    ]
    headers = sit()
    refused = survived = 0
    for method, head in cases:
        data = f"{method} /mcp HTTP/1.1\r\nConnection: close\r\n{head}\r\n".encode("latin-1") + ping
        status, _, body = send(data)
        good = status == 0 or 400 <= status < 500
        refused += good
        survived += alive(headers)
        if not good:
            print("not refused:", method, repr(head[:60]), repr(head[-60:]), status, body[:80])
    print(f"heads: {len(cases)}, refused {refused}, survived {survived}")
    return refused == survived == len(cases)


sys.exit(0 if frames() & heads() else 1)
