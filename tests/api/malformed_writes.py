"""malformed_writes.py - options, patches and metadata that a server refuses; see malformed.py for how to read a row."""
from client import JSON_PATCH, MERGE, STRATEGIC, check, config_map, deployment, job, node, pod
from malformed import (CRDS, DEPLOYMENT, GROUPS, JOBS, MAP, MAPS, NS, POD, PODS, delete, patch, pod_group, post, put,
                       refuse, refuse_new, sent, service, token)

# ---- options of writes ----

refuse('option', [
    ('dry_run_is_unknown', post(f'{MAPS}?dryRun=Some', config_map('y')), '422 Invalid: NotSupported dryRun'),
    ('dry_run_is_in_lower_case', put(f'{MAP}?dryRun=all', config_map('a')), '422 Invalid: NotSupported dryRun'),
    ('dry_run_is_unknown_on_patch', patch(MERGE, '{}', f'{MAP}?dryRun=x'), '422 Invalid: NotSupported dryRun'),
    ('dry_run_is_unknown_on_delete', delete(f'{MAP}?dryRun=x'), '422 Invalid: NotSupported dryRun'),
    ('field_validation_is_unknown', post(f'{MAPS}?fieldValidation=Loose', config_map('y')),
     '422 Invalid: NotSupported fieldValidation'),
    ('field_validation_is_unknown_on_update', put(f'{MAP}?fieldValidation=x', config_map('a')),
     '422 Invalid: NotSupported fieldValidation'),
    ('field_validation_is_unknown_on_patch', patch(MERGE, '{}', f'{MAP}?fieldValidation=x'),
     '422 Invalid: NotSupported fieldValidation'),
    ('field_manager_is_too_long', post(f'{MAPS}?fieldManager=' + 'x' * 129, config_map('y')),
     '422 Invalid: TooLong fieldManager'),
    ('field_manager_is_too_long_on_update', put(f'{MAP}?fieldManager=' + 'x' * 129, config_map('a')),
     '422 Invalid: TooLong fieldManager'),
    ('field_manager_is_too_long_on_patch', patch(MERGE, '{}', f'{MAP}?fieldManager=' + 'x' * 129),
     '422 Invalid: TooLong fieldManager'),
    ('field_manager_is_not_printable', post(f'{MAPS}?fieldManager=a%01b', config_map('y')),
     '422 Invalid: Invalid fieldManager'),
    ('force_on_a_merge_patch', patch(MERGE, '{}', f'{MAP}?force=true'), '422 Invalid: Forbidden force'),
    ('force_on_a_json_patch', patch(JSON_PATCH, '[]', f'{MAP}?force=true'), '422 Invalid: Forbidden force'),
    ('force_on_a_strategic_patch', patch(STRATEGIC, '{}', f'{MAP}?force=false'), '422 Invalid: Forbidden force'),
    ('timeout_has_an_unknown_unit', post(f'{MAPS}?timeout=1x', config_map('y')), '400 BadRequest'),
    ('timeout_has_an_unknown_unit_on_delete', delete(f'{MAP}?timeout=1x'), '400 BadRequest'),
    ('all_are_bad', patch(MERGE, '{}', f'{MAP}?force=true&dryRun=x&fieldValidation=y&fieldManager=' + 'x' * 129),
     '422 Invalid: Forbidden force, NotSupported dryRun, NotSupported fieldValidation, TooLong fieldManager'),
    ('force_with_an_unknown_type', patch('text/plain', '{}', f'{MAP}?force=true'), '415 UnsupportedMediaType'),
    ('unknown_field_when_strict', post(f'{MAPS}?fieldValidation=Strict', {**config_map('y'), 'nothing': 1}),
     '400 BadRequest'),
    ('unknown_field_in_metadata_when_strict',
     post(f'{MAPS}?fieldValidation=Strict', config_map('y', nothing=1)), '400 BadRequest'),
    ('double_field_when_strict',
     sent('{"metadata":{"name":"y","name":"z"}}', path=f'{MAPS}?fieldValidation=Strict'), '400 BadRequest'),
    ('unknown_field_of_a_custom_object_when_strict',
     post(f'{GROUPS}?fieldValidation=Strict', {**pod_group('y'), 'nothing': 1}), '400 BadRequest'),
])

