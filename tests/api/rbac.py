"""rbac.py - who may do what: roles and bindings, the words of a 403, impersonation, and that nobody grants more than he has.

Most checks act as a user of their own, whom the administrator impersonates: checks run side by side, and rights given to
a user of the token file would be everybody's.
"""
import client
from client import CHECKS, JSON_PATCH, Failed, check, config_map, names, pod

RBAC = '/apis/rbac.authorization.k8s.io/v1'
GROUP = 'rbac.authorization.k8s.io'
ACCESS = '/apis/authorization.k8s.io/v1'


def rule(verbs, resources, groups='', resource_names=None):
    r = {'verbs': verbs.split(','), 'apiGroups': groups.split(','), 'resources': resources.split(',')}
    if resource_names:
        r['resourceNames'] = resource_names.split(',')
    return r


def paths(verbs, urls):
    return {'verbs': verbs.split(','), 'nonResourceURLs': urls.split(',')}


def user(name):
    return {'kind': 'User', 'apiGroup': GROUP, 'name': name}


def group(name):
    return {'kind': 'Group', 'apiGroup': GROUP, 'name': name}


def role(name, rules, ns=None, **more):
    return {'apiVersion': f'{GROUP}/v1', 'kind': 'Role' if ns else 'ClusterRole', 'metadata': {'name': name, **more},
            'rules': rules}


def binding(name, role_name, subjects, ns=None, kind=None):
    return {'apiVersion': f'{GROUP}/v1', 'kind': 'RoleBinding' if ns else 'ClusterRoleBinding', 'metadata': {'name': name},
            'roleRef': {'apiGroup': GROUP, 'kind': kind or ('Role' if ns else 'ClusterRole'), 'name': role_name},
            'subjects': subjects}


def roles_at(ns=None):
    return f'{RBAC}/namespaces/{ns}/roles' if ns else f'{RBAC}/clusterroles'


def bindings_at(ns=None):
    return f'{RBAC}/namespaces/{ns}/rolebindings' if ns else f'{RBAC}/clusterrolebindings'


def may(t, who, attributes, groups=()):
    """What a SubjectAccessReview says: the server's own answer, for rights that take a moment to be known."""
    kind = 'nonResourceAttributes' if 'path' in attributes else 'resourceAttributes'
    a = t.post(f'{ACCESS}/subjectaccessreviews', {'apiVersion': 'authorization.k8s.io/v1', 'kind': 'SubjectAccessReview',
                                                  'spec': {kind: attributes, 'user': who, 'groups': list(groups)}})
    return t.code(a, 201)['status.allowed']


def give(t, who, rules, ns=None, subjects=None):
    """Rights for a user, in one namespace or in all; in force when it returns."""
    name = t.name('role')
    t.make(roles_at(ns), role(name, rules, ns))
    t.make(bindings_at(ns), binding(name, name, subjects or [user(who)], ns))
    r = rules[-1]
    if 'resources' in r:
        resource, _, sub = r['resources'][0].partition('/')
        asked = {'verb': r['verbs'][0], 'group': r['apiGroups'][0], 'resource': resource, 'subresource': sub,
                 'namespace': ns or '', 'name': r.get('resourceNames', [''])[0]}
    else:
        asked = {'verb': r['verbs'][0], 'path': r['nonResourceURLs'][0]}
    if not subjects:
        t.until(f'{who} may {asked}', lambda: may(t, who, asked))
    return name


def somebody(t):
    return t.name('user')


def acting(who, groups=(), **more):
    """Headers of a request of the administrator who acts for somebody."""
    h = {'Impersonate-User': who, **more}
    if groups:
        h['Impersonate-Group'] = groups[0]
    return h


def forbidden(t, a, who, verb, resource, where, grp='', name=None, sub=''):
    """The 403 of kube-apiserver, word by word. where: a namespace, or None for the cluster."""
    scope = f'in the namespace "{where}"' if where else 'at the cluster scope'
    what = resource + (f'.{grp}' if grp else '') + (f' "{name}"' if name else '')
    full = f'{resource}/{sub}' if sub else resource
    t.status(a, 403, 'Forbidden',
             f'{what} is forbidden: User "{who}" cannot {verb} resource "{full}" in API group "{grp}" {scope}',
             details={'kind': resource, **({'group': grp} if grp else {}), **({'name': name} if name else {})})


# ---- what is refused, and how ----

