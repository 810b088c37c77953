"""verbs.py - create, read, update: codes, what the server fills in, optimistic locking, dry run, field validation."""
import re
import uuid

from client import check, config_map, deployment, node, pod

TIME = re.compile(r'^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$')


# ---- create ----

@check
def create_answers_201_with_the_object(t):
    a = t.code(t.post(t.maps(), config_map('a')), 201)
    t.has(a, 'kind', 'ConfigMap')
    t.has(a, 'apiVersion', 'v1')
    t.has(a, 'data', {'k': 'v'})
    t.has(a, 'metadata.namespace', t.ns)


@check
def create_sets_a_random_uid(t):
    got = [t.make(t.maps(), config_map(n))['metadata']['uid'] for n in 'ab']
    for u in got:
        t.eq(uuid.UUID(u).version, 4, 'version of the UUID')
    t.true(got[0] != got[1], 'two objects have the same uid')


@check
def create_sets_the_creation_time_in_seconds(t):
    stamp = t.make(t.maps(), config_map('a'))['metadata']['creationTimestamp']
    t.true(TIME.match(stamp), f'creationTimestamp {stamp}')


@check
def create_ignores_uid_and_times_of_the_client(t):
    want = config_map('a', uid='11111111-1111-4111-8111-111111111111', creationTimestamp='2001-01-01T00:00:00Z')
    got = t.make(t.maps(), want)
    t.true(got['metadata']['uid'] != want['metadata']['uid'], 'the uid of the client was kept')
    t.true(not got['metadata']['creationTimestamp'].startswith('2001'), 'the time of the client was kept')


@check
def create_takes_kind_and_version_from_the_path_when_absent(t):
    got = t.make(t.maps(), {'metadata': {'name': 'a'}})
    t.has(got, 'kind', 'ConfigMap')
    t.has(got, 'apiVersion', 'v1')


@check
def create_twice_is_already_exists(t):
    t.make(t.maps(), config_map('a'))
    t.status(t.post(t.maps(), config_map('a')), 409, 'AlreadyExists', 'configmaps "a" already exists',
             details={'name': 'a', 'kind': 'configmaps'})


@check
def create_twice_names_the_group_of_the_resource(t):
    path = t.at('deployments', 'apps')
    t.make(path, deployment('a'))
    t.status(t.post(path, deployment('a')), 409, 'AlreadyExists', 'deployments.apps "a" already exists',
             details={'name': 'a', 'group': 'apps', 'kind': 'deployments'})


@check
def create_without_a_name_is_invalid(t):
    t.invalid(t.post(t.maps(), {'data': {'k': 'v'}}), ('FieldValueRequired', 'metadata.name'),
              part='metadata.name: Required value: name or generateName is required')


@check
def create_with_generate_name_appends_five_characters(t):
    got = [t.make(t.maps(), {'metadata': {'generateName': 'web-'}})['metadata'] for _ in range(3)]
    for m in got:
        t.true(re.match(r'^web-[bcdfghjklmnpqrstvwxz2456789]{5}$', m['name']), f'name {m["name"]}')
        t.eq(m['generateName'], 'web-', 'generateName')
    t.eq(len({m['name'] for m in got}), 3, 'different names')


@check
def create_with_generate_name_cuts_a_long_base(t):
    got = t.make(t.maps(), {'metadata': {'generateName': 'a' * 70}})['metadata']['name']
    t.eq((len(got), got[:58]), (63, 'a' * 58), 'name')


@check
def create_with_name_and_generate_name_uses_the_name(t):
    t.has(t.make(t.maps(), {'metadata': {'name': 'a', 'generateName': 'b-'}}), 'metadata.name', 'a')


@check
def create_with_a_resource_version_is_refused(t):
    # A plain Go error on the real server, so without a reason; the code is what it is.
    a = t.post(t.maps(), config_map('a', resourceVersion='12'))
    t.status(a, 500, None, 'resourceVersion should not be set on objects to be created')


