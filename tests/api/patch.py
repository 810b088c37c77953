"""patch.py - JSON merge patch, JSON patch, strategic merge patch with its directives; errors of each."""
from client import JSON, JSON_PATCH, MERGE, STRATEGIC, check, config_map, deployment, node, pod


def made(t, data=None, **more):
    t.make(t.maps(), config_map('a', data or {'k': 'v', 'l': 'w'}, **more))
    return f'{t.maps()}/a'


def json_patch(t, path, *ops):
    return t.patch(path, [dict(zip(('op', 'path', 'value'), o)) if isinstance(o, tuple) else o for o in ops], JSON_PATCH)


def deploy(t, containers, **spec):
    d = deployment('d', spec)
    d['spec']['template']['spec']['containers'] = containers
    return d


# ---- merge ----

@check
def merge_patch_adds_changes_and_removes(t):
    a = t.code(t.patch(made(t), {'data': {'k': 'n', 'l': None, 'm': 'x'}}), 200)
    t.has(a, 'data', {'k': 'n', 'm': 'x'})


@check
def merge_patch_replaces_lists_whole(t):
    t.make(t.pods(), pod('a', {'tolerations': [{'key': 'x', 'operator': 'Exists'}]}, finalizers=['e.com/a', 'e.com/b']))
    a = t.code(t.patch(f'{t.pods()}/a', {'metadata': {'finalizers': ['e.com/b']}}), 200)
    t.has(a, 'metadata.finalizers', ['e.com/b'])


@check
def merge_patch_with_a_resource_version_locks(t):
    p = made(t)
    t.status(t.patch(p, {'metadata': {'resourceVersion': '1'}, 'data': {'k': 'n'}}), 409, 'Conflict',
             part='the object has been modified')
    now = t.read(p)['metadata']['resourceVersion']
    t.code(t.patch(p, {'metadata': {'resourceVersion': now}, 'data': {'k': 'n'}}), 200)


@check
def merge_patch_with_another_uid_is_invalid(t):
    t.invalid(t.patch(made(t), {'metadata': {'uid': '11111111-1111-4111-8111-111111111111'}}),
              ('FieldValueInvalid', 'metadata.uid', 'field is immutable'))


@check
def merge_patch_that_changes_nothing_keeps_the_resource_version(t):
    p = made(t)
    before = t.read(p)['metadata']['resourceVersion']
    t.has(t.patch(p, {'data': {'k': 'v'}}), 'metadata.resourceVersion', before)


@check
def merge_patch_may_not_rename(t):
    a = t.patch(made(t), {'metadata': {'name': 'b'}})
    t.status(a, 400, 'BadRequest', 'the name of the object (b) does not match the name on the URL (a)')


@check
def merge_patch_that_is_not_json_is_a_bad_request(t):
    t.status(t.call('PATCH', made(t), raw=b'{"data"', content=MERGE), 400, 'BadRequest')


@check
def merge_patch_of_what_is_not_there_is_not_found(t):
    t.status(t.patch(f'{t.maps()}/nope', {'data': {}}), 404, 'NotFound', 'configmaps "nope" not found')


@check
def merge_patch_result_is_validated(t):
    t.invalid(t.patch(made(t), {'metadata': {'labels': {'-bad': 'x'}}}), ('FieldValueInvalid', 'metadata.labels'))


@check
def merge_patch_into_a_wrong_type_is_refused(t):
    a = t.patch(made(t), {'data': {'k': 5}})
    t.eq(a.code in (400, 422), True, f'code of {a}')


# ---- JSON patch ----

@check
def json_patch_add_replace_remove(t):
    a = json_patch(t, made(t), ('add', '/data/m', 'x'), ('replace', '/data/k', 'n'), ('remove', '/data/l'))
    t.has(t.code(a, 200), 'data', {'k': 'n', 'm': 'x'})


