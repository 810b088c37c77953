"""reviews.py - the questions that are answered and not stored: who am I, whose token is this, may he, what may I."""
from client import CHECKS, check
from rbac import ACCESS, acting, give, paths, role, roles_at, rule, somebody

AUTHN = '/apis/authentication.k8s.io/v1'
ISSUER = 'https://kubernetes.default.svc.cluster.local'


def whoami(t, **kw):
    a = t.post(f'{AUTHN}/selfsubjectreviews', {'apiVersion': 'authentication.k8s.io/v1', 'kind': 'SelfSubjectReview'}, **kw)
    return t.code(a, 201)


def access(t, kind, spec, ns=None, **kw):
    where = f'{ACCESS}/namespaces/{ns}' if ns else ACCESS
    return t.post(f'{where}/{kind.lower()}s', {'apiVersion': 'authorization.k8s.io/v1', 'kind': kind, 'spec': spec}, **kw)


def token_review(t, token, **spec):
    return t.post(f'{AUTHN}/tokenreviews', {'apiVersion': 'authentication.k8s.io/v1', 'kind': 'TokenReview',
                                            'spec': {'token': token, **spec}})


# ---- who am I ----

@check
def self_of_a_user_of_the_token_file(t):
    a = whoami(t, token=t.token('bob'))
    t.has(a, 'status.userInfo', {'username': 'bob', 'uid': 'bob-uid', 'groups': ['dev', 'ops', 'system:authenticated']})


@check
def self_of_a_user_without_groups(t):
    t.has(whoami(t, token=t.token('alice')), 'status.userInfo',
          {'username': 'alice', 'uid': 'alice-uid', 'groups': ['system:authenticated']})


@check
def self_of_the_administrator(t):
    a = whoami(t)
    t.has(a, 'status.userInfo.username', 'admin')
    t.has(a, 'status.userInfo.groups', ['system:masters', 'system:authenticated'])
    t.true(a['metadata.creationTimestamp'], 'no creationTimestamp')


SELVES = [  # name, headers, userInfo
    ('user', {'Impersonate-User': 'q'}, {'username': 'q', 'groups': ['system:authenticated']}),
    ('group', {'Impersonate-User': 'q', 'Impersonate-Group': 'a'}, {'username': 'q', 'groups': ['a', 'system:authenticated']}),
    ('group_that_is_there_already', {'Impersonate-User': 'q', 'Impersonate-Group': 'system:authenticated'},
     {'username': 'q', 'groups': ['system:authenticated']}),
    ('uid', {'Impersonate-User': 'q', 'Impersonate-Uid': '77'},
     {'username': 'q', 'uid': '77', 'groups': ['system:authenticated']}),
    ('extra', {'Impersonate-User': 'q', 'Impersonate-Extra-Scopes': 'x'},
     {'username': 'q', 'groups': ['system:authenticated'], 'extra': {'scopes': ['x']}}),
    ('extra_with_an_escaped_key', {'Impersonate-User': 'q', 'Impersonate-Extra-Acme.com%2fProj': 'x'},
     {'username': 'q', 'groups': ['system:authenticated'], 'extra': {'acme.com/proj': ['x']}}),
    ('service_account', {'Impersonate-User': 'system:serviceaccount:a:b'},
     {'username': 'system:serviceaccount:a:b',
      'groups': ['system:serviceaccounts', 'system:serviceaccounts:a', 'system:authenticated']}),
    ('service_account_with_a_group', {'Impersonate-User': 'system:serviceaccount:a:b', 'Impersonate-Group': 'g'},
     {'username': 'system:serviceaccount:a:b', 'groups': ['g', 'system:authenticated']}),
    ('not_quite_a_service_account', {'Impersonate-User': 'system:serviceaccount:a'},
     {'username': 'system:serviceaccount:a', 'groups': ['system:authenticated']}),
]


def self_row(row):
    name, headers, info = row

    def fn(t):
        t.has(whoami(t, headers=headers), 'status.userInfo', info)
    CHECKS.append((f'reviews/self_impersonated_{name}', fn, False))


for _row in SELVES:
    self_row(_row)


