"""conversion.py - definitions with several versions, converted by a webhook or not at all.

v1 (stored) has spec.at "host:port", v2 has spec.host and spec.port. How often a server asks its webhook, and with how many
objects at a time, is its own affair: these checks look at what comes of it.
"""
import json
import time

from client import MERGE, check, dig, names
from hookserver import HookServer

CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
APPLY = 'application/apply-patch+yaml'


def hooks_of(t):
    return t.server.once('hook server', HookServer)


def convert(obj, want):
    obj = json.loads(json.dumps(obj))
    spec = obj.setdefault('spec', {})
    if want.endswith('/v2') and 'at' in spec:
        spec['host'], _, spec['port'] = spec.pop('at').partition(':')
    elif want.endswith('/v1') and 'host' in spec:
        spec['at'] = f'{spec.pop("host")}:{spec.pop("port", "")}'
    obj['apiVersion'] = want
    return obj


def review(request, objects=None, version='v1', **response):
    body = {'uid': request['uid'], 'result': {'status': 'Success'}, **response}
    body['convertedObjects'] = [convert(o, request['desiredAPIVersion']) for o in request['objects']] if objects is None else objects
    return json.dumps({'kind': 'ConversionReview', 'apiVersion': f'apiextensions.k8s.io/{version}', 'response': body}).encode()


def schema(**props):
    return {'openAPIV3Schema': {'type': 'object', 'properties': {
        'spec': {'type': 'object', 'properties': {'n': {'type': 'integer'}, **props}},
        'status': {'type': 'object', 'properties': {'n': {'type': 'integer'}}}}}}


TEXT = {'type': 'string'}
V1 = {'name': 'v1', 'served': True, 'storage': True, 'schema': schema(at=TEXT), 'subresources': {'status': {}}}
V2 = {'name': 'v2', 'served': True, 'storage': False, 'subresources': {'status': {}, 'scale': {
    'specReplicasPath': '.spec.n', 'statusReplicasPath': '.status.n'}},
    'schema': schema(host=TEXT, port=TEXT)}


def definition(group, conversion, versions=(V1, V2)):
    return {'apiVersion': 'apiextensions.k8s.io/v1', 'kind': 'CustomResourceDefinition', 'metadata': {'name': f'links.{group}'},
            'spec': {'group': group, 'scope': 'Namespaced', 'versions': list(versions), 'conversion': conversion,
                     'names': {'plural': 'links', 'kind': 'Link'}}}


def by_webhook(t, path, versions=('v1',), **config):
    return {'strategy': 'Webhook', 'webhook': {'conversionReviewVersions': list(versions),
                                               'clientConfig': config or hooks_of(t).config(path)}}


class Links:
    """A definition of one's own, whose webhook answers as `answer` says; its objects in both versions."""

    def __init__(self, t, answer=review, conversion=None, versions=(V1, V2), **kw):
        self.t, self.path, self.hooks = t, t.name('convert'), hooks_of(t)
        self.answer(answer)
        self.group = f'{t.name("g")}.example.com'
        self.crd = t.make(CRDS, definition(self.group, conversion or by_webhook(t, self.path, **kw), versions))
        self.v1, self.v2 = (t.at('links', self.group, v) for v in ('v1', 'v2'))
        t.until('both versions are served', lambda: t.get(self.v1).code == 200 and t.get(self.v2).code in (200, 500))

    def answer(self, answer):
        self.hooks.answers[self.path] = answer

    def asked(self):
        return self.hooks.requests(self.path)

    def make(self, version, name, spec, **more):
        path = self.v1 if version == 'v1' else self.v2
        return self.t.post(path, {'apiVersion': f'{self.group}/{version}', 'kind': 'Link',
                                  'metadata': {'name': name, **more}, 'spec': spec})


# ---- reading and writing ----

