"""cluster_ops - what operators do beside Helm, on the cluster of test_cluster: koordctl check and adopt, bad input, a clean removal."""
import glob
import json
import time

import node_host
from lab import HERE, PATIENCE_S, ROOT, Failed
from node_host import wait_until
from real_cluster import CHART, HELM, SYSTEM, run

KOORDCTL = f'{ROOT}/build/bin/koordctl'
LEASES = f'/apis/coordination.k8s.io/v1/namespaces/{SYSTEM}/leases'
CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
BINDINGS = '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings'
NODE = '/api/v1/nodes/lab-node'


def koordctl(real, *words):
    return run(KOORDCTL, '--kubeconfig', real.config, *words, good=False)


def check_before(real, check):
    out = koordctl(real, 'check')
    check('koordctl check before the installation: it can be installed', out.returncode == 0 and
          'koord can be installed' in out.stdout and '13 are still to be installed' in out.stdout and
          'you may install and remove koord' in out.stdout, out.stdout + out.stderr)


def found(real):
    """(exit code, {(section, level): texts}, {feature: (state, why)}) of koordctl check."""
    out = koordctl(real, 'check', '-o', 'json')
    answer = json.loads(out.stdout)
    texts = {}
    for f in answer['findings']:
        texts.setdefault((f['section'], f['level']), []).append(f['text'])
    return out.returncode, texts, {f['feature']: (f['state'], f['why']) for f in answer['features']}


def wait_until_well(real):
    """The leases are taken a moment after the pods are ready."""
    texts = {}

    def well():
        texts.clear()
        texts.update(found(real)[1])
        return 'failure' not in {level for _, level in texts} and len(texts.get(('Leases', 'ok'), [])) == 3
    try:
        wait_until('koordctl check finds three leaders and no failure', well, PATIENCE_S)
    except Failed as e:
        raise Failed(f'{e}: {texts}') from e


def check_after(real, check):
    wait_until_well(real)
    code, texts, features = found(real)
    check('koordctl check after it: nothing has failed', code == 0 and not any(level == 'failure' for _, level in texts), texts)
    check('the programs, CRDs and webhooks work', texts[('CRDs', 'ok')] == ['13 are there'] and len(texts[('Programs', 'ok')]) == 5 and
          any('reaches koordinator-webhook-service' in t for t in texts[('Webhooks', 'ok')]), texts)
    check('koord\'s accounts may do what they must', len(texts[('Rights', 'ok')]) == 5, texts)
    nodes = texts.get(('Nodes', 'ok'), []) + texts.get(('Nodes', 'warning'), [])
    check('the node has told what it can do', any(t.startswith('lab-node: kernel ') for t in nodes), nodes)
    check('features of the cluster are on', all(features[f][0] == 'on' for f in (
        'batch and mid resources', 'ClusterColocationProfile', 'best effort is held back', 'gangs, reservations')), features)
    check('those that need more say what', features['moving pods from hot nodes'] == (
        'off', 'koord-descheduler-config does not enable LowNodeLoad under balance'), features)
    check('features of the node are among them', features['BECPUSuppress'][0] == 'on', features)


# Koordinator 1.8.0 as its chart leaves it, as far as adopt reads it; nothing of it runs.
OLD = 'old-koordinator'
ARGS = {
    'koord-manager': ['--enable-leader-election', '--metrics-addr=:8080', '--health-probe-addr=:8000', '--logtostderr=true',
                      f'--leader-election-namespace={OLD}', f'--config-namespace={OLD}', '--v=5', '--feature-gates=', '--sync-period=0',
                      '--rest-config-qps=50'],
    'koord-scheduler': ['--port=10251', '--authentication-skip-lookup=true', '--v=4', '--feature-gates=',
                        '--config=/config/koord-scheduler.config', '--enable-network-topology-manager=true', '--no-such-flag=1'],
    'koord-descheduler': ['--v=4', '--config=/config/koord-descheduler.config'],
    'koordlet': ['-addr=:9316', '-cgroup-root-dir=/host-cgroup/', '-feature-gates=BECPUEvict=true,NoSuchGate=true',
                 '-runtime-hooks-host-endpoint=/var/run/koordlet/koordlet.sock', '--logtostderr=true', '--v=4', '--async-log=true'],
}


