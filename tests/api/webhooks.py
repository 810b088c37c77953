"""webhooks.py - admission webhooks: who is asked what, and what becomes of good, bad and missing answers.

All hooks of a table live in one configuration in one namespace, each for objects with its own label, so that a server reads
them once. A row is a check.
"""
import base64
import http.client
import json
import time

import client
from client import check, config_map, deployment, dig, pod
from hookserver import HookServer

GROUP = '/apis/admissionregistration.k8s.io/v1'
KINDS = {'mutating': f'{GROUP}/mutatingwebhookconfigurations', 'validating': f'{GROUP}/validatingwebhookconfigurations'}
ALL = {'operations': ['*'], 'apiGroups': ['*'], 'apiVersions': ['*'], 'resources': ['*/*']}
MAPS = {'operations': ['CREATE', 'UPDATE', 'DELETE'], 'apiGroups': [''], 'apiVersions': ['v1'], 'resources': ['configmaps']}


def hook(server, ns, name, path=None, rule=None, config=None, **more):
    return {'name': f'{name}.hooks.example.com', 'clientConfig': config or server.config(path or name),
            'rules': [rule or MAPS], 'sideEffects': 'None', 'admissionReviewVersions': ['v1'],
            'namespaceSelector': {'matchLabels': {'kubernetes.io/metadata.name': ns}}, **more}


def for_label(name):
    return {'objectSelector': {'matchLabels': {'case': name}}}


def hooks_of(t):
    return t.server.once('hook server', HookServer)


def configure(t, server, kind, ns, hooks, keep=False):
    """A configuration that the server heeds when this returns."""
    ready = t.name('ready')
    probe = hook(server, ns, ready, **for_label(ready))
    name = t.name('hooks')
    t.make(KINDS[kind], {'metadata': {'name': name}, 'webhooks': [*hooks, probe]})
    if keep:
        t.server.leave(f'{KINDS[kind]}/{name}')
        t.made.remove(f'{KINDS[kind]}/{name}')

    def heeded():
        t.post(t.at('configmaps', ns=ns), config_map(ready, labels={'case': ready}), dryRun='All')
        return server.requests(ready)
    t.until('the configuration counts', heeded)
    return name


def shared_namespace(t, key):
    def make():
        name = t.name(key)
        t.make('/api/v1/namespaces', {'metadata': {'name': name}})
        t.made.remove(f'/api/v1/namespaces/{name}')
        t.server.leave(f'/api/v1/namespaces/{name}')
        return name
    return t.server.once(key, make)


def rows(table):
    """A check for each row of a table: the row's name and a function of the trial."""
    def register(fn):
        for name, *rest in table:
            def one(t, rest=rest, name=name):
                fn(t, name, *rest)
            one.__name__, one.__module__ = f'{fn.__name__}_{name}'.replace('-', '_'), fn.__module__
            check(one)
        return fn
    return register


# ---- answers ----

def patch_of(*ops, **more):
    return {'allowed': True, 'patchType': 'JSONPatch', 'patch': base64.b64encode(json.dumps(list(ops)).encode()).decode(),
            **more}


def add(path, value):
    return {'op': 'add', 'path': path, 'value': value}


def refused(**status):
    return lambda r: {'allowed': False, 'status': status}


def slow(r):
    time.sleep(3)
    return {'allowed': True}