@check
def conversion_get_in_the_version_that_is_asked_for(t):
    k = Links(t)
    made = k.make('v1', 'a', {'at': 'h:1'}, labels={'l': 'x'})
    t.code(made, 201)
    got = t.get(f'{k.v2}/a')
    t.code(got, 200)
    t.eq(got['spec'], {'host': 'h', 'port': '1'}, 'spec in v2')
    t.eq(got['apiVersion'], f'{k.group}/v2', 'apiVersion')
    for field in ('uid', 'resourceVersion', 'creationTimestamp', 'generation', 'labels'):
        t.eq(got['metadata'][field], made['metadata'][field], field)
    t.eq(t.get(f'{k.v1}/a')['spec'], {'at': 'h:1'}, 'spec in v1')


@check
def conversion_what_the_webhook_is_asked(t):
    k = Links(t)
    t.code(k.make('v1', 'a', {'at': 'h:1'}), 201)
    t.code(t.get(f'{k.v2}/a'), 200)
    target = k.hooks.targets(k.path)[0]
    t.eq(target, f'/{k.path}?timeout=30s', 'target')
    whole = k.hooks.reviews(k.path)[0]
    t.eq((whole['kind'], whole['apiVersion']), ('ConversionReview', 'apiextensions.k8s.io/v1'), 'kind of review')
    r = [x for x in k.asked() if x['desiredAPIVersion'] == f'{k.group}/v2'][0]
    t.eq(r['desiredAPIVersion'], f'{k.group}/v2', 'desiredAPIVersion')
    o = [o for o in r['objects'] if o['metadata']['name'] == 'a'][0]
    t.eq((o['kind'], o['apiVersion'], o['spec']), ('Link', f'{k.group}/v1', {'at': 'h:1'}), 'object')


@check
def conversion_list_and_order(t):
    k = Links(t)
    for i in range(7):
        t.code(k.make('v1' if i % 2 else 'v2', f'l{i}', {'at': f'h:{i}'} if i % 2 else {'host': 'h', 'port': str(i)}), 201)
    for path in (k.v1, k.v2):
        got = t.read(path)
        t.eq(names(got), [f'l{i}' for i in range(7)], 'order')
    t.eq([o['spec']['port'] for o in t.read(k.v2)['items']], [str(i) for i in range(7)], 'ports')
    t.eq([o['spec']['at'] for o in t.read(k.v1)['items']], [f'h:{i}' for i in range(7)], 'ats')
    t.eq({o['apiVersion'] for o in t.read(k.v2)['items']}, {f'{k.group}/v2'}, 'versions')
    page = t.read(k.v2, limit='3')
    t.eq(names(page), ['l0', 'l1', 'l2'], 'first page')
    t.eq(names(t.read(k.v2, limit='3', **{'continue': page['metadata']['continue']})), ['l3', 'l4', 'l5'], 'second page')


@check
def conversion_writes_in_the_version_that_is_not_stored(t):
    k = Links(t)
    made = k.make('v2', 'a', {'host': 'h', 'port': '1'})
    t.code(made, 201)
    t.eq(made['spec'], {'host': 'h', 'port': '1'}, 'spec of the answer')
    t.eq(t.get(f'{k.v1}/a')['spec'], {'at': 'h:1'}, 'what is stored')
    body = t.read(f'{k.v2}/a')
    body['spec']['port'] = '2'
    put = t.put(f'{k.v2}/a', body)
    t.code(put, 200)
    t.eq((put['spec']['port'], put['metadata']['generation']), ('2', 2), 'after PUT')
    patched = t.patch(f'{k.v2}/a', {'spec': {'host': 'n'}}, MERGE)
    t.code(patched, 200)
    t.eq(t.get(f'{k.v1}/a')['spec'], {'at': 'n:2'}, 'what is stored')
    same = t.patch(f'{k.v2}/a', {'spec': {'host': 'n'}}, MERGE)
    t.eq(same['metadata']['resourceVersion'], patched['metadata']['resourceVersion'], 'no change')
    t.status(t.put(f'{k.v2}/a', body), 409, 'Conflict')
    dry = t.patch(f'{k.v2}/a', {'spec': {'host': 'dry'}}, MERGE, dryRun='All')
    t.eq(dry['spec']['host'], 'dry', 'dry run')
    t.eq(t.get(f'{k.v1}/a')['spec'], {'at': 'n:2'}, 'after a dry run')
    t.code(t.delete(f'{k.v2}/a'), 200)
    t.code(t.get(f'{k.v1}/a'), 404)


