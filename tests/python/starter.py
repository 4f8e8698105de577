#!/usr/bin/env python3
"""A whole extension without any library: it keeps the agent from deleting the disk.

Written from docs/sidecar.md and docs/EXTENSION_PROTOCOL.generated.md alone.
"""

import base64
import hashlib
import json
import sys
from collections import deque

waiting = deque()  # What the host asked while an answer of its own was awaited.


def send(message):
    text = json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False, separators=(",", ":"))
    sys.stdout.buffer.write(text.encode() + b"\n")
    sys.stdout.buffer.flush()


def receive():
    line = sys.stdin.buffer.readline()
    return json.loads(line) if line else sys.exit()


def ask(method, params):
    send({"id": 1, "method": method, "params": params})
    while "method" in (message := receive()):
        waiting.append(message)
    if "error" in message:
        raise OSError(message["error"]["message"])
    return message["result"]


def payload_of(params):
    if "externalized" not in params:
        return params["payload"]
    field, data, offset = params["externalized"][0], b"", 0
    while offset is not None:
        page = ask("host/content/read", {"contentRef": field["contentRef"], "offset": offset})
        data += base64.b64decode(page["dataBase64"])
        offset = page.get("nextOffset")
    if hashlib.sha256(data).hexdigest() != field["sha256"]:
        raise OSError("the value is another than was described")
    return json.loads(data)


def answer(method, params):
    if method == "extension/initialize":
        return {"name": "starter", "version": "1.0.0", "protocolVersion": "1",
                "stateSchemaVersion": 0, "subscriptions": ["tool.before"]}
    if method == "extension/intercept":
        call = payload_of(params)
        if call.get("name") == "bash" and "rm -rf /" in call.get("arguments", ""):
            return {"decision": "block", "reason": "this would delete everything"}
        return {"decision": "continue"}
    if method == "extension/shutdown":
        return {"accepted": True}
    return None


def refuse(message, code, reason, text):
    data = {"reason": reason, "retryable": reason == "internal"}
    send({"id": message["id"], "error": {"code": code, "message": text, "data": data}})


while True:
    message = waiting.popleft() if waiting else receive()
    if "method" not in message or "id" not in message:
        continue  # An answer that nobody awaits, or a notification.
    try:
        result = answer(message["method"], message.get("params"))
        if result is None:
            refuse(message, -32601, "unknown_method", "unknown method")
        else:
            send({"id": message["id"], "result": result})
    except (OSError, ValueError) as error:
        refuse(message, -32603, "internal", str(error))