@check
def create_in_another_namespace_than_the_path_is_refused(t):
    t.status(t.post(t.maps(), config_map('a', namespace='elsewhere')), 400, 'BadRequest',
             'the namespace of the provided object does not match the namespace sent on the request')


@check
def create_of_another_kind_than_the_path_is_refused(t):
    t.status(t.post(t.maps(), {'apiVersion': 'v1', 'kind': 'Secret', 'metadata': {'name': 'a'}}), 400, 'BadRequest',
             part='Secret in version "v1" cannot be handled as a ConfigMap')


@check
def create_of_another_group_than_the_path_is_refused(t):
    t.status(t.post(t.at('deployments', 'apps'), {**deployment('a'), 'apiVersion': 'batch/v1'}), 400, 'BadRequest')


@check
def create_in_a_namespace_that_does_not_exist_is_not_found(t):
    ns = t.name('none')
    t.status(t.post(f'/api/v1/namespaces/{ns}/configmaps', config_map('a')), 404, 'NotFound',
             f'namespaces "{ns}" not found', details={'name': ns, 'kind': 'namespaces'})


@check
def create_on_the_path_of_an_object_is_not_allowed(t):
    t.status(t.post(f'{t.maps()}/a', config_map('a')), 405, 'MethodNotAllowed',
             'the server does not allow this method on the requested resource')


@check
def create_in_all_namespaces_is_not_allowed(t):
    t.status(t.post('/api/v1/configmaps', config_map('a')), 405, 'MethodNotAllowed')


# ---- bodies ----

@check
def body_that_is_not_json_is_a_bad_request(t):
    t.status(t.call('POST', t.maps(), raw=b'{"metadata":'), 400, 'BadRequest')


@check
def body_that_is_empty_is_a_bad_request(t):
    t.status(t.call('POST', t.maps(), raw=b''), 400, 'BadRequest')


@check
def body_that_is_an_array_is_a_bad_request(t):
    t.status(t.post(t.maps(), []), 400, 'BadRequest')


@check
def body_with_a_field_of_another_type_names_the_field(t):
    t.status(t.post(t.maps(), {'metadata': {'name': 'a'}, 'data': {'k': 1}}), 400, 'BadRequest', part='data')
    t.status(t.post(t.pods(), pod('a', {'priority': 'high'})), 400, 'BadRequest', part='spec.priority')


@check
def body_of_an_unknown_content_type_is_unsupported(t):
    t.status(t.call('POST', t.maps(), raw=b'<a/>', content='text/xml'), 415, 'UnsupportedMediaType',
             part='the body of the request was in an unknown format - accepted media types include: application/json')


@check
def body_with_a_charset_is_accepted(t):
    t.code(t.post(t.maps(), config_map('a'), content='application/json; charset=utf-8'), 201)


@check
def body_beyond_three_megabytes_is_too_large(t):
    t.status(t.post(t.maps(), config_map('a', {'k': 'x' * (3 * 1024 * 1024 + 10)})), 413, 'RequestEntityTooLarge')


@check
def body_with_a_bad_quantity_is_a_bad_request(t):
    bad = pod('a', container={'resources': {'limits': {'cpu': 'lots'}}})
    t.status(t.post(t.pods(), bad), 400, 'BadRequest', part='quantities must match the regular expression')


@check
def fields_of_the_wrong_case_are_dropped(t):
    got = t.make(t.maps(), {'metadata': {'name': 'a'}, 'Data': {'k': 'v'}})
    t.has(got, 'data', None)


@check
def null_fields_count_as_absent(t):
    got = t.make(t.maps(), {'metadata': {'name': 'a', 'labels': None}, 'data': None, 'immutable': None})
    t.true('labels' not in got['metadata'] and 'data' not in got and 'immutable' not in got, f'nulls kept: {got}')


# ---- field validation ----

@check
def field_validation_strict_refuses_unknown_fields(t):
    a = t.post(t.pods(), pod('a', {'nodeNam': 'x'}), fieldValidation='Strict')
    t.status(a, 400, 'BadRequest', part='strict decoding error: unknown field "spec.nodeNam"')