@check
def json_patch_move_and_copy(t):
    a = json_patch(t, made(t), {'op': 'copy', 'from': '/data/k', 'path': '/data/c'},
                   {'op': 'move', 'from': '/data/l', 'path': '/data/m'})
    t.has(t.code(a, 200), 'data', {'k': 'v', 'c': 'v', 'm': 'w'})


@check
def json_patch_test_guards_the_rest(t):
    p = made(t)
    t.code(json_patch(t, p, ('test', '/data/k', 'v'), ('replace', '/data/k', 'n')), 200)
    t.status(json_patch(t, p, ('test', '/data/k', 'v'), ('replace', '/data/k', 'o')), 422, 'Invalid',
             part='the server rejected our request due to an error in our request')
    t.has(t.read(p), 'data.k', 'n')


@check
def json_patch_appends_and_inserts_in_arrays(t):
    p = made(t, finalizers=['e.com/b'])
    a = json_patch(t, p, ('add', '/metadata/finalizers/-', 'e.com/c'), ('add', '/metadata/finalizers/0', 'e.com/a'))
    t.has(t.code(a, 200), 'metadata.finalizers', ['e.com/a', 'e.com/b', 'e.com/c'])


@check
def json_patch_escapes_slash_and_tilde_in_keys(t):
    p = made(t, annotations={'e.com/x': '1'})
    t.has(t.code(json_patch(t, p, ('replace', '/metadata/annotations/e.com~1x', '2')), 200),
          'metadata.annotations', {'e.com/x': '2'})


@check
def json_patch_of_a_missing_path_is_refused(t):
    # Not asked: a replace of a missing key, which the real server takes for an add against RFC 6902.
    t.status(json_patch(t, made(t), ('add', '/none/deep', 'x')), 422, 'Invalid')


@check
def json_patch_remove_of_a_missing_key_is_refused(t):
    t.status(json_patch(t, made(t), ('remove', '/data/none')), 422, 'Invalid')


@check
def json_patch_that_is_no_array_is_a_bad_request(t):
    t.status(t.patch(made(t), {'op': 'add'}, JSON_PATCH), 400, 'BadRequest')


@check
def json_patch_with_an_unknown_operation_is_refused(t):
    a = json_patch(t, made(t), ('explode', '/data/k', 'x'))
    t.status(a, 422, 'Invalid')


# ---- strategic ----

@check
def strategic_patch_merges_containers_by_name(t):
    path = t.at('deployments', 'apps')
    t.make(path, deploy(t, [{'name': 'a', 'image': 'i:1'}, {'name': 'b', 'image': 'i:1'}]))
    body = {'spec': {'template': {'spec': {'containers': [{'name': 'b', 'image': 'i:2'}, {'name': 'c', 'image': 'i:3'}]}}}}
    a = t.code(t.patch(f'{path}/d', body, STRATEGIC), 200)
    t.eq(sorted((c['name'], c['image']) for c in a['spec.template.spec.containers']),
         [('a', 'i:1'), ('b', 'i:2'), ('c', 'i:3')], 'containers')


@check
def strategic_patch_deletes_a_list_element(t):
    path = t.at('deployments', 'apps')
    t.make(path, deploy(t, [{'name': 'a', 'image': 'i:1'}, {'name': 'b', 'image': 'i:1'}]))
    body = {'spec': {'template': {'spec': {'containers': [{'name': 'a', '$patch': 'delete'}]}}}}
    a = t.code(t.patch(f'{path}/d', body, STRATEGIC), 200)
    t.eq([c['name'] for c in a['spec.template.spec.containers']], ['b'], 'containers')


@check
def strategic_patch_replaces_a_list(t):
    path = t.at('deployments', 'apps')
    t.make(path, deploy(t, [{'name': 'a', 'image': 'i:1'}, {'name': 'b', 'image': 'i:1'}]))
    body = {'spec': {'template': {'spec': {'containers': [{'$patch': 'replace'}, {'name': 'z', 'image': 'i:9'}]}}}}
    a = t.code(t.patch(f'{path}/d', body, STRATEGIC), 200)
    t.eq([c['name'] for c in a['spec.template.spec.containers']], ['z'], 'containers')