DENIED = [  # name, method, path, verb, resource, group, object, subresource
    ('list', 'GET', 'NS/pods', 'list', 'pods', '', None, ''),
    ('list_of_all_namespaces', 'GET', '/api/v1/pods', 'list', 'pods', '', None, ''),
    ('get', 'GET', 'NS/pods/a', 'get', 'pods', '', 'a', ''),
    ('watch', 'GET', 'NS/pods?watch=1', 'watch', 'pods', '', None, ''),
    ('watch_of_one_by_selector', 'GET', 'NS/pods?watch=1&fieldSelector=metadata.name%3Da', 'watch', 'pods', '', 'a', ''),
    ('list_of_one_by_selector', 'GET', 'NS/pods?fieldSelector=metadata.name%3Da', 'list', 'pods', '', 'a', ''),
    ('list_by_another_selector', 'GET', 'NS/pods?fieldSelector=spec.nodeName%3Da', 'list', 'pods', '', None, ''),
    ('old_watch', 'GET', '/api/v1/watch/namespaces/NAME/pods', 'watch', 'pods', '', None, ''),
    ('create', 'POST', 'NS/pods', 'create', 'pods', '', None, ''),
    ('update', 'PUT', 'NS/pods/a', 'update', 'pods', '', 'a', ''),
    ('patch', 'PATCH', 'NS/pods/a', 'patch', 'pods', '', 'a', ''),
    ('delete', 'DELETE', 'NS/pods/a', 'delete', 'pods', '', 'a', ''),
    ('deletecollection', 'DELETE', 'NS/pods', 'deletecollection', 'pods', '', None, ''),
    ('status', 'GET', 'NS/pods/a/status', 'get', 'pods', '', 'a', 'status'),
    ('eviction', 'POST', 'NS/pods/a/eviction', 'create', 'pods', '', 'a', 'eviction'),
    ('binding', 'POST', 'NS/pods/a/binding', 'create', 'pods', '', 'a', 'binding'),
    ('log', 'GET', 'NS/pods/a/log', 'get', 'pods', '', 'a', 'log'),
    ('group', 'GET', 'APPS/deployments', 'list', 'deployments', 'apps', None, ''),
    ('scale', 'PUT', 'APPS/deployments/a/scale', 'update', 'deployments', 'apps', 'a', 'scale'),
    ('cluster_scoped', 'GET', '/api/v1/nodes', 'list', 'nodes', '', None, ''),
    ('cluster_scoped_by_name', 'DELETE', '/api/v1/nodes/n', 'delete', 'nodes', '', 'n', ''),
    ('custom_resource', 'GET', '/apis/slo.koordinator.sh/v1alpha1/nodeslos', 'list', 'nodeslos', 'slo.koordinator.sh', None, ''),
    ('unknown_resource', 'GET', '/api/v1/nosuches', 'list', 'nosuches', '', None, ''),
    ('unknown_resource_by_name', 'GET', 'NS/nosuches/a', 'get', 'nosuches', '', 'a', ''),
    ('unknown_group', 'GET', '/apis/no.such/v1/things', 'list', 'things', 'no.such', None, ''),
    ('unknown_subresource', 'GET', 'NS/pods/a/nosuch', 'get', 'pods', '', 'a', 'nosuch'),
    ('roles', 'GET', f'{RBAC}/clusterroles', 'list', 'clusterroles', GROUP, None, ''),
    ('review_of_others', 'POST', f'{ACCESS}/subjectaccessreviews', 'create', 'subjectaccessreviews', 'authorization.k8s.io', None, ''),
    ('tokenreview', 'POST', '/apis/authentication.k8s.io/v1/tokenreviews', 'create', 'tokenreviews', 'authentication.k8s.io', None, ''),
]


def denied(row):
    name, method, path, verb, resource, grp, obj, sub = row

    def fn(t):
        who = somebody(t)
        at = path.replace('NS/', f'/api/v1/namespaces/{t.ns}/').replace('APPS/', f'/apis/apps/v1/namespaces/{t.ns}/')
        at = at.replace('NAME', t.ns)
        a = t.call(method, at, {} if method in ('POST', 'PUT', 'PATCH') else None, headers=acting(who),
                   content='application/merge-patch+json' if method == 'PATCH' else None)
        where = t.ns if t.ns in at else None
        forbidden(t, a, who, verb, resource, where, grp, obj, sub)
    CHECKS.append((f'rbac/denied_{name}', fn, False))


for _row in DENIED:
    denied(_row)


@check
def denied_in_a_namespace_itself(t):
    who = somebody(t)
    forbidden(t, t.get(f'/api/v1/namespaces/{t.ns}', headers=acting(who)), who, 'get', 'namespaces', t.ns, name=t.ns)


@check
def denied_finalize_of_a_namespace(t):
    who = somebody(t)
    a = t.put(f'/api/v1/namespaces/{t.ns}/finalize', {}, headers=acting(who))
    forbidden(t, a, who, 'update', 'namespaces', t.ns, name=t.ns, sub='finalize')


@check
def denied_path(t):
    who = somebody(t)
    a = t.get('/metrics', headers=acting(who))
    t.status(a, 403, 'Forbidden', f'forbidden: User "{who}" cannot get path "/metrics"')
    t.eq(a['details'], {}, 'details')


@check
def denied_path_of_another_method(t):
    who = somebody(t)
    a = t.post('/healthz', {}, headers=acting(who))
    t.status(a, 403, 'Forbidden', f'forbidden: User "{who}" cannot post path "/healthz"')


@check
def denied_before_the_body_is_read(t):
    who = somebody(t)
    a = t.call('POST', t.pods(), raw=b'{this is no JSON', headers=acting(who))
    forbidden(t, a, who, 'create', 'pods', t.ns)


