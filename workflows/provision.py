"""`ProvisionMachine`: from a recorded intent to a Ready node, or back to nothing left."""

from __future__ import annotations

import asyncio
from datetime import timedelta

from temporalio import workflow
from temporalio.exceptions import ActivityError

from core import calls, machine_calls
from core.cloud_errors import CloudClass, CloudFailure
from core.events import Reason
from core.machine import DEADLINES, Phase
from workflows.calling import failure_of, run
from workflows.messages import PROVISION_WORKFLOW
from workflows.operation import Aborted, Operation, OperationInput

TOKEN_LIFE = DEADLINES[Phase.CREATING] + DEADLINES[Phase.BOOTING]


class Failed(Exception):
    """The machine did not come up; `failure` says why."""

    def __init__(self, failure: CloudFailure) -> None:
        super().__init__(str(failure))
        self.failure = failure


@workflow.defn(name=PROVISION_WORKFLOW)
class ProvisionMachine(Operation):
    """Create one server, let it join, and wait until it is ready for work."""

    kind = "provision"

    @workflow.init
    def __init__(self, given: OperationInput) -> None:
        super().__init__(given)

    @workflow.run
    async def run(self, given: OperationInput) -> str:
        """Provision; on failure or abort, clean up. Returns how it ended, for the reader of the history."""
        name = given.machine
        try:
            await self._create()
            await self._boot()
            seen = await self._join()
            await self._own(seen)
        except Aborted:
            await self.remove()
            await self.report(Reason.ABOVE_SIZE, f"{name} is no longer wanted", phase=Phase.GONE, done=True)
            return "aborted: no longer wanted"
        except (Failed, ActivityError) as error:
            failure = error.failure if isinstance(error, Failed) else failure_of(error)
            await self._undo(failure)
            return f"failed: {failure}"
        await self.revoke_token()
        await self.report(Reason.NODE_READY, f"{name} takes work", phase=Phase.READY, version=seen.version, done=True)
        return "ready"

    @workflow.signal(description="Hold before the next mutation (true), or go on (false).")
    def hold(self, held: bool) -> None:
        """Hold before the next mutation, or go on."""
        self.set_hold(held)

    @workflow.signal(description="Stop, and remove what was made.")
    def abort(self) -> None:
        """Stop, and remove what was made."""
        self.aborted = True

    async def _create(self) -> None:
        given, patience = self.given, DEADLINES[Phase.CREATING]
        await self.gate()
        if workflow.patched("prepared-together"):
            creating = self.report(Reason.SERVER_CREATING, self._what, phase=Phase.CREATING)
            _, key_id, _ = await asyncio.gather(creating, self._key(), self._mint())
        else:
            await self.report(Reason.SERVER_CREATING, self._what, phase=Phase.CREATING)
            key_id = await self._key()
            await self.gate()
            await self._mint()
        await self.gate()
        spec = given.spec
        server = await run(
            machine_calls.CREATE_SERVER,
            machine_calls.CreateServer(
                project=self.project,
                cluster=self.cluster,
                owner=self.owner,
                pool=spec.name,
                machine=given.machine,
                location=spec.location,
                server_type=spec.server_type,
                ssh_key_id=key_id,
                labels=spec.labels,
                taints=spec.taints,
                server=given.server,
            ),
            summary=f"create {given.machine}: {self._what}",
            patience=patience,
        )
        self.server_id, self._actions = server.server_id, server.action_ids
        await self.report(
            Reason.SERVER_ADOPTED if server.adopted else Reason.SERVER_CREATED,
            f"server {server.server_id}",
            phase=Phase.BOOTING,
            server_id=server.server_id,
            ssh_key_id=key_id,
            ipv4=server.ipv4,
            seen_at=server.seen_at,
        )

    @property
    def _what(self) -> str:
        return f"{self.given.spec.server_type} in {self.given.spec.location}"

    async def _mint(self) -> None:
        given = self.given
        await run(
            machine_calls.ENSURE_TOKEN,
            machine_calls.EnsureToken(
                cluster=self.cluster,
                pool_id=given.pool_id,
                machine=given.machine,
                operation_id=given.operation_id,
                ttl_s=TOKEN_LIFE.total_seconds(),
            ),
            summary=f"mint a bootstrap token for {given.machine} alone",
            patience=DEADLINES[Phase.CREATING],
        )

    async def _key(self) -> int:
        given = self.given
        if given.ssh_key_id is not None:
            return given.ssh_key_id
        key = await run(
            calls.ENSURE_KEY,
            calls.EnsureKey(
                project=self.project,
                owner=self.owner.model_copy(update={"operation_id": ""}),
                name=f"{given.spec.cluster}-{given.spec.name}-{given.pool_id[:8]}",
            ),
            summary="have an SSH key, so that Hetzner mails no root passwords",
            patience=DEADLINES[Phase.CREATING],
        )
        return key.key_id

    async def _boot(self) -> None:
        assert self.server_id is not None
        await self.wait(
            machine_calls.AWAIT_SERVER,
            machine_calls.AwaitServer(project=self.project, server_id=self.server_id, action_ids=self._actions),
            summary=f"wait until server {self.server_id} runs",
            patience=DEADLINES[Phase.BOOTING],
        )

    async def _join(self) -> machine_calls.NodeSeen:
        """Wait for the node, first to register, then to be ready; each has its own deadline."""
        phase, deadline = Phase.BOOTING, workflow.now() + DEADLINES[Phase.BOOTING]
        seen: machine_calls.NodeSeen | None = None
        while True:
            try:
                seen = await self._next_sight(seen, phase, deadline - workflow.now())
            except ActivityError as error:
                raise Failed(self._not_joined(phase, seen, failure_of(error))) from error
            if seen.uid is not None and phase is Phase.BOOTING:
                phase, deadline = Phase.JOINED, workflow.now() + DEADLINES[Phase.JOINED]
                self.node_uid = seen.uid
                await self.report(
                    Reason.NODE_JOINED,
                    f"node {self.given.machine}",
                    phase=phase,
                    node_uid=seen.uid,
                    version=seen.version,
                )
            if seen.ready:
                return seen
            if seen.waiting_for and seen.uid is not None:
                await self.report(Reason.NODE_WAITING, f"waits for {seen.waiting_for}")

    async def _own(self, seen: machine_calls.NodeSeen) -> None:
        """Write on the node which labels and taints are ours, so that removing one later is known to be ours to do."""
        await run(
            calls.SYNC_NODES,
            calls.SyncNodes(
                cluster=self.cluster,
                nodes={self.given.machine: seen.uid or ""},
                labels=self.given.spec.labels,
                taints=self.given.spec.taints,
            ),
            summary="note which labels and taints are ours",
            patience=DEADLINES[Phase.JOINED],
        )

    async def _next_sight(
        self, seen: machine_calls.NodeSeen | None, phase: Phase, left: timedelta
    ) -> machine_calls.NodeSeen:
        assert self.server_id is not None
        what = "registers" if phase is Phase.BOOTING else "is ready"
        return await self.wait(
            machine_calls.AWAIT_NODE,
            machine_calls.AwaitNode(
                cluster=self.cluster,
                machine=self.given.machine,
                server_id=self.server_id,
                known_digest=seen.digest if seen else "",
            ),
            summary=f"wait until node {self.given.machine} {what}",
            patience=max(left, timedelta(seconds=1)),
        )

    def _not_joined(self, phase: Phase, seen: machine_calls.NodeSeen | None, failure: CloudFailure) -> CloudFailure:
        minutes = int(DEADLINES[phase].total_seconds() // 60)
        if phase is Phase.BOOTING:
            text = f"server {self.server_id} did not register as a node within {minutes} minutes"
        else:
            waited = f", it waited for {seen.waiting_for}" if seen and seen.waiting_for else ""
            text = f"node {self.given.machine} was not ready within {minutes} minutes{waited}"
        return CloudFailure(cls=CloudClass.JOIN, code=failure.code, message=text)

    async def _undo(self, failure: CloudFailure) -> None:
        # The failure goes first: the pool must not create again while this machine is still being removed.
        await self.report(Reason.PROVISION_FAILED, str(failure), phase=Phase.DELETING, failure=failure)
        await self.remove()
        await self.report(Reason.PROVISION_UNDONE, "what it left is removed", phase=Phase.GONE, done=True)