@check
def strategic_patch_replaces_a_map(t):
    p = made(t)
    t.has(t.code(t.patch(p, {'data': {'$patch': 'replace', 'z': '1'}}, STRATEGIC), 200), 'data', {'z': '1'})


@check
def strategic_patch_deletes_a_map(t):
    a = t.code(t.patch(made(t), {'data': {'$patch': 'delete'}}, STRATEGIC), 200)
    t.has(a, 'data', None)


@check
def strategic_patch_null_removes_a_key(t):
    t.has(t.code(t.patch(made(t), {'data': {'l': None}}, STRATEGIC), 200), 'data', {'k': 'v'})


@check
def strategic_patch_merges_env_and_ports_by_their_keys(t):
    path = t.at('deployments', 'apps')
    t.make(path, deploy(t, [{'name': 'a', 'image': 'i', 'env': [{'name': 'X', 'value': '1'}, {'name': 'Y', 'value': '2'}],
                             'ports': [{'containerPort': 80}]}]))
    body = {'spec': {'template': {'spec': {'containers': [
        {'name': 'a', 'env': [{'name': 'X', 'value': '9'}], 'ports': [{'containerPort': 81}]}]}}}}
    c = t.code(t.patch(f'{path}/d', body, STRATEGIC), 200)['spec.template.spec.containers.0']
    t.eq({e['name']: e['value'] for e in c['env']}, {'X': '9', 'Y': '2'}, 'env')
    t.eq(sorted(p['containerPort'] for p in c['ports']), [80, 81], 'ports')


@check
def strategic_patch_deletes_from_a_list_of_plain_values(t):
    p = made(t, finalizers=['e.com/a', 'e.com/b', 'e.com/c'])
    a = t.code(t.patch(p, {'metadata': {'$deleteFromPrimitiveList/finalizers': ['e.com/b']}}, STRATEGIC), 200)
    t.has(a, 'metadata.finalizers', ['e.com/a', 'e.com/c'])


@check
def strategic_patch_merges_a_list_of_plain_values(t):
    a = t.code(t.patch(made(t, finalizers=['e.com/a']), {'metadata': {'finalizers': ['e.com/b']}}, STRATEGIC), 200)
    t.eq(sorted(a['metadata.finalizers']), ['e.com/a', 'e.com/b'], 'finalizers')


@check
def strategic_patch_that_breaks_types_is_restored_with_a_word(t):
    t.make(t.pods(), pod('a'))
    for patch, word in (({'metadata': {'labels': 'x'}}, 'cannot restore map from string'),
                        ({'metadata': {'finalizers': 'x'}}, 'cannot restore slice from string'),
                        ({'spec': {'activeDeadlineSeconds': True}}, 'unrecognized type: int64'),
                        ({'spec': {'restartPolicy': 5}}, 'cannot convert int64 to v1.RestartPolicy'),
                        ({'spec': {'tolerations': ['x']}}, 'cannot restore struct from: string'),
                        ({'spec': {'securityContext': 7}}, 'cannot restore struct from: int64')):
        t.invalid(t.patch(f'{t.pods()}/a', patch, STRATEGIC), ('FieldValueInvalid', 'patch', word), part=word)


@check
def strategic_patch_orders_elements(t):
    path = t.at('deployments', 'apps')
    t.make(path, deploy(t, [{'name': n, 'image': 'i'} for n in 'abc']))
    body = {'spec': {'template': {'spec': {'$setElementOrder/containers': [{'name': n} for n in 'cab'],
                                           'containers': [{'name': 'a', 'image': 'j'}]}}}}
    a = t.code(t.patch(f'{path}/d', body, STRATEGIC), 200)
    t.eq([(c['name'], c['image']) for c in a['spec.template.spec.containers']], [('c', 'i'), ('a', 'j'), ('b', 'i')], 'order')