DENIED = 'admission webhook "NAME.hooks.example.com" denied the request'
FAILED = 'Internal error occurred: failed calling webhook "NAME.hooks.example.com": '
# name, answer, (code, reason, message or part of it); message beginning with = is whole
VERDICTS = [
    ('allowed', lambda r: {'allowed': True}, (201, None, '')),
    ('denied', lambda r: {'allowed': False}, (400, None, f'={DENIED} without explanation')),
    ('denied-message', refused(message='no'), (400, None, f'={DENIED}: no')),
    ('denied-reason', refused(reason='Because'), (400, 'Because', f'={DENIED}: Because')),
    ('denied-both', refused(reason='Because', message='no'), (400, 'Because', f'={DENIED}: no')),
    ('denied-code', refused(code=403, message='no'), (403, None, f'={DENIED}: no')),
    ('denied-code-and-reason', refused(code=403, reason='Forbidden', message='no'), (403, 'Forbidden', f'={DENIED}: no')),
    ('denied-422', refused(code=422, reason='Invalid', message='no'), (422, 'Invalid', f'={DENIED}: no')),
    ('denied-429', refused(code=429, reason='TooManyRequests', message='no'), (429, 'TooManyRequests', f'={DENIED}: no')),
    ('denied-500', refused(code=500, message='no'), (500, None, f'={DENIED}: no')),
    ('denied-with-code-200', refused(code=200, message='no'), (400, None, f'={DENIED}: no')),
    ('denied-with-code-302', refused(code=302, message='no'), (400, None, f'={DENIED}: no')),
    ('denied-success', refused(status='Success', message='no'), (400, None, f'={DENIED}: no')),
    ('denied-quotes', refused(message='a "b"\n\u00e9'), (400, None, f'={DENIED}: a "b"\n\u00e9')),
    ('allowed-with-status', lambda r: {'allowed': True, 'status': {'code': 403, 'message': 'fine'}}, (201, None, '')),
    ('allowed-with-annotations', lambda r: {'allowed': True, 'auditAnnotations': {'k': 'v'}}, (201, None, '')),
]
# name, answer, part of the message behind the webhook's name
FAILURES = [
    ('wrong-uid', lambda r: {'allowed': True, 'uid': 'x'}, 'received invalid webhook response: expected response.uid='),
    ('no-uid', lambda r: {'allowed': True, 'uid': ''}, 'received invalid webhook response: expected response.uid='),
    ('no-response', lambda r: b'{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1"}',
     'received invalid webhook response: webhook response was absent'),
    ('null-response', lambda r: b'{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","response":null}',
     'received invalid webhook response: webhook response was absent'),
    ('other-version', lambda r: json.dumps({'kind': 'AdmissionReview', 'apiVersion': 'admission.k8s.io/v1beta1',
                                            'response': {'uid': r['uid'], 'allowed': True}}).encode(), ''),
    ('no-kind', lambda r: json.dumps({'response': {'uid': r['uid'], 'allowed': True}}).encode(), ''),
    ('other-kind', lambda r: json.dumps({'kind': 'Pod', 'apiVersion': 'v1'}).encode(), ''),
    ('not-json', lambda r: b'<html>', 'failed to call webhook: '),
    ('half-json', lambda r: b'{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","response":{"uid"',
     'failed to call webhook: '),
    ('a-list', lambda r: b'[]', 'failed to call webhook: '),
    ('empty', lambda r: b'', 'failed to call webhook: '),
    ('allowed-is-text', lambda r: {'allowed': 'yes'}, 'failed to call webhook: '),
    ('warnings-are-text', lambda r: {'allowed': True, 'warnings': 'w'}, 'failed to call webhook: '),
    ('status-is-text', lambda r: {'allowed': False, 'status': 'no'}, 'failed to call webhook: '),
    ('annotations-are-numbers', lambda r: {'allowed': True, 'auditAnnotations': {'k': 1}}, 'failed to call webhook: '),
    ('status-400', lambda r: (400, b'bad'), 'failed to call webhook: the server rejected our request for an unknown reason'),
    ('status-401', lambda r: (401, b''), 'failed to call webhook: the server has asked for the client to provide credentials'),
    ('status-404', lambda r: (404, b'404 page not found'),
     'failed to call webhook: the server could not find the requested resource'),
    ('status-405', lambda r: (405, b''),
     'failed to call webhook: the server does not allow this method on the requested resource'),
    ('status-422', lambda r: (422, b''),
     'failed to call webhook: the server rejected our request due to an error in our request'),
    ('status-500', lambda r: (500, b'oops'),
     'failed to call webhook: an error on the server ("oops") has prevented the request from succeeding'),
    ('status-500-empty', lambda r: (500, b''),
     'failed to call webhook: an error on the server ("unknown") has prevented the request from succeeding'),
    ('status-503', lambda r: (503, b''), 'failed to call webhook: the server is currently unable to handle the request'),
    ('status-504', lambda r: (504, b''), 'failed to call webhook: the server was unable to return a response in the time '
     'allotted, but may still be processing the request'),
    ('closes', lambda r: None, 'failed to call webhook: Post "https://127.0.0.1:PORT/'),
    ('slow', slow, 'failed to call webhook: Post "https://127.0.0.1:PORT/PATH?timeout=1s": context deadline exceeded'),
]
# of the mutating ones only: name, answer, part of the message; FAILED is not before them
BAD_PATCHES = [
    ('patch-without-type', lambda r: {k: v for k, v in patch_of(add('/data/x', '1')).items() if k != 'patchType'},
     'received invalid webhook response: webhook returned response.patch but not response.patchType'),
    ('type-without-patch', lambda r: {'allowed': True, 'patchType': 'JSONPatch'},
     'received invalid webhook response: webhook returned response.patchType but not response.patch'),
    ('type-empty', lambda r: {**patch_of(add('/data/x', '1')), 'patchType': ''},
     'received invalid webhook response: webhook returned invalid response.patchType of ""'),
    ('type-unknown', lambda r: {**patch_of(add('/data/x', '1')), 'patchType': 'Merge'}, 'unsupported patch type "Merge"'),
    ('patch-and-no-uid', lambda r: {**patch_of(add('/data/x', '1')), 'uid': ''},
     'received invalid webhook response: expected response.uid='),
    ('patch-no-base64', lambda r: {**patch_of(), 'patch': '!!'}, 'failed to call webhook: '),
]
BROKEN_PATCHES = [
    ('patch-of-nothing', lambda r: patch_of({'op': 'remove', 'path': '/spec/x/y'})),
    ('patch-test-fails', lambda r: patch_of({'op': 'test', 'path': '/data/k', 'value': 'other'})),
    ('patch-unknown-op', lambda r: patch_of({'op': 'improve', 'path': '/data/k', 'value': 'other'})),
    ('patch-no-list', lambda r: {**patch_of(), 'patch': base64.b64encode(b'{"op":"add"}').decode()}),
    ('patch-no-json', lambda r: {**patch_of(), 'patch': base64.b64encode(b'[{').decode()}),
    ('patch-wrong-type', lambda r: patch_of(add('/data', 7))),
    ('patch-wrong-value', lambda r: patch_of(add('/data/x', {'a': 'b'}))),
    ('patch-metadata-is-text', lambda r: patch_of(add('/metadata', 'x'))),
]
# name, answer, what the object has then
PATCHES = [
    ('patch-adds', lambda r: patch_of(add('/data/x', '1')), {'data': {'k': 'v', 'x': '1'}}),
    ('patch-replaces', lambda r: patch_of({'op': 'replace', 'path': '/data/k', 'value': '2'}), {'data': {'k': '2'}}),
    ('patch-removes', lambda r: patch_of({'op': 'remove', 'path': '/data/k'}, add('/data/n', '')), {'data': {'n': ''}}),
    ('patch-copies', lambda r: patch_of({'op': 'copy', 'from': '/data/k', 'path': '/data/c'}), {'data': {'k': 'v', 'c': 'v'}}),
    ('patch-moves', lambda r: patch_of({'op': 'move', 'from': '/data/k', 'path': '/data/m'}), {'data': {'m': 'v'}}),
    ('patch-tests', lambda r: patch_of({'op': 'test', 'path': '/data/k', 'value': 'v'}, add('/data/x', '1')),
     {'data': {'k': 'v', 'x': '1'}}),
    ('patch-escapes', lambda r: patch_of(add('/metadata/labels/a~1b', '1')), {'metadata.labels.a/b': '1'}),
    ('patch-annotates', lambda r: patch_of(add('/metadata/annotations', {'a': 'b'})), {'metadata.annotations': {'a': 'b'}}),
    ('patch-unknown-field', lambda r: patch_of(add('/colour', 'red')), {'colour': None, 'data': {'k': 'v'}}),
    ('patch-empty', lambda r: patch_of(), {'data': {'k': 'v'}}),
    ('patch-immutable', lambda r: patch_of(add('/immutable', True)), {'immutable': True}),
    ('patch-uid', lambda r: patch_of(add('/metadata/uid', 'mine')), {'data': {'k': 'v'}}),
    ('patch-finalizer', lambda r: patch_of(add('/metadata/finalizers', ['example.com/x'])),
     {'metadata.finalizers': ['example.com/x']}),
]


