"""managed.py - managedFields that clients send: forged, reset, garbage. What is meant is followed; what cannot be read changes nothing.

How owners change through applies, updates and patches is compared by tests/system/test_apply.
"""
import json

from client import JSON_PATCH, check, config_map, deployment
from crds import CRDS, crd

APPLY = 'application/apply-patch+yaml'
GOOD = {'manager': 'me', 'operation': 'Update', 'apiVersion': 'v1', 'time': '2026-01-01T00:00:00Z', 'fieldsType': 'FieldsV1',
        'fieldsV1': {'f:data': {'f:k': {}}}}


def but(**fields):
    """The good entry with other fields; None: without it."""
    return [{k: v for k, v in {**GOOD, **fields}.items() if v is not None}]


def fields(value):
    return but(fieldsV1=value)


# name, managedFields, who owns something after an update that changes the value: by the real server
KEPT, TAKEN, NOBODY = ['one', 'two'], ['two'], []
UPDATES = [
    ('absent', None, KEPT),
    ('good', [GOOD], TAKEN),
    ('empty', [], NOBODY),
    ('an_empty_entry', [{}], NOBODY),
    ('a_null', [None], NOBODY),
    ('without_a_manager', but(manager=None), TAKEN),
    ('of_a_long_manager', but(manager='m' * 200), TAKEN),
    ('of_a_manager_with_a_line_break', but(manager='a\nb'), TAKEN),
    ('of_an_unknown_operation', but(operation='Steal'), KEPT),
    ('of_no_operation', but(operation=''), KEPT),
    ('of_an_operation_in_small_letters', but(operation='apply'), KEPT),
    ('of_an_unknown_type', but(fieldsType='FieldsV9'), KEPT),
    ('of_no_type', but(fieldsType=''), KEPT),
    ('of_an_unknown_version', but(apiVersion='nope/v9'), TAKEN),
    ('of_a_bad_version', but(apiVersion='a/b/c'), NOBODY),
    ('of_no_version', but(apiVersion=''), KEPT),
    ('fields_are_a_list', fields([]), KEPT),
    ('fields_are_a_word', fields('x'), KEPT),
    ('fields_are_a_number', fields(5), KEPT),
    ('fields_are_missing', fields(None), TAKEN),
    ('fields_are_empty', fields({}), TAKEN),
    ('fields_of_an_unknown_form', fields({'x:data': {}}), TAKEN),
    ('fields_without_a_form', fields({'data': {}}), KEPT),
    ('fields_with_a_broken_key', fields({'f:data': {'k:{"a":': {}}}), KEPT),
    ('fields_with_a_broken_value', fields({'f:data': {'v:nonsense': {}}}), KEPT),
    ('fields_with_a_broken_index', fields({'f:data': {'i:x': {}}}), KEPT),
    ('fields_with_a_number', fields({'f:data': {'f:k': 5}}), KEPT),
    ('fields_with_a_word', fields({'f:data': 'x'}), KEPT),
    ('fields_that_are_not_there', fields({'f:nothing': {'f:x': {}}}), ['me', 'two']),
    ('without_a_time', but(time=None), TAKEN),
    ('of_an_unknown_subresource', but(subresource='nope'), TAKEN),
    ('twice_the_same', [GOOD, GOOD], TAKEN),
    ('of_two_thousand', [{**GOOD, 'manager': f'm{i}'} for i in range(2000)], TAKEN),
]


def owners(a):
    return sorted(m.get('manager', '') for m in a['metadata.managedFields'] or ())


def make(t):
    t.make(t.maps(), config_map('m'), fieldManager='one')
    return f'{t.maps()}/m'


def entries(list_):
    return {} if list_ is None else {'managedFields': list_}


