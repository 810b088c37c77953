"""discovery.py - what clients ask first: versions, groups, resources, aggregated discovery, OpenAPI, health."""
import time

from client import check

AGGREGATED = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList'
CORE = {  # plural: (kind, namespaced, short names, verbs that must be there)
    'pods': ('Pod', True, ['po'], 'create delete deletecollection get list patch update watch'),
    'nodes': ('Node', False, ['no'], 'create delete deletecollection get list patch update watch'),
    'namespaces': ('Namespace', False, ['ns'], 'create delete get list patch update watch'),
    'configmaps': ('ConfigMap', True, ['cm'], 'create delete deletecollection get list patch update watch'),
    'events': ('Event', True, ['ev'], 'create delete deletecollection get list patch update watch'),
    'services': ('Service', True, ['svc'], 'create delete deletecollection get list patch update watch'),
    'secrets': ('Secret', True, None, 'create delete deletecollection get list patch update watch'),
    'serviceaccounts': ('ServiceAccount', True, ['sa'], 'create delete deletecollection get list patch update watch'),
    'persistentvolumes': ('PersistentVolume', False, ['pv'], 'create delete deletecollection get list patch update watch'),
    'persistentvolumeclaims': ('PersistentVolumeClaim', True, ['pvc'],
                               'create delete deletecollection get list patch update watch'),
    'replicationcontrollers': ('ReplicationController', True, ['rc'],
                               'create delete deletecollection get list patch update watch'),
}
GROUPS = {'apps': 'v1', 'batch': 'v1', 'policy': 'v1', 'coordination.k8s.io': 'v1', 'scheduling.k8s.io': 'v1',
          'storage.k8s.io': 'v1', 'events.k8s.io': 'v1', 'rbac.authorization.k8s.io': 'v1',
          'admissionregistration.k8s.io': 'v1', 'apiextensions.k8s.io': 'v1', 'resource.k8s.io': 'v1',
          'slo.koordinator.sh': 'v1alpha1', 'scheduling.koordinator.sh': 'v1alpha1'}


def resources(t, path):
    return {r['name']: r for r in t.read(path)['resources']}


def settled(t, ask, groups):
    """The first answer with all groups, or the last: a real server publishes a definition a moment after it is made."""
    end = time.monotonic() + 120
    while not set(GROUPS) <= groups(a := ask()) and time.monotonic() < end:
        time.sleep(0.1)
    return a


@check
def the_version_is_one_thirty_five(t):
    a = t.code(t.get('/version'), 200)
    t.eq((a['major'], a['minor']), ('1', '35'), 'version')
    t.true(a['gitVersion'].startswith('v1.35.'), a['gitVersion'])


@check
def health_is_told(t):
    for path in ('/healthz', '/livez', '/readyz'):
        a = t.code(t.get(path), 200)
        t.eq(a.data, b'ok', path)


@check
def the_core_group_has_version_one(t):
    a = t.code(t.get('/api'), 200)
    t.has(a, 'kind', 'APIVersions')
    t.has(a, 'versions', ['v1'])


@check
def the_groups_are_listed(t):
    a = settled(t, lambda: t.code(t.get('/apis'), 200), lambda a: {g['name'] for g in a['groups']})
    t.has(a, 'kind', 'APIGroupList')
    t.has(a, 'apiVersion', 'v1')
    got = {g['name']: g for g in a['groups']}
    for name, version in GROUPS.items():
        t.true(name in got, f'group {name} is missing')
        t.eq(got[name]['preferredVersion'], {'groupVersion': f'{name}/{version}', 'version': version}, name)


@check
def one_group_is_described(t):
    a = t.code(t.get('/apis/apps'), 200)
    t.has(a, 'kind', 'APIGroup')
    t.has(a, 'name', 'apps')
    t.has(a, 'versions', [{'groupVersion': 'apps/v1', 'version': 'v1'}])


@check
def an_unknown_group_is_not_found(t):
    t.code(t.get('/apis/none.example.com'), 404)
    t.code(t.get('/apis/apps/v9'), 404)


