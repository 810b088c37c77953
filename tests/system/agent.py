"""agent - koordlet on the lab's node, and the same counters read by somebody else.

Agent is one life of the program. Meter reads what the kernel counts of node and pods ten times a second, Reports are
the NodeMetrics with the moment at which each was written, Tap is a line to the kubelet that notes when it is asked.
"""
import bisect
import contextlib
import ctypes
import http.client
import json
import os
import re
import select
import signal
import socket
import struct
import subprocess
import threading
import time

import node_host
from lab import PATIENCE_S, ROOT, SANITIZER, Failed, program
from node import free_ports

NODEMETRICS = '/apis/slo.koordinator.sh/v1alpha1/nodemetrics'
TICKS = os.sysconf('SC_CLK_TCK')
METER_EVERY_S = 0.1


def until(what, fn, limit=PATIENCE_S):
    """What fn returns, once it is true."""
    end = time.monotonic() + limit
    while True:
        with contextlib.suppress(OSError, http.client.HTTPException):
            got = fn()
            if got:
                return got
        if time.monotonic() > end:
            raise Failed(f'{what}: not in {limit:.0f} s')
        time.sleep(0.05)


class Agent:
    """koordlet, from its start to its end; wall times."""

    def __init__(self, lab, name, node_name, *flags, path=None):
        self.port = free_ports(1)[0]
        self.log = os.path.join(lab.dir, f'{name}.log')
        self.began = time.time()
        env = dict(os.environ, NODE_NAME=node_name, agent_mode='hostMode')
        with open(self.log, 'wb') as log:
            self.p = subprocess.Popen([path or program('../../src/main/koordlet'), f'--addr=127.0.0.1:{self.port}', *flags],
                                      env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.phase = None
        lab.closers.append(self.kill)

    def ask(self, path, accept=None):
        """(status, text)"""
        c = http.client.HTTPConnection('127.0.0.1', self.port, timeout=PATIENCE_S)
        try:
            c.request('GET', path, headers={'Accept': accept} if accept else {})
            r = c.getresponse()
            return r.status, r.read().decode()
        finally:
            c.close()

    def series(self, path='/metrics'):
        """name{labels} -> value"""
        text = self.ask(path)[1]
        return {k: float(v) for k, v in re.findall(r'(?m)^([^#\s]\S*?(?:\{.*\})?) (\S+)$', text)}

    def text(self):
        with open(self.log, encoding='utf-8', errors='replace') as f:
            return f.read()

    def lines(self, pattern, since=0):
        return [line for line in self.text().splitlines()[since:] if re.search(pattern, line)]

    def says(self, pattern, limit=PATIENCE_S):
        return until(f'"{pattern}" in {os.path.basename(self.log)}', lambda: self.lines(pattern), limit)[0]

    def ready(self, limit=PATIENCE_S):
        until('koordlet is ready', lambda: self.ask('/readyz')[0] == 200, limit)

    def pods_known(self):
        """When it had its pods for the first time: the prediction reads its files then."""
        h, m, s = re.match(r'I\d+ (\d+):(\d+):([\d.]+)', self.says('Read the checkpoints')).groups()
        day = self.began - self.began % 86400 - time.localtime(self.began).tm_gmtoff
        at = day + int(h) * 3600 + int(m) * 60 + float(s)
        return at if at >= self.began - 1 else at + 86400

    def find_phase(self):
        """When it measures: its figures of the node change then, and keep the cadence of a second."""
        def figures():
            return re.findall(r'(?m)^koordlet_node_used_\w+\{.*', self.ask('/internal-metrics')[1])
        end, last = time.monotonic() + PATIENCE_S, figures()
        while time.monotonic() < end:
            before = time.time()
            now = figures()
            if last and now != last:
                self.phase = (before + time.time()) / 2
                return
            last = now
            time.sleep(0.01)
        raise Failed('the figures of the node do not change')

    def ticks(self, after, upto):
        """Its measurements from `after` on, not later than `upto`."""
        first = self.phase + int(after - self.phase) - 2
        return [t for t in (first + i for i in range(int(upto - first) + 2)) if after <= t <= upto]

    def open_files(self):
        """Descriptor -> what it is."""
        found = {}
        with contextlib.suppress(OSError):
            for fd in os.listdir(f'/proc/{self.p.pid}/fd'):
                with contextlib.suppress(OSError):
                    found[fd] = os.readlink(f'/proc/{self.p.pid}/fd/{fd}')
        return found

    def connections(self, port):
        """How many of its sockets are connected to this port."""
        mine, found = set(self.open_files().values()), 0
        for table in ('tcp', 'tcp6'):
            for line in node_host.read(f'/proc/{self.p.pid}/net/{table}').splitlines()[1:]:
                words = line.split()
                found += int(words[2].rsplit(':', 1)[1], 16) == port and f'socket:[{words[9]}]' in mine
        return found

    def watches(self):
        """How many directories it watches by inotify."""
        return sum(node_host.read(f'/proc/{self.p.pid}/fdinfo/{fd}').count('inotify wd:')
                   for fd, what in self.open_files().items() if 'inotify' in what)

    def memory_kb(self, *keys):
        text = node_host.read(f'/proc/{self.p.pid}/smaps_rollup')
        return sum(int(re.search(rf'(?m)^{k}:\s+(\d+)', text).group(1)) for k in keys or ('Rss',))

    def waited_s(self):
        """For how long its threads were ready to run and had no CPU."""
        total = 0
        for task in os.listdir(f'/proc/{self.p.pid}/task'):
            with contextlib.suppress(OSError):
                total += int(node_host.read(f'/proc/{self.p.pid}/task/{task}/schedstat').split()[1])
        return total / 1e9

    def cpu_s(self):
        fields = node_host.read(f'/proc/{self.p.pid}/stat').rsplit(')', 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def kill(self):
        if self.p.poll() is None:
            self.p.kill()
        self.p.wait()

    def end(self, limit=PATIENCE_S):
        """(exit status, what a sanitizer said)"""
        self.p.send_signal(signal.SIGTERM)
        try:
            return self.p.wait(limit), ''.join(self.lines(SANITIZER.pattern)[:1])
        except subprocess.TimeoutExpired:
            self.kill()
            return None, 'no end'


# ---- the same counters ----

def cgroup_files(directory):
    """(CPU time, memory) of a group, in the machine's version."""
    roots = node_host.controllers()
    if '' in roots:
        return f'{roots[""]}/{directory}/cpu.stat', f'{roots[""]}/{directory}/memory.stat'
    return f'{roots["cpuacct"]}/{directory}/cpuacct.usage', f'{roots["memory"]}/{directory}/memory.stat'


def cpu_seconds(text):
    words = text.split()
    return int(words[0]) / 1e9 if len(words) == 1 else int(words[words.index('usage_usec') + 1]) / 1e6


def memory_used(text):
    """Without page cache."""
    words = text.split()
    prefix = 'total_' if 'total_cache' in words else ''
    return sum(int(words[words.index(prefix + k) + 1]) for k in ('inactive_anon', 'active_anon', 'unevictable'))


def node_seconds(text):
    fields = text.split('\n', 1)[0].split()
    return sum(int(fields[i]) for i in (1, 2, 3, 6, 7)) / TICKS


def node_memory(text):
    words = text.split()
    return (int(words[words.index('MemTotal:') + 1]) - int(words[words.index('MemAvailable:') + 1])) * 1024


class Meter:
    """Of the node (key '') and of pods by uid: CPU seconds and bytes, over time."""

    def __init__(self):
        self.lock = threading.Lock()
        self.sources, self.times, self.values = {}, {}, {}
        self._add('', 'cpu', '/proc/stat', node_seconds)
        self._add('', 'memory', '/proc/meminfo', node_memory)
        self.stopping = threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _add(self, key, what, path, parse):
        with self.lock:
            self.sources[key, what] = (os.open(path, os.O_RDONLY | os.O_CLOEXEC), parse)
            self.times[key, what], self.values[key, what] = [], []

    def follow(self, cgroups):
        for uid, directory in cgroups.items():
            cpu, memory = cgroup_files(directory)
            self._add(uid, 'cpu', cpu, cpu_seconds)
            self._add(uid, 'memory', memory, memory_used)

    def _run(self):
        while not self.stopping.wait(METER_EVERY_S):
            with self.lock:
                for key, (fd, parse) in self.sources.items():
                    with contextlib.suppress(OSError, ValueError):
                        value = parse(os.pread(fd, 1 << 16, 0).decode())
                        self.times[key].append(time.time())
                        self.values[key].append(value)

    def stop(self):
        self.stopping.set()
        self.thread.join()
        for fd, _ in self.sources.values():
            os.close(fd)

    def at(self, key, what, t):
        with self.lock:
            times, values = self.times[key, what], self.values[key, what]
            i = min(max(bisect.bisect(times, t), 1), len(times) - 1)
            part = (t - times[i - 1]) / (times[i] - times[i - 1])
            return values[i - 1] + (values[i] - values[i - 1]) * min(max(part, 0.0), 1.0)

    def cores(self, key, ticks):
        """Over a series of measurements, of which the first only begins."""
        return (self.at(key, 'cpu', ticks[-1]) - self.at(key, 'cpu', ticks[0])) / (ticks[-1] - ticks[0])

    def bytes(self, key, ticks):
        return sum(self.at(key, 'memory', t) for t in ticks[1:]) / len(ticks[1:])


# ---- what it reports ----

def quantity(text):
    m = re.fullmatch(r'(-?[\d.]+)(m|k|M|G|Ki|Mi|Gi|Ti)?', text)
    scale = {'m': 1e-3, 'k': 1e3, 'M': 1e6, 'G': 1e9, 'Ki': 2**10, 'Mi': 2**20, 'Gi': 2**30, 'Ti': 2**40}
    return float(m.group(1)) * scale.get(m.group(2), 1)


def usage(resource_map):
    """(cores, bytes), or None."""
    r = (resource_map or {}).get('resources') or {}
    return (quantity(r['cpu']), quantity(r['memory'])) if 'cpu' in r and 'memory' in r else None


class Reports:
    """NodeMetrics as they are written: (when, status)."""

    def __init__(self, cluster, node_name):
        self.cluster, self.name = cluster, node_name
        self.seen = []
        self.news = threading.Condition()
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self):
        while True:
            with contextlib.suppress(OSError, http.client.HTTPException, ValueError, KeyError):
                self._watch()
            time.sleep(0.2)

    def _watch(self):
        c = http.client.HTTPSConnection('127.0.0.1', self.cluster.port, context=self.cluster.tls, timeout=300)
        c.request('GET', f'{NODEMETRICS}?watch=1&fieldSelector=metadata.name%3D{self.name}',
                  headers={'Authorization': f'Bearer {self.cluster.token}'})
        for line in c.getresponse():
            now = time.time()
            status = json.loads(line)['object'].get('status') or {}
            # The first event is the object as it is.
            if status.get('updateTime') and status['updateTime'] not in [s['updateTime'] for _, s in self.seen]:
                with self.news:
                    self.seen.append((now, status))
                    self.news.notify_all()

    def next(self, after, limit=2 * PATIENCE_S):
        """The first that was written later than `after`."""
        end = time.monotonic() + limit
        with self.news:
            while True:
                for at, status in self.seen:
                    if at > after:
                        return at, status
                left = end - time.monotonic()
                if left <= 0:
                    raise Failed(f'no NodeMetric in {limit:.0f} s')
                self.news.wait(left)


# ---- who asks the kubelet, and when ----

class Tap:
    """A plain line to a port; when each GET passed, and what was answered since."""

    def __init__(self, port):
        self.to = port
        self.listener = socket.create_server(('', 0))  # the agent takes the node's address
        self.port = self.listener.getsockname()[1]
        self.asked = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                near = self.listener.accept()[0]
                far = socket.create_connection(('127.0.0.1', self.to))
                threading.Thread(target=self._pump, args=(near, far), daemon=True).start()

    def _pump(self, near, far):
        with contextlib.suppress(OSError), near, far:
            while True:
                ready = select.select([near, far], [], [])[0]
                for a, b in ((near, far), (far, near)):
                    if a not in ready:
                        continue
                    data = a.recv(65536)
                    if not data:
                        return
                    if a is near:
                        self.asked.append([time.time(), bytearray()])
                    elif self.asked:
                        self.asked[-1][1] += data
                    b.sendall(data)

    def close(self):
        self.listener.close()


class Births:
    """When directories appear in another, by inotify, and what fn says at that time."""

    def __init__(self, directory, fn=lambda: None):
        libc = ctypes.CDLL(None, use_errno=True)
        self.fd = libc.inotify_init1(os.O_CLOEXEC)
        if libc.inotify_add_watch(self.fd, directory.encode(), 0x100) < 0:  # IN_CREATE
            raise OSError(ctypes.get_errno(), directory)
        self.when, self.said, self.fn = {}, {}, fn
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self):
        with contextlib.suppress(OSError):
            while True:
                data = os.read(self.fd, 65536)
                now, at = time.time(), 0
                while at < len(data):
                    size = struct.unpack_from('iIII', data, at)[3]
                    name = data[at + 16:at + 16 + size].split(b'\0')[0].decode()
                    self.said[name] = self.fn()
                    self.when[name] = now
                    at += 16 + size


# ---- what a cluster needs for it ----

def prepare(lab):
    """Kinds, permissions, and the objects that koord-manager would make. A kubeconfig with koordlet's own account."""
    lab.cluster.namespace('koordinator-system')
    lab.cluster.kubectl('apply', '-f', f'{ROOT}/packaging/crds', '-f', f'{ROOT}/packaging/rbac/koordlet.yaml')
    lab.cluster.established()
    token = lab.cluster.run('sa-token', 'koordinator-system', 'koordlet', '86400')
    return lab.kubeconfig('koordlet.kubeconfig', [f'token: {token}'])


def make_objects(cluster, node_name, **policy):
    cluster.make('/apis/slo.koordinator.sh/v1alpha1/nodeslos', {
        'apiVersion': 'slo.koordinator.sh/v1alpha1', 'kind': 'NodeSLO', 'metadata': {'name': node_name}, 'spec': {}})
    cluster.make(NODEMETRICS, {
        'apiVersion': 'slo.koordinator.sh/v1alpha1', 'kind': 'NodeMetric', 'metadata': {'name': node_name},
        'spec': {'metricCollectPolicy': policy}})