@check
def denied_user_whose_name_needs_quotes(t):
    who = 'a "b" \\ c'
    a = t.get('/api/v1/nodes', headers=acting(who))
    t.status(a, 403, 'Forbidden', 'nodes is forbidden: User "a \\"b\\" \\\\ c" cannot list resource "nodes" in API group "" '
             'at the cluster scope')


# ---- what everybody may ----

def everybody(path, code=200):
    def fn(t):
        t.code(t.get(path, token=t.token('alice')), code)
    word = path.strip('/').replace('/', '_').replace('.', '_') or 'root'
    CHECKS.append((f'rbac/everybody_may_read_{word}', fn, False))


for _path in ('/api', '/api/v1', '/apis', '/apis/apps', '/apis/apps/v1', '/healthz', '/livez', '/readyz', '/version', '/version/',
              '/openapi/v2', '/openapi/v3'):
    everybody(_path)


@check
def a_user_of_the_token_file_has_no_rights(t):
    forbidden(t, t.get('/api/v1/nodes', token=t.token('alice')), 'alice', 'list', 'nodes', None)


@check
def a_wrong_token_is_unauthorized(t):
    t.status(t.get('/api/v1/nodes', token='nobodys'), 401, 'Unauthorized', 'Unauthorized')


@check
def a_wrong_token_is_unauthorized_on_open_paths_too(t):
    t.token('alice')
    t.code(t.get('/api', token='nobodys'), 401)


# ---- what roles allow ----

ALLOWED = [  # name, rules, in the namespace only, method, path, body, code when allowed
    ('list', [rule('list', 'pods')], True, 'GET', 'NS/pods', 200),
    ('list_everywhere', [rule('list', 'pods')], False, 'GET', '/api/v1/pods?limit=1', 200),
    ('list_in_a_namespace_by_a_cluster_binding', [rule('list', 'pods')], False, 'GET', 'NS/pods', 200),
    ('any_verb', [rule('*', 'configmaps')], True, 'GET', 'NS/configmaps', 200),
    ('any_resource', [rule('list', '*')], True, 'GET', 'NS/configmaps', 200),
    ('any_group', [rule('list', 'deployments', '*')], True, 'GET', 'APPS/deployments', 200),
    ('any_resource_with_subresources', [rule('get', '*')], True, 'GET', 'NS/pods/none/status', 404),
    ('subresource', [rule('get', 'pods/status')], True, 'GET', 'NS/pods/none/status', 404),
    ('subresource_of_all', [rule('get', '*/scale', '*')], True, 'GET', 'APPS/deployments/none/scale', 404),
    ('one_object', [rule('get', 'configmaps', '', 'none')], True, 'GET', 'NS/configmaps/none', 404),
    ('list_of_one_object', [rule('list', 'configmaps', '', 'one')], True, 'GET', 'NS/configmaps?fieldSelector=metadata.name%3Done', 200),
    ('deletecollection', [rule('deletecollection', 'configmaps')], True, 'DELETE', 'NS/configmaps', 200),
    ('get_a_namespace_by_its_role', [rule('get', 'namespaces')], True, 'GET', '/api/v1/namespaces/NAME', 200),
    ('unknown_resource', [rule('*', '*', '*')], False, 'GET', '/api/v1/nosuches', 404),
    ('path', [paths('get', '/metrics')], False, 'GET', '/metrics', None),
    ('paths_by_prefix', [paths('get', '/nothing/*')], False, 'GET', '/nothing/here', 404),
    ('all_paths', [paths('*', '*')], False, 'GET', '/nothing/there', 404),
]
REFUSED = [  # the same, but it does not allow this
    ('another_verb', [rule('get', 'pods')], True, 'GET', 'NS/pods'),
    ('another_resource', [rule('list', 'pods')], True, 'GET', 'NS/configmaps'),
    ('another_group', [rule('list', 'deployments', 'extensions')], True, 'GET', 'APPS/deployments'),
    ('another_namespace', [rule('list', 'pods')], True, 'GET', '/api/v1/namespaces/default/pods'),
    ('the_cluster_by_a_role', [rule('list', 'pods')], True, 'GET', '/api/v1/pods'),
    ('subresource_by_its_resource', [rule('get', 'pods')], True, 'GET', 'NS/pods/a/status'),
    ('resource_by_its_subresource', [rule('get', 'pods/status')], True, 'GET', 'NS/pods/a'),
    ('another_subresource', [rule('get', 'pods/status')], True, 'GET', 'NS/pods/a/log'),
    ('another_object', [rule('get', 'configmaps', '', 'one')], True, 'GET', 'NS/configmaps/two'),
    ('list_by_a_named_object', [rule('list,get', 'configmaps', '', 'one')], True, 'GET', 'NS/configmaps'),
    ('create_by_a_named_object', [rule('create', 'configmaps', '', 'one')], True, 'POST', 'NS/configmaps'),
    ('deletecollection_by_delete', [rule('delete', 'configmaps')], True, 'DELETE', 'NS/configmaps'),
    ('another_path', [paths('get', '/nothing/*')], False, 'GET', '/nothing'),
    ('path_by_prefix_without_star', [paths('get', '/nothing')], False, 'GET', '/nothing/here'),
    ('path_by_another_method', [paths('put', '/nothing')], False, 'GET', '/nothing'),
]


