"""validation.py - the messages users meet: names, labels, pods, workloads, budgets, nodes, services."""
from client import STRATEGIC, check, config_map, deployment, job, node, pod, template


def bad_pod(t, *causes, part=None, spec=None, container=None, **more):
    t.invalid(t.post(t.pods(), pod('a', spec, container, **more)), *causes, part=part)


# ---- names, labels, annotations ----

@check
def a_name_must_be_a_dns_subdomain(t):
    a = t.post(t.maps(), config_map('Not_Good'))
    t.invalid(a, ('FieldValueInvalid', 'metadata.name'))
    t.eq(a['message'], 'ConfigMap "Not_Good" is invalid: metadata.name: Invalid value: "Not_Good": a lowercase RFC 1123 subdomain '
         "must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character "
         "(e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
         'message')
    t.has(a, 'details.name', 'Not_Good')
    t.has(a, 'details.kind', 'ConfigMap')


@check
def a_name_may_have_at_most_253_characters(t):
    t.invalid(t.post(t.maps(), config_map('a' * 254)), ('FieldValueInvalid', 'metadata.name'),
              part='must be no more than 253')


@check
def a_namespace_name_must_be_a_dns_label(t):
    t.invalid(t.post('/api/v1/namespaces', {'metadata': {'name': 'a.b'}}), ('FieldValueInvalid', 'metadata.name'),
              part='must not contain dots')
    t.invalid(t.post('/api/v1/namespaces', {'metadata': {'name': 'A'}}), ('FieldValueInvalid', 'metadata.name'),
              part='a lowercase RFC 1123 label must consist of')


@check
def a_service_name_must_start_with_a_letter(t):
    a = t.post(t.at('services'), {'metadata': {'name': '1s'}, 'spec': {'ports': [{'port': 80}], 'clusterIP': 'None'}})
    t.invalid(a, ('FieldValueInvalid', 'metadata.name'), part='DNS-1035 label')


@check
def label_keys_are_checked(t):
    t.invalid(t.post(t.maps(), config_map('a', labels={'a b': 'x'})), ('FieldValueInvalid', 'metadata.labels'),
              part='name part must consist of alphanumeric characters')


@check
def label_values_are_checked(t):
    t.invalid(t.post(t.maps(), config_map('a', labels={'a': 'x y'})), ('FieldValueInvalid', 'metadata.labels'),
              part='a valid label must be an empty string or consist of alphanumeric characters')
    t.invalid(t.post(t.maps(), config_map('a', labels={'a': 'x' * 64})), ('FieldValueInvalid', 'metadata.labels'),
              part='must be no more than 63')


@check
def annotation_keys_are_checked(t):
    t.invalid(t.post(t.maps(), config_map('a', annotations={'a/b/c': 'x'})), ('FieldValueInvalid', 'metadata.annotations'))


@check
def annotations_have_a_total_limit(t):
    t.invalid(t.post(t.maps(), config_map('a', annotations={'a': 'x' * 262145})), ('FieldValueTooLong', 'metadata.annotations'))


@check
def keys_of_a_config_map_are_checked(t):
    t.invalid(t.post(t.maps(), config_map('a', {'a b': 'x'})), ('FieldValueInvalid', 'data[a b]'))


@check
def a_config_map_has_at_most_a_megabyte(t):
    t.invalid(t.post(t.maps(), config_map('a', {'k': 'x' * 1048577})), ('FieldValueTooLong', '[]'), part='may not be more than 1048576')


# ---- pods ----

@check
def a_pod_needs_containers(t):
    a = t.post(t.pods(), {**pod('a'), 'spec': {'containers': []}})
    t.invalid(a, ('FieldValueRequired', 'spec.containers'), part='spec.containers: Required value')


@check
def a_container_needs_a_name_and_an_image(t):
    a = t.post(t.pods(), {**pod('a'), 'spec': {'containers': [{}]}})
    t.invalid(a, ('FieldValueRequired', 'spec.containers[0].name'), ('FieldValueRequired', 'spec.containers[0].image'))