@check
def core_resources_are_described(t):
    got = resources(t, '/api/v1')
    for name, (kind, namespaced, short, verbs) in CORE.items():
        r = got.get(name)
        t.true(r, f'{name} is missing')
        t.eq((r['kind'], r['namespaced'], r.get('shortNames'), ' '.join(sorted(r['verbs']))), (kind, namespaced, short, verbs),
             name)
        t.true(r['singularName'] == kind.lower(), f'singular name of {name}: {r["singularName"]}')


@check
def the_category_all_is_marked(t):
    t.eq(resources(t, '/api/v1')['pods'].get('categories'), ['all'], 'pods')
    t.eq(resources(t, '/apis/apps/v1')['deployments'].get('categories'), ['all'], 'deployments')


@check
def subresources_are_described(t):
    got = resources(t, '/api/v1')
    t.eq(sorted(got['pods/status']['verbs']), ['get', 'patch', 'update'], 'pods/status')
    t.eq(got['pods/binding']['verbs'], ['create'], 'pods/binding')
    e = got['pods/eviction']
    t.eq((e['group'], e['version'], e['kind'], e['verbs']), ('policy', 'v1', 'Eviction', ['create']), 'pods/eviction')
    s = resources(t, '/apis/apps/v1')['deployments/scale']
    t.eq((s['group'], s['version'], s['kind']), ('autoscaling', 'v1', 'Scale'), 'deployments/scale')


@check
def workload_resources_are_described(t):
    got = resources(t, '/apis/apps/v1')
    for name, short in (('deployments', ['deploy']), ('replicasets', ['rs']), ('statefulsets', ['sts']), ('daemonsets', ['ds'])):
        t.eq(got[name]['shortNames'], short, name)
    got = resources(t, '/apis/batch/v1')
    t.eq((got['jobs']['kind'], got['cronjobs']['shortNames']), ('Job', ['cj']), 'batch')