for _name, _list, _want in UPDATES:
    def update(t, sent=_list, want=_want):
        a = t.put(make(t), config_map('m', {'k': 'changed'}, **entries(sent)), fieldManager='two')
        t.eq(owners(t.code(a, 200)), want, 'owners')

    def create(t, sent=_list, want=_want):
        a = t.post(t.maps(), config_map('m', **entries(sent)), fieldManager='two')
        t.eq(owners(t.code(a, 201)), [] if sent and want is NOBODY and sent[0] and '/b/' in sent[0]['apiVersion'] else
             ['me', 'two'] if 'me' in want else ['two'], 'owners')
    for fn in (update, create):
        fn.__name__ = f'{fn.__name__}_{_name}'
        check(fn)


@check
def owners_that_do_not_decode_are_refused(t):
    path = make(t)
    for bad, why in (('x', 'managedFields'), (['x'], 'managedFields'), (but(time=5), 'time'), (but(time='yesterday'), 'parsing time "yesterday"')):
        t.status(t.put(path, config_map('m', managedFields=bad)), 400, 'BadRequest', part=why)
    t.eq(owners(t.get(path)), ['one'], 'owners')


@check
def appliers_say_nothing_about_owners(t):
    path = make(t)

    def apply(list_):
        return t.call('PATCH', path, {**config_map('m', {'z': 'y'}), 'metadata': {'name': 'm', 'managedFields': list_}}, content=APPLY,
                      fieldManager='three')
    for bad in ([GOOD], [{}], []):
        t.status(apply(bad), 400, 'BadRequest', 'metadata.managedFields must be nil')
    for bad, why in (('x', '.metadata.managedFields: expected list, got &{x}'), (['x'], '.metadata.managedFields[0]: expected map, got &{x}')):
        a = apply(bad)
        t.eq(a.code, 500, 'code')
        t.true(why in a['message'] and a['message'].startswith('failed to create typed patch object ('), a['message'])
    t.eq(owners(t.code(apply([None]), 200)), ['one', 'three'], 'owners')


@check
def a_document_that_cannot_be_applied_is_named_as_it_names_itself(t):
    path = make(t)
    for meta, who in (({'name': 'm'}, '/m'), ({'name': 'm', 'namespace': t.ns}, f'{t.ns}/m'), ({}, '/')):
        a = t.call('PATCH', path, {'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': meta, 'other': 1}, content=APPLY, fieldManager='one')
        t.eq((a.code, a['message']), (500, f'failed to create typed patch object ({who}; /v1, Kind=ConfigMap): .other: field not declared in schema'),
             'answer')


@check
def what_kubectl_applied_before_may_be_garbage(t):
    """Its annotation is text like any other: where it makes no sense, kubectl owns nothing by it."""
    path = t.at('deployments', 'apps')
    for i, text in enumerate(('{"spec":[1,2]}', '{"spec":{"template":7}}', '{"metadata":[[]]}', '[]', '7', 'nonsense', '', '{"spec":{"replicas":{}}}')):
        body = deployment(f'd{i}', {'replicas': 1})
        body['metadata']['annotations'] = {'kubectl.kubernetes.io/last-applied-configuration': text}
        t.make(path, body, fieldManager='maker')
        body = {'apiVersion': 'apps/v1', 'kind': 'Deployment', 'metadata': {'name': f'd{i}', 'labels': {'x': 'y'}}}
        t.code(t.call('PATCH', f'{path}/d{i}', body, content=APPLY, fieldManager='kubectl'), 200)
        body['spec'] = {'replicas': 2}
        t.status(t.call('PATCH', f'{path}/d{i}', body, content=APPLY, fieldManager='kubectl'), 409, 'Conflict',
                 'Apply failed with 1 conflict: conflict with "maker" using apps/v1: .spec.replicas')