@check
def container_names_are_unique(t):
    c = {'name': 'x', 'image': 'i'}
    t.invalid(t.post(t.pods(), {**pod('a'), 'spec': {'containers': [c, c]}}), ('FieldValueDuplicate', 'spec.containers[1].name'),
              part='Duplicate value: "x"')


@check
def container_names_are_dns_labels(t):
    bad_pod(t, ('FieldValueInvalid', 'spec.containers[0].name'), container={'name': 'A_B'}, part='RFC 1123 label')


@check
def an_image_may_not_have_spaces_around(t):
    bad_pod(t, ('FieldValueInvalid', 'spec.containers[0].image'), container={'image': ' busybox'},
            part='must not have leading or trailing whitespace')


@check
def restart_policy_is_one_of_three(t):
    bad_pod(t, ('FieldValueNotSupported', 'spec.restartPolicy'), spec={'restartPolicy': 'Sometimes'},
            part='supported values: "Always", "OnFailure", "Never"')


@check
def requests_may_not_exceed_limits(t):
    bad_pod(t, ('FieldValueInvalid', 'spec.containers[0].resources.requests'),
            container={'resources': {'requests': {'cpu': '2'}, 'limits': {'cpu': '1'}}},
            part='must be less than or equal to cpu limit of 1')


@check
def quantities_may_not_be_negative(t):
    bad_pod(t, ('FieldValueInvalid', 'spec.containers[0].resources.requests[cpu]'),
            container={'resources': {'requests': {'cpu': '-1'}}}, part='must be greater than or equal to 0')


@check
def extended_resources_are_integers(t):
    bad_pod(t, ('FieldValueInvalid', 'spec.containers[0].resources.limits[e.com/gpu]'),
            container={'resources': {'limits': {'e.com/gpu': '500m'}}}, part='must be an integer')


@check
def extended_resources_need_a_limit(t):
    bad_pod(t, ('FieldValueRequired', 'spec.containers[0].resources.limits'),
            container={'resources': {'requests': {'e.com/gpu': '1'}}}, part='Limit must be set for non overcommitable resources')


@check
def extended_resources_have_equal_request_and_limit(t):
    bad_pod(t, ('FieldValueInvalid', 'spec.containers[0].resources.requests'),
            container={'resources': {'requests': {'e.com/gpu': '1'}, 'limits': {'e.com/gpu': '2'}}},
            part='must be equal to e.com/gpu limit of 2')


@check
def resource_names_are_qualified_or_known(t):
    bad_pod(t, ('FieldValueInvalid', 'spec.containers[0].resources.limits[gpus]'),
            container={'resources': {'limits': {'gpus': '1'}}}, part='must be a standard resource type or fully qualified')


@check
def container_ports_are_in_range(t):
    bad_pod(t, ('FieldValueInvalid', 'spec.containers[0].ports[0].containerPort'),
            container={'ports': [{'containerPort': 70000}]}, part='must be between 1 and 65535, inclusive')


@check
def host_ports_are_unique(t):
    bad_pod(t, ('FieldValueDuplicate', 'spec.containers[0].ports[1].hostPort'),
            container={'ports': [{'containerPort': 80, 'hostPort': 8080}, {'containerPort': 81, 'hostPort': 8080}]})


@check
def port_protocols_are_known(t):
    bad_pod(t, ('FieldValueNotSupported', 'spec.containers[0].ports[0].protocol'),
            container={'ports': [{'containerPort': 80, 'protocol': 'ICMP'}]}, part='supported values: "SCTP", "TCP", "UDP"')


@check
def environment_names_are_required(t):
    bad_pod(t, ('FieldValueRequired', 'spec.containers[0].env[0].name'), container={'env': [{'value': 'x'}]})


@check
def volume_mounts_need_their_volume(t):
    bad_pod(t, ('FieldValueNotFound', 'spec.containers[0].volumeMounts[0].name'),
            container={'volumeMounts': [{'name': 'v', 'mountPath': '/v'}]}, part='Not found: "v"')


@check
def volumes_have_unique_names_and_one_source(t):
    bad_pod(t, ('FieldValueDuplicate', 'spec.volumes[1].name'), spec={'volumes': [{'name': 'v', 'emptyDir': {}}] * 2})
    bad_pod(t, ('FieldValueForbidden', 'spec.volumes[0].hostPath'), part='may not specify more than 1 volume type',
            spec={'volumes': [{'name': 'v', 'emptyDir': {}, 'hostPath': {'path': '/x'}}]})