@check
def self_of_somebody_anonymous_is_forbidden(t):
    a = t.post(f'{AUTHN}/selfsubjectreviews', {}, headers=acting('system:anonymous'))
    t.status(a, 403, 'Forbidden', 'selfsubjectreviews.authentication.k8s.io is forbidden: User "system:anonymous" cannot '
             'create resource "selfsubjectreviews" in API group "authentication.k8s.io" at the cluster scope')


@check
def self_in_the_group_of_strangers_is_forbidden(t):
    t.code(t.post(f'{AUTHN}/selfsubjectreviews', {}, headers=acting('z', ['system:unauthenticated'])), 403)


# ---- whose token ----

@check
def token_of_a_user(t):
    token = t.token('bob')
    a = t.code(token_review(t, token), 201)
    t.has(a, 'status', {'authenticated': True, 'audiences': [ISSUER],
                        'user': {'username': 'bob', 'uid': 'bob-uid', 'groups': ['dev', 'ops', 'system:authenticated']}})
    t.has(a, 'spec', {'token': token})


@check
def token_for_the_servers_audience(t):
    a = t.code(token_review(t, t.token('alice'), audiences=['x', ISSUER]), 201)
    t.has(a, 'status.authenticated', True)
    t.has(a, 'status.audiences', [ISSUER])


@check
def token_for_another_audience(t):
    a = t.code(token_review(t, t.token('alice'), audiences=['x']), 201)
    t.has(a, 'status', {'user': {}, 'error': 'invalid bearer token'})


WRONG_TOKENS = {'a_word': 'nobodys', 'two_dots': 'a.b.c', 'dots': '..', 'long': 'x' * 10000,
                'no_algorithm': 'eyJhbGciOiJub25lIn0.eyJpc3MiOiJrdWJlcm5ldGVzL3NlcnZpY2VhY2NvdW50In0.',
                'not_base64': 'ey!!.e!!.!!', 'unicode': 'tokén'}


def wrong_token(name, token):
    def fn(t):
        a = t.code(token_review(t, token), 201)
        t.has(a, 'status.user', {})
        t.has(a, 'status.authenticated', None)
        t.true('invalid bearer token' in a['status.error'], str(a))
    CHECKS.append((f'reviews/token_that_is_{name}', fn, False))


for _name, _token in WRONG_TOKENS.items():
    wrong_token(_name, _token)


@check
def token_that_is_missing(t):
    t.status(token_review(t, ''), 400, 'BadRequest', 'token is required for TokenReview in authentication')


# ---- may he ----

MAY = [  # name, spec, status
    ('stranger', {'user': 'unbound', 'resourceAttributes': {'verb': 'get', 'resource': 'pods', 'namespace': 'a'}}, {'allowed': False}),
    ('masters', {'groups': ['system:masters'], 'resourceAttributes': {'verb': 'get', 'resource': 'pods'}}, {'allowed': True}),
    ('group_and_path', {'user': 'unbound', 'groups': ['system:unauthenticated'], 'nonResourceAttributes': {'verb': 'get', 'path': '/version'}},
     {'allowed': True, 'reason': 'RBAC: allowed by ClusterRoleBinding "system:public-info-viewer" of ClusterRole '
      '"system:public-info-viewer" to Group "system:unauthenticated"'}),
    ('path_of_nobody', {'user': 'unbound', 'nonResourceAttributes': {'verb': 'get', 'path': '/version'}}, {'allowed': False}),
    ('service_account', {'user': 'system:serviceaccount:kube-system:job-controller',
                         'resourceAttributes': {'verb': 'list', 'group': 'batch', 'resource': 'jobs', 'namespace': 'a'}},
     {'allowed': True, 'reason': 'RBAC: allowed by ClusterRoleBinding "system:controller:job-controller" of ClusterRole '
      '"system:controller:job-controller" to ServiceAccount "job-controller/kube-system"'}),
    ('user', {'user': 'system:kube-scheduler', 'resourceAttributes': {'verb': 'create', 'resource': 'pods', 'subresource': 'binding'}},
     {'allowed': True, 'reason': 'RBAC: allowed by ClusterRoleBinding "system:kube-scheduler" of ClusterRole '
      '"system:kube-scheduler" to User "system:kube-scheduler"'}),
    ('user_without_subresource', {'user': 'system:kube-scheduler', 'resourceAttributes': {'verb': 'create', 'resource': 'pods'}},
     {'allowed': False}),
    ('role_in_a_namespace', {'user': 'system:kube-scheduler', 'resourceAttributes': {
        'verb': 'get', 'resource': 'configmaps', 'namespace': 'kube-system', 'name': 'extension-apiserver-authentication'}},
     {'allowed': True, 'reason': 'RBAC: allowed by RoleBinding "system::extension-apiserver-authentication-reader/kube-system" of '
      'Role "extension-apiserver-authentication-reader" to User "system:kube-scheduler"'}),
    ('unknown_resource', {'user': 'unbound', 'resourceAttributes': {'verb': 'get', 'resource': 'no-such', 'group': 'g'}}, {'allowed': False}),
    ('resource_that_is_missing', {'user': 'unbound', 'resourceAttributes': {'verb': 'get'}}, {'allowed': False}),
]