@check
def field_validation_strict_names_indexes(t):
    a = t.post(t.pods(), pod('a', container={'imag': 'x'}), fieldValidation='Strict')
    t.status(a, 400, 'BadRequest', part='unknown field "spec.containers[0].imag"')


@check
def field_validation_strict_refuses_duplicate_fields(t):
    raw = b'{"metadata":{"name":"a"},"data":{"k":"1"},"data":{"k":"2"}}'
    t.status(t.call('POST', t.maps(), raw=raw, fieldValidation='Strict'), 400, 'BadRequest',
             part='strict decoding error: duplicate field "data"')


@check
def field_validation_warn_is_the_default(t):
    a = t.code(t.post(t.pods(), pod('a', {'nodeNam': 'x'})), 201)
    t.eq(a.headers.get('Warning'), '299 - "unknown field \\"spec.nodeNam\\""', 'Warning header')
    t.has(a, 'spec.nodeNam', None)


@check
def field_validation_warn_lists_every_unknown_field(t):
    a = t.code(t.post(t.pods(), pod('a', {'x1': 1, 'x2': 2})), 201)
    t.eq(len(a.headers.get_all('Warning') or []), 2, 'Warning headers')


@check
def field_validation_ignore_is_silent(t):
    a = t.code(t.post(t.pods(), pod('a', {'nodeNam': 'x'}), fieldValidation='Ignore'), 201)
    t.eq(a.headers.get('Warning'), None, 'Warning header')


@check
def field_validation_of_another_value_is_refused(t):
    t.invalid(t.post(t.maps(), config_map('a'), fieldValidation='Maybe'), ('FieldValueNotSupported', 'fieldValidation'))


@check
def field_validation_strict_holds_for_update_and_patch(t):
    p = f'{t.maps()}/a'
    t.make(t.maps(), config_map('a'))
    t.status(t.put(p, {**config_map('a'), 'x': 1}, fieldValidation='Strict'), 400, 'BadRequest',
             part='unknown field "x"')
    t.invalid(t.patch(p, {'x': 1}, fieldValidation='Strict'), ('FieldValueInvalid', 'patch'),
              part='strict decoding error: unknown field "x"')


# ---- read ----

@check
def get_answers_the_object_as_stored(t):
    made = t.make(t.maps(), config_map('a'))
    t.eq(t.read(f'{t.maps()}/a'), made, 'object')


@check
def get_of_what_is_not_there_is_not_found(t):
    t.status(t.get(f'{t.maps()}/nope'), 404, 'NotFound', 'configmaps "nope" not found',
             details={'name': 'nope', 'kind': 'configmaps'})
    t.status(t.get(f'{t.at("jobs", "batch")}/nope'), 404, 'NotFound', 'jobs.batch "nope" not found',
             details={'group': 'batch'})


@check
def get_of_an_unknown_resource_is_not_found(t):
    for path in (f'/api/v1/namespaces/{t.ns}/widgets', '/apis/apps/v1/widgets', '/apis/none.example.com/v1/things'):
        a = t.code(t.get(path), 404)
        if 'none.example' not in path:  # where no group answers, the real server says it in plain text
            t.status(a, 404, 'NotFound', 'the server could not find the requested resource')


@check
def get_in_a_namespace_that_does_not_exist_is_not_found_and_its_list_is_empty(t):
    ns = t.name('none')
    t.status(t.get(f'/api/v1/namespaces/{ns}/pods/a'), 404, 'NotFound', 'pods "a" not found')
    t.eq(t.read(f'/api/v1/namespaces/{ns}/pods')['items'], [], 'items')


@check
def get_with_a_future_resource_version_times_out(t):
    t.make(t.maps(), config_map('a'))
    a = t.get(f'{t.maps()}/a', resourceVersion='1000000000')
    t.status(a, 504, 'Timeout', part='Too large resource version: 1000000000', causes=[('ResourceVersionTooLarge', None)])


