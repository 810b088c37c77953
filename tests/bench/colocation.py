"""colocation - what koordlet is for, measured on a real node: services beside best-effort pods on the same CPUs.

A service's load runs in the cgroup of a pod, but outside of its image: the process enters the container's cgroups. It
reports latencies (ls_server.c), the kernel reports throttling, and best effort's share is that of its class.

A virtual machine's neighbours make the slowest requests of one window slower by factors, so the states take turns, and
the median of the windows counts; their spread is told.
"""
import contextlib
import json
import os
import signal
import statistics
import subprocess
import sys
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests/system"))
sys.dont_write_bytecode = True
import agent as koordlet  # noqa: E402
import node_host  # noqa: E402
from lab import Failed, Lab, NoCluster  # noqa: E402
from node import burn, sleep  # noqa: E402

SLOS = "/apis/slo.koordinator.sh/v1alpha1/nodeslos"
PERIOD_US = 100000
WINDOW_S = 25
SETTLE_S = 12
ROUNDS = 5
ROUND_S = 8
BURNERS = 2 * os.cpu_count()
# A quarter of a CPU in small requests; a tight limit that a burst of half a period does not fit in.
SERVICE = (4000, 1000)
BURSTY = (500000, 60000)
BURSTY_LIMIT = {"limits": {"cpu": "200m"}, "requests": {"cpu": "100m"}}
THRESHOLD_PERCENT = 65


def labels(qos):
    return {"labels": {"koordinator.sh/qosClass": qos}}


def set_slo(node, **parts):
    status, answer = node.cluster.api("PATCH", f"{SLOS}/{node.name}", {"spec": parts}, kind="application/merge-patch+json")
    if status != 200:
        raise Failed(f'PATCH NodeSLO: {status} {answer.get("message")}')


def act(node):
    """As a cluster with co-location would have it: suppression by quota, best effort behind services, burst."""
    set_slo(node,
            resourceUsedThresholdWithBE={"enable": True, "cpuSuppressPolicy": "cfsQuota",
                                         "cpuSuppressThresholdPercent": THRESHOLD_PERCENT},
            resourceQOSStrategy={"beClass": {"cpuQOS": {"enable": True}}, "lsClass": {"cpuQOS": {"enable": True}}},
            cpuBurstStrategy={"policy": "auto", "sharePoolThresholdPercent": 80})


def container(node, name):
    pod = node.pods()[name]
    qos = pod["status"]["qosClass"].lower()
    cid = pod["status"]["containerStatuses"][0]["containerID"].split("//")[1]
    return os.path.join(node_host.KUBEPODS, qos, f'pod{pod["metadata"]["uid"]}', cid)


def file_of(controller, *path):
    return os.path.join(node_host.controllers()[controller], *path)


def serve(build, path, load, seconds=WINDOW_S):
    """The load in the cgroups of a container; what it says at its end."""
    def enter():
        for controller in ("cpu", "cpuacct", "cpuset"):
            with open(file_of(controller, path, "cgroup.procs"), "w", encoding="ascii") as f:
                f.write(str(os.getpid()))
    p = subprocess.run([os.path.join(build, "tests/bench/ls_server"), *map(str, load), str(seconds)], preexec_fn=enter,
                       stdout=subprocess.PIPE, text=True, check=True, timeout=seconds + 120)
    return json.loads(p.stdout)


class Share:
    """What best effort used of what it was allowed."""

    def __init__(self):
        self.dir = os.path.join(node_host.KUBEPODS, "besteffort")
        self.began, self.used = time.monotonic(), self.usage()

    def usage(self):
        return int(node_host.read(file_of("cpuacct", self.dir, "cpuacct.usage"))) / 1e9

    def quota(self):
        us = int(node_host.read(file_of("cpu", self.dir, "cpu.cfs_quota_us")))
        return os.cpu_count() if us < 0 else us / PERIOD_US

    def cores(self):
        return (self.usage() - self.used) / (time.monotonic() - self.began)


def agent(lab, node, config, build, *more):
    a = koordlet.Agent(lab, "koordlet", node.name, "--kubeconfig", config,
                       f"--prediction-checkpoint-filepath={lab.dir}/checkpoints", *more,
                       path=os.path.join(build, "src/main/koordlet"))
    a.ready()
    return a


def best_effort():
    """The processes of the class."""
    for path, _, files in os.walk(file_of("cpu", node_host.KUBEPODS, "besteffort")):
        if "cgroup.procs" in files:
            yield from map(int, node_host.read(os.path.join(path, "cgroup.procs")).split())


@contextlib.contextmanager
def stopped():
    """Best effort's processes stand still."""
    pids = list(best_effort())
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)


