"""Runs the pods of a hollow node: Pending to Running and Ready, to the end of jobs, and away on deletion."""

import asyncio
from datetime import datetime
from typing import Any

from sandbox.clock import Clock
from sandbox.hollow.api import STRATEGIC, NodeApi, Refused
from sandbox.kubernetes.timing import Timing

STOP_ANNOTATION = "hollow-node/stop-seconds"
"""How long the containers of a pod take to end when asked to; at most its grace period."""

_SIGTERM = 143  # exit code of a program that ended on the signal
_Pod = dict[str, Any]


class PodRunner:
    """Follows the pods bound to one node and reports what became of them."""

    def __init__(self, api: NodeApi, node: str, address: str, clock: Clock, timing: Timing) -> None:
        self._api = api
        self._node = node
        self._address = address
        self._clock = clock
        self._timing = timing
        self._running: dict[str, asyncio.Task[None]] = {}
        self._stopping: set[str] = set()

    async def run(self) -> None:
        """Follow the pods until the watch ends. Raises Refused, aiohttp.ClientError or TimeoutError."""
        try:
            async for event in self._api.watch(f"/api/v1/pods?fieldSelector=spec.nodeName%3D{self._node}"):
                if event["type"] == "ERROR":
                    return
                self._follow(event["type"], event["object"])
        finally:
            for task in self._running.values():
                task.cancel()
            self._running.clear()
            self._stopping.clear()

    def _follow(self, type_: str, pod: _Pod) -> None:
        uid = pod["metadata"]["uid"]
        if type_ == "DELETED":
            self._cancel(uid)
        elif type_ in ("ADDED", "MODIFIED"):
            if pod["metadata"].get("deletionTimestamp"):
                if uid not in self._stopping:
                    self._cancel(uid)
                    self._stopping.add(uid)
                    self._begin(uid, self._stop(pod))
            elif _needs_start(pod) and uid not in self._running:
                self._begin(uid, self._start(pod))

    def _begin(self, uid: str, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(_forgiving(work))
        self._running[uid] = task
        task.add_done_callback(lambda done: self._ended(uid, done))

    def _ended(self, uid: str, task: asyncio.Task[None]) -> None:
        if self._running.get(uid) is task:
            del self._running[uid]

    def _cancel(self, uid: str) -> None:
        self._stopping.discard(uid)
        if task := self._running.pop(uid, None):
            task.cancel()

    async def _start(self, pod: _Pod) -> None:
        if pod["status"].get("phase") == "Pending":
            await self._clock.sleep(self._timing.pod_start)
        await self._report(pod, running_status(pod, self._address, self._clock.now()))
        if pod["spec"].get("restartPolicy") != "Always":
            await self._clock.sleep(self._timing.job_run)
            await self._report(pod, ended_status(pod, self._clock.now()))

    async def _stop(self, pod: _Pod) -> None:
        annotations = pod["metadata"].get("annotations") or {}
        wanted = float(annotations.get(STOP_ANNOTATION, self._timing.pod_stop))
        await self._clock.sleep(min(wanted, pod["metadata"].get("deletionGracePeriodSeconds") or 0))
        if pod["spec"].get("restartPolicy") != "Always" and pod["status"].get("phase") in ("Pending", "Running"):
            await self._report(pod, ended_status(pod, self._clock.now(), exit_code=_SIGTERM))
        uid = {"uid": pod["metadata"]["uid"]}
        await self._api.call("DELETE", _path(pod), {"gracePeriodSeconds": 0, "preconditions": uid})

    async def _report(self, pod: _Pod, status: dict[str, Any]) -> None:
        metadata = {"uid": pod["metadata"]["uid"]}
        patch = {"metadata": metadata, "status": status}
        await self._api.call("PATCH", f"{_path(pod)}/status", patch, STRATEGIC)


async def _forgiving(work: Any) -> None:
    """A pod that is gone or was replaced meanwhile (404, 409) needs no report."""
    try:
        await work
    except Refused as error:
        if error.code not in (404, 409):
            raise


def _path(pod: _Pod) -> str:
    metadata = pod["metadata"]
    return f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}"


def _needs_start(pod: _Pod) -> bool:
    phase = pod["status"].get("phase", "Pending")
    if phase != "Running":
        return bool(phase == "Pending")
    conditions = pod["status"].get("conditions") or ()
    ready = any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)
    policy = str(pod["spec"].get("restartPolicy", "Always"))
    return not ready or policy != "Always"


def running_status(pod: _Pod, address: str, now: datetime) -> dict[str, Any]:
    """The status of a pod whose containers run and are ready."""
    stamp = f"{now:%Y-%m-%dT%H:%M:%SZ}"
    started = pod["status"].get("startTime", stamp)
    containers = [
        {
            "name": container["name"],
            "image": container["image"],
            "imageID": container["image"],
            "containerID": f"containerd://{pod['metadata']['uid']}",
            "ready": True,
            "started": True,
            "restartCount": 0,
            "state": {"running": {"startedAt": started}},
        }
        for container in pod["spec"]["containers"]
    ]
    return {
        "phase": "Running",
        "startTime": started,
        "hostIP": address,
        "podIP": pod["status"].get("podIP") or _pod_ip(pod["metadata"]["uid"]),
        "conditions": _conditions(stamp, "True"),
        "containerStatuses": containers,
    }


def ended_status(pod: _Pod, now: datetime, exit_code: int = 0) -> dict[str, Any]:
    """The status of a pod whose containers have ended for good."""
    stamp = f"{now:%Y-%m-%dT%H:%M:%SZ}"
    reason = "Error" if exit_code else "Completed"
    ended = {"terminated": {"exitCode": exit_code, "reason": reason, "finishedAt": stamp}}
    containers = [
        {
            "name": container["name"],
            "image": container["image"],
            "imageID": container["image"],
            "ready": False,
            "started": False,
            "restartCount": 0,
            "state": ended,
        }
        for container in pod["spec"]["containers"]
    ]
    finished = [c | {"reason": "PodCompleted"} for c in _conditions(stamp, "False") if "eady" in c["type"]]
    return {"phase": "Failed" if exit_code else "Succeeded", "conditions": finished, "containerStatuses": containers}


def _conditions(stamp: str, status: str) -> list[dict[str, str]]:
    types = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady")
    return [{"type": type_, "status": status, "lastTransitionTime": stamp} for type_ in types]


def _pod_ip(uid: str) -> str:
    """An address in the pod range that follows from the UID."""
    number = int(uid.replace("-", "")[:8], 16)
    return f"10.42.{number >> 8 & 255}.{number % 253 + 1}"
