"""admission.py - what the server adds to or refuses of good requests: priorities, tolerations, namespaces, defaults."""
import client
from client import check, config_map, deployment, dig, job, node, pod

CLASSES = '/apis/scheduling.k8s.io/v1/priorityclasses'


def priority_class(t, value=1000, **more):
    name = t.name('pc')
    t.make(CLASSES, {'apiVersion': 'scheduling.k8s.io/v1', 'kind': 'PriorityClass', 'metadata': {'name': name},
                     'value': value, **more})
    return name


# ---- priority ----

@check
def priority_of_a_pod_comes_from_its_class(t):
    name = priority_class(t, 1234)
    got = t.make(t.pods(), pod('a', {'priorityClassName': name}))
    t.has(got, 'spec.priority', 1234)
    t.has(got, 'spec.preemptionPolicy', 'PreemptLowerPriority')


@check
def priority_without_a_class_is_zero(t):
    got = t.make(t.pods(), pod('a'))
    t.has(got, 'spec.priority', 0)
    t.has(got, 'spec.preemptionPolicy', 'PreemptLowerPriority')


@check
def replace_without_a_priority_keeps_it(t):
    name = priority_class(t, 77, preemptionPolicy='Never')
    t.make(t.pods(), pod('a', {'priorityClassName': name}))
    got = t.code(t.put(f'{t.pods()}/a', pod('a', {'priorityClassName': name})), 200)
    t.has(got, 'spec.priority', 77)
    t.has(got, 'spec.preemptionPolicy', 'Never')
    t.invalid(t.put(f'{t.pods()}/a', pod('a', {'priorityClassName': name, 'priority': 5})), ('FieldValueForbidden', 'spec'))


@check
def priority_class_that_does_not_exist_is_forbidden(t):
    t.status(t.post(t.pods(), pod('a', {'priorityClassName': 'nope'})), 403, 'Forbidden',
             'pods "a" is forbidden: no PriorityClass with name nope was found')


@check
def priority_other_than_that_of_the_class_is_forbidden(t):
    name = priority_class(t, 1000)
    a = t.post(t.pods(), pod('a', {'priorityClassName': name, 'priority': 5}))
    t.status(a, 403, 'Forbidden', part='the integer value of priority (5) must not be provided in pod spec; '
             'priority admission controller computed 1000 from the given PriorityClass name')


@check
def preemption_policy_comes_from_the_class(t):
    name = priority_class(t, 10, preemptionPolicy='Never')
    t.has(t.make(t.pods(), pod('a', {'priorityClassName': name})), 'spec.preemptionPolicy', 'Never')


@check
def system_classes_are_there(t):
    for name, value in (('system-node-critical', 2000001000), ('system-cluster-critical', 2000000000)):
        t.has(t.read(f'{CLASSES}/{name}'), 'value', value)


@check
def system_classes_resolve(t):
    got = t.make(t.pods(), pod('a', {'priorityClassName': 'system-node-critical'}))
    t.has(got, 'spec.priority', 2000001000)


@check
def a_class_above_the_user_limit_is_forbidden(t):
    a = t.post(CLASSES, {'metadata': {'name': t.name('pc')}, 'value': 1000000001})
    t.eq(a.code in (403, 422), True, f'code of {a}')
    t.true('maximum allowed value of a user defined priority is 1000000000' in a['message'], a['message'])


@check
def a_class_with_a_system_name_is_forbidden(t):
    a = t.post(CLASSES, {'metadata': {'name': f'system-{t.name()}'}, 'value': 5})
    t.eq(a.code in (403, 422), True, f'code of {a}')
    t.true("priority class names with 'system-' prefix are reserved for system use only" in a['message'], a['message'])


@check
def the_value_of_a_class_is_immutable(t):
    name = priority_class(t, 10)
    t.invalid(t.patch(f'{CLASSES}/{name}', {'value': 11}), ('FieldValueForbidden', 'value'),
              part='may not be changed in an update')


@check(alone=True)
def the_global_default_class_is_used(t):
    name = priority_class(t, 77, globalDefault=True)

    def resolved():
        got = t.make(t.pods(), pod(t.name('p')))['spec']
        return (got.get('priorityClassName'), got['priority']) == (name, 77)
    t.until('the default class counts', resolved)


@check(alone=True)
def a_second_global_default_is_forbidden(t):
    def first():
        try:
            return priority_class(t, 77, globalDefault=True)
        except client.Failed:
            return None
    # A real server still remembers the class of an earlier check for a while.
    t.until('an earlier default is forgotten', first)
    seen = t.until('refusal', lambda: (a := t.post(CLASSES, {'metadata': {'name': t.name('pc')}, 'value': 5,
                                                             'globalDefault': True})).code != 201 and a)
    t.status(seen, 403, 'Forbidden', part='is already marked as default')


