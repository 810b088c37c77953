"""quotas.py - ResourceQuota: what counts, what is refused and in which words. A row of a table is a check."""
from client import STRATEGIC, check, config_map, dig, pod

CLASSES = '/apis/scheduling.k8s.io/v1/priorityclasses'
GUARANTEED = {'resources': {'limits': {'cpu': '100m', 'memory': '64Mi'}}}


def quota(t, hard, name='q', **spec):
    """A quota that counts: a real server's needs somebody to write its status, which is the check's part there."""
    path = t.at('resourcequotas')
    t.make(path, {'metadata': {'name': name}, 'spec': {'hard': hard, **spec}})
    if dig(t.read(f'{path}/{name}'), 'status.hard') != hard:
        write_status(t, path, name, hard)
        wait_known(t, path)
    return f'{path}/{name}'


def write_status(t, path, name, hard):
    t.code(t.patch(f'{path}/{name}/status', {'status': {'hard': hard, 'used': {k: '0' for k in hard}}}), 200)


def wait_known(t, path):
    """A real server's admission reads quotas from a cache, in the order in which they were written: when it refuses by
    one that came later, it knows all those before. What it lets through until then nobody would ever count."""
    hard = {'count/podtemplates': '0'}
    t.make(path, {'metadata': {'name': 'later'}, 'spec': {'hard': hard}})
    write_status(t, path, 'later', hard)
    body = {'metadata': {'name': 'x'}, 'template': template()}
    t.until('the quotas are known', lambda: t.post(t.at('podtemplates'), body, dryRun='All').code == 403)
    t.code(t.delete(f'{path}/later'), 200)


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


def refused(t, path, body, part, kind):
    t.status(t.post(path, body), 403, 'Forbidden', part=part, details={'kind': kind, 'name': body['metadata']['name']})


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
    refused(t, t.at(*where), body, f'exceeded quota: q, {part}', where[0])


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
    refused(t, t.pods(), body, f'pods "a" is forbidden: failed quota: q: {part}', 'pods')


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
    a = t.code(t.post(t.pods(), PODS[which]), 201, 403)
    t.eq(a.code, 403 if which in counted else 201, f'code of {a}')


def attributes(operator, *values, scope='VolumeAttributesClass'):
    return {'scopeSelector': {'matchExpressions': [{'scopeName': scope, 'operator': operator, **({'values': list(values)} if values else {})}]}}


def claim_of(name, cls=None):
    c = claim(name, '1Gi')
    if cls:
        c['spec']['volumeAttributesClassName'] = cls
    return c


CLAIMS = {'plain': claim_of('plain'), 'gold': claim_of('gold', 'gold'), 'silver': claim_of('silver', 'silver')}
# name, what the spec has beside hard, which of CLAIMS count
CLAIM_SCOPES = [
    ('scope', {'scopes': ['VolumeAttributesClass']}, ('gold', 'silver')),
    ('exists', attributes('Exists'), ('gold', 'silver')),
    ('does-not-exist', attributes('DoesNotExist'), ('plain',)),
    ('in', attributes('In', 'gold', 'bronze'), ('gold',)),
    ('not-in', attributes('NotIn', 'gold'), ('plain', 'silver')),
    ('none', {}, ('plain', 'gold', 'silver')),
]


@rows([(f'{n}-{c}', spec, counted, c) for n, spec, counted in CLAIM_SCOPES for c in CLAIMS])
def a_scope_of_claims(t, spec, counted, which):
    quota(t, {'persistentvolumeclaims': '0', 'requests.storage': '0'}, **spec)
    a = t.code(t.post(t.at('persistentvolumeclaims'), CLAIMS[which]), 201, 403)
    t.eq(a.code, 403 if which in counted else 201, f'code of {a}')
    if a.code == 403:
        t.true('exceeded quota: q, requested: persistentvolumeclaims=1,requests.storage=1Gi, used: ' in a['message'], a['message'])