@check
def get_pretty_indents(t):
    t.make(t.maps(), config_map('a'))
    t.true(b'\n  "kind": "ConfigMap"' in t.get(f'{t.maps()}/a', pretty='true').data, 'no indentation')


@check
def get_answers_one_line_to_programs(t):
    t.make(t.maps(), config_map('a'))
    a = t.get(f'{t.maps()}/a')
    t.eq(a.data.count(b'\n'), 1, 'lines')
    t.eq(a.type, 'application/json', 'Content-Type')


# ---- update ----

@check
def update_replaces_the_object(t):
    made = t.make(t.maps(), config_map('a', {'k': 'v', 'l': 'w'}))
    a = t.code(t.put(f'{t.maps()}/a', {**made, 'data': {'k': 'new'}}), 200)
    t.has(a, 'data', {'k': 'new'})
    t.true(int(a['metadata.resourceVersion']) > int(made['metadata']['resourceVersion']), 'resourceVersion did not grow')
    t.has(a, 'metadata.uid', made['metadata']['uid'])


@check
def update_of_an_old_version_is_a_conflict(t):
    made = t.make(t.maps(), config_map('a'))
    t.code(t.put(f'{t.maps()}/a', {**made, 'data': {'k': '1'}}), 200)
    t.status(t.put(f'{t.maps()}/a', {**made, 'data': {'k': '2'}}), 409, 'Conflict',
             'Operation cannot be fulfilled on configmaps "a": the object has been modified; please apply your changes '
             'to the latest version and try again', details={'name': 'a', 'kind': 'configmaps'})


@check
def update_without_a_version_wins(t):
    t.make(t.maps(), config_map('a'))
    t.has(t.code(t.put(f'{t.maps()}/a', config_map('a', {'k': 'n'})), 200), 'data.k', 'n')


@check
def update_with_another_uid_is_a_conflict(t):
    t.make(t.maps(), config_map('a'))
    bad = config_map('a', uid='11111111-1111-4111-8111-111111111111')
    t.status(t.put(f'{t.maps()}/a', bad), 409, 'Conflict', part='Precondition failed: UID in precondition: '
             '11111111-1111-4111-8111-111111111111, UID in object meta: ')


@check
def update_under_another_name_is_refused(t):
    t.make(t.maps(), config_map('a'))
    t.status(t.put(f'{t.maps()}/a', config_map('b')), 400, 'BadRequest',
             'the name of the object (b) does not match the name on the URL (a)')


@check
def update_of_what_is_not_there_is_not_found(t):
    t.status(t.put(f'{t.maps()}/nope', config_map('nope')), 404, 'NotFound')


@check
def update_that_changes_nothing_keeps_the_resource_version(t):
    made = t.make(t.maps(), config_map('a'))
    t.has(t.put(f'{t.maps()}/a', made), 'metadata.resourceVersion', made['metadata']['resourceVersion'])


@check
def update_of_a_lease_makes_it_when_it_is_not_there(t):
    path = t.at('leases', 'coordination.k8s.io')
    lease = {'apiVersion': 'coordination.k8s.io/v1', 'kind': 'Lease', 'metadata': {'name': 'l'},
             'spec': {'holderIdentity': 'me'}}
    t.code(t.put(f'{path}/l', lease), 201)
    t.has(t.read(f'{path}/l'), 'spec.holderIdentity', 'me')


@check
def update_keeps_what_the_server_owns(t):
    made = t.make(t.maps(), config_map('a'))
    a = t.code(t.put(f'{t.maps()}/a', config_map('a', {'k': 'n'}, creationTimestamp='2001-01-01T00:00:00Z')), 200)
    t.has(a, 'metadata.creationTimestamp', made['metadata']['creationTimestamp'])