refuse('delete', [
    ('grace_is_a_word', delete(f'{MAP}?gracePeriodSeconds=x'), '400 BadRequest'),
    ('grace_in_the_body_is_a_word', delete(MAP, {'gracePeriodSeconds': 'x'}), '400 BadRequest'),
    ('grace_is_a_fraction', delete(MAP, {'gracePeriodSeconds': 1.5}), '400 BadRequest'),
    ('policy_is_unknown', delete(f'{MAP}?propagationPolicy=x'), '422 Invalid: NotSupported propagationPolicy'),
    ('policy_in_the_body_is_unknown', delete(MAP, {'propagationPolicy': 'x'}),
     '422 Invalid: NotSupported propagationPolicy'),
    ('policy_is_a_number', delete(MAP, {'propagationPolicy': 5}), '400 BadRequest'),
    ('policy_and_orphan_dependents', delete(MAP, {'propagationPolicy': 'Orphan', 'orphanDependents': True}),
     '422 Invalid: Invalid propagationPolicy'),
    ('preconditions_are_a_number', delete(MAP, {'preconditions': 5}), '400 BadRequest'),
    ('uid_is_another', delete(MAP, {'preconditions': {'uid': 'x'}}), '409 Conflict'),
    ('version_is_another', delete(MAP, {'preconditions': {'resourceVersion': '1'}}), '409 Conflict'),
    ('options_are_of_another_kind', delete(MAP, {'kind': 'Status', 'apiVersion': 'v1'}), '400 BadRequest'),
    ('options_are_cut_off', delete(MAP, raw=b'{'), '400 BadRequest'),
    ('options_are_a_list', delete(MAP, []), '400 BadRequest'),
    ('dry_run_in_the_body_is_unknown', delete(MAP, {'dryRun': ['x']}), '422 Invalid: NotSupported dryRun'),
    ('dry_run_in_the_body_is_a_string', delete(MAP, {'dryRun': 'All'}), '400 BadRequest'),
    ('of_what_is_not_there', delete(f'{MAPS}/nothing'), '404 NotFound'),
    ('of_what_is_not_there_with_bad_options', delete(f'{MAPS}/nothing', {'gracePeriodSeconds': 'x'}),
     '400 BadRequest'),
    ('in_a_namespace_that_is_not_there', delete('/api/v1/namespaces/nothing-{ns}/configmaps/a'), '404 NotFound'),
    ('of_a_collection_with_a_bad_limit', delete(f'{MAPS}?limit=x'), '400 BadRequest'),
    ('of_a_collection_with_bad_options', delete(MAPS, {'propagationPolicy': 'x'}),
     '422 Invalid: NotSupported propagationPolicy'),
    ('of_a_protected_namespace', delete('/api/v1/namespaces/kube-system'), '403 Forbidden'),
])

# ---- patches ----

