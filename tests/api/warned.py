"""warned.py - what a server takes and advises against: the same headers Warning, in the same order.

A row of a table is a check: its name, what is created (dryRun: nothing is kept), the warnings. Warnings of updates, of
status and of deletions are functions behind the tables.
"""
import copy

from client import MERGE, check, deployment, job, node, pod

REQUIRED, PREFERRED = 'requiredDuringSchedulingIgnoredDuringExecution', 'preferredDuringSchedulingIgnoredDuringExecution'
NO_SELECTOR = 'a null labelSelector results in matching no pod'
ARCH = 'deprecated since v1.14; use "kubernetes.io/arch" instead'
ZONE = 'deprecated since v1.17; use "topology.kubernetes.io/zone" instead'
LABEL = ("a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with "
         "an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
         "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')")
NAME = 'which can result in surprising behavior; a DNS label is recommended'
POD_NAMES = f'metadata.name: this is used in Pod names and hostnames, {NAME}'
SECCOMP = 'non-functional in v1.27+; use the "seccompProfile" field instead'
APPARMOR = 'deprecated since v1.30; use the "appArmorProfile" field instead'


# ---- how a row becomes a check ----

def home(t):
    def make():
        ns = t.name('warnings')
        t.make('/api/v1/namespaces', {'metadata': {'name': ns}})
        t.made.clear()
        t.server.leave(f'/api/v1/namespaces/{ns}')
        return ns
    return t.server.once('warnings', make)


def told(a):
    """The texts, without their quotes."""
    return [w.removeprefix('299 - "')[:-1].replace('\\"', '"').replace('\\\\', '\\') for w in a.headers.get_all('Warning') or []]


def warn(subject, path, rows):
    """rows: (name, body, warnings)"""
    def row(name, body, want):
        def fn(t):
            a = t.post(path.replace('{ns}', home(t)), body, dryRun='All')
            t.code(a, 201)
            t.eq(told(a), want, 'warnings')
        fn.__name__ = f'{subject}_{name}'
        check(fn)
    for one in rows:
        row(*one)


def fraction(value):
    return f'fractional byte value "{value}" is invalid, must be an integer'


# ---- pods ----

def containers(*more, **spec):
    return {'containers': [{'name': f'c{i}', 'image': 'busybox:1', **c} for i, c in enumerate(more)], **spec}


def ports(*list_):
    return [dict(zip(('containerPort', 'hostPort', 'hostIP', 'name', 'protocol'), p)) for p in
            (tuple(x for x in (q if isinstance(q, tuple) else (q,))) for q in list_)]


def node_terms(*terms):
    return [{'matchExpressions': [{'key': k, 'operator': 'In', 'values': list(v)} for k, *v in t]} for t in terms]


def volume(**source):
    return {'volumes': [{'name': 'v', **source}]}


def claim(**resources):
    return {'accessModes': ['ReadWriteOnce'], 'resources': {'requests': {'storage': '1Gi'}, **resources}}


def items(*paths, **more):
    return {**more, 'items': [{'key': f'k{i}', 'path': p} for i, p in enumerate(paths)]}


def fields(*paths):
    return {'items': [{'path': p, 'fieldRef': {'fieldPath': 'metadata.name'}} for p in paths]}


def overlap(kind, *pairs):
    return [f'volume "v" ({kind}): overlapping paths: {a} with {b}' for a, b in pairs]


