"""quotas.py - ResourceQuota: what counts, what is refused and in which words. A row of a table is a check."""
from client import check, config_map, dig, pod

CLASSES = '/apis/scheduling.k8s.io/v1/priorityclasses'
GUARANTEED = {'resources': {'limits': {'cpu': '100m', 'memory': '64Mi'}}}


def quota(t, hard, name='q', **spec):
    """A quota that counts: a real server's needs somebody to write its status, which is the check's part there."""
    path = t.at('resourcequotas')
    t.make(path, {'metadata': {'name': name}, 'spec': {'hard': hard, **spec}})
    if dig(t.read(f'{path}/{name}'), 'status.hard') != hard:
        t.code(t.patch(f'{path}/{name}/status', {'status': {'hard': hard, 'used': {k: '0' for k in hard}}}), 200)
    # The server's admission reads quotas from a cache.
    probe = next(iter(hard))
    t.until('the quota is known', lambda: dig(t.read(f'{path}/{name}'), f'status.hard') and (
        'used' in t.read(f'{path}/{name}')['status']) and probe)
    return f'{path}/{name}'


def used(t, path):
    return t.read(path)['status']['used']


def rows(table):
    def register(fn):
        for name, *rest in table:
            def one(t, rest=rest):
                fn(t, *rest)
            one.__name__, one.__module__ = f'{fn.__name__}_{name}'.replace('-', '_'), fn.__module__
            check(one)
        return fn
    return register


def refused_in_time(t, path, body, part, kind):
    """A real server's admission may not have read the quota yet: what it lets through until then is deleted."""
    def attempt():
        a = t.post(path, body)
        if a.code == 201:
            t.delete(f'{path}/{body["metadata"]["name"]}', {'gracePeriodSeconds': 0})
            return None
        return a
    a = t.until('the quota refuses', attempt)
    t.status(a, 403, 'Forbidden', part=part, details={'kind': kind, 'name': body['metadata']['name']})


def requests(**of):
    return {'resources': {'requests': of}}


def limits(**of):
    return {'resources': {'limits': of}}


def service(name, ports=1, **spec):
    return {'apiVersion': 'v1', 'kind': 'Service', 'metadata': {'name': name}, 'spec': {
        'ports': [{'name': f'p{i}', 'port': 80 + i} for i in range(ports)], **spec}}


def claim(name, size, cls=None):
    return {'apiVersion': 'v1', 'kind': 'PersistentVolumeClaim', 'metadata': {'name': name}, 'spec': {
        'accessModes': ['ReadWriteOnce'], 'resources': {'requests': {'storage': size}},
        **({'storageClassName': cls} if cls else {})}}


def named(kind, name, **more):
    return {'kind': kind, 'metadata': {'name': name}, **more}


def template():
    return {'metadata': {'labels': {'a': 'b'}}, 'spec': {'containers': [{'name': 'c', 'image': 'i'}]}}