refuse('merge_patch', [
    ('is_empty', patch(MERGE, ''), '400 BadRequest'),
    ('is_cut_off', patch(MERGE, '{'), '400 BadRequest'),
    ('is_a_list', patch(MERGE, '[]'), '400 BadRequest'),
    ('is_a_number', patch(MERGE, '1'), '400 BadRequest'),
    ('is_a_string', patch(MERGE, '"x"'), '400 BadRequest'),
    ('labels_are_a_number', patch(MERGE, '{"metadata":{"labels":5}}'), '422 Invalid: Invalid patch'),
    ('label_is_a_number', patch(MERGE, '{"metadata":{"labels":{"a":5}}}'), '422 Invalid: Invalid patch'),
    ('data_is_a_list', patch(MERGE, '{"data":[]}'), '422 Invalid: Invalid patch'),
    ('changes_the_name', patch(MERGE, '{"metadata":{"name":"b"}}'), '400 BadRequest'),
    ('changes_the_namespace', patch(MERGE, '{"metadata":{"namespace":"x"}}'), '400 BadRequest'),
    ('changes_the_uid', patch(MERGE, '{"metadata":{"uid":"x"}}'), '422 Invalid: Invalid metadata.uid'),
    ('changes_the_kind', patch(MERGE, '{"kind":"Pod"}'), '422 Invalid: Invalid patch'),
    ('changes_the_kind_to_an_unknown_one', patch(MERGE, '{"kind":"Nothing"}'), '422 Invalid: Invalid patch'),
    ('changes_the_api_version', patch(MERGE, '{"apiVersion":"v2"}'), '422 Invalid: Invalid patch'),
    ('version_is_a_word', patch(MERGE, '{"metadata":{"resourceVersion":"x"}}'), '500 None'),
    ('version_is_a_number', patch(MERGE, '{"metadata":{"resourceVersion":5}}'), '422 Invalid: Invalid patch'),
    ('version_is_old', patch(MERGE, '{"metadata":{"resourceVersion":"1"}}'), '409 Conflict'),
    ('label_key_is_bad', patch(MERGE, '{"metadata":{"labels":{"a b":"c"}}}'), '422 Invalid: Invalid metadata.labels'),
    ('finalizer_is_bad', patch(MERGE, '{"metadata":{"finalizers":["x y"]}}'),
     '422 Invalid: Invalid metadata.finalizers, Invalid metadata.finalizers[0]'),
    ('of_what_is_not_there', patch(MERGE, '{}', f'{MAPS}/nothing'), '404 NotFound'),
    ('of_a_deployment_makes_replicas_a_word', patch(MERGE, '{"spec":{"replicas":"x"}}', DEPLOYMENT),
     '422 Invalid: Invalid patch'),
    ('of_a_deployment_makes_replicas_negative', patch(MERGE, '{"spec":{"replicas":-1}}', DEPLOYMENT),
     '422 Invalid: Invalid spec.replicas'),
    ('of_a_deployment_removes_the_template', patch(MERGE, '{"spec":{"template":null}}', DEPLOYMENT),
     '422 Invalid: Invalid spec.template.metadata.labels, Required spec.template.spec.containers'),
    ('of_a_deployment_changes_the_selector',
     patch(MERGE, '{"spec":{"selector":{"matchLabels":{"b":"c"}}}}', DEPLOYMENT),
     '422 Invalid: Invalid spec.selector, Invalid spec.template.metadata.labels'),
    ('of_a_pod_changes_its_node', patch(MERGE, '{"spec":{"nodeName":"n"}}', POD), '422 Invalid: Forbidden spec'),
    ('of_a_custom_object_breaks_a_type', patch(MERGE, '{"spec":{"minMember":"x"}}', f'{GROUPS}/g'),
     '422 Invalid: TypeInvalid spec.minMember'),
    ('of_a_custom_object_changes_the_kind', patch(MERGE, '{"kind":"Other"}', f'{GROUPS}/g'),
     '422 Invalid: Invalid kind'),
    ('of_a_custom_object_changes_the_version',
     patch(MERGE, '{"apiVersion":"scheduling.sigs.k8s.io/v9"}', f'{GROUPS}/g'), '422 Invalid: Invalid apiVersion'),
    ('of_a_custom_object_removes_the_kind', patch(MERGE, '{"kind":null}', f'{GROUPS}/g'),
     '422 Invalid: Invalid patch'),
    ('is_null', patch(MERGE, 'null'), '400 BadRequest'),
])