@check
def an_immutable_config_map_cannot_be_changed(t):
    made = t.make(t.maps(), {**config_map('a'), 'immutable': True})
    t.invalid(t.put(f'{t.maps()}/a', {**made, 'data': {'k': 'n'}}), ('FieldValueForbidden', 'data'),
              part='data: Forbidden: field is immutable when `immutable` is set')


# ---- generation ----

@check
def generation_starts_at_one_and_grows_with_the_spec(t):
    path = t.at('deployments', 'apps')
    made = t.make(path, deployment('a'))
    t.has(made, 'metadata.generation', 1)
    made['spec']['replicas'] = 3
    t.has(t.put(f'{path}/a', made), 'metadata.generation', 2)


@check
def generation_does_not_grow_with_labels_or_status(t):
    path = t.at('deployments', 'apps')
    made = t.make(path, deployment('a'))
    t.has(t.patch(f'{path}/a', {'metadata': {'labels': {'x': 'y'}}}), 'metadata.generation', 1)
    t.has(t.patch(f'{path}/a/status', {'status': {'replicas': 1}}), 'metadata.generation', 1)
    t.has(made, 'metadata.generation', 1)


@check
def generation_of_a_pod_starts_at_one(t):
    t.has(t.make(t.pods(), pod('a')), 'metadata.generation', 1)


@check
def generation_is_absent_where_there_is_no_spec(t):
    t.has(t.make(t.maps(), config_map('a')), 'metadata.generation', None)


# ---- dry run ----

@check
def dry_run_create_answers_the_object_and_stores_nothing(t):
    a = t.code(t.post(t.maps(), config_map('a'), dryRun='All'), 201)
    t.true(a['metadata.uid'], 'no uid')
    t.code(t.get(f'{t.maps()}/a'), 404)


@check
def dry_run_create_of_what_exists_is_already_exists(t):
    t.make(t.maps(), config_map('a'))
    t.status(t.post(t.maps(), config_map('a'), dryRun='All'), 409, 'AlreadyExists')


@check
def dry_run_update_and_patch_store_nothing(t):
    made = t.make(t.maps(), config_map('a'))
    t.has(t.put(f'{t.maps()}/a', config_map('a', {'k': 'n'}), dryRun='All'), 'data.k', 'n')
    t.has(t.patch(f'{t.maps()}/a', {'data': {'k': 'n'}}, dryRun='All'), 'data.k', 'n')
    t.eq(t.read(f'{t.maps()}/a'), made, 'object')


@check
def dry_run_delete_keeps_the_object(t):
    t.make(t.maps(), config_map('a'))
    t.code(t.delete(f'{t.maps()}/a', dryRun='All'), 200)
    t.code(t.get(f'{t.maps()}/a'), 200)


@check
def dry_run_of_another_value_is_refused(t):
    t.invalid(t.post(t.maps(), config_map('a'), dryRun='Some'), ('FieldValueNotSupported', 'dryRun'))


# ---- cluster-scoped objects ----

@check
def cluster_scoped_objects_have_no_namespace(t):
    n = t.name('node')
    a = t.code(t.post('/api/v1/nodes', node(n)), 201)
    t.has(a, 'metadata.namespace', None)
    t.code(t.get(f'/api/v1/nodes/{n}'), 200)


@check
def cluster_scoped_objects_lose_a_namespace(t):
    t.has(t.make('/api/v1/nodes', node(t.name('node'), namespace='default')), 'metadata.namespace', None)


# ---- who asks ----

@check
def wrong_token_is_unauthorized(t):
    t.status(t.get('/api/v1/namespaces', token='wrong'), 401, 'Unauthorized', 'Unauthorized')


@check
def missing_token_is_unauthorized(t):
    t.status(t.get('/api/v1/namespaces', headers={'Authorization': None}), 401, 'Unauthorized')


@check
def basic_credentials_are_unauthorized(t):
    t.status(t.get('/api/v1/namespaces', headers={'Authorization': 'Basic YTpi'}), 401, 'Unauthorized')


# ---- content negotiation ----