@check
def patches_reset_owners(t):
    path = make(t)
    t.eq(owners(t.code(t.patch(path, {'metadata': {'managedFields': [{'manager': 'x', 'operation': 'Update', 'apiVersion': 'v1',
                                                                      'fieldsType': 'FieldsV1', 'fieldsV1': {'bad': 1}}]}}), 200)), ['one'], 'owners')
    t.eq(owners(t.code(t.patch(path, {'metadata': {'managedFields': None}}), 200)), ['one'], 'owners')
    t.eq(owners(t.code(t.patch(path, {'metadata': {'managedFields': []}}), 200)), [], 'owners')
    t.eq(owners(t.code(t.put(path, config_map('m', {'k': 'again'}), fieldManager='two'), 200)), [], 'owners')


# ---- /scale: of a Scale somebody owns spec.replicas, which is a field of the object ----

SCALE = 'apiVersion: autoscaling/v1\nkind: Scale\nmetadata:\n  name: d\nspec:\n  replicas: %s\n'


def scale(t, path, replicas, who, **query):
    """An apply, in YAML."""
    return t.call('PATCH', f'{path}/scale', raw=(SCALE % replicas).encode(), content=APPLY, fieldManager=who, **query)


def of_replicas(a):
    """(manager, operation, apiVersion, subresource, whether there is a time) of those who own them."""
    return sorted((m['manager'], m['operation'], m['apiVersion'], m.get('subresource', ''), 'time' in m)
                  for m in a['metadata.managedFields'] or () if 'f:replicas' in m['fieldsV1'].get('f:spec', {}))


def make_deployment(t, **spec):
    path = t.at('deployments', 'apps')
    t.make(path, deployment('d', spec), fieldManager='maker')
    return f'{path}/d'


@check
def whoever_scales_owns_the_replicas(t):
    path = make_deployment(t, replicas=1)
    t.eq(of_replicas(t.get(path)), [('maker', 'Update', 'apps/v1', '', True)], 'after the create')
    t.code(t.put(f'{path}/scale', {'apiVersion': 'autoscaling/v1', 'kind': 'Scale', 'metadata': {'name': 'd'}, 'spec': {'replicas': 2}},
                 fieldManager='two'), 200)
    t.eq(of_replicas(t.get(path)), [('two', 'Update', 'apps/v1', 'scale', False)], 'after an update')
    t.code(t.patch(f'{path}/scale', {'spec': {'replicas': 3}}, fieldManager='three'), 200)
    a = t.get(path)
    t.eq(of_replicas(a), [('three', 'Update', 'apps/v1', 'scale', False)], 'after a patch')
    t.eq(owners(a), ['maker', 'three'], 'owners')
    t.code(t.patch(f'{path}/scale', {'spec': {'replicas': 3}}, fieldManager='four'), 200)
    t.eq(t.get(path)['metadata.resourceVersion'], a['metadata.resourceVersion'], 'version after a patch of nothing')


@check
def scales_are_applied(t):
    path = make_deployment(t, replicas=1)
    a = scale(t, path, 2, 'one')
    t.status(a, 409, 'Conflict', 'Apply failed with 1 conflict: conflict with "maker" using autoscaling/v1: .spec.replicas')
    t.eq(a['details.causes'], [{'reason': 'FieldManagerConflict', 'message': 'conflict with "maker" using autoscaling/v1', 'field': '.spec.replicas'}],
         'causes')
    a = t.code(scale(t, path, 2, 'one', force='true'), 200)
    t.eq((a['kind'], a['spec']), ('Scale', {'replicas': 2}), 'answer')
    t.eq(of_replicas(t.get(path)), [('one', 'Apply', 'apps/v1', 'scale', False)], 'after an apply by force')
    t.code(scale(t, path, 3, 'one'), 200)
    t.status(scale(t, path, 4, 'two'), 409, 'Conflict', 'Apply failed with 1 conflict: conflict with "one" with subresource "scale": .spec.replicas')
    t.code(scale(t, path, 3, 'two'), 200)
    t.eq([m[0] for m in of_replicas(t.get(path))], ['one', 'two'], 'who say the same')
    t.code(scale(t, path, 9, 'three', force='true', dryRun='All'), 200)
    a = t.get(path)
    t.eq((a['spec.replicas'], len(of_replicas(a))), (3, 2), 'after a dry run')
    # An apply of the object conflicts with those of its scale.
    a = t.call('PATCH', path, deployment('d', {'replicas': 5}), content=APPLY, fieldManager='maker')
    t.status(a, 409, 'Conflict', 'Apply failed with 2 conflicts: conflicts with "one" with subresource "scale":\n- .spec.replicas\n'
             'conflicts with "two" with subresource "scale":\n- .spec.replicas')
    # Who names them no more gives them up, and the last one takes them along.
    nothing = {'apiVersion': 'autoscaling/v1', 'kind': 'Scale', 'metadata': {'name': 'd'}}
    for who, want in (('one', 3), ('two', 0)):
        t.code(t.call('PATCH', f'{path}/scale', nothing, content=APPLY, fieldManager=who), 200)
        t.eq(t.get(path)['spec.replicas'], want, 'replicas')
    t.eq(of_replicas(t.get(path)), [], 'in the end')