@check
def conversion_status_and_scale(t):
    k = Links(t)
    t.code(k.make('v1', 'a', {'at': 'h:1', 'n': 3}), 201)
    t.eq(t.get(f'{k.v2}/a/scale')['spec'], {'replicas': 3}, 'scale')
    t.code(t.patch(f'{k.v2}/a/scale', {'spec': {'replicas': 5}}, MERGE), 200)
    t.eq(t.get(f'{k.v1}/a')['spec'], {'at': 'h:1', 'n': 5}, 'spec after scaling')
    t.code(t.patch(f'{k.v2}/a/status', {'status': {'n': 4}, 'spec': {'n': 9}}, MERGE), 200)
    t.eq(t.get(f'{k.v1}/a')['status'], {'n': 4}, 'status')
    t.eq(t.get(f'{k.v1}/a')['spec'], {'at': 'h:1', 'n': 5}, 'spec after status')


@check
def conversion_server_side_apply(t):
    k = Links(t)
    body = {'apiVersion': f'{k.group}/v2', 'kind': 'Link', 'metadata': {'name': 'a'}, 'spec': {'host': 'h', 'port': '1'}}
    t.code(t.patch(f'{k.v2}/a', body, APPLY, fieldManager='me'), 201)
    t.eq(t.get(f'{k.v1}/a')['spec'], {'at': 'h:1'}, 'what is stored')
    body['spec']['port'] = '2'
    got = t.patch(f'{k.v2}/a', body, APPLY, fieldManager='me')
    t.code(got, 200)
    t.eq(t.get(f'{k.v1}/a')['spec'], {'at': 'h:2'}, 'what is stored')
    f = [m for m in got['metadata']['managedFields'] if m['manager'] == 'me']
    t.eq([(m['operation'], m['apiVersion'], m['fieldsV1']) for m in f],
         [('Apply', f'{k.group}/v2', {'f:spec': {'f:host': {}, 'f:port': {}}})], 'managedFields')
    body['spec'] = {'host': 'other', 'port': '2'}
    t.status(t.patch(f'{k.v2}/a', body, APPLY, fieldManager='you'), 409, 'Conflict')


@check
def conversion_watch(t):
    k = Links(t)
    t.code(k.make('v1', 'a', {'at': 'h:1'}), 201)
    at = t.read(k.v1)['metadata']['resourceVersion']
    w = t.watching(k.v2, resourceVersion=at)
    t.code(k.make('v1', 'b', {'at': 'h:2'}), 201)
    t.code(k.make('v2', 'c', {'host': 'h', 'port': '3'}), 201)
    t.code(t.patch(f'{k.v1}/b', {'spec': {'at': 'h:9'}}, MERGE), 200)
    t.code(t.delete(f'{k.v1}/a'), 200)
    got = [(word, o['metadata']['name'], dig(o, 'spec.port'), o['apiVersion']) for word, o in (w.next() for _ in range(4))]
    v2 = f'{k.group}/v2'
    t.eq(got, [('ADDED', 'b', '2', v2), ('ADDED', 'c', '3', v2), ('MODIFIED', 'b', '9', v2), ('DELETED', 'a', '1', v2)], 'events')
    w = t.watching(k.v2)
    t.eq(sorted((word, o['metadata']['name'], dig(o, 'spec.port')) for word, o in (w.next(), w.next())),
         [('ADDED', 'b', '9'), ('ADDED', 'c', '3')], 'what is there')