def with_koordlet(lab, node, config, build, path, flags):
    """One window with koordlet: latencies, best effort's cores and its budget. All is as before afterwards."""
    act(node)
    a = agent(lab, node, config, build, *flags)
    serve(build, path, SERVICE, SETTLE_S)  # the budget depends on the service's load
    share, quotas = Share(), []
    found = serve_watching(build, path, share, quotas)
    found |= {"cores": share.cores(), "budget": sum(quotas) / len(quotas)}
    a.end()
    set_slo(node, resourceUsedThresholdWithBE={"enable": False}, resourceQOSStrategy=None)
    subprocess.run([os.path.join(build, "src/main/koordlet"), "--restore", "--kubeconfig", config],
                   env={**os.environ, "NODE_NAME": node.name, "agent_mode": "hostMode"}, check=False,
                   stderr=subprocess.DEVNULL, timeout=120)
    return found


def latency(lab, node, config, build, figure):
    service = node.add(1, sleep(), "ls", {"requests": {"cpu": "500m"}}, labels("LS"))[0]
    node.wait_phase([service])
    path = container(node, service)
    burners = node.add(BURNERS, burn(), "be", metadata=labels("BE"))
    node.wait_phase(burners)
    windows = {name: [] for name in ("alone", "off", "on", "guard")}
    for _ in range(ROUNDS):
        with stopped():
            windows["alone"].append(serve(build, path, SERVICE, ROUND_S))
        windows["off"].append(serve(build, path, SERVICE, ROUND_S))
        windows["on"].append(with_koordlet(lab, node, config, build, path, ()))
        windows["guard"].append(with_koordlet(lab, node, config, build, path, ("--feature-gates=InterferenceGuard=true",)))
    node.remove([service] + burners)
    load = os.getloadavg()[0]

    def median(name, key):
        return statistics.median(w[key] for w in windows[name])
    for name in ("off", "on", "guard"):
        for key, limit in (("p50_us", "<= 1.05"), ("p99_us", "<= 1.2")):
            figure(f"ls-{key[:3]}-koordlet-{name}-over-alone", round(median(name, key) / median("alone", key), 2), "x",
                   limit if name == "on" else "", us=round(median(name, key)), alone_us=round(median("alone", key)),
                   best_us=round(min(w[key] for w in windows[name])), worst_us=round(max(w[key] for w in windows[name])),
                   alone_worst_us=round(max(w[key] for w in windows["alone"])), loadavg=round(load, 1))
    for name in ("on", "guard"):
        figure(f"be-share-of-budget-{name}", round(median(name, "cores") / median(name, "budget") * 100, 1), "%",
               ">= 80" if name == "on" else "", cores=round(median(name, "cores"), 2), budget_cores=round(median(name, "budget"), 2))


def serve_watching(build, path, share, quotas):
    """serve(), with best effort's budget looked at each second."""
    done = threading.Event()

    def look():
        while not done.wait(1):
            quotas.append(share.quota())
    t = threading.Thread(target=look)
    t.start()
    try:
        return serve(build, path, SERVICE, ROUND_S)
    finally:
        done.set()
        t.join()


def throttled_s(path):
    text = node_host.read(file_of("cpu", path, "cpu.stat"))
    return int(dict(line.split() for line in text.splitlines())["throttled_time"]) / 1e9


def throttling(lab, node, config, build, figure):
    name = node.add(1, sleep(), "bursty", BURSTY_LIMIT, labels("LS"))[0]
    node.wait_phase([name])
    path = container(node, name)
    begun = throttled_s(path)
    off = serve(build, path, BURSTY)
    without = throttled_s(path) - begun
    act(node)
    a = agent(lab, node, config, build)
    serve(build, path, BURSTY, SETTLE_S)
    begun = throttled_s(path)
    on = serve(build, path, BURSTY)
    with_burst = throttled_s(path) - begun
    a.end()
    set_slo(node, cpuBurstStrategy={"policy": "none"})
    node.remove([name])
    figure("ls-throttled-time-less-by", round((1 - with_burst / without) * 100, 1) if without else 0, "%", ">= 80",
           off_s=round(without, 2), on_s=round(with_burst, 2), off_p50_us=off["p50_us"], on_p50_us=on["p50_us"])


def bench(build, figure, note):
    lab = Lab()
    try:
        lab.up()
        node = lab.node()
        note(f"a service and {BURNERS} best-effort burners on {os.cpu_count()} CPUs of a real node, "
             f"{ROUNDS} windows of {ROUND_S} s each")
        config = koordlet.prepare(lab)
        koordlet.make_objects(lab.cluster, node.name)
        latency(lab, node, config, build, figure)
        throttling(lab, node, config, build, figure)
    except (NoCluster, Failed) as e:
        note(f"left out: koordlet and co-location on a node: {e}")
    finally:
        lab.close()
