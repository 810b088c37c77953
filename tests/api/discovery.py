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
    t.eq([a[k] for k in ('emulationMajor', 'emulationMinor', 'minCompatibilityMajor', 'minCompatibilityMinor')], ['1', '35', '1', '34'],
         'what it is compatible with')


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
def open_api_says_what_is_replaced_whole(t):
    schemas = t.read(t.read('/openapi/v3')['paths']['api/v1']['serverRelativeURL'])['components']['schemas']
    mark = 'x-kubernetes-map-type'
    for name in ('ConfigMapKeySelector', 'NodeSelector', 'ObjectReference', 'SecretReference'):
        t.eq(schemas[f'io.k8s.api.core.v1.{name}'].get(mark), 'atomic', name)
    t.true(mark not in schemas['io.k8s.api.core.v1.PodSpec'], 'PodSpec')
    t.eq(schemas['io.k8s.api.core.v1.PersistentVolumeSpec']['properties']['claimRef'].get(mark), 'granular', 'claimRef')


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


# ---- OpenAPI v2 ----

def openapi_v2(t):
    return t.server.once('openapi v2', lambda: t.read('/openapi/v2'))


def refs(value):
    if isinstance(value, dict):
        if isinstance(value.get('$ref'), str):
            yield value['$ref']
        for v in value.values():
            yield from refs(v)
    elif isinstance(value, list):
        for v in value:
            yield from refs(v)


@check
def openapi_v2_is_whole(t):
    d = openapi_v2(t)
    t.eq((d['swagger'], d['info']['title'], d['security']), ('2.0', 'Kubernetes', [{'BearerToken': []}]), 'head')
    known = {f'#/definitions/{n}' for n in d['definitions']} | {f'#/parameters/{n}' for n in d['parameters']}
    t.eq(sorted(set(refs(d)) - known), [], 'references that lead nowhere')
    ids = [op['operationId'] for item in d['paths'].values() for op in item.values() if isinstance(op, dict)]
    t.eq(sorted({i for i in ids if ids.count(i) > 1}), [], 'operations of the same name')


@check
def openapi_v2_operations(t):
    paths = openapi_v2(t)['paths']
    for path, method, name, action, answer in (
            ('/api/v1/namespaces/{namespace}/pods', 'get', 'listCoreV1NamespacedPod', 'list', 'io.k8s.api.core.v1.PodList'),
            ('/api/v1/namespaces/{namespace}/pods', 'post', 'createCoreV1NamespacedPod', 'post', 'io.k8s.api.core.v1.Pod'),
            ('/api/v1/namespaces/{namespace}/pods', 'delete', 'deleteCoreV1CollectionNamespacedPod', 'deletecollection',
             'io.k8s.apimachinery.pkg.apis.meta.v1.Status'),
            ('/api/v1/pods', 'get', 'listCoreV1PodForAllNamespaces', 'list', 'io.k8s.api.core.v1.PodList'),
            ('/api/v1/nodes/{name}', 'get', 'readCoreV1Node', 'get', 'io.k8s.api.core.v1.Node'),
            ('/api/v1/nodes/{name}', 'put', 'replaceCoreV1Node', 'put', 'io.k8s.api.core.v1.Node'),
            ('/api/v1/nodes/{name}/status', 'patch', 'patchCoreV1NodeStatus', 'patch', 'io.k8s.api.core.v1.Node'),
            ('/apis/apps/v1/namespaces/{namespace}/deployments/{name}', 'delete', 'deleteAppsV1NamespacedDeployment', 'delete',
             'io.k8s.apimachinery.pkg.apis.meta.v1.Status'),
            ('/apis/apps/v1/namespaces/{namespace}/deployments/{name}/scale', 'get', 'readAppsV1NamespacedDeploymentScale', 'get',
             'io.k8s.api.autoscaling.v1.Scale'),
            ('/api/v1/namespaces/{namespace}/pods/{name}/eviction', 'post', 'createCoreV1NamespacedPodEviction', 'post',
             'io.k8s.api.policy.v1.Eviction'),
            ('/apis/certificates.k8s.io/v1/certificatesigningrequests/{name}/approval', 'put',
             'replaceCertificatesV1CertificateSigningRequestApproval', 'put', 'io.k8s.api.certificates.v1.CertificateSigningRequest'),
            ('/apis/rbac.authorization.k8s.io/v1/clusterroles/{name}', 'get', 'readRbacAuthorizationV1ClusterRole', 'get',
             'io.k8s.api.rbac.v1.ClusterRole'),
            ('/apis/apps/', 'get', 'getAppsAPIGroup', None, 'io.k8s.apimachinery.pkg.apis.meta.v1.APIGroup'),
            ('/apis/apps/v1/', 'get', 'getAppsV1APIResources', None, 'io.k8s.apimachinery.pkg.apis.meta.v1.APIResourceList')):
        op = paths[path][method]
        t.eq((op['operationId'], op.get('x-kubernetes-action')), (name, action), f'{method} {path}')
        t.eq(op['responses']['200']['schema'], {'$ref': f'#/definitions/{answer}'}, f'answer of {method} {path}')
    op = paths['/apis/apps/v1/namespaces/{namespace}/deployments/{name}/scale']['get']
    t.eq(op['x-kubernetes-group-version-kind'], {'group': 'autoscaling', 'kind': 'Scale', 'version': 'v1'}, 'kind of scale')
    t.eq(paths['/api/v1/nodes']['get']['tags'], ['core_v1'], 'tags')
    for path, want in (('/api/v1/nodes/{name}', {'name', 'pretty'}), ('/api/v1/namespaces/{namespace}/pods', {'namespace', 'pretty'})):
        all_of = openapi_v2(t)['parameters']
        t.eq({p['name'] if 'name' in p else all_of[p['$ref'].split('/')[-1]]['name'] for p in paths[path]['parameters']}, want, f'parameters of {path}')


