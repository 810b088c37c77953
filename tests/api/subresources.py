"""subresources.py - status, scale, binding, ephemeral containers, eviction, finalize; what each may and may not change."""
from client import STRATEGIC, check, deployment, node, pod


def pending(t, name='a', **kw):
    t.make(t.pods(), pod(name, **kw))
    return f'{t.pods()}/{name}'


def bind(t, name, target, **more):
    body = {'apiVersion': 'v1', 'kind': 'Binding', 'metadata': {'name': name, **more},
            'target': {'apiVersion': 'v1', 'kind': 'Node', 'name': target}}
    return t.post(f'{t.pods()}/{name}/binding', body)


def condition(obj, kind):
    return next((c for c in obj['status'].get('conditions', []) if c['type'] == kind), None)


# ---- status ----

@check
def status_update_changes_the_status_only(t):
    p = pending(t)
    obj = t.read(p)
    obj['status']['phase'] = 'Running'
    obj['spec']['activeDeadlineSeconds'] = 5
    a = t.code(t.put(f'{p}/status', obj), 200)
    t.has(a, 'status.phase', 'Running')
    t.has(a, 'spec.activeDeadlineSeconds', None)


@check
def status_is_ignored_by_a_plain_update(t):
    p = pending(t)
    obj = t.read(p)
    obj['status']['phase'] = 'Running'
    t.has(t.code(t.put(p, obj), 200), 'status.phase', 'Pending')


@check
def status_is_reset_on_create(t):
    body = {**pod('a'), 'status': {'phase': 'Running', 'hostIP': '1.2.3.4'}}
    got = t.make(t.pods(), body)
    t.has(got, 'status.phase', 'Pending')
    t.has(got, 'status.hostIP', None)


@check
def status_of_a_node_is_kept_on_create(t):
    n = t.name('node')
    got = t.make('/api/v1/nodes', node(n, {'capacity': {'cpu': '4'}, 'allocatable': {'cpu': '3500m'}}))
    t.has(got, 'status.capacity', {'cpu': '4'})
    t.has(got, 'status.allocatable', {'cpu': '3500m'})


@check
def status_can_be_read_alone(t):
    p = pending(t)
    t.has(t.code(t.get(f'{p}/status'), 200), 'kind', 'Pod')


@check
def status_patch_may_change_labels_of_a_pod(t):
    p = pending(t)
    a = t.code(t.patch(f'{p}/status', {'status': {'message': 'x'}, 'metadata': {'annotations': {'a': 'b'}}}, STRATEGIC), 200)
    t.has(a, 'status.message', 'x')
    t.has(a, 'metadata.annotations', {'a': 'b'})


@check
def status_update_obeys_optimistic_locking(t):
    p = pending(t)
    old = t.read(p)
    t.code(t.patch(f'{p}/status', {'status': {'message': 'x'}}), 200)
    t.status(t.put(f'{p}/status', old), 409, 'Conflict')


@check
def status_of_a_deployment_holds_counts(t):
    path = t.at('deployments', 'apps')
    t.make(path, deployment('d', {'replicas': 2}))
    a = t.code(t.patch(f'{path}/d/status', {'status': {'replicas': 2, 'readyReplicas': 1, 'observedGeneration': 1},
                                            'spec': {'replicas': 9}}), 200)
    t.has(a, 'status.readyReplicas', 1)
    t.has(a, 'spec.replicas', 2)


@check
def status_with_a_negative_count_is_invalid(t):
    path = t.at('deployments', 'apps')
    t.make(path, deployment('d'))
    t.invalid(t.patch(f'{path}/d/status', {'status': {'replicas': -1}}), ('FieldValueInvalid', 'status.replicas'))


@check
def subresource_that_does_not_exist_is_not_found(t):
    p = pending(t)
    t.status(t.get(f'{p}/nothing'), 404, 'NotFound', 'the server could not find the requested resource')


@check
def subresource_of_an_object_that_does_not_exist_is_not_found(t):
    t.status(t.patch(f'{t.pods()}/nope/status', {'status': {}}), 404, 'NotFound', 'pods "nope" not found')