@check
def custom_resources_are_described(t):
    r = resources(t, '/apis/scheduling.sigs.k8s.io/v1alpha1')['podgroups']
    t.eq((r['kind'], r['namespaced'], r['singularName']), ('PodGroup', True, 'podgroup'), 'podgroups')
    t.eq(sorted(r['verbs']), ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'], 'verbs')


@check
def a_resource_list_names_its_version(t):
    a = t.code(t.get('/apis/batch/v1'), 200)
    t.has(a, 'kind', 'APIResourceList')
    t.has(a, 'groupVersion', 'batch/v1')


@check
def aggregated_discovery_of_the_core_group(t):
    a = t.code(t.get('/api', accept=AGGREGATED), 200)
    t.has(a, 'kind', 'APIGroupDiscoveryList')
    t.has(a, 'apiVersion', 'apidiscovery.k8s.io/v2')
    got = {r['resource']: r for r in a['items.0.versions.0.resources']}
    p = got['pods']
    t.eq((p['responseKind']['kind'], p['scope'], p['singularResource'], p['shortNames']),
         ('Pod', 'Namespaced', 'pod', ['po']), 'pods')
    t.true({'binding', 'eviction', 'status'} <= {s['subresource'] for s in p['subresources']}, 'subresources of pods')
    t.eq(got['nodes']['scope'], 'Cluster', 'scope of nodes')


@check
def aggregated_discovery_of_the_groups(t):
    a = settled(t, lambda: t.code(t.get('/apis', accept=AGGREGATED), 200), lambda a: {g['metadata']['name'] for g in a['items']})
    got = {g['metadata']['name']: g for g in a['items']}
    for name, version in GROUPS.items():
        t.true(name in got, f'group {name} is missing')
        t.true(any(v['version'] == version and v['resources'] for v in got[name]['versions']), f'{name} has no {version}')
    t.eq(got['apps']['versions'][0]['freshness'], 'Current', 'freshness')


@check
def aggregated_discovery_names_its_type(t):
    a = t.code(t.get('/apis', accept=f'{AGGREGATED},application/json'), 200)
    t.true('as=APIGroupDiscoveryList' in a.type and 'g=apidiscovery.k8s.io' in a.type, a.type)
    plain = t.code(t.get('/apis'), 200)
    t.eq(plain.type, 'application/json', 'plain')


@check
def a_new_definition_shows_in_discovery(t):
    import crds
    path = crds.shared(t)
    group = path.split('/')[2]
    t.until('the group is listed', lambda: group in [g['name'] for g in t.read('/apis')['groups']])
    t.until('the resource is listed', lambda: 'widgets' in resources(t, f'/apis/{group}/v1'))
    t.until('the resource is in aggregated discovery', lambda: group in [
        g['metadata']['name'] for g in t.get('/apis', accept=AGGREGATED).json['items']])
    r = resources(t, f'/apis/{group}/v1')['widgets']
    t.eq((r['shortNames'], r['categories']), (['wd'], ['all']), 'names')


@check
def the_root_lists_paths(t):
    paths = t.read('/')['paths']
    t.true({'/api', '/api/v1', '/apis', '/apis/apps/v1', '/version', '/openapi/v3'} <= set(paths), f'paths {paths}')


@check
def open_api_lists_groups(t):
    paths = t.read('/openapi/v3')['paths']
    for key in ('api/v1', 'apis/apps/v1', 'apis/batch/v1'):
        t.true(key in paths and paths[key]['serverRelativeURL'].startswith(f'/openapi/v3/{key}'), f'{key} in {sorted(paths)}')


@check
def open_api_describes_kinds_for_validation(t):
    url = t.read('/openapi/v3')['paths']['apis/apps/v1']['serverRelativeURL']
    doc = t.read(url)
    t.true(doc['openapi'].startswith('3.'), 'version')
    kinds = [x for s in doc['components']['schemas'].values() for x in s.get('x-kubernetes-group-version-kind', [])]
    t.true({'group': 'apps', 'version': 'v1', 'kind': 'Deployment'} in kinds, 'Deployment is missing')
    patch = doc['paths']['/apis/apps/v1/namespaces/{namespace}/deployments/{name}']['patch']
    t.true(any(p['name'] == 'fieldValidation' for p in patch['parameters']), 'fieldValidation is missing')


@check
def open_api_describes_custom_resources(t):
    key = 'apis/scheduling.sigs.k8s.io/v1alpha1'
    paths = t.until(f'{key} is listed', lambda: (p := t.read('/openapi/v3')['paths']).get(key) and p)
    url = paths[key]['serverRelativeURL']
    kinds = [x for s in t.read(url)['components']['schemas'].values() for x in s.get('x-kubernetes-group-version-kind', [])]
    t.true(any(k['kind'] == 'PodGroup' for k in kinds), 'PodGroup is missing')


@check
def an_unknown_path_is_not_found(t):
    t.code(t.get('/nothing/here'), 404)


@check
def access_reviews_answer(t):
    a = t.post('/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', {
        'apiVersion': 'authorization.k8s.io/v1', 'kind': 'SelfSubjectAccessReview',
        'spec': {'resourceAttributes': {'verb': 'list', 'resource': 'pods', 'namespace': 'default'}}})
    t.has(t.code(a, 201), 'status.allowed', True)


@check
def a_token_of_nobody_is_said_to_be_so(t):
    a = t.post('/apis/authentication.k8s.io/v1/tokenreviews', {
        'apiVersion': 'authentication.k8s.io/v1', 'kind': 'TokenReview', 'spec': {'token': 'nobodys'}})
    status = t.code(a, 201)['status']
    t.true(not status.get('authenticated') and status.get('user') == {} and 'invalid bearer token' in status['error'], str(status))


@check
def strangers_may_do_nothing(t):
    for user, groups, allowed in (('stranger', ['system:authenticated'], False), ('somebody', ['system:masters'], True)):
        a = t.post('/apis/authorization.k8s.io/v1/subjectaccessreviews', {
            'apiVersion': 'authorization.k8s.io/v1', 'kind': 'SubjectAccessReview',
            'spec': {'user': user, 'groups': groups, 'nonResourceAttributes': {'path': '/metrics', 'verb': 'get'}}})
        t.has(t.code(a, 201), 'status.allowed', allowed)


@check
def the_caller_can_ask_who_he_is(t):
    a = t.post('/apis/authentication.k8s.io/v1/selfsubjectreviews', {
        'apiVersion': 'authentication.k8s.io/v1', 'kind': 'SelfSubjectReview'})
    t.true('system:masters' in t.code(a, 201)['status.userInfo.groups'], str(a))