@check
def openapi_v2_definitions(t):
    d = openapi_v2(t)['definitions']
    pod = d['io.k8s.api.core.v1.Pod']
    t.eq(pod['x-kubernetes-group-version-kind'], [{'group': '', 'kind': 'Pod', 'version': 'v1'}], 'kind')
    t.true(pod['description'] and pod['properties']['spec']['description'], 'descriptions')
    t.eq(pod['properties']['spec']['$ref'], '#/definitions/io.k8s.api.core.v1.PodSpec', 'spec')
    spec = d['io.k8s.api.core.v1.PodSpec']
    c = spec['properties']['containers']
    t.eq((c['type'], c['items'], c['x-kubernetes-patch-merge-key'], c['x-kubernetes-patch-strategy'], c['x-kubernetes-list-type'],
          c['x-kubernetes-list-map-keys']), ('array', {'$ref': '#/definitions/io.k8s.api.core.v1.Container'}, 'name', 'merge', 'map', ['name']),
         'containers')
    t.eq(spec['required'], ['containers'], 'required')
    port = d['io.k8s.api.core.v1.ServicePort']['properties']['targetPort']
    t.eq(port['$ref'], '#/definitions/io.k8s.apimachinery.pkg.util.intstr.IntOrString', 'int or string')
    t.eq(d['io.k8s.apimachinery.pkg.util.intstr.IntOrString']['format'], 'int-or-string', 'format')
    t.eq(d['io.k8s.api.core.v1.ResourceRequirements']['properties']['limits']['additionalProperties'],
         {'$ref': '#/definitions/io.k8s.apimachinery.pkg.api.resource.Quantity'}, 'quantities')
    t.eq(d['io.k8s.api.core.v1.PodList']['x-kubernetes-group-version-kind'], [{'group': '', 'kind': 'PodList', 'version': 'v1'}], 'kind of list')
    t.eq(d['io.k8s.api.core.v1.PodList']['required'], ['items'], 'required of a list')


@check
def openapi_v2_has_custom_resources(t):
    group = f'{t.name("g")}.example.com'
    schema = {'type': 'object', 'description': 'What it is.', 'properties': {'spec': {'type': 'object', 'description': 'What it has.', 'properties': {
        'port': {'x-kubernetes-int-or-string': True}, 'maybe': {'type': 'string', 'nullable': True},
        'one': {'type': 'string', 'oneOf': [{'minLength': 1}, {'maxLength': 3}]}}}}}
    t.make('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
        'metadata': {'name': f'widgets.{group}'}, 'spec': {
            'group': group, 'scope': 'Namespaced', 'names': {'plural': 'widgets', 'kind': 'Widget'}, 'versions': [
                {'name': 'v1', 'served': True, 'storage': True, 'schema': {'openAPIV3Schema': schema},
                 'selectableFields': [{'jsonPath': '.spec.one'}]}]}})
    name = 'com.example.' + group.split('.')[0] + '.v1.Widget'
    d = t.until('it is published', lambda: (lambda x: x if name in x['definitions'] else None)(t.read('/openapi/v2')), 60)
    kind = d['definitions'][name]
    t.eq(kind['description'], 'What it is.', 'description')
    t.eq(kind['x-kubernetes-group-version-kind'], [{'group': group, 'kind': 'Widget', 'version': 'v1'}], 'kind')
    t.eq(kind['x-kubernetes-selectable-fields'], [{'fieldPath': 'spec.one'}], 'selectable fields')
    spec = kind['properties']['spec']
    t.eq(spec['description'], 'What it has.', 'description of spec')
    t.eq(spec['properties']['maybe'], {}, 'what may be null')
    t.eq(spec['properties']['one'], {'type': 'string'}, 'without alternatives')
    t.eq(kind['properties']['metadata']['$ref'], '#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta', 'metadata')
    op = d['paths'][f'/apis/{group}/v1/namespaces/{{namespace}}/widgets']['get']
    t.eq(op['responses']['200']['schema'], {'$ref': f'#/definitions/{name}List'}, 'list')