# ---- scale ----

@check
def scale_is_read_as_a_scale(t):
    path = t.at('deployments', 'apps')
    made = t.make(path, deployment('d', {'replicas': 3}))
    a = t.code(t.get(f'{path}/d/scale'), 200)
    t.has(a, 'kind', 'Scale')
    t.has(a, 'apiVersion', 'autoscaling/v1')
    t.has(a, 'spec.replicas', 3)
    t.has(a, 'status.replicas', 0)
    t.has(a, 'status.selector', 'app=x')
    for key in ('name', 'namespace', 'uid', 'resourceVersion', 'creationTimestamp'):
        t.has(a, f'metadata.{key}', made['metadata'][key])


@check
def scale_update_sets_the_replicas(t):
    path = t.at('deployments', 'apps')
    t.make(path, deployment('d', {'replicas': 1}))
    scale = t.read(f'{path}/d/scale')
    scale['spec']['replicas'] = 4
    t.has(t.code(t.put(f'{path}/d/scale', scale), 200), 'spec.replicas', 4)
    d = t.read(f'{path}/d')
    t.has(d, 'spec.replicas', 4)
    t.has(d, 'metadata.generation', 2)


@check
def scale_update_obeys_optimistic_locking(t):
    path = t.at('deployments', 'apps')
    t.make(path, deployment('d', {'replicas': 1}))
    scale = t.read(f'{path}/d/scale')
    t.code(t.patch(f'{path}/d', {'metadata': {'labels': {'x': 'y'}}}), 200)
    scale['spec']['replicas'] = 4
    t.status(t.put(f'{path}/d/scale', scale), 409, 'Conflict', part='the object has been modified')


@check
def scale_patch_works(t):
    for plural, kind in (('deployments', 'Deployment'), ('replicasets', 'ReplicaSet')):
        path = t.at(plural, 'apps')
        t.make(path, {**deployment('d', {'replicas': 1}), 'kind': kind})
        t.has(t.code(t.patch(f'{path}/d/scale', {'spec': {'replicas': 2}}), 200), 'spec.replicas', 2)


@check
def scale_below_zero_is_invalid(t):
    path = t.at('deployments', 'apps')
    t.make(path, deployment('d', {'replicas': 1}))
    t.invalid(t.patch(f'{path}/d/scale', {'spec': {'replicas': -1}}), ('FieldValueInvalid', 'spec.replicas'),
              part='must be greater than or equal to 0')


@check
def scale_that_cannot_be_read_changes_nothing(t):
    path = t.at('deployments', 'apps')
    t.make(path, deployment('d', {'replicas': 2}))
    t.status(t.put(f'{path}/d/scale', {'metadata': {'name': 'd'}, 'spec': {'replicas': 'x'}}), 400, 'BadRequest',
             part='replicas')
    t.status(t.put(f'{path}/d/scale', {'spec': {'replicas': 0}}), 400, 'BadRequest', part='name must be provided')
    t.status(t.put(f'{path}/d/scale', {'metadata': {'name': 'e'}, 'spec': {'replicas': 0}}), 400, 'BadRequest')
    t.status(t.put(f'{path}/d/scale', {'apiVersion': 'apps/v1', 'kind': 'Scale', 'metadata': {'name': 'd'}}), 400, 'BadRequest')
    t.has(t.read(f'{path}/d'), 'spec.replicas', 2)


@check
def scale_does_not_exist_for_jobs(t):
    t.status(t.get(f'{t.at("jobs", "batch")}/j/scale'), 404, 'NotFound')


# ---- binding ----

@check
def binding_sets_the_node_and_the_scheduled_condition(t):
    p = pending(t)
    a = t.code(bind(t, 'a', 'n1'), 201)
    t.has(a, 'kind', 'Status')
    t.has(a, 'status', 'Success')
    obj = t.read(p)
    t.has(obj, 'spec.nodeName', 'n1')
    c = condition(obj, 'PodScheduled')
    t.true(c and c['status'] == 'True' and c['lastTransitionTime'], f'condition {c}')


