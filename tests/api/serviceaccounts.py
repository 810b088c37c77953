"""serviceaccounts.py - tokens of service accounts: asked for, used, bound to objects, and refused when forged or out of date."""
import base64
import hashlib
import json
import re

from client import CHECKS, check, node, pod
from rbac import acting, forbidden, give, rule, somebody
from reviews import AUTHN, ISSUER, token_review, whoami

EXTRA = 'authentication.kubernetes.io'


def account(t, name='robot', **more):
    return t.make(t.at('serviceaccounts'), {'metadata': {'name': name}, **more})


def ask(t, spec=None, name='robot', **more):
    return t.post(f'{t.at("serviceaccounts")}/{name}/token', {'apiVersion': 'authentication.k8s.io/v1', 'kind': 'TokenRequest',
                                                             **({'spec': spec} if spec is not None else {}), **more})


def token_of(t, spec=None, name='robot'):
    return t.code(ask(t, spec, name), 201)['status.token']


def part(token, i):
    text = token.split('.')[i]
    return json.loads(base64.urlsafe_b64decode(text + '=' * (-len(text) % 4)))


def b64(data):
    return base64.urlsafe_b64encode(data).rstrip(b'=').decode()


def user_of(t, token):
    return t.code(token_review(t, token), 201)['status.user']


# ---- asking ----

@check
def a_token_says_whose_it_is(t):
    sa = account(t)
    a = t.code(ask(t, {}), 201)
    t.has(a, 'kind', 'TokenRequest')
    t.has(a, 'metadata.name', 'robot')
    t.has(a, 'metadata.namespace', t.ns)
    t.has(a, 'metadata.uid', sa['metadata']['uid'])
    t.has(a, 'spec', {'audiences': [ISSUER], 'expirationSeconds': 3600, 'boundObjectRef': None})
    claims = part(a['status.token'], 1)
    t.eq(claims['sub'], f'system:serviceaccount:{t.ns}:robot', 'sub')
    t.eq(claims['iss'], ISSUER, 'iss')
    t.eq(claims['aud'], [ISSUER], 'aud')
    t.eq(claims['kubernetes.io'], {'namespace': t.ns, 'serviceaccount': {'name': 'robot', 'uid': sa['metadata']['uid']}}, 'private')
    t.eq(claims['exp'] - claims['iat'], 3600, 'seconds')
    t.eq(claims['nbf'], claims['iat'], 'nbf')
    t.true(claims['jti'], 'no jti')


@check
def a_token_names_its_key(t):
    account(t)
    head = part(token_of(t), 0)
    t.true(head['alg'] in ('RS256', 'ES256') and head['kid'], str(head))
    t.true(head['kid'] in [k['kid'] for k in t.read('/openid/v1/jwks', accept='*/*')['keys']], 'its key is not published')


@check
def a_token_for_audiences_and_a_time(t):
    account(t)
    a = t.code(ask(t, {'audiences': ['a', 'b'], 'expirationSeconds': 600}), 201)
    t.has(a, 'spec.audiences', ['a', 'b'])
    claims = part(a['status.token'], 1)
    t.eq(claims['aud'], ['a', 'b'], 'aud')
    t.eq(claims['exp'] - claims['iat'], 600, 'seconds')
    t.true(a['status.expirationTimestamp'], 'no expirationTimestamp')


@check
def an_empty_request_is_enough(t):
    account(t)
    t.code(t.post(f'{t.at("serviceaccounts")}/robot/token', {}), 201)