@check
def openapi_v2_says_little_of_what_keeps_unknown_fields(t):
    group = f'{t.name("g")}.example.com'
    schema = {'type': 'object', 'x-kubernetes-preserve-unknown-fields': True, 'properties': {'spec': {'type': 'object'}}}
    t.make('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
        'metadata': {'name': f'frees.{group}'}, 'spec': {
            'group': group, 'scope': 'Namespaced', 'names': {'plural': 'frees', 'kind': 'Free'}, 'versions': [
                {'name': 'v1', 'served': True, 'storage': True, 'schema': {'openAPIV3Schema': schema}}]}})
    name = 'com.example.' + group.split('.')[0] + '.v1.Free'
    kind = t.until('it is published', lambda: t.read('/openapi/v2')['definitions'].get(name), 60)
    t.eq(kind, {'type': 'object', 'x-kubernetes-group-version-kind': [{'group': group, 'kind': 'Free', 'version': 'v1'}]}, 'definition')


# ---- protobuf ----

PROTOBUF = 'application/vnd.kubernetes.protobuf'
AGGREGATED_PROTOBUF = f'{PROTOBUF};g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList'


def fields(message):
    """(number, value) of the fields of a message: bytes, or a number."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7
    while at < len(message):
        key = varint()
        value = varint()
        if key & 7 == 2:
            value, at = message[at:at + value], at + value
        yield key >> 3, value


def all_of(message, number):
    return [v for n, v in fields(message) if n == number]


def texts(message, number):
    return [v.decode() for v in all_of(message, number)]


def unwrapped(t, a, kind, content=PROTOBUF):
    """What the envelope of an answer holds."""
    t.code(a, 200)
    t.eq(a.type, content, 'Content-Type')
    t.eq(a.data[:4], b'k8s\0', 'magic')
    t.eq(texts(all_of(a.data[4:], 1)[0], 2), [kind], 'kind')
    return all_of(a.data[4:], 2)[0]


@check
def protobuf_discovery(t):
    groups = unwrapped(t, t.get('/apis', accept=PROTOBUF), 'APIGroupList')
    named = [texts(g, 1)[0] for g in all_of(groups, 1)], [g['name'] for g in t.read('/apis')['groups']]
    t.eq(*([n for n in names if not n.endswith('.example.com')] for names in named), 'groups')  # other checks have theirs
    t.eq(texts(unwrapped(t, t.get('/api', accept=PROTOBUF), 'APIVersions'), 1), ['v1'], 'versions')
    group = unwrapped(t, t.get('/apis/apps', accept=PROTOBUF), 'APIGroup')
    t.eq([texts(v, 1) for v in all_of(group, 2)], [['apps/v1']], 'versions of a group')
    resources = unwrapped(t, t.get('/apis/apps/v1', accept=f'{PROTOBUF},application/json'), 'APIResourceList')
    t.eq(texts(resources, 1), ['apps/v1'], 'groupVersion')
    want = t.read('/apis/apps/v1')['resources']
    got = [{'name': texts(r, 1)[0], 'singularName': texts(r, 6)[0], 'namespaced': all_of(r, 2) == [1], 'kind': texts(r, 3)[0],
            'verbs': texts(all_of(r, 4)[0], 1), 'shortNames': texts(r, 5), 'categories': texts(r, 7),
            'storageVersionHash': ''.join(texts(r, 10))} for r in all_of(resources, 2)]
    t.eq(got, [{'name': r['name'], 'singularName': r['singularName'], 'namespaced': r['namespaced'], 'kind': r['kind'], 'verbs': r['verbs'],
                'shortNames': r.get('shortNames', []), 'categories': r.get('categories', []),
                'storageVersionHash': r.get('storageVersionHash', '')} for r in want], 'resources')


@check
def protobuf_discovery_in_one_piece(t):
    body = unwrapped(t, t.get('/api', accept=AGGREGATED_PROTOBUF), 'APIGroupDiscoveryList', AGGREGATED_PROTOBUF)
    version = all_of(all_of(body, 2)[0], 2)[0]
    t.eq((texts(version, 1), texts(version, 3)), (['v1'], ['Current']), 'version')
    want = t.get('/api', accept=AGGREGATED_PROTOBUF.replace(PROTOBUF, 'application/json')).json['items'][0]['versions'][0]['resources']
    got = [{'resource': texts(r, 1)[0], 'scope': texts(r, 3)[0], 'verbs': texts(r, 5), 'kind': texts(all_of(r, 2)[0], 3)[0],
            'subresources': [texts(s, 1)[0] for s in all_of(r, 8)]} for r in all_of(version, 2)]
    t.eq(got, [{'resource': r['resource'], 'scope': r['scope'], 'verbs': r['verbs'], 'kind': r['responseKind']['kind'],
                'subresources': [s['subresource'] for s in r.get('subresources', [])]} for r in want], 'resources')


@check
def yaml_discovery(t):
    a = t.get('/apis/apps', accept='application/yaml')
    t.code(a, 200)
    t.eq(a.type, 'application/yaml', 'Content-Type')
    t.true(b'kind: APIGroup\n' in a.data, 'YAML')