@check
def accept_of_an_unknown_type_is_not_acceptable(t):
    a = t.get(t.maps(), accept='text/css')
    t.eq(a.code, 406, f'code of {a}')


@check
def accept_with_quality_and_alternatives_gets_json(t):
    for accept in ('*/*', 'text/css, application/json;q=0.5', 'application/json;as=Nothing, application/json', None):
        a = t.code(t.get(t.maps(), headers={'Accept': accept}), 200)
        t.eq(a.type, 'application/json', f'type for {accept}')


# A named type goes before any type, then the greater quality, then the first; what is no number is 0, and 0 is last, not never.
JSON_TYPE, YAML_TYPE, PROTOBUF_TYPE = 'application/json', 'application/yaml', 'application/vnd.kubernetes.protobuf'
PREFERENCES = [
    ('a_lesser_one_first', f'{YAML_TYPE};q=0.1,{JSON_TYPE}', JSON_TYPE),
    ('a_greater_one_last', f'{JSON_TYPE};q=0.5,{YAML_TYPE}', YAML_TYPE),
    ('two_of_the_same', f'{YAML_TYPE};q=0.9,{JSON_TYPE};q=0.9', YAML_TYPE),
    ('of_three_types', f'{JSON_TYPE};q=0.2,{YAML_TYPE};q=0.3,{PROTOBUF_TYPE};q=0.8', PROTOBUF_TYPE),
    ('with_spaces', f'{YAML_TYPE}; q=0.5, {JSON_TYPE}; q=0.7', JSON_TYPE),
    ('a_space_in_the_number', f'{YAML_TYPE};q= 0.9,{JSON_TYPE};q=0.5', JSON_TYPE),
    ('zero', f'{JSON_TYPE};q=0', JSON_TYPE),
    ('zero_before_another', f'{YAML_TYPE};q=0,{JSON_TYPE};q=0.1', JSON_TYPE),
    ('zero_before_anything', f'{YAML_TYPE};q=0,*/*;q=0', YAML_TYPE),
    ('less_than_zero', f'{YAML_TYPE};q=-1,{JSON_TYPE};q=0', JSON_TYPE),
    ('more_than_one', f'{JSON_TYPE},{YAML_TYPE};q=1.5', YAML_TYPE),
    ('an_exponent', f'{YAML_TYPE};q=1e-3,{JSON_TYPE};q=0.1', JSON_TYPE),
    ('no_number', f'{YAML_TYPE};q=x,{JSON_TYPE};q=0.1', JSON_TYPE),
    ('two_equal_signs', f'{YAML_TYPE};q=0.5=3,{JSON_TYPE};q=0.9', YAML_TYPE),
    ('anything_and_a_type', f'*/*,{YAML_TYPE};q=0.1', YAML_TYPE),
    ('anything_of_a_type_and_a_type', f'application/*,{YAML_TYPE};q=0.2', YAML_TYPE),
    ('a_star_and_a_type', f'*;q=0.1,{YAML_TYPE};q=0.05', YAML_TYPE),
    ('an_unknown_one_and_anything', f'text/html,{YAML_TYPE};q=0.5,*/*;q=0.1', YAML_TYPE),
]
for _name, _accept, _want in PREFERENCES:
    def accept_prefers(t, accept=_accept, want=_want):
        for path in (f'/api/v1/namespaces/{t.ns}', '/apis/apps/v1'):
            t.eq(t.code(t.get(path, accept=accept), 200).type, want, f'type of {path}')
    accept_prefers.__name__ = f'accept_prefers_{_name}'
    check(accept_prefers)


@check
def accept_prefers_a_form_by_quality(t):
    table = 'application/json;as=Table;g=meta.k8s.io;v=v1'
    path = f'/api/v1/namespaces/{t.ns}'
    t.eq(t.get(path, accept=f'{JSON_TYPE};q=0.3,{table}')['kind'], 'Table', 'kind')
    t.eq(t.get(path, accept=f'{table};q=0.3,{JSON_TYPE}')['kind'], 'Namespace', 'kind')