# (name, spec, warnings): of a pod, and the same of a template, whose path stands before the warning's
SPECS = [
    ('nothing', {}, []),
    ('node_selector', {'nodeSelector': {'beta.kubernetes.io/arch': 'x'}}, [f'spec.nodeSelector[beta.kubernetes.io/arch]: {ARCH}']),
    ('master', {'nodeSelector': {'node-role.kubernetes.io/master': ''}},
     ['spec.nodeSelector[node-role.kubernetes.io/master]: use "node-role.kubernetes.io/control-plane" instead']),
    ('new_labels', {'nodeSelector': {'kubernetes.io/arch': 'x', 'topology.kubernetes.io/zone': 'z'}}, []),
    ('node_affinity', {'affinity': {'nodeAffinity': {
        REQUIRED: {'nodeSelectorTerms': node_terms([('kubernetes.io/os', 'x'), ('failure-domain.beta.kubernetes.io/zone', 'z')])},
        PREFERRED: [{'weight': 1, 'preference': t} for t in node_terms([('beta.kubernetes.io/arch', 'a')])]}}},
     [f'spec.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms[0].matchExpressions[1].key: failure-domain.beta.kubernetes.io/zone is {ZONE}',
      f'spec.affinity.nodeAffinity.{PREFERRED}[0].preference.matchExpressions[0].key: beta.kubernetes.io/arch is {ARCH}']),
    ('values_of_no_label', {'affinity': {'nodeAffinity': {
        PREFERRED: [{'weight': 1, 'preference': t} for t in node_terms([('a', 'good', '-bad'), ('b', 'x' * 64)])]}}},
     [f'spec.affinity.nodeAffinity.{PREFERRED}[0].preference.matchExpressions[0].values[1]: -bad is invalid, {LABEL}',
      f'spec.affinity.nodeAffinity.{PREFERRED}[0].preference.matchExpressions[1].values[0]: {"x" * 64} is invalid, must be no more than 63 bytes']),
    ('spread', {'topologySpreadConstraints': [
        {'maxSkew': 1, 'topologyKey': 'failure-domain.beta.kubernetes.io/zone', 'whenUnsatisfiable': 'ScheduleAnyway', 'labelSelector': {}},
        {'maxSkew': 1, 'topologyKey': 'x', 'whenUnsatisfiable': 'ScheduleAnyway'}]},
     [f'spec.topologySpreadConstraints[0].topologyKey: failure-domain.beta.kubernetes.io/zone is {ZONE}',
      f'spec.topologySpreadConstraints[1].labelSelector: {NO_SELECTOR}']),
    ('pod_affinity', {'affinity': {
        'podAffinity': {REQUIRED: [{'topologyKey': 'x'}, {'topologyKey': 'x', 'labelSelector': {}}],
                        PREFERRED: [{'weight': 1, 'podAffinityTerm': {'topologyKey': 'x'}}]},
        'podAntiAffinity': {REQUIRED: [{'topologyKey': 'x'}], PREFERRED: [{'weight': 1, 'podAffinityTerm': {'topologyKey': 'x'}}]}}},
     [f'spec.affinity.{k}.{REQUIRED}[0].labelSelector: {NO_SELECTOR}' if r else
      f'spec.affinity.{k}.{PREFERRED}[0].podAffinityTerm.labelSelector: {NO_SELECTOR}'
      for k in ('podAffinity', 'podAntiAffinity') for r in (True, False)]),
    ('git', volume(gitRepo={'repository': 'x'}), ['spec.volumes[0].gitRepo: deprecated in v1.11, and disabled by default in v1.33+']),
    ('old_volumes', {'volumes': [
        {'name': 'a', 'photonPersistentDisk': {'pdID': 'x'}}, {'name': 'b', 'emptyDir': {}},
        {'name': 'c', 'scaleIO': {'gateway': 'g', 'system': 's', 'secretRef': {'name': 's'}, 'volumeName': 'v', 'storageMode': 'ThinProvisioned'}},
        {'name': 'd', 'flocker': {'datasetName': 'd'}}, {'name': 'e', 'storageos': {'volumeName': 'v'}},
        {'name': 'f', 'quobyte': {'registry': 'r:1', 'volume': 'v'}}, {'name': 'g', 'glusterfs': {'endpoints': 'e', 'path': 'p'}},
        {'name': 'h', 'cephfs': {'monitors': ['m']}}, {'name': 'i', 'rbd': {'monitors': ['m'], 'image': 'i'}}]},
     [f'spec.volumes[{i}].{s}: deprecated in {v}' for i, s, v in (
         (0, 'photonPersistentDisk', 'v1.11, non-functional in v1.16+'), (2, 'scaleIO', 'v1.16, non-functional in v1.22+'),
         (3, 'flocker', 'v1.22, non-functional in v1.25+'), (4, 'storageOS', 'v1.22, non-functional in v1.25+'),
         (5, 'quobyte', 'v1.22, non-functional in v1.25+'), (6, 'glusterfs', 'v1.25, non-functional in v1.26+'),
         (7, 'cephfs', 'v1.28, non-functional in v1.31+'), (8, 'rbd', 'v1.28, non-functional in v1.31+'))]),
    ('ephemeral_volume', volume(ephemeral={'volumeClaimTemplate': {'spec': claim(requests={'storage': '1500m'}, limits={'storage': '2500m'})}}),
     [f'spec.volumes[0].ephemeral.volumeClaimTemplate.spec.resources.{k}[storage]: {fraction(v)}'
      for k, v in (('requests', '1500m'), ('limits', '2500m'))]),
    ('config_map', volume(configMap=items('a/b', 'a', 'a/b/', 'c', name='m')),
     overlap('ConfigMap "m"', ('"a"', '"a/b"'), ('"a/b"', '"a/b"'), ('"a/b"', '"a"'))),
    ('secret', volume(secret=items('a', 'a', secretName='s')), overlap('Secret "s"', ('"a"', '"a"'))),
    ('downward', volume(downwardAPI=fields('a', 'a/b', 'ab')), overlap('DownwardAPI', ('"a/b"', '"a"'))),
    ('projected', {'serviceAccountName': 'a', **volume(projected={'sources': [
        {'serviceAccountToken': {'path': 'token', 'expirationSeconds': 600}}, {'configMap': items('ca', 'token/x', name='m')},
        {'configMap': {'name': 'all'}}, {'secret': items('ca/y', name='s')}, {'downwardAPI': fields('ca/y/z', 'cab')}]})},
     overlap('Projected', ('"token/x" (ConfigMap "m")', '"token" (ServiceAccountToken)'), ('"ca/y" (Secret "s")', '"ca" (ConfigMap "m")'),
             ('"ca/y/z" (DownwardAPI)', '"ca" (ConfigMap "m")'), ('"ca/y/z" (DownwardAPI)', '"ca/y" (Secret "s")'))),
    ('projected_nothing', volume(projected={'sources': [{}]}), ['volume "v" (Projected) has no sources provided']),
    ('host_aliases', {'hostAliases': [{'ip': '10.0.0.1', 'hostnames': ['a']}, {'ip': '10.0.0.1', 'hostnames': ['b']}, {'ip': '10.00.0.1'}]},
     ['spec.hostAliases[1].ip: duplicate ip "10.0.0.1"',
      'spec.hostAliases[2].ip: non-standard IP address "10.00.0.1" will be considered invalid in a future Kubernetes release: use "10.0.0.1"']),
    ('pull_secrets', {'imagePullSecrets': [{'name': 'a'}, {}, {'name': 'a'}, {}]},
     ['spec.imagePullSecrets[2].name: duplicate name "a"', 'spec.imagePullSecrets[3].name: duplicate name ""',
      'spec.imagePullSecrets[1].name: invalid empty name ""', 'spec.imagePullSecrets[3].name: invalid empty name ""']),
    ('name_servers', {'dnsPolicy': 'None', 'dnsConfig': {'nameservers': ['10.0.0.1', 'FD00::1', '::ffff:1.2.3.4']}},
     ['spec.dnsConfig.nameservers[1]: IPv6 address "FD00::1" should be in RFC 5952 canonical format ("fd00::1")',
      'spec.dnsConfig.nameservers[2]: non-standard IP address "::ffff:1.2.3.4" will be considered invalid in a future Kubernetes '
      'release: use "1.2.3.4"']),
    ('bytes', containers(
        {'resources': {'limits': {'memory': '1500m', 'ephemeral-storage': '1.5', 'cpu': '500m'},
                       'requests': {'memory': '1.0005', 'ephemeral-storage': '500m', 'cpu': '500m'}}},
        {'resources': {'limits': {'memory': '1.5Gi', 'ephemeral-storage': '0.5M'}}},
        {'resources': {'limits': {'memory': '1e3', 'ephemeral-storage': '2000m'}}}),
     [f'spec.containers[0].resources.limits[memory]: {fraction("1500m")}', f'spec.containers[0].resources.requests[memory]: {fraction("1001m")}',
      f'spec.containers[0].resources.limits[ephemeral-storage]: {fraction("1500m")}',
      f'spec.containers[0].resources.requests[ephemeral-storage]: {fraction("500m")}']),
    ('env', containers({'env': [{'name': 'A', 'value': '1'}, {'name': 'A', 'value': '2'}, {'name': 'B', 'value': 'x'}, {'name': 'B', 'value': '$(B)y'},
                                {'name': 'B', 'value': '$(B)'}, {'name': 'A', 'valueFrom': {'fieldRef': {'fieldPath': 'metadata.name'}}},
                                {'name': 'B', 'value': 'a$(C)$(B)'}]}, {'env': [{'name': 'A'}]},
                       initContainers=[{'name': 'i', 'image': 'x', 'env': [{'name': 'A'}, {'name': 'A'}]}]),
     [f'spec.{c}].env[{i}]: hides previous definition of "{n}", which may be dropped when using apply'
      for c, i, n in (('initContainers[0', 1, 'A'), ('containers[0', 1, 'A'), ('containers[0', 4, 'B'), ('containers[0', 5, 'A'))]),
    ('much_env', containers({'env': [{'name': f'V{i % 30}', 'value': 'x'} for i in range(35)]}),
     [f'spec.containers[0].env[{i}]: hides previous definition of "V{i % 30}", which may be dropped when using apply' for i in range(30, 35)]),
    ('ports', containers({'ports': ports(80, 443)}, {'ports': ports(80, (80, 8080), (443, 9443, '10.0.0.1'), (443, 9443, '10.0.0.2'))},
                         initContainers=[{'name': 'i', 'image': 'x', 'ports': ports((80, 0, '', 'p', 'UDP'), (53, 0, '1.2.3.4', 'dns', 'UDP'))}]),
     ['spec.initContainers[0].ports[1]: hostIP set without hostPort: {Name:dns HostPort:0 ContainerPort:53 Protocol:UDP HostIP:1.2.3.4}',
      'spec.containers[1].ports[0]: duplicate port definition with spec.containers[0].ports[0]',
      'spec.containers[1].ports[1]: overlapping port definition with spec.containers[0].ports[0]',
      'spec.containers[1].ports[1]: overlapping port definition with spec.containers[1].ports[0]',
      'spec.containers[1].ports[2]: overlapping port definition with spec.containers[0].ports[1]',
      'spec.containers[1].ports[3]: overlapping port definition with spec.containers[0].ports[1]']),
    ('ambiguous_ports', containers({'ports': ports((80, 8080, '10.0.0.1'), (80, 8080))}),
     ['spec.containers[0].ports[1]: dangerously ambiguous port definition with spec.containers[0].ports[0]']),
    ('port_names', containers({'ports': ports((80, 0, '', 'web'))}, {'ports': ports((81, 0, '', 'web'), (82, 0, '', 'x'))}),
     ['spec.containers[1].ports[0]: duplicate port name "web" with spec.containers[0].ports[0], services and probes that select ports by '
      'name will use spec.containers[0].ports[0]']),
]