# ---- tolerations ----

@check
def default_tolerations_are_added(t):
    got = t.make(t.pods(), pod('a'))['spec']['tolerations']
    t.eq(got, [{'key': f'node.kubernetes.io/{k}', 'operator': 'Exists', 'effect': 'NoExecute', 'tolerationSeconds': 300}
               for k in ('not-ready', 'unreachable')], 'tolerations')


@check
def default_tolerations_leave_ones_own(t):
    own = {'key': 'node.kubernetes.io/not-ready', 'operator': 'Exists', 'effect': 'NoExecute', 'tolerationSeconds': 5}
    got = t.make(t.pods(), pod('a', {'tolerations': [own]}))['spec']['tolerations']
    t.eq([(x['key'], x['tolerationSeconds']) for x in got],
         [('node.kubernetes.io/not-ready', 5), ('node.kubernetes.io/unreachable', 300)], 'tolerations')


@check
def default_tolerations_are_not_needed_with_a_wildcard(t):
    got = t.make(t.pods(), pod('a', {'tolerations': [{'operator': 'Exists'}]}))
    t.has(got, 'spec.tolerations', [{'operator': 'Exists'}])


# ---- namespaces ----

@check
def a_namespace_is_active_and_labelled(t):
    obj = t.read(f'/api/v1/namespaces/{t.ns}')
    t.has(obj, 'status.phase', 'Active')
    t.has(obj, 'spec.finalizers', ['kubernetes'])
    t.eq(obj['metadata']['labels'], {'kubernetes.io/metadata.name': t.ns}, 'labels')


@check
def a_deleted_namespace_terminates(t):
    ns = t.name('api')
    t.make('/api/v1/namespaces', {'metadata': {'name': ns}})
    a = t.code(t.delete(f'/api/v1/namespaces/{ns}'), 200)
    t.has(a, 'status.phase', 'Terminating')
    t.true(a['metadata.deletionTimestamp'], 'no deletionTimestamp')


@check
def a_terminating_namespace_takes_nothing_new(t):
    ns = t.name('api')
    t.make('/api/v1/namespaces', {'metadata': {'name': ns}})
    t.code(t.delete(f'/api/v1/namespaces/{ns}'), 200)
    a = t.status(t.post(f'/api/v1/namespaces/{ns}/configmaps', config_map('a')), 403, 'Forbidden',
                 f'configmaps "a" is forbidden: unable to create new content in namespace {ns} because it is being terminated',
                 causes=[('NamespaceTerminating', 'metadata.namespace')])
    t.has(a, 'details.name', 'a')


@check
def a_terminating_namespace_takes_no_subresource_that_is_made(t):
    ns = t.name('api')
    t.make('/api/v1/namespaces', {'metadata': {'name': ns}})
    body = pod('a')
    body['metadata']['finalizers'] = ['example.com/stays']
    t.make(f'/api/v1/namespaces/{ns}/pods', body)
    t.code(t.delete(f'/api/v1/namespaces/{ns}'), 200)
    at = f'/api/v1/namespaces/{ns}'
    for path, made in ((f'{at}/pods/a/eviction', {'apiVersion': 'policy/v1', 'kind': 'Eviction', 'metadata': {'name': 'a'}}),
                       (f'{at}/pods/a/binding', {'metadata': {'name': 'a'}, 'target': {'kind': 'Node', 'name': 'n'}})):
        t.status(t.post(path, made), 403, 'Forbidden',
                 f'pods "a" is forbidden: unable to create new content in namespace {ns} because it is being terminated',
                 causes=[('NamespaceTerminating', 'metadata.namespace')])
    t.code(t.patch(f'{at}/pods/a', {'metadata': {'finalizers': None}}), 200)


@check
def a_namespace_is_not_terminating_because_of_its_labels(t):
    ns = t.name('api')
    marks = {'deletionTimestamp': 'x'}
    t.make('/api/v1/namespaces', {'metadata': {'name': ns, 'labels': marks, 'annotations': marks}})
    t.code(t.post(f'/api/v1/namespaces/{ns}/configmaps', config_map('a')), 201)


@check
def the_namespaces_of_the_system_are_there(t):
    for ns in ('default', 'kube-system', 'kube-public', 'kube-node-lease'):
        t.code(t.get(f'/api/v1/namespaces/{ns}'), 200)