def place(t, path):
    path = path.replace('NS/', f'/api/v1/namespaces/{t.ns}/').replace('APPS/', f'/apis/apps/v1/namespaces/{t.ns}/')
    return path.replace('NAME', t.ns)


def allowed_row(row):
    name, rules, local, method, path, code = row

    def fn(t):
        who = somebody(t)
        give(t, who, rules, t.ns if local else None)
        a = t.call(method, place(t, path), headers=acting(who))
        if code is None:
            t.true(a.code != 403, str(a))
        else:
            t.code(a, code)
    CHECKS.append((f'rbac/a_role_allows_{name}', fn, False))


def refused_row(row):
    name, rules, local, method, path = row

    def fn(t):
        who = somebody(t)
        give(t, who, rules, t.ns if local else None)
        body = config_map('one') if method == 'POST' else None
        t.status(t.call(method, place(t, path), body, headers=acting(who)), 403, 'Forbidden')
    CHECKS.append((f'rbac/a_role_does_not_allow_{name}', fn, False))


for _row in ALLOWED:
    allowed_row(_row)
for _row in REFUSED:
    refused_row(_row)


@check
def a_user_of_the_token_file_gets_rights_by_his_group(t):
    token = t.token('bob')
    name = give(t, 'nobody', [rule('list', 'configmaps')], t.ns, [group('ops')])
    t.until('bob may list', lambda: t.get(t.maps(), token=token).code == 200)
    t.code(t.delete(f'{bindings_at(t.ns)}/{name}'), 200)
    t.until('bob may not', lambda: t.get(t.maps(), token=token).code == 403)


@check
def rights_by_group_system_authenticated(t):
    who = somebody(t)
    give(t, 'nobody', [rule('get', 'configmaps', '', 'shown')], t.ns, [group('system:authenticated')])
    t.until('everybody may', lambda: t.get(f'{t.maps()}/shown', headers=acting(who)).code == 404)


@check
def rights_of_a_service_account(t):
    who = f'system:serviceaccount:{t.ns}:robot'
    give(t, who, [rule('list', 'configmaps')], t.ns, [{'kind': 'ServiceAccount', 'name': 'robot', 'namespace': t.ns}])
    t.until('it may', lambda: t.get(t.maps(), headers=acting(who)).code == 200)
    other = f'system:serviceaccount:{t.ns}:other'
    forbidden(t, t.get(t.maps(), headers=acting(other)), other, 'list', 'configmaps', t.ns)


@check
def rights_of_all_service_accounts_of_a_namespace(t):
    who = f'system:serviceaccount:{t.ns}:any'
    give(t, who, [rule('list', 'configmaps')], t.ns, [group(f'system:serviceaccounts:{t.ns}')])
    t.until('it may', lambda: t.get(t.maps(), headers=acting(who)).code == 200)
    other = 'system:serviceaccount:default:any'
    t.code(t.get(t.maps(), headers=acting(other)), 403)


@check
def a_role_binding_to_a_cluster_role_counts_in_its_namespace(t):
    who, name = somebody(t), t.name('role')
    t.make(roles_at(), role(name, [rule('list', 'configmaps')]))
    t.make(bindings_at(t.ns), binding(name, name, [user(who)], t.ns, 'ClusterRole'))
    t.until('he may', lambda: t.get(t.maps(), headers=acting(who)).code == 200)
    t.code(t.get('/api/v1/configmaps', headers=acting(who)), 403)


@check
def a_changed_role_counts_at_once(t):
    who = somebody(t)
    name = give(t, who, [rule('get', 'configmaps')], t.ns)
    t.code(t.get(t.maps(), headers=acting(who)), 403)
    t.code(t.patch(f'{roles_at(t.ns)}/{name}', {'rules': [rule('list', 'configmaps')]}), 200)
    t.until('he may list', lambda: t.get(t.maps(), headers=acting(who)).code == 200)
    t.until('he may not get', lambda: t.get(f'{t.maps()}/x', headers=acting(who)).code == 403)


@check
def a_deleted_role_is_named_in_the_refusal(t):
    who = somebody(t)
    name = give(t, who, [rule('get', 'configmaps')], t.ns)
    t.code(t.delete(f'{roles_at(t.ns)}/{name}'), 200)
    a = t.until('it is gone', lambda: (x := t.get(f'{t.maps()}/x', headers=acting(who))).code == 403 and x)
    t.eq(a['message'], f'configmaps "x" is forbidden: User "{who}" cannot get resource "configmaps" in API group "" in the '
         f'namespace "{t.ns}": RBAC: role.rbac.authorization.k8s.io "{name}" not found', 'message')


@check
def a_missing_cluster_role_is_named_in_the_refusal(t):
    who, name = somebody(t), t.name('role')
    t.make(bindings_at(), binding(name, name, [user(who)]))
    want = f'RBAC: clusterrole.rbac.authorization.k8s.io "{name}" not found'
    t.until('it is named', lambda: t.get('/api/v1/nodes', headers=acting(who))['message'].endswith(want))