@check
def tolerations_are_checked(t):
    bad_pod(t, ('FieldValueInvalid', 'spec.tolerations[0].operator'), spec={'tolerations': [{'operator': 'Equal', 'value': 'x'}]},
            part='operator must be Exists when `key` is empty')
    bad_pod(t, ('FieldValueNotSupported', 'spec.tolerations[0].effect'),
            spec={'tolerations': [{'key': 'k', 'operator': 'Exists', 'effect': 'Never'}]})
    bad_pod(t, ('FieldValueInvalid', 'spec.tolerations[0].effect'), part="effect must be 'NoExecute' when `tolerationSeconds` is set",
            spec={'tolerations': [{'key': 'k', 'operator': 'Exists', 'effect': 'NoSchedule', 'tolerationSeconds': 5}]})


@check
def a_scheduler_may_have_any_name(t):
    t.has(t.make(t.pods(), pod('a', {'schedulerName': 'My_Scheduler'})), 'spec.schedulerName', 'My_Scheduler')


@check
def node_names_are_checked(t):
    bad_pod(t, ('FieldValueInvalid', 'spec.nodeName'), spec={'nodeName': 'Bad_Name'})


@check
def node_selectors_are_checked(t):
    bad_pod(t, ('FieldValueInvalid', 'spec.nodeSelector'), spec={'nodeSelector': {'a': 'b c'}})


@check
def node_affinity_terms_are_checked(t):
    path = 'spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms'
    bad_pod(t, ('FieldValueRequired', path), part='must have at least one node selector term', spec={'affinity': {
        'nodeAffinity': {'requiredDuringSchedulingIgnoredDuringExecution': {'nodeSelectorTerms': []}}}})
    bad_pod(t, ('FieldValueInvalid', f'{path}[0].matchExpressions[0].operator'), spec={'affinity': {
        'nodeAffinity': {'requiredDuringSchedulingIgnoredDuringExecution': {'nodeSelectorTerms': [
            {'matchExpressions': [{'key': 'a', 'operator': 'Like', 'values': ['b']}]}]}}}})


@check
def pod_affinity_needs_a_topology_key(t):
    bad_pod(t, ('FieldValueRequired', 'spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey'),
            spec={'affinity': {'podAntiAffinity': {'requiredDuringSchedulingIgnoredDuringExecution': [
                {'labelSelector': {'matchLabels': {'a': 'b'}}, 'topologyKey': ''}]}}}, part='can not be empty')


@check
def spread_constraints_are_checked(t):
    bad_pod(t, ('FieldValueInvalid', 'spec.topologySpreadConstraints[0].maxSkew'),
            ('FieldValueNotSupported', 'spec.topologySpreadConstraints[0].whenUnsatisfiable'),
            spec={'topologySpreadConstraints': [{'maxSkew': 0, 'topologyKey': 'zone', 'whenUnsatisfiable': 'Cry'}]})


@check
def probes_have_one_handler(t):
    bad_pod(t, ('FieldValueRequired', 'spec.containers[0].livenessProbe'), container={'livenessProbe': {}},
            part='must specify a handler type')


@check
def grace_may_not_be_negative(t):
    got = t.make(t.pods(), pod('a', {'terminationGracePeriodSeconds': -1}))
    t.has(got, 'spec.terminationGracePeriodSeconds', 1)


@check
def active_deadline_is_positive(t):
    bad_pod(t, ('FieldValueInvalid', 'spec.activeDeadlineSeconds'), spec={'activeDeadlineSeconds': 0},
            part='must be between 1 and 2147483647')


@check
def init_container_names_differ_from_containers(t):
    bad_pod(t, ('FieldValueDuplicate', 'spec.initContainers[0].name'), spec={'initContainers': [{'name': 'main', 'image': 'i'}]})


@check
def scheduling_gates_exclude_a_node(t):
    bad_pod(t, ('FieldValueForbidden', 'spec.nodeName'), spec={'schedulingGates': [{'name': 'e.com/x'}], 'nodeName': 'n1'},
            part='cannot be set until all schedulingGates have been cleared')