ANNOTATIONS = [
    ('critical', {'scheduler.alpha.kubernetes.io/critical-pod': ''}, {},
     ['metadata.annotations[scheduler.alpha.kubernetes.io/critical-pod]: non-functional in v1.16+; use the "priorityClassName" field instead']),
    ('sysctls', {'security.alpha.kubernetes.io/unsafe-sysctls': 'b', 'security.alpha.kubernetes.io/sysctls': 'a'}, {},
     [f'metadata.annotations[security.alpha.kubernetes.io/{k}sysctls]: non-functional in v1.11+; use the "sysctls" field instead'
      for k in ('', 'unsafe-')]),
    ('seccomp', {'seccomp.security.alpha.kubernetes.io/pod': 'runtime/default',
                 'container.seccomp.security.alpha.kubernetes.io/main': 'runtime/default',
                 'container.seccomp.security.alpha.kubernetes.io/other': 'runtime/default'}, {},
     [f'metadata.annotations[{k}]: {SECCOMP}' for k in ('seccomp.security.alpha.kubernetes.io/pod',
                                                        'container.seccomp.security.alpha.kubernetes.io/main')]),
    ('seccomp_field', {'seccomp.security.alpha.kubernetes.io/pod': 'runtime/default'},
     {'securityContext': {'seccompProfile': {'type': 'RuntimeDefault'}}}, []),
]


def template_of(name, spec=None, annotations=None):
    p = pod(name, spec)
    return {'metadata': {'labels': {'app': 'x'}, **({'annotations': annotations} if annotations else {})}, 'spec': p['spec']}


def under(path, warnings):
    """What is said of a volume names no path, of ports two or three."""
    return [w if w.startswith('volume "') else
            f'{path}.{w}'.replace(' with spec.', f' with {path}.spec.').replace(' use spec.', f' use {path}.spec.') for w in warnings]


def pod_template(name, t):
    return {'metadata': {'name': name}, 'template': t}