@check
def replicas_that_nobody_owns(t):
    path = t.at('deployments', 'apps')
    a = t.call('PATCH', f'{path}/d', deployment('d'), content=APPLY, fieldManager='maker')
    t.made.append(f'{path}/d')
    t.eq(of_replicas(t.code(a, 201)), [], 'after an apply that does not name them')
    path = f'{path}/d'
    t.code(t.patch(f'{path}/scale', {'spec': {'replicas': 3}}, fieldManager='two'), 200)
    t.eq(of_replicas(t.get(path)), [], 'after a patch of the scale')
    t.status(scale(t, path, 2, 'one'), 409, 'Conflict', part='conflict with "before-first-apply" with subresource "scale" using autoscaling/v1')
    t.code(scale(t, path, 3, 'one'), 200)
    t.eq([m[:2] for m in of_replicas(t.get(path))], [('before-first-apply', 'Update'), ('one', 'Apply')], 'who say the same')


@check
def scales_that_cannot_be_applied(t):
    path = make_deployment(t, replicas=1)

    def apply(raw, **query):
        return t.call('PATCH', f'{path}/scale', raw=raw.encode(), content=APPLY, **{'fieldManager': 'one', 'force': 'true', **query})
    t.status(apply(SCALE % 2, fieldManager=''), 422, 'Invalid', part='fieldManager: Required value: is required for apply patch')
    t.status(apply('apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\n'), 400, 'BadRequest',
             'invalid object type: apps/v1, Kind=Deployment')
    t.status(apply('{{'), 400, 'BadRequest', part='error decoding YAML: ')
    t.status(apply((SCALE % 2).replace('name: d', 'name: e')), 400, 'BadRequest', 'the name of the object (e) does not match the name on the URL (d)')
    t.status(apply((SCALE % 2).replace('name: d', 'managedFields: []')), 400, 'BadRequest', 'metadata.managedFields must be nil')
    t.status(apply(SCALE % -1), 422, 'Invalid', part='spec.replicas: Invalid value: -1: must be greater than or equal to 0')
    t.status(apply((SCALE % 2).replace('name: d', 'name: d\n  resourceVersion: "1"')), 409, 'Conflict', part='the object has been modified')
    t.status(apply((SCALE % 2).replace('name: d', 'name: d\n  uid: other')), 409, 'Conflict',
             part='Operation cannot be fulfilled on deployments/scale.apps "d": Precondition failed: UID in precondition: other, ')
    for raw, why in (((SCALE % 2) + '  other: 1\n', '.spec.other: field not declared in schema'),
                     (SCALE % 'many', '.spec.replicas: expected numeric (int or float), got string')):
        a = apply(raw)
        t.eq((a.code, a['message']), (500, f'failed to create typed patch object (/d; autoscaling/v1, Kind=Scale): {why}'), 'answer')
    t.eq(of_replicas(t.get(path)), [('maker', 'Update', 'apps/v1', '', True)], 'owners')


