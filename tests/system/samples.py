"""samples.py - a small valid object of every kind in our table, for tests that go over all of them."""
import subprocess

from lab import program

POD_SPEC = {'containers': [{'name': 'c', 'image': 'i', 'resources': {'requests': {'cpu': '100m', 'memory': '1Gi'}}}]}
TEMPLATE = {'metadata': {'labels': {'a': 'b'}}, 'spec': POD_SPEC}
SELECTOR = {'matchLabels': {'a': 'b'}}
ABOUT = {'kind': 'Pod', 'namespace': 'kinds', 'name': 'x', 'apiVersion': 'v1'}
ZONE = {'name': 'node-0', 'type': 'Node',
        'resources': [{'name': 'cpu', 'capacity': '4', 'allocatable': '4', 'available': '3500m'}]}
# What an object of each kind has besides its name; kinds that are not here need nothing.
SAMPLES = {
    'pods': {'spec': POD_SPEC},
    'configmaps': {'data': {'k': 'v'}},
    'services': {'spec': {'ports': [{'port': 80}]}},
    'events': {'involvedObject': ABOUT, 'reason': 'Testing', 'message': 'm', 'type': 'Normal'},
    'events.v1.events.k8s.io': {'regarding': ABOUT, 'reason': 'Testing', 'action': 'Acting', 'note': 'n',
                                'type': 'Normal', 'reportingController': 'test/c', 'reportingInstance': 'c-1',
                                'eventTime': '2026-01-01T00:00:00.000000Z'},
    'priorityclasses.v1.scheduling.k8s.io': {'value': 7},
    'poddisruptionbudgets.v1.policy': {'spec': {'minAvailable': '50%', 'selector': SELECTOR}},
    'deployments.v1.apps': {'spec': {'selector': SELECTOR, 'template': TEMPLATE}},
    'replicasets.v1.apps': {'spec': {'selector': SELECTOR, 'template': TEMPLATE}},
    'statefulsets.v1.apps': {'spec': {'serviceName': 's', 'selector': SELECTOR, 'template': TEMPLATE}},
    'daemonsets.v1.apps': {'spec': {'selector': SELECTOR, 'template': TEMPLATE}},
    'replicationcontrollers': {'spec': {'selector': {'a': 'b'}, 'template': TEMPLATE}},
    'jobs.v1.batch': {'spec': {'template': {'spec': dict(POD_SPEC, restartPolicy='Never')}}},
    'persistentvolumes': {'spec': {'capacity': {'storage': '1Gi'}, 'accessModes': ['ReadWriteOnce'],
                                   'hostPath': {'path': '/tmp/x'}}},
    'persistentvolumeclaims': {'spec': {'accessModes': ['ReadWriteOnce'],
                                        'resources': {'requests': {'storage': '1Gi'}}}},
    'storageclasses.v1.storage.k8s.io': {'provisioner': 'example.com/p'},
    'csinodes.v1.storage.k8s.io': {'spec': {'drivers': []}},
    'csidrivers.v1.storage.k8s.io': {'spec': {}},
    'csistoragecapacities.v1.storage.k8s.io': {'storageClassName': 's', 'capacity': '1Gi'},
    'volumeattachments.v1.storage.k8s.io': {'spec': {'attacher': 'a', 'nodeName': 'n',
                                                     'source': {'persistentVolumeName': 'x'}}},
    'resourceclaims.v1.resource.k8s.io': {'spec': {}},
    'resourceslices.v1.resource.k8s.io': {'spec': {'driver': 'd.example.com', 'nodeName': 'n', 'pool': {
        'name': 'p', 'generation': 1, 'resourceSliceCount': 1}}},
    'deviceclasses.v1.resource.k8s.io': {'spec': {}},
    'nodemetrics': {'spec': {'metricCollectPolicy': {'aggregateDurationSeconds': 300, 'reportIntervalSeconds': 60}}},
    'nodeslos': {'spec': {'cpuBurstStrategy': {'policy': 'auto', 'cpuBurstPercent': 1000}}},
    'reservations': {'spec': {'template': TEMPLATE, 'owners': [{'labelSelector': SELECTOR}], 'ttl': '1h'}},
    'devices': {'spec': {'devices': [{'type': 'gpu', 'id': 'g', 'minor': 0, 'health': True, 'resources': {
        'koordinator.sh/gpu-core': '100', 'koordinator.sh/gpu-memory': '16Gi'}}]}},
    'podmigrationjobs': {'spec': {'podRef': {'namespace': 'n', 'name': 'p'}, 'mode': 'ReservationFirst', 'ttl': '5m'}},
    'podgroups': {'spec': {'minMember': 3, 'scheduleTimeoutSeconds': 60}},
    'elasticquotas': {'spec': {'min': {'cpu': '1'}, 'max': {'cpu': '2'}}},
    'elasticquotaprofiles': {'spec': {'quotaName': 'q', 'nodeSelector': SELECTOR}},
    'clustercolocationprofiles': {'spec': {'selector': SELECTOR, 'qosClass': 'BE', 'koordinatorPriority': 5500}},
    'noderesourcetopologies': {'topologyPolicies': ['None'], 'zones': [ZONE]},
    'clusternetworktopologies': {'spec': {'networkTopologySpec': [{'topologyLayer': 'NodeTopologyLayer'}]}},
    'scheduleexplanations': {'spec': {'questionObjectKey': 'ns/pod'}},
    'recommendations': {'spec': {'target': {'type': 'workload', 'workload': {'kind': 'Deployment', 'name': 'd'}}}},
}
# Real values, to see that they get there and nothing else changes.
STATUS = {
    'pods': {'phase': 'Running', 'podIP': '10.0.0.1', 'podIPs': [{'ip': '10.0.0.1'}]},
    'nodes': {'capacity': {'cpu': '4', 'kubernetes.io/batch-cpu': '2k'}},
    'nodemetrics': {'updateTime': '2026-01-01T00:00:00Z', 'nodeMetric': {'nodeUsage': {'resources': {'cpu': '1500m'}}}},
    'reservations': {'phase': 'Available', 'nodeName': 'n'},
    'podmigrationjobs': {'phase': 'Running'},
}
OUR_GROUPS = ('scheduling.sigs.k8s.io', 'topology.node.k8s.io')


class Kind:
    """A line of kube_probe kinds."""

    def __init__(self, line):
        self.label, self.api_version, self.kind, scope, status = line.split(' ')
        self.namespaced, self.has_status = scope == 'namespaced', status == 'status'
        self.plural = self.label.split('.')[0]
        self.group = self.api_version.rpartition('/')[0]
        self.word = f'{self.api_version}/{self.kind}'
        # Events of core/v1 and of events.k8s.io are the same objects.
        self.name = 'y' if self.group == 'events.k8s.io' else 'x'
        self.key = f'kinds/{self.name}' if self.namespaced else self.name
        self.is_ours = 'koordinator.sh' in self.group or self.group in OUR_GROUPS
        folder = f'/apis/{self.api_version}' if self.group else '/api/v1'
        self.path = folder + ('/namespaces/kinds' if self.namespaced else '') + f'/{self.plural}'

    def sample(self):
        return SAMPLES.get(self.label) or SAMPLES.get(self.plural if self.is_ours or not self.group else '', {})


def all_kinds():
    out = subprocess.run([program('kube_probe'), 'kinds'], capture_output=True, text=True, check=True)
    return [Kind(line) for line in out.stdout.splitlines()]