CPU_MEMORY = {'cpu': '2', 'memory': '1Gi'}
# name, hard, collection (plural[, group]), object, the message behind "exceeded quota: q, "
REFUSED = [
    ('pods', {'pods': '0'}, ('pods',), pod('a'), 'requested: pods=1, used: pods=0, limited: pods=0'),
    ('count-pods', {'count/pods': '0'}, ('pods',), pod('a'), 'requested: count/pods=1, used: count/pods=0, limited: count/pods=0'),
    ('cpu', {'cpu': '1'}, ('pods',), pod('a', container=requests(cpu='1100m')), 'requested: cpu=1100m, used: cpu=0, limited: cpu=1'),
    ('requests-cpu', {'requests.cpu': '1'}, ('pods',), pod('a', container=requests(cpu='2')),
     'requested: requests.cpu=2, used: requests.cpu=0, limited: requests.cpu=1'),
    ('memory', {'memory': '1Gi'}, ('pods',), pod('a', container=requests(memory='2Gi')),
     'requested: memory=2Gi, used: memory=0, limited: memory=1Gi'),
    ('requests-memory', {'requests.memory': '1Gi'}, ('pods',), pod('a', container=requests(memory='1025Mi')),
     'requested: requests.memory=1025Mi, used: requests.memory=0, limited: requests.memory=1Gi'),
    ('limits-cpu', {'limits.cpu': '1'}, ('pods',), pod('a', container=limits(cpu='1500m')),
     'requested: limits.cpu=1500m, used: limits.cpu=0, limited: limits.cpu=1'),
    ('limits-memory', {'limits.memory': '1Gi'}, ('pods',), pod('a', container=limits(memory='3Gi')),
     'requested: limits.memory=3Gi, used: limits.memory=0, limited: limits.memory=1Gi'),
    ('requests-from-limits', {'requests.cpu': '1'}, ('pods',), pod('a', container=limits(cpu='2')),
     'requested: requests.cpu=2, used: requests.cpu=0, limited: requests.cpu=1'),
    ('ephemeral', {'requests.ephemeral-storage': '1Gi'}, ('pods',), pod('a', container=requests(**{'ephemeral-storage': '2Gi'})),
     'requested: requests.ephemeral-storage=2Gi, used: requests.ephemeral-storage=0, limited: requests.ephemeral-storage=1Gi'),
    ('ephemeral-limits', {'limits.ephemeral-storage': '1Gi'}, ('pods',), pod('a', container=limits(**{'ephemeral-storage': '2Gi'})),
     'requested: limits.ephemeral-storage=2Gi, used: limits.ephemeral-storage=0, limited: limits.ephemeral-storage=1Gi'),
    ('extended', {'requests.example.com/gpu': '1'}, ('pods',), pod('a', container=limits(**{'example.com/gpu': '2'})),
     'requested: requests.example.com/gpu=2, used: requests.example.com/gpu=0, limited: requests.example.com/gpu=1'),
    ('init-containers', {'cpu': '1'}, ('pods',),
     pod('a', {'initContainers': [{'name': 'i', 'image': 'i', **requests(cpu='3')}]}, container=requests(cpu='1')),
     'requested: cpu=3, used: cpu=0, limited: cpu=1'),
    ('two-names', {'cpu': '1', 'memory': '1Gi'}, ('pods',), pod('a', container=requests(cpu='2', memory='2Gi')),
     'requested: cpu=2,memory=2Gi, used: cpu=0,memory=0, limited: cpu=1,memory=1Gi'),
    ('only-what-exceeds', {'cpu': '1', 'pods': '5'}, ('pods',), pod('a', container=requests(cpu='2')),
     'requested: cpu=2, used: cpu=0, limited: cpu=1'),
    ('configmaps', {'configmaps': '0'}, ('configmaps',), config_map('a'),
     'requested: configmaps=1, used: configmaps=0, limited: configmaps=0'),
    ('count-configmaps', {'count/configmaps': '0'}, ('configmaps',), config_map('a'),
     'requested: count/configmaps=1, used: count/configmaps=0, limited: count/configmaps=0'),
    ('secrets', {'secrets': '0'}, ('secrets',), named('Secret', 'a'), 'requested: secrets=1, used: secrets=0, limited: secrets=0'),
    ('services', {'services': '0'}, ('services',), service('a'), 'requested: services=1, used: services=0, limited: services=0'),
    ('nodeports', {'services.nodeports': '1'}, ('services',), service('a', 2, type='NodePort'),
     'requested: services.nodeports=2, used: services.nodeports=0, limited: services.nodeports=1'),
    ('loadbalancers', {'services.loadbalancers': '0'}, ('services',), service('a', type='LoadBalancer'),
     'requested: services.loadbalancers=1, used: services.loadbalancers=0, limited: services.loadbalancers=0'),
    ('loadbalancer-nodeports', {'services.nodeports': '0'}, ('services',), service('a', type='LoadBalancer'),
     'requested: services.nodeports=1, used: services.nodeports=0, limited: services.nodeports=0'),
    ('claims', {'persistentvolumeclaims': '0'}, ('persistentvolumeclaims',), claim('a', '1Gi'),
     'requested: persistentvolumeclaims=1, used: persistentvolumeclaims=0, limited: persistentvolumeclaims=0'),
    ('storage', {'requests.storage': '1Gi'}, ('persistentvolumeclaims',), claim('a', '2Gi'),
     'requested: requests.storage=2Gi, used: requests.storage=0, limited: requests.storage=1Gi'),
    ('storage-of-class', {'fast.storageclass.storage.k8s.io/requests.storage': '1Gi'}, ('persistentvolumeclaims',),
     claim('a', '2Gi', 'fast'), 'requested: fast.storageclass.storage.k8s.io/requests.storage=2Gi'),
    ('claims-of-class', {'fast.storageclass.storage.k8s.io/persistentvolumeclaims': '0'}, ('persistentvolumeclaims',),
     claim('a', '2Gi', 'fast'), 'requested: fast.storageclass.storage.k8s.io/persistentvolumeclaims=1'),
    ('deployments', {'count/deployments.apps': '0'}, ('deployments', 'apps'),
     {'metadata': {'name': 'a'}, 'spec': {'selector': {'matchLabels': {'a': 'b'}}, 'template': template()}},
     'requested: count/deployments.apps=1, used: count/deployments.apps=0, limited: count/deployments.apps=0'),
    ('jobs', {'count/jobs.batch': '0'}, ('jobs', 'batch'),
     {'metadata': {'name': 'a'}, 'spec': {'template': {'spec': {**template()['spec'], 'restartPolicy': 'Never'}}}},
     'requested: count/jobs.batch=1, used: count/jobs.batch=0, limited: count/jobs.batch=0'),
    ('roles', {'count/roles.rbac.authorization.k8s.io': '0'}, ('roles', 'rbac.authorization.k8s.io'),
     {'metadata': {'name': 'a'}, 'rules': []}, 'requested: count/roles.rbac.authorization.k8s.io=1'),
    ('leases', {'count/leases.coordination.k8s.io': '0'}, ('leases', 'coordination.k8s.io'),
     {'metadata': {'name': 'a'}}, 'requested: count/leases.coordination.k8s.io=1'),
    ('serviceaccounts', {'count/serviceaccounts': '0'}, ('serviceaccounts',), {'metadata': {'name': 'a'}},
     'requested: count/serviceaccounts=1'),
    ('replicationcontrollers', {'replicationcontrollers': '0'}, ('replicationcontrollers',),
     {'metadata': {'name': 'a'}, 'spec': {'selector': {'a': 'b'}, 'template': template()}},
     'requested: replicationcontrollers=1, used: replicationcontrollers=0, limited: replicationcontrollers=0'),
]


