"""cluster_migrate - from Koordinator 1.8 to ours by `helm upgrade`, and back by `helm rollback`: a part of test_cluster.

Nobody notices: pods that run are not touched, requests to a service are answered throughout, and every pod that is created meanwhile
is placed, once. Pods of another scheduler's are not ours.
"""
import contextlib
import http.client
import json
import threading
import time
from collections import Counter

import koordinator_release
import node_image
from lab import FULL, HERE, PATIENCE_S, Failed
from node import shell, sleep
from node_host import wait_until
from real_cluster import CHART, SYSTEM

RELEASE = 'koordinator'
USERS = 40 if FULL else 12
PODS = '/api/v1/namespaces/default/pods'
HTTP_PORT = 8080
PAUSE_S = 1.0  # between two new pods
ARRIVALS_MOST = 30  # of them
# A release on one node of two CPUs: whatever an operator would set there.
SMALL = [word for part in ('manager', 'scheduler', 'descheduler') for word in ('--set', f'{part}.resources.requests.cpu=10m')]


def pod(name, scheduler, command, labels=None, **more):
    return {'metadata': {'name': name, 'labels': {'part': 'migrate', **(labels or {})}, **more.pop('metadata', {})}, 'spec': {
        'schedulerName': scheduler, 'terminationGracePeriodSeconds': 1, 'automountServiceAccountToken': False, 'containers': [{
            'name': 'main', 'image': node_image.BUSYBOX, 'imagePullPolicy': 'Never', 'command': command,
            'resources': more.pop('resources', {})}], **more}}


def users(real):
    """Pods as Koordinator has them: services with a QoS class, and batch pods with its resources and annotations."""
    batch = {'kubernetes.io/batch-cpu': '10', 'kubernetes.io/batch-memory': '8Mi'}
    for i in range(USERS - 1):
        if i % 3 == 0:
            made = pod(f'user-{i}', 'koord-scheduler', sleep(), {'koordinator.sh/qosClass': 'BE', 'koordinator.sh/priority-class': 'koord-batch'},
                       resources={'requests': batch, 'limits': batch}, priorityClassName='koord-batch', metadata={'annotations': {
                           'node.koordinator.sh/extended-resource-spec': json.dumps({'containers': {'main': {'requests': batch, 'limits': batch}}})}})
        else:
            made = pod(f'user-{i}', 'koord-scheduler', sleep(), {'koordinator.sh/qosClass': 'LS'}, priorityClassName='koord-prod')
        real.lab.cluster.make(PODS, made)
    serve = shell(f'mkdir -p /tmp/www && echo well > /tmp/www/index.html && exec httpd -f -p {HTTP_PORT} -h /tmp/www')
    real.lab.cluster.make(PODS, pod('user-service', 'koord-scheduler', serve, {'koordinator.sh/qosClass': 'LS'}))
    names = [f'user-{i}' for i in range(USERS - 1)] + ['user-service']
    real.node.wait_phase(names)
    return names


def lives(real, names):
    """Who they are and since when: what must not change."""
    found = {}
    for p in real.pods('default', 'part=migrate'):
        if p['metadata']['name'] in names:
            found[p['metadata']['name']] = (p['metadata']['uid'], p['status']['startTime'], [
                (c['containerID'], c['restartCount'], c['state']['running']['startedAt']) for c in p['status']['containerStatuses']])
    return found


class Repeated:
    """Something that is done again and again beside the test, until the end of the block."""

    def __init__(self, work, pause_s):
        self.work, self.pause_s, self.over = work, pause_s, threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)

    def run(self):
        while not self.over.is_set():
            self.work()
            self.over.wait(self.pause_s)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join(PATIENCE_S)