@check
def a_watch_of_one_object_needs_only_its_name(t):
    who = somebody(t)
    give(t, who, [rule('watch', 'configmaps', '', 'one')], t.ns)
    t.make(t.maps(), config_map('one'))
    h = {'Authorization': f'Bearer {t.server.token}', **acting(who)}
    w = client.Watch(t.server, f'{t.maps()}?watch=1&fieldSelector=metadata.name%3Done&timeoutSeconds=30', h)
    t.watches.append(w)
    t.eq(w.code, 200, 'code')
    t.eq(w.next()[1]['metadata']['name'], 'one', 'name')


@check
def put_that_creates_needs_the_right_to_create(t):
    who = somebody(t)
    give(t, who, [rule('update', 'leases', 'coordination.k8s.io')], t.ns)
    at = t.at('leases', 'coordination.k8s.io')
    body = {'apiVersion': 'coordination.k8s.io/v1', 'kind': 'Lease', 'metadata': {'name': 'l'}}
    a = t.put(f'{at}/l', body, headers=acting(who))
    t.status(a, 403, 'Forbidden', f'leases.coordination.k8s.io "l" is forbidden: User "{who}" cannot create resource "leases" '
             f'in API group "coordination.k8s.io" in the namespace "{t.ns}"')
    give(t, who, [rule('create', 'leases', 'coordination.k8s.io')], t.ns)
    t.code(t.put(f'{at}/l', body, headers=acting(who)), 201)


@check
def apply_that_creates_needs_the_right_to_create(t):
    who = somebody(t)
    give(t, who, [rule('patch', 'configmaps')], t.ns)
    a = t.call('PATCH', f'{t.maps()}/a', config_map('a'), content='application/apply-patch+yaml', headers=acting(who),
               fieldManager='x')
    t.status(a, 403, 'Forbidden', part=f'User "{who}" cannot create resource "configmaps"')
    give(t, who, [rule('create', 'configmaps')], t.ns)
    t.code(t.call('PATCH', f'{t.maps()}/a', config_map('a'), content='application/apply-patch+yaml', headers=acting(who),
                  fieldManager='x'), 201)


# ---- what is there from the start ----

@check
def first_roles_are_there(t):
    have = set(names(t.read(f'{RBAC}/clusterroles')))
    want = {'admin', 'cluster-admin', 'edit', 'view', 'system:basic-user', 'system:discovery', 'system:public-info-viewer',
            'system:kube-scheduler', 'system:kube-controller-manager', 'system:node', 'system:auth-delegator',
            'system:volume-scheduler', 'system:aggregate-to-view', 'system:controller:job-controller',
            'system:service-account-issuer-discovery'}
    t.eq(want - have, set(), 'missing')


@check
def first_bindings_are_there(t):
    have = set(names(t.read(f'{RBAC}/clusterrolebindings')))
    want = {'cluster-admin', 'system:basic-user', 'system:discovery', 'system:public-info-viewer', 'system:kube-scheduler',
            'system:kube-controller-manager', 'system:controller:replicaset-controller'}
    t.eq(want - have, set(), 'missing')


@check
def cluster_admin_is_bound_to_system_masters(t):
    b = t.read(f'{RBAC}/clusterrolebindings/cluster-admin')
    t.eq(b['subjects'], [group('system:masters')], 'subjects')
    t.has(b, 'roleRef.name', 'cluster-admin')
    t.has(b, 'metadata.labels', {'kubernetes.io/bootstrapping': 'rbac-defaults'})
    t.has(b, 'metadata.annotations', {'rbac.authorization.kubernetes.io/autoupdate': 'true'})
    r = t.read(f'{RBAC}/clusterroles/cluster-admin')
    t.eq(r['rules'], [rule('*', '*', '*'), paths('*', '*')], 'rules')


@check
def view_is_made_of_roles_by_label(t):
    r = t.read(f'{RBAC}/clusterroles/view')
    t.has(r, 'aggregationRule.clusterRoleSelectors',
          [{'matchLabels': {'rbac.authorization.k8s.io/aggregate-to-view': 'true'}}])
    t.has(r, 'metadata.labels', {'kubernetes.io/bootstrapping': 'rbac-defaults',
                                 'rbac.authorization.k8s.io/aggregate-to-edit': 'true'})


@check
def system_masters_may_everything(t):
    who = somebody(t)
    t.code(t.get('/api/v1/secrets?limit=1', headers=acting(who, ['system:masters'])), 200)


@check
def the_scheduler_has_its_rights(t):
    who = 'system:kube-scheduler'
    t.code(t.get('/api/v1/nodes?limit=1', headers=acting(who)), 200)
    t.code(t.get('/api/v1/secrets', headers=acting(who)), 403)


@check
def a_controller_has_its_rights(t):
    who = 'system:serviceaccount:kube-system:job-controller'
    t.code(t.get('/apis/batch/v1/jobs?limit=1', headers=acting(who)), 200)
    forbidden(t, t.get('/api/v1/secrets', headers=acting(who)), who, 'list', 'secrets', None)