@check
def all_errors_of_a_pod_are_told_in_one_message(t):
    a = t.post(t.pods(), pod('a', {'restartPolicy': 'X', 'dnsPolicy': 'Y'}))
    t.invalid(a, ('FieldValueNotSupported', 'spec.restartPolicy'), ('FieldValueNotSupported', 'spec.dnsPolicy'))
    t.true(a['message'].startswith('Pod "a" is invalid: [spec.restartPolicy: Unsupported value: "X"') and a['message'].endswith(']'),
           a['message'])


# ---- updates of pods ----

@check
def most_of_a_pod_is_immutable(t):
    t.make(t.pods(), pod('a'))
    a = t.patch(f'{t.pods()}/a', {'spec': {'dnsPolicy': 'Default'}})
    t.invalid(a, ('FieldValueForbidden', 'spec'), part='pod updates may not change fields other than '
              '`spec.containers[*].image`')


@check
def the_image_of_a_pod_may_change(t):
    t.make(t.pods(), pod('a'))
    a = t.patch(f'{t.pods()}/a', {'spec': {'containers': [{'name': 'main', 'image': 'busybox:2'}]}}, STRATEGIC)
    t.has(t.code(a, 200), 'spec.containers.0.image', 'busybox:2')
    t.has(a, 'metadata.generation', 2)


@check
def containers_of_a_pod_may_not_be_added(t):
    t.make(t.pods(), pod('a'))
    a = t.patch(f'{t.pods()}/a', {'spec': {'containers': [{'name': 'more', 'image': 'i'}]}}, STRATEGIC)
    t.invalid(a, ('FieldValueForbidden', 'spec.containers'), part='pod updates may not add or remove containers')


@check
def the_node_of_a_pod_may_not_be_changed_by_update(t):
    t.make(t.pods(), pod('a'))
    t.invalid(t.patch(f'{t.pods()}/a', {'spec': {'nodeName': 'n1'}}), ('FieldValueForbidden', 'spec'))


@check
def tolerations_of_a_pod_may_only_grow(t):
    t.make(t.pods(), pod('a'))
    p = f'{t.pods()}/a'
    now = t.read(p)['spec']['tolerations']
    t.code(t.patch(p, {'spec': {'tolerations': now + [{'key': 'x', 'operator': 'Exists'}]}}), 200)
    t.invalid(t.patch(p, {'spec': {'tolerations': now[:1]}}), ('FieldValueForbidden', 'spec.tolerations'),
              part='existing toleration can not be modified except its tolerationSeconds')


@check
def gates_of_a_pod_may_only_go(t):
    t.make(t.pods(), pod('a', {'schedulingGates': [{'name': 'e.com/x'}]}))
    p = f'{t.pods()}/a'
    t.invalid(t.patch(p, {'spec': {'schedulingGates': [{'name': 'e.com/y'}]}}), ('FieldValueForbidden', 'spec.schedulingGates[0].name'),
              part="only deletion is allowed, but found new scheduling gate 'e.com/y'")
    a = t.code(t.patch(p, {'spec': {'schedulingGates': []}}), 200)
    t.has(a, 'spec.schedulingGates', None)


# ---- workloads ----

def bad_deployment(t, spec, *causes, part=None):
    t.invalid(t.post(t.at('deployments', 'apps'), deployment('d', spec)), *causes, part=part)


@check
def a_deployment_needs_a_selector(t):
    bad_deployment(t, {'selector': None}, ('FieldValueRequired', 'spec.selector'))


@check
def the_selector_must_match_the_template(t):
    bad_deployment(t, {'selector': {'matchLabels': {'app': 'other'}}}, ('FieldValueInvalid', 'spec.template.metadata.labels'),
                   part='`selector` does not match template `labels`')


@check
def an_empty_selector_is_refused(t):
    bad_deployment(t, {'selector': {}}, ('FieldValueInvalid', 'spec.selector'),
                   part='empty selector is invalid for deployment')


@check
def replicas_may_not_be_negative(t):
    bad_deployment(t, {'replicas': -1}, ('FieldValueInvalid', 'spec.replicas'), part='must be greater than or equal to 0')