class Traffic:
    """Requests to the service, each on a connection of its own, and again on another one as clients do: a machine that is busy
    elsewhere may let one stall. A service that is away fails both."""

    def __init__(self, address):
        self.address, self.answered, self.failed = address, 0, []

    def ask(self):
        why = self.ask_once()
        if why:
            why = self.ask_once()
        if why:
            self.failed.append(why)
        else:
            self.answered += 1

    def ask_once(self):
        """What went wrong, or None."""
        c = http.client.HTTPConnection(self.address, HTTP_PORT, timeout=20)
        try:
            c.request('GET', '/')
            r = c.getresponse()
            if (r.status, r.read()) != (200, b'well\n'):
                raise OSError(f'status {r.status}')
            return None
        except (OSError, http.client.HTTPException) as e:
            return f'{time.strftime("%T")} {type(e).__name__}: {e}'
        finally:
            c.close()


class Arrivals:
    """Short pods for koord-scheduler, whoever that is. Only so many wait or run at once: a kubelet on a busy machine may be slower than
    one per second, and the node takes 110 pods."""

    def __init__(self, real):
        self.real, self.names, self.refused = real, [], []

    def unfinished(self):
        return sum(p['metadata']['name'].startswith('new-') and p['status'].get('phase') not in ('Succeeded', 'Failed')
                   for p in self.real.pods('default', 'part=migrate'))

    def make(self):
        with contextlib.suppress(OSError, http.client.HTTPException, Failed):
            if self.unfinished() >= ARRIVALS_MOST:
                return
        name = f'new-{len(self.names)}'
        try:
            self.real.lab.cluster.make(PODS, pod(name, 'koord-scheduler', ['true'], restartPolicy='Never'))
            self.names.append(name)
        except (Failed, OSError, http.client.HTTPException) as e:
            self.refused.append(f'{name}: {e}')


def bindings(real):
    """How often each pod of the namespace default was bound, or was to be bound again. A scheduler that ends in the middle of a
    request has bound nobody."""
    asked = Counter()
    with open(real.audit, encoding='utf-8') as f:
        for line in f:
            e = json.loads(line)
            what = e.get('objectRef', {})
            if what.get('subresource') == 'binding' and what.get('namespace') == 'default' and e['responseStatus']['code'] in (201, 409):
                asked[what['name']] += 1
    return asked


def switch(real, names, before, step, check):
    """One of the two ways: when all pods of the release are there, those of users are as they were."""
    began = time.monotonic()
    step()
    real.ready(3 * PATIENCE_S)
    print(f'# {time.monotonic() - began:.1f} s')
    after = lives(real, names)
    changed = {n: (before[n], after.get(n)) for n in before if after.get(n) != before[n]}
    check(f'UIDs, restarts and start times of all {len(before)} pods are unchanged', len(before) == USERS and not changed, changed)


def leader(real):
    """The image of the pod that holds koord-scheduler's lease; '' when nobody does."""
    holder = (real.get(f'/apis/coordination.k8s.io/v1/namespaces/{SYSTEM}/leases/koord-scheduler') or {}).get('spec', {}).get('holderIdentity') or ''
    return next((p['spec']['containers'][0]['image'] for p in real.pods(selector='koord-app=koord-scheduler')
                 if holder.startswith(p['metadata']['name'])), '')


def ours_leads(real):
    return leader(real) not in ('', koordinator_release.SCHEDULER)


def clean(real):
    """What the scenarios before have left, when there were any."""
    if real.helm('status', 'koord', good=False).returncode == 0:
        real.helm('uninstall', 'koord', '--no-hooks')
    real.api('DELETE', f'/api/v1/namespaces/{SYSTEM}')
    for c in real.items('/apis/apiextensions.k8s.io/v1/customresourcedefinitions'):
        real.api('DELETE', f'/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{c["metadata"]["name"]}')
    wait_until('the namespace is gone', lambda: not real.get(f'/api/v1/namespaces/{SYSTEM}'), PATIENCE_S)
    wait_until('the CRDs are gone', lambda: not real.items('/apis/apiextensions.k8s.io/v1/customresourcedefinitions'), PATIENCE_S)