refuse('json_patch', [
    ('is_empty', patch(JSON_PATCH, ''), '400 BadRequest'),
    ('is_an_object', patch(JSON_PATCH, '{}'), '400 BadRequest'),
    ('has_a_number', patch(JSON_PATCH, '[1]'), '400 BadRequest'),
    ('has_an_empty_step', patch(JSON_PATCH, '[{}]'), '422 Invalid'),
    ('has_an_unknown_step', patch(JSON_PATCH, '[{"op":"twist","path":"/data/x"}]'), '422 Invalid'),
    ('adds_without_a_path', patch(JSON_PATCH, '[{"op":"add"}]'), '422 Invalid'),
    ('adds_below_nothing', patch(JSON_PATCH, '[{"op":"add","path":"/x/y/z","value":1}]'), '422 Invalid'),
    ('adds_behind_the_end', patch(JSON_PATCH, '[{"op":"add","path":"/metadata/finalizers/5","value":"e.com/x"}]'),
     '422 Invalid'),
    ('removes_nothing', patch(JSON_PATCH, '[{"op":"remove","path":"/data/nothing"}]'), '422 Invalid'),
    ('removes_everything', patch(JSON_PATCH, '[{"op":"remove","path":""}]'), '422 Invalid'),
    ('replaces_everything', patch(JSON_PATCH, '[{"op":"replace","path":"","value":{}}]'), '400 BadRequest'),
    ('moves_from_nowhere', patch(JSON_PATCH, '[{"op":"move","path":"/data/x"}]'), '422 Invalid'),
    ('moves_nothing', patch(JSON_PATCH, '[{"op":"move","from":"/data/nothing","path":"/data/x"}]'), '422 Invalid'),
    ('tests_a_wrong_value', patch(JSON_PATCH, '[{"op":"test","path":"/data/k","value":"x"}]'), '422 Invalid'),
    ('tests_nothing', patch(JSON_PATCH, '[{"op":"test","path":"/data/nothing","value":"x"}]'), '422 Invalid'),
    ('removes_the_name', patch(JSON_PATCH, '[{"op":"remove","path":"/metadata/name"}]'), '400 BadRequest'),
    ('changes_the_name', patch(JSON_PATCH, '[{"op":"replace","path":"/metadata/name","value":"z"}]'),
     '400 BadRequest'),
    ('makes_data_a_number', patch(JSON_PATCH, '[{"op":"replace","path":"/data","value":5}]'),
     '422 Invalid: Invalid patch'),
    ('changes_the_kind', patch(JSON_PATCH, '[{"op":"replace","path":"/kind","value":"Pod"}]'),
     '422 Invalid: Invalid patch'),
    ('changes_the_api_version', patch(JSON_PATCH, '[{"op":"replace","path":"/apiVersion","value":"v2"}]'),
     '422 Invalid: Invalid patch'),
    ('of_a_custom_object_changes_the_kind',
     patch(JSON_PATCH, '[{"op":"replace","path":"/kind","value":"Other"}]', f'{GROUPS}/g'),
     '422 Invalid: Invalid kind'),
    ('has_too_many_steps', patch(JSON_PATCH, '[' + ','.join(['{"op":"test","path":"/kind"}'] * 10001) + ']'),
     '413 RequestEntityTooLarge'),
    ('of_a_custom_object_makes_a_number_a_list',
     patch(JSON_PATCH, '[{"op":"add","path":"/spec/minMember","value":[]}]', f'{GROUPS}/g'),
     '422 Invalid: TypeInvalid spec.minMember'),
])