@check
def a_claim_that_gets_another_class_counts(t):
    quota(t, {'persistentvolumeclaims': '0'}, **attributes('In', 'gold'))
    path = f'{t.at("persistentvolumeclaims")}/a'
    t.make(t.at('persistentvolumeclaims'), claim_of('a', 'silver'))
    t.code(t.patch(f'{path}/status', {'status': {'phase': 'Bound'}}), 200)
    t.status(t.patch(path, {'spec': {'volumeAttributesClassName': 'gold'}}), 403, 'Forbidden',
             part='exceeded quota: q, requested: persistentvolumeclaims=1, used: persistentvolumeclaims=0, limited: persistentvolumeclaims=0')
    t.code(t.patch(path, {'spec': {'volumeAttributesClassName': 'bronze'}}), 200)


@check
def a_dry_run_is_refused_as_well(t):
    quota(t, {'configmaps': '0'})
    t.code(t.post(t.maps(), config_map('a'), dryRun='All'), 403)


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
    t.eq(made, 2, 'how many were made')
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
    t.make(t.at('services'), service('a'))
    t.status(t.patch(f'{t.at("services")}/a', {'spec': {'type': 'NodePort'}}), 403, 'Forbidden',
             part='requested: services.nodeports=1')


def resized(t, name, **resources):
    return t.patch(f'{t.pods()}/{name}/resize', {'spec': {'containers': [{'name': 'main', 'resources': resources}]}},
                   content=STRATEGIC)


@check
def a_resized_pod_counts(t):
    path = quota(t, {'requests.cpu': '1', 'limits.cpu': '2', 'pods': '1'})
    t.make(t.pods(), pod('a', container={'resources': {'requests': {'cpu': '400m'}, 'limits': {'cpu': '500m'}}}))
    t.until('it counts', lambda: used(t, path)['requests.cpu'] == '400m')
    t.status(resized(t, 'a', requests={'cpu': '1100m'}, limits={'cpu': '3'}), 403, 'Forbidden', details={'kind': 'pods', 'name': 'a'},
             part='pods "a" is forbidden: exceeded quota: q, requested: limits.cpu=2500m,requests.cpu=700m, '
                  'used: limits.cpu=500m,requests.cpu=400m, limited: limits.cpu=2,requests.cpu=1')
    t.eq(used(t, path), {'requests.cpu': '400m', 'limits.cpu': '500m', 'pods': '1'}, 'used')
    t.code(resized(t, 'a', requests={'cpu': '900m'}, limits={'cpu': '1'}), 200)
    t.until('it counts as resized', lambda: used(t, path)['requests.cpu'] == '900m')
    t.code(resized(t, 'a', requests={'cpu': '100m'}, limits={'cpu': '1'}), 200)


@check
def a_quota_that_came_later_lets_pods_shrink(t):
    t.make(t.pods(), pod('a', container=requests(cpu='2')))
    quota(t, {'requests.cpu': '1'})
    t.code(resized(t, 'a', requests={'cpu': '1500m'}), 200)
    t.code(t.patch(f'{t.pods()}/a', {'metadata': {'labels': {'a': 'b'}}}), 200)


@check
def a_pod_that_gets_a_deadline_counts_as_terminating(t):
    path = quota(t, {'pods': '0'}, scopes=['Terminating'])
    t.make(t.pods(), pod('a'))
    t.status(t.patch(f'{t.pods()}/a', {'spec': {'activeDeadlineSeconds': 60}}), 403, 'Forbidden',
             part='pods "a" is forbidden: exceeded quota: q, requested: pods=1, used: pods=0, limited: pods=0')
    t.eq(used(t, path), {'pods': '0'}, 'used')
    t.code(t.patch(f'{t.pods()}/a', {'metadata': {'labels': {'a': 'b'}}}), 200)


@check
def a_pod_that_gets_a_deadline_is_free_where_only_others_count(t):
    quota(t, {'pods': '1'}, scopes=['NotTerminating'])
    t.make(t.pods(), pod('a'))
    t.code(t.patch(f'{t.pods()}/a', {'spec': {'activeDeadlineSeconds': 60}}), 200)


@check
def other_namespaces_are_free(t):
    quota(t, {'configmaps': '0'})
    t.code(t.post(t.maps(), config_map('m')), 403)
    other = t.name('other')
    t.make('/api/v1/namespaces', {'metadata': {'name': other}})
    t.make(t.at('configmaps', ns=other), config_map('a'))