def adopted(real, check):
    """What koord has made of what it found."""
    slo = '/apis/slo.koordinator.sh/v1alpha1'
    wait_until('koord-manager leads', lambda: (real.get(f'/apis/coordination.k8s.io/v1/namespaces/{SYSTEM}/leases/koordinator-manager')[
        'spec']['holderIdentity'] or '').startswith('koord-manager-'), PATIENCE_S)
    check('a lease that another program held is taken over when it is due', True)
    wait_until('koordlet reports', lambda: real.get(f'{slo}/nodemetrics/lab-node').get('status', {}).get('podsMetric'), PATIENCE_S)
    check('koordlet reports to the NodeMetric that was there', True)
    check('the NodeSLO stays', real.get(f'{slo}/nodeslos/lab-node')['spec']['resourceUsedThresholdWithBE']['enable'] is True)


def migrate(real, check):
    clean(real)
    koordinator_release.install(real, RELEASE, '-f', f'{HERE}/values/chart-1.8.0.yaml', *SMALL)
    # The load of this machine is not the test's: the node takes pods however busy it is.
    real.patch('/api/v1/nodes/lab-node', {'metadata': {'annotations': {
        'scheduling.koordinator.sh/usage-thresholds': json.dumps({'usageThresholds': {'cpu': 1000, 'memory': 1000}})}}})
    names = users(real)
    before = lives(real, names)
    values = f'{real.lab.dir}/values-of-release.yaml'
    with open(values, 'w', encoding='utf-8') as f:
        f.write(real.helm('get', 'values', RELEASE, '-o', 'yaml').stdout)
    real.lab.cluster.make(PODS, pod('other-one', 'another-scheduler', sleep()))
    other = real.get(f'{PODS}/other-one')
    address = next(p for p in real.pods('default', 'part=migrate') if p['metadata']['name'] == 'user-service')['status']['podIP']
    traffic, arrivals = Traffic(address), Arrivals(real)
    with Repeated(traffic.ask, 0.05), Repeated(arrivals.make, PAUSE_S):
        # Its lease may be on its way from one replica to the other.
        wait_until('a real kube-scheduler leads', lambda: leader(real) == koordinator_release.SCHEDULER, PATIENCE_S)
        check('before: a real kube-scheduler is koord-scheduler', True)
        switch(real, names, before, lambda: real.helm('upgrade', RELEASE, CHART, '-f', values, *real.values()), check)
        wait_until('our scheduler leads', lambda: ours_leads(real), PATIENCE_S)
        adopted(real, check)
        switch(real, names, before, lambda: real.helm('rollback', RELEASE, '1'), check)
        wait_until('the old scheduler leads', lambda: leader(real) == koordinator_release.SCHEDULER, PATIENCE_S)
        made = len(arrivals.names)
        wait_until('there are new pods', lambda: len(arrivals.names) > made + 2, PATIENCE_S)
    judge(real, traffic, arrivals, check)
    check('a pod of another scheduler was not touched', real.get(f'{PODS}/other-one') == other, real.get(f'{PODS}/other-one'))


def judge(real, traffic, arrivals, check):
    check('requests flow', not traffic.failed and traffic.answered > 10, f'{traffic.failed[:3]}, {len(traffic.failed)} of {traffic.answered}')
    check('every pod was taken', not arrivals.refused, arrivals.refused[:3])

    def waiting():
        have = {p['metadata']['name']: p for p in real.pods('default', 'part=migrate')}
        return [n for n in arrivals.names if not have[n]['spec'].get('nodeName')]
    wait_until(f'all of {len(arrivals.names)} new pods are placed', lambda: not waiting(), PATIENCE_S)
    check('pods that were created throughout are all placed', True)
    asked = bindings(real)
    many = {n: asked[n] for n in arrivals.names if asked[n] != 1}
    check('each of them once', not many, many)
    print(f'# {traffic.answered} requests, {len(arrivals.names)} pods')