def verdicts(t):
    """(server, namespace): with a hook for every row above, of both kinds."""
    def make():
        server, ns = hooks_of(t), shared_namespace(t, 'verdicts')
        lists = {'mutating': [], 'validating': []}
        for kind, hooks in lists.items():
            table = [(r[0], r[1]) for r in (*VERDICTS, *FAILURES)]
            if kind == 'mutating':
                table += [(r[0], r[1]) for r in (*BAD_PATCHES, *BROKEN_PATCHES, *PATCHES)]
            for name, answer in table:
                path = f'{kind}-{name}'
                server.answers[path] = answer
                hooks.append(hook(server, ns, path, timeoutSeconds=1 if name == 'slow' else 10, **for_label(path)))
                if any(name == r[0] for r in FAILURES):
                    server.answers[f'ignored-{path}'] = answer
                    hooks.append(hook(server, ns, f'ignored-{path}', failurePolicy='Ignore',
                                      timeoutSeconds=1 if name == 'slow' else 10, **for_label(f'ignored-{path}')))
            configure(t, server, kind, ns, hooks, keep=True)
        return server, ns
    return t.server.once('verdicts', make)


def try_case(t, path):
    server, ns = verdicts(t)
    a = t.post(t.at('configmaps', ns=ns), config_map(t.name('m'), labels={'case': path}))
    t.true(len(server.requests(path)) == 1, f'{path} was asked {len(server.requests(path))} times: {a}')
    return server, a


def expect(t, a, code, reason, message):
    t.code(a, code)
    if code == 201:
        return
    t.has(a, 'reason', reason)
    t.has(a, 'code', code)
    if message.startswith('='):
        t.eq(a['message'], message[1:], 'message')
    else:
        t.true(message in a['message'], f'{message!r} is not in {a["message"]!r}')


@rows([(f'{kind}-{r[0]}', r[2]) for kind in KINDS for r in VERDICTS])
def a_verdict(t, path, want):
    _, a = try_case(t, path)
    expect(t, a, want[0], want[1], want[2].replace('NAME', path))


@rows([(f'{kind}-{r[0]}', r[2]) for kind in KINDS for r in FAILURES])
def a_failure_counts(t, path, part):
    server, a = try_case(t, path)
    part = part.replace('PORT', str(server.port)).replace('PATH', path)
    expect(t, a, 500, 'InternalError', FAILED.replace('NAME', path) + part)


@rows([(f'ignored-{kind}-{r[0]}',) for kind in KINDS for r in FAILURES])
def a_failure_is_ignored(t, path):
    expect(t, try_case(t, path)[1], 201, None, '')


@rows([(f'mutating-{r[0]}', r[2]) for r in BAD_PATCHES])
def a_patch_is_no_answer(t, path, part):
    expect(t, try_case(t, path)[1], 500, 'InternalError', FAILED.replace('NAME', path) + part)


@rows([(f'mutating-{r[0]}',) for r in BROKEN_PATCHES])
def a_patch_is_broken(t, path):
    expect(t, try_case(t, path)[1], 500, 'InternalError', 'Internal error occurred: ')


@rows([(f'mutating-{r[0]}', r[2]) for r in PATCHES])
def the_object_follows(t, path, want):
    a = t.code(try_case(t, path)[1], 201)
    for where, value in want.items():
        node = a.json
        for word in where.split('.', 2) if '/' in where else where.split('.'):
            node = (node or {}).get(word)
        t.eq(node, value, where)
    t.true(a['metadata.uid'] != 'mine', 'the uid is the server\'s')


# ---- who is asked ----