@check
def conversion_others_do_not_wait(t):
    def slow(request):
        time.sleep(3)
        return review(request)
    k = Links(t)
    t.code(k.make('v1', 'a', {'at': 'h:1'}), 201)
    k.answer(slow)
    t.code(k.make('v1', 'b', {'at': 'h:1'}), 201)
    began = time.monotonic()
    t.code(t.get(f'{k.v1}/b'), 200)
    t.code(t.get(t.maps()), 200)
    t.true(time.monotonic() - began < 2, 'a read that needs no conversion waited')
    k.answer(review)


@check
def conversion_labels_and_annotations_may_change_the_rest_not(t):
    def relabel(request):
        objects = [convert(o, request['desiredAPIVersion']) for o in request['objects']]
        for o in objects:
            o['metadata'].update(labels={'new': 'label'}, annotations={'new': 'annotation'}, generation=77,
                                 creationTimestamp='2001-01-01T00:00:00Z', finalizers=['a.io/b'], ownerReferences=[], extra=1)
        return review(request, objects)
    k = Links(t, relabel)
    made = k.make('v1', 'a', {'at': 'h:1'}, labels={'old': 'label'})
    got = t.read(f'{k.v2}/a')['metadata']
    t.eq((got['labels'], got['annotations']), ({'new': 'label'}, {'new': 'annotation'}), 'labels and annotations')
    for field in ('generation', 'creationTimestamp', 'finalizers', 'ownerReferences', 'extra'):
        t.eq(got.get(field), made['metadata'].get(field), field)
    t.eq(names(t.read(k.v2, labelSelector='new=label')), ['a'], 'by the new label')
    t.eq(names(t.read(k.v2, labelSelector='old=label')), [], 'by the old label')


@check
def conversion_result_is_pruned(t):
    def more(request):
        objects = [convert(o, request['desiredAPIVersion']) for o in request['objects']]
        for o in objects:
            o['spec']['unknown'] = 1
        return review(request, objects)
    k = Links(t, more)
    t.code(k.make('v1', 'a', {'at': 'h:1'}), 201)
    t.eq(t.read(f'{k.v2}/a')['spec'], {'host': 'h', 'port': '1'}, 'spec')


@check
def conversion_review_v1beta1(t):
    k = Links(t, lambda r: review({**r, 'uid': 'other'}, version='v1beta1'), versions=(V1, V2),
              conversion=by_webhook(t, t.name('none')))
    k.answer(lambda r: review({**r, 'uid': 'other'}, version='v1beta1'))
    t.code(k.make('v1', 'a', {'at': 'h:1'}), 201)
    spec = by_webhook(t, k.path, versions=['v9', 'v1beta1', 'v1'])
    t.code(t.patch(f'{CRDS}/links.{k.group}', {'spec': {'conversion': spec}}, MERGE), 200)
    t.until('it is spoken', lambda: t.get(f'{k.v2}/a').code == 200)
    t.eq(k.hooks.reviews(k.path)[-1]['apiVersion'], 'apiextensions.k8s.io/v1beta1', 'version of the review')


# ---- webhooks that fail: name, answer, what the message says ----

def spoiled(change):
    def answer(request):
        objects = [convert(o, request['desiredAPIVersion']) for o in request['objects']]
        for o in objects:
            change(o)
        return review(request, objects)
    return answer


def meta_set(**fields):
    return spoiled(lambda o: o['metadata'].update(fields))