def may_row(row):
    name, spec, status = row

    def fn(t):
        a = t.code(access(t, 'SubjectAccessReview', spec), 201)
        t.has(a, 'status', status)
        t.has(a, 'spec', spec)
        t.has(a, 'metadata.creationTimestamp', None)
    CHECKS.append((f'reviews/may_{name}', fn, False))


for _row in MAY:
    may_row(_row)


@check
def may_by_a_role_binding(t):
    who = somebody(t)
    name = give(t, who, [rule('get', 'configmaps', '', 'one')], t.ns)
    asked = {'verb': 'get', 'resource': 'configmaps', 'namespace': t.ns, 'name': 'one'}
    a = t.code(access(t, 'SubjectAccessReview', {'user': who, 'resourceAttributes': asked}), 201)
    t.has(a, 'status', {'allowed': True, 'reason': f'RBAC: allowed by RoleBinding "{name}/{t.ns}" of Role "{name}" to User "{who}"'})
    a = t.code(access(t, 'SubjectAccessReview', {'user': who, 'resourceAttributes': {**asked, 'name': 'two'}}), 201)
    t.has(a, 'status', {'allowed': False})


@check
def may_says_which_role_is_missing(t):
    who = somebody(t)
    name = give(t, who, [rule('get', 'configmaps')], t.ns)
    t.code(t.delete(f'{roles_at(t.ns)}/{name}'), 200)
    spec = {'user': who, 'resourceAttributes': {'verb': 'get', 'resource': 'configmaps', 'namespace': t.ns}}
    a = t.until('it is gone', lambda: not (x := access(t, 'SubjectAccessReview', spec))['status.allowed'] and x)
    t.has(a, 'status.reason', f'RBAC: role.rbac.authorization.k8s.io "{name}" not found')


@check
def may_i(t):
    t.has(t.code(access(t, 'SelfSubjectAccessReview', {'resourceAttributes': {'verb': '*', 'resource': '*', 'group': '*'}}), 201),
          'status', {'allowed': True})
    who = somebody(t)
    a = access(t, 'SelfSubjectAccessReview', {'resourceAttributes': {'verb': 'list', 'resource': 'pods'}}, headers=acting(who))
    t.has(t.code(a, 201), 'status', {'allowed': False})
    give(t, who, [rule('list', 'pods')])
    a = access(t, 'SelfSubjectAccessReview', {'resourceAttributes': {'verb': 'list', 'resource': 'pods'}}, headers=acting(who))
    t.has(t.code(a, 201), 'status.allowed', True)


@check
def may_in_a_namespace(t):
    asked = {'verb': 'get', 'resource': 'pods', 'namespace': t.ns}
    a = t.code(access(t, 'LocalSubjectAccessReview', {'user': 'unbound', 'resourceAttributes': asked}, t.ns), 201)
    t.has(a, 'status', {'allowed': False})
    t.has(a, 'metadata.namespace', t.ns)