# name, rule, further fields, which of the requests of SEEN it gets
SEEN = ('create', 'update', 'delete', 'pod-create', 'pod-status', 'deployment', 'collection')
RULES = [
    ('all', ALL, {}, SEEN),
    ('star', {**ALL, 'resources': ['*']}, {}, ('create', 'update', 'delete', 'pod-create', 'deployment', 'collection')),
    ('creates', {**ALL, 'operations': ['CREATE']}, {}, ('create', 'pod-create', 'deployment')),
    ('updates', {**ALL, 'operations': ['UPDATE']}, {}, ('update', 'pod-status')),
    ('deletes', {**ALL, 'operations': ['DELETE']}, {}, ('delete', 'collection')),
    ('two-operations', {**ALL, 'operations': ['CREATE', 'DELETE']}, {},
     ('create', 'pod-create', 'deployment', 'delete', 'collection')),
    ('connect', {**ALL, 'operations': ['CONNECT']}, {}, ()),
    ('core', {**ALL, 'apiGroups': ['']}, {}, ('create', 'update', 'delete', 'pod-create', 'pod-status', 'collection')),
    ('apps', {**ALL, 'apiGroups': ['apps']}, {}, ('deployment',)),
    ('other-group', {**ALL, 'apiGroups': ['example.com']}, {}, ()),
    ('version', {**ALL, 'apiVersions': ['v1']}, {}, SEEN),
    ('other-version', {**ALL, 'apiVersions': ['v9']}, {}, ()),
    ('configmaps', {**ALL, 'resources': ['configmaps']}, {}, ('create', 'update', 'delete', 'collection')),
    ('pods', {**ALL, 'resources': ['pods']}, {}, ('pod-create',)),
    ('pods-status', {**ALL, 'resources': ['pods/status']}, {}, ('pod-status',)),
    ('pods-all', {**ALL, 'resources': ['pods/*']}, {}, ('pod-create', 'pod-status')),
    ('any-status', {**ALL, 'resources': ['*/status']}, {}, ('pod-status',)),
    ('namespaced', {**ALL, 'scope': 'Namespaced'}, {}, SEEN),
    ('cluster', {**ALL, 'scope': 'Cluster'}, {}, ()),
    ('any-scope', {**ALL, 'scope': '*'}, {}, SEEN),
    ('exact', ALL, {'matchPolicy': 'Exact'}, SEEN),
    ('label', ALL, {'objectSelector': {'matchLabels': {'app': 'x'}}}, ('create', 'update', 'delete', 'collection')),
    ('label-not', ALL, {'objectSelector': {'matchExpressions': [{'key': 'app', 'operator': 'DoesNotExist'}]}},
     ('pod-create', 'pod-status', 'deployment')),
    ('label-in', ALL, {'objectSelector': {'matchExpressions': [{'key': 'app', 'operator': 'In', 'values': ['x', 'y']}]}},
     ('create', 'update', 'delete', 'collection')),
    ('label-other', ALL, {'objectSelector': {'matchLabels': {'app': 'z'}}}, ()),
    ('label-new', ALL, {'objectSelector': {'matchLabels': {'changed': 'yes'}}}, ('update',)),
    ('namespace-other', ALL, {'namespaceSelector': {'matchLabels': {'kubernetes.io/metadata.name': 'nowhere'}}}, ()),
]


def seen(t):
    """(server, namespace, order of requests): one after the other, each seen by those that want to."""
    def make():
        server, ns = hooks_of(t), shared_namespace(t, 'seen')
        for kind in KINDS:
            configure(t, server, kind, ns, [hook(server, ns, f'{kind}-sees-{r[0]}', rule=r[1], **r[2]) for r in RULES], keep=True)
        maps, pods = t.at('configmaps', ns=ns), t.at('pods', ns=ns)
        marks = {}

        def step(name, a, *codes):
            t.code(a, *codes)
            marks[name] = len(server.asked)
            return a.json
        marks['start'] = len(server.asked)
        step('create', t.post(maps, config_map('a', labels={'app': 'x'}), fieldManager='me'), 201)
        step('update', t.put(f'{maps}/a', config_map('a', {'k': '2'}, labels={'app': 'x', 'changed': 'yes'})), 200)
        t.patch(f'{maps}/a', {'metadata': {'labels': {'changed': None}}})
        marks['between'] = len(server.asked)
        step('delete', t.delete(f'{maps}/a', {'propagationPolicy': 'Background'}), 200)
        step('pod-create', t.post(pods, pod('p')), 201)
        step('pod-status', t.patch(f'{pods}/p/status', {'status': {'phase': 'Running'}}), 200)
        step('deployment', t.post(t.at('deployments', 'apps', ns=ns), deployment('d')), 201)
        t.post(maps, config_map('c', labels={'app': 'x'}))
        marks['before-collection'] = len(server.asked)
        step('collection', t.delete(maps, labelSelector='app=x'), 200)
        return server, ns, marks
    return t.server.once('seen', make)


BEFORE = {'create': 'start', 'update': 'create', 'delete': 'between', 'pod-create': 'delete', 'pod-status': 'pod-create',
          'deployment': 'pod-status', 'collection': 'before-collection'}


def of(t, path, name):
    """The reviews that a path got because of one request. No selector of namespaces keeps requests of other checks for objects
    without a namespace away (TokenReviews, for one)."""
    server, ns, marks = seen(t)
    return [r for p, _, r in server.asked[marks[BEFORE[name]]:marks[name]]
            if p == path and r['request'].get('namespace') == ns]