warn('pod', '/api/v1/namespaces/{ns}/pods', [(n, pod('p', s), w) for n, s, w in SPECS] +
     [(n, pod('p', s, annotations=a), w) for n, a, s, w in ANNOTATIONS] + [
    ('name_with_dots', pod('a.b'), [f"metadata.name: this is used in the Pod's hostname, {NAME}: [must not contain dots]"]),
    ('long_name', pod('a' * 64), [f"metadata.name: this is used in the Pod's hostname, {NAME}: [must be no more than 63 characters]"]),
    ('long_name_with_dots', pod('a.' + 'b' * 62),
     [f"metadata.name: this is used in the Pod's hostname, {NAME}: [must be no more than 63 characters must not contain dots]"]),
    ('several', pod('a.b', {'nodeSelector': {'beta.kubernetes.io/arch': 'x'}, 'imagePullSecrets': [{}]}),
     [f"metadata.name: this is used in the Pod's hostname, {NAME}: [must not contain dots]",
      f'spec.nodeSelector[beta.kubernetes.io/arch]: {ARCH}', 'spec.imagePullSecrets[0].name: invalid empty name ""']),
])
warn('template', '/api/v1/namespaces/{ns}/podtemplates',
     [(n, pod_template('t', template_of('p', s)), under('template', w)) for n, s, w in SPECS] +
     [(n, pod_template('t', template_of('p', s, a)), under('template', w)) for n, a, s, w in ANNOTATIONS] + [
    ('grace', pod_template('t', template_of('p', {'terminationGracePeriodSeconds': -1})),
     ['template.spec.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1']),
    ('apparmor', pod_template('t', template_of('p', annotations={'container.apparmor.security.beta.kubernetes.io/main': 'runtime/default'})),
     [f'template.metadata.annotations[container.apparmor.security.beta.kubernetes.io/main]: {APPARMOR}']),
    ('apparmor_of_the_pod', pod_template('t', template_of('p', {'securityContext': {'appArmorProfile': {'type': 'RuntimeDefault'}}},
                                                          {'container.apparmor.security.beta.kubernetes.io/main': 'runtime/default'})), []),
])

# ---- workloads ----

BAD = {'nodeSelector': {'beta.kubernetes.io/arch': 'x'}}
BAD_TEMPLATE = template_of('p', BAD)
ADVICE = f'spec.nodeSelector[beta.kubernetes.io/arch]: {ARCH}'
SELECTOR = {'matchLabels': {'app': 'x'}}


def restarting(t, policy='Never'):
    t = copy.deepcopy(t)
    t['spec']['restartPolicy'] = policy
    return t


def stateful(name, **spec):
    return {'metadata': {'name': name}, 'spec': {'selector': SELECTOR, 'serviceName': 's', 'template': BAD_TEMPLATE, **spec}}


def cron(name, t=BAD_TEMPLATE, **spec):
    return {'metadata': {'name': name}, 'spec': {'schedule': '0 0 * * *', 'jobTemplate': {'spec': {'template': restarting(t), **spec}}}}


MANY = {'completionMode': 'Indexed', 'completions': 100001, 'parallelism': 10001}
TOO_MANY = ('In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, Kubernetes might not be able to '
            'track completedIndexes when a big number of indexes fail')
DOTS = f'{POD_NAMES}: [must not contain dots]'
APPS = '/apis/apps/v1/namespaces/{ns}'
BATCH = '/apis/batch/v1/namespaces/{ns}'

warn('deployment', f'{APPS}/deployments', [('template', deployment('d.e', {'template': BAD_TEMPLATE}), [DOTS, f'spec.template.{ADVICE}'])])
warn('replica_set', f'{APPS}/replicasets', [
    ('template', {'metadata': {'name': 'r.s'}, 'spec': {'selector': SELECTOR, 'template': BAD_TEMPLATE}}, [DOTS, f'spec.template.{ADVICE}'])])
warn('daemon_set', f'{APPS}/daemonsets', [
    ('template', {'metadata': {'name': 'r.s'}, 'spec': {'selector': SELECTOR, 'template': BAD_TEMPLATE}}, [f'spec.template.{ADVICE}'])])
warn('replication_controller', '/api/v1/namespaces/{ns}/replicationcontrollers', [
    ('template', {'metadata': {'name': 'r.c'}, 'spec': {'selector': {'app': 'x'}, 'template': BAD_TEMPLATE}}, [DOTS, f'spec.template.{ADVICE}'])])
warn('stateful_set', f'{APPS}/statefulsets', [
    ('template', stateful('s'), [f'spec.template.{ADVICE}']),
    ('claims', stateful('s', revisionHistoryLimit=-1, volumeClaimTemplates=[
        {'metadata': {'name': 'a'}, 'spec': claim()}, {'metadata': {'name': 'b'}, 'spec': claim(requests={'storage': '1500m'})}]),
     [f'spec.template.{ADVICE}', f'spec.volumeClaimTemplates[1].resources.requests[storage]: {fraction("1500m")}',
      'spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended']),
])
warn('job', f'{BATCH}/jobs', [
    ('template', job('j.j', {'template': restarting(BAD_TEMPLATE)}), [DOTS, f'spec.template.{ADVICE}']),
    ('many_indexes', job('j', {**MANY, 'template': restarting(BAD_TEMPLATE)}), [f'spec: {TOO_MANY}', f'spec.template.{ADVICE}']),
])
warn('cron_job', f'{BATCH}/cronjobs', [
    ('template', cron('c.j'), [DOTS, f'spec.jobTemplate.spec.template.{ADVICE}']),
    ('many_indexes', cron('c', **MANY), [f'spec.jobTemplate.spec: {TOO_MANY}', f'spec.jobTemplate.spec.template.{ADVICE}']),
])


def touch(t, path):
    """A change that is none of the spec."""
    return told(t.code(t.patch(path, {'metadata': {'labels': {'touched': t.name()}}}, MERGE), 200))


@check
def a_changed_template_is_warned_of_and_another_change_is_not(t):
    other = {'spec': {'template': {'metadata': {'labels': {'more': 'x'}}}}}
    for path, body, where in ((t.at('deployments', 'apps'), deployment('d', {'template': BAD_TEMPLATE}), 'spec.template'),
                              (t.at('statefulsets', 'apps'), stateful('s'), 'spec.template'),
                              (t.at('daemonsets', 'apps'), {'metadata': {'name': 'd'}, 'spec': {'selector': SELECTOR, 'template': BAD_TEMPLATE}},
                               'spec.template')):
        name = t.make(path, body)['metadata']['name']
        t.eq(touch(t, f'{path}/{name}'), [], f'warnings of a label of {path}')
        t.eq(told(t.code(t.patch(f'{path}/{name}', other, MERGE), 200)), [f'{where}.{ADVICE}'], f'warnings of {path}')
    path = t.at('podtemplates')
    t.make(path, pod_template('t', BAD_TEMPLATE))
    t.eq(touch(t, f'{path}/t'), [], 'warnings of a label')
    t.eq(told(t.patch(f'{path}/t', other['spec'], MERGE)), [f'template.{ADVICE}'], 'warnings')