LOCAL_WRONG = [  # name, spec, cause
    ('another_namespace', {'user': 'unbound', 'resourceAttributes': {'verb': 'get', 'resource': 'pods', 'namespace': 'other'}},
     'spec.resourceAttributes.namespace: Invalid value: "other": must match metadata.namespace'),
    ('no_namespace', {'user': 'unbound', 'resourceAttributes': {'verb': 'get', 'resource': 'pods'}},
     'spec.resourceAttributes.namespace: Invalid value: "": must match metadata.namespace'),
    ('a_path', {'user': 'unbound', 'nonResourceAttributes': {'verb': 'get', 'path': '/x'}},
     'spec.nonResourceAttributes: Invalid value: {"Path":"/x","Verb":"get"}: disallowed on this kind of request'),
]


def local_row(row):
    name, spec, cause = row

    def fn(t):
        t.status(access(t, 'LocalSubjectAccessReview', spec, t.ns), 422, 'Invalid', f'.authorization.k8s.io "" is invalid: {cause}')
    CHECKS.append((f'reviews/may_in_a_namespace_about_{name}_is_invalid', fn, False))


for _row in LOCAL_WRONG:
    local_row(_row)


@check
def may_in_another_namespace_than_the_requests_is_bad(t):
    a = t.post(f'{ACCESS}/namespaces/{t.ns}/localsubjectaccessreviews', {'metadata': {'namespace': 'other'}, 'spec': {
        'user': 'unbound', 'resourceAttributes': {'verb': 'get', 'resource': 'pods', 'namespace': t.ns}}})
    t.status(a, 400, 'BadRequest', 'the namespace of the provided object does not match the namespace sent on the request')


# ---- what may I ----

def rules_of(t, who, ns):
    a = access(t, 'SelfSubjectRulesReview', {'namespace': ns}, headers=acting(who))
    return t.code(a, 201)


@check
def rules_of_a_user_without_rights(t):
    a = rules_of(t, somebody(t), t.ns)
    basic = [{'verbs': ['create'], 'apiGroups': ['authorization.k8s.io'],
              'resources': ['selfsubjectaccessreviews', 'selfsubjectrulesreviews']},
             {'verbs': ['create'], 'apiGroups': ['authentication.k8s.io'], 'resources': ['selfsubjectreviews']}]
    t.has(a, 'status.resourceRules', basic)
    t.has(a, 'status.incomplete', False)
    t.has(a, 'spec', {})
    t.true({'verbs': ['get'], 'nonResourceURLs': ['/healthz', '/livez', '/readyz', '/version', '/version/']} in
           a['status.nonResourceRules'], str(a['status.nonResourceRules']))


@check
def rules_of_a_role(t):
    who = somebody(t)
    mine = rule('get,list', 'configmaps', '', 'a,b')
    give(t, who, [mine], t.ns)
    t.true(mine in rules_of(t, who, t.ns)['status.resourceRules'], 'it is missing')
    t.true(mine not in rules_of(t, who, 'default')['status.resourceRules'], 'it is shown elsewhere')


@check
def rules_of_a_cluster_role(t):
    who = somebody(t)
    mine, url = rule('list', 'nodes'), paths('get', '/some/where')
    give(t, who, [mine, url])
    a = rules_of(t, who, t.ns)
    t.true(mine in a['status.resourceRules'] and url in a['status.nonResourceRules'], str(a))


@check
def rules_of_the_administrator(t):
    a = t.code(access(t, 'SelfSubjectRulesReview', {'namespace': t.ns}), 201)
    t.true({'verbs': ['*'], 'apiGroups': ['*'], 'resources': ['*']} in a['status.resourceRules'], str(a))
    t.true({'verbs': ['*'], 'nonResourceURLs': ['*']} in a['status.nonResourceRules'], str(a))


@check
def rules_without_a_namespace_are_bad(t):
    t.status(access(t, 'SelfSubjectRulesReview', {}), 400, 'BadRequest', 'no namespace on request')


@check
def rules_of_a_missing_role_are_an_evaluation_error(t):
    who = somebody(t)
    name = give(t, who, [rule('get', 'configmaps')], t.ns)
    t.code(t.delete(f'{roles_at(t.ns)}/{name}'), 200)
    a = t.until('it is gone', lambda: (x := rules_of(t, who, t.ns))['status.evaluationError'] and x)
    t.has(a, 'status.incomplete', False)
    t.has(a, 'status.evaluationError', f'role.rbac.authorization.k8s.io "{name}" not found')
    t.make(roles_at(t.ns), role(name, [], t.ns))
