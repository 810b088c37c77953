"""koordinator_release - a cluster as Koordinator 1.8 leaves it, for the upgrade to ours and the way back.

A chart with the objects of chart 1.8.0 by their names (api-config.md 9), and what its programs have made besides: leases, NodeSLO and
NodeMetric, batch resources, the certificates and templates of webhooks. koord-scheduler is a real kube-scheduler that serves that
name; the other programs are stand-ins that sleep.
"""
import base64
import json
import os
import time

import node_image
from lab import PATIENCE_S, ROOT, Failed
from node import sleep
from node_host import write
from real_cluster import BIN, SYSTEM

TAG = 'v1.8.0'
SCHEDULER = f'localhost/koordinator-sh/koord-scheduler:{TAG}'
HEALTH_PORT = 10259
SCHEDULER_CONFIG = {
    'apiVersion': 'kubescheduler.config.k8s.io/v1', 'kind': 'KubeSchedulerConfiguration',
    'leaderElection': {'leaderElect': True, 'resourceLock': 'leases', 'resourceName': 'koord-scheduler', 'resourceNamespace': SYSTEM},
    'profiles': [{'schedulerName': 'koord-scheduler'}]}
READ, ALL = ['get', 'list', 'watch'], ['*']
GROUPS = ['config.koordinator.sh', 'slo.koordinator.sh', 'scheduling.koordinator.sh', 'topology.node.k8s.io', 'scheduling.sigs.k8s.io']
# api-config.md 5.2, as far as a stand-in needs it.
ROLES = {
    'koord-manager': [([''], ['configmaps', 'namespaces', 'pods'], READ), (GROUPS, ALL, ALL)],
    'koord-scheduler': [(['coordination.k8s.io'], ['leases'], ['create', 'get', 'update']), ([''], ['pods', 'nodes'], ['patch']), (GROUPS, ALL, READ)],
    'koord-descheduler': [([''], ['pods'], ALL), (GROUPS, ALL, ALL)],
    'koordlet': [([''], ['nodes', 'pods'], READ), (GROUPS, ALL, ALL)],
}
PATHS = {'mutating': ('mpod-create', '/mutate-pod'), 'validating': ('vpod', '/validate-pod')}


def named(api, kind, name, namespace=SYSTEM, **body):
    return {'apiVersion': api, 'kind': kind, 'metadata': {'name': name, **({'namespace': namespace} if namespace else {})}, **body}


def rights():
    rbac, group = 'rbac.authorization.k8s.io/v1', 'rbac.authorization.k8s.io'
    for account, rules in ROLES.items():
        yield named('v1', 'ServiceAccount', account)
        yield named(rbac, 'ClusterRole', f'{account}-role', None,
                    rules=[{'apiGroups': g, 'resources': r, 'verbs': v} for g, r, v in rules])
        bound = [(f'{account}-rolebinding', f'{account}-role')]
        if account == 'koord-scheduler':
            bound = [('koord-scheduler-rolebinding-custom', 'koord-scheduler-role'), ('koord-scheduler-rolebinding', 'system:kube-scheduler'),
                     ('koord-scheduler-rolebinding-volume', 'system:volume-scheduler')]
        for binding, role in bound:
            yield named(rbac, 'ClusterRoleBinding', binding, None, roleRef={'apiGroup': group, 'kind': 'ClusterRole', 'name': role},
                        subjects=[{'kind': 'ServiceAccount', 'name': account, 'namespace': SYSTEM}])
    yield named(rbac, 'Role', 'koord-leader-election-role', rules=[{'apiGroups': ['coordination.k8s.io'], 'resources': ['leases'], 'verbs': ALL}])


def workload(kind, name, container, **spec):
    label = {'koord-app': name}
    made = named('apps/v1', kind, name, spec={'selector': {'matchLabels': label}, **spec, 'template': {
        'metadata': {'labels': label}, 'spec': {
            'serviceAccountName': name if name in ROLES else 'default', 'terminationGracePeriodSeconds': 10, 'tolerations': [{'operator': 'Exists'}],
            'containers': [{'name': name.removeprefix('koord-'), 'imagePullPolicy': 'Never', **container}],
            'volumes': [{'name': 'config', 'configMap': {'name': 'koord-scheduler-config', 'items': [
                {'key': 'koord-scheduler-config', 'path': 'koord-scheduler.config'}]}}]}}})
    made['metadata']['labels'] = label
    return made