@check
def binding_twice_is_a_conflict(t):
    pending(t)
    t.code(bind(t, 'a', 'n1'), 201)
    t.status(bind(t, 'a', 'n2'), 409, 'Conflict',
             'Operation cannot be fulfilled on pods/binding "a": pod a is already assigned to node "n1"')


@check
def binding_of_what_is_not_there_is_not_found(t):
    t.status(bind(t, 'nope', 'n1'), 404, 'NotFound', 'pods "nope" not found')


@check
def binding_of_a_pod_in_deletion_is_a_conflict(t):
    p = pending(t, finalizers=['e.com/x'])
    t.code(t.delete(p), 200)
    t.status(bind(t, 'a', 'n1'), 409, 'Conflict', part='pod a is being deleted, cannot be assigned to a host')


@check
def binding_of_a_gated_pod_is_a_conflict(t):
    pending(t, spec={'schedulingGates': [{'name': 'e.com/wait'}]})
    t.status(bind(t, 'a', 'n1'), 409, 'Conflict', part='pod a has non-empty .spec.schedulingGates')


@check
def binding_with_another_uid_is_a_conflict(t):
    pending(t)
    a = bind(t, 'a', 'n1', uid='11111111-1111-4111-8111-111111111111')
    t.status(a, 409, 'Conflict', part='Precondition failed: UID in precondition: 11111111-1111-4111-8111-111111111111')


@check
def binding_copies_its_annotations_to_the_pod(t):
    p = pending(t)
    t.code(bind(t, 'a', 'n1', annotations={'e.com/devices': '0,1'}), 201)
    t.has(t.read(p), 'metadata.annotations', {'e.com/devices': '0,1'})


@check
def annotations_of_a_binding_replace_those_of_the_pod_and_leave_the_others(t):
    p = pending(t, annotations={'e.com/devices': 'none', 'e.com/other': 'stays'})
    t.code(bind(t, 'a', 'n1', annotations={'e.com/devices': '0,1', 'e.com/new': 'x'}), 201)
    t.has(t.read(p), 'metadata.annotations', {'e.com/devices': '0,1', 'e.com/new': 'x', 'e.com/other': 'stays'})


@check
def a_binding_that_is_refused_leaves_no_annotations(t):
    p = pending(t, annotations={'e.com/other': 'stays'})
    t.code(bind(t, 'a', 'n1', uid='11111111-1111-4111-8111-111111111111', annotations={'e.com/devices': '0,1'}), 409)
    t.has(t.read(p), 'metadata.annotations', {'e.com/other': 'stays'})
    t.code(bind(t, 'a', 'n1'), 201)
    t.code(bind(t, 'a', 'n2', annotations={'e.com/devices': '0,1'}), 409)
    t.has(t.read(p), 'metadata.annotations', {'e.com/other': 'stays'})


@check
def binding_without_a_target_is_invalid(t):
    pending(t)
    a = t.post(f'{t.pods()}/a/binding', {'metadata': {'name': 'a'}})
    t.status(a, 500, None, 'target.name: Required value')  # field errors without their envelope, as upstream


@check
def binding_to_another_kind_than_a_node_is_invalid(t):
    pending(t)
    a = t.post(f'{t.pods()}/a/binding', {'metadata': {'name': 'a'}, 'target': {'kind': 'Pod', 'name': 'n'}})
    t.status(a, 500, None, part='target.kind: Unsupported value: "Pod"')


@check
def binding_does_not_count_as_a_new_generation(t):
    p = pending(t)
    before = t.read(p)['metadata']['generation']
    t.code(bind(t, 'a', 'n1'), 201)
    t.has(t.read(p), 'metadata.generation', before)


@check
def binding_dry_run_binds_nothing(t):
    p = pending(t)
    body = {'metadata': {'name': 'a'}, 'target': {'kind': 'Node', 'name': 'n1'}}
    t.code(t.post(f'{p}/binding', body, dryRun='All'), 201)
    t.has(t.read(p), 'spec.nodeName', None)

# ---- ephemeral containers ----