@check
def another_number_of_replicas_warns_of_the_template_but_not_of_a_daemon_sets(t):
    path = t.at('deployments', 'apps')
    t.make(path, deployment('d', {'template': BAD_TEMPLATE}))
    t.eq(told(t.code(t.patch(f'{path}/d', {'spec': {'replicas': 0}}, MERGE), 200)), [f'spec.template.{ADVICE}'], 'warnings')
    path = t.at('daemonsets', 'apps')
    t.make(path, {'metadata': {'name': 'd'}, 'spec': {'selector': SELECTOR, 'template': BAD_TEMPLATE}})
    t.eq(told(t.code(t.patch(f'{path}/d', {'spec': {'minReadySeconds': 1}}, MERGE), 200)), [], 'warnings of a daemon set')


@check
def a_replication_controller_warns_of_its_old_template(t):
    path = t.at('replicationcontrollers')
    t.make(path, {'metadata': {'name': 'r'}, 'spec': {'selector': {'app': 'x'}, 'template': BAD_TEMPLATE}})
    good = {'spec': {'template': {'spec': {'nodeSelector': {'beta.kubernetes.io/arch': None}}}}}
    t.eq(told(t.code(t.patch(f'{path}/r', good, MERGE), 200)), [f'spec.template.{ADVICE}'], 'warnings')
    bad = {'spec': {'template': {'spec': {'nodeSelector': {'beta.kubernetes.io/arch': 'x'}}}}}
    t.eq(told(t.code(t.patch(f'{path}/r', bad, MERGE), 200)), [], 'warnings')


@check
def a_stateful_set_that_changes_warns_of_its_claims(t):
    path = t.at('statefulsets', 'apps')
    t.make(path, stateful('s', volumeClaimTemplates=[{'metadata': {'name': 'b'}, 'spec': claim(requests={'storage': '1500m'})}]))
    t.eq(touch(t, f'{path}/s'), [f'spec.volumeClaimTemplates[0].Spec.resources.requests[storage]: {fraction("1500m")}'], 'warnings')


@check
def updates_of_pods_are_not_warned_of(t):
    t.make(t.pods(), pod('p', BAD))
    t.eq(touch(t, f'{t.pods()}/p'), [], 'warnings')


@check
def addresses_in_the_status_of_a_pod_are_warned_of(t):
    t.make(t.pods(), pod('p'))
    a = t.patch(f'{t.pods()}/p/status', {'status': {'podIP': 'FD00::1', 'podIPs': [{'ip': 'FD00::1'}], 'hostIPs': [{'ip': '1.2.3.4'}], 'hostIP': '1.2.3.4'}}, MERGE)
    t.code(a, 200)
    t.eq(told(a), ['status.podIPs[0].ip: IPv6 address "FD00::1" should be in RFC 5952 canonical format ("fd00::1")'], 'warnings')


@check
def what_is_refused_is_not_warned_of(t):
    a = t.post(t.pods(), pod('p', {**BAD, 'restartPolicy': 'Maybe'}))
    t.code(a, 422)
    t.eq(told(a), [], 'warnings')

# ---- addresses ----

LATER = 'will be considered invalid in a future Kubernetes release'
SVC = '/api/v1/namespaces/{ns}/services'


def service(type_='ClusterIP', annotations=None, **spec):
    return {'metadata': {'name': 's', **({'annotations': annotations} if annotations else {})},
            'spec': {'type': type_, 'ports': [{'port': 80}], **spec}}


def odd_ip(path, ip, good):
    return f'{path}: non-standard IP address "{ip}" {LATER}: use "{good}"'


def odd_cidr(path, cidr, good):
    return f'{path}: non-standard CIDR value "{cidr}" {LATER}: use "{good}"'


def canonical(path, cidr, good):
    return f'{path}: IPv6 CIDR value "{cidr}" should be in RFC 5952 canonical format ("{good}")'


def ambiguous(path, cidr, net, one):
    return f'{path}: CIDR value "{cidr}" is ambiguous in this context (should be "{net}" or "{one}"?)'


CIDRS = [
    ('10.0.0.0/8', []), ('fd00::/8', []), ('0.0.0.0/0', []),
    ('10.1.2.3/8', [(ambiguous, '10.0.0.0/8', '10.1.2.3/32')]),
    ('010.0.0.0/8', [(odd_cidr, '10.0.0.0/8')]),
    ('10.0.0.0/08', [(odd_cidr, '10.0.0.0/8')]),
    ('010.1.0.0/8', [(ambiguous, '10.0.0.0/8', '10.1.0.0/32'), (odd_cidr, '10.0.0.0/8')]),
    ('::ffff:10.0.0.0/104', [(odd_cidr, '10.0.0.0/8')]),
    ('::ffff:10.1.0.0/104', [(ambiguous, '10.0.0.0/8', '10.1.0.0/128'), (odd_cidr, '10.0.0.0/8')]),
    ('FD00::/8', [(canonical, 'fd00::/8')]),
    ('fd00:0::/32', [(canonical, 'fd00::/32')]),
    ('fd00::1/64', [(ambiguous, 'fd00::/64', 'fd00::1/128')]),
    ('fd00::/064', [(odd_cidr, 'fd00::/64')]),
]


def of_cidrs(path):
    """The warnings of all CIDRS in a list at this path."""
    return [text(f'{path}[{i}]', cidr, *rest) for i, (cidr, warnings) in enumerate(CIDRS) for text, *rest in warnings]