def workloads():
    rolling = {'strategy': {'type': 'RollingUpdate', 'rollingUpdate': {'maxSurge': '100%', 'maxUnavailable': 0}}, 'minReadySeconds': 3}
    asleep = {'image': node_image.BUSYBOX, 'command': sleep()}
    yield workload('Deployment', 'koord-scheduler', {
        'image': SCHEDULER, 'command': ['/koord-scheduler'],
        'args': ['--config=/config/koord-scheduler.config', f'--secure-port={HEALTH_PORT}', '--authentication-skip-lookup=true'],
        'readinessProbe': {'httpGet': {'scheme': 'HTTPS', 'path': '/healthz', 'port': HEALTH_PORT}, 'periodSeconds': 1},
        'volumeMounts': [{'name': 'config', 'mountPath': '/config'}]}, replicas=2, **rolling)
    for name in ('koord-manager', 'koord-descheduler'):
        yield workload('Deployment', name, asleep, replicas=2, **rolling)
    for name in ('koordlet', 'koord-device-daemon'):
        yield workload('DaemonSet', name, asleep)


def hooks():
    for kind, (name, path) in PATHS.items():
        yield named('admissionregistration.k8s.io/v1', f'{kind.capitalize()}WebhookConfiguration', f'koordinator-{kind}-webhook-configuration',
                    None, webhooks=[{
                        'name': f'{name}.koordinator.sh', 'admissionReviewVersions': ['v1', 'v1beta1'], 'sideEffects': 'None',
                        'failurePolicy': 'Ignore', 'timeoutSeconds': 30,
                        'clientConfig': {'caBundle': 'Cg==', 'service': {'name': 'koordinator-webhook-service', 'namespace': SYSTEM, 'path': path}},
                        'namespaceSelector': {'matchExpressions': [{'key': 'control-plane', 'operator': 'DoesNotExist'}]},
                        'rules': [{'apiGroups': [''], 'apiVersions': ['v1'], 'operations': ['CREATE'], 'resources': ['pods']}]}])


def configuration():
    yield named('v1', 'ConfigMap', 'koord-scheduler-config', data={'koord-scheduler-config': json.dumps(SCHEDULER_CONFIG)})
    yield named('v1', 'ConfigMap', 'koord-descheduler-config', data={'koord-descheduler-config': json.dumps({
        'apiVersion': 'descheduler/v1alpha2', 'kind': 'DeschedulerConfiguration', 'deschedulingInterval': '10s'})})
    yield named('v1', 'ConfigMap', 'slo-controller-config', data={
        'colocation-config': '{"enable":true}', 'resource-threshold-config': '{"clusterStrategy":{"enable":true}}'})
    yield named('v1', 'ConfigMap', 'gpu-shared-resource-templates', data={'data.yaml': '{}'})
    yield named('v1', 'Service', 'koordinator-webhook-service', spec={
        'selector': {'koord-app': 'koord-manager'}, 'ports': [{'port': 443, 'targetPort': 9876}]})
    yield named('v1', 'Secret', 'koordinator-webhook-certs')


def write_chart(folder):
    """The CRDs and priority classes as they are, without the annotation that keeps them."""
    space = named('v1', 'Namespace', SYSTEM, None)
    space['metadata']['labels'] = {'controle-plane': 'koordinator-manager'}  # as it is spelt there
    write(f'{folder}/Chart.yaml', json.dumps({'apiVersion': 'v2', 'name': 'koordinator', 'version': '1.8.0', 'appVersion': TAG}))
    objects = [space, *rights(), *configuration(), *hooks(), *workloads()]
    write(f'{folder}/files/objects.yaml', '\n---\n'.join(json.dumps(o) for o in objects))
    for name in sorted(os.listdir(f'{ROOT}/packaging/crds')):
        with open(f'{ROOT}/packaging/crds/{name}', encoding='utf-8') as f:
            write(f'{folder}/files/crds/{name}', f.read())
    with open(f'{ROOT}/packaging/priorityclasses.yaml', encoding='utf-8') as f:
        write(f'{folder}/files/priorityclasses.yaml', f.read())
    write(f'{folder}/templates/all.yaml', '{{ range $path, $_ := .Files.Glob "files/**.yaml" }}\n---\n{{ $.Files.Get $path }}\n{{ end }}')