refuse('strategic_patch', [
    ('is_empty', patch(STRATEGIC, ''), '400 BadRequest'),
    ('is_a_list', patch(STRATEGIC, '[]'), '400 BadRequest'),
    ('is_a_number', patch(STRATEGIC, '5'), '400 BadRequest'),
    ('names_an_unknown_directive', patch(STRATEGIC, '{"data":{"$patch":"twist"}}'), '500 None'),
    ('finalizers_are_a_number', patch(STRATEGIC, '{"metadata":{"finalizers":5}}'), '422 Invalid: Invalid patch'),
    ('owners_are_numbers', patch(STRATEGIC, '{"metadata":{"ownerReferences":[5]}}'), '422 Invalid: Invalid patch'),
    ('owner_is_incomplete', patch(STRATEGIC, '{"metadata":{"ownerReferences":[{"name":"x","uid":"y"}]}}'),
     '422 Invalid: Invalid metadata.ownerReferences.apiVersion, Invalid metadata.ownerReferences.kind'),
    ('owner_has_no_uid', patch(STRATEGIC, '{"metadata":{"ownerReferences":[{"name":"x"}]}}'),
     '422 Invalid: Invalid metadata.ownerReferences.apiVersion, Invalid metadata.ownerReferences.kind, '
     'Invalid metadata.ownerReferences.uid'),
    ('data_is_a_number', patch(STRATEGIC, '{"data":5}'), '422 Invalid: Invalid patch'),
    ('retain_keys_is_a_number', patch(STRATEGIC, '{"metadata":{"$retainKeys":5}}'), '400 BadRequest'),
    ('kind_is_a_number', patch(STRATEGIC, '{"kind":5}'), '422 Invalid: Invalid patch'),
    ('container_without_a_name', patch(STRATEGIC, '{"spec":{"template":{"spec":{"containers":[{"image":"x"}]}}}}',
                                       DEPLOYMENT), '500 None'),
    ('containers_are_an_object', patch(STRATEGIC, '{"spec":{"template":{"spec":{"containers":{}}}}}', DEPLOYMENT),
     '422 Invalid: Invalid patch'),
    ('new_container_without_an_image',
     patch(STRATEGIC, '{"spec":{"template":{"spec":{"containers":[{"name":"y"}]}}}}', DEPLOYMENT),
     '422 Invalid: Required spec.template.spec.containers[0].image'),
    ('changes_the_name', patch(STRATEGIC, '{"metadata":{"name":"b"}}'), '400 BadRequest'),
    ('of_a_pod_adds_a_container',
     patch(STRATEGIC, '{"spec":{"containers":[{"name":"y","image":"x"}]}}', POD),
     '422 Invalid: Forbidden spec.containers'),
])

# ---- metadata ----

refuse_new('name', MAPS, config_map('x'), 'metadata', [
    ('is_missing', {'name': None}, '422 Invalid: Required metadata.name'),
    ('is_empty', {'name': ''}, '422 Invalid: Required metadata.name'),
    ('is_a_number', {'name': 5}, '400 BadRequest'),
    ('has_upper_case', {'name': 'Abc'}, '422 Invalid: Invalid metadata.name'),
    ('has_an_underscore', {'name': 'a_b'}, '422 Invalid: Invalid metadata.name'),
    ('has_a_space', {'name': 'a b'}, '422 Invalid: Invalid metadata.name'),
    ('has_a_slash', {'name': 'a/b'}, '422 Invalid: Invalid metadata.name'),
    ('has_a_percent', {'name': 'a%b'}, '422 Invalid: Invalid metadata.name'),
    ('is_a_dot', {'name': '.'}, '422 Invalid: Invalid metadata.name'),
    ('goes_up', {'name': '../x'}, '422 Invalid: Invalid metadata.name'),
    ('starts_with_a_hyphen', {'name': '-a'}, '422 Invalid: Invalid metadata.name'),
    ('ends_with_a_dot', {'name': 'a.'}, '422 Invalid: Invalid metadata.name'),
    ('has_a_nul', {'name': 'a\0b'}, '422 Invalid: Invalid metadata.name'),
    ('is_a_nul', {'name': '\0'}, '422 Invalid: Invalid metadata.name'),
    ('is_not_ascii', {'name': 'é'}, '422 Invalid: Invalid metadata.name'),
    ('is_too_long', {'name': 'x' * 254}, '422 Invalid: Invalid metadata.name'),
    ('generated_from_upper_case', {'name': None, 'generateName': 'BAD_'},
     '422 Invalid: Invalid metadata.generateName, Invalid metadata.name'),
    ('generated_from_a_number', {'name': None, 'generateName': 5}, '400 BadRequest'),
])