@rows([(f'{kind}-{r[0]}', kind, r) for kind in KINDS for r in RULES])
def a_rule(t, _, kind, row):
    # The namespace's controllers may write in it as well: only whether it was asked counts.
    got = tuple(name for name in SEEN if of(t, f'{kind}-sees-{row[0]}', name))
    t.eq(got, tuple(n for n in SEEN if n in row[3]), 'requests seen')


# request, path in the review, value; a value of ... : there is one
FIELDS = [
    ('create', 'kind', 'AdmissionReview'), ('create', 'apiVersion', 'admission.k8s.io/v1'), ('create', 'request.uid', ...),
    ('create', 'request.kind', {'group': '', 'version': 'v1', 'kind': 'ConfigMap'}),
    ('create', 'request.resource', {'group': '', 'version': 'v1', 'resource': 'configmaps'}),
    ('create', 'request.requestKind', {'group': '', 'version': 'v1', 'kind': 'ConfigMap'}),
    ('create', 'request.requestResource', {'group': '', 'version': 'v1', 'resource': 'configmaps'}),
    ('create', 'request.name', 'a'), ('create', 'request.namespace', ...), ('create', 'request.operation', 'CREATE'),
    ('create', 'request.userInfo.username', ...), ('create', 'request.userInfo.groups', ...),
    ('create', 'request.object.data', {'k': 'v'}), ('create', 'request.object.kind', 'ConfigMap'),
    ('create', 'request.object.apiVersion', 'v1'), ('create', 'request.oldObject', None), ('create', 'request.dryRun', False),
    ('create', 'request.options.kind', 'CreateOptions'), ('create', 'request.options.apiVersion', 'meta.k8s.io/v1'),
    ('create', 'request.options.fieldManager', 'me'), ('create', 'request.subResource', None),
    ('update', 'request.operation', 'UPDATE'), ('update', 'request.object.data', {'k': '2'}),
    ('update', 'request.oldObject.data', {'k': 'v'}), ('update', 'request.options.kind', 'UpdateOptions'),
    ('update', 'request.oldObject.metadata.uid', ...), ('update', 'request.object.metadata.name', 'a'),
    ('delete', 'request.operation', 'DELETE'), ('delete', 'request.object', None), ('delete', 'request.name', 'a'),
    ('delete', 'request.oldObject.data', {'k': '2'}), ('delete', 'request.options.kind', 'DeleteOptions'),
    ('delete', 'request.options.propagationPolicy', 'Background'), ('delete', 'request.oldObject.kind', 'ConfigMap'),
    ('pod-status', 'request.operation', 'UPDATE'), ('pod-status', 'request.subResource', 'status'),
    ('pod-status', 'request.requestSubResource', 'status'), ('pod-status', 'request.object.status.phase', 'Running'),
    ('pod-status', 'request.kind.kind', 'Pod'), ('pod-status', 'request.options.kind', 'UpdateOptions'),
    ('pod-create', 'request.object.spec.priority', 0), ('pod-create', 'request.object.spec.schedulerName', 'default-scheduler'),
    ('deployment', 'request.kind', {'group': 'apps', 'version': 'v1', 'kind': 'Deployment'}),
    ('deployment', 'request.object.spec.replicas', 1),
    ('collection', 'request.operation', 'DELETE'), ('collection', 'request.name', None),
    ('collection', 'request.oldObject.metadata.name', 'c'), ('collection', 'request.object', None),
]


@rows([(f'{kind}-{f[0]}-{f[1].replace(".", "-")}', kind, f) for kind in KINDS for f in FIELDS])
def a_review(t, _, kind, field):
    request, path, want = field
    got = dig(of(t, f'{kind}-sees-all', request)[0], path)
    t.true(bool(got) if want is ... else got == want, f'{path}: expected {want!r}, got {got!r}')


@check
def a_new_object_has_no_uid_before_it_is_mutated(t):
    t.eq(dig(of(t, 'mutating-sees-all', 'create')[0], 'request.object.metadata.uid'), None, 'uid')
    t.true(dig(of(t, 'validating-sees-all', 'create')[0], 'request.object.metadata.uid'), 'it has one after that')


# ---- single behaviours ----

@check
def hooks_are_asked_in_order_and_see_each_other(t):
    server, ns = hooks_of(t), t.ns
    first, second = t.name('first'), t.name('second')
    server.answers[first] = lambda r: patch_of(add('/data/first', '1'))
    server.answers[second] = lambda r: patch_of(add('/data/second', r['object']['data'].get('first', 'none')))
    configure(t, server, 'mutating', ns, [hook(server, ns, first), hook(server, ns, second)])
    a = t.make(t.maps(), config_map('a'))
    t.eq(a['data'], {'k': 'v', 'first': '1', 'second': '1'}, 'data')


@check
def a_hook_is_asked_again_when_it_wants_to(t):
    server, ns = hooks_of(t), t.ns
    again, never, last = t.name('again'), t.name('never'), t.name('last')
    server.answers[last] = lambda r: patch_of(add('/data/last', '1'))
    configure(t, server, 'mutating', ns, [hook(server, ns, again, reinvocationPolicy='IfNeeded'), hook(server, ns, never),
                                          hook(server, ns, last)])
    before = len(server.requests(again)), len(server.requests(never))
    t.make(t.maps(), config_map('a'))
    t.eq((len(server.requests(again)) - before[0], len(server.requests(never)) - before[1]), (2, 1), 'times')
    t.eq(server.requests(again)[-1]['object']['data'].get('last'), '1', 'what it sees then')


