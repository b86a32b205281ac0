"""Objects by kind, namespace and name: get, list, watch, create, patch, delete with finalizers and owners."""

from __future__ import annotations

import asyncio
import copy
import json
import re
import uuid
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import jsonpatch
from aiohttp import web

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Iterator

    Object = dict[str, Any]

BUILT_IN = (
    ("v1", "Namespace", "namespaces", False),
    ("v1", "Node", "nodes", False),
    ("v1", "Pod", "pods", True),
    ("v1", "Service", "services", True),
    ("v1", "Event", "events", True),
    ("apps/v1", "Deployment", "deployments", True),
    ("apiextensions.k8s.io/v1", "CustomResourceDefinition", "customresourcedefinitions", False),
)
_NAME = r"(?:/namespaces/(?P<space>[^/]+))?/(?P<plural>[a-z]+)(?:/(?P<name>[^/]+))?(?:/(?P<sub>[a-z]+))?"
PATH = re.compile(rf"/(?:api/(?P<core>v1)|apis/(?P<group>[^/]+/[^/]+)){_NAME}")


class MissingError(Exception):
    """No such object."""


class Store:
    """All objects, and all that ever happened to them."""

    def __init__(self, kinds: Iterable[tuple[str, str, str, bool]]) -> None:
        self.kinds = list(kinds)
        self.objects: dict[tuple[str, str, str], Object] = {}
        self.log: list[tuple[str, str, Object]] = []
        self.news = asyncio.Condition()

    async def _tell(self, what: str, plural: str, object_: Object) -> None:
        object_["metadata"]["resourceVersion"] = str(len(self.log) + 1)
        self.log.append((what, plural, copy.deepcopy(object_)))
        async with self.news:
            self.news.notify_all()

    def get(self, plural: str, space: str, name: str) -> Object:
        try:
            return self.objects[plural, space, name]
        except KeyError:
            raise MissingError(name) from None

    def all(self, plural: str, space: str = "") -> Iterator[Object]:
        for (kind, where, _), object_ in sorted(self.objects.items()):
            if kind == plural and (not space or where == space):
                yield object_

    async def create(self, plural: str, space: str, object_: Object) -> Object:
        made = copy.deepcopy(object_)
        about = made.setdefault("metadata", {})
        about.setdefault("uid", str(uuid.uuid4()))
        about.setdefault("creationTimestamp", datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"))
        if space:
            about["namespace"] = space
        if "name" not in about:
            about["name"] = about["generateName"] + uuid.uuid4().hex[:5]
        self.objects[plural, space, about["name"]] = made
        await self._tell("ADDED", plural, made)
        return made

    async def merge(self, plural: str, space: str, name: str, patch: Object) -> Object:
        """As RFC 7386 has it."""
        object_ = self.get(plural, space, name)
        _merge(object_, patch)
        return await self._changed(plural, object_)

    async def edit(self, plural: str, space: str, name: str, steps: list[Object]) -> Object:
        """As RFC 6902 has it.

        Raises:
            jsonpatch.JsonPatchException: a step cannot be taken, or what it tests for is not so.
        """
        object_ = self.get(plural, space, name)
        jsonpatch.apply_patch(object_, steps, in_place=True)
        return await self._changed(plural, object_)

    async def _changed(self, plural: str, object_: Object) -> Object:
        """Told; one that is to be deleted goes with its last finalizer."""
        about = object_["metadata"]
        if about.get("deletionTimestamp") and not about.get("finalizers"):
            await self._remove(plural, object_)
        else:
            await self._tell("MODIFIED", plural, object_)
        return object_

    async def delete(self, plural: str, space: str, name: str) -> Object:
        object_ = self.get(plural, space, name)
        if object_["metadata"].get("finalizers"):
            object_["metadata"]["deletionTimestamp"] = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
            await self._tell("MODIFIED", plural, object_)
        else:
            await self._remove(plural, object_)
        return object_

    async def _remove(self, plural: str, object_: Object) -> None:
        about = object_["metadata"]
        del self.objects[plural, about.get("namespace", ""), about["name"]]
        await self._tell("DELETED", plural, object_)
        for (kind, space, name), other in list(self.objects.items()):
            owners = {owner["uid"] for owner in other["metadata"].get("ownerReferences", [])}
            if about["uid"] in owners and (kind, space, name) in self.objects:
                await self.delete(kind, space, name)

    async def watch(self, plural: str, since: int = 0) -> Any:
        """What happened to objects of a kind, and what happens."""
        while True:
            while since < len(self.log):
                what, kind, object_ = self.log[since]
                since += 1
                if kind == plural:
                    yield what, object_
            async with self.news:
                if since == len(self.log):
                    await self.news.wait()


def _merge(into: Object, patch: Object) -> None:
    for key, value in patch.items():
        if value is None:
            into.pop(key, None)
        elif isinstance(value, dict):
            if not isinstance(into.get(key), dict):
                into[key] = {}
            _merge(into[key], value)
        else:
            into[key] = copy.deepcopy(value)


def selection(asked: Any) -> Callable[[Object], bool]:
    """What `labelSelector` and `fieldSelector` of a request leave: `a=b,c=d`."""
    labels, fields = ([*_pairs(asked.get(word, ""))] for word in ("labelSelector", "fieldSelector"))

    def holds(object_: Object) -> bool:
        have = object_["metadata"].get("labels") or {}
        return all(have.get(key) == value for key, value in labels) and all(
            _field(object_, key) == value for key, value in fields
        )

    return holds


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    for one in filter(None, text.split(",")):
        key, _, value = one.partition("=")
        yield key, value.removeprefix("=")


def _field(object_: Object, path: str) -> Any:
    value: Any = object_
    for word in path.split("."):
        value = value.get(word) if isinstance(value, dict) else None
    return value


class Api:
    """The requests; `forward` takes those that want a connection to a pod's port, `said` tells its prints."""

    def __init__(
        self,
        store: Store,
        forward: Callable[[web.Request, Object], Awaitable[web.StreamResponse]],
        said: Callable[[Object], str],
    ) -> None:
        self.store, self.forward, self.said = store, forward, said

    async def answer(self, request: web.Request) -> web.StreamResponse:
        path = request.path.rstrip("/")
        found = PATH.fullmatch(path)
        try:
            if found is None or path in self._groups():
                return self._discovery(path)
            return await self._object(request, found)
        except MissingError as error:
            return _failure(404, "NotFound", f"not found: {error}")

    def _groups(self) -> dict[str, str]:
        versions = {kind[0] for kind in self.store.kinds}
        return {f"/apis/{one}" if "/" in one else f"/api/{one}": one for one in versions}

    def _discovery(self, path: str) -> web.Response:
        groups = self._groups()
        if path == "/version":
            return web.json_response({"major": "1", "minor": "30", "gitVersion": "v1.30.0"})
        if path == "/api":
            return web.json_response({"kind": "APIVersions", "versions": ["v1"]})
        if path == "/apis":
            named = [one for one in groups.values() if "/" in one]
            made = [{"groupVersion": one, "version": one.partition("/")[2]} for one in named]
            known: list[Object] = [
                {"name": one.partition("/")[0], "versions": [version], "preferredVersion": version}
                for one, version in zip(named, made, strict=True)
            ]
            return web.json_response({"kind": "APIGroupList", "apiVersion": "v1", "groups": known})
        if path not in groups:
            raise MissingError(path)
        verbs = ["create", "delete", "get", "list", "patch", "watch"]
        listed = [
            {"name": plural, "singularName": kind.lower(), "namespaced": spaced, "kind": kind, "verbs": verbs}
            for version, kind, plural, spaced in self.store.kinds
            if version == groups[path]
        ]
        about = {"kind": "APIResourceList", "groupVersion": groups[path], "resources": listed}
        return web.json_response(about)

    async def _object(self, request: web.Request, at: re.Match[str]) -> web.StreamResponse:
        plural, space, name = at["plural"], at["space"] or "", at["name"]
        version = at["core"] or at["group"]
        if not any(kind[0] == version and kind[2] == plural for kind in self.store.kinds):
            raise MissingError(request.path)
        if plural == "namespaces":
            space = ""
        if name is None and request.method == "GET":
            return await (self._watch if "watch" in request.query else self._list)(request, plural, space)
        if at["sub"] == "portforward":
            return await self.forward(request, self.store.get(plural, space, name))
        if at["sub"] == "log":
            return web.Response(text=self.said(self.store.get(plural, space, name)))
        return await self._one(request, plural, space, name)

    async def _one(self, request: web.Request, plural: str, space: str, name: str) -> web.Response:
        store = self.store
        try:
            match request.method, request.content_type:
                case "GET", _:
                    done = store.get(plural, space, name)
                case "DELETE", _:
                    done = await store.delete(plural, space, name)
                case "POST", _:
                    done = await store.create(plural, space, await request.json())
                case "PATCH", "application/merge-patch+json":
                    done = await store.merge(plural, space, name, await request.json())
                case "PATCH", "application/json-patch+json":
                    done = await store.edit(plural, space, name, await request.json())
                case _, other:
                    return _failure(415, "UnsupportedMediaType", other)
        except jsonpatch.JsonPatchException as error:
            return _failure(422, "Invalid", str(error))
        return web.json_response(done, status=201 if request.method == "POST" else 200)

    async def _list(self, request: web.Request, plural: str, space: str) -> web.Response:
        holds = selection(request.query)
        version, kind = next(kind[:2] for kind in self.store.kinds if kind[2] == plural)
        about = {"resourceVersion": str(len(self.store.log))}
        items = [one for one in self.store.all(plural, space) if holds(one)]
        listed = {"kind": f"{kind}List", "apiVersion": version, "metadata": about, "items": items}
        return web.json_response(listed)

    async def _watch(self, request: web.Request, plural: str, space: str) -> web.StreamResponse:
        holds = selection(request.query)
        stream = web.StreamResponse(headers={"Content-Type": "application/json"})
        await stream.prepare(request)
        async for what, object_ in self.store.watch(plural, int(request.query.get("resourceVersion") or 0)):
            if holds(object_) and (not space or object_["metadata"].get("namespace") == space):
                line = json.dumps({"type": what, "object": object_}) + "\n"
                await stream.write(line.encode())
        return stream


def _failure(code: int, reason: str, message: str) -> web.Response:
    about = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason}
    return web.json_response(about | {"message": message, "code": code}, status=code)