refuse('name_of', [
    ('a_namespace_has_a_dot', post('/api/v1/namespaces', {'metadata': {'name': 'a.b'}}),
     '422 Invalid: Invalid metadata.name'),
    ('a_namespace_is_too_long', post('/api/v1/namespaces', {'metadata': {'name': 'x' * 64}}),
     '422 Invalid: Invalid metadata.labels, Invalid metadata.name'),
    ('a_service_starts_with_a_digit', post(f'{NS}/services', service('1a')), '422 Invalid: Invalid metadata.name'),
    ('a_service_has_a_dot', post(f'{NS}/services', service('a.b')), '422 Invalid: Invalid metadata.name'),
    ('a_node_has_upper_case', post('/api/v1/nodes', node('Node')), '422 Invalid: Invalid metadata.name'),
    ('a_pod_is_too_long', post(PODS, pod('x' * 254)), '422 Invalid: Invalid metadata.name'),
    ('a_custom_object_has_upper_case', post(GROUPS, pod_group('Bad')), '422 Invalid: Invalid metadata.name'),
    ('a_definition_is_not_its_resource', post(CRDS, {'metadata': {'name': 'x'}}),
     '422 Invalid: Invalid metadata.name, Invalid spec.versions, Invalid status.storedVersions, '
     'Required spec.group, Required spec.names.kind, Required spec.names.listKind, Required spec.names.plural, '
     'Required spec.names.singular, Required spec.scope'),
    ('an_update_is_another', put(MAP, config_map('b')), '400 BadRequest'),
    ('an_update_is_missing', put(MAP, {'data': {}}), '400 BadRequest'),
    ('a_role_has_a_slash', post('/apis/rbac.authorization.k8s.io/v1/clusterroles',
                                {'metadata': {'name': 'a/b'}}), '422 Invalid: Invalid metadata.name'),
])

refuse_new('metadata', MAPS, config_map('x'), 'metadata', [
    ('label_value_is_a_nul', {'labels': {'a': '\0'}}, '422 Invalid: Invalid metadata.labels'),
    ('namespace_is_another', {'namespace': 'elsewhere'}, '400 BadRequest'),
    ('namespace_is_a_number', {'namespace': 5}, '400 BadRequest'),
    ('labels_are_a_list', {'labels': []}, '400 BadRequest'),
    ('label_is_a_number', {'labels': {'a': 1}}, '400 BadRequest'),
    ('label_key_is_bad', {'labels': {'a b': 'c'}}, '422 Invalid: Invalid metadata.labels'),
    ('label_key_is_empty', {'labels': {'': 'c'}}, '422 Invalid: Invalid metadata.labels'),
    ('label_key_is_too_long', {'labels': {'x' * 64: 'c'}}, '422 Invalid: Invalid metadata.labels'),
    ('label_prefix_is_bad', {'labels': {'A_/b': 'c'}}, '422 Invalid: Invalid metadata.labels'),
    ('label_value_is_bad', {'labels': {'a': 'b c'}}, '422 Invalid: Invalid metadata.labels'),
    ('label_value_is_too_long', {'labels': {'a': 'x' * 64}}, '422 Invalid: Invalid metadata.labels'),
    ('annotations_are_a_string', {'annotations': 'x'}, '400 BadRequest'),
    ('annotation_key_is_bad', {'annotations': {'a b': 'c'}}, '422 Invalid: Invalid metadata.annotations'),
    ('annotations_are_too_long', {'annotations': {'a': 'x' * (256 << 10)}},
     '422 Invalid: TooLong metadata.annotations'),
    ('owners_are_an_object', {'ownerReferences': {}}, '400 BadRequest'),
    ('owner_is_empty', {'ownerReferences': [{}]},
     '422 Invalid: Invalid metadata.ownerReferences.apiVersion, Invalid metadata.ownerReferences.kind, '
     'Invalid metadata.ownerReferences.name, Invalid metadata.ownerReferences.uid'),
    ('owner_has_no_version', {'ownerReferences': [{'apiVersion': '/', 'kind': 'K', 'name': 'n', 'uid': 'u'}]},
     '422 Invalid: Invalid metadata.ownerReferences.apiVersion'),
    ('owner_is_an_event', {'ownerReferences': [{'apiVersion': 'v1', 'kind': 'Event', 'name': 'n', 'uid': 'u'}]},
     '422 Invalid: Invalid metadata.ownerReferences'),
    ('two_controllers', {'ownerReferences': [
        {'apiVersion': 'v1', 'kind': 'K', 'name': n, 'uid': n, 'controller': True} for n in 'ab']},
     '422 Invalid: Invalid metadata.ownerReferences'),
    ('finalizer_has_no_domain', {'finalizers': ['x']}, '422 Invalid: Invalid metadata.finalizers[0]'),
    ('finalizer_has_a_space', {'finalizers': ['a.com/x y']}, '422 Invalid: Invalid metadata.finalizers'),
    ('finalizers_are_a_string', {'finalizers': 'x'}, '400 BadRequest'),
    ('finalizers_contradict', {'finalizers': ['orphan', 'foregroundDeletion']},
     '422 Invalid: Invalid metadata.finalizers'),
    ('creation_time_is_bad', {'creationTimestamp': 'yesterday'}, '400 BadRequest'),
    ('generation_is_a_string', {'generation': '1'}, '400 BadRequest'),
    ('generation_is_negative', {'generation': -1}, '422 Invalid: Invalid metadata.generation'),
    ('managed_fields_are_a_number', {'managedFields': 5}, '400 BadRequest'),
])