@check
def strategic_patch_retains_chosen_keys(t):
    path = t.at('deployments', 'apps')
    d = deployment('d')
    d['spec']['strategy'] = {'type': 'RollingUpdate', 'rollingUpdate': {'maxSurge': 2}}
    t.make(path, d)
    body = {'spec': {'strategy': {'$retainKeys': ['type'], 'type': 'Recreate'}}}
    t.has(t.code(t.patch(f'{path}/d', body, STRATEGIC), 200), 'spec.strategy', {'type': 'Recreate'})


@check
def strategic_patch_replaces_lists_without_a_merge_key(t):
    n = t.name('node')
    t.make('/api/v1/nodes', {**node(n), 'spec': {'taints': [{'key': 'a', 'effect': 'NoSchedule'}]}})
    body = {'spec': {'taints': [{'key': 'b', 'effect': 'NoSchedule'}]}}
    a = t.code(t.patch(f'/api/v1/nodes/{n}', body, STRATEGIC), 200)
    t.eq([x['key'] for x in a['spec.taints']], ['b'], 'taints')


@check
def strategic_patch_merges_conditions_by_type(t):
    n = t.name('node')
    t.make('/api/v1/nodes', node(n, {'conditions': [{'type': 'Ready', 'status': 'True'},
                                                    {'type': 'DiskPressure', 'status': 'False'}]}))
    body = {'status': {'conditions': [{'type': 'Ready', 'status': 'False', 'reason': 'Down'}]}}
    a = t.code(t.patch(f'/api/v1/nodes/{n}/status', body, STRATEGIC), 200)
    t.eq({c['type']: c['status'] for c in a['status.conditions']}, {'Ready': 'False', 'DiskPressure': 'False'}, 'conditions')


@check
def strategic_patch_without_the_merge_key_is_refused(t):
    path = t.at('deployments', 'apps')
    t.make(path, deployment('d'))
    a = t.patch(f'{path}/d', {'spec': {'template': {'spec': {'containers': [{'image': 'x'}]}}}}, STRATEGIC)
    t.eq(a.code >= 400, True, f'code of {a}')
    t.true('does not contain declared merge key: name' in a['message'], a['message'])


@check
def strategic_patch_with_an_unknown_directive_is_refused(t):
    a = t.patch(made(t), {'data': {'$patch': 'explode'}}, STRATEGIC)
    t.eq(a.code >= 400, True, f'code of {a}')


@check
def strategic_patch_merges_owner_references_by_uid(t):
    ref = {'apiVersion': 'v1', 'kind': 'Pod', 'name': 'o', 'uid': 'u1'}
    p = made(t, ownerReferences=[ref])
    a = t.code(t.patch(p, {'metadata': {'ownerReferences': [{**ref, 'uid': 'u2', 'name': 'p'}]}}, STRATEGIC), 200)
    t.eq(sorted(r['uid'] for r in a['metadata.ownerReferences']), ['u1', 'u2'], 'owners')


# ---- kinds of patches ----

@check
def patch_of_another_content_type_is_unsupported(t):
    a = t.patch(made(t), {'data': {}}, JSON)
    t.status(a, 415, 'UnsupportedMediaType', part='415: Unsupported Media Type')


@check
def patch_of_a_collection_is_not_allowed(t):
    t.status(t.patch(t.maps(), {}), 405, 'MethodNotAllowed')


@check
def patch_may_not_touch_what_is_immutable(t):
    path = t.at('deployments', 'apps')
    t.make(path, deployment('d'))
    t.invalid(t.patch(f'{path}/d', {'spec': {'selector': {'matchLabels': {'app': 'y'}},
                                             'template': {'metadata': {'labels': {'app': 'y'}}}}}),
              ('FieldValueInvalid', 'spec.selector'), part='field is immutable')


@check
def patch_dropping_the_last_finalizer_of_a_deleted_object_removes_it(t):
    p = made(t, finalizers=['e.com/a'])
    t.code(t.delete(p), 200)
    t.code(t.patch(p, {'metadata': {'finalizers': None}}), 200)
    t.code(t.get(p), 404)