@check
def the_namespaces_of_the_system_cannot_be_deleted(t):
    for ns in ('default', 'kube-system', 'kube-public'):
        t.status(t.delete(f'/api/v1/namespaces/{ns}', dryRun='All'), 403, 'Forbidden',
                 f'namespaces "{ns}" is forbidden: this namespace may not be deleted')


# ---- nodes ----

@check
def a_new_node_is_tainted_until_it_is_ready(t):
    got = t.make('/api/v1/nodes', node(t.name('node')))
    t.has(got, 'spec.taints', [{'key': 'node.kubernetes.io/not-ready', 'effect': 'NoSchedule'}])


# ---- defaults ----

@check
def pod_defaults(t):
    spec = t.make(t.pods(), pod('a'))['spec']
    for key, want in (('restartPolicy', 'Always'), ('terminationGracePeriodSeconds', 30), ('dnsPolicy', 'ClusterFirst'),
                      ('schedulerName', 'default-scheduler'), ('enableServiceLinks', True), ('securityContext', {})):
        t.has(spec, key, want)


@check
def container_defaults(t):
    c = t.make(t.pods(), pod('a'))['spec']['containers'][0]
    t.has(c, 'terminationMessagePath', '/dev/termination-log')
    t.has(c, 'terminationMessagePolicy', 'File')
    t.has(c, 'imagePullPolicy', 'IfNotPresent')
    t.has(c, 'resources', {})


@check
def an_image_without_a_tag_is_always_pulled(t):
    for image, want in (('busybox', 'Always'), ('busybox:latest', 'Always'), ('r.io:5000/busybox:v1', 'IfNotPresent'),
                        ('busybox@sha256:' + 'a' * 64, 'IfNotPresent')):
        got = t.make(t.pods(), pod(t.name('p'), container={'image': image}))
        t.eq(got['spec']['containers'][0]['imagePullPolicy'], want, image)


@check
def requests_default_to_limits(t):
    got = t.make(t.pods(), pod('a', container={'resources': {'limits': {'cpu': '1', 'memory': '1Gi'},
                                                             'requests': {'cpu': '500m'}}}))
    t.eq(got['spec']['containers'][0]['resources']['requests'], {'cpu': '500m', 'memory': '1Gi'}, 'requests')


@check
def qos_class_follows_from_the_resources(t):
    for resources, want in (({}, 'BestEffort'), ({'requests': {'cpu': '1'}}, 'Burstable'),
                            ({'limits': {'cpu': '1', 'memory': '1Gi'}}, 'Guaranteed')):
        got = t.make(t.pods(), pod(t.name('p'), container={'resources': resources}))
        t.eq(got['status']['qosClass'], want, f'class for {resources}')


@check
def quantities_are_brought_to_their_canonical_form(t):
    got = t.make(t.pods(), pod('a', container={'resources': {'limits': {'cpu': '1000m', 'memory': '1024Mi'}}}))
    t.eq(got['spec']['containers'][0]['resources']['limits'], {'cpu': '1', 'memory': '1Gi'}, 'limits')
    got = t.make(t.pods(), pod('b', container={'resources': {'limits': {'cpu': ' 1500m ', 'memory': '1Gi  '}}}))
    t.eq(got['spec']['containers'][0]['resources']['limits'], {'cpu': '1500m', 'memory': '1Gi'}, 'limits with spaces around')
    bad = pod('c', container={'resources': {'limits': {'cpu': '1 500m'}}})
    t.status(t.post(t.pods(), bad), 400, 'BadRequest', part='quantities must match the regular expression')


@check
def probes_and_ports_get_defaults(t):
    c = t.make(t.pods(), pod('a', container={
        'ports': [{'containerPort': 80}], 'livenessProbe': {'httpGet': {'path': '/', 'port': 80}}}))['spec']['containers'][0]
    t.has(c, 'ports.0.protocol', 'TCP')
    for key, want in (('timeoutSeconds', 1), ('periodSeconds', 10), ('successThreshold', 1), ('failureThreshold', 3),
                      ('httpGet.scheme', 'HTTP')):
        t.has(c['livenessProbe'], key, want)


@check
def volumes_get_default_modes(t):
    got = t.make(t.pods(), pod('a', {'volumes': [{'name': 'c', 'configMap': {'name': 'x'}}, {'name': 'e'}]}))
    t.has(got, 'spec.volumes.0.configMap.defaultMode', 420)
    t.has(got, 'spec.volumes.1.emptyDir', {})


@check
def host_network_sets_host_ports(t):
    got = t.make(t.pods(), pod('a', {'hostNetwork': True}, container={'ports': [{'containerPort': 8080}]}))
    t.has(got, 'spec.containers.0.ports.0.hostPort', 8080)


