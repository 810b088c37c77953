"""container_start - what the runtime proxy and koordlet's hooks add to a start: a bench of its own for tests/bench/run.

The proxy stands between grpc-go's client and server; beside it: no proxy, and a relay of grpc-go. koordlet is asked as a hook
server and by containerd's own NRI package. Forty pods start on a real node with koordlet as NRI plugin and without.
"""
import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests/system"))
sys.dont_write_bytecode = True
import agent as koordlet  # noqa: E402
from lab import KUBECTL, Failed, Lab, NoCluster  # noqa: E402
from node import CONTAINERD_2_CONFIG, free_ports  # noqa: E402
from proc import memory_mb, private_mb, thread_ms  # noqa: E402
from runtime_lab import build as build_programs, meta, start  # noqa: E402

PEER = os.path.join(os.path.dirname(KUBECTL), "runtimepeer")
CALLS = 5000
PODS = 250
CONTAINERS = 1000
HOOKS = 2000
STARTED = 40
ROUNDS = 3
STATUS = "/runtime.v1.RuntimeService/Status"
CREATE = "/runtime.v1.RuntimeService/CreateContainer"


def peer(*words):
    out = subprocess.run([PEER, *map(str, words)], capture_output=True, text=True, check=True)
    return json.loads(out.stdout.strip().splitlines()[-1])


def listens(path):
    with socket.socket(socket.AF_UNIX) as s:
        return s.connect_ex(path) == 0