# ---- impersonation ----

@check
def impersonation_needs_the_right(t):
    a = t.get('/api/v1/nodes', token=t.token('alice'), headers={'Impersonate-User': 'x'})
    forbidden(t, a, 'alice', 'impersonate', 'users', None, name='x')


@check
def impersonation_of_a_group_needs_the_right(t):
    who = somebody(t)
    give(t, who, [rule('impersonate', 'users', '', 'x')])
    give(t, 'alice', [rule('impersonate', 'users', '', who)])
    a = t.get('/api/v1/nodes', token=t.token('alice'), headers={'Impersonate-User': who, 'Impersonate-Group': 'system:masters'})
    forbidden(t, a, 'alice', 'impersonate', 'groups', None, name='system:masters')


@check
def impersonation_of_a_service_account_is_of_its_own_kind(t):
    a = t.get('/api/v1/nodes', token=t.token('alice'), headers={'Impersonate-User': f'system:serviceaccount:{t.ns}:x'})
    forbidden(t, a, 'alice', 'impersonate', 'serviceaccounts', t.ns, name='x')


@check
def impersonation_of_extra_needs_the_right(t):
    who = somebody(t)
    give(t, 'alice', [rule('impersonate', 'users', '', who)])
    a = t.get('/api/v1/nodes', token=t.token('alice'), headers={'Impersonate-User': who, 'Impersonate-Extra-Scopes': 'dev'})
    forbidden(t, a, 'alice', 'impersonate', 'userextras', None, 'authentication.k8s.io', 'dev', 'scopes')


@check
def impersonation_of_a_uid_needs_the_right(t):
    who = somebody(t)
    give(t, 'alice', [rule('impersonate', 'users', '', who)])
    a = t.get('/api/v1/nodes', token=t.token('alice'), headers={'Impersonate-User': who, 'Impersonate-Uid': 'u1'})
    forbidden(t, a, 'alice', 'impersonate', 'uids', None, 'authentication.k8s.io', 'u1')


@check
def impersonation_with_the_right_has_the_others_rights(t):
    who = somebody(t)
    give(t, 'alice', [rule('impersonate', 'users', '', who)])
    h = {'Impersonate-User': who}
    forbidden(t, t.get(t.maps(), token=t.token('alice'), headers=h), who, 'list', 'configmaps', t.ns)
    give(t, who, [rule('list', 'configmaps')], t.ns)
    t.code(t.get(t.maps(), token=t.token('alice'), headers=h), 200)


@check
def impersonation_of_a_group_without_a_user_is_bad(t):
    t.status(t.get('/api/v1/nodes', headers={'Impersonate-Group': 'g'}), 400, 'BadRequest',
             'requested [{Group  g    }] without impersonating a user')


@check
def impersonation_of_a_uid_without_a_user_is_bad(t):
    t.status(t.get('/api/v1/nodes', headers={'Impersonate-Uid': 'u'}), 400, 'BadRequest', part='without impersonating a user')


@check
def impersonation_gives_the_admin_rights_up(t):
    t.code(t.get('/api/v1/secrets', headers=acting(somebody(t))), 403)


# ---- nobody grants what he does not have ----

GRANTER = [rule('create,update,patch,get,delete', 'roles,rolebindings,clusterroles,clusterrolebindings', GROUP)]


def granter(t, extra=(), ns=None):
    who = somebody(t)
    give(t, who, [*extra, *GRANTER], ns)
    return who


def holding(who, groups='"system:authenticated"'):
    return f'user "{who}" (groups=[{groups}]) is attempting to grant RBAC permissions not currently held:\n'


@check
def a_role_of_what_one_has_is_allowed(t):
    who = granter(t, [rule('get,list', 'pods,configmaps')])
    t.code(t.post(roles_at(t.ns), role('r', [rule('get', 'pods')], t.ns), headers=acting(who)), 201)
    t.code(t.post(roles_at(), role(t.name('r'), [rule('list', 'configmaps')]), headers=acting(who)), 201)


@check
def a_role_of_more_than_one_has_is_forbidden(t):
    who = granter(t, [rule('get', 'pods')])
    a = t.post(roles_at(t.ns), role('r', [rule('get,delete', 'pods')], t.ns), headers=acting(who))
    t.status(a, 403, 'Forbidden', f'roles.{GROUP} "r" is forbidden: {holding(who)}'
             '{APIGroups:[""], Resources:["pods"], Verbs:["delete"]}', details={'name': 'r', 'group': GROUP, 'kind': 'roles'})