@check
def service_account_and_its_old_name_agree(t):
    got = t.make(t.pods(), pod('a', {'serviceAccountName': 'sa'}))
    t.has(got, 'spec.serviceAccount', 'sa')


@check
def deployment_defaults(t):
    spec = t.make(t.at('deployments', 'apps'), deployment('d'))['spec']
    for key, want in (('replicas', 1), ('revisionHistoryLimit', 10), ('progressDeadlineSeconds', 600),
                      ('strategy', {'type': 'RollingUpdate', 'rollingUpdate': {'maxSurge': '25%', 'maxUnavailable': '25%'}}),
                      ('template.spec.restartPolicy', 'Always')):
        t.has(spec, key, want)


@check
def job_defaults(t):
    got = t.make(t.at('jobs', 'batch'), job('j'))
    for key, want in (('completions', 1), ('parallelism', 1), ('backoffLimit', 6), ('completionMode', 'NonIndexed'),
                      ('suspend', False)):
        t.has(got['spec'], key, want)


@check
def a_job_gets_a_selector_and_labels_of_its_uid(t):
    got = t.make(t.at('jobs', 'batch'), job('j'))
    uid = got['metadata']['uid']
    t.eq(got['spec']['selector']['matchLabels'], {'batch.kubernetes.io/controller-uid': uid}, 'selector')
    labels = got['spec']['template']['metadata']['labels']
    t.has(labels, 'app', 'x')
    t.eq(labels.get('batch.kubernetes.io/job-name'), 'j', 'job-name')
    t.eq(labels.get('controller-uid'), uid, 'controller-uid')


@check
def service_defaults(t):
    got = t.make(t.at('services'), {'metadata': {'name': 's'}, 'spec': {'ports': [{'port': 80}], 'selector': {'a': 'b'},
                                                                       'clusterIP': 'None'}})
    for key, want in (('type', 'ClusterIP'), ('sessionAffinity', 'None'), ('clusterIP', 'None'),
                      ('internalTrafficPolicy', 'Cluster')):
        t.has(got['spec'], key, want)
    t.eq((dig(got, 'spec.ports.0.protocol'), dig(got, 'spec.ports.0.targetPort')), ('TCP', 80), 'port')


@check
def secret_defaults_and_string_data(t):
    got = t.make(t.at('secrets'), {'metadata': {'name': 's'}, 'stringData': {'k': 'hello'}})
    t.has(got, 'type', 'Opaque')
    t.has(got, 'data', {'k': 'aGVsbG8='})
    t.has(got, 'stringData', None)


@check
def stateful_set_defaults(t):
    d = deployment('s', {'serviceName': 'x'})
    got = t.make(t.at('statefulsets', 'apps'), {**d, 'kind': 'StatefulSet'})
    for key, want in (('replicas', 1), ('podManagementPolicy', 'OrderedReady'), ('revisionHistoryLimit', 10),
                      ('updateStrategy', {'type': 'RollingUpdate', 'rollingUpdate': {'partition': 0}}),
                      ('persistentVolumeClaimRetentionPolicy', {'whenDeleted': 'Retain', 'whenScaled': 'Retain'})):
        t.has(got['spec'], key, want)


@check
def daemon_set_defaults(t):
    got = t.make(t.at('daemonsets', 'apps'), {**deployment('s'), 'kind': 'DaemonSet'})
    t.has(got, 'spec.updateStrategy', {'type': 'RollingUpdate', 'rollingUpdate': {'maxUnavailable': 1, 'maxSurge': 0}})
    t.has(got, 'spec.revisionHistoryLimit', 10)


@check
def pods_of_a_node_without_name_stay_pending(t):
    got = t.make(t.pods(), pod('a', {'nodeName': 'n1'}))
    t.has(got, 'status.phase', 'Pending')
    t.has(got, 'spec.nodeName', 'n1')


@check
def gated_pods_carry_the_condition(t):
    got = t.make(t.pods(), pod('a', {'schedulingGates': [{'name': 'e.com/wait'}]}))
    c = got['status']['conditions'][0]
    t.eq((c['type'], c['status'], c['reason']), ('PodScheduled', 'False', 'SchedulingGated'), 'condition')


# ---- limit ranges ----

def limit_range(t, *items):
    t.make(f'/api/v1/namespaces/{t.ns}/limitranges', {'metadata': {'name': 'limits'}, 'spec': {'limits': list(items)}})


def asking(name='a', requests=None, limits=None, **more):
    resources = {k: v for k, v in (('requests', requests), ('limits', limits)) if v}
    return pod(name, {'containers': [{'name': 'c', 'image': 'x', 'resources': resources}], **more})


