"""GitHub's own description of its REST API, from npm: what our server is asked and answers is held to it."""

import json
import re
from typing import Any, Final

import jsonschema

from tests.github_server import Answer, Call, GitHub
from tests.machine_folders import npm_modules

PACKAGE: Final = "@octokit/openapi@23.0.2"
TYPES: Final = {"string": str, "integer": int, "number": float, "boolean": bool, "object": dict, "array": list}


class Description:
    """Operations by the templates of their paths."""

    def __init__(self) -> None:
        path = npm_modules(PACKAGE) / "@octokit" / "openapi" / "generated" / "api.github.com.json"
        self._description = json.loads(path.read_bytes(), object_hook=_as_json_schema)
        self._paths = {
            re.compile(re.sub(r"\\{[^/]+?\\}", "[^/]+", re.escape(template)) + "$"): operations
            for template, operations in self._description["paths"].items()
        }

    def all_faults(self, github: GitHub) -> list[str]:
        """What is wrong with what a server was asked, and with what it answered."""
        faults = [fault for call in github.calls for fault in self.faults(call)]
        return faults + [fault for call, answer in github.answered for fault in self.strange(call, answer)]

    def faults(self, call: Call) -> list[str]:
        """What is wrong with a request."""
        operation = self._operation(call)
        if operation is None:
            return [f"{call}: no such operation"]
        parameters = [self._resolved(parameter) for parameter in operation.get("parameters", ())]
        # PyGithub asks every list for pages, also those that have none.
        paged = {"per_page"} if call.method == "GET" else set()
        queries = {parameter["name"]: parameter for parameter in parameters if parameter["in"] == "query"}
        missing = {name for name, parameter in queries.items() if parameter.get("required")} - call.query.keys()
        faults = [f"{call}: {name} is missing" for name in missing]
        faults += [f"{call}: {name} is not known" for name in call.query.keys() - queries.keys() - paged]
        content = operation.get("requestBody", {}).get("content", {})
        if call.body and call.content_type not in content:
            faults.append(f"{call}: a body of {call.content_type}, not of {list(content)}")
        elif call.body and call.content_type == "application/json":
            own = {"additionalProperties": False, "components": self._description["components"]}
            schema = {**self._resolved(content["application/json"]["schema"]), **own}
            validator = jsonschema.Draft202012Validator(schema)
            faults += [f"{call}: {error.message}" for error in validator.iter_errors(json.loads(call.body))]
        return faults

    def strange(self, call: Call, answer: Answer) -> list[str]:
        """What an answer has that GitHub does not describe; parts may be missing."""
        operation, (status, _, content) = self._operation(call), answer
        if operation is None or (status < 400 and str(status) not in operation["responses"]):
            return [f"{call}: {status} is not known"]
        response = self._resolved(operation["responses"].get(str(status), {}))
        described = response.get("content", {}).get("application/json")
        if described is None and status < 400:
            return [f"{call}: {status} has no content"] if content else []
        # Of errors few are described, and all are alike.
        described = described or {"schema": {"$ref": "#/components/schemas/validation-error"}}
        return [f"{call}: {fault}" for fault in self._strange(described["schema"], content, "answer")]

    def _operation(self, call: Call) -> dict[str, Any] | None:
        operations = [found for path, found in self._paths.items() if path.match(call.path)]
        # A reference holds slashes, which a template does not say.
        for kind in ("matching-refs", "refs", "ref"):
            if f"/git/{kind}/" in call.path:
                operations = [self._description["paths"][f"/repos/{{owner}}/{{repo}}/git/{kind}/{{ref}}"]]
        return next((found[call.method.lower()] for found in operations if call.method.lower() in found), None)

    def _strange(self, schema: dict[str, Any], value: Any, where: str) -> list[str]:
        schema = self._resolved(schema)
        choices = schema.get("anyOf") or schema.get("oneOf")
        if choices:
            return min((self._strange(choice, value, where) for choice in choices), key=len)
        kinds = [schema["type"]] if isinstance(schema.get("type"), str) else schema.get("type", ())
        if value is None:
            return [] if "null" in kinds else [f"{where} is null"]
        if kinds and not isinstance(value, tuple(TYPES[kind] for kind in kinds if kind != "null")):
            return [f"{where}: {value!r} is no {kinds}"]
        if isinstance(value, dict):
            parts = [schema, *map(self._resolved, schema.get("allOf", ()))]
            known = {name: found for part in parts for name, found in part.get("properties", {}).items()}
            faults = [f"{where}.{name} is not known" for name in value.keys() - known.keys()]
            for name in value.keys() & known.keys():
                faults += self._strange(known[name], value[name], f"{where}.{name}")
            return faults
        if isinstance(value, list):
            return [fault for each in value for fault in self._strange(schema["items"], each, f"{where}[]")]
        return [f"{where}: {value!r}"] if value not in schema.get("enum", [value]) else []

    def _resolved(self, parameter: dict[str, Any]) -> dict[str, Any]:
        found: Any = parameter
        if "$ref" in parameter:
            found = self._description
            for part in parameter["$ref"].removeprefix("#/").split("/"):
                found = found[part]
        assert isinstance(found, dict)
        return found


def _as_json_schema(part: dict[str, Any]) -> dict[str, Any]:
    """Say of null what OpenAPI 3.0 has a word of its own for."""
    if part.get("nullable") is True and isinstance(part.get("type"), str):
        part["type"] = [part["type"], "null"]
    return part