@check
def a_request_has_the_time_that_its_client_gives_it(t):
    server, ns = hooks_of(t), t.ns
    name = t.name('hangs')
    server.answers[name] = lambda r: time.sleep(4) or {'allowed': True}
    configure(t, server, 'mutating', ns, [hook(server, ns, name, rule={**ALL, 'operations': ['CREATE'], 'resources': ['configmaps']},
                                               timeoutSeconds=10, failurePolicy='Ignore')])
    # There two of its parts look at the clock, and have a text each; when both speak at once, it ends the connection instead.
    for n in range(5):
        began = time.monotonic()
        try:
            a = t.code(t.post(t.maps(), config_map(f'late-{n}'), timeout='1s'), 504)
            break
        except http.client.RemoteDisconnected:
            t.true(n < 4, 'no answer, five times')
    t.true(a['reason'] == 'Timeout' and a['message'].startswith('Timeout: request did not complete within '), str(a))
    t.true(time.monotonic() - began < 3.9, f'answered after {time.monotonic() - began} s')  # perhaps sent twice; the webhook takes 4 s


@check
def a_hook_is_not_asked_again_without_a_change(t):
    server, ns = hooks_of(t), t.ns
    again, last = t.name('again'), t.name('last')
    configure(t, server, 'mutating', ns, [hook(server, ns, again, reinvocationPolicy='IfNeeded'), hook(server, ns, last)])
    before = len(server.requests(again))
    t.make(t.maps(), config_map('a'))
    t.eq(len(server.requests(again)) - before, 1, 'times')


@check
def defaults_follow_a_patch(t):
    server, ns = hooks_of(t), t.ns
    name = t.name('sidecar')
    server.answers[name] = lambda r: patch_of(add('/spec/containers/-', {'name': 's', 'image': 'busybox:latest'}))
    configure(t, server, 'mutating', ns, [hook(server, ns, name, rule={**ALL, 'operations': ['CREATE'], 'resources': ['pods']})])
    got = t.make(t.pods(), pod('a'))['spec']['containers']
    t.eq(len(got), 2, 'containers')
    t.eq((got[1]['imagePullPolicy'], got[1]['terminationMessagePath']), ('Always', '/dev/termination-log'), 'defaults')


@check
def a_patch_that_makes_the_object_invalid_is_refused(t):
    server, ns = hooks_of(t), t.ns
    name = t.name('bad')
    server.answers[name] = lambda r: patch_of(add('/metadata/labels', {'a b': 'c'}))
    configure(t, server, 'mutating', ns, [hook(server, ns, name, **for_label(name))])
    t.invalid(t.post(t.maps(), config_map('a', labels={'case': name})), ('FieldValueInvalid', 'metadata.labels'))


SPOILED = '299 - ".metadata.managedFields was in an invalid state after admission; this could be caused by an outdated mutating admission controller; ' \
          'please fix your requests: '
OWNER = {'manager': 'hook', 'operation': 'Update', 'apiVersion': 'v1', 'fieldsType': 'FieldsV1', 'fieldsV1': {'f:data': {'f:k': {}}}}
# name, managedFields after the webhook (None: none), who owns something then, what the warning ends with (None: there is none)
OWNERS = [
    ('of-an-unknown-operation', [{**OWNER, 'operation': 'Steal'}], ['me'], 'operation must be `Apply` or `Update`'),
    ('of-no-version', [{**OWNER, 'apiVersion': ''}], ['me'], 'apiVersion must not be empty'),
    ('of-no-type', [OWNER, {**OWNER, 'fieldsType': ''}], ['me'], 'missing fieldsType in managed fields entry 1'),
    ('of-another-type', [{**OWNER, 'fieldsType': 'FieldsV2'}], ['me'], 'invalid fieldsType \\"FieldsV2\\" in managed fields entry 0'),
    ('of-bad-fields', [{**OWNER, 'fieldsV1': {'data': {}}}], ['me'], ''),
    ('an-empty-entry', [{}], ['me'], 'operation must be `Apply` or `Update`'),
    ('good', [OWNER], ['hook'], None),
    ('none', None, [], None),
    ('empty', [], [], None),
]


@rows(OWNERS)
def owners_after_a_webhook(t, case, list_, want, warning):
    server, ns = hooks_of(t), t.ns
    name = t.name('owns')
    change = add('/metadata/managedFields', list_) if list_ is not None else {'op': 'remove', 'path': '/metadata/managedFields'}
    server.answers[name] = lambda r: patch_of(change) if r['object']['metadata'].get('managedFields') else {'allowed': True}
    configure(t, server, 'mutating', ns, [hook(server, ns, name, rule={**MAPS, 'operations': ['CREATE', 'UPDATE']}, **for_label(name))])

    def right(a, when):
        t.eq([m['manager'] for m in a['metadata.managedFields'] or ()], want, f'owners after {when}')
        said = a.headers.get_all('Warning') or []
        t.eq(len(said), 0 if warning is None else 1, f'warnings {said} after {when}')
        if said:
            t.true(said[0].startswith(SPOILED) and warning in said[0], said[0])
    right(t.code(t.post(t.maps(), config_map('a', labels={'case': name}), fieldManager='me'), 201), 'a create')
    t.make(t.maps(), config_map('b', {'k': '1'}), fieldManager='me')
    right(t.code(t.patch(f'{t.maps()}/b', {'metadata': {'labels': {'case': name}}}, fieldManager='me'), 200), 'a patch')