# ---- from client-side to server-side apply ----

LAST = 'kubectl.kubernetes.io/last-applied-configuration'


def applied_by_the_client(t):
    """As `kubectl apply` leaves it: what was said is in an annotation, and its owner is an updater."""
    said = config_map('m', {'a': '1', 'b': '2'})
    note = json.dumps({**said, 'metadata': {'annotations': {}, 'name': 'm', 'namespace': t.ns}}) + '\n'
    t.make(t.maps(), {**said, 'metadata': {'name': 'm', 'annotations': {LAST: note}}}, fieldManager='kubectl-client-side-apply')
    return f'{t.maps()}/m'


def apply(t, path, data, manager='kubectl', **query):
    return t.call('PATCH', path, config_map('m', data), content=APPLY, fieldManager=manager, **query)


def by_manager(a):
    return {m['manager']: (m['operation'], sorted(m['fieldsV1'].get('f:data', {})), sorted(m['fieldsV1']))
            for m in a['metadata.managedFields']}


@check
def the_first_apply_has_no_conflict_with_its_own_client(t):
    path = applied_by_the_client(t)
    a = t.code(apply(t, path, {'a': 'new'}), 200)
    t.eq(a['data'], {'a': 'new', 'b': '2'}, 'data')
    t.eq(by_manager(a)['kubectl'], ('Apply', ['f:a'], ['f:data']), 'who applied')
    t.eq(by_manager(a)['kubectl-client-side-apply'][:2], ('Update', ['.', 'f:b']), 'who has the rest')


@check
def the_first_apply_takes_over_what_was_migrated(t):
    """kubectl makes an applier of its client-side entry before, so that what is no longer said goes."""
    path = applied_by_the_client(t)
    old = t.read(path)['metadata']
    entry = {**old['managedFields'][0], 'manager': 'kubectl', 'operation': 'Apply'}
    t.code(t.patch(path, [{'op': 'replace', 'path': '/metadata/managedFields', 'value': [entry]},
                          {'op': 'replace', 'path': '/metadata/resourceVersion', 'value': old['resourceVersion']}], JSON_PATCH), 200)
    a = t.code(apply(t, path, {'a': '1'}), 200)
    t.eq(a['data'], {'a': '1'}, 'data')
    t.eq(by_manager(a), {'kubectl': ('Apply', ['f:a'], ['f:data'])}, 'owners')
    t.has(a, 'metadata.annotations', None)


@check
def the_first_apply_of_another_manager_conflicts_with_the_client(t):
    path = applied_by_the_client(t)
    a = apply(t, path, {'a': 'other'}, 'somebody')
    t.status(a, 409, 'Conflict', part='conflict with "kubectl-client-side-apply"', causes=[('FieldManagerConflict', '.data.a')])
    a = t.code(apply(t, path, {'a': 'other'}, 'somebody', force='true'), 200)
    t.eq(a['data'], {'a': 'other', 'b': '2'}, 'data')


@check
def the_note_of_the_client_follows_what_is_applied(t):
    path = applied_by_the_client(t)
    a = t.code(apply(t, path, {'a': '1', 'c': '3'}), 200)
    note = json.loads(a['metadata.annotations'][LAST])
    t.eq(note['data'], {'a': '1', 'c': '3'}, 'the annotation')
    a = t.code(apply(t, path, {'a': '1', 'd': '4'}, 'somebody'), 200)
    t.eq(json.loads(a['metadata.annotations'][LAST])['data'], {'a': '1', 'c': '3'}, 'after another manager')


@check
def what_the_client_applies_afterwards_is_an_update(t):
    path = applied_by_the_client(t)
    t.code(apply(t, path, {'a': '1', 'b': '2'}), 200)
    t.code(t.patch(path, {'data': {'b': 'client'}}, fieldManager='kubectl-client-side-apply'), 200)
    a = apply(t, path, {'a': '1', 'b': '2'})
    t.status(a, 409, 'Conflict', part='conflict with "kubectl-client-side-apply"', causes=[('FieldManagerConflict', '.data.b')])