WRONG = [  # name, spec, code, reason, message
    ('less_than_ten_minutes', {'expirationSeconds': 599}, 422, 'Invalid', 'TokenRequest.authentication.k8s.io "" is invalid: '
     'spec.expirationSeconds: Invalid value: 599: may not specify a duration less than 10 minutes'),
    ('a_negative_time', {'expirationSeconds': -1}, 422, 'Invalid', 'TokenRequest.authentication.k8s.io "" is invalid: '
     'spec.expirationSeconds: Invalid value: -1: may not specify a duration less than 10 minutes'),
    ('more_than_2_to_the_32', {'expirationSeconds': 4294967297}, 422, 'Invalid', 'TokenRequest.authentication.k8s.io "" is '
     'invalid: spec.expirationSeconds: Invalid value: 4294967297: may not specify a duration larger than 2^32 seconds'),
    ('another_kind', {'boundObjectRef': {'kind': 'Foo', 'apiVersion': 'v1', 'name': 'x'}}, 400, 'BadRequest',
     'cannot bind token to object of type /v1, Kind=Foo'),
    ('another_group', {'boundObjectRef': {'kind': 'Pod', 'apiVersion': 'apps/v1', 'name': 'x'}}, 400, 'BadRequest',
     'cannot bind token to object of type apps/v1, Kind=Pod'),
    ('a_missing_pod', {'boundObjectRef': {'kind': 'Pod', 'apiVersion': 'v1', 'name': 'x'}}, 404, 'NotFound', 'pods "x" not found'),
    ('a_missing_secret', {'boundObjectRef': {'kind': 'Secret', 'apiVersion': 'v1', 'name': 'x'}}, 404, 'NotFound',
     'secrets "x" not found'),
    ('a_missing_node', {'boundObjectRef': {'kind': 'Node', 'apiVersion': 'v1', 'name': 'no-such'}}, 404, 'NotFound',
     'nodes "no-such" not found'),
]


def wrong_row(row):
    name, spec, code, reason, message = row

    def fn(t):
        account(t)
        t.status(ask(t, spec), code, reason, message)
    CHECKS.append((f'serviceaccounts/a_token_for_{name}_is_refused', fn, False))


for _row in WRONG:
    wrong_row(_row)


@check
def a_token_of_a_missing_account(t):
    t.status(ask(t, {}, 'nobody'), 404, 'NotFound', 'serviceaccounts "nobody" not found')


@check
def a_request_of_another_name(t):
    account(t)
    t.status(ask(t, {}, metadata={'name': 'other'}), 422, 'Invalid', 'TokenRequest.authentication.k8s.io "robot" is invalid: '
             'metadata.name: Invalid value: "other": must match the service account name if specified')


@check
def a_request_of_another_namespace(t):
    account(t)
    t.status(ask(t, {}, metadata={'namespace': 'other'}), 400, 'BadRequest',
             'the namespace of the provided object does not match the namespace sent on the request')


@check
def a_token_cannot_be_read(t):
    account(t)
    t.status(t.get(f'{t.at("serviceaccounts")}/robot/token'), 405, 'MethodNotAllowed')


@check
def asking_needs_the_right(t):
    who = somebody(t)
    account(t)
    path = f'{t.at("serviceaccounts")}/robot/token'
    forbidden(t, t.post(path, {}, headers=acting(who)), who, 'create', 'serviceaccounts', t.ns, name='robot', sub='token')
    give(t, who, [rule('create', 'serviceaccounts/token', '', 'robot')], t.ns)
    t.code(t.post(path, {}, headers=acting(who)), 201)


# ---- using ----

@check
def a_token_makes_a_user(t):
    sa = account(t)
    token = token_of(t)
    info = whoami(t, token=token)['status.userInfo']
    t.eq(info, {'username': f'system:serviceaccount:{t.ns}:robot', 'uid': sa['metadata']['uid'],
                'groups': ['system:serviceaccounts', f'system:serviceaccounts:{t.ns}', 'system:authenticated'],
                'extra': {f'{EXTRA}/credential-id': [f'JTI={part(token, 1)["jti"]}']}}, 'userInfo')


@check
def a_token_has_the_rights_of_its_account(t):
    account(t)
    token = token_of(t)
    who = f'system:serviceaccount:{t.ns}:robot'
    forbidden(t, t.get(t.maps(), token=token), who, 'list', 'configmaps', t.ns)
    give(t, who, [rule('list', 'configmaps')], t.ns)
    t.code(t.get(t.maps(), token=token), 200)


@check
def a_token_for_others_is_not_for_the_server(t):
    account(t)
    t.status(t.get('/api', token=token_of(t, {'audiences': ['other']})), 401, 'Unauthorized', 'Unauthorized')