def import_scheduler(real):
    path = f'{real.lab.dir}/kube-scheduler.tar'
    node_image.write_archive(path, node_image.program_layer('koord-scheduler', f'{BIN}/kube-scheduler'), (SCHEDULER,), {'User': '65532'})
    out = real.node.ctr('images', 'import', path)
    if out.returncode:
        raise Failed(f'import {SCHEDULER}: {out.stderr.strip()[-300:]}')


def now():
    return time.strftime('%Y-%m-%dT%H:%M:%S.000000Z', time.gmtime())


def lease(name):
    return named('coordination.k8s.io/v1', 'Lease', name, spec={
        'holderIdentity': f'{name}-of-koordinator', 'leaseDurationSeconds': 15, 'acquireTime': now(), 'renewTime': now(), 'leaseTransitions': 3})


def what_programs_made(real):
    """By koord-manager, koordlet and koord-descheduler of that release, while they ran."""
    node = real.node.name
    real.apply(lease('koordinator-manager'), lease('koord-descheduler'),
               named('slo.koordinator.sh/v1alpha1', 'NodeSLO', node, None, spec={
                   'resourceUsedThresholdWithBE': {'enable': True, 'cpuSuppressThresholdPercent': 65, 'cpuSuppressPolicy': 'cpuset',
                                                   'memoryEvictThresholdPercent': 70, 'cpuEvictPolicy': 'evictByRealLimit'},
                   'resourceQOSStrategy': {}, 'systemStrategy': {'totalNetworkBandwidth': '0'}, 'extensions': {'Object': {}},
                   'cpuBurstStrategy': {'policy': 'none', 'cpuBurstPercent': 1000, 'cfsQuotaBurstPercent': 300,
                                        'cfsQuotaBurstPeriodSeconds': -1, 'sharePoolThresholdPercent': 50}}),
               named('slo.koordinator.sh/v1alpha1', 'NodeMetric', node, None, spec={'metricCollectPolicy': {
                   'aggregateDurationSeconds': 300, 'reportIntervalSeconds': 60, 'nodeMemoryCollectPolicy': 'usageWithoutPageCache'}}))
    real.patch(f'/apis/slo.koordinator.sh/v1alpha1/nodemetrics/{node}/status', {'status': {
        'updateTime': time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime()), 'nodeMetric': {'nodeUsage': {'resources': {'cpu': '300m', 'memory': '1Gi'}}}}})
    amounts = {'kubernetes.io/batch-cpu': '8000', 'kubernetes.io/batch-memory': '8Gi', 'kubernetes.io/mid-cpu': '0', 'kubernetes.io/mid-memory': '0'}
    real.patch(f'/api/v1/nodes/{node}/status', {'status': {'capacity': amounts, 'allocatable': amounts}})
    real.patch(f'/api/v1/nodes/{node}', {'metadata': {'annotations': {'node.koordinator.sh/cpu-normalization-ratio': '1.00'}}})
    ca = base64.b64encode(b'certificate of another manager\n').decode()
    real.patch(f'/api/v1/namespaces/{SYSTEM}/secrets/koordinator-webhook-certs', {'data': {'ca-cert.pem': ca, 'cert.pem': ca, 'key.pem': ca}})
    for kind in PATHS:
        path = f'/apis/admissionregistration.k8s.io/v1/{kind}webhookconfigurations/koordinator-{kind}-webhook-configuration'
        real.patch(path, {'metadata': {'annotations': {'template': json.dumps(real.get(path)['webhooks'])}}})


def install(real, release, *values):
    """Until its scheduler serves."""
    folder = f'{real.lab.dir}/koordinator-{TAG}'
    write_chart(folder)
    import_scheduler(real)
    real.helm('install', release, folder, *values)
    real.ready(3 * PATIENCE_S)
    what_programs_made(real)
