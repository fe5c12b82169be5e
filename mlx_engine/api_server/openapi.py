"""An OpenAPI description of the endpoints, generated from the route table."""

from collections.abc import Mapping
from importlib.metadata import version

from pydantic.json_schema import models_json_schema

from mlx_engine.api_server.body import Chunk, RequestFields
from mlx_engine.api_server.guard import OPEN_PATHS

_REFERENCE = "#/components/schemas/{model}"


def document(routes: Mapping[tuple[str, str], type[RequestFields] | None]) -> Chunk:
    """Return the OpenAPI document of the routes.

    Args:
        routes: the fields of the request, if it has a body, by method and path.
    """
    bodies = sorted({fields for fields in routes.values() if fields}, key=lambda fields: fields.__name__)
    references, definitions = models_json_schema([(fields, "validation") for fields in bodies], ref_template=_REFERENCE)
    paths: dict[str, Chunk] = {}
    for (method, path), fields in routes.items():
        operation = paths.setdefault(path, {})[method.lower()] = {
            "responses": {
                "200": {"description": "The answer.", "content": {kind: {} for kind in _kinds(path, fields)}},
                "4XX": {"$ref": "#/components/responses/Error"},
                "503": {"$ref": "#/components/responses/Error"},
            }
        }
        if path in OPEN_PATHS:
            operation["security"] = []
        if fields:
            content = {"application/json": {"schema": references[fields, "validation"]}}
            operation["requestBody"] = {"required": True, "content": content}
    error = {"type": "object", "required": ["error"], "properties": {"error": {"type": "object", "required": ["message", "type"]}}}
    return {
        "openapi": "3.1.0",
        "info": {"title": "Slipstream", "version": version("slipstream")},
        "security": [{"bearer": []}, {"header": []}],
        "paths": paths,
        "components": {
            "schemas": definitions["$defs"],
            "responses": {"Error": {"description": "An error.", "content": {"application/json": {"schema": error}}}},
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer"},
                "header": {"type": "apiKey", "in": "header", "name": "x-api-key"},
            },
        },
    }


def _kinds(path: str, fields: type[RequestFields] | None) -> tuple[str, ...]:
    """Return the content types of a response."""
    if path == "/metrics":
        return ("text/plain",)
    return ("application/json", "text/event-stream") if fields and "stream" in fields.model_fields else ("application/json",)