@rows(REFUSED)
def a_quota_refuses(t, hard, where, body, part):
    quota(t, hard)
    refused_in_time(t, t.at(*where), body, f'exceeded quota: q, {part}', where[0])


# name, hard, pod, message behind "failed quota: q: "
UNSAID = [
    ('cpu', {'cpu': '2'}, pod('a'), 'must specify cpu for: main'),
    ('memory', {'memory': '2Gi'}, pod('a'), 'must specify memory for: main'),
    ('requests-cpu', {'requests.cpu': '2'}, pod('a'), 'must specify requests.cpu for: main'),
    ('limits-memory', {'limits.memory': '2Gi'}, pod('a', container=requests(memory='1Gi')), 'must specify limits.memory for: main'),
    ('both', CPU_MEMORY, pod('a'), 'must specify cpu for: main; memory for: main'),
    ('one-of-two', CPU_MEMORY, pod('a', container=requests(cpu='1')), 'must specify memory for: main'),
    ('limits-and-requests', {'limits.cpu': '2', 'requests.cpu': '2'}, pod('a'),
     'must specify limits.cpu for: main; requests.cpu for: main'),
    ('two-containers', {'cpu': '2'},
     pod('a', {'containers': [{'name': 'z', 'image': 'i'}, {'name': 'b', 'image': 'i'}, {'name': 'm', 'image': 'i', **requests(cpu='1')}]}),
     'must specify cpu for: b,z'),
    ('init-container', {'cpu': '2'},
     pod('a', {'initContainers': [{'name': 'init', 'image': 'i'}]}, container=requests(cpu='1')), 'must specify cpu for: init'),
]


@rows(UNSAID)
def a_quota_wants_containers_to_say(t, hard, body, part):
    quota(t, hard)
    refused_in_time(t, t.pods(), body, f'pods "a" is forbidden: failed quota: q: {part}', 'pods')


PODS = {'plain': pod('plain'), 'guaranteed': pod('guaranteed', container=GUARANTEED),
        'deadline': pod('deadline', {'activeDeadlineSeconds': 60}),
        'classed': pod('classed', {'priorityClassName': 'system-cluster-critical'}),
        'affine': pod('affine', {'affinity': {'podAffinity': {'requiredDuringSchedulingIgnoredDuringExecution': [
            {'topologyKey': 'a/b', 'namespaces': ['x'], 'labelSelector': {}}]}}})}


def by_class(operator, *values):
    return {'scopeSelector': {'matchExpressions': [{'scopeName': 'PriorityClass', 'operator': operator,
                                                    **({'values': list(values)} if values else {})}]}}


