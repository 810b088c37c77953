"""desched_world.py - generated clusters for tests/system/test_deschedulers, written straight into etcd.

A client of the API can neither choose how old a pod is nor put back one that was evicted. Both are needed here, so the
objects go where kube-apiserver reads them: the same world again, to the byte, before each program's turn.
"""
import base64
import http.client
import json
import random
import time
import urllib.parse
import uuid

HOST, ZONE = 'kubernetes.io/hostname', 'topology.kubernetes.io/zone'
NAMESPACES = ('blue', 'green', 'red')
DONGLE = 'example.com/dongle'
EVICT = 'descheduler.alpha.kubernetes.io/evict'
PREFER_NO = 'descheduler.alpha.kubernetes.io/prefer-no-eviction'
OPERATIONS = 100  # of one etcd transaction
FOLDERS = {'Pod': 'pods', 'Node': 'minions', 'Namespace': 'namespaces', 'PodDisruptionBudget': 'poddisruptionbudgets',
           'PersistentVolumeClaim': 'persistentvolumeclaims', 'PriorityClass': 'priorityclasses'}
REASONS = ('OOMKilled', 'Error', 'Evicted', 'ContainerCannotRun')


def stamp(ago):
    return time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime(time.time() - ago))


class Etcd:
    """etcd by its JSON gateway."""

    def __init__(self, folder):
        with open(f'{folder}/etcd.url', encoding='ascii') as f:
            self.c = http.client.HTTPConnection(urllib.parse.urlsplit(f.read().strip()).netloc, timeout=60)

    def ask(self, what, body):
        self.c.request('POST', f'/v3/kv/{what}', json.dumps(body))
        r = self.c.getresponse()
        text = r.read()
        if r.status != 200:
            raise ValueError(f'etcd {what}: {text[:300]}')
        return json.loads(text)

    def commit(self, operations):
        for i in range(0, len(operations), OPERATIONS):
            self.ask('txn', {'success': operations[i:i + OPERATIONS]})

    @staticmethod
    def word(text):
        return base64.b64encode(text.encode()).decode()

    def put(self, key, value):
        return {'requestPut': {'key': self.word(key), 'value': self.word(json.dumps(value))}}

    def drop(self, prefix):
        """All keys below a folder, whose name ends with a slash: '0' is the character after it."""
        return {'requestDeleteRange': {'key': self.word(prefix), 'rangeEnd': self.word(prefix[:-1] + '0')}}