@check
def surge_and_unavailable_may_not_both_be_zero(t):
    bad_deployment(t, {'strategy': {'rollingUpdate': {'maxSurge': 0, 'maxUnavailable': 0}}},
                   ('FieldValueInvalid', 'spec.strategy.rollingUpdate.maxUnavailable'), part='may not be 0 when `maxSurge` is 0')


@check
def recreate_takes_no_rolling_update(t):
    bad_deployment(t, {'strategy': {'type': 'Recreate', 'rollingUpdate': {'maxSurge': 1}}},
                   ('FieldValueForbidden', 'spec.strategy.rollingUpdate'))


@check
def the_template_restarts_always(t):
    bad = template()
    bad['spec']['restartPolicy'] = 'Never'
    bad_deployment(t, {'template': bad}, ('FieldValueNotSupported', 'spec.template.spec.restartPolicy'),
                   part='supported values: "Always"')


@check
def the_template_is_checked_as_a_pod(t):
    bad = template()
    bad['spec']['containers'][0]['image'] = ''
    bad_deployment(t, {'template': bad}, ('FieldValueRequired', 'spec.template.spec.containers[0].image'))


@check
def the_progress_deadline_exceeds_the_ready_time(t):
    bad_deployment(t, {'minReadySeconds': 600}, ('FieldValueInvalid', 'spec.progressDeadlineSeconds'),
                   part='must be greater than minReadySeconds')


@check
def the_selector_of_a_replica_set_is_immutable(t):
    path = t.at('replicasets', 'apps')
    t.make(path, {**deployment('r'), 'kind': 'ReplicaSet'})
    t.invalid(t.patch(f'{path}/r', {'spec': {'selector': {'matchLabels': {'app': 'y'}},
                                             'template': {'metadata': {'labels': {'app': 'y'}}}}}),
              ('FieldValueInvalid', 'spec.selector'), part='field is immutable')


@check
def a_job_does_not_restart_always(t):
    path = t.at('jobs', 'batch')
    t.invalid(t.post(path, job('j', {'template': template()})), ('FieldValueRequired', 'spec.template.spec.restartPolicy'),
              part='valid values: "OnFailure", "Never"')


@check
def the_completions_of_a_job_are_immutable(t):
    path = t.at('jobs', 'batch')
    t.make(path, job('j', {'completions': 2}))
    t.invalid(t.patch(f'{path}/j', {'spec': {'completions': 3}}), ('FieldValueInvalid', 'spec.completions'),
              part='field is immutable')


@check
def the_parallelism_of_a_job_may_change(t):
    path = t.at('jobs', 'batch')
    t.make(path, job('j'))
    t.has(t.code(t.patch(f'{path}/j', {'spec': {'parallelism': 3}}), 200), 'spec.parallelism', 3)


@check
def the_selector_of_a_job_is_not_for_users(t):
    t.invalid(t.post(t.at('jobs', 'batch'), job('j', {'selector': {'matchLabels': {'a': 'b'}}})),
              ('FieldValueInvalid', 'spec.selector'), part='`selector` not auto-generated')


@check
def most_of_a_stateful_set_is_immutable(t):
    path = t.at('statefulsets', 'apps')
    t.make(path, {**deployment('s', {'serviceName': 'x'}), 'kind': 'StatefulSet'})
    t.invalid(t.patch(f'{path}/s', {'spec': {'serviceName': 'y'}}), ('FieldValueForbidden', 'spec'),
              part="updates to statefulset spec for fields other than 'replicas'")


# ---- budgets, nodes, services, claims, classes ----

@check
def a_budget_has_one_bound_only(t):
    a = t.post(t.at('poddisruptionbudgets', 'policy'), {'metadata': {'name': 'b'}, 'spec': {
        'minAvailable': 1, 'maxUnavailable': 1, 'selector': {}}})
    t.invalid(a, ('FieldValueInvalid', 'spec'), part='minAvailable and maxUnavailable cannot be both set')


@check
def a_budget_bound_may_not_exceed_a_hundred_percent(t):
    a = t.post(t.at('poddisruptionbudgets', 'policy'), {'metadata': {'name': 'b'}, 'spec': {'minAvailable': '150%', 'selector': {}}})
    t.invalid(a, ('FieldValueInvalid', 'spec.minAvailable'), part='must not be greater than 100%')


