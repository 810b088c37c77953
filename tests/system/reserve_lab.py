"""reserve_lab.py - what the stories about Reservations are played on: a server, embedded or real, with koord-scheduler
beside it, and objects for both.

The real one has the account and the roles that are shipped for the scheduler, and no more.
"""
import concurrent.futures
import http.client
import json
import os
import signal
import subprocess
import sys
import threading
import time

from lab import KUBECTL, PATIENCE_S, ROOT, SANITIZER, Failed, program
from up import Up

SCHEDULING = '/apis/scheduling.koordinator.sh/v1alpha1/reservations'
ALLOCATED = 'scheduling.koordinator.sh/reservation-allocated'
AFFINITY = 'scheduling.koordinator.sh/reservation-affinity'
NS = 'shop'
MERGE = 'application/merge-patch+json'


class Place:
    """A server: asked over HTTP, by kubectl and by koordctl."""

    def __init__(self, name, port, tls, token, config, scheduler_config):
        self.name, self.port, self.tls, self.token = name, port, tls, token
        self.config, self.scheduler_config = config, scheduler_config
        self.local = threading.local()
        self.pool = concurrent.futures.ThreadPoolExecutor(16)

    def call(self, method, path, body=None, kind='application/json'):
        """(status, answer); a connection a thread."""
        for last in (False, False, True):
            c = getattr(self.local, 'c', None)
            if not c:
                c = self.local.c = http.client.HTTPSConnection('127.0.0.1', self.port, context=self.tls,
                                                               timeout=PATIENCE_S)
            try:
                c.request(method, path, json.dumps(body) if body is not None else None,
                          {'Authorization': f'Bearer {self.token}', 'Content-Type': kind})
                r = c.getresponse()
                return r.status, json.loads(r.read() or b'null')
            except (http.client.HTTPException, OSError):
                self.local.c = None
                if last:
                    raise
        return 0, None

    def ask(self, method, path, body=None, kind='application/json'):
        status, answer = self.call(method, path, body, kind)
        if status not in (200, 201, 202):
            raise Failed(f'{method} {path}: {status} {(answer or {}).get("message")}')
        return answer

    def items(self, path):
        return self.ask('GET', path)['items']

    def all(self, fn, items):
        return list(self.pool.map(fn, items))

    def until(self, what, fn, limit=PATIENCE_S):
        """What fn returns, once it is true."""
        end = time.monotonic() + limit
        while True:
            got = fn()
            if got:
                return got
            if time.monotonic() > end:
                raise Failed(f'{what}: not in {limit:.0f} s')
            time.sleep(0.1)

    # ---- objects ----

    def node(self, name, cpu, story):
        self.ask('POST', '/api/v1/nodes', {
            'metadata': {'name': name, 'labels': {'story': story, 'host': name}},
            'status': {'allocatable': {'cpu': str(cpu), 'memory': '64Gi', 'pods': '110'},
                       'capacity': {'cpu': str(cpu), 'memory': '64Gi', 'pods': '110'},
                       'conditions': [{'type': 'Ready', 'status': 'True'}]}})
        # Admission marks every new node as not ready; a kubelet would not be long.
        self.ask('PATCH', f'/api/v1/nodes/{name}', {'spec': {'taints': None}}, MERGE)

    def pod(self, name, cpu, story, **meta):
        """on: the label host of a node, or any labels of nodes, instead of the story's."""
        on = meta.pop('on', None)
        on = {'host': on} if isinstance(on, str) else on
        return self.ask('POST', f'/api/v1/namespaces/{NS}/pods', {
            'metadata': {'name': name, **meta}, 'spec': pod_spec(cpu, on or {'story': story})})

    def get(self, pod):
        return self.ask('GET', f'/api/v1/namespaces/{NS}/pods/{pod}')

    def node_of(self, pod):
        return self.get(pod)['spec'].get('nodeName')

    def placed(self, pod):
        return self.until(f'a node for {pod}', lambda: self.node_of(pod))

    def refused(self, pod):
        """What the scheduler says of a pod that it has tried."""
        def said():
            p = self.get(pod)
            if p['spec'].get('nodeName'):
                raise Failed(f'{pod} is on {p["spec"]["nodeName"]}')
            return [c['message'] for c in p['status'].get('conditions', [])
                    if c['type'] == 'PodScheduled' and c['status'] == 'False']
        return self.until(f'a reason for {pod}', said)[0]

    def uses(self, pod):
        """The name of the Reservation that the pod has its room from."""
        text = self.get(pod)['metadata'].get('annotations', {}).get(ALLOCATED)
        return json.loads(text)['name'] if text else None

    def remove(self, pod):
        self.ask('DELETE', f'/api/v1/namespaces/{NS}/pods/{pod}')

    def reserve(self, name, cpu, story, owners, **spec):
        on = spec.pop('on', None)
        template = {'metadata': {'namespace': NS}, 'spec': pod_spec(cpu, {'host': on} if on else {'story': story})}
        return self.ask('POST', SCHEDULING, {
            'apiVersion': 'scheduling.koordinator.sh/v1alpha1', 'kind': 'Reservation', 'metadata': {'name': name},
            'spec': {'template': template, 'owners': owners, **spec}})

    def reservation(self, name):
        return self.ask('GET', f'{SCHEDULING}/{name}')

    def phase(self, name, phase):
        """The Reservation, once it is in this phase."""
        def there():
            r = self.reservation(name)
            return r if r.get('status', {}).get('phase') == phase else None
        try:
            return self.until(f'{name} {phase}', there)
        except Failed as e:
            raise Failed(f'{e}; it is {json.dumps(self.reservation(name).get("status"))[:600]}') from e

    def owned(self, name, pods):
        """The Reservation, once its status names these pods."""
        return self.until(f'{name} used by {pods}', lambda: (
            lambda r: sorted(o['name'] for o in r['status'].get('currentOwners', [])) == sorted(pods) and r)(
                self.reservation(name)))

    def clean(self):
        """All that stories leave."""
        for path in (f'/api/v1/namespaces/{NS}/pods', SCHEDULING, '/api/v1/nodes',
                     f'/apis/apps/v1/namespaces/{NS}/deployments'):
            for o in self.items(path):
                self.call('DELETE', f'{path}/{o["metadata"]["name"]}')
        self.until('an empty server', lambda: not self.items(SCHEDULING) and not self.items('/api/v1/nodes'))

    # ---- programs ----

    def kubectl(self, *words):
        out = subprocess.run([KUBECTL, '--kubeconfig', self.config, *words], stdin=subprocess.DEVNULL,
                             capture_output=True, text=True, check=False)
        if out.returncode:
            raise Failed(f'kubectl {" ".join(words[:3])}: {out.stderr.strip()[-400:]}')
        return out.stdout

    def koordctl(self, *words, interrupt_when=None):
        """(exit status, output, complaints)"""
        p = subprocess.Popen([program('../../src/main/koordctl'), *words, '--kubeconfig', self.config],
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if interrupt_when:
            self.until('the moment to interrupt', interrupt_when)
            p.send_signal(signal.SIGINT)
        out, err = p.communicate(timeout=2 * PATIENCE_S)
        if SANITIZER.search(err):
            raise Failed(f'koordctl: {err[-1500:]}')
        return p.returncode, out, err


def pod_spec(cpu, on):
    return {'schedulerName': 'koord-scheduler', 'terminationGracePeriodSeconds': 0, 'nodeSelector': on,
            'containers': [{'name': 'c', 'image': 'registry.k8s.io/pause:3.10',
                            'resources': {'requests': {'cpu': str(cpu), 'memory': f'{64 * cpu}Mi'}}}]}


def controller(kind, name, uid):
    """An owner reference of a pod, and an owner of a Reservation."""
    return {'apiVersion': 'apps/v1', 'kind': kind, 'name': name, 'uid': uid, 'controller': True}


def labelled(**labels):
    return {'labelSelector': {'matchLabels': labels}}


class Scheduler:
    """koord-scheduler with the profile that is shipped."""

    def __init__(self, lab, place, name, lease=False, more=('--port=0',)):
        self.log = f'{lab.dir}/{place.name}-{name}.log'
        words = ['--kubeconfig', place.scheduler_config, *more, '--secure-port=0', '-v=4']
        if lease:
            words += ['--leader-elect-lease-duration=20s', '--leader-elect-renew-deadline=16s',
                      '--leader-elect-retry-period=1s']
        else:
            words.append('--leader-elect=false')
        env = dict(os.environ)
        env['ASAN_OPTIONS'] = 'detect_leaks=1:' + env.get('ASAN_OPTIONS', '')
        with open(self.log, 'ab') as log:
            self.p = subprocess.Popen([program('../../src/main/koord-scheduler'), *words], stdin=subprocess.DEVNULL,
                                      stdout=log, stderr=log, env=env)
        lab.closers.append(self.kill)

    def text(self):
        with open(self.log, encoding='utf-8', errors='replace') as f:
            return f.read()

    def leads(self):
        return self.p.poll() is None and '"Started leading"' in self.text()

    def lost(self):
        """It has ended because it lost its lease; anything else is a failure."""
        if self.p.poll() is None:
            return False
        if self.p.returncode != 1 or 'Leaderelection lost' not in self.text() or SANITIZER.search(self.text()):
            raise Failed(f'a replica ended: {self.text()[-1500:]}')
        return True

    def kill(self):
        if self.p.poll() is None:
            self.p.kill()
            self.p.wait()

    def end(self):
        """Why it did not end well; '' when it did."""
        if self.p.poll() is None:
            self.p.send_signal(signal.SIGTERM)
        code = self.p.wait(PATIENCE_S)
        found = SANITIZER.search(self.text())
        return self.text()[-1500:] if code or found else ''


def embedded(lab):
    up = Up(lab, '--components=apiserver')
    place = Place('embedded', int(up.url.rsplit(':', 1)[1].strip('/')), up.tls, up.token, f'{up.data}/kubeconfig',
                  f'{up.data}/kubeconfig')
    place.call('POST', '/api/v1/namespaces', {'metadata': {'name': NS}})
    return place


def scheduler_account(lab):
    """The kinds, and a kubeconfig with the account and the roles that are shipped for the scheduler."""
    c = lab.cluster
    if not os.access(KUBECTL, os.X_OK):
        subprocess.run([f'{ROOT}/scripts/kube-build', 'kubectl'], check=True, stdout=sys.stderr)
    c.namespace('koordinator-system')
    c.kubectl('apply', '-f', f'{ROOT}/packaging/crds', '-f', f'{ROOT}/packaging/rbac/koord-scheduler.yaml')
    c.established()
    token = c.run('sa-token', 'koordinator-system', 'koord-scheduler', '3600')
    return lab.kubeconfig('scheduler.kubeconfig', [f'token: {token}'])


def real(lab):
    """With the scheduler's own account; lab.up() may say that there is none to be had."""
    lab.up()
    c, account = lab.cluster, scheduler_account(lab)
    c.namespace(NS)
    return Place('real', c.port, c.tls, c.token, c.config(), account)
