"""runtime_lab - pods of all QoS classes that print their own limits before anything else, and what koordlet plans for them.

The node's CPUs count 1.2 times (cpu-normalization-ratio), so that quotas of class LS and batch quotas are lowered. Proxy is
koord-runtime-proxy on the node; churn() starts and removes pods while somebody is killed.
"""
import collections
import contextlib
import http.client
import json
import os
import random
import re
import select
import signal
import socket
import struct
import subprocess
import threading
import time

import node_host
from agent import until
from lab import KUBECTL, ROOT, Failed, NoCluster, program
from node import free_ports, shell

MERGE = 'application/merge-patch+json'
# Before anything else; without a limit of its own a file says so by a number.
TELL = shell('''
dir=/sys/fs/cgroup
if [ -e $dir/cgroup.controllers ]; then
    echo "cpu=$(cat $dir/cpu.max) shares=$(cat $dir/cpu.weight) memory=$(cat $dir/memory.max) cpus=$(cat $dir/cpuset.cpus) gpus=$NVIDIA_VISIBLE_DEVICES"
else
    echo "cpu=$(cat $dir/cpu/cpu.cfs_quota_us) shares=$(cat $dir/cpu/cpu.shares) memory=$(cat $dir/memory/memory.limit_in_bytes)" \
         "cpus=$(cat $dir/cpuset/cpuset.cpus) gpus=$NVIDIA_VISIBLE_DEVICES"
fi
trap 'exit 0' TERM
while :; do sleep 3600 & wait; done
''')


def meta(qos, **annotations):
    return {'labels': {'koordinator.sh/qosClass': qos}, 'annotations': annotations}


def batch_meta():
    size = {'kubernetes.io/batch-cpu': '500', 'kubernetes.io/batch-memory': '256Mi'}
    metadata = meta('BE')
    metadata['annotations']['node.koordinator.sh/extended-resource-spec'] = json.dumps(
        {'containers': {'main': {'requests': size, 'limits': size}}})
    return metadata


def lsr_meta():
    metadata = meta('LSR')
    metadata['annotations']['scheduling.koordinator.sh/resource-status'] = json.dumps({'cpuset': '0'})
    metadata['annotations']['scheduling.koordinator.sh/device-allocated'] = json.dumps({'gpu': [{'minor': 3}]})
    return metadata


SMALL = {'cpu': '50m', 'memory': '64Mi'}  # so that all fit on two CPUs
# Resources, metadata, the limits that are planned, and the GPUs in the environment.
KINDS = {
    'batch': ({}, batch_meta, r'cpu=41667( 100000)? shares=(512|20) memory=268435456 ', ''),
    'lsr': ({'limits': SMALL, 'requests': SMALL}, lsr_meta, r'cpu=(-1|max 100000) shares=(51|2) memory=67108864 cpus=0$', '3'),
    'ls': ({'limits': {'cpu': '500m'}, 'requests': {'cpu': '10m'}}, lambda: meta('LS'), r'cpu=41667( 100000)? ', ''),
    'plain': ({}, lambda: {}, r'cpu=(-1|max 100000) shares=[12] ', ''),
    'guaranteed': ({'limits': SMALL, 'requests': SMALL}, lambda: meta('LSE'), r'cpu=5000( 100000)? shares=(51|2) memory=67108864 ', ''),
}


def kind_of(name):
    return KINDS[name.split('-')[0]]


def first_words(node, name):
    return until(f'{name} says something', lambda: re.findall(r'(?m)^cpu=.*$', node.log(name)), 60)[0]


def as_planned(name, said):
    limits, gpus = said.rsplit(' gpus=', 1)
    return re.search(kind_of(name)[2], limits) and gpus == kind_of(name)[3]


def say_and_compare(check, node, names):
    bad = [f'{n}: {said}' for n in names if not as_planned(n, said := first_words(node, n))]
    check(f'{len(names)} containers found what is planned for them', not bad, bad[:3])


