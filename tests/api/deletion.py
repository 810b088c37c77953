"""deletion.py - delete: answers, preconditions, grace, finalizers, propagation, collections."""
from client import check, config_map, deployment, names, pod


def made(t, name='a', **more):
    t.make(t.maps(), config_map(name, **more))
    return f'{t.maps()}/{name}'


@check
def delete_answers_success_with_the_uid(t):
    p = made(t)
    uid = t.read(p)['metadata']['uid']
    a = t.code(t.delete(p), 200)
    t.has(a, 'kind', 'Status')
    t.has(a, 'status', 'Success')
    t.has(a, 'details', {'name': 'a', 'kind': 'configmaps', 'uid': uid})
    t.code(t.get(p), 404)


@check
def delete_of_a_pod_answers_the_pod(t):
    t.make(t.pods(), pod('a'))
    a = t.code(t.delete(f'{t.pods()}/a'), 200)
    t.has(a, 'kind', 'Pod')
    t.has(a, 'metadata.name', 'a')


@check
def delete_of_what_is_not_there_is_not_found(t):
    t.status(t.delete(f'{t.maps()}/nope'), 404, 'NotFound', 'configmaps "nope" not found')


@check
def delete_twice_is_not_found(t):
    p = made(t)
    t.code(t.delete(p), 200)
    t.status(t.delete(p), 404, 'NotFound')


@check
def a_deleted_name_can_be_used_again(t):
    p = made(t)
    first = t.read(p)['metadata']['uid']
    t.delete(p)
    made(t)
    t.true(t.read(p)['metadata']['uid'] != first, 'the same uid')


@check
def delete_with_a_wrong_uid_is_a_conflict(t):
    p = made(t)
    uid = t.read(p)['metadata']['uid']
    a = t.delete(p, {'preconditions': {'uid': '11111111-1111-4111-8111-111111111111'}})
    t.status(a, 409, 'Conflict', 'Operation cannot be fulfilled on ConfigMap "a": the UID in the precondition '
             f'(11111111-1111-4111-8111-111111111111) does not match the UID in record ({uid}). The object might have been '
             'deleted and then recreated')
    t.code(t.get(p), 200)


@check
def delete_with_wrong_preconditions_tells_a_long_name_whole(t):
    name, wrong = '.'.join(['n' * 63] * 4)[:253], '11111111-1111-4111-8111-111111111111'
    made = t.make(t.maps(), config_map(name))['metadata']
    for precondition, why in (
            ({'uid': wrong}, f'the UID in the precondition ({wrong}) does not match the UID in record ({made["uid"]}). '
             'The object might have been deleted and then recreated'),
            ({'resourceVersion': '1'}, 'the ResourceVersion in the precondition (1) does not match the ResourceVersion in record '
             f'({made["resourceVersion"]}). The object might have been modified')):
        t.status(t.delete(f'{t.maps()}/{name}', {'preconditions': precondition}), 409, 'Conflict',
                 f'Operation cannot be fulfilled on ConfigMap "{name}": {why}', details={'name': name, 'kind': 'ConfigMap'})


@check
def delete_with_the_right_uid_works(t):
    p = made(t)
    t.code(t.delete(p, {'preconditions': {'uid': t.read(p)['metadata']['uid']}}), 200)


@check
def delete_with_an_old_resource_version_is_a_conflict(t):
    p = made(t)
    a = t.delete(p, {'preconditions': {'resourceVersion': '1'}})
    t.status(a, 409, 'Conflict', part='the ResourceVersion in the precondition (1) does not match')
    t.code(t.get(p), 200)


@check
def delete_options_of_another_kind_are_refused(t):
    t.status(t.delete(made(t), config_map('a')), 400, 'BadRequest')


@check
def delete_with_a_body_that_is_not_json_is_refused(t):
    t.status(t.call('DELETE', made(t), raw=b'{'), 400, 'BadRequest')


@check
def delete_options_of_a_wrong_type_are_refused(t):
    p = made(t)
    for body in ({'gracePeriodSeconds': 'x'}, {'preconditions': 5}, {'orphanDependents': 'yes'}, {'dryRun': 'All'}):
        t.status(t.delete(p, body), 400, 'BadRequest')
    t.code(t.get(p), 200)


