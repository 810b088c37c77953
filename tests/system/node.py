"""node - a real node on this machine: containerd, runc and a kubelet, with pods that run.

Lab.node() starts one on the lab's control plane. Its pods share the machine's network, for there is no CNI plugin, and
run a static busybox: sleepers, burners that say how much CPU time they had, holders of memory.
"""
import contextlib
import http.client
import json
import os
import random
import re
import signal
import socket
import subprocess
import time

import node_host
import node_image
from lab import CACHE, ROOT, Failed
from node_host import read, unpacked, wait_until, write

KUBELET = os.path.join(CACHE, 'kube-1.35.4', 'bin', 'kubelet')
PODS = '/api/v1/namespaces/default/pods'
PORT_ATTEMPTS = 5
START_LIMIT_S = 180

SLEEP = "trap 'exit 0' TERM; while :; do sleep 3600 & wait; done"
# $1: nanoseconds of CPU time to use up, 0 for no end. Its own account goes to the log after every second of it, and at
# the end to the log and the termination message. Only builtins: all the time is the shell's own.
BURN = '''
report() { echo "cpu_ns=$ns" >/dev/termination-log; echo "cpu_ns=$ns"; exit 0; }
trap report TERM
told=0
while :; do
    i=0
    while [ $i -lt 1000 ]; do i=$((i + 1)); done
    read -r ns rest </proc/self/schedstat
    if [ "$1" -gt 0 ] && [ "$ns" -ge "$1" ]; then report; fi
    if [ $((ns - told)) -ge 1000000000 ]; then echo "cpu_ns=$ns"; told=$ns; fi
done
'''
# $1: bytes. dd fills a buffer of that size, and the pipe that nobody reads takes only the first pages of it.
HOLD = '''
trap 'exit 0' TERM
mkfifo /tmp/pipe && exec 3<>/tmp/pipe
dd if=/dev/zero bs="$1" count=1 >&3 &
while :; do sleep 3600 & wait $!; done
'''

CONTAINERD_CONFIG = '''version = 2
root = "{folder}/containerd"
state = "{folder}/containerd-state"
[grpc]
  address = "{socket}"
[plugins."io.containerd.internal.v1.opt"]
  path = "{folder}/opt"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{pause}"
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "{cni}"
    conf_dir = "{folder}/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      BinaryName = "{runc}"
      Root = "{folder}/runc"
      SystemdCgroup = false
'''
NRI_CONFIG = '''[plugins."io.containerd.nri.v1.nri"]
  disable = false
  socket_path = "{folder}/nri/nri.sock"
  plugin_path = "{folder}/nri/plugins"
  plugin_config_path = "{folder}/nri/conf.d"
'''
# containerd 1.7 and 2, with NRI at {folder}/nri/nri.sock.
CONTAINERD_17_CONFIG = CONTAINERD_CONFIG + NRI_CONFIG
CONTAINERD_2_CONFIG = '''version = 3
root = "{folder}/containerd"
state = "{folder}/containerd-state"
[grpc]
  address = "{socket}"
[plugins."io.containerd.internal.v1.opt"]
  path = "{folder}/opt"
[plugins."io.containerd.cri.v1.images".pinned_images]
  sandbox = "{pause}"
[plugins."io.containerd.cri.v1.runtime"]
  restrict_oom_score_adj = true
  [plugins."io.containerd.cri.v1.runtime".cni]
    bin_dirs = ["{cni}"]
    conf_dir = "{folder}/cni"
  [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
      BinaryName = "{runc}"
      Root = "{folder}/runc"
      SystemdCgroup = false
''' + NRI_CONFIG
# It makes the node ready for pods on the machine's network; any other would look for the plugin in vain.
CNI_CONFIG = {'cniVersion': '0.4.0', 'name': 'none', 'plugins': [{'type': 'loopback'}]}


def free_ports(count):
    """Below the range from which the kernel takes ports for outgoing connections."""
    with contextlib.ExitStack() as held:
        found = []
        while len(found) < count:
            s = held.enter_context(socket.socket())
            with contextlib.suppress(OSError):
                s.bind(('127.0.0.1', random.randrange(20000, 32000)))
                found.append(s.getsockname()[1])
        return found


def shell(script, *words):
    """The command of a container."""
    return ['sh', '-c', script, 'sh', *[str(w) for w in words]]


def sleep():
    return shell(SLEEP)