warn('service', SVC, [
    ('nothing', service(), []),
    ('topology', service(annotations={'service.kubernetes.io/topology-aware-hints': 'auto'}),
     ['annotation service.kubernetes.io/topology-aware-hints is deprecated, please use service.kubernetes.io/topology-mode instead']),
    ('headless', service(clusterIP='None', externalIPs=['1.2.3.4'], loadBalancerIP='1.2.3.5', sessionAffinity='ClientIP'),
     [f'spec.{f} is ignored for headless services' for f in ('loadBalancerIP', 'externalIPs', 'SessionAffinity')]),
    ('addresses', service(externalIPs=['1.2.3.4', '01.2.3.4', 'FD00::1'], loadBalancerIP='001.2.3.5'),
     [odd_ip('spec.externalIPs[1]', '01.2.3.4', '1.2.3.4'), 'spec.externalIPs[2]: IPv6 address "FD00::1" should be in RFC 5952 canonical '
      'format ("fd00::1")', odd_ip('spec.loadBalancerIP', '001.2.3.5', '1.2.3.5')]),
    ('source_ranges', service('LoadBalancer', loadBalancerSourceRanges=[c for c, _ in CIDRS] + [' 10.1.0.0/8 ']),
     of_cidrs('spec.loadBalancerSourceRanges')),
    ('external_name', service('ExternalName', externalName='a.b', externalIPs=['1.2.3.4']),
     ['spec.externalIPs is ignored when spec.type is "ExternalName"']),
    ('ignored_name', service(externalName='a.b'), ['spec.externalName is ignored when spec.type is not "ExternalName"']),
    ('distribution', service(trafficDistribution='PreferClose'),
     ['spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"']),
    ('same_zone', service(trafficDistribution='PreferSameZone'), []),
])
warn('network_policy', '/apis/networking.k8s.io/v1/namespaces/{ns}/networkpolicies', [
    ('blocks', {'metadata': {'name': 'n'}, 'spec': {'podSelector': {}, 'ingress': [{}, {'from': [{'podSelector': {}}] + [
        {'ipBlock': {'cidr': c}} for c, _ in CIDRS]}], 'egress': [{'to': [{'ipBlock': {'cidr': '010.0.0.0/8', 'except': ['10.1.0.0/16', '10.02.0.0/16']}}]}]}},
     [text(f'spec.ingress[1].from[{i + 1}].ipBlock.cidr', cidr, *rest) for i, (cidr, warnings) in enumerate(CIDRS) for text, *rest in warnings] +
     [odd_cidr('spec.egress[0].to[0].ipBlock.cidr', '010.0.0.0/8', '10.0.0.0/8'),
      odd_cidr('spec.egress[0].to[0].ipBlock.except[1]', '10.02.0.0/16', '10.2.0.0/16')]),
])
warn('ingress', '/apis/networking.k8s.io/v1/namespaces/{ns}/ingresses', [
    (n, {'metadata': {'name': 'i', 'annotations': {'kubernetes.io/ingress.class': 'x'}},
         'spec': {'defaultBackend': {'service': {'name': 's', 'port': {'number': 80}}}, **more}}, w)
    for n, more, w in (('class', {}, ['annotation "kubernetes.io/ingress.class" is deprecated, please use \'spec.ingressClassName\' instead']),)])


@check
def addresses_of_load_balancers_are_warned_of(t):
    t.make(t.at('services'), service('LoadBalancer'))
    t.make(t.at('ingresses', 'networking.k8s.io'), {
        'metadata': {'name': 's'}, 'spec': {'defaultBackend': {'service': {'name': 's', 'port': {'number': 80}}}}})
    for path, ip in ((f'{t.at("services")}/s/status', {'ip': '01.2.3.4', 'ipMode': 'VIP'}),
                     (f'{t.at("ingresses", "networking.k8s.io")}/s/status', {'ip': '01.2.3.4'})):
        a = t.patch(path, {'status': {'loadBalancer': {'ingress': [{'hostname': 'a.b'}, ip]}}}, MERGE)
        t.code(a, 200)
        t.eq(told(a), [odd_ip('status.loadBalancer.ingress[1]', '01.2.3.4', '1.2.3.4')], f'warnings of {path}')


@check
def an_update_of_a_service_is_warned_of(t):
    t.make(t.at('services'), service(trafficDistribution='PreferClose'))
    t.eq(touch(t, f'{t.at("services")}/s'), ['spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"'], 'warnings')


@check
def an_update_of_an_ingress_is_not_warned_of(t):
    path = t.at('ingresses', 'networking.k8s.io')
    t.make(path, {'metadata': {'name': 'i', 'annotations': {'kubernetes.io/ingress.class': 'x'}},
                  'spec': {'defaultBackend': {'service': {'name': 's', 'port': {'number': 80}}}}})
    t.eq(touch(t, f'{path}/i'), [], 'warnings')


# ---- nodes, volumes, classes ----

warn('node', '/api/v1/nodes', [
    ('nothing', node('warned-n'), []),
    ('config_source', {**node('warned-n'), 'spec': {'configSource': {'configMap': {'name': 'a', 'namespace': 'b', 'kubeletConfigKey': 'k'}}}}, []),
    ('external_id', {**node('warned-n'), 'spec': {'externalID': 'x'}}, ['spec.externalID: this field is deprecated, and is unused by Kubernetes']),
    ('pod_cidrs', {**node('warned-n'), 'spec': {'podCIDR': '10.1.0.0/8', 'podCIDRs': ['10.1.0.0/8', 'FD00::/8']}},
     [ambiguous('spec.podCIDRs[0]', '10.1.0.0/8', '10.0.0.0/8', '10.1.0.0/32'), canonical('spec.podCIDRs[1]', 'FD00::/8', 'fd00::/8')]),
])


def pv(source=None, annotations=None, **spec):
    return {'metadata': {'name': 'warned-pv', **({'annotations': annotations} if annotations else {})},
            'spec': {'capacity': {'storage': '1Gi'}, 'accessModes': ['ReadWriteOnce'], **(source or {'hostPath': {'path': '/x'}}), **spec}}