def forbidden(t, path, body, message):
    a = t.code(t.post(path, body), 403)
    t.has(a, 'reason', 'Forbidden')
    t.eq(a['message'], message, 'message')


@check
def a_container_gets_the_defaults_of_its_namespace(t):
    limit_range(t, {'type': 'Container', 'default': {'cpu': '500m', 'memory': '1Gi'}, 'defaultRequest': {'cpu': '100m'}})
    got = t.make(t.pods(), asking(initContainers=[{'name': 'i', 'image': 'x'}]))
    t.has(got, 'spec.containers.0.resources', {'limits': {'cpu': '500m', 'memory': '1Gi'},
                                               'requests': {'cpu': '100m', 'memory': '1Gi'}})
    t.has(got, 'spec.initContainers.0.resources.limits.cpu', '500m')
    t.has(got, 'status.qosClass', 'Burstable')
    t.eq(got['metadata']['annotations']['kubernetes.io/limit-ranger'],
         'LimitRanger plugin set: cpu, memory request for container c; cpu, memory limit for container c; '
         'cpu, memory request for init container i; cpu, memory limit for init container i', 'annotation')


@check
def what_a_container_says_itself_is_kept(t):
    limit_range(t, {'type': 'Container', 'default': {'cpu': '500m'}, 'defaultRequest': {'cpu': '100m'}})
    got = t.make(t.pods(), asking(requests={'cpu': '200m'}, limits={'cpu': '300m'}))
    t.has(got, 'spec.containers.0.resources', {'requests': {'cpu': '200m'}, 'limits': {'cpu': '300m'}})
    t.true('annotations' not in got['metadata'], 'annotations')


@check
def a_container_below_the_minimum_is_refused(t):
    limit_range(t, {'type': 'Container', 'min': {'cpu': '100m'}})
    forbidden(t, t.pods(), asking(requests={'cpu': '50m'}, limits={'cpu': '1'}),
              'pods "a" is forbidden: minimum cpu usage per Container is 100m, but request is 50m')
    t.make(t.pods(), asking('b'))


@check
def a_container_above_the_maximum_is_refused(t):
    limit_range(t, {'type': 'Container', 'max': {'memory': '1Gi'}})
    forbidden(t, t.pods(), asking(requests={'memory': '1Gi'}, limits={'memory': '2Gi'}),
              'pods "a" is forbidden: maximum memory usage per Container is 1Gi, but limit is 2Gi')


@check
def limits_far_above_the_requests_are_refused(t):
    limit_range(t, {'type': 'Container', 'maxLimitRequestRatio': {'cpu': '2'}})
    forbidden(t, t.pods(), asking(requests={'cpu': '1'}, limits={'cpu': '4'}),
              'pods "a" is forbidden: cpu max limit to request ratio per Container is 2, but provided ratio is 4.000000')
    forbidden(t, t.pods(), asking(), 'pods "a" is forbidden: cpu max limit to request ratio per Container is 2, '
              'but no request is specified or request is 0')


@check
def a_ratio_needs_a_limit(t):
    limit_range(t, {'type': 'Container', 'maxLimitRequestRatio': {'cpu': '2'}})
    forbidden(t, t.pods(), asking(requests={'cpu': '1'}), 'pods "a" is forbidden: cpu max limit to request ratio per Container is 2, '
              'but no limit is specified or limit is 0')
    forbidden(t, t.pods(), asking(limits={'cpu': '0'}), 'pods "a" is forbidden: cpu max limit to request ratio per Container is 2, '
              'but no request is specified or request is 0')


@check
def a_ratio_may_be_a_fraction_and_be_reached(t):
    limit_range(t, {'type': 'Container', 'maxLimitRequestRatio': {'cpu': '1500m'}})
    forbidden(t, t.pods(), asking(requests={'cpu': '300m'}, limits={'cpu': '451m'}),
              'pods "a" is forbidden: cpu max limit to request ratio per Container is 1500m, but provided ratio is 1.503333')
    t.make(t.pods(), asking(requests={'cpu': '300m'}, limits={'cpu': '450m'}))


@check
def the_sum_of_a_pod_has_a_ratio_too(t):
    limit_range(t, {'type': 'Pod', 'maxLimitRequestRatio': {'memory': '2'}})

    def two(limit):
        return pod('a', {'containers': [{'name': n, 'image': 'x', 'resources': {'requests': {'memory': '100Mi'}, 'limits': {'memory': m}}}
                                        for n, m in (('c', '100Mi'), ('d', limit))]})
    forbidden(t, t.pods(), two('350Mi'),
              'pods "a" is forbidden: memory max limit to request ratio per Pod is 2, but provided ratio is 2.250000')
    t.make(t.pods(), two('300Mi'))