def workload(name):
    spec = {'selector': {'matchLabels': {'koord-app': name}}, 'template': {'metadata': {'labels': {'koord-app': name}}, 'spec': {
        'nodeSelector': {'no-such': 'node'}, 'containers': [{
            'name': 'main', 'image': f'registry.example.org/koordinator-sh/{name}:v1.8.0', 'args': ARGS.get(name, [])}]}}}
    kind = 'Deployment' if name.startswith('koord-') and name != 'koord-device-daemon' else 'DaemonSet'
    return {'apiVersion': 'apps/v1', 'kind': kind, 'metadata': {'name': name, 'namespace': OLD},
            'spec': {**spec, **({'replicas': 0} if kind == 'Deployment' else {})}}


def old_chart(real):
    """A chart with the name and the values of Koordinator's."""
    folder = f'{real.lab.dir}/old-chart'
    objects = [workload(name) for name in (*ARGS, 'koord-device-daemon')] + [
        {'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': 'slo-controller-config', 'namespace': OLD}, 'data': {
            'colocation-config': '{"enable":true}', 'cpu-burst-config': '{"clusterStrategy":{"policy":"auto"}}', 'no-such-config': '{}'}}]
    node_host.write(f'{folder}/Chart.yaml', 'apiVersion: v2\nname: koordinator\nversion: 1.8.0\nappVersion: v1.8.0\n')
    node_host.write(f'{folder}/values.yaml', node_host.read(f'{HERE}/values/chart-1.8.0.yaml'))
    node_host.write(f'{folder}/templates/all.yaml', '\n---\n'.join(json.dumps(o) for o in objects))
    return folder


def adopt(real, check):
    """What becomes of a release of Koordinator's chart; Helm takes the values that are written."""
    real.helm('install', 'koordinator', old_chart(real), '--namespace', OLD, '--create-namespace', '--set', 'manager.log.level=4',
              '--set', 'koordlet.hostDirs.kubeletLibDir=/data/kubelet', '--set', 'koordlet.image.tag=v1.8.0')
    values = f'{real.lab.dir}/adopted.yaml'
    out = koordctl(real, '-n', OLD, 'adopt', '--release=koordinator', f'--out={values}')
    check('koordctl adopt', out.returncode == 0, out.stderr)
    for line in ('kept     koordlet.hostDirs.kubeletLibDir: "/data/kubelet"', 'kept     manager.log.level: 5 (by its argument, which was changed',
                 'kept     argument of koord-manager: --rest-config-qps=50 (manager.extraArgs)', 'kept     slo-controller-config: cpu-burst-config',
                 'changed  koordlet.image: {"tag":"v1.8.0"} (left out', 'missing  argument of koord-scheduler: --no-such-flag=1 (',
                 'missing  feature gate of koordlet: NoSuchGate=true (', 'missing  slo-controller-config: no-such-config (a key that nothing reads)'):
        check(f'it says: {line[:60]}', line in out.stdout, out.stdout)
    text = run(HELM, 'template', 'koordinator', CHART, '-f', values, good=False)
    check('our chart takes the values that it has written', text.returncode == 0 and '--v=5' in text.stdout and '--rest-config-qps=50' in text.stdout and
          'path: /data/kubelet' in text.stdout and f'namespace: {OLD}' in text.stdout, text.stderr or node_host.read(values))
    real.helm('uninstall', 'koordinator', '--namespace', OLD)
    own = koordctl(real, 'adopt', '--release=koord', '--out=-')
    check('a release of our own chart is none to adopt', own.returncode == 1 and 'nothing to adopt' in own.stderr, own.stderr)


def wait_last_words(real, app):
    """Of containers that have ended. A busy kubelet may remove one before its successor runs: then they are shown for a moment only."""
    said = []

    def ended():
        for p in real.pods(selector=f'koord-app={app}'):
            for status in p['status'].get('containerStatuses', []):
                said.extend(status[which]['terminated'].get('message', '') for which in ('state', 'lastState')
                            if 'terminated' in status.get(which, {}))
        return said
    wait_until('the leader ends', ended, PATIENCE_S)
    return said