@check
def a_token_for_others_is_good_for_them(t):
    account(t)
    token = token_of(t, {'audiences': ['a', 'b']})
    a = t.code(token_review(t, token, audiences=['b', 'c']), 201)
    t.has(a, 'status.authenticated', True)
    t.has(a, 'status.audiences', ['b'])
    t.has(t.code(token_review(t, token, audiences=['c']), 201), 'status.authenticated', None)
    t.has(t.code(token_review(t, token), 201), 'status.authenticated', None)


@check
def a_token_bound_to_a_pod_says_so(t):
    account(t)
    n = t.name('node')
    node_uid = t.make('/api/v1/nodes', node(n))['metadata']['uid']
    p = t.make(t.pods(), pod('p', {'serviceAccountName': 'robot', 'nodeName': n}))
    token = token_of(t, {'boundObjectRef': {'kind': 'Pod', 'apiVersion': 'v1', 'name': 'p', 'uid': p['metadata']['uid']}})
    extra = user_of(t, token)['extra']
    extra.pop(f'{EXTRA}/credential-id')
    t.eq(extra, {f'{EXTRA}/pod-name': ['p'], f'{EXTRA}/pod-uid': [p['metadata']['uid']], f'{EXTRA}/node-name': [n],
                 f'{EXTRA}/node-uid': [node_uid]}, 'extra')


@check
def a_token_bound_to_a_node_says_so(t):
    account(t)
    n = t.name('node')
    uid = t.make('/api/v1/nodes', node(n))['metadata']['uid']
    token = token_of(t, {'boundObjectRef': {'kind': 'Node', 'apiVersion': 'v1', 'name': n}})
    t.eq(part(token, 1)['kubernetes.io']['node'], {'name': n, 'uid': uid}, 'node')
    t.eq(user_of(t, token)['extra'][f'{EXTRA}/node-name'], [n], 'extra')


@check
def a_token_bound_to_another_accounts_pod_is_refused(t):
    account(t)
    t.make(t.pods(), pod('p'))
    a = ask(t, {'boundObjectRef': {'kind': 'Pod', 'apiVersion': 'v1', 'name': 'p'}})
    t.status(a, 400, 'BadRequest', 'cannot bind token for serviceaccount "robot" to pod running with different serviceaccount name.')


@check
def a_token_bound_to_another_uid_is_a_conflict(t):
    account(t)
    t.make(t.at('secrets'), {'metadata': {'name': 's'}})
    a = ask(t, {'boundObjectRef': {'kind': 'Secret', 'apiVersion': 'v1', 'name': 's', 'uid': 'bad'}})
    t.status(a, 409, 'Conflict', 'Operation cannot be fulfilled on Secret "s": the UID in the bound object reference (bad) does not '
             'match the UID in record. The object might have been deleted and then recreated')


# ---- the end of a token ----

@check
def a_token_ends_with_its_account(t):
    account(t)
    token = token_of(t)
    t.code(t.delete(f'{t.at("serviceaccounts")}/robot'), 200)
    t.until('it is refused', lambda: t.get('/api', token=token).code == 401)
    account(t)  # of the same name, but another one
    t.code(t.get('/api', token=token), 401)


@check
def a_token_ends_with_its_secret(t):
    account(t)
    t.make(t.at('secrets'), {'metadata': {'name': 's'}})
    token = token_of(t, {'boundObjectRef': {'kind': 'Secret', 'apiVersion': 'v1', 'name': 's'}})
    t.has(t.code(token_review(t, token), 201), 'status.authenticated', True)
    t.code(t.delete(f'{t.at("secrets")}/s'), 200)
    t.until('it is refused', lambda: not token_review(t, token)['status.authenticated'])


@check
def a_token_ends_with_its_pod(t):
    account(t)
    t.make(t.pods(), pod('p', {'serviceAccountName': 'robot'}))
    token = token_of(t, {'boundObjectRef': {'kind': 'Pod', 'apiVersion': 'v1', 'name': 'p'}})
    t.code(t.get('/api', token=token), 200)
    t.code(t.delete(f'{t.pods()}/p', {'gracePeriodSeconds': 0}), 200)
    t.until('it is refused', lambda: t.get('/api', token=token).code == 401)


# ---- forgery ----

def changed(token, i, change):
    parts = token.split('.')
    value = part(token, i)
    change(value)
    parts[i] = b64(json.dumps(value).encode())
    return '.'.join(parts)


