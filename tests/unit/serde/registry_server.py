"""A tiny schema registry behind real HTTP, for tests."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote

from headrace.errors import SerializationError
from headrace.serde.registry import InMemorySchemaRegistry, Schema, SchemaReference


@dataclass
class RegistryServer:
    """The schemas, and the requests that came: ``(method, path, authorization)``."""

    url: str = ""
    schemas: InMemorySchemaRegistry = field(default_factory=InMemorySchemaRegistry)
    requests: list[tuple[str, str, str | None]] = field(default_factory=list)
    answer: tuple[int, bytes] | None = None
    """What to answer to everything, whatever was asked."""


@contextmanager
def registry_server() -> Iterator[RegistryServer]:
    """A server on a free local port."""
    state = RegistryServer()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._reply(None)

        def do_POST(self) -> None:
            self._reply(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

        def _reply(self, body: Any) -> None:
            state.requests.append((self.command, self.path, self.headers["Authorization"]))
            status, answer = state.answer or _answer(state.schemas, self.command, self.path.partition("?")[0], body)
            self.send_response(status)
            if status == 302:
                self.send_header("Location", state.url + "/elsewhere")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: Any) -> None:
            """Stay quiet."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        state.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield state
        finally:
            server.shutdown()
            thread.join()


def _answer(schemas: InMemorySchemaRegistry, method: str, path: str, body: Any) -> tuple[int, bytes]:
    try:
        return 200, json.dumps(_route(schemas, method, path, body)).encode()
    except SerializationError as error:
        return 404, json.dumps({"error_code": 40403, "message": error.message}).encode()


def _route(schemas: InMemorySchemaRegistry, method: str, path: str, body: Any) -> dict[str, Any]:
    if method == "POST" and (found := re.fullmatch(r"/subjects/([^/]+)/versions", path)):
        return {"id": schemas.register(unquote(found[1]), _schema(body))}
    if method == "POST" and (found := re.fullmatch(r"/subjects/([^/]+)", path)):
        place = schemas.lookup(unquote(found[1]), _schema(body))
        return {"id": place.schema_id, "subject": place.subject, "version": place.version}
    if method == "GET" and (found := re.fullmatch(r"/schemas/ids/(\d+)", path)):
        return _body(schemas.schema_by_id(int(found[1])))
    if method == "GET" and (found := re.fullmatch(r"/subjects/([^/]+)/versions/(\d+)", path)):
        subject, version = unquote(found[1]), int(found[2])
        return {"subject": subject, "version": version, **_body(schemas.schema_by_version(subject, version))}
    if method == "GET" and (found := re.fullmatch(r"/subjects/([^/]+)/versions/latest", path)):
        latest = schemas.latest(unquote(found[1]))
        if latest is not None:
            return {"id": latest[0], "subject": unquote(found[1]), "version": 1, **_body(latest[1])}
    raise SerializationError("no such path")


def _schema(body: Any) -> Schema:
    references = tuple(SchemaReference(**reference) for reference in body.get("references", ()))
    return Schema(body["schema"], body.get("schemaType", "AVRO"), references)


def _body(schema: Schema) -> dict[str, Any]:
    body: dict[str, Any] = {"schema": schema.text}
    if schema.kind != "AVRO":
        body["schemaType"] = schema.kind
    if schema.references:
        body["references"] = [
            {"name": reference.name, "subject": reference.subject, "version": reference.version}
            for reference in schema.references
        ]
    return body