FAILURES = [
    ('failed', lambda r: review(r, result={'status': 'Failed', 'message': 'no way'}), 'failed: no way'),
    ('failed_silently', lambda r: review(r, result={'status': 'Failed'}),
     "failed: response.result.status was 'Failed', not 'Success'"),
    ('no_result', lambda r: review(r, result={}), "failed: response.result.status was '', not 'Success'"),
    ('long_message', lambda r: review(r, result={'status': 'Failed', 'message': 'm' * (1 << 20)}), 'failed: ' + 'm' * 1000),
    ('wrong_uid', lambda r: review({**r, 'uid': 'other'}), 'failed: expected response.uid='),
    ('no_response', lambda r: b'{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1"}', 'failed: no response provided'),
    ('wrong_version', lambda r: review(r, version='v2'), 'failed: '),
    ('other_kind', lambda r: b'{"kind":"Other","apiVersion":"apiextensions.k8s.io/v1","response":{}}', 'failed: '),
    ('fewer', lambda r: review(r, []), 'returned 0 objects, expected'),
    ('more', lambda r: review(r, [convert(o, r['desiredAPIVersion']) for o in r['objects'] + r['objects'][:1]]), 'returned 2 objects, expected'),
    ('another_name', meta_set(name='other'), 'must have the same name: a != other'),
    ('another_namespace', meta_set(namespace='other'), 'must have the same namespace: '),
    ('another_uid', meta_set(uid='other'), 'must have the same UID: '),
    ('another_kind', spoiled(lambda o: o.update(kind='Other')), 'invalid kind (expected Link, received Other)'),
    ('another_version', spoiled(lambda o: o.update(apiVersion='g.io/v3')), 'invalid groupVersion (expected '),
    ('labels_of_numbers', meta_set(labels={'a': 1}), 'returned invalid metadata: metadata.labels[a] must be a string'),
    ('labels_a_list', meta_set(labels=['a']), 'returned invalid metadata: invalid metadata.labels of type []interface {}'),
    ('bad_label', meta_set(labels={'a b': 'c'}), 'returned invalid metadata: metadata.labels: Invalid value: "a b"'),
    ('broken_json', lambda r: b'{"response":{"convertedObjects":[', 'failed: '),
    ('not_json', lambda r: b'hello', 'failed: '),
    ('status_500', lambda r: (500, b'out of order'), 'failed: an error on the server ("out of order") has prevented the request'),
    ('status_404', lambda r: (404, b''), 'failed: the server could not find the requested resource'),
    ('no_answer', lambda r: None, 'failed: Post "https://127.0.0.1:'),
]


def failing(t, answer, text):
    k = Links(t)
    t.code(k.make('v1', 'a', {'at': 'h:1'}), 201)
    k.answer(answer)
    t.code(k.make('v1', 'b', {'at': 'h:2'}), 201)
    got = t.patch(f'{k.v2}/a', {'spec': {'host': 'x'}}, MERGE)
    t.code(got, 500)
    t.true(got['message'].startswith('conversion webhook for '), f'message: {got["message"][:200]}')
    t.true(text in got['message'], f'message: {got["message"][:300]}')
    t.eq(got['reason'], None, 'reason')
    t.code(k.make('v2', 'n', {'host': 'h'}), 500)
    t.code(t.get(f'{k.v1}/n'), 404)
    t.eq(t.get(f'{k.v1}/a')['spec'], {'at': 'h:1'}, 'what is stored')
    k.answer(review)
    t.until('the webhook is asked again', lambda: t.get(f'{k.v2}/a').code == 200)


for name, answer, text in FAILURES:
    def row(t, answer=answer, text=text):
        failing(t, answer, text)
    row.__name__ = f'conversion_webhook_{name}'
    check(row)


@check
def conversion_webhook_is_not_there(t):
    k = Links(t, conversion=by_webhook(t, '', url='https://127.0.0.1:1/x'))
    t.code(k.make('v1', 'a', {'at': 'h:1'}), 201)
    got = t.get(f'{k.v2}/a')
    t.code(got, 500)
    t.eq(got['message'], f'conversion webhook for {k.group}/v1, Kind=Link failed: Post "https://127.0.0.1:1/x?timeout=30s": '
         'dial tcp 127.0.0.1:1: connect: connection refused', 'message')