@check
def delete_with_two_propagations_is_invalid(t):
    t.invalid(t.delete(made(t), {'orphanDependents': True, 'propagationPolicy': 'Foreground'}),
              ('FieldValueInvalid', 'propagationPolicy'))


@check
def delete_with_an_unknown_propagation_is_invalid(t):
    t.invalid(t.delete(made(t), {'propagationPolicy': 'Sideways'}), ('FieldValueNotSupported', 'propagationPolicy'))


@check
def foreground_deletion_waits_for_its_finalizer(t):
    p = made(t)
    a = t.code(t.delete(p, {'propagationPolicy': 'Foreground'}), 200, 202)
    t.has(a, 'metadata.finalizers', ['foregroundDeletion'])
    t.true(a['metadata.deletionTimestamp'], 'no deletionTimestamp')
    t.code(t.patch(p, {'metadata': {'finalizers': None}}), 200)
    t.code(t.get(p), 404)


@check
def orphan_deletion_waits_for_its_finalizer(t):
    path = t.at('deployments', 'apps')
    t.make(path, deployment('d'))
    a = t.code(t.delete(f'{path}/d', propagationPolicy='Orphan'), 200, 202)
    t.has(a, 'metadata.finalizers', ['orphan'])
    t.code(t.patch(f'{path}/d', {'metadata': {'finalizers': None}}), 200)


@check
def background_deletion_is_at_once(t):
    p = made(t)
    t.code(t.delete(p, {'propagationPolicy': 'Background'}), 200)
    t.code(t.get(p), 404)


# ---- finalizers ----

@check
def an_object_with_a_finalizer_is_marked_and_stays(t):
    p = made(t, finalizers=['e.com/x'])
    a = t.code(t.delete(p), 200)
    t.true(a['metadata.deletionTimestamp'], 'no deletionTimestamp')
    t.has(a, 'metadata.deletionGracePeriodSeconds', 0)
    t.has(t.read(p), 'metadata.finalizers', ['e.com/x'])


@check
def deleting_again_what_waits_for_a_finalizer_changes_nothing(t):
    p = made(t, finalizers=['e.com/x'])
    t.code(t.delete(p), 200)
    before = t.read(p)
    t.code(t.delete(p), 200)
    t.eq(t.read(p), before, 'object')


@check
def finalizers_cannot_be_added_in_deletion(t):
    p = made(t, finalizers=['e.com/x'])
    t.code(t.delete(p), 200)
    t.invalid(t.patch(p, {'metadata': {'finalizers': ['e.com/x', 'e.com/y']}}),
              ('FieldValueForbidden', 'metadata.finalizers', 'no new finalizers can be added if the object is being deleted'))


@check
def an_update_that_drops_the_last_finalizer_removes_the_object(t):
    p = made(t, finalizers=['e.com/x', 'e.com/y'])
    t.code(t.delete(p), 200)
    obj = t.read(p)
    obj['metadata']['finalizers'] = ['e.com/y']
    obj = t.code(t.put(p, obj), 200).json
    obj['metadata']['finalizers'] = []
    t.code(t.put(p, obj), 200)
    t.code(t.get(p), 404)


@check
def the_end_of_a_finalized_object_is_watched(t):
    p = made(t, finalizers=['e.com/x'])
    w = t.watching(t.maps(), resourceVersion=t.read(p)['metadata']['resourceVersion'])
    t.delete(p)
    t.patch(p, {'metadata': {'finalizers': None}})
    t.eq(w.take(2), ['MODIFIED a', 'DELETED a'], 'events')


@check
def a_finalizer_needs_a_qualified_name(t):
    t.invalid(t.post(t.maps(), config_map('a', finalizers=['-bad-'])), ('FieldValueInvalid', 'metadata.finalizers'))


@check
def deletion_marks_cannot_be_set_by_clients(t):
    p = made(t)
    t.code(t.patch(p, {'metadata': {'deletionTimestamp': '2026-01-01T00:00:00Z', 'labels': {'x': 'y'}}}), 200, 422)
    t.has(t.read(p), 'metadata.deletionTimestamp', None)


# ---- grace ----

def bound(t, name='a', **spec):
    t.make(t.pods(), pod(name, {'nodeName': 'n1', **spec}))
    return f'{t.pods()}/{name}'