@check
def a_patch_for_a_deletion_is_an_error(t):
    server, ns = hooks_of(t), t.ns
    name = t.name('bad')
    t.make(t.maps(), config_map('a'))
    server.answers[name] = lambda r: patch_of(add('/data/x', '1')) if r['operation'] == 'DELETE' else {'allowed': True}
    configure(t, server, 'mutating', ns, [hook(server, ns, name)])
    t.status(t.delete(f'{t.maps()}/a'), 500, 'InternalError', part='attempted to modify the object, which is not supported for '
             'this operation')
    server.answers[name] = lambda r: {'allowed': True}


@check
def warnings_reach_the_client(t):
    server, ns = hooks_of(t), t.ns
    name = t.name('warns')
    server.answers[name] = lambda r: {'allowed': True, 'warnings': ['one', 'two "quoted"', 'one']}
    configure(t, server, 'validating', ns, [hook(server, ns, name)])
    a = t.code(t.post(t.maps(), config_map('a')), 201)
    t.eq(a.headers.get_all('Warning'), ['299 - "one"', '299 - "two \\"quoted\\""'], 'warnings')


@check
def warnings_come_with_a_refusal(t):
    server, ns = hooks_of(t), t.ns
    name = t.name('warns')
    server.answers[name] = lambda r: {'allowed': False, 'warnings': ['hot'], 'status': {'code': 403}}
    configure(t, server, 'mutating', ns, [hook(server, ns, name, **for_label(name))])
    a = t.code(t.post(t.maps(), config_map('a', labels={'case': name})), 403)
    t.eq(a.headers.get_all('Warning'), ['299 - "hot"'], 'warnings')


@check
def a_message_of_a_megabyte_arrives(t):
    server, ns = hooks_of(t), t.ns
    name = t.name('long')
    server.answers[name] = refused(code=403, message='x' * (1 << 20))
    configure(t, server, 'validating', ns, [hook(server, ns, name)])
    a = t.code(t.post(t.maps(), config_map('a')), 403)
    t.true(a['message'].endswith('x' * (1 << 20)), f'{len(a["message"])} bytes')


@check
def details_of_a_refusal_are_kept(t):
    server, ns = hooks_of(t), t.ns
    name = t.name('details')
    server.answers[name] = refused(code=409, reason='Conflict', message='no', details={
        'name': 'n', 'kind': 'k', 'causes': [{'reason': 'r', 'message': 'm', 'field': 'f'}]})
    configure(t, server, 'validating', ns, [hook(server, ns, name)])
    a = t.post(t.maps(), config_map('a'))
    t.status(a, 409, 'Conflict', details={'name': 'n', 'kind': 'k'}, causes=[('r', 'f', 'm')])


@check
def a_dry_run_says_so(t):
    server, ns = hooks_of(t), t.ns
    name = t.name('dry')
    configure(t, server, 'mutating', ns, [hook(server, ns, name, **for_label(name))])
    t.code(t.post(t.maps(), config_map('a', labels={'case': name}), dryRun='All'), 201)
    seen_one = server.requests(name)[-1]
    t.eq((seen_one['dryRun'], seen_one['options'].get('dryRun')), (True, ['All']), 'dry run')
    t.code(t.get(f'{t.maps()}/a'), 404)


@check
def v1beta1_is_spoken_to_those_who_want_it(t):
    server, ns = hooks_of(t), t.ns
    name = t.name('beta')
    server.answers[name] = lambda r: json.dumps({'kind': 'AdmissionReview', 'apiVersion': 'admission.k8s.io/v1beta1', 'response': {
        'allowed': True, 'patch': patch_of(add('/data/x', '1'))['patch']}}).encode()
    configure(t, server, 'mutating', ns, [hook(server, ns, name, admissionReviewVersions=['v7', 'v1beta1', 'v1'])])
    t.has(t.make(t.maps(), config_map('a')), 'data.x', '1')
    t.eq(server.reviews(name)[-1]['apiVersion'], 'admission.k8s.io/v1beta1', 'apiVersion')


@check
def a_server_that_is_not_there_is_told(t):
    server, ns = hooks_of(t), t.ns
    name = t.name('gone')
    configure(t, server, 'validating', ns, [
        hook(server, ns, name, config={'url': 'https://127.0.0.1:1/x', 'caBundle': server.ca}, **for_label(name))])
    t.status(t.post(t.maps(), config_map('a', labels={'case': name})), 500, 'InternalError',
             part=f'failed calling webhook "{name}.hooks.example.com": failed to call webhook: Post '
             '"https://127.0.0.1:1/x?timeout=10s": dial tcp 127.0.0.1:1: connect: connection refused')


@check
def a_certificate_of_another_ca_is_refused(t):
    server, ns = hooks_of(t), t.ns
    other = t.server.once('other hook server', HookServer)
    name = t.name('forged')
    configure(t, server, 'validating', ns, [
        hook(server, ns, name, config={**server.config(name), 'caBundle': other.ca}, **for_label(name))])
    t.status(t.post(t.maps(), config_map('a', labels={'case': name})), 500, 'InternalError',
             part='tls: failed to verify certificate: x509: ')
    t.eq(server.requests(name), [], 'requests')