DEBUG = {'name': 'debug', 'image': 'registry.example/tool:1'}


def debugged(*containers):
    return {'spec': {'ephemeralContainers': [*containers]}}


@check
def ephemeral_containers_are_added_with_their_defaults(t):
    p = pending(t)
    a = t.code(t.patch(f'{p}/ephemeralcontainers', debugged(DEBUG), STRATEGIC), 200)
    t.has(a, 'kind', 'Pod')
    t.eq(a['spec.ephemeralContainers'], [{**DEBUG, 'resources': {}, 'terminationMessagePath': '/dev/termination-log',
                                          'terminationMessagePolicy': 'File', 'imagePullPolicy': 'IfNotPresent'}], 'containers')
    t.eq(t.read(f'{p}/ephemeralcontainers')['spec'], t.read(p)['spec'], 'what the path shows')
    t.has(t.read(p), 'metadata.generation', 2)


@check
def ephemeral_containers_are_added_one_after_another(t):
    p = pending(t)
    for i in range(3):
        t.code(t.patch(f'{p}/ephemeralcontainers', debugged({**DEBUG, 'name': f'd{i}', 'targetContainerName': 'main'}), STRATEGIC),
               200)
    t.eq([c['name'] for c in t.read(p)['spec']['ephemeralContainers']], ['d2', 'd1', 'd0'], 'names, the newest first')


@check
def ephemeral_containers_are_all_that_an_update_changes(t):
    p = pending(t)
    obj = t.read(p)
    obj['spec']['ephemeralContainers'] = [DEBUG]
    obj['spec']['activeDeadlineSeconds'] = 5
    obj['metadata']['labels'] = {'a': 'b'}
    obj['status']['phase'] = 'Running'
    a = t.code(t.put(f'{p}/ephemeralcontainers', obj), 200)
    t.eq((a['spec.ephemeralContainers.0.name'], a['spec.activeDeadlineSeconds'], a['metadata.labels'], a['status.phase']),
         ('debug', None, None, 'Pending'), 'pod')


@check
def ephemeral_containers_never_change_or_go(t):
    p = pending(t)
    t.code(t.patch(f'{p}/ephemeralcontainers', debugged(DEBUG), STRATEGIC), 200)
    t.invalid(t.patch(f'{p}/ephemeralcontainers', debugged({**DEBUG, 'image': 'registry.example/tool:2'}), STRATEGIC),
              ('FieldValueForbidden', 'spec.ephemeralContainers'))
    obj = t.read(p)
    obj['spec'].pop('ephemeralContainers')
    t.invalid(t.put(f'{p}/ephemeralcontainers', obj), ('FieldValueForbidden', 'spec.ephemeralContainers'),
              part='existing ephemeral containers "debug" may not be removed')
    t.eq([c['image'] for c in t.read(p)['spec']['ephemeralContainers']], ['registry.example/tool:1'], 'images')


@check
def ephemeral_containers_do_not_come_through_the_pod(t):
    p = pending(t)
    t.invalid(t.patch(p, debugged(DEBUG), STRATEGIC), ('FieldValueForbidden', 'spec'))
    t.has(t.read(p), 'spec.ephemeralContainers', None)