CLASS, BETA_CLASS = 'deprecated since v1.8; use "storageClassName" attribute instead', 'volume.beta.kubernetes.io/storage-class'
warn('volume', '/api/v1/persistentvolumes', [
    ('nothing', pv(), []),
    ('annotations', pv({'nfs': {'server': 's', 'path': '/'}}, annotations={'volume.beta.kubernetes.io/mount-options': 'ro', BETA_CLASS: 'x'}),
     [f'metadata.annotations[{BETA_CLASS}]: {CLASS}',
      'metadata.annotations[volume.beta.kubernetes.io/mount-options]: deprecated since v1.31; use "mountOptions" attribute instead']),
    ('recycle', pv(persistentVolumeReclaimPolicy='Recycle', nodeAffinity={'required': {'nodeSelectorTerms': node_terms([('beta.kubernetes.io/arch', 'x')])}}),
     ['spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic '
      f'provisioning.', f'spec.nodeAffinity.required.nodeSelectorTerms[0].matchExpressions[0].key: beta.kubernetes.io/arch is {ARCH}']),
] + [(k.lower(), pv({k: source}), [f'spec.{said}: deprecated in {when}']) for k, source, said, when in (
    ('cephfs', {'monitors': ['m']}, 'cephfs', 'v1.28, non-functional in v1.31+'),
    ('photonPersistentDisk', {'pdID': 'x'}, 'photonPersistentDisk', 'v1.11, non-functional in v1.16+'),
    ('scaleIO', {'gateway': 'g', 'system': 's', 'secretRef': {'name': 's', 'namespace': 'n'}, 'volumeName': 'v'}, 'scaleIO',
     'v1.16, non-functional in v1.22+'),
    ('storageos', {'volumeName': 'v', 'volumeNamespace': 'n'}, 'storageOS', 'v1.22, non-functional in v1.25+'),
    ('glusterfs', {'endpoints': 'e', 'path': 'p'}, 'glusterfs', 'v1.25, non-functional in v1.26+'),
    ('rbd', {'monitors': ['m'], 'image': 'i'}, 'rbd', 'v1.28, non-functional in v1.31+'))
] + [('flocker', pv({'flocker': {'datasetName': 'd'}}), [])])
warn('claim', '/api/v1/namespaces/{ns}/persistentvolumeclaims', [
    ('nothing', {'metadata': {'name': 'c'}, 'spec': claim()}, []),
    ('class', {'metadata': {'name': 'c', 'annotations': {BETA_CLASS: 'x'}}, 'spec': claim(requests={'storage': '1500m'}, limits={'storage': '2.5'})},
     [f'metadata.annotations[{BETA_CLASS}]: {CLASS}', f'spec.resources.requests[storage]: {fraction("1500m")}',
      f'spec.resources.limits[storage]: {fraction("2500m")}']),
])
warn('storage_class', '/apis/storage.k8s.io/v1/storageclasses', [
    ('topologies', {'metadata': {'name': 'warned-sc'}, 'provisioner': 'x', 'allowedTopologies': [{'matchLabelExpressions': [
        {'key': 'a', 'values': ['x']}, {'key': 'failure-domain.beta.kubernetes.io/zone', 'values': ['z']}]}]},
     [f'allowedTopologies[0].matchLabelExpressions[1].key: {ZONE}'])])
warn('capacity', '/apis/storage.k8s.io/v1/namespaces/{ns}/csistoragecapacities', [
    ('topology', {'metadata': {'name': 'c'}, 'storageClassName': 'x', 'nodeTopology': {
        'matchLabels': {'beta.kubernetes.io/arch': 'x'},
        'matchExpressions': [{'key': 'failure-domain.beta.kubernetes.io/zone', 'operator': 'In', 'values': ['z']}]}},
     [f'nodeTopology.matchExpressions[0].key: failure-domain.beta.kubernetes.io/zone is {ZONE}',
      f'nodeTopology.matchLabels.beta.kubernetes.io/arch: {ARCH}'])])
TOKENS = ('spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible logging of tokens in '
          'volume attributes')
warn('csi_driver', '/apis/storage.k8s.io/v1/csidrivers', [
    (n, {'metadata': {'name': 'warned.csi'}, 'spec': spec}, w) for n, spec, w in (
        ('nothing', {}, []), ('tokens', {'tokenRequests': [{'audience': 'a'}]}, [TOKENS]),
        ('tokens_in_secrets', {'tokenRequests': [{'audience': 'a'}], 'serviceAccountTokenInSecrets': False}, []))])
warn('runtime_class', '/apis/node.k8s.io/v1/runtimeclasses', [
    ('selector', {'metadata': {'name': 'warned-rc'}, 'handler': 'x', 'scheduling': {'nodeSelector': {'beta.kubernetes.io/arch': 'x'}}},
     [f'scheduling.nodeSelector: {ARCH}'])])
warn('quota', '/api/v1/namespaces/{ns}/resourcequotas', [
    ('requests_above_limits', {'metadata': {'name': 'q'}, 'spec': {'hard': {
        'cpu': '3', 'limits.cpu': '2', 'memory': '5Gi', 'requests.memory': '1Gi', 'limits.memory': '2Gi',
        'requests.ephemeral-storage': '2Gi', 'limits.ephemeral-storage': '1Gi'}}},
     ['ResourceQuota cpu (3) should be less than limits.cpu (2)',
      'ResourceQuota requests.ephemeral-storage (2Gi) should be less than limits.ephemeral-storage (1Gi)'])])


@check
def secrets_of_an_account_are_warned_of_once(t):
    path, note = t.at('serviceaccounts'), {'kubernetes.io/enforce-mountable-secrets': 'true'}
    want = ['metadata.annotations[kubernetes.io/enforce-mountable-secrets]: deprecated in v1.32+; prefer separate namespaces to isolate access '
            'to mounted secrets']
    a = t.post(path, {'metadata': {'name': 'a', 'annotations': note}})
    t.eq(told(t.code(a, 201)), want, 'warnings')
    t.eq(touch(t, f'{path}/a'), [], 'warnings of an update')
    t.make(path, {'metadata': {'name': 'b'}})
    t.eq(told(t.code(t.patch(f'{path}/b', {'metadata': {'annotations': note}}, MERGE), 200)), want, 'warnings of another')


@check
def a_csi_driver_is_warned_of_when_its_tokens_change(t):
    path, name = '/apis/storage.k8s.io/v1/csidrivers', t.name('csi')
    t.make(path, {'metadata': {'name': name}, 'spec': {'tokenRequests': [{'audience': 'a'}]}})
    t.eq(touch(t, f'{path}/{name}'), [], 'warnings')
    a = t.patch(f'{path}/{name}', {'spec': {'tokenRequests': [{'audience': 'b'}]}}, MERGE)
    t.eq(told(t.code(a, 200)), [TOKENS], 'warnings')