class World:
    """Nodes, pods of workloads, budgets and claims from a seed."""

    def __init__(self, seed):
        self.r = random.Random(seed)
        self.objects, self.pods, self.partial = [], {}, set()
        for name in NAMESPACES:
            self.add('v1', 'Namespace', name, {'spec': {'finalizers': ['kubernetes']}, 'status': {'phase': 'Active'}},
                     labels={'kubernetes.io/metadata.name': name, 'colour': name})
        self.add('scheduling.k8s.io/v1', 'PriorityClass', 'middle', {'value': 8000, 'globalDefault': False})
        self.nodes = [self.node(i) for i in range(self.r.randint(6, 9))]
        self.workloads = [self.workload(i) for i in range(self.r.randint(14, 18))]

    def add(self, version, kind, name, body, ns=None, age=86400, **meta):
        o = {'apiVersion': version, 'kind': kind, **body}
        o['metadata'] = {'name': name, 'uid': str(uuid.UUID(int=self.r.getrandbits(128))), 'creationTimestamp': stamp(age), **meta}
        if ns:
            o['metadata']['namespace'] = ns
        self.objects.append(o)
        return o

    # ---- nodes ----

    def node(self, i):
        r = self.r
        taints = []
        if i % 4 == 2:
            taints.append({'key': 'team', 'value': r.choice(['batch', 'web']), 'effect': 'NoSchedule'})
        if i % 5 == 4:
            taints.append({'key': 'old', 'effect': r.choice(['PreferNoSchedule', 'NoExecute'])})
        amounts = {'cpu': str(r.choice([2, 4, 8])), 'memory': f'{r.choice([4, 8, 16])}Gi', 'pods': str(r.choice([20, 30, 110]))}
        if i % 3 == 0:
            amounts[DONGLE] = '8'
        ready = 'False' if i == 5 and r.random() < 0.5 else 'True'
        return self.add('v1', 'Node', f'n{i}', {
            'spec': {'taints': taints, 'unschedulable': i == 3 and r.random() < 0.7},
            'status': {'capacity': amounts, 'allocatable': amounts, 'conditions': [{'type': 'Ready', 'status': ready}]}},
            labels={HOST: f'n{i}', ZONE: f'z{i % 3}', 'disk': r.choice(['ssd', 'hdd']), 'size': amounts['cpu']})

    # ---- workloads ----

    def where(self, app):
        """Which nodes the pods of a workload want; some of it is not true any more."""
        r, spec, kind = self.r, {}, self.r.randrange(14)
        match = {'labelSelector': {'matchLabels': {'app': app}}}
        disk = {'matchExpressions': [{'key': 'disk', 'operator': r.choice(['In', 'NotIn']), 'values': ['ssd']}]}
        if kind == 0:
            spec['nodeSelector'] = {'disk': r.choice(['ssd', 'hdd', 'tape'])}
        elif kind in (1, 2):
            spec['affinity'] = {'nodeAffinity': {'requiredDuringSchedulingIgnoredDuringExecution': {'nodeSelectorTerms': [disk]}}}
        elif kind in (3, 4):
            spec['affinity'] = {'nodeAffinity': {'preferredDuringSchedulingIgnoredDuringExecution': [
                {'weight': r.randint(1, 50), 'preference': disk},
                {'weight': r.randint(1, 50), 'preference': {'matchExpressions': [{'key': ZONE, 'operator': 'In', 'values': ['z1']}]}}]}}
        elif kind in (5, 6):
            spec['affinity'] = {'podAntiAffinity': {'requiredDuringSchedulingIgnoredDuringExecution': [
                {**match, 'topologyKey': r.choice([HOST, HOST, ZONE])}]}}
        elif kind == 7:
            spec['affinity'] = {'podAntiAffinity': {'requiredDuringSchedulingIgnoredDuringExecution': [
                {'labelSelector': {'matchLabels': {'tier': 'db'}}, 'topologyKey': HOST,
                 'namespaces': r.sample(NAMESPACES, 2)}]}}
        elif kind in (8, 9, 10, 11):
            spec['topologySpreadConstraints'] = [{
                **match, 'maxSkew': r.randint(1, 2), 'topologyKey': r.choice([ZONE, ZONE, HOST]),
                'whenUnsatisfiable': r.choice(['DoNotSchedule', 'DoNotSchedule', 'ScheduleAnyway']),
                **r.choice([{}, {'nodeTaintsPolicy': 'Honor'}, {'nodeAffinityPolicy': 'Ignore'}, {'matchLabelKeys': ['version']}])}]
        if r.random() < 0.4:
            spec['tolerations'] = r.choice([[{'operator': 'Exists'}], [{'key': 'team', 'operator': 'Exists'}],
                                            [{'key': 'team', 'operator': 'Equal', 'value': 'web', 'effect': 'NoSchedule'}]])
        return spec

    def resources(self):
        r = self.r
        amounts = {'cpu': f'{r.choice([50, 130, 270, 410])}m', 'memory': f'{r.choice([64, 200, 520, 900])}Mi'}
        if r.random() < 0.2:
            amounts[DONGLE] = '1'
        kind = r.randrange(5)
        if kind == 0:
            return {}
        return {'requests': amounts, 'limits': amounts} if kind == 1 else {'requests': amounts}

    def volumes(self, i, ns, spec):
        kind = self.r.randrange(10)
        if kind == 0:
            spec['volumes'] = [{'name': 'v', 'emptyDir': {}}]
        elif kind == 1:
            spec['volumes'] = [{'name': 'v', 'hostPath': {'path': '/x'}}]
        elif kind in (2, 3):
            spec['volumes'] = [{'name': 'v', 'persistentVolumeClaim': {'claimName': f'c{i}'}}]
            if kind == 2:
                self.add('v1', 'PersistentVolumeClaim', f'c{i}', {
                    'spec': {'accessModes': ['ReadWriteOnce'], 'storageClassName': self.r.choice(['fast', 'slow']),
                             'resources': {'requests': {'storage': '1Gi'}}}, 'status': {'phase': 'Bound'}}, ns=ns)

    def workload(self, i):
        r, app, ns = self.r, f'w{i}', self.r.choice(NAMESPACES)
        kind = r.choice(['ReplicaSet'] * 6 + ['StatefulSet', 'Job', 'ReplicationController', 'DaemonSet', None])
        spec = {'terminationGracePeriodSeconds': r.choice([0, 30]), 'schedulerName': 'default-scheduler', **self.where(app),
                'containers': [{'name': f'c{k}', 'image': f'x:{k}', 'resources': self.resources()} for k in range(r.choice([1, 1, 2]))]}
        if r.random() < 0.1:
            spec['initContainers'] = [{'name': 'i', 'image': 'x', 'resources': {'requests': {'cpu': '600m'}}}]
        if r.random() < 0.85:
            spec['priority'] = 2000000001 if r.random() < 0.06 else 1000 * i
        self.volumes(i, ns, spec)
        meta = {'labels': {'app': app, 'tier': r.choice(['db', 'web']), 'version': 'v1'}, 'annotations': {}}
        if kind:
            meta['ownerReferences'] = [{'apiVersion': 'apps/v1', 'kind': kind, 'name': app, 'controller': True,
                                        'uid': str(uuid.UUID(int=r.getrandbits(128)))}]
        if r.random() < 0.2:
            key = r.choice([EVICT, PREFER_NO, PREFER_NO, 'kubernetes.io/config.mirror', 'kubernetes.io/config.source'])
            meta['annotations'][key] = r.choice(['api', 'file']) if key.endswith('source') else 'x'
        crowd = r.sample(self.nodes, 2)  # where most of its pods are
        count = r.randint(1, 9)
        for k in range(count):
            node = r.choice(crowd if r.random() < 0.75 else self.nodes)
            self.pod(f'{app}-{k}', app, ns, node['metadata']['name'], spec, meta)
        if kind and r.random() < 0.4:
            self.budget(app, ns, count)
        return app

    def budget(self, app, ns, count):
        allowed = self.r.choice([0, 0, 1, 2, count])
        if 0 < allowed < count:
            self.partial.add(app)
        self.add('policy/v1', 'PodDisruptionBudget', app, {
            'spec': {'minAvailable': 1, 'selector': {'matchLabels': {'app': app}}},
            'status': {'observedGeneration': 1, 'disruptionsAllowed': allowed, 'currentHealthy': count,
                       'desiredHealthy': max(count - allowed, 0), 'expectedPods': count}}, ns=ns, generation=1)

    # ---- pods ----

    def container(self, name, phase):
        r = self.r
        state = {'running': {'startedAt': stamp(50)}}
        if phase == 'Failed':
            state = {'terminated': {'exitCode': r.choice([1, 2, 137]), 'reason': r.choice(REASONS)}}
        elif phase == 'Succeeded':
            state = {'terminated': {'exitCode': 0, 'reason': 'Completed'}}
        elif r.random() < 0.15:
            state = {'waiting': {'reason': r.choice(['CrashLoopBackOff', 'ImagePullBackOff'])}}
        return {'name': name, 'image': 'x', 'imageID': 'x', 'ready': 'running' in state, 'state': state,
                'restartCount': r.choice([0, 0, 0, 3, 7, 20])}

    def pod(self, name, app, ns, node, spec, meta):
        r = self.r
        phase = r.choice(['Running'] * 12 + ['Failed', 'Failed', 'Succeeded', 'Pending'])
        age = r.choice([250, 550, 1150, 4000])
        status = {'phase': phase, 'conditions': [{'type': 'Ready', 'status': 'True' if phase == 'Running' else 'False',
                                                  'reason': r.choice(['', 'Slow']), 'lastTransitionTime': stamp(age - 100)}],
                  'containerStatuses': [self.container(c['name'], phase) for c in spec['containers']]}
        if phase != 'Pending' or r.random() < 0.5:
            status['startTime'] = stamp(age - 20)
        if phase == 'Failed' and r.random() < 0.3:
            status['reason'] = 'NodeLost'
        if 'initContainers' in spec:
            status['initContainerStatuses'] = [self.container('i', phase)]
        more = {'deletionTimestamp': stamp(0), 'deletionGracePeriodSeconds': 30} if r.random() < 0.04 else {}
        self.pods[f'{ns}/{name}'] = self.add('v1', 'Pod', name, {'spec': {**spec, 'nodeName': node}, 'status': status}, ns=ns, age=age,
                                             **meta, **more)

    # ---- into etcd ----

    def store(self, etcd):
        """The world as it was made, and nothing besides."""
        etcd.commit([etcd.drop(f'/registry/{folder}/') for kind, folder in FOLDERS.items() if kind not in ('Namespace', 'PriorityClass')] +
                    [etcd.drop('/registry/configmaps/koordinator-system/'), etcd.drop('/registry/events/')])
        etcd.commit([etcd.put('/'.join(['/registry', FOLDERS[o['kind']], *filter(None, [o['metadata'].get('namespace'), o['metadata']['name']])]), o)
                     for o in self.objects])