def eight(t, resources):
    """A pod of eight containers."""
    return t.post(t.pods(), pod('a', {'containers': [{'name': f'c{i}', 'image': 'x', 'resources': resources(i)} for i in range(8)]}))


@check
def bounds_that_eight_containers_break_are_all_told(t):
    limit_range(t, {'type': 'Container', 'max': {'cpu': '1', 'memory': '1Gi', 'ephemeral-storage': '1Gi'}})
    a = eight(t, lambda i: {'limits': {'cpu': f'{i + 2}', 'memory': f'{i + 2}Gi', 'ephemeral-storage': f'{i + 2}Gi'}})
    t.status(a, 403, 'Forbidden', details={'name': 'a', 'kind': 'pods'})
    head = 'pods "a" is forbidden: ['
    t.true(a['message'].startswith(head) and a['message'].endswith(']'), a['message'])
    told = a['message'][len(head):-1].removeprefix('maximum ').split(', maximum ')
    t.eq(sorted(told), sorted(
        f'{what} usage per Container is {most}, but limit is {i + 2}{unit}' for i in range(8)
        for what, most, unit in (('cpu', '1', ''), ('memory', '1Gi', 'Gi'), ('ephemeral-storage', '1Gi', 'Gi'))), 'what is told')


@check
def a_bound_that_eight_containers_break_is_told_once(t):
    limit_range(t, {'type': 'Container', 'max': {'cpu': '1'}})
    t.status(eight(t, lambda i: {'limits': {'cpu': '2'}}), 403, 'Forbidden',
             'pods "a" is forbidden: maximum cpu usage per Container is 1, but limit is 2')


@check
def the_sum_of_a_pod_has_bounds_too(t):
    limit_range(t, {'type': 'Pod', 'max': {'cpu': '1'}})
    two = [{'name': n, 'image': 'x', 'resources': {'limits': {'cpu': '600m'}}} for n in ('c', 'd')]
    forbidden(t, t.pods(), pod('a', {'containers': two}),
              'pods "a" is forbidden: maximum cpu usage per Pod is 1, but limit is 1200m')
    forbidden(t, t.pods(), asking(), 'pods "a" is forbidden: maximum cpu usage per Pod is 1.  No limit is specified')


def resized(t, **resources):
    return t.patch(f'{t.pods()}/a/resize', {'spec': {'containers': [{'name': 'c', 'resources': resources}]}}, content=client.STRATEGIC)


@check
def a_resize_stays_within_the_bounds(t):
    t.make(t.pods(), asking(requests={'cpu': '100m'}, limits={'cpu': '100m'}))
    limit_range(t, {'type': 'Container', 'min': {'cpu': '50m'}, 'max': {'cpu': '200m'}}, {'type': 'Pod', 'max': {'cpu': '250m'}})
    t.until('the bounds are known', lambda: t.post(t.pods(), asking('b', limits={'cpu': '1'}), dryRun='All').code == 403)
    t.status(resized(t, requests={'cpu': '100m'}, limits={'cpu': '220m'}), 403, 'Forbidden', details={'kind': 'pods', 'name': 'a'},
             part='pods "a" is forbidden: maximum cpu usage per Container is 200m, but limit is 220m')
    t.status(resized(t, requests={'cpu': '10m'}, limits={'cpu': '150m'}), 403, 'Forbidden',
             part='pods "a" is forbidden: minimum cpu usage per Container is 50m, but request is 10m')
    a = resized(t, requests={'cpu': '300m'}, limits={'cpu': '300m'})
    t.status(a, 403, 'Forbidden', part='maximum cpu usage per Container is 200m, but limit is 300m')
    t.true('maximum cpu usage per Pod is 250m, but limit is 300m' in a['message'], a['message'])
    got = t.code(resized(t, requests={'cpu': '100m'}, limits={'cpu': '200m'}), 200)
    t.eq(got['spec.containers.0.resources'], {'requests': {'cpu': '100m'}, 'limits': {'cpu': '200m'}}, 'resources')


@check
def a_resize_gets_the_defaults_of_its_namespace(t):
    t.make(t.pods(), asking(requests={'cpu': '100m'}))
    limit_range(t, {'type': 'Container', 'default': {'cpu': '500m', 'memory': '1Gi'}, 'defaultRequest': {'memory': '1Mi'}})
    t.until('the defaults are known', lambda: t.post(t.pods(), asking('b'), dryRun='All')['metadata.annotations'])
    got = t.code(resized(t, requests={'cpu': '200m'}), 200)
    t.eq(got['spec.containers.0.resources'], {'requests': {'cpu': '200m', 'memory': '1Mi'}, 'limits': {'cpu': '500m', 'memory': '1Gi'}},
         'resources')
    t.true('annotations' not in got['metadata'], 'annotations')