def burn(cpu_s=0):
    """That many seconds of CPU time, or without end."""
    return shell(BURN, int(cpu_s * 1e9))


def hold(size):
    return shell(HOLD, size)


class Node:
    """port: with TLS, for requests with a token; ro_port: plain. token: of a service account that may ask for all."""

    def __init__(self, cluster, folder, name='lab-node'):
        self.cluster, self.folder, self.name = cluster, folder, name
        self.host = node_host.Host(folder)
        self.socket = f'{folder}/containerd.sock'
        self.endpoint = self.socket  # for the kubelet
        self.containerd, self.containerd_config = None, CONTAINERD_CONFIG  # None: Debian's
        self.before_kubelet = None  # called with the node once containerd runs
        self.cni, self.cni_config = f'{folder}/cni', CNI_CONFIG  # plugins, and what pods get of them
        self.kubelet_flags, self.kubelet_config = [], {}  # more of both
        self.running = {}
        self.port = self.ro_port = 0
        self.token = ''
        self.made = 0

    # ---- life ----

    def start(self):
        """Up to the moment when a pod that names this node would run."""
        for package, program in (('containerd', 'containerd'), ('runc', 'runc'), ('busybox-static', 'busybox')):
            unpacked(package, program)
        subprocess.run([f'{ROOT}/scripts/kube-build', 'kubelet'], check=True, stdin=subprocess.DEVNULL)
        try:
            self.host.start()
            self._start_containerd()
            if self.before_kubelet:
                self.before_kubelet(self)
            self._grant()
            self._start_kubelet()
            self._wait_usable()
        except BaseException:
            self.stop()
            raise

    def stop(self):
        """As when the power fails: the API server still has the node and its pods."""
        self.host.stop()
        for p in self.running.values():
            p.wait()
        self.running.clear()

    def restart_kubelet(self, **config):
        """Its pods go on. config: members of its configuration that are other ones from now on."""
        for pid in node_host.processes(KUBELET, f'--root-dir={self.folder}/kubelet'):
            os.kill(pid, signal.SIGTERM)
        self.running.pop('kubelet').wait(node_host.END_LIMIT_S)
        if config:
            path = f'{self.folder}/kubelet.json'
            write(path, json.dumps({**json.loads(read(path)), **config}))
        if 'cpuManagerPolicy' in config:  # it does not start with the state of another policy
            with contextlib.suppress(FileNotFoundError):
                os.remove(f'{self.folder}/kubelet/cpu_manager_state')
        self._spawn_kubelet()
        self._wait_answer()

    def pid(self, program):
        """Of containerd or the kubelet."""
        words = {'containerd': (self.containerd or unpacked('containerd', 'containerd'), f'--config={self.folder}/containerd.toml'),
                 'kubelet': (KUBELET, f'--root-dir={self.folder}/kubelet')}[program]
        found = list(node_host.processes(*words))
        if not found:
            raise Failed(f'{program} does not run: {self._last_words(program)}')
        return found[0]

    def _last_words(self, program):
        return read(f'{self.folder}/{program}.log')[-600:]

    def _alive(self, program):
        if self.running[program].poll() is not None:
            raise Failed(f'{program} ended: {self._last_words(program)}')

    def kill_containerd(self):
        """kill -9, and started again; its containers go on."""
        os.kill(self.pid('containerd'), signal.SIGKILL)
        self.running.pop('containerd').wait(node_host.END_LIMIT_S)
        self._spawn_containerd()

    def kill_kubelet(self):
        """kill -9, and started again; its pods go on."""
        os.kill(self.pid('kubelet'), signal.SIGKILL)
        self.running.pop('kubelet').wait(node_host.END_LIMIT_S)
        self._spawn_kubelet()
        self._wait_answer()

    def _spawn_containerd(self):
        containerd = self.containerd or unpacked('containerd', 'containerd')
        # The shim is beside it.
        self.running['containerd'] = self.host.spawn(
            'containerd', containerd, f'--config={self.folder}/containerd.toml',
            path=f'{os.path.dirname(containerd)}:{node_host.PATH}')

        def listens():
            self._alive('containerd')
            with socket.socket(socket.AF_UNIX) as s:
                return s.connect_ex(self.socket) == 0
        wait_until('containerd listens', listens, START_LIMIT_S)

    def _start_containerd(self):
        write(f'{self.folder}/containerd.toml', self.containerd_config.format(
            folder=self.folder, pause=node_image.PAUSE, runc=unpacked('runc', 'runc'), socket=self.socket, cni=self.cni))
        write(f'{self.folder}/cni/none.conflist', json.dumps(self.cni_config))
        os.makedirs(os.path.dirname(self.socket), exist_ok=True)
        image = f'{self.folder}/image.tar'
        node_image.write_image(image)
        self._spawn_containerd()
        out = self.ctr('images', 'import', image)
        if out.returncode:
            raise Failed(f'ctr images import: {out.stderr.strip()[-400:]}')

    def ctr(self, *words):
        return subprocess.run([unpacked('containerd', 'ctr'), '--address', self.socket, '--namespace', 'k8s.io', *words],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)

    def _grant(self):
        """A token for the kubelet's port; the kubelet asks the API server whose it is and what it may do."""
        self.token = self.cluster.run('sa-token', 'kube-system', 'node-agent', '86400')
        rbac = '/apis/rbac.authorization.k8s.io/v1'
        self.cluster.make(f'{rbac}/clusterroles', {'metadata': {'name': 'node-agent'}, 'rules': [{
            'apiGroups': [''], 'verbs': ['get'],
            'resources': [f'nodes/{what}' for what in ('proxy', 'pods', 'configz', 'stats', 'metrics', 'log')]}]})
        self.cluster.make(f'{rbac}/clusterrolebindings', {
            'metadata': {'name': 'node-agent'},
            'roleRef': {'apiGroup': 'rbac.authorization.k8s.io', 'kind': 'ClusterRole', 'name': 'node-agent'},
            'subjects': [{'kind': 'ServiceAccount', 'namespace': 'kube-system', 'name': 'node-agent'}]})

    def _configure_kubelet(self):
        self.port, self.ro_port = free_ports(2)
        pki = f'{self.cluster.dir}/pki'
        write(f'{self.folder}/kubelet.json', json.dumps({
            'apiVersion': 'kubelet.config.k8s.io/v1beta1', 'kind': 'KubeletConfiguration',
            'address': '0.0.0.0', 'port': self.port, 'readOnlyPort': self.ro_port, 'healthzPort': 0,
            'tlsCertFile': f'{pki}/server.crt', 'tlsPrivateKeyFile': f'{pki}/server.key',
            'authentication': {'anonymous': {'enabled': False}, 'webhook': {'enabled': True},
                               'x509': {'clientCAFile': f'{pki}/ca.crt'}},
            'authorization': {'mode': 'Webhook'},
            'containerRuntimeEndpoint': f'unix://{self.endpoint}',
            'cgroupDriver': 'cgroupfs', 'failCgroupV1': False, 'failSwapOn': False, 'cpuManagerPolicy': 'none',
            # A full disk of the developer's must not take pods or images away.
            'evictionHard': {}, 'imageGCHighThresholdPercent': 100,
            'podLogsDir': f'{self.folder}/var/log/pods', 'volumePluginDir': f'{self.folder}/volume-plugins',
            'resolvConf': '', 'makeIPTablesUtilChains': False, 'enableControllerAttachDetach': False,
            'registerNode': True, 'eventRecordQPS': 0, **self.kubelet_config}))

    def _spawn_kubelet(self):
        self.running['kubelet'] = self.host.spawn(
            'kubelet', KUBELET, f'--root-dir={self.folder}/kubelet', f'--config={self.folder}/kubelet.json',
            f'--kubeconfig={self.cluster.config()}', f'--hostname-override={self.name}', '--v=2', *self.kubelet_flags)

    def _wait_answer(self):
        def answers():
            self._alive('kubelet')
            with contextlib.suppress(OSError, http.client.HTTPException):
                return self.ask('/healthz')[0] == 200 and self.ask('/pods', plain=True)[0] == 200
        wait_until('the kubelet answers', answers, START_LIMIT_S)

    def _start_kubelet(self):
        """A port may be taken between our look at it and the kubelet's; then others are tried."""
        for attempt in range(1, PORT_ATTEMPTS + 1):
            self._configure_kubelet()
            self._spawn_kubelet()
            try:
                return self._wait_answer()
            except Failed:
                if attempt == PORT_ATTEMPTS or 'address already in use' not in read(f'{self.folder}/kubelet.log'):
                    raise
            os.remove(f'{self.folder}/kubelet.log')

    def _wait_usable(self):
        path = f'/api/v1/nodes/{self.name}'

        def ready():
            self._alive('kubelet')
            status, node = self.cluster.api('GET', path)
            return status == 200 and any(c['type'] == 'Ready' and c['status'] == 'True'
                                         for c in node['status'].get('conditions', []))
        wait_until(f'{self.name} is ready', ready, START_LIMIT_S)
        # The API server gives it to new nodes, and no controller takes it away here.
        status, answer = self.cluster.api('PATCH', path, {'spec': {'taints': None}}, kind='application/merge-patch+json')
        if status != 200:
            raise Failed(f'PATCH {path}: {status} {answer.get("message")}')

    # ---- the kubelet's ports ----

    def ask(self, path, plain=False, token=None):
        """(status, text); token: '' for none, else the node's own."""
        if plain:
            c = http.client.HTTPConnection('127.0.0.1', self.ro_port, timeout=120)
        else:
            c = http.client.HTTPSConnection('127.0.0.1', self.port, context=self.cluster.tls, timeout=120)
        token = self.token if token is None else token
        try:
            c.request('GET', path, headers={'Authorization': f'Bearer {token}'} if token and not plain else {})
            r = c.getresponse()
            return r.status, r.read().decode(errors='replace')
        finally:
            c.close()

    def log(self, pod):
        return self.ask(f'/containerLogs/default/{pod}/main')[1]

    # ---- pods ----

    def add(self, count=1, command=None, prefix='pod', resources=None, metadata=None, spec=None):
        """Makes pods of one container, "main"; their names. metadata and spec: more fields of the pod's own."""
        names = []
        for _ in range(count):
            self.made += 1
            names.append(f'{prefix}-{self.made}')
            self.cluster.make(PODS, {
                'metadata': {'name': names[-1], **(metadata or {})},
                'spec': {'nodeName': self.name, 'hostNetwork': True, 'terminationGracePeriodSeconds': 5,
                         'automountServiceAccountToken': False, 'enableServiceLinks': False,
                         'restartPolicy': 'Never',
                         'containers': [{'name': 'main', 'image': node_image.BUSYBOX, 'imagePullPolicy': 'Never',
                                         'command': command or sleep(), 'resources': resources or {}}],
                         **(spec or {})}})
        return names

    def pods(self):
        """The API server's, by name."""
        return {p['metadata']['name']: p for p in self.cluster.api('GET', PODS)[1]['items']}

    def wait_phase(self, names, phase='Running', limit=600.0):
        wanted, last = set(names), {}

        def reached():
            last.update({n: p['status'] for n, p in self.pods().items() if n in wanted})
            return all(last.get(n, {}).get('phase') == phase for n in wanted)
        try:
            wait_until(f'pods are {phase}', reached, limit)
        except Failed as e:
            late = [n for n in sorted(wanted) if last.get(n, {}).get('phase') != phase]
            raise Failed(f'{e}: {len(late)} late, {late[0]}: {json.dumps(last.get(late[0]))[:600]}') from e

    def remove(self, names, limit=300.0):
        for name in names:
            self.cluster.api('DELETE', f'{PODS}/{name}')
        wait_until('pods are gone', lambda: not set(names) & set(self.pods()), limit)

    def account(self, pod):
        """The CPU time in nanoseconds that a burner has reported last, at its end or so far; None: nothing yet."""
        state = self.pods()[pod]['status']['containerStatuses'][0]['state']
        found = re.findall(r'cpu_ns=(\d+)', state.get('terminated', {}).get('message') or self.log(pod))
        return int(found[-1]) if found else None

    def cgroups(self):
        """Of each pod, by its uid: the directory below that of a controller."""
        found = {}
        for p in self.pods().values():
            qos = p['status'].get('qosClass', '').lower()
            parent = node_host.KUBEPODS if qos == 'guaranteed' else f'{node_host.KUBEPODS}/{qos}'
            found[p['metadata']['uid']] = f'{parent}/pod{p["metadata"]["uid"]}'
        return found

    # ---- what it costs ----

    def usage(self, program):
        """(seconds of CPU time so far, resident bytes) of containerd or the kubelet"""
        pid = self.pid(program)
        fields = read(f'/proc/{pid}/stat').rsplit(')', 1)[1].split()
        cpu = (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')
        return cpu, int(fields[21]) * os.sysconf('SC_PAGE_SIZE')


def timed(work, *words):
    """How long it took, in seconds."""
    start = time.monotonic()
    work(*words)
    return time.monotonic() - start