EPHEMERAL = 'spec.ephemeralContainers[0]'
for _name, _more, _causes in (
        ('without_a_name', {'name': ''}, [('FieldValueRequired', f'{EPHEMERAL}.name')]),
        ('with_a_bad_name', {'name': 'Bad_'}, [('FieldValueInvalid', f'{EPHEMERAL}.name')]),
        ('named_like_a_container', {'name': 'main'}, [('FieldValueDuplicate', f'{EPHEMERAL}.name')]),
        ('without_an_image', {'image': ''}, [('FieldValueRequired', f'{EPHEMERAL}.image')]),
        ('of_an_unknown_target', {'targetContainerName': 'nobody'}, [('FieldValueNotFound', f'{EPHEMERAL}.targetContainerName')]),
        ('with_ports', {'ports': [{'containerPort': 80}]}, [('FieldValueForbidden', f'{EPHEMERAL}.ports')]),
        ('with_resources', {'resources': {'limits': {'cpu': '1'}}}, [('FieldValueForbidden', f'{EPHEMERAL}.resources')]),
        ('with_a_probe', {'livenessProbe': {'exec': {'command': ['x']}}}, [('FieldValueForbidden', f'{EPHEMERAL}.livenessProbe')]),
        ('with_a_hook', {'lifecycle': {'preStop': {'exec': {'command': ['x']}}}},
         [('FieldValueForbidden', f'{EPHEMERAL}.lifecycle')]),
        ('with_an_unknown_volume', {'volumeMounts': [{'name': 'v', 'mountPath': '/v'}]},
         [('FieldValueNotFound', f'{EPHEMERAL}.volumeMounts[0].name')])):
    def _refused(t, more=_more, causes=_causes):
        p = pending(t)
        obj = t.read(p)
        obj['spec']['ephemeralContainers'] = [{**DEBUG, **more}]
        t.invalid(t.put(f'{p}/ephemeralcontainers', obj), *causes)
        t.has(t.read(p), 'spec.ephemeralContainers', None)
    _refused.__name__ = f'ephemeral_containers_{_name}_are_refused'
    check(_refused)


@check
def ephemeral_containers_of_what_is_not_there_are_not_found(t):
    t.status(t.patch(f'{t.pods()}/nobody/ephemeralcontainers', debugged(DEBUG), STRATEGIC), 404, 'NotFound')
    t.code(t.delete(f'{pending(t)}/ephemeralcontainers'), 405)


@check
def ephemeral_containers_of_a_dry_run_are_not_kept(t):
    p = pending(t)
    t.code(t.patch(f'{p}/ephemeralcontainers', debugged(DEBUG), STRATEGIC, dryRun='All'), 200)
    t.has(t.read(p), 'spec.ephemeralContainers', None)


# ---- eviction ----

def evict(t, name, **more):
    body = {'apiVersion': 'policy/v1', 'kind': 'Eviction', 'metadata': {'name': name, 'namespace': t.ns}, **more}
    return t.post(f'{t.pods()}/{name}/eviction', body)


def budget(t, allowed=None, name='b', healthy=1, **spec):
    path = t.at('poddisruptionbudgets', 'policy')
    made = t.make(path, {'metadata': {'name': name}, 'spec': {'minAvailable': 1,
                                                             'selector': {'matchLabels': {'app': 'x'}}, **spec}})
    if allowed is not None:
        t.code(t.patch(f'{path}/{name}/status', {'status': {
            'observedGeneration': made['metadata']['generation'], 'disruptionsAllowed': allowed, 'currentHealthy': healthy,
            'desiredHealthy': 1, 'expectedPods': 1}}), 200)
    return f'{path}/{name}'


def running(t, name='a', ready='True'):
    p = pending(t, name, labels={'app': 'x'}, spec={'nodeName': 'n1', 'terminationGracePeriodSeconds': 0})
    t.code(t.patch(f'{p}/status', {'status': {'phase': 'Running', 'conditions': [{'type': 'Ready', 'status': ready}]}}), 200)
    return p


@check
def eviction_without_a_budget_deletes(t):
    p = running(t)
    a = t.code(evict(t, 'a'), 201)
    t.has(a, 'status', 'Success')
    t.code(t.get(p), 404)


@check
def eviction_of_what_is_not_there_is_not_found(t):
    t.status(evict(t, 'nope'), 404, 'NotFound', 'pods "nope" not found')


@check
def eviction_under_a_spent_budget_is_too_many_requests(t):
    p = running(t)
    budget(t, 0)
    a = t.status(evict(t, 'a'), 429, 'TooManyRequests', "Cannot evict pod as it would violate the pod's disruption budget.",
                 causes=[('DisruptionBudget', None, 'The disruption budget b needs 1 healthy pods and has 1 currently')])
    t.code(t.get(p), 200)
    t.eq(a['details.causes.0.message'], 'The disruption budget b needs 1 healthy pods and has 1 currently', 'cause')