@check
def a_bound_pod_gets_its_grace(t):
    p = bound(t)
    a = t.code(t.delete(p), 200)
    t.has(a, 'metadata.deletionGracePeriodSeconds', 30)
    t.true(a['metadata.deletionTimestamp'] > a['metadata.creationTimestamp'], 'deletionTimestamp does not count the grace')
    t.code(t.get(p), 200)


@check
def a_bound_pod_gets_the_grace_of_its_spec(t):
    p = bound(t, terminationGracePeriodSeconds=7)
    t.has(t.code(t.delete(p), 200), 'metadata.deletionGracePeriodSeconds', 7)


@check
def a_bound_pod_gets_the_grace_of_the_request(t):
    p = bound(t)
    t.has(t.code(t.delete(p, {'gracePeriodSeconds': 3}), 200), 'metadata.deletionGracePeriodSeconds', 3)
    q = bound(t, 'b')
    t.has(t.code(t.delete(q, gracePeriodSeconds=4), 200), 'metadata.deletionGracePeriodSeconds', 4)


@check
def grace_zero_deletes_at_once(t):
    p = bound(t)
    t.code(t.delete(p, {'gracePeriodSeconds': 0}), 200)
    t.code(t.get(p), 404)


@check
def grace_zero_ends_a_graceful_deletion(t):
    p = bound(t)
    t.code(t.delete(p), 200)
    t.code(t.delete(p, {'gracePeriodSeconds': 0}), 200)
    t.code(t.get(p), 404)


@check
def grace_can_be_shortened_but_not_extended(t):
    p = bound(t)
    t.code(t.delete(p, {'gracePeriodSeconds': 20}), 200)
    t.has(t.code(t.delete(p, {'gracePeriodSeconds': 10}), 200), 'metadata.deletionGracePeriodSeconds', 10)
    t.code(t.delete(p, {'gracePeriodSeconds': 25}), 200)
    t.has(t.read(p), 'metadata.deletionGracePeriodSeconds', 10)


@check
def a_pod_without_a_node_goes_at_once(t):
    t.make(t.pods(), pod('a'))
    t.code(t.delete(f'{t.pods()}/a'), 200)
    t.code(t.get(f'{t.pods()}/a'), 404)


@check
def a_finished_pod_goes_at_once(t):
    p = bound(t)
    t.code(t.patch(f'{p}/status', {'status': {'phase': 'Succeeded'}}), 200)
    t.code(t.delete(p), 200)
    t.code(t.get(p), 404)


@check
def negative_grace_counts_as_one_second(t):
    p = bound(t)
    t.has(t.code(t.delete(p, {'gracePeriodSeconds': -5}), 200), 'metadata.deletionGracePeriodSeconds', 1)


@check
def a_graceful_deletion_counts_as_a_new_generation(t):
    p = bound(t)
    t.has(t.code(t.delete(p), 200), 'metadata.generation', 2)


# ---- collections ----

@check
def deletecollection_empties_a_namespace(t):
    for n in 'abc':
        made(t, n)
    a = t.code(t.delete(t.maps()), 200)
    t.has(a, 'kind', 'ConfigMapList')
    t.eq(names(a), ['a', 'b', 'c'], 'what was deleted')
    t.eq(names(t.read(t.maps())), [], 'what is left')


@check
def deletecollection_obeys_selectors(t):
    made(t, 'a', labels={'x': 'y'})
    made(t, 'b')
    made(t, 'c')
    t.code(t.delete(t.maps(), labelSelector='x=y'), 200)
    t.eq(names(t.read(t.maps())), ['b', 'c'], 'by label')
    t.code(t.delete(t.maps(), fieldSelector='metadata.name=b'), 200)
    t.eq(names(t.read(t.maps())), ['c'], 'by field')


@check
def deletecollection_leaves_other_namespaces_alone(t):
    other = t.name('api')
    t.make('/api/v1/namespaces', {'metadata': {'name': other}})
    t.make(f'/api/v1/namespaces/{other}/configmaps', config_map('x'))
    made(t)
    t.code(t.delete(t.maps()), 200)
    t.code(t.get(f'/api/v1/namespaces/{other}/configmaps/x'), 200)