@check
def accept_partial_object_metadata(t):
    t.make(t.maps(), config_map('a', labels={'x': 'y'}))
    a = t.code(t.get(f'{t.maps()}/a', accept='application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1'), 200)
    t.has(a, 'kind', 'PartialObjectMetadata')
    t.has(a, 'apiVersion', 'meta.k8s.io/v1')
    t.has(a, 'metadata.labels', {'x': 'y'})
    t.has(a, 'data', None)


@check
def accept_partial_object_metadata_list(t):
    t.make(t.maps(), config_map('a'))
    a = t.code(t.get(t.maps(), accept='application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1'), 200)
    t.has(a, 'kind', 'PartialObjectMetadataList')
    t.has(a, 'items.0.metadata.name', 'a')


@check
def answers_are_compressed_only_on_request(t):
    for i in range(4):
        t.make(t.maps(), config_map(f'a{i}', {'k': 'x' * 60000}))
    a = t.call('GET', t.maps(), headers={'Accept-Encoding': 'identity'})
    t.eq(a.headers.get('Content-Encoding'), None, 'Content-Encoding')
    t.eq(len(a['items']), 4, 'items')


@check
def method_that_no_resource_knows_is_not_allowed(t):
    t.status(t.call('PROPFIND', t.maps()), 405, 'MethodNotAllowed',
             'the server does not allow this method on the requested resource')


@check
def head_answers_without_a_body(t):
    a = t.call('HEAD', '/api/v1/namespaces/default')
    t.eq((a.code, a.data), (405, b''), 'answer')


# ---- the longest name ----

LONG = '.'.join(['n' * 63] * 4)[:253]


@check
def a_long_name_that_is_not_found_is_told_whole(t):
    t.status(t.get(f'{t.maps()}/{LONG}'), 404, 'NotFound', f'configmaps "{LONG}" not found',
             details={'name': LONG, 'kind': 'configmaps', 'group': None})
    path = t.at('deployments', 'apps')
    for a in (t.put(f'{path}/{LONG}', deployment(LONG)), t.delete(f'{path}/{LONG}'), t.patch(f'{path}/{LONG}', {})):
        t.status(a, 404, 'NotFound', f'deployments.apps "{LONG}" not found', details={'name': LONG, 'kind': 'deployments', 'group': 'apps'})


@check
def a_long_name_that_is_taken_is_told_whole(t):
    t.make(t.maps(), config_map(LONG))
    for query in ({}, {'dryRun': 'All'}):
        t.status(t.post(t.maps(), config_map(LONG), **query), 409, 'AlreadyExists', f'configmaps "{LONG}" already exists',
                 details={'name': LONG, 'kind': 'configmaps'})


@check
def a_stale_update_tells_a_long_name_whole(t):
    old = t.make(t.maps(), config_map(LONG))
    t.code(t.patch(f'{t.maps()}/{LONG}', {'data': {'k': 'w'}}), 200)
    t.status(t.put(f'{t.maps()}/{LONG}', old), 409, 'Conflict',
             f'Operation cannot be fulfilled on configmaps "{LONG}": the object has been modified; please apply your changes to the '
             'latest version and try again', details={'name': LONG, 'kind': 'configmaps'})
    uid, other = old['metadata']['uid'], '11111111-1111-4111-8111-111111111111'
    del old['metadata']['resourceVersion']
    old['metadata']['uid'] = other
    t.status(t.put(f'{t.maps()}/{LONG}', old), 409, 'Conflict', details={'name': LONG, 'kind': 'configmaps'},
             part=f'Precondition failed: UID in precondition: {other}, UID in object meta: {uid}')


@check
def an_update_of_another_long_name_tells_both(t):
    t.make(t.maps(), config_map(LONG))
    other = 'm' + LONG[1:]
    t.status(t.put(f'{t.maps()}/{LONG}', config_map(other)), 400, 'BadRequest',
             f'the name of the object ({other}) does not match the name on the URL ({LONG})')