# ---- the strategy, definitions ----

@check
def conversion_none_shows_the_same_in_all_versions(t):
    free = {'openAPIV3Schema': {'type': 'object', 'x-kubernetes-preserve-unknown-fields': True}}
    k = Links(t, conversion={'strategy': 'None'},
              versions=[{**V1, 'schema': free, 'subresources': {}}, {**V2, 'schema': free, 'subresources': {}}])
    t.code(k.make('v2', 'a', {'host': 'h'}), 201)
    got = t.read(f'{k.v1}/a')
    t.eq((got['apiVersion'], got['spec']), (f'{k.group}/v1', {'host': 'h'}), 'in v1')
    same = t.put(f'{k.v1}/a', got)
    t.eq(same['metadata']['resourceVersion'], got['metadata']['resourceVersion'], 'no change')
    patched = t.patch(f'{k.v2}/a', {'spec': {'x': 1}}, MERGE)
    t.eq((patched['apiVersion'], patched['spec']), (f'{k.group}/v2', {'host': 'h', 'x': 1}), 'patched')
    t.eq(k.asked(), [], 'what the webhook was asked')


@check
def conversion_from_none_to_webhook(t):
    k = Links(t, conversion={'strategy': 'None'})
    t.code(k.make('v2', 'a', {'n': 1}), 201)
    conversion = by_webhook(t, k.path)
    t.code(t.patch(f'{CRDS}/links.{k.group}', {'spec': {'conversion': conversion}}, MERGE), 200)
    t.code(t.patch(f'{k.v1}/a', {'spec': {'at': 'h:1'}}, MERGE), 200)
    t.until('it is converted', lambda: t.get(f'{k.v2}/a')['spec'].get('host') == 'h')


@check
def conversion_service_without_endpoints(t):
    k = Links(t, conversion=by_webhook(t, '', service={'name': 'nobody', 'namespace': t.ns, 'path': '/c'}))
    t.eq(dig(t.read(f'{CRDS}/links.{k.group}'), 'spec.conversion.webhook.clientConfig.service.port'), 443, 'default port')
    t.code(k.make('v1', 'a', {'at': 'h:1'}), 201)
    got = t.get(f'{k.v2}/a')
    t.code(got, 500)
    t.true('service "nobody" not found' in got['message'], got['message'])