@check
def configurations_are_never_asked_about(t):
    server, ns = hooks_of(t), t.ns
    name = t.name('jealous')
    rule = {**ALL, 'apiGroups': ['admissionregistration.k8s.io']}
    made = configure(t, server, 'validating', ns, [{**hook(server, ns, name, rule=rule), 'namespaceSelector': {}}])
    server.answers[name] = lambda r: {'allowed': False}
    t.code(t.patch(f'{KINDS["validating"]}/{made}', {'metadata': {'labels': {'a': 'b'}}}), 200)
    t.code(t.delete(f'{KINDS["validating"]}/{made}'), 200)
    t.eq([r['name'] for r in server.requests(name) if r.get('name') == made], [], 'requests')


PATH = {'nonResourceAttributes': {'path': '/a', 'verb': 'get'}}
REVIEWS = [
    ('authentication.k8s.io', 'SelfSubjectReview', {}),
    ('authentication.k8s.io', 'TokenReview', {'token': 'x'}),
    ('authorization.k8s.io', 'SelfSubjectAccessReview', PATH),
    ('authorization.k8s.io', 'SelfSubjectRulesReview', {'namespace': 'default'}),
    ('authorization.k8s.io', 'SubjectAccessReview', {'user': 'eve', **PATH}),
    ('authorization.k8s.io', 'LocalSubjectAccessReview', {'user': 'eve'}),
]
ABOUT_REVIEWS = {**ALL, 'operations': ['CREATE'], 'apiGroups': ['authentication.k8s.io', 'authorization.k8s.io'], 'resources': ['*']}


def asked_by(user):
    """Their metadata has to be empty: hooks know reviews by who asks."""
    return {'matchConditions': [{'name': 'asked-by', 'expression': f"request.userInfo.username == '{user}'"}]}


def review(t, group, kind, spec, user, **query):
    plural = f'{kind.lower()}s'
    local = kind.startswith('Local')
    if local:
        spec = {**spec, 'resourceAttributes': {'namespace': t.ns, 'verb': 'get', 'resource': 'pods'}}
    return t.post(t.at(plural, group) if local else f'/apis/{group}/v1/{plural}', {
        'apiVersion': f'{group}/v1', 'kind': kind, 'spec': spec},
        headers={'Impersonate-User': user, 'Impersonate-Group': 'system:masters'}, **query)


@check
def reviews_are_asked_about(t):
    server, ns = hooks_of(t), t.ns
    name = t.name('review')
    server.answers[name] = lambda r: {'allowed': False, 'status': {'message': 'no'}}
    configure(t, server, 'validating', ns, [hook(server, ns, name, rule=ABOUT_REVIEWS, **asked_by(name))])
    for row in REVIEWS:
        t.status(review(t, *row, name), 400, None, f'{DENIED.replace("NAME", name)}: no')
        t.code(review(t, *row, 'other'), 201)
    t.eq([(r['operation'], r['kind']['kind'], r['dryRun']) for r in server.requests(name)],
         [('CREATE', kind, False) for _, kind, _ in REVIEWS], 'requests')
    t.eq(server.requests(name)[4]['object']['spec'], REVIEWS[4][2], 'spec')
    t.status(review(t, 'authorization.k8s.io', 'SubjectAccessReview', PATH, name), 422, 'Invalid')
    t.eq(len(server.requests(name)), len(REVIEWS), 'requests')
    t.code(review(t, *REVIEWS[4], name, dryRun='All'), 400)
    t.eq(server.requests(name)[-1]['dryRun'], True, 'dry run')


@check
def reviews_are_changed(t):
    server, ns = hooks_of(t), t.ns
    name = t.name('reword')
    server.answers[name] = lambda r: patch_of(add('/spec/nonResourceAttributes/path', '/b'))
    configure(t, server, 'mutating', ns, [hook(server, ns, name, rule=ABOUT_REVIEWS, **asked_by(name))])
    t.has(t.code(review(t, *REVIEWS[4], name), 201), 'spec.nonResourceAttributes.path', '/b')
    t.has(t.code(review(t, *REVIEWS[4], 'other'), 201), 'spec.nonResourceAttributes.path', '/a')


@check
def a_deleted_configuration_counts_no_more(t):
    server, ns = hooks_of(t), t.ns
    name = t.name('brief')
    server.answers[name] = lambda r: {'allowed': False}
    made = configure(t, server, 'validating', ns, [hook(server, ns, name, **for_label(name))])
    t.code(t.post(t.maps(), config_map('a', labels={'case': name})), 400)
    t.code(t.delete(f'{KINDS["validating"]}/{made}'), 200)
    t.until('it counts no more', lambda: t.post(t.maps(), config_map('a', labels={'case': name})).code == 201)


@check
def a_binding_is_asked_about(t):
    server, ns = hooks_of(t), t.ns
    name = t.name('binding')
    server.answers[name] = lambda r: {'allowed': False, 'status': {'code': 403, 'message': r['object']['target']['name']}}
    t.make(t.pods(), pod('p'))
    configure(t, server, 'validating', ns, [hook(server, ns, name, rule={**ALL, 'resources': ['pods/binding']})])
    a = t.post(f'{t.pods()}/p/binding', {'apiVersion': 'v1', 'kind': 'Binding', 'metadata': {'name': 'p'},
                                         'target': {'kind': 'Node', 'name': 'n1'}})
    t.code(a, 403)
    t.true(a['message'].endswith(': n1'), a['message'])
    seen_one = server.requests(name)[-1]
    t.eq((seen_one['kind']['kind'], seen_one['resource']['resource'], seen_one['subResource'], seen_one['operation']),
         ('Binding', 'pods', 'binding', 'CREATE'), 'request')