@check
def eviction_under_an_unobserved_budget_says_to_try_later(t):
    running(t)
    budget(t)
    a = t.status(evict(t, 'a'), 429, 'TooManyRequests', causes=[
        ('DisruptionBudget', None, 'The disruption budget b is still being processed by the server.')])
    t.eq(a.headers.get('Retry-After'), '10', 'Retry-After')
    t.has(a, 'details.retryAfterSeconds', 10)


@check
def eviction_spends_the_budget_and_notes_the_pod(t):
    running(t)
    b = budget(t, 1)
    t.code(evict(t, 'a'), 201)
    obj = t.read(b)
    t.has(obj, 'status.disruptionsAllowed', 0)
    t.true('a' in (obj['status'].get('disruptedPods') or {}), f'status {obj["status"]}')


@check
def eviction_under_two_budgets_is_an_error(t):
    running(t)
    budget(t, 1)
    budget(t, 1, 'c')
    a = evict(t, 'a')
    t.eq(a.code, 500, f'code of {a}')
    t.true('does not support' in a['message'], a['message'])


@check
def eviction_of_a_pending_pod_needs_no_budget(t):
    p = pending(t, labels={'app': 'x'})
    budget(t, 0)
    t.code(evict(t, 'a'), 201)
    t.code(t.get(p), 404)


@check
def eviction_of_an_unready_pod_needs_no_budget_when_enough_are_healthy(t):
    p = running(t, ready='False')
    budget(t, 0, healthy=1)
    t.code(evict(t, 'a'), 201)
    t.code(t.get(p), 404)


@check
def eviction_of_an_unready_pod_with_always_allow(t):
    p = running(t, ready='False')
    budget(t, 0, healthy=0, unhealthyPodEvictionPolicy='AlwaysAllow')
    t.code(evict(t, 'a'), 201)
    t.code(t.get(p), 404)


@check
def eviction_must_name_its_pod(t):
    p = running(t)
    for body in ({}, {'metadata': {'name': 'other'}}):
        t.status(t.post(f'{p}/eviction', body), 400, 'BadRequest', 'name in URL does not match name in Eviction object')
    t.code(t.get(p), 200)


@check
def eviction_obeys_preconditions(t):
    running(t)
    a = evict(t, 'a', deleteOptions={'preconditions': {'uid': '11111111-1111-4111-8111-111111111111'}})
    t.status(a, 409, 'Conflict')


@check
def eviction_dry_run_deletes_nothing(t):
    p = running(t)
    b = budget(t, 1)
    t.code(evict(t, 'a', deleteOptions={'dryRun': ['All']}), 201)
    t.code(t.get(p), 200)
    t.has(t.read(b), 'status.disruptionsAllowed', 1)


@check
def eviction_obeys_the_grace_period(t):
    p = pending(t, spec={'nodeName': 'n1'})
    t.code(t.patch(f'{p}/status', {'status': {'phase': 'Running'}}), 200)
    t.code(evict(t, 'a'), 201)
    obj = t.read(p)
    t.has(obj, 'metadata.deletionGracePeriodSeconds', 30)


# ---- others ----

@check
def finalize_ends_a_namespace(t):
    ns = t.name('api')
    made = t.make('/api/v1/namespaces', {'metadata': {'name': ns}})
    t.has(made, 'spec.finalizers', ['kubernetes'])
    t.code(t.delete(f'/api/v1/namespaces/{ns}'), 200)
    obj = t.read(f'/api/v1/namespaces/{ns}')
    obj['spec']['finalizers'] = []
    t.code(t.put(f'/api/v1/namespaces/{ns}/finalize', obj), 200)
    t.code(t.get(f'/api/v1/namespaces/{ns}'), 404)


@check
def a_token_can_be_asked_for(t):
    t.make(t.at('serviceaccounts'), {'metadata': {'name': 'sa'}})
    a = t.code(t.post(f'{t.at("serviceaccounts")}/sa/token', {'spec': {'expirationSeconds': 600}}), 201)
    t.true(a['status.token'].count('.') == 2 and a['status.expirationTimestamp'], str(a))
