"""real_cluster - a whole cluster with a node, in a network namespace of its own: pods have addresses and reach the API server.

etcd, kube-apiserver, kube-controller-manager, kube-scheduler, containerd, kubelet, and Debian's CNI plugins: a bridge, whose own
address is the node's. The address of the kubernetes Service is on the namespace's loopback interface, and the API server listens on
port 443 there, so no kube-proxy is needed. No packet leaves the namespace.
"""
import json
import os
import subprocess
import sys
import time

from lab import CACHE, KUBECTL, PATIENCE_S, ROOT, Failed, NoCluster
from node_host import wait_until, write

BIN = f'{CACHE}/kube-1.35.4/bin'
HELM = f'{BIN}/helm'
PROGRAMS = ('etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'kubelet', 'kubectl', 'helm')
NO_GO = 3  # scripts/kube-build's
CHART = f'{ROOT}/packaging/chart'
SYSTEM = 'koordinator-system'
NODE_IP, SERVICE_IP = '10.88.0.1', '10.96.0.1'
BRIDGE = 'koord0'
PLUGINS = f'{CACHE}/node/containernetworking-plugins/usr/lib/cni'
CNI = {'cniVersion': '0.4.0', 'name': 'pods', 'plugins': [{
    'type': 'bridge', 'bridge': BRIDGE, 'isGateway': True, 'ipMasq': False,
    'ipam': {'type': 'host-local', 'ranges': [[{'subnet': '10.88.0.0/24'}]], 'routes': [{'dst': '0.0.0.0/0'}]}}]}

# Containers that are killed over and over come back at once.
KUBELET = {'featureGates': {'KubeletCrashLoopBackOffMax': True}, 'crashLoopBackOff': {'maxContainerRestartPeriod': '1s'}}


def build_programs():
    """All that will run, while there is a network to fetch their sources from."""
    done = subprocess.run([f'{ROOT}/scripts/kube-build', *PROGRAMS], stdin=subprocess.DEVNULL, check=False)
    if done.returncode == NO_GO:
        raise NoCluster('no Go that can build Kubernetes')
    if done.returncode:
        raise Failed(f'scripts/kube-build: exit status {done.returncode}')


def enter():
    """Starts this program again in a network namespace; returns when it runs in one."""
    if os.environ.get('KOORD_NETWORK') != 'own':
        if os.geteuid() != 0:
            raise NoCluster('a network namespace needs root')
        build_programs()
        os.environ['KOORD_NETWORK'] = 'own'
        os.execvp('unshare', ['unshare', '--net', sys.executable, *sys.argv])
    for words in (['link', 'set', 'lo', 'up'], ['address', 'add', f'{SERVICE_IP}/32', 'dev', 'lo'],
                  ['link', 'add', BRIDGE, 'type', 'bridge'], ['address', 'add', f'{NODE_IP}/24', 'dev', BRIDGE],
                  ['link', 'set', BRIDGE, 'up']):
        out = subprocess.run(['ip', *words], capture_output=True, text=True, check=False)
        if out.returncode:
            raise NoCluster(f'ip {" ".join(words)}: {out.stderr.strip()}')


def run(*words, text=None, good=True):
    out = subprocess.run(words, input=text, capture_output=True, text=True, check=False)
    if good and out.returncode:
        raise Failed(f'{os.path.basename(words[0])} {" ".join(words[1:4])}: {(out.stderr or out.stdout).strip()[-600:]}')
    return out


def audit_file(lab):
    """Where the whole suite's requests are kept, or only until the end of this test."""
    if not os.environ.get('KOORD_AUDIT'):
        return f'{lab.dir}/audit.log'
    os.makedirs(os.environ['KOORD_AUDIT'], exist_ok=True)
    return os.path.join(os.path.abspath(os.environ['KOORD_AUDIT']), f'{os.path.basename(lab.dir)}.log')


class RealCluster:
    """Everything is stopped by the lab."""

    def __init__(self, lab):
        self.lab = lab
        if not os.access(f'{PLUGINS}/bridge', os.X_OK):
            raise NoCluster(f'no {PLUGINS}: run scripts/setup')
        self.audit = audit_file(lab)
        lab.up('--for-pods', '--audit', self.audit)
        self.api, self.config = lab.cluster.api, lab.cluster.config()
        pki = f'{lab.cluster.dir}/pki'
        self.start('kube-controller-manager', '--leader-elect=false', '--secure-port=0', '--controllers=*',
                   f'--service-account-private-key-file={pki}/sa.key', f'--root-ca-file={pki}/ca.crt',
                   '--use-service-account-credentials=false')
        self.start('kube-scheduler', '--leader-elect=false', '--secure-port=0')
        wait_until('there is a service account', lambda: self.get('/api/v1/namespaces/default/serviceaccounts/default'), PATIENCE_S)
        folder = f'{lab.dir}/node'
        socket = f'{folder}/run/containerd/containerd.sock'
        self.node = lab.node(socket=socket, endpoint=socket, cni=PLUGINS, cni_config=CNI, kubelet_flags=[f'--node-ip={NODE_IP}'],
                             kubelet_config=KUBELET)

    def start(self, name, *words):
        with open(f'{self.lab.dir}/{name}.log', 'ab') as log:
            p = subprocess.Popen([f'{BIN}/{name}', '--kubeconfig', self.config, *words], stdin=subprocess.DEVNULL, stdout=log, stderr=log)

        def stop():
            p.kill()
            p.wait()
        self.lab.closers.append(stop)

    # ---- the API ----

    def get(self, path):
        """The object, or None."""
        status, body = self.api('GET', path)
        if status not in (200, 404):
            raise Failed(f'GET {path}: {status} {body.get("message")}')
        return body if status == 200 else None

    def items(self, path):
        return self.get(path)['items']

    def patch(self, path, body):
        status, answer = self.api('PATCH', path, body, kind='application/merge-patch+json')
        if status != 200:
            raise Failed(f'PATCH {path}: {status} {answer.get("message")}')

    def apply(self, *objects):
        run(KUBECTL, '--kubeconfig', self.config, 'apply', '-f', '-', text=json.dumps({
            'apiVersion': 'v1', 'kind': 'List', 'items': list(objects)}))

    def kubectl(self, *words, **more):
        return run(KUBECTL, '--kubeconfig', self.config, *words, **more)

    def helm(self, *words, good=True):
        return run(HELM, '--kubeconfig', self.config, *words, good=good)

    def pods(self, namespace=SYSTEM, selector=''):
        return self.items(f'/api/v1/namespaces/{namespace}/pods?labelSelector={selector}')

    # ---- koord ----

    def images(self):
        """All images of build/bin, imported into the node's containerd."""
        folder = f'{self.lab.dir}/images'
        run(f'{ROOT}/tools/images', '--out', folder)
        for name in sorted(os.listdir(folder)):
            out = self.node.ctr('images', 'import', f'{folder}/{name}')
            if out.returncode:
                raise Failed(f'import {name}: {out.stderr.strip()[-300:]}')

    def values(self):
        """What this node needs: its kubelet's directory is elsewhere, and the machine may lack a capability."""
        return ['--set', f'koordlet.hostDirs.kubeletLibDir={self.node.folder}/kubelet/',
                '--set', 'koordlet.capabilities={NET_ADMIN,PERFMON,SYS_ADMIN,SYS_PTRACE}']

    def ready(self, limit=PATIENCE_S):
        """Waits until every Deployment and DaemonSet of the installation is there in full; how long it took."""
        began = time.monotonic()
        apps = f'/apis/apps/v1/namespaces/{SYSTEM}'

        def good():
            for d in self.items(f'{apps}/deployments'):
                s = d.get('status', {})
                if not (s.get('observedGeneration') == d['metadata']['generation'] and
                        s.get('readyReplicas', 0) == s.get('updatedReplicas', 0) == s.get('replicas', 0) == d['spec']['replicas']):
                    return False
            for d in self.items(f'{apps}/daemonsets'):
                s = d['status']
                if not (s.get('observedGeneration') == d['metadata']['generation'] and
                        s.get('numberReady', 0) == s.get('updatedNumberScheduled', 0) == s['desiredNumberScheduled'] == 1):
                    return False
            return True
        try:
            wait_until('the pods of koord are ready', good, limit)
        except Failed as e:
            raise Failed(f'{e}: {self.unready()}') from e
        return time.monotonic() - began

    def unready(self):
        """Why a pod is not ready, in its own words."""
        told = []
        for p in self.pods():
            for c in p['status'].get('containerStatuses', []):
                if not c['ready']:
                    last = c['state'].get('waiting') or c['state'].get('terminated') or c.get('lastState', {}).get('terminated') or {}
                    told.append(f'{p["metadata"]["name"]}: {json.dumps(last)[:600]}')
            if not p['status'].get('containerStatuses'):
                told.append(f'{p["metadata"]["name"]}: {json.dumps(p["status"])[:300]}')
        return ' | '.join(told)

    def refusals(self):
        """What accounts of the installation were not allowed to do, and no role of packaging/rbac would let them do."""
        return [line for line in run(f'{ROOT}/tools/check-rights', '--refused', self.audit, good=False).stdout.splitlines() if line.startswith('not ok')]