# name, what the spec has beside hard, which of PODS count
SCOPES = [
    ('none', {}, ('plain', 'guaranteed', 'deadline', 'classed', 'affine')),
    ('best-effort', {'scopes': ['BestEffort']}, ('plain', 'deadline', 'classed', 'affine')),
    ('not-best-effort', {'scopes': ['NotBestEffort']}, ('guaranteed',)),
    ('terminating', {'scopes': ['Terminating']}, ('deadline',)),
    ('not-terminating', {'scopes': ['NotTerminating']}, ('plain', 'guaranteed', 'classed', 'affine')),
    ('two', {'scopes': ['BestEffort', 'NotTerminating']}, ('plain', 'classed', 'affine')),
    ('priority-class', {'scopes': ['PriorityClass']}, ('classed',)),
    ('class-in', by_class('In', 'system-cluster-critical', 'other'), ('classed',)),
    ('class-in-other', by_class('In', 'other'), ()),
    ('class-not-in', by_class('NotIn', 'system-cluster-critical'), ('plain', 'guaranteed', 'deadline', 'affine')),
    ('class-exists', by_class('Exists'), ('classed',)),
    ('class-does-not-exist', by_class('DoesNotExist'), ('plain', 'guaranteed', 'deadline', 'affine')),
    ('affinity', {'scopes': ['CrossNamespacePodAffinity']}, ('affine',)),
]


@rows([(f'{n}-{p}', spec, counted, p) for n, spec, counted in SCOPES for p in PODS])
def a_scope(t, spec, counted, which):
    quota(t, {'pods': '0'}, **spec)
    # A second quota that surely refuses shows that both are known to the server.
    quota(t, {'configmaps': '0'}, 'seen')
    t.until('quotas are known', lambda: (a := t.post(t.maps(), config_map(t.name('m')))).code == 403)
    a = t.code(t.post(t.pods(), PODS[which]), 201, 403)
    t.eq(a.code, 403 if which in counted else 201, f'code of {a}')


@check
def a_dry_run_is_refused_as_well(t):
    quota(t, {'configmaps': '0'})
    t.until('refused', lambda: t.post(t.maps(), config_map('a'), dryRun='All').code == 403)


@check
def an_object_of_a_quota_counts_once(t):
    path = quota(t, {'configmaps': '3'})
    for name in ('a', 'b'):
        t.make(t.maps(), config_map(name))
    t.until('both count', lambda: used(t, path)['configmaps'] == '2')
    t.code(t.patch(f'{t.maps()}/a', {'data': {'k': '2'}}), 200)
    t.eq(used(t, path)['configmaps'], '2', 'used')


@check
def used_and_refused_agree(t):
    quota(t, {'configmaps': '2'})
    made = 0
    for i in range(12):
        made += t.post(t.maps(), config_map(f'm{i}')).code == 201
    t.true(made >= 2, f'{made} were made')
    a = t.post(t.maps(), config_map('more'))
    t.status(a, 403, 'Forbidden', part='exceeded quota: q, requested: configmaps=1, used: configmaps=2, limited: configmaps=2')


@check
def requests_of_several_pods_add_up(t):
    path = quota(t, {'requests.cpu': '1', 'pods': '10'})
    t.make(t.pods(), pod('a', container=requests(cpu='400m')))
    t.make(t.pods(), pod('b', container=requests(cpu='300m')))
    t.until('both count', lambda: used(t, path)['requests.cpu'] == '700m')
    t.status(t.post(t.pods(), pod('c', container=requests(cpu='400m'))), 403, 'Forbidden',
             part='requested: requests.cpu=400m, used: requests.cpu=700m, limited: requests.cpu=1')
    t.eq(used(t, path)['pods'], '2', 'pods')


@check
def a_service_that_becomes_more_counts(t):
    quota(t, {'services.nodeports': '0'})
    quota(t, {'configmaps': '0'}, 'seen')
    t.until('quotas are known', lambda: t.post(t.maps(), config_map(t.name('m'))).code == 403)
    t.make(t.at('services'), service('a'))
    t.status(t.patch(f'{t.at("services")}/a', {'spec': {'type': 'NodePort'}}), 403, 'Forbidden',
             part='requested: services.nodeports=1')


@check
def other_namespaces_are_free(t):
    quota(t, {'configmaps': '0'})
    t.until('refused', lambda: t.post(t.maps(), config_map(t.name('m'))).code == 403)
    other = t.name('other')
    t.make('/api/v1/namespaces', {'metadata': {'name': other}})
    t.make(t.at('configmaps', ns=other), config_map('a'))
