"""How long things take in the simulated cluster. All values are seconds of the clock in use."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Timing:
    """The defaults suit a demonstration: everything as in a real cluster, only sooner."""

    boot: float = 1.0  # power-on until the operating system runs cloud-init
    join: float = 1.0  # installing and starting the kubelet
    network: float = 1.0  # until the CNI plugin is there and the Node turns Ready
    reboot: float = 2.0  # how long a rebooting node is away
    flap: float = 6.0  # half a period of a flapping node
    lease_renew: float = 2.0  # real kubelets: 10 s
    lease_duration: int = 40
    heartbeat: float = 300.0  # node status is reported on change, else this often
    pod_start: float = 0.3  # scheduled until running and ready
    pod_stop: float = 0.3  # how soon a container ends when asked to
    job_run: float = 2.0  # how long a pod of a job runs
    node_monitor_period: float = 1.0  # real: 5 s
    node_monitor_grace: float = 8.0  # real: 50 s since Kubernetes 1.32
    node_eviction_pause: float = 1.0  # between two nodes of a zone tainted NoExecute; real: 10 s
    pod_gc_period: float = 2.0  # real: 20 s
    pod_gc_quarantine: float = 4.0  # real: 40 s after a Node's deletion
    token_cleaner_period: float = 2.0  # real: expired tokens go within about 20 s
    sweep: float = 1.0  # the longest time between two looks of the other controllers


SANDBOX = Timing()
REAL = Timing(
    boot=25.0,
    join=30.0,
    network=15.0,
    reboot=40.0,
    flap=90.0,
    lease_renew=10.0,
    pod_start=2.0,
    pod_stop=1.0,
    job_run=20.0,
    node_monitor_period=5.0,
    node_monitor_grace=50.0,
    node_eviction_pause=10.0,
    pod_gc_period=20.0,
    pod_gc_quarantine=40.0,
    token_cleaner_period=10.0,
)