@check
def what_is_missing_is_put_together_and_sorted(t):
    who = granter(t, [rule('get,list,update', 'configmaps'), rule('get', 'secrets', '', 'a')])
    name = t.name('r')
    rules = [rule('get,list', 'pods,configmaps', ',apps'), paths('get', '/foo,/healthz'), rule('get,list', 'secrets', '', 'a,b')]
    a = t.post(roles_at(), role(name, rules), headers=acting(who))
    t.status(a, 403, 'Forbidden', f'clusterroles.{GROUP} "{name}" is forbidden: {holding(who)}' + '\n'.join([
        '{APIGroups:[""], Resources:["pods"], Verbs:["get" "list"]}',
        '{APIGroups:[""], Resources:["secrets"], ResourceNames:["a"], Verbs:["list"]}',
        '{APIGroups:[""], Resources:["secrets"], ResourceNames:["b"], Verbs:["get" "list"]}',
        '{APIGroups:["apps"], Resources:["configmaps"], Verbs:["get" "list"]}',
        '{APIGroups:["apps"], Resources:["pods"], Verbs:["get" "list"]}',
        '{NonResourceURLs:["/foo"], Verbs:["get"]}']))


COVERED = [  # name, held, wanted, allowed
    ('star_verb_by_star', rule('*', 'pods'), rule('*', 'pods'), True),
    ('star_verb_by_all_verbs', rule('get,list,watch,create,update,patch,delete,deletecollection', 'pods'), rule('*', 'pods'), False),
    ('verb_by_star', rule('*', 'pods'), rule('anything', 'pods'), True),
    ('resource_by_star', rule('get', '*'), rule('get', 'pods,pods/log'), True),
    ('star_resource_by_resource', rule('get', 'pods'), rule('get', '*'), False),
    ('group_by_star', rule('get', 'pods', '*'), rule('get', 'pods', 'x.y'), True),
    ('star_group_by_group', rule('get', 'pods'), rule('get', 'pods', '*'), False),
    ('subresource_by_resource', rule('get', 'pods'), rule('get', 'pods/log'), False),
    ('subresource_by_star_subresource', rule('get', '*/scale'), rule('get', 'pods/scale'), True),
    ('name_by_all_names', rule('get', 'pods'), rule('get', 'pods', '', 'a'), True),
    ('all_names_by_name', rule('get', 'pods', '', 'a'), rule('get', 'pods'), False),
    ('names_by_more_names', rule('get', 'pods', '', 'a,b,c'), rule('get', 'pods', '', 'c,a'), True),
    ('path_by_prefix', paths('get', '/x/*'), paths('get', '/x/y'), True),
    ('prefix_by_shorter_prefix', paths('get', '/x/*'), paths('get', '/x/y/*'), True),
    ('prefix_by_path', paths('get', '/x/y'), paths('get', '/x/*'), False),
    ('all_paths_by_star', paths('get', '*'), paths('get', '/whatever'), True),
]


def covered_row(row):
    name, held, wanted, good = row

    def fn(t):
        who = granter(t, [held])
        a = t.post(roles_at(), role(t.name('r'), [wanted]), headers=acting(who))
        t.code(a, 201 if good else 403)
    CHECKS.append((f'rbac/grant_{name}_is_{"allowed" if good else "forbidden"}', fn, False))


for _row in COVERED:
    covered_row(_row)


@check
def rights_of_several_rules_count_together(t):
    who = granter(t, [rule('get', 'pods'), rule('list', 'pods'), rule('get,list', 'services')])
    t.code(t.post(roles_at(), role(t.name('r'), [rule('get,list', 'pods,services')]), headers=acting(who)), 201)


@check
def rights_in_a_namespace_do_not_count_in_the_cluster(t):
    who = granter(t)
    give(t, who, [rule('get', 'pods')], t.ns)
    t.code(t.post(roles_at(), role(t.name('r'), [rule('get', 'pods')]), headers=acting(who)), 403)
    t.code(t.post(roles_at(t.ns), role('r', [rule('get', 'pods')], t.ns), headers=acting(who)), 201)


@check
def escalate_allows_any_role(t):
    who = granter(t, [rule('escalate', 'clusterroles', GROUP)])
    t.code(t.post(roles_at(), role(t.name('r'), [rule('*', '*', '*')]), headers=acting(who)), 201)
    t.code(t.post(roles_at(t.ns), role('r', [rule('get', 'pods')], t.ns), headers=acting(who)), 403)


@check
def a_role_may_not_grow_by_update(t):
    who = granter(t, [rule('get', 'pods')])
    t.make(roles_at(t.ns), role('r', [rule('get', 'pods')], t.ns))
    a = t.patch(f'{roles_at(t.ns)}/r', {'rules': [rule('get,list', 'pods')]}, headers=acting(who))
    t.status(a, 403, 'Forbidden', part='{APIGroups:[""], Resources:["pods"], Verbs:["list"]}')


@check
def a_role_of_more_may_not_be_changed_at_all(t):
    who = granter(t)
    t.make(roles_at(t.ns), role('r', [rule('get', 'pods')], t.ns))
    t.code(t.patch(f'{roles_at(t.ns)}/r', {'metadata': {'labels': {'a': 'b'}}}, headers=acting(who)), 403)


@check
def finalizers_of_a_role_of_more_may_be_changed(t):
    who = granter(t)
    t.make(roles_at(t.ns), role('r', [rule('get', 'pods')], t.ns, finalizers=['x.y/z']))
    t.code(t.patch(f'{roles_at(t.ns)}/r', {'metadata': {'finalizers': None}}, headers=acting(who)), 200)