def limits_now(node, name):
    """As TELL prints them, of the running container and without the environment; read from outside."""
    pod = node.pods()[name]
    container = pod['status']['containerStatuses'][0]['containerID'].split('//')[1]
    group = f'{node.cgroups()[pod["metadata"]["uid"]]}/{container}'
    roots = node_host.controllers()

    def value(tree, v1, v2):
        return node_host.read(f'{roots[""]}/{group}/{v2}' if '' in roots else f'{roots[tree]}/{group}/{v1}').strip()
    return (f'cpu={value("cpu", "cpu.cfs_quota_us", "cpu.max")} shares={value("cpu", "cpu.shares", "cpu.weight")} '
            f'memory={value("memory", "memory.limit_in_bytes", "memory.max")} cpus={value("cpuset", "cpuset.cpus", "cpuset.cpus")}')


def wait_limits(node, names, limit=60):
    """Until all have what is planned; koordlet may come later than the container."""
    for name in names:
        last = []

        def good(n=name, seen=last):
            seen[:] = [limits_now(node, n)]
            return re.search(kind_of(n)[2], seen[0])
        try:
            until(f'{name} has its limits', good, limit)
        except Failed as e:
            raise Failed(f'{e}: {last}') from e


def start(node, count, policy='Never'):
    """policy: what the kubelet does when a call to the runtime broke off in the middle of a start."""
    names = []
    kinds = list(KINDS)
    for i in range(count):
        resources, metadata, *_ = KINDS[kinds[i % len(kinds)]]
        names += node.add(1, TELL, kinds[i % len(kinds)], resources, metadata(), {'restartPolicy': policy})
    return names


def set_ratio(node):
    node.cluster.api('PATCH', f'/api/v1/nodes/{node.name}', {'metadata': {'annotations': {
        'node.koordinator.sh/cpu-normalization-ratio': '1.20'}}}, kind=MERGE)


def build(*programs):
    """By scripts/kube-build."""
    out = subprocess.run([f'{ROOT}/scripts/kube-build', *programs], stdin=subprocess.DEVNULL, capture_output=True,
                         text=True, timeout=1800, check=False)
    if out.returncode:
        raise (NoCluster if out.returncode == 3 else Failed)(out.stderr.strip()[-300:])


def may_ask_kubelets(lab):
    """Options of Lab.up() for exec and its like, which the API server passes on as an administrator."""
    pki = f'{lab.dir}/cluster/pki'
    return ('--', f'--kubelet-client-certificate={pki}/admin.crt', f'--kubelet-client-key={pki}/admin.key',
            '--kubelet-preferred-address-types=InternalIP')