def notes(real, *words):
    """What an upgrade would say at its end."""
    return real.helm('upgrade', 'koord', CHART, *real.values(), *words, '--dry-run=server').stdout.split('NOTES:')[-1]


def bad_input(real, check):
    """Each flaw is one line, and goes away with its cause."""
    stolen = {'spec': {'holderIdentity': 'intruder', 'leaseDurationSeconds': 3600,
                       'renewTime': time.strftime('%Y-%m-%dT%H:%M:%S.000000Z', time.gmtime())}}
    real.patch(f'{LEASES}/koord-descheduler', stolen)
    said = wait_last_words(real, 'koord-descheduler')
    check('its last words are in the status of its pod', all(w.startswith('koord-descheduler: ') and w.count('\n') == 1 for w in said), said)
    code, texts, _ = found(real)
    check('a lease that another program holds is told', code == 1 and any(
        t.startswith('koord-descheduler: held by intruder, which is no pod') for t in texts[('Leases', 'failure')]), texts)
    check('and so do the notes of an upgrade', 'The lease koord-descheduler is held by intruder' in notes(real), notes(real))
    real.api('DELETE', f'{LEASES}/koord-descheduler')
    real.ready()  # what it lists when it starts must not meet the flaws that follow
    crd, binding = f'{CRDS}/recommendations.analysis.koordinator.sh', f'{BINDINGS}/koord-descheduler-rolebinding'
    objects = {CRDS: real.get(crd), BINDINGS: real.get(binding)}
    real.api('DELETE', crd)
    real.api('DELETE', binding)
    wait_until('the CRD is gone', lambda: not real.get(crd), PATIENCE_S)
    code, texts, features = found(real)
    check('a CRD that is missing is told', code == 1 and any(
        t == '1 missing: recommendations.analysis.koordinator.sh; helm upgrade of release koord brings them back' for t in texts[('CRDs', 'failure')]), texts)
    check('and in the notes of an upgrade that does not bring it',
          'Missing: recommendations.analysis.koordinator.sh' in notes(real, '--set', 'crds.managed=false'), notes(real))
    check('missing rights are told', any(
        t.startswith('koord-descheduler may not ') for t in texts.get(('Rights', 'failure'), [])), texts)
    check('and in the table of features', features['gangs, reservations'] == ('off', 'CRDs are missing'), features)
    for path, lost in objects.items():  # with the labels of their release
        for name in ('resourceVersion', 'uid', 'creationTimestamp', 'managedFields'):
            lost['metadata'].pop(name, None)
        real.api('POST', path, lost)
    wait_until_well(real)


def best_effort_limits():
    """Of best effort as a whole, and of the memory of each pod in it: what koordlet has changed and the kubelet leaves open."""
    roots = node_host.controllers()
    cpu, memory = (roots.get('', roots.get(name)) for name in ('cpu', 'memory'))
    files = [f'{cpu}/{node_host.KUBEPODS}/besteffort/{"cpu.max" if "" in roots else "cpu.cfs_quota_us"}']
    files += glob.glob(f'{memory}/{node_host.KUBEPODS}/besteffort/pod*/{"memory.max" if "" in roots else "memory.limit_in_bytes"}')
    values = {path: node_host.read(path).split()[0] for path in files}
    return {path: value for path, value in values.items() if value not in ('max', '-1') and int(value) < 1 << 60}


def removed(real, check):
    """After helm uninstall, whose hook has run."""
    node = real.get(NODE)
    left = [name for part in ('capacity', 'allocatable') for name in node['status'][part]
            if name.startswith(('kubernetes.io/batch-', 'kubernetes.io/mid-', 'koordinator.sh/'))]
    check('the node has no resources of koord\'s any more', not left, left)
    noted = [name for name in node['metadata'].get('annotations', {}) if name.startswith('node.koordinator.sh/')]
    check('and none of its annotations', not noted, noted)
    check('best effort has no limits any more', not best_effort_limits(), best_effort_limits())
    check('nothing of the hook is left', not real.get(f'/apis/batch/v1/namespaces/{SYSTEM}/jobs/koord-uninstall') and
          not real.get(f'/api/v1/namespaces/{SYSTEM}/configmaps/koordlet-restore') and
          not [p for p in real.pods() if p['metadata']['name'].startswith('koordlet-restore')])