@check
def a_claim_has_bounds(t):
    limit_range(t, {'type': 'PersistentVolumeClaim', 'min': {'storage': '2Gi'}, 'max': {'storage': '10Gi'}})
    claims = f'/api/v1/namespaces/{t.ns}/persistentvolumeclaims'

    def claim(size):
        return {'metadata': {'name': 'p'}, 'spec': {'accessModes': ['ReadWriteOnce'],
                                                    'resources': {'requests': {'storage': size}}}}
    forbidden(t, claims, claim('1Gi'), 'persistentvolumeclaims "p" is forbidden: minimum storage usage per '
              'PersistentVolumeClaim is 2Gi, but request is 1Gi')
    forbidden(t, claims, claim('20Gi'), 'persistentvolumeclaims "p" is forbidden: maximum storage usage per '
              'PersistentVolumeClaim is 10Gi, but request is 20Gi')
    t.make(claims, claim('5Gi'))


# ---- certificate requests ----

# What a signing request has to look like: any key will do, nobody signs it. (openssl req -new -key ... -subj /CN=x)
SIGNING_REQUEST = ('LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlIR01HNENBUUF3RERFS01BZ0dBMVVFQXd3QmVEQlpNQk1HQnlx'
                   'R1NNNDlBZ0VHQ0NxR1NNNDlBd0VIQTBJQQpCTFBNRCtjT0h0NWpLVXprZTV3UGNXTktXRWtDUDZialM1MXBsQk1KNFhnaDJEZXI4'
                   'elZveUVlQXBKWWcxQUh2CjJsREYzQmtoVGZrQ3czaGdsNnB4alJlZ0FEQUtCZ2dxaGtqT1BRUURBZ05JQURCRkFpRUFwVHV4Y1kz'
                   'QkpiUmQKTHVDUGY4ZExGS2J5SEoxUEk5R0dQT3M4YmhYNGw2QUNJRG5lNVF5dWF6ZzhrUk9NL0hJdjBYZ1lkTktpaWV5dgpISGhQ'
                   'aThnT0YyUUsKLS0tLS1FTkQgQ0VSVElGSUNBVEUgUkVRVUVTVC0tLS0tCg==')


@check
def a_certificate_request_says_who_made_it(t):
    me = t.code(t.post('/apis/authentication.k8s.io/v1/selfsubjectreviews', {}), 201)['status.userInfo']
    name = t.name('csr')
    path = '/apis/certificates.k8s.io/v1/certificatesigningrequests'
    spec = {'request': SIGNING_REQUEST, 'signerName': 'example.com/none', 'usages': ['client auth'], 'username': 'somebody',
            'groups': ['else'], 'uid': 'u', 'extra': {'a': ['b']}}
    got = t.make(path, {'metadata': {'name': name}, 'spec': spec})
    t.has(got, 'spec.username', me['username'])
    t.eq(got['spec'].get('groups'), me.get('groups'), 'groups')
    t.eq(got['spec'].get('uid'), me.get('uid'), 'uid')
    t.eq(got['spec'].get('extra'), me.get('extra'), 'extra')
    t.code(t.delete(f'{path}/{name}'), 200)


# ---- runtime classes ----

RUNTIMES = '/apis/node.k8s.io/v1/runtimeclasses'


def runtime_class(t, **fields):
    name = t.name('rc')
    t.make(RUNTIMES, {'metadata': {'name': name}, 'handler': 'runc', **fields})
    return name


@check
def runtime_class_that_does_not_exist_is_forbidden(t):
    t.status(t.post(t.pods(), pod('a', {'runtimeClassName': 'nope'})), 403, 'Forbidden',
             'pods "a" is forbidden: pod rejected: RuntimeClass "nope" not found')


@check
def overhead_comes_from_the_runtime_class(t):
    name = runtime_class(t, overhead={'podFixed': {'cpu': '250m', 'memory': '64Mi'}})
    got = t.make(t.pods(), pod('a', {'runtimeClassName': name}))
    t.has(got, 'spec.overhead', {'cpu': '250m', 'memory': '64Mi'})
    t.make(t.pods(), pod('b', {'runtimeClassName': name, 'overhead': {'cpu': '0.25', 'memory': '64Mi'}}))
    t.status(t.post(t.pods(), pod('c', {'runtimeClassName': name, 'overhead': {'cpu': '1'}})), 403, 'Forbidden',
             'pods "c" is forbidden: pod rejected: Pod\'s Overhead doesn\'t match RuntimeClass\'s defined Overhead')