def start_server(lab):
    """The embedded API server, without nodes; its directory."""
    data, port = f'{lab.dir}/data', free_ports(1)[0]
    with open(f'{lab.dir}/server.log', 'wb') as log:
        p = subprocess.Popen([program('../../src/main/koordctl'), 'up', '--nodes', '0', '--data', data,
                              '--components=apiserver', '--listen', f'127.0.0.1:{port}'],
                             stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    lab.closers.append(lambda: (p.kill(), p.wait()))
    until('the server', lambda: os.path.exists(f'{data}/kubeconfig'))
    return data


def peer(*words):
    """What runtimepeer says, a document."""
    out = subprocess.run([os.path.join(os.path.dirname(KUBECTL), 'runtimepeer'), *words], stdin=subprocess.DEVNULL,
                         capture_output=True, text=True, timeout=120, check=False)
    if out.returncode:
        raise Failed(f'runtimepeer {words[0]}: {out.stderr[-300:]}')
    return json.loads(out.stdout)


# ---- the proxy ----

class Proxy:
    """koord-runtime-proxy on the node; spawned again after a kill."""

    def __init__(self, folder, *flags):
        self.folder, self.flags, self.node, self.p = folder, flags, None, None
        self.socket = f'{folder}/proxy.sock'
        self.port = free_ports(1)[0]

    def before_kubelet(self, node):
        """The kubelet shall talk to it."""
        node.endpoint = self.socket
        self.start(node)

    def start(self, node):
        self.node = node
        self.spawn()

    def spawn(self):
        self.p = self.node.host.spawn(
            'proxy', program('../../src/main/koord-runtime-proxy'), f'--koord-runtimeproxy-endpoint={self.socket}',
            f'--remote-runtime-service-endpoint={self.node.socket}', f'--hook-server-config-dir={self.folder}/hooks',
            f'--checkpoint-file={self.folder}/proxy.checkpoint', f'--addr=127.0.0.1:{self.port}', *self.flags)

        def listens():
            with socket.socket(socket.AF_UNIX) as s:
                return s.connect_ex(self.socket) == 0
        until('the proxy listens', listens, 60)

    def pid(self):
        return next(iter(node_host.processes(program('../../src/main/koord-runtime-proxy'), f'--koord-runtimeproxy-endpoint={self.socket}')))

    def kill(self):
        os.kill(self.pid(), signal.SIGKILL)
        self.p.wait()

    def kill_and_spawn(self):
        self.kill()
        self.spawn()

    def log(self):
        return node_host.read(f'{self.node.folder}/proxy.log')

    def metric(self, series):
        c = http.client.HTTPConnection('127.0.0.1', self.port, timeout=60)
        try:
            c.request('GET', '/metrics')
            found = re.findall(rf'(?m)^{re.escape(series)} (\S+)$', c.getresponse().read().decode())
            return float(found[0]) if found else None
        finally:
            c.close()

    def check_empty_handed(self, check, pods):
        """Of pods that went nothing is kept."""
        def cached():
            return [self.metric(f'koord_runtime_proxy_cached{{kind="{kind}"}}') for kind in ('pod', 'container')]
        until(f'the proxy knows {pods} pods: {cached()}', lambda: cached() == [pods, pods], 180)
        until('no call is open', lambda: self.metric('koord_runtime_proxy_open_calls') == 0, 60)
        fds = len(os.listdir(f'/proc/{self.pid()}/fd'))
        check('the proxy keeps neither descriptors nor entries of what is gone', fds < 40, fds)


# ---- NRI ----

class NriLine:
    """A line to the runtime's NRI that knows who holds it: `most` connections of one process at a time."""

    def __init__(self, lab, path, to):
        self.to = to
        self.lock = threading.Lock()
        self.open = collections.Counter()
        self.most = self.made = 0
        os.makedirs(os.path.dirname(path))
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(path)
        self.listener.listen()
        threading.Thread(target=self._accept, daemon=True).start()
        lab.closers.append(self.listener.close)

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                near = self.listener.accept()[0]
                threading.Thread(target=self._carry, args=(near,), daemon=True).start()

    def _carry(self, near):
        pid = struct.unpack('3i', near.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]
        with self.lock:
            self.open[pid] += 1
            self.made += 1
            self.most = max(self.most, self.open[pid])
        try:
            with contextlib.suppress(OSError), near, socket.socket(socket.AF_UNIX) as far:
                far.connect(self.to)
                self._pump(near, far)
        finally:
            with self.lock:
                self.open[pid] -= 1

    @staticmethod
    def _pump(near, far):
        while True:
            for a in select.select([near, far], [], [])[0]:
                data = a.recv(1 << 20)
                if not data:
                    return
                (far if a is near else near).sendall(data)


# ---- churn ----

def check_once(check, node, names):
    """The runtime's own account: one ready sandbox and one running container of each."""
    said = peer('list', node.socket)
    wrong = {}
    for name in names:
        pods = [p for p in said['pods'] if p['name'] == name and p['ready']]
        running = [c for c in said['containers'] if c['pod'] == name and c['running']]
        if len(pods) != 1 or len(running) != 1:
            wrong[name] = (pods, running)
    check(f'{len(names)} pods: none has a container twice', not wrong, str(wrong)[:400])


def churn(check, node, kill, kills, late=False, batch=10):
    """`kill` at random moments of two starts each: every pod ends Running with its values. late: they may come after the start."""
    moments = random.Random(kills)
    done = 0
    while done < kills:
        names = []
        for _ in range(min(batch, kills - done)):
            names += start(node, 2, 'Always')
            time.sleep(moments.uniform(0, 1.5))
            kill()
            done += 1
        node.wait_phase(names, limit=240)
        wait_limits(node, names)
        if not late:
            say_and_compare(check, node, names)
        check_once(check, node, names)
        node.remove(names)
    check(f'{kills} kills: every pod ended Running with its limits', True)