AT = 'spec.conversion.webhookClientConfig'
GOOD = {'url': 'https://127.0.0.1:1/x'}
BAD = [
    ('no_config', {'conversionReviewVersions': ['v1']}, ('FieldValueRequired', AT)),
    ('no_url_or_service', {'conversionReviewVersions': ['v1'], 'clientConfig': {}}, ('FieldValueRequired', AT)),
    ('url_and_service', {'conversionReviewVersions': ['v1'], 'clientConfig': {
        **GOOD, 'service': {'name': 'a', 'namespace': 'b'}}}, ('FieldValueRequired', AT)),
    ('http', {'conversionReviewVersions': ['v1'], 'clientConfig': {'url': 'http://a/b'}}, ('FieldValueInvalid', f'{AT}.url')),
    ('user', {'conversionReviewVersions': ['v1'], 'clientConfig': {'url': 'https://u:p@a/b'}}, ('FieldValueInvalid', f'{AT}.url')),
    ('query', {'conversionReviewVersions': ['v1'], 'clientConfig': {'url': 'https://a/b?c=d'}}, ('FieldValueInvalid', f'{AT}.url')),
    ('fragment', {'conversionReviewVersions': ['v1'], 'clientConfig': {'url': 'https://a/b#c'}}, ('FieldValueInvalid', f'{AT}.url')),
    ('no_host', {'conversionReviewVersions': ['v1'], 'clientConfig': {'url': 'https:///b'}}, ('FieldValueInvalid', f'{AT}.url')),
    ('service_port', {'conversionReviewVersions': ['v1'], 'clientConfig': {'service': {'name': 'a', 'namespace': 'b', 'port': 70000}}},
     ('FieldValueInvalid', f'{AT}.service.port')),
    ('service_path', {'conversionReviewVersions': ['v1'], 'clientConfig': {'service': {'name': 'a', 'namespace': 'b', 'path': 'x'}}},
     ('FieldValueInvalid', f'{AT}.service.path')),
    ('service_segment', {'conversionReviewVersions': ['v1'], 'clientConfig': {'service': {'name': 'a', 'namespace': 'b', 'path': '/x//y'}}},
     ('FieldValueInvalid', f'{AT}.service.path')),
    ('service_no_names', {'conversionReviewVersions': ['v1'], 'clientConfig': {'service': {'name': '', 'namespace': ''}}},
     ('FieldValueRequired', f'{AT}.service.name'), ('FieldValueRequired', f'{AT}.service.namespace')),
    ('no_versions', {'conversionReviewVersions': [], 'clientConfig': GOOD},
     ('FieldValueRequired', 'spec.conversion.conversionReviewVersions')),
    ('unknown_version', {'conversionReviewVersions': ['v9'], 'clientConfig': GOOD},
     ('FieldValueInvalid', 'spec.conversion.conversionReviewVersions')),
    ('twice_the_same_version', {'conversionReviewVersions': ['v1', 'v1'], 'clientConfig': GOOD},
     ('FieldValueInvalid', 'spec.conversion.conversionReviewVersions[1]')),
    ('bad_version', {'conversionReviewVersions': ['v1', 'V 1'], 'clientConfig': GOOD},
     ('FieldValueInvalid', 'spec.conversion.conversionReviewVersions[1]')),
]
for name, webhook, *causes in BAD:
    def bad(t, webhook=webhook, causes=causes):
        t.invalid(t.post(CRDS, definition(f'{t.name("g")}.example.com', {'strategy': 'Webhook', 'webhook': webhook})), *causes)
    bad.__name__ = f'conversion_refused_{name}'
    check(bad)


@check
def conversion_bundle_is_judged_once_the_definition_is_served(t):
    k = Links(t)
    conversion = by_webhook(t, k.path)
    conversion['webhook']['clientConfig']['caBundle'] = 'eHl6'
    t.invalid(t.patch(f'{CRDS}/links.{k.group}', {'spec': {'conversion': conversion}}, MERGE),
              ('FieldValueInvalid', f'{AT}.caBundle', 'unable to load root certificates'))


@check
def conversion_defaults_are_those_of_the_stored_version(t):
    colored = schema(at=TEXT, color={'type': 'string', 'default': 'red'})
    k = Links(t, versions=[V1, {**V2, 'schema': schema(host=TEXT, port=TEXT, color=TEXT)}])
    t.code(k.make('v1', 'a', {'at': 'h:1'}), 201)
    t.code(t.patch(f'{CRDS}/links.{k.group}', [{'op': 'replace', 'path': '/spec/versions/0/schema', 'value': colored}],
                   'application/json-patch+json'), 200)
    t.until('the default is in force', lambda: t.get(f'{k.v1}/a')['spec.color'] == 'red')
    t.until('and in the other version', lambda: t.get(f'{k.v2}/a')['spec'] == {'host': 'h', 'port': '1', 'color': 'red'})


@check
def conversion_refused_webhook_without_strategy(t):
    webhook = {'conversionReviewVersions': ['v1'], 'clientConfig': GOOD}
    t.invalid(t.post(CRDS, definition(f'{t.name("g")}.example.com', {'strategy': 'None', 'webhook': webhook})),
              ('FieldValueForbidden', AT), ('FieldValueForbidden', 'spec.conversion.conversionReviewVersions'))
    t.invalid(t.post(CRDS, definition(f'{t.name("g")}.example.com', {'strategy': 'Magic'})),
              ('FieldValueNotSupported', 'spec.conversion.strategy'))