@check
def overhead_without_that_of_a_class_is_forbidden(t):
    name = runtime_class(t)
    t.has(t.make(t.pods(), pod('a', {'runtimeClassName': name})), 'spec.overhead', None)
    t.status(t.post(t.pods(), pod('b', {'runtimeClassName': name, 'overhead': {'cpu': '1'}})), 403, 'Forbidden',
             'pods "b" is forbidden: pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead')


@check
def scheduling_of_the_runtime_class_is_added(t):
    name = runtime_class(t, scheduling={'nodeSelector': {'kind': 'big'}, 'tolerations': [
        {'key': 'gpu', 'operator': 'Exists', 'effect': 'NoSchedule'}]})
    got = t.make(t.pods(), pod('a', {'runtimeClassName': name, 'nodeSelector': {'zone': 'x'}, 'tolerations': [
        {'key': 'gpu', 'operator': 'Equal', 'value': 'v', 'effect': 'NoSchedule'}]}))
    t.has(got, 'spec.nodeSelector', {'zone': 'x', 'kind': 'big'})
    t.eq([x.get('operator') for x in got['spec']['tolerations'] if x['key'] == 'gpu'], ['Exists'], 'tolerations')
    t.status(t.post(t.pods(), pod('b', {'runtimeClassName': name, 'nodeSelector': {'kind': 'small'}})), 403, 'Forbidden',
             'pods "b" is forbidden: conflict: runtimeClass.scheduling.nodeSelector[kind] = big; '
             'pod.spec.nodeSelector[kind] = small')


# ---- the longest names ----

LONG = '.'.join(['n' * 63] * 4)[:253]


def refused(t, path, body, why, group=None):
    kind = path.rsplit('/', 1)[1]
    name = body['metadata']['name']
    t.status(t.post(path, body), 403, 'Forbidden', f'{kind}{"." if group else ""}{group or ""} "{name}" is forbidden: {why}',
             details={'name': name, 'kind': kind, 'group': group})


@check
def a_priority_class_that_is_missing_is_told_whole(t):
    for name in (LONG[:100], LONG):
        refused(t, t.pods(), pod(name, {'priorityClassName': LONG}), f'no PriorityClass with name {LONG} was found')


@check
def another_priority_is_told_whole(t):
    name = priority_class(t, 1000)
    refused(t, t.pods(), pod(LONG, {'priorityClassName': name, 'priority': 5}), 'the integer value of priority (5) must not be '
            'provided in pod spec; priority admission controller computed 1000 from the given PriorityClass name')
    policy = 'Never' + LONG
    refused(t, t.pods(), pod(LONG, {'priorityClassName': name, 'preemptionPolicy': policy}),
            f'the string value of PreemptionPolicy ({policy}) must not be provided in pod spec; priority admission controller '
            'computed PreemptLowerPriority from the given PriorityClass name')


@check
def a_runtime_class_that_is_missing_is_told_whole(t):
    refused(t, t.pods(), pod(LONG, {'runtimeClassName': LONG}), f'pod rejected: RuntimeClass "{LONG}" not found')


@check
def bounds_of_a_namespace_tell_a_long_name_whole(t):
    limit_range(t, {'type': 'Container', 'min': {'cpu': '100m'}})
    refused(t, t.pods(), asking(LONG, requests={'cpu': '50m'}, limits={'cpu': '1'}),
            'minimum cpu usage per Container is 100m, but request is 50m')


@check
def a_namespace_that_is_missing_is_told_whole(t):
    t.status(t.post(f'/api/v1/namespaces/{LONG}/configmaps', config_map(LONG)), 404, 'NotFound', f'namespaces "{LONG}" not found',
             details={'name': LONG, 'kind': 'namespaces'})


@check
def a_terminating_namespace_tells_a_long_name_whole(t):
    ns = t.name('api')
    t.make('/api/v1/namespaces', {'metadata': {'name': ns}})
    t.make(f'/api/v1/namespaces/{ns}/configmaps', config_map('stays', finalizers=['example.com/stays']))
    t.code(t.delete(f'/api/v1/namespaces/{ns}'), 200)
    a = t.post(f'/api/v1/namespaces/{ns}/configmaps', config_map(LONG))
    t.status(a, 403, 'Forbidden', f'configmaps "{LONG}" is forbidden: unable to create new content in namespace {ns} because it is '
             'being terminated', details={'name': LONG, 'kind': 'configmaps'}, causes=[('NamespaceTerminating', 'metadata.namespace')])
    t.code(t.patch(f'/api/v1/namespaces/{ns}/configmaps/stays', {'metadata': {'finalizers': None}}), 200)