refuse('update', [
    ('namespace_is_another', put(MAP, config_map('a', namespace='x')), '400 BadRequest'),
    ('version_is_a_word', put(MAP, config_map('a', resourceVersion='x')), '500 None'),
    ('version_is_old', put(MAP, config_map('a', resourceVersion='1')), '409 Conflict'),
    ('uid_is_another', put(MAP, config_map('a', uid='x')), '409 Conflict'),
    ('label_is_bad', put(MAP, config_map('a', labels={'a': 'b c'})), '422 Invalid: Invalid metadata.labels'),
    ('body_is_empty', put(MAP, raw=b''), '400 BadRequest'),
    ('of_what_is_not_there', put(f'{MAPS}/nothing', config_map('nothing')), '404 NotFound'),
    ('of_a_pod_without_containers', put(POD, {'metadata': {'name': 'q'}, 'spec': {}}),
     '422 Invalid: Forbidden spec.containers, Required spec.containers'),
    ('of_a_pod_with_another_image', put(POD, pod('q', container={'image': 'i:2', 'name': 'z'})),
     '422 Invalid: Forbidden spec'),
    ('of_a_deployment_with_another_selector',
     put(DEPLOYMENT, deployment('d', {'selector': {'matchLabels': {'b': 'c'}}})),
     '422 Invalid: Invalid spec.selector, Invalid spec.template.metadata.labels'),
    ('of_a_job_with_another_template', put(f'{JOBS}/j', job('j')),
     '422 Invalid: Invalid spec.selector, Invalid spec.template, Invalid spec.template.metadata.labels, '
     'Required spec.selector'),
    ('of_a_custom_object_without_a_version', put(f'{GROUPS}/g', pod_group('g')),
     '422 Invalid: Invalid metadata.resourceVersion'),
    ('of_a_status_without_a_name', put(f'{POD}/status', {'metadata': {}}), '400 BadRequest'),
    ('of_a_service_to_another_address', put(f'{NS}/services/s', {
        **service('s'), 'spec': {'clusterIP': 'None', 'ports': [{'port': 80}]}}),
     '422 Invalid: Invalid spec.clusterIPs[0]'),
])