@check
def deletecollection_obeys_finalizers_and_grace(t):
    bound(t)
    bound(t, 'b')
    t.code(t.delete(t.pods(), {'gracePeriodSeconds': 5}), 200)
    for item in t.read(t.pods())['items']:
        t.has(item, 'metadata.deletionGracePeriodSeconds', 5)


@check
def deletecollection_dry_run_deletes_nothing(t):
    made(t)
    t.code(t.delete(t.maps(), dryRun='All'), 200)
    t.eq(names(t.read(t.maps())), ['a'], 'names')


@check
def deletecollection_of_namespaces_is_not_allowed(t):
    t.status(t.delete('/api/v1/namespaces', labelSelector='none=such'), 405, 'MethodNotAllowed')


# ---- owners ----

@check
def owner_references_are_kept(t):
    ref = {'apiVersion': 'v1', 'kind': 'Pod', 'name': 'o', 'uid': 'u1', 'controller': True, 'blockOwnerDeletion': True}
    t.has(t.make(t.maps(), config_map('a', ownerReferences=[ref])), 'metadata.ownerReferences', [ref])


@check
def owner_references_need_all_fields(t):
    t.invalid(t.post(t.maps(), config_map('a', ownerReferences=[{'apiVersion': 'v1', 'kind': 'Pod', 'name': 'o', 'uid': ''}])),
              ('FieldValueInvalid', 'metadata.ownerReferences.uid'), part='must not be empty')


@check
def only_one_owner_is_the_controller(t):
    refs = [{'apiVersion': 'v1', 'kind': 'Pod', 'name': n, 'uid': n, 'controller': True} for n in 'ab']
    t.invalid(t.post(t.maps(), config_map('a', ownerReferences=refs)), ('FieldValueInvalid', 'metadata.ownerReferences'),
              part='Only one reference can have Controller set to true')


RETURNED = (  # path, object: what DELETE answers with, instead of a Status
    ('/apis/storage.k8s.io/v1/csidrivers', {'spec': {}}),
    ('/apis/storage.k8s.io/v1/csinodes', {'spec': {'drivers': []}}),
    ('/apis/storage.k8s.io/v1/storageclasses', {'provisioner': 'example.com/none'}),
    ('/apis/storage.k8s.io/v1/volumeattachments', {'spec': {'attacher': 'a', 'nodeName': 'n', 'source': {'persistentVolumeName': 'v'}}}),
    ('/apis/storage.k8s.io/v1/volumeattributesclasses', {'driverName': 'a.com', 'parameters': {'a': 'b'}}),
    ('/apis/resource.k8s.io/v1/deviceclasses', {'spec': {}}),
    ('/apis/resource.k8s.io/v1/resourceslices', {'spec': {'driver': 'a.com', 'allNodes': True, 'pool': {
        'name': 'p', 'generation': 1, 'resourceSliceCount': 1}, 'devices': [{'name': 'd'}]}}),
    ('/apis/resource.k8s.io/v1/namespaces/{ns}/resourceclaims', {'spec': {}}),
    ('/apis/resource.k8s.io/v1/namespaces/{ns}/resourceclaimtemplates', {'spec': {'spec': {}}}),
    ('/api/v1/namespaces/{ns}/podtemplates', {'template': {'spec': {'containers': [{'name': 'c', 'image': 'i'}]}}}),
    ('/api/v1/namespaces/{ns}/resourcequotas', {'spec': {}}),
    ('/api/v1/namespaces/{ns}/services', {'spec': {'ports': [{'port': 1}]}}),
)
TOLD = (
    ('/apis/storage.k8s.io/v1/namespaces/{ns}/csistoragecapacities', {'storageClassName': 's'}),
    ('/apis/scheduling.k8s.io/v1/priorityclasses', {'value': 1}),
    ('/api/v1/namespaces/{ns}/configmaps', {}),
)


@check
def some_kinds_are_answered_when_they_are_deleted(t):
    for row in RETURNED + TOLD:
        path, name = row[0].format(ns=t.ns), t.name()
        made = t.make(path, {'metadata': {'name': name}, **row[1]})
        a = t.code(t.delete(f'{path}/{name}'), 200)
        t.eq(a['kind'], made['kind'] if row in RETURNED else 'Status', f'kind of the answer for {path}')