def started(argv, path):
    """A server and its socket, once it takes connections."""
    p = subprocess.Popen([str(a) for a in argv], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    end = time.monotonic() + 30
    while not listens(path):
        if time.monotonic() > end or p.poll() is not None:
            raise SystemExit(f"bench: {argv[0]} does not listen on {path}")
        time.sleep(0.05)
    return p


# ---- the proxy ----

def relayed(pid, path):
    """Calls one after the other: milliseconds, and microseconds of the relay's CPU time for one."""
    peer("latency", path, STATUS, 500, 100)
    before = thread_ms(pid)
    d = peer("latency", path, STATUS, CALLS, 100)
    return dict(d, cpu_us=(thread_ms(pid) - before) * 1000 / (CALLS + 201))


def calls(back, ours, theirs, proxy, go, figure):
    direct = peer("latency", back, STATUS, CALLS, 100)
    we, they = relayed(proxy, ours), relayed(go, theirs)
    for p in ("p50", "p99"):
        figure(f"runtime-proxy-call-adds-{p}", round(we[f"{p}_ms"] - direct[f"{p}_ms"], 3), "ms",
               "<= 0.1" if p == "p50" else "<= 0.5", direct=round(direct[f"{p}_ms"], 3),
               go_relay_adds=round(they[f"{p}_ms"] - direct[f"{p}_ms"], 3))
    figure("runtime-proxy-call-cpu", round(we["cpu_us"], 1), "us", "<= 60", go_relay=round(they["cpu_us"], 1))
    figure("runtime-proxy-cpu-of-go-relay", round(we["cpu_us"] / they["cpu_us"], 2), "x", "<= 0.5")


def hooked(d, back, ours, figure):
    with open(f"{d}/hooks/peer.json", "w") as f:
        json.dump({"remote-endpoint": back, "failure-policy": "Fail", "runtime-hooks": ["PreCreateContainer"]}, f)
    plain = peer("latency", back, CREATE, HOOKS, 1000)
    time.sleep(0.5)
    with_hook = peer("latency", ours, CREATE, HOOKS, 1000)
    figure("runtime-proxy-hooked-create-adds-p50", round(with_hook["p50_ms"] - plain["p50_ms"], 3), "ms", "<= 0.3",
           p99=round(with_hook["p99_ms"] - plain["p99_ms"], 3))


def memory(ours, theirs, proxy, go, figure):
    for path in (ours, theirs):
        peer("fill", path, PODS)
    figure(f"runtime-proxy-rss-at-{PODS}-pods", memory_mb(proxy), "MB", "<= 8", go_relay=memory_mb(go))
    figure(f"runtime-proxy-private-at-{PODS}-pods", private_mb(proxy), "MB", "<= 2", go_relay=private_mb(go))
    before = memory_mb(proxy, "VmHWM")
    peer("latency", ours, "/t.T/Large", 20, 10)
    figure("runtime-proxy-grows-by-10-MiB-answers", round(memory_mb(proxy, "VmHWM") - before, 1), "MB", "<= 2")


def proxy_rows(build, figure):
    d, procs = tempfile.mkdtemp(prefix="koord-bench-"), []
    try:
        back, ours, theirs = f"{d}/back.sock", f"{d}/ours.sock", f"{d}/theirs.sock"
        procs.append(started([PEER, "serve", back], back))
        procs.append(started([PEER, "relay", theirs, back], theirs))
        procs.append(started([os.path.join(build, "src/main/koord-runtime-proxy"), f"--koord-runtimeproxy-endpoint={ours}",
                              f"--remote-runtime-service-endpoint={back}", f"--hook-server-config-dir={d}/hooks",
                              f"--checkpoint-file={d}/checkpoint", "--addr="], ours))
        go, proxy = procs[1].pid, procs[2].pid
        calls(back, ours, theirs, proxy, go, figure)
        memory(ours, theirs, proxy, go, figure)
        hooked(d, back, ours, figure)
    finally:
        for p in procs:
            p.kill()
            p.wait()
        shutil.rmtree(d)


# ---- koordlet ----

class Runtime:
    """containerd's side of NRI with so many containers; what it was answered, line by line."""

    def __init__(self, path, containers):
        self.p = subprocess.Popen([PEER, "nri", path, str(containers), "1000"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL, text=True)

    def next(self, event):
        while True:
            said = json.loads(self.p.stdout.readline())
            if said["Event"] == event:
                return said

    def create(self, count):
        self.p.stdin.write(f"{count}\n")
        self.p.stdin.flush()
        return self.next("create")

    def end(self):
        self.p.kill()
        self.p.communicate()


def hook_row(lab, a, figure):
    koordlet.until("koordlet's hook server", lambda: listens(f"{lab.dir}/hook.sock"), 60)
    peer("hook", f"{lab.dir}/hook.sock", 200)
    before = thread_ms(a.p.pid)
    said = peer("hook", f"{lab.dir}/hook.sock", HOOKS)
    if said["quota"] <= 0:
        raise Failed("the hook server does not answer what it should")
    figure("koordlet-part-of-hooked-create-cpu", round((thread_ms(a.p.pid) - before) * 1000 / HOOKS, 1), "us", "<= 50")


def nri_rows(lab, figure):
    path = f"{lab.dir}/run/nri/nri.sock"
    runtime = Runtime(path, PODS)
    runtime.next("synchronize")
    runtime.create(200)
    said = runtime.create(HOOKS)
    runtime.end()
    figure(f"koordlet-nri-create-p99-at-{PODS}-pods", round(said["P99"], 2), "ms", "<= 1", p50=round(said["P50"], 2))
    if said["Failed"] or said["Quota"] != 50000:
        raise Failed(f"NRI: {said}")
    runtime = Runtime(path, CONTAINERS)
    said = runtime.next("synchronize")
    runtime.end()
    if said["Updates"] != CONTAINERS:
        raise Failed(f"Synchronize: {said}")
    figure(f"koordlet-nri-synchronize-{CONTAINERS}", round(said["Ms"]), "ms", "<= 100")


def koordlet_rows(build, figure, note):
    note("koordlet asked by the proxy and by containerd's NRI package, without a cluster")
    lab = Lab()
    try:
        data, port = f"{lab.dir}/data", free_ports(1)[0]
        server = subprocess.Popen([os.path.join(build, "src/main/koordctl"), "up", "--nodes", "0", "--data", data, "--components=apiserver",
                                   "--listen", f"127.0.0.1:{port}"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        lab.closers.append(lambda: (server.kill(), server.wait()))
        koordlet.until("the server", lambda: os.path.exists(f"{data}/kubeconfig"))
        os.makedirs(f"{lab.dir}/run/nri")
        a = koordlet.Agent(lab, "koordlet", "n", "--kubeconfig", f"{data}/kubeconfig", f"--var-run-root-dir={lab.dir}/run/",
                           f"--var-lib-kubelet-dir={lab.dir}/kubelet", "--kubelet-insecure-tls=true", "--disable-query-kubelet-config=true",
                           "--dry-run", f"--prediction-checkpoint-filepath={lab.dir}/checkpoints",
                           f"--runtime-hooks-addr={lab.dir}/hook.sock", f"--runtime-hooks-config-path={lab.dir}/hooks",
                           path=os.path.join(build, "src/main/koordlet"))
        hook_row(lab, a, figure)
        nri_rows(lab, figure)
    finally:
        lab.close()


# ---- a node ----

def start_time(node):
    names = start(node, STARTED)
    began = time.monotonic()
    node.wait_phase(names, limit=120)
    took = time.monotonic() - began
    node.remove(names)
    return took


def node_row(build, figure, note):
    note(f"{STARTED} pods on a real node with containerd 2.2, with koordlet as its NRI plugin and without, in turns")
    lab = Lab()
    try:
        lab.up()
        node = lab.node(containerd=f"{os.path.dirname(KUBECTL)}/containerd", containerd_config=CONTAINERD_2_CONFIG)
        config = koordlet.prepare(lab)
        node.wait_phase(node.add(1, metadata=meta("LS")))
        koordlet.make_objects(lab.cluster, node.name, aggregateDurationSeconds=60, reportIntervalSeconds=30)
        took = {"with": [], "without": []}
        start_time(node)
        for i in range(ROUNDS):
            took["without"].append(start_time(node))
            a = koordlet.Agent(lab, f"koordlet{i}", node.name, "--kubeconfig", config, f"--prediction-checkpoint-filepath={lab.dir}/checkpoints",
                               f"--var-run-root-dir={node.folder}/", path=os.path.join(build, "src/main/koordlet"))
            koordlet.until("NRI is connected", lambda a=a: json.loads(a.ask("/hooks")[1])["nri"]["connected"], 60)
            took["with"].append(start_time(node))
            a.end()
        with_koord, without = (statistics.median(took[k]) for k in ("with", "without"))
        figure(f"{STARTED}-pods-start-beside-none", round(100 * (with_koord / without - 1), 1), "% longer", "<= 5",
               seconds=round(with_koord, 2), without=round(without, 2), spread=round(max(took["without"]) - min(took["without"]), 2))
    finally:
        lab.close()


def bench(build, figure, note):
    try:
        build_programs("runtimepeer", "containerd", "containerd-shim-runc-v2")
        note("koord-runtime-proxy between grpc-go's client and server; beside: without it, and a relay of grpc-go")
        proxy_rows(build, figure)
        koordlet_rows(build, figure, note)
        node_row(build, figure, note)
    except (Failed, NoCluster) as e:
        note(f"left out: {e}")
