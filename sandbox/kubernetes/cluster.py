"""One simulated cluster: its objects, rules, users and version, kept in a folder."""

import asyncio
import secrets
from collections import Counter, deque
from pathlib import Path
from typing import NamedTuple

from sandbox.clock import Clock
from sandbox.kubernetes.authentication import Authenticator
from sandbox.kubernetes.certificates import Authority
from sandbox.kubernetes.controllers.loop import Controllers
from sandbox.kubernetes.faults import Faults
from sandbox.kubernetes.identity import ADMIN, User
from sandbox.kubernetes.kinds import EVENTS, LEASES
from sandbox.kubernetes.kubeconfig import kubeconfig
from sandbox.kubernetes.objects import Obj
from sandbox.kubernetes.registry import Registry
from sandbox.kubernetes.seed import seed
from sandbox.kubernetes.service_accounts import TokenIssuer
from sandbox.kubernetes.store import Change, Store
from sandbox.kubernetes.timing import SANDBOX, Timing
from sandbox.kubernetes.version import check_version
from sandbox.kubernetes.watching import Hub
from sandbox.snapshot import Snapshot

DEFAULT_VERSION = "v1.34.1+k3s1"
_LOG_LENGTH = 2_000


class LoggedRequest(NamedTuple):
    """One answered request, for tests and the curious."""

    method: str
    path: str
    query: str
    user: str
    code: int


class Cluster:
    """The state behind the simulated API server. `start` runs its controllers, `close` ends and saves.

    A folder that holds a cluster already goes on with it: objects, version, authority and admin token.
    Raises ValueError for a version that is not of the form `v1.34.1` or `v1.34.1+k3s1`.
    """

    def __init__(self, clock: Clock, state_dir: Path, version: str = DEFAULT_VERSION, timing: Timing = SANDBOX) -> None:
        self.clock = clock
        self.timing = timing
        self.store = Store()
        self.registry = Registry(self.store, clock.now)
        self.hub = Hub(self.store)
        self.faults = Faults()
        self.requests: deque[LoggedRequest] = deque(maxlen=_LOG_LENGTH)
        self.counts: Counter[str] = Counter()
        self._folder = state_dir
        self._snapshot = Snapshot(state_dir / "kubernetes.json", self._dump)
        self._saver: asyncio.Task[None] | None = None
        self._changed = asyncio.Event()
        self._version = check_version(version)
        self._load()
        self.accounts = TokenIssuer(self.authority.dump().encode())
        admins: dict[str, User] = {self.admin_token: ADMIN}
        self.authenticator = Authenticator(self.store, self.authority, self.accounts, admins)
        self.controllers = Controllers(self.registry, self.authority, self.accounts, clock=clock, timing=timing)
        self.store.listen(self._note)

    @property
    def version(self) -> str:
        """The `gitVersion` that `/version` answers."""
        return self._version

    @version.setter
    def version(self, version: str) -> None:
        self._version = check_version(version)
        self._changed.set()

    def kubeconfig(self, url: str) -> str:
        """A kubeconfig with the admin's token for the API at `url`."""
        return kubeconfig(url, self.authority.pem, "admin", self.admin_token)

    def tls_files(self) -> Path:
        """A folder with `server.pem` and `ca.pem` for serving on 127.0.0.1, written anew."""
        folder = self._folder / "tls"
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        (folder / "ca.pem").write_text(self.authority.pem)
        (folder / "server.pem").write_text(self.authority.serving_pem(self.clock.now()))
        return folder

    async def start(self) -> None:
        """Run the controllers and keep the folder up to date, until `close`."""
        self.controllers.start()
        self._changed.set()
        self._saver = asyncio.get_running_loop().create_task(self._save())

    async def close(self) -> None:
        """Stop the controllers and write the state."""
        await self.controllers.close()
        if self._saver:
            self._saver.cancel()
            await asyncio.gather(self._saver, return_exceptions=True)
            self._snapshot.write()
        await self._snapshot.close()

    def _load(self) -> None:
        state = self._snapshot.load()
        if state is None:
            self.admin_token = secrets.token_urlsafe(24)
            self.authority = Authority.fresh(self.clock.now())
            seed(self.registry, self.authority)
            return
        self.admin_token = state["admin_token"]
        self.authority = Authority.load(state["authority"])
        self._version = state["version"]
        self.store.restore(state["store"])

    def _dump(self) -> Obj:
        return {
            "version": self._version,
            "admin_token": self.admin_token,
            "authority": self.authority.dump(),
            "store": self.store.dump(),
        }

    def _note(self, change: Change) -> None:
        if change.kind is not LEASES and change.kind is not EVENTS:
            self._changed.set()

    async def _save(self) -> None:
        """Write after changes, spending no more than a twentieth of the time on it in large clusters."""
        loop = asyncio.get_running_loop()
        while True:
            await self._changed.wait()
            self._changed.clear()
            begun = loop.time()
            self._snapshot.write()
            await asyncio.sleep(max(0.5, 20 * (loop.time() - begun)))