# ---- how much is said ----

def bounded(texts):
    """4096 characters; what is more cuts every text to 256, until those that are cut are as much."""
    said, cut = [], False
    for text in texts:
        if cut and sum(map(len, said)) >= 4096:
            break
        said.append(text)
        if sum(map(len, said)) > 4096:
            cut = True
        if cut:
            said = [s[:256] for s in said]
    return said


@check
def much_is_said_to_a_bound(t):
    a = t.post(t.pods(), pod('p', {'imagePullSecrets': [{}] * 95}), dryRun='All')
    t.code(a, 201)
    want = [f'spec.imagePullSecrets[{i}].name: duplicate name ""' for i in range(1, 95)]
    t.eq(told(a), bounded(want + [f'spec.imagePullSecrets[{i}].name: invalid empty name ""' for i in range(95)]), 'warnings')


@check
def long_texts_are_cut_when_they_are_many(t):
    for length in (150, 300):
        env = [{'name': f'V{i % 20}_' + 'x' * length, 'value': str(i)} for i in range(60)]
        a = t.post(t.pods(), pod('p', container={'env': env}), dryRun='All')
        t.code(a, 201)
        t.eq(told(a), bounded([f'spec.containers[0].env[{i}]: hides previous definition of "{env[i]["name"]}", which may be dropped when using apply'
                               for i in range(20, 60)]), f'warnings of {length}')


@check
def one_long_text_is_cut(t):
    env = [{'name': 'x' * 5000}, {'name': 'x' * 5000}]
    a = t.post(t.pods(), pod('p', container={'env': env}), dryRun='All')
    t.eq(told(t.code(a, 201)), [f'spec.containers[0].env[1]: hides previous definition of "{"x" * 5000}'[:256]], 'warnings')


# ---- owners ----

TWICE = ('.metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, and may reject such requests as '
         'early as 1.24; please fix your requests; duplicate UID(s) observed: ')
TWICE_AFTER = TWICE.replace(' entries;', ' entries after mutating admission happens;')


def owner(uid, name='o', **more):
    return {'apiVersion': 'v1', 'kind': 'Pod', 'name': name, 'uid': uid, **more}


@check
def owners_that_are_named_twice_are_kept_once(t):
    body = {'metadata': {'name': 'm', 'ownerReferences': [owner('u1'), owner('u2'), owner('u1'), owner('u1', 'p'), owner('u2'), owner('u1')]}}
    once = [owner('u1'), owner('u2'), owner('u1', 'p')]
    a = t.post(t.maps(), body)
    t.has(t.code(a, 201), 'metadata.ownerReferences', once)
    t.eq(told(a), [TWICE + 'u1, u2, u1'], 'warnings of a create')
    a = t.put(f'{t.maps()}/m', body)
    t.has(t.code(a, 200), 'metadata.ownerReferences', once)
    t.eq(told(a), [TWICE + 'u1, u2, u1'], 'warnings of an update')
    a = t.patch(f'{t.maps()}/m', {'metadata': {'ownerReferences': [owner('u3'), owner('u3')]}}, MERGE)
    t.has(t.code(a, 200), 'metadata.ownerReferences', [owner('u3')])
    t.eq(told(a), [TWICE_AFTER + 'u3'], 'warnings of a patch')
    t.eq(touch(t, f'{t.maps()}/m'), [], 'warnings of another patch')


# ---- deletions ----

PRESERVED = ('child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set '
             'propagationPolicy=Orphan to suppress this warning')


@check
def deleting_a_job_without_a_word_about_its_pods_is_warned_of(t):
    path = t.at('jobs', 'batch')
    for body, query, want, finalizers in ((None, {}, [PRESERVED], ['orphan']), ({'gracePeriodSeconds': 0}, {}, [PRESERVED], ['orphan']),
                                          ({'propagationPolicy': 'Orphan'}, {}, [], ['orphan']), ({'orphanDependents': True}, {}, [], ['orphan']),
                                          (None, {'propagationPolicy': 'Foreground'}, [], ['foregroundDeletion'])):
        name = t.make(path, job(t.name()))['metadata']['name']
        a = t.delete(f'{path}/{name}', body, **query)
        t.eq(told(t.code(a, 200)), want, f'warnings of {body or query}')
        t.has(a, 'metadata.finalizers', finalizers)
    name = t.make(path, job(t.name()))['metadata']['name']
    t.eq(told(t.code(t.delete(f'{path}/{name}', propagationPolicy='Background'), 200)), [], 'warnings')
    t.eq(t.get(f'{path}/{name}').code, 404, 'code after it')


@check
def deleting_all_jobs_is_warned_of_once(t):
    path = t.at('jobs', 'batch')
    for _ in range(2):
        t.make(path, job(t.name()))
    t.eq(told(t.code(t.delete(path), 200)), [PRESERVED], 'warnings')
    t.eq([j['metadata']['finalizers'] for j in t.read(path)['items']], [['orphan']] * 2, 'finalizers')


@check
def a_job_keeps_the_propagation_that_it_was_deleted_with(t):
    path = t.at('jobs', 'batch')
    t.make(path, job('j'))
    t.code(t.delete(f'{path}/j', propagationPolicy='Foreground'), 200)
    a = t.delete(f'{path}/j')
    t.has(t.code(a, 200), 'metadata.finalizers', ['foregroundDeletion'])
    t.eq(told(a), [PRESERVED], 'warnings')


@check
def a_replication_controller_leaves_its_pods_without_a_warning(t):
    path = t.at('replicationcontrollers')
    t.make(path, {'metadata': {'name': 'r'}, 'spec': {'selector': {'app': 'x'}, 'template': template_of('p')}})
    a = t.delete(f'{path}/r')
    t.has(t.code(a, 200), 'metadata.finalizers', ['orphan'])
    t.eq(told(a), [], 'warnings')