@check
def node_taints_are_checked(t):
    a = t.post('/api/v1/nodes', {**node(t.name('node')), 'spec': {'taints': [{'key': 'k', 'effect': 'Maybe'}]}})
    t.invalid(a, ('FieldValueNotSupported', 'metadata.taints[0].effect'))


@check
def node_taints_are_unique(t):
    a = t.post('/api/v1/nodes', {**node(t.name('node')), 'spec': {'taints': [{'key': 'k', 'effect': 'NoSchedule'}] * 2}})
    t.invalid(a, ('FieldValueDuplicate', 'metadata.taints[1]'), part='taints must be unique by key and effect pair')


@check
def node_provider_id_is_set_once(t):
    n = t.name('node')
    t.make('/api/v1/nodes', {**node(n), 'spec': {'providerID': 'a'}})
    t.invalid(t.patch(f'/api/v1/nodes/{n}', {'spec': {'providerID': 'b'}}), ('FieldValueForbidden', 'spec.providerID'),
              part='node updates may not change providerID except from "" to valid')


@check
def node_extended_resources_are_integers(t):
    n = t.name('node')
    t.make('/api/v1/nodes', node(n))
    t.invalid(t.patch(f'/api/v1/nodes/{n}/status', {'status': {'capacity': {'e.com/gpu': '500m'}}}),
              ('FieldValueInvalid', 'status.capacity.e.com/gpu'), part='must be an integer')


@check
def a_service_needs_ports(t):
    a = t.post(t.at('services'), {'metadata': {'name': 's'}, 'spec': {'selector': {'a': 'b'}}})
    t.invalid(a, ('FieldValueRequired', 'spec.ports'))


@check
def a_claim_needs_modes_and_a_size(t):
    a = t.post(t.at('persistentvolumeclaims'), {'metadata': {'name': 'c'}, 'spec': {}})
    t.invalid(a, ('FieldValueRequired', 'spec.accessModes'), ('FieldValueRequired', 'spec.resources[storage]'))


@check
def a_lease_has_a_positive_duration(t):
    a = t.post(t.at('leases', 'coordination.k8s.io'), {'metadata': {'name': 'l'}, 'spec': {'leaseDurationSeconds': 0}})
    t.invalid(a, ('FieldValueInvalid', 'spec.leaseDurationSeconds'), part='must be greater than 0')


@check
def an_event_is_about_its_namespace(t):
    a = t.post(t.at('events'), {'metadata': {'name': 'e'}, 'reason': 'r', 'involvedObject': {'kind': 'Pod', 'name': 'p',
                                                                                          'namespace': 'elsewhere'}})
    t.invalid(a, ('FieldValueInvalid', 'involvedObject.namespace'), part='does not match event.namespace')


@check
def events_are_one_object_in_both_groups(t):
    t.make(t.at('events'), {'metadata': {'name': 'e'}, 'reason': 'Pulled', 'type': 'Normal', 'message': 'm', 'count': 2,
                            'source': {'component': 'kubelet', 'host': 'n1'},
                            'involvedObject': {'kind': 'Pod', 'name': 'p', 'namespace': t.ns}})
    got = t.read(f'{t.at("events", "events.k8s.io")}/e')
    t.eq((got['apiVersion'], got['note'], got['regarding']['name'], got['deprecatedCount'], got['deprecatedSource']['component']),
         ('events.k8s.io/v1', 'm', 'p', 2, 'kubelet'), 'event')


@check
def secrets_of_a_type_need_their_keys(t):
    a = t.post(t.at('secrets'), {'metadata': {'name': 's'}, 'type': 'kubernetes.io/tls', 'data': {}})
    t.invalid(a, ('FieldValueRequired', 'data[tls.crt]'), ('FieldValueRequired', 'data[tls.key]'))


@check
def secret_data_is_base64(t):
    a = t.post(t.at('secrets'), {'metadata': {'name': 's'}, 'data': {'k': '!!'}})
    t.status(a, 400, 'BadRequest', part='illegal base64 data')