# ---- items of lists with several keys, of which some may be missing ----

@check
def devices_are_named_by_the_keys_that_they_have(t):
    """Those without shares have no shareID, which is the fourth key."""
    group, d = 'resource.k8s.io', {'driver': 'd.example.com', 'pool': 'p'}
    path = f'{t.at("resourceclaims", group)}/c'
    t.make(t.at('resourceclaims', group), {'apiVersion': f'{group}/v1', 'kind': 'ResourceClaim', 'metadata': {'name': 'c'}, 'spec': {
        'devices': {'requests': [{'name': 'r', 'exactly': {'deviceClassName': 'c.example.com'}}]}}})
    t.code(t.patch(f'{path}/status', {'status': {'allocation': {'devices': {'results': [
        {'request': 'r', **d, 'device': x} for x in ('d0', 'd1')]}}}}), 200)

    def apply(who, *devices):
        return t.code(t.call('PATCH', f'{path}/status', {'apiVersion': f'{group}/v1', 'kind': 'ResourceClaim', 'metadata': {'name': 'c'}, 'status': {
            'devices': devices}}, content=APPLY, fieldManager=who), 200)

    def owned(a):
        return {m['manager']: m['fieldsV1']['f:status']['f:devices'] for m in a['metadata.managedFields'] if 'f:devices' in m['fieldsV1'].get('f:status', ())}
    names = ['k:{"device":"%s","driver":"d.example.com","pool":"p"}' % x for x in ('d0', 'd1')]
    keys = {'.': {}, 'f:device': {}, 'f:driver': {}, 'f:pool': {}}
    apply('one', {**d, 'device': 'd0', 'data': {'a': 1}})
    a = apply('two', {**d, 'device': 'd1'})
    t.eq([x['device'] for x in a['status.devices']], ['d0', 'd1'], 'devices')
    t.eq(owned(a), {'one': {names[0]: {**keys, 'f:data': {}}}, 'two': {names[1]: keys}}, 'owners')
    a = t.code(t.patch(f'{path}/status', {'status': {'devices': [{**d, 'device': 'd0', 'data': {'a': 2}}, {**d, 'device': 'd1'}]}}, fieldManager='three'), 200)
    t.eq(owned(a), {'one': {names[0]: keys}, 'two': {names[1]: keys}, 'three': {names[0]: {'f:data': {}}}}, 'owners after a patch')
    t.eq([x['device'] for x in apply('one')['status.devices']], ['d1'], 'devices after the only applier left')
    t.eq(apply('two')['status.devices'], None, 'devices after both left')


@check
def items_without_any_key_have_no_name(t):
    body = crd(t, schema={'type': 'object', 'properties': {'l': {
        'type': 'array', 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['n', 'b'], 'items': {
            'type': 'object', 'required': ['b', 'n'], 'properties': {'n': {'type': 'integer'}, 'b': {'type': 'string'}, 'x': {'type': 'integer'}}}}}})
    t.make(CRDS, body)
    path = t.at('widgets', body['spec']['group'])
    t.until('the new resource is served', lambda: t.get(path).code == 200)

    def apply(item):
        return t.call('PATCH', f'{path}/w', {'apiVersion': f'{body["spec"]["group"]}/v1', 'kind': 'Widget', 'metadata': {'name': 'w'},
                                             'spec': {'l': [item]}}, content=APPLY, fieldManager='one')
    a = apply({'x': 1})
    t.eq(a.code, 500, 'code')
    t.true('associative list with keys has an element that omits all key fields ["n" "b"] (and ' in a['message'], a['message'])
    t.invalid(apply({'n': 1}), part='spec.l[0].b: Required value')
    t.code(apply({'n': 1, 'b': 'x'}), 201)