@check
def an_aggregation_rule_needs_everything(t):
    who, name = granter(t), t.name('r')
    body = {**role(name, []), 'aggregationRule': {'clusterRoleSelectors': [{'matchLabels': {'a': name}}]}}
    a = t.post(roles_at(), body, headers=acting(who))
    t.status(a, 403, 'Forbidden', f'clusterroles.{GROUP} "{name}" is forbidden: must have cluster-admin privileges to use the '
             'aggregationRule')
    give(t, who, [rule('*', '*', '*'), paths('*', '*')])
    t.code(t.post(roles_at(), body, headers=acting(who)), 201)


@check
def a_binding_to_more_than_one_has_is_forbidden(t):
    who, name = granter(t), t.name('b')
    a = t.post(bindings_at(), binding(name, 'cluster-admin', [user(who)]), headers=acting(who))
    t.status(a, 403, 'Forbidden', f'clusterrolebindings.{GROUP} "{name}" is forbidden: {holding(who)}'
             '{APIGroups:["*"], Resources:["*"], Verbs:["*"]}\n{NonResourceURLs:["*"], Verbs:["*"]}')


@check
def a_binding_to_what_one_has_is_allowed(t):
    who, name = granter(t, [rule('get', 'pods')]), t.name('r')
    t.make(roles_at(), role(name, [rule('get', 'pods')]))
    t.code(t.post(bindings_at(), binding(name, name, [user('x')]), headers=acting(who)), 201)


@check
def bind_allows_any_binding_to_that_role(t):
    who, name = granter(t, [rule('bind', 'clusterroles', GROUP, 'cluster-admin')]), t.name('b')
    t.code(t.post(bindings_at(), binding(name, 'cluster-admin', [user('x')]), headers=acting(who)), 201)
    a = t.post(bindings_at(), binding(t.name('b'), 'system:node', [user('x')]), headers=acting(who))
    t.code(a, 403)


@check
def bind_in_a_namespace(t):
    who = granter(t)
    give(t, who, [rule('bind', 'roles', GROUP, 'r')], t.ns)
    t.make(roles_at(t.ns), role('r', [rule('*', 'secrets')], t.ns))
    t.code(t.post(bindings_at(t.ns), binding('b', 'r', [user('x')], t.ns), headers=acting(who)), 201)
    t.code(t.post(bindings_at(t.ns), binding('c', 'cluster-admin', [user('x')], t.ns, 'ClusterRole'), headers=acting(who)), 403)


@check
def a_binding_to_a_missing_role_is_not_found(t):
    who = granter(t)
    a = t.post(bindings_at(), binding(t.name('b'), 'no-such-role', [user('x')]), headers=acting(who))
    t.status(a, 404, 'NotFound', f'clusterrolebindings.{GROUP} "no-such-role" not found')


@check
def an_admin_may_bind_a_missing_role(t):
    t.make(bindings_at(), binding(t.name('b'), 'no-such-role', [user('x')]))


@check
def subjects_may_not_be_added_to_a_binding_of_more(t):
    who, name = granter(t), t.name('b')
    t.make(bindings_at(), binding(name, 'system:node', [user('x')]))
    a = t.patch(f'{bindings_at()}/{name}', [{'op': 'add', 'path': '/subjects/-', 'value': user(who)}], content=JSON_PATCH,
                headers=acting(who))
    t.status(a, 403, 'Forbidden', part='is attempting to grant RBAC permissions not currently held')


@check
def a_binding_of_more_may_be_deleted(t):
    who, name = granter(t), t.name('b')
    t.make(bindings_at(), binding(name, 'system:node', [user('x')]))
    t.code(t.delete(f'{bindings_at()}/{name}', headers=acting(who)), 200)


@check
def dry_run_is_checked_as_well(t):
    who = granter(t)
    a = t.post(roles_at(t.ns), role('r', [rule('get', 'pods')], t.ns), headers=acting(who), dryRun='All')
    t.code(a, 403)


@check
def rights_to_a_pod_do_not_include_its_eviction(t):
    who = somebody(t)
    give(t, who, [rule('get,delete', 'pods')], t.ns)
    t.make(t.pods(), pod('a'))
    a = t.post(f'{t.pods()}/a/eviction', {'apiVersion': 'policy/v1', 'kind': 'Eviction', 'metadata': {'name': 'a'}}, headers=acting(who))
    forbidden(t, a, who, 'create', 'pods', t.ns, name='a', sub='eviction')
    give(t, who, [rule('create', 'pods/eviction')], t.ns)
    t.code(t.post(f'{t.pods()}/a/eviction', {'apiVersion': 'policy/v1', 'kind': 'Eviction', 'metadata': {'name': 'a'}},
                  headers=acting(who)), 201)


@check
def huge_impersonation_headers_are_refused_in_peace(t):
    try:
        a = t.get('/api', headers={'Impersonate-User': 'x' * 20000})
        t.true(a.code in (200, 400, 403, 431), str(a))
    except (OSError, client.http.client.HTTPException) as e:
        raise Failed(f'the connection was cut: {e}') from e