FORGED = {
    'another_subject': lambda x: changed(x, 1, lambda c: c.update(sub='system:serviceaccount:kube-system:default')),
    'a_longer_life': lambda x: changed(x, 1, lambda c: c.update(exp=c['exp'] + 100000)),
    'no_algorithm': lambda x: changed(x, 0, lambda h: h.update(alg='none')),
    'no_algorithm_and_no_signature': lambda x: changed(x, 0, lambda h: h.update(alg='none')).rsplit('.', 1)[0] + '.',
    'a_symmetric_algorithm': lambda x: changed(x, 0, lambda h: h.update(alg='HS256')),
    'another_key': lambda x: changed(x, 0, lambda h: h.update(kid='other')),
    'no_signature': lambda x: x.rsplit('.', 1)[0] + '.',
    'two_parts': lambda x: x.rsplit('.', 1)[0],
    'four_parts': lambda x: x + '.x',
    'a_signature_of_zeros': lambda x: x.rsplit('.', 1)[0] + '.' + b64(bytes(64)),
    'a_short_signature': lambda x: x[:-10],
    'a_changed_signature': lambda x: x[:-10] + ('A' if x[-10] != 'A' else 'B') + x[-9:],
    'a_hash_for_a_signature': lambda x: x.rsplit('.', 1)[0] + '.' + b64(hashlib.sha512(x.encode()).digest()),
    'claims_that_are_a_list': lambda x: '.'.join([x.split('.')[0], b64(b'[]'), x.split('.')[2]]),
    'a_head_that_is_nothing': lambda x: '.' + x.split('.', 1)[1],
    'a_thousand_dots': lambda x: '.' * 1000,
    'great_length': lambda x: x + 'A' * 20000,
}


def forged(name, forge):
    def fn(t):
        account(t)
        token = token_of(t)
        t.code(t.get('/api', token=token), 200)
        t.code(t.get('/api', token=forge(token)), 401)
        t.code(t.get('/api', token=token), 200)
    CHECKS.append((f'serviceaccounts/a_token_with_{name}_is_forged', fn, False))


for _name, _forge in FORGED.items():
    forged(_name, _forge)


# ---- what others check tokens by ----

@check
def the_issuer_is_published(t):
    a = t.code(t.get('/.well-known/openid-configuration'), 200)
    t.has(a, 'issuer', ISSUER)
    t.has(a, 'response_types_supported', ['id_token'])
    t.has(a, 'subject_types_supported', ['public'])
    t.true(a['jwks_uri'].endswith('/openid/v1/jwks'), str(a))


@check
def the_keys_are_published(t):
    a = t.code(t.get('/openid/v1/jwks', accept='*/*'), 200)
    t.eq(a.type, 'application/jwk-set+json', 'type')
    key = a['keys.0']
    t.true(key['use'] == 'sig' and key['alg'] in ('RS256', 'ES256') and key['kty'] in ('RSA', 'EC'), str(key))


@check
def a_service_account_may_read_who_issues(t):
    account(t)
    t.code(t.get('/openid/v1/jwks', accept='*/*', token=token_of(t)), 200)
    t.code(t.get('/openid/v1/jwks', accept='*/*', token=t.token('alice')), 403)


# ---- Secrets with tokens ----

@check
def a_secret_for_a_token_must_name_its_account(t):
    a = t.post(t.at('secrets'), {'metadata': {'name': 's'}, 'type': 'kubernetes.io/service-account-token'})
    t.status(a, 422, 'Invalid', 'Secret "s" is invalid: metadata.annotations[kubernetes.io/service-account.name]: Required value')


@check
def a_review_of_a_token_is_not_kept(t):
    t.code(t.get(f'{AUTHN}/tokenreviews'), 405)


# ---- legacy tokens ----

@check
def the_server_says_since_when_it_tracks_legacy_tokens(t):
    path = '/api/v1/namespaces/kube-system/configmaps/kube-apiserver-legacy-service-account-token-tracking'
    t.until('a day', lambda: re.fullmatch(r'\d{4}-\d\d-\d\d', t.get(path)['data.since'] or ''))