refuse('config_map', [
    ('immutable_is_a_string', post(MAPS, {**config_map('y'), 'immutable': 'yes'}), '400 BadRequest'),
    ('binary_data_is_not_base64', post(MAPS, {**config_map('y'), 'binaryData': {'a': '!'}}), '400 BadRequest'),
    ('data_is_a_number', post(MAPS, {**config_map('y'), 'data': {'a': 5}}), '400 BadRequest'),
    ('key_is_bad', post(MAPS, config_map('y', {'a b': 'c'})), '422 Invalid: Invalid data[a b]'),
    ('key_is_two_dots', post(MAPS, config_map('y', {'..': 'c'})), '422 Invalid: Invalid data[..]'),
    ('key_is_in_both', post(MAPS, {**config_map('y', {'a': 'b'}), 'binaryData': {'a': 'eA=='}}),
     '422 Invalid: Invalid data[a]'),
    ('is_too_large', post(MAPS, config_map('y', {'k': 'x' * (1 << 20), 'l': 'x'})), '422 Invalid: TooLong []'),
])


# ---- odd, but taken ----

@check
def taken_a_field_selector_without_field_and_value(t):
    t.make(t.maps(), config_map('a'))
    for selector in ('=', '=='):
        t.eq(len(t.read(t.maps(), fieldSelector=selector)['items']), 1, f'items for {selector}')


@check
def taken_a_patch_that_is_null_and_changes_nothing(t):
    made = t.make(t.maps(), config_map('a'))
    for content in (JSON_PATCH, STRATEGIC):
        t.has(t.code(t.call('PATCH', f'{t.maps()}/a', raw=b'null', content=content), 200), 'data', made['data'])


@check
def taken_a_strategic_patch_of_kind_and_version_that_is_not_heeded(t):
    t.make(t.maps(), config_map('a'))
    a = t.code(t.patch(f'{t.maps()}/a', {'kind': 'Pod', 'apiVersion': 'v2'}, content=STRATEGIC), 200)
    t.eq((a['kind'], a['apiVersion']), ('ConfigMap', 'v1'), 'kind')


@check
def taken_a_patch_that_removes_the_kind(t):
    t.make(t.maps(), config_map('a'))
    t.has(t.code(t.patch(f'{t.maps()}/a', {'kind': None}), 200), 'kind', 'ConfigMap')
    t.has(t.code(t.patch(f'{t.maps()}/a', [{'op': 'remove', 'path': '/kind'}], content=JSON_PATCH), 200),
          'kind', 'ConfigMap')


@check
def taken_timeouts_as_durations(t):
    for timeout in ('5s', '1h2m3s', '.5s', '0', '-1s'):
        t.code(t.get(t.maps(), timeout=timeout), 200)


@check
def taken_an_old_watch_of_an_object_that_is_not_there(t):
    w = t.watching(f'/api/v1/watch/namespaces/{t.ns}/configmaps/a', watch=None)
    t.make(t.maps(), config_map('b'))
    t.make(t.maps(), config_map('a'))
    t.eq(w.take(1), ['ADDED a'], 'events')


@check
def taken_a_slash_at_the_end_of_a_path(t):
    t.make(t.maps(), config_map('a'))
    t.eq(len(t.read(f'{t.maps()}/')['items']), 1, 'items')
    t.has(t.read(f'{t.maps()}/a/'), 'metadata.name', 'a')


@check
def taken_one_check_of_the_health(t):
    for path in ('/healthz/ping', '/livez/ping', '/readyz/ping'):
        t.eq((t.get(path).code, t.get(path).data), (200, b'ok'), path)


@check
def continue_too_old_is_expired_and_offers_another(t):
    if not t.server.expired:
        t.skip('needs a compacted resourceVersion')
    a = t.get(t.maps(), continue_=token(v='meta.k8s.io/v1', rv=int(t.server.expired), start='a'))
    t.status(a, 410, 'Expired', part='The provided continue parameter is too old')
    t.code(t.get(t.maps(), continue_=a['metadata.continue']), 200)
