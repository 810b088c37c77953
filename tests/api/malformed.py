"""malformed.py - requests that a server refuses: the same code, reason and causes from every server.

A row of a table is a check: its name, the request, the answer. An answer is written as said() puts it: the code, the
reason of the Status, and with 422 its causes, sorted, without their prefix FieldValue, and each once: the real server
tells a cause as often as it looks. 'page' stands for an answer that is no Status. {ns} in a path is a namespace that
all rows share, for nothing here changes anything: writes are only tried (dryRun).
"""
import base64
import copy
import json

from client import JSON, MERGE, STRATEGIC, check, config_map, deployment, job, pod

YAML = 'application/yaml'
NS = '/api/v1/namespaces/{ns}'
APPS = '/apis/apps/v1/namespaces/{ns}'
JOBS = '/apis/batch/v1/namespaces/{ns}/jobs'
MAPS = f'{NS}/configmaps'
MAP = f'{MAPS}/a'
PODS = f'{NS}/pods'
POD = f'{PODS}/q'
DEPLOYMENT = f'{APPS}/deployments/d'
GROUPS = '/apis/scheduling.sigs.k8s.io/v1alpha1/namespaces/{ns}/podgroups'
CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'


# ---- how a row becomes a check ----

def home(t):
    """The namespace that the rows share, with something in it to be refused on."""
    def make():
        ns = t.name('malformed')
        t.make('/api/v1/namespaces', {'metadata': {'name': ns}})
        for path, body in ((MAPS, config_map('a')), (PODS, pod('q')), (f'{APPS}/deployments', deployment('d')),
                           (JOBS, job('j')), (f'{NS}/services', service('s')), (GROUPS, pod_group('g'))):
            t.make(path.format(ns=ns), body)
        t.made.clear()
        t.server.leave(f'/api/v1/namespaces/{ns}')
        return ns
    return t.server.once('malformed', make)


def said(a):
    if a['kind'] != 'Status':
        return f'{a.code} page'
    causes = sorted({f'{c.get("reason", "").removeprefix("FieldValue")} {c.get("field", "")}'
                     for c in a['details.causes'] or ()})
    return f'{a.code} {a["reason"]}' + (f': {", ".join(causes)}' if causes and a.code == 422 else '')


def refuse(subject, rows):
    """rows: (name, request, answer); a request is what Trial.call takes."""
    def row(name, request, answer):
        def fn(t):
            ns = home(t)
            a = t.call(**{**request, 'path': request['path'].replace('{ns}', ns)})
            if said(a) != answer:
                t.eq(said(a), answer, str(a))
        fn.__name__ = f'{subject}_{name}'
        check(fn)
    for r in rows:
        row(*r)


def refuse_new(subject, path, base, at, rows):
    """rows: (name, fields, answer); the request makes base with these fields at this place in it."""
    def body(fields):
        new = copy.deepcopy(base)
        for dotted, value in fields.items():
            place(new, f'{at}.{dotted}' if at else dotted, value)
        return new
    refuse(subject, [(name, post(path, body(fields)), answer) for name, fields, answer in rows])


def place(value, dotted, new):
    *way, last = [int(w) if w.isdigit() else w for w in dotted.split('.')]
    for word in way:
        value = value[word] if isinstance(word, int) else value.setdefault(word, {})
    value[last] = new


# What may stand in a text of JSON that is no text: bytes that are sent, what is read. As Go's decoder, which puts U+FFFD in the
# place of each byte that is not UTF-8, and of half a pair.
NO_TEXTS = [
    ('a_byte_that_is_no_utf8', b'\xff', '\ufffd'),
    ('half_a_character', b'\xc3', '\ufffd'),
    ('a_character_in_too_many_bytes', b'\xc0\xaf', '\ufffd\ufffd'),
    ('a_surrogate_in_bytes', b'\xed\xa0\x80', '\ufffd\ufffd\ufffd'),
    ('half_a_pair', rb'\ud83d', '\ufffd'),
    ('a_character_beyond_unicode', b'\xf4\x90\x80\x80', '\ufffd' * 4),
    ('a_nul', rb'\u0000', '\0'),
]


def raw_with(body, sent):
    """The body as JSON, with these bytes in the place of each MARK."""
    return json.dumps(body).encode().replace(b'MARK', sent)


def get(path, **more):
    return {'method': 'GET', 'path': path, **more}


def write(method, path, **more):
    """Only tried, unless the path has options of its own."""
    return {'method': method, 'path': path, 'dryRun': None if '?' in path else 'All', **more}


def post(path, body=None, **more):
    return write('POST', path, body=body, **more)


def put(path, body=None, **more):
    return write('PUT', path, body=body, **more)


def patch(content, raw, path=MAP):
    return write('PATCH', path, content=content, raw=raw.encode())


def delete(path, body=None, **more):
    return write('DELETE', path, body=body, **more)


def sent(raw, content=JSON, path=MAPS, **more):
    return write('POST', path, raw=raw if isinstance(raw, bytes) else raw.encode(), content=content, **more)


def service(name):
    return {'apiVersion': 'v1', 'kind': 'Service', 'metadata': {'name': name}, 'spec': {'ports': [{'port': 80}]}}


def pod_group(name):
    return {'apiVersion': 'scheduling.sigs.k8s.io/v1alpha1', 'kind': 'PodGroup', 'metadata': {'name': name},
            'spec': {'minMember': 1}}


def token(**fields):
    return base64.urlsafe_b64encode(json.dumps(fields).encode()).decode().rstrip('=')


# ---- bodies ----

refuse('body', [
    ('is_empty', sent(''), '400 BadRequest'),
    ('is_white_space', sent(' \n '), '400 BadRequest'),
    ('is_cut_off', sent('{"metadata":'), '400 BadRequest'),
    ('is_a_list', sent('[]'), '400 BadRequest'),
    ('is_a_string', sent('"x"'), '400 BadRequest'),
    ('is_a_number', sent('1'), '400 BadRequest'),
    ('is_null', sent('null'), '422 Invalid: Required metadata.name'),
    ('has_a_list_as_metadata', sent('{"metadata":[]}'), '400 BadRequest'),
    ('has_a_string_as_metadata', sent('{"metadata":"x"}'), '400 BadRequest'),
    ('is_a_nul_byte', sent('\0'), '400 BadRequest'),
    ('is_not_utf8', sent(b'{"metadata":{"name":"\xff"}}'), '422 Invalid: Invalid metadata.name'),
    ('has_a_tail', sent('{"metadata":{"name":"y"}} tail'), '400 BadRequest'),
    ('has_a_comma_too_many', sent('{"metadata":{"name":"y",}}'), '400 BadRequest'),
    ('has_single_quotes', sent("{'metadata':{'name':'y'}}"), '400 BadRequest'),
    ('has_a_comment', sent('{"metadata":{"name":"y"} /* x */}'), '400 BadRequest'),
    ('has_a_bare_word', sent('{"metadata":{"name":y}}'), '400 BadRequest'),
    ('has_not_a_number', sent('{"metadata":{"name":"y","generation":NaN}}'), '400 BadRequest'),
    ('is_nested_too_deep', sent('{"metadata":' + '[' * 20000 + ']' * 20000 + '}'), '400 BadRequest'),
    ('is_yaml_sent_as_json', sent('metadata:\n  name: y\n'), '400 BadRequest'),
    ('yaml_is_a_list', sent('- a\n- b\n', YAML), '400 BadRequest'),
    ('yaml_is_a_string', sent('just a text', YAML), '400 BadRequest'),
    ('yaml_has_a_tab', sent('metadata:\n\tname: y\n', YAML), '400 BadRequest'),
    ('yaml_is_cut_off', sent('{metadata: {name: y', YAML), '400 BadRequest'),
    ('yaml_has_an_unknown_alias', sent('metadata: *x\n', YAML), '400 BadRequest'),
    ('yaml_names_an_unknown_kind', sent('kind: Nothing\napiVersion: v1\nmetadata:\n  name: y\n', YAML),
     '400 BadRequest'),
    ('is_huge', sent('{"metadata":{"name":"y"},"data":{"k":"' + 'x' * (3 << 20) + '"}}'),
     '413 RequestEntityTooLarge'),
])

refuse('media_type', [
    ('text', sent('{}', 'text/plain'), '415 UnsupportedMediaType'),
    ('form', sent('a=b', 'application/x-www-form-urlencoded'), '415 UnsupportedMediaType'),
    ('of_a_merge_patch_on_create', sent('{}', MERGE), '415 UnsupportedMediaType'),
    ('without_a_subtype', sent('{}', 'application'), '415 UnsupportedMediaType'),
    ('xml_on_update', put(MAP, raw=b'<x/>', content='application/xml'), '415 UnsupportedMediaType'),
    ('text_on_delete', delete(MAP, raw=b'{}', content='text/plain'), '415 UnsupportedMediaType'),
    ('json_on_patch', patch(JSON, '{}'), '415 UnsupportedMediaType'),
    ('text_on_patch', patch('text/plain', '{}'), '415 UnsupportedMediaType'),
    ('unknown_apply', patch('application/apply-patch+xml', '{}'), '415 UnsupportedMediaType'),
    ('strategic_for_a_custom_object', patch(STRATEGIC, '{}', f'{GROUPS}/g'), '415 UnsupportedMediaType'),
    ('accept_text', get(MAPS, accept='text/plain'), '406 NotAcceptable'),
    ('accept_css_of_an_object', get(MAP, accept='text/css'), '406 NotAcceptable'),
    ('accept_an_unknown_view', get(MAPS, accept='application/json;as=Nothing;g=meta.k8s.io;v=v1'),
     '406 NotAcceptable'),
    ('accept_a_table_of_an_unknown_version', get(MAPS, accept='application/json;as=Table;g=meta.k8s.io;v=v9'),
     '406 NotAcceptable'),
    ('accept_a_table_of_another_group', get(MAPS, accept='application/json;as=Table;g=x.io;v=v1'),
     '406 NotAcceptable'),
    ('accept_xml_on_create', post(MAPS, config_map('y'), accept='application/xml'), '406 NotAcceptable'),
])

refuse('kind', [
    ('is_a_number', sent('{"kind":5}'), '400 BadRequest'),
    ('is_of_another_resource', post(MAPS, {'kind': 'Secret', 'apiVersion': 'v1', 'metadata': {'name': 'y'}}),
     '400 BadRequest'),
    ('is_unknown', post(MAPS, {'kind': 'Nothing', 'apiVersion': 'v1', 'metadata': {'name': 'y'}}), '400 BadRequest'),
    ('is_in_lower_case', post(MAPS, {'kind': 'configmap', 'apiVersion': 'v1', 'metadata': {'name': 'y'}}),
     '400 BadRequest'),
    ('is_a_list', post(MAPS, {'kind': 'ConfigMapList', 'apiVersion': 'v1', 'items': []}), '400 BadRequest'),
    ('of_another_resource_on_update', put(MAP, {'kind': 'Secret', 'apiVersion': 'v1', 'metadata': {'name': 'a'}}),
     '400 BadRequest'),
    ('api_version_is_a_number', sent('{"apiVersion":5}'), '400 BadRequest'),
    ('api_version_is_unknown', post(MAPS, {**config_map('y'), 'apiVersion': 'v2'}), '400 BadRequest'),
    ('api_version_has_three_parts', post(MAPS, {**config_map('y'), 'apiVersion': 'a/b/c'}), '400 BadRequest'),
    ('api_version_is_of_another_group', post(f'{APPS}/deployments', {**deployment('y'), 'apiVersion': 'batch/v1'}),
     '400 BadRequest'),
    ('api_version_is_of_another_group_on_update', put(DEPLOYMENT, {**deployment('d'), 'apiVersion': 'v1'}),
     '400 BadRequest'),
    ('group_is_unknown', post('/apis/nothing.io/v1/things', {'metadata': {'name': 'y'}}), '404 page'),
    ('resource_is_unknown', get(f'{NS}/nothings'), '404 NotFound'),
    ('resource_is_unknown_on_create', post(f'{NS}/nothings', {'metadata': {'name': 'y'}}), '404 NotFound'),
    ('version_of_a_group_is_unknown', get('/apis/apps/v9/deployments'), '404 NotFound'),
    ('version_of_the_core_is_unknown', get('/api/v9/pods'), '404 NotFound'),
    ('group_is_of_the_core', get('/apis/v1/pods'), '404 page'),
    ('resource_is_a_kind', get(f'{NS}/Pod'), '404 NotFound'),
])

# ---- paths ----

refuse('path', [
    ('of_an_unknown_core_version', get('/api/v2'), '404 NotFound'),
    ('of_an_unknown_group', get('/apis/nothing.io'), '404 page'),
    ('of_an_unknown_group_version', get('/apis/apps/v2'), '404 NotFound'),
    ('below_an_unknown_group', get('/apis/nothing.io/v1/things'), '404 page'),
    ('starts_with_two_slashes', get('//api/v1/pods'), '404 page'),
    ('has_two_slashes_after_api', get('/api//v1/pods'), '404 NotFound'),
    ('has_two_slashes_before_the_resource', get('/api/v1//pods'), '404 NotFound'),
    ('has_an_empty_group', get('/apis//v1/pods'), '404 page'),
    ('name_is_two_dots', get(f'{PODS}/..'), '400 BadRequest'),
    ('name_is_one_dot', get(f'{PODS}/.'), '400 BadRequest'),
    ('name_is_two_dots_on_delete', delete(f'{PODS}/..'), '400 BadRequest'),
    ('name_is_two_dots_on_update', put(f'{MAPS}/..', config_map('a')), '400 BadRequest'),
    ('name_has_a_bad_escape', get(f'{PODS}/%zz'), '400 page'),
    ('name_has_half_an_escape', get(f'{PODS}/a%2'), '400 page'),
    ('name_has_an_escaped_slash', get(f'{PODS}/a%2Fb'), '404 NotFound'),
    ('name_has_an_escaped_percent', get(f'{PODS}/a%25b'), '400 BadRequest'),
    ('name_has_two_escaped_dots', get(f'{PODS}/%2e%2e'), '400 BadRequest'),
    ('of_a_pod_without_a_namespace', get('/api/v1/pods/q'), '404 NotFound'),
    ('of_nodes_in_a_namespace', get(f'{NS}/nodes'), '404 NotFound'),
    ('of_a_node_in_a_namespace', get(f'{NS}/nodes/x'), '404 NotFound'),
    ('goes_on_after_a_subresource', get(f'{POD}/status/x'), '404 NotFound'),
    ('goes_on_after_scale', get(f'{DEPLOYMENT}/scale/x'), '404 NotFound'),
    ('of_an_unknown_subresource', get(f'{POD}/nothing'), '404 NotFound'),
    ('of_status_where_there_is_none', get(f'{MAP}/status'), '404 NotFound'),
    ('of_scale_where_there_is_none', get(f'{POD}/scale'), '404 NotFound'),
    ('is_very_long', get('/api/v1/' + 'x/' * 40 + 'y'), '404 NotFound'),
    ('goes_on_after_version', get('/version/x'), '404 NotFound'),
    ('goes_on_after_healthz', get('/healthz/x'), '404 page'),
    ('goes_on_after_readyz', get('/readyz/nothing'), '404 page'),
    ('goes_on_after_openapi', get('/openapi/v3/x'), '404 page'),
    ('of_unknown_openapi', get('/openapi/v9'), '404 page'),
    ('is_nowhere', get('/nothing'), '404 page'),
    ('is_in_upper_case', get('/API/v1/pods'), '404 page'),
    ('old_watch_of_nothing', get('/api/v1/watch/nothings'), '404 NotFound'),
    ('old_watch_of_a_pod_without_a_namespace', get('/api/v1/watch/pods/x'), '404 NotFound'),
])

refuse('method', [
    ('post_to_an_object', post(MAP, config_map('a')), '405 MethodNotAllowed'),
    ('post_to_all_namespaces', post('/api/v1/configmaps', config_map('y')), '405 MethodNotAllowed'),
    ('put_to_a_collection', put(MAPS, config_map('a')), '405 MethodNotAllowed'),
    ('patch_of_a_collection', patch(MERGE, '{}', MAPS), '405 MethodNotAllowed'),
    ('delete_of_all_namespaces', delete('/api/v1/configmaps'), '405 MethodNotAllowed'),
    ('delete_of_namespaces', delete('/api/v1/namespaces'), '405 MethodNotAllowed'),
    ('delete_of_a_status', delete(f'{POD}/status'), '405 MethodNotAllowed'),
    ('get_of_a_binding', get(f'{POD}/binding'), '405 MethodNotAllowed'),
    ('get_of_an_eviction', get(f'{POD}/eviction'), '405 MethodNotAllowed'),
    ('patch_of_a_binding', patch(MERGE, '{}', f'{POD}/binding'), '405 MethodNotAllowed'),
    ('post_to_a_status', post(f'{POD}/status', pod('q')), '405 MethodNotAllowed'),
    ('post_to_a_scale', post(f'{DEPLOYMENT}/scale', {}), '405 MethodNotAllowed'),
    ('delete_of_a_scale', delete(f'{DEPLOYMENT}/scale'), '405 MethodNotAllowed'),
    ('post_to_discovery', post('/api/v1', {}), '405 MethodNotAllowed'),
    ('post_to_version', post('/version', {}), '405 MethodNotAllowed'),
    ('delete_of_a_group_version', delete('/apis/apps/v1'), '405 MethodNotAllowed'),
    ('post_to_an_unknown_core_version', post('/api/v9', {}), '404 NotFound'),
    ('post_to_nowhere', post('/nothing', {}), '404 page'),
    ('options', {'method': 'OPTIONS', 'path': MAP}, '405 MethodNotAllowed'),
    ('trace', {'method': 'TRACE', 'path': MAP}, '405 MethodNotAllowed'),
    ('propfind', {'method': 'PROPFIND', 'path': MAPS}, '405 MethodNotAllowed'),
    ('get_of_an_access_review', get('/apis/authorization.k8s.io/v1/selfsubjectaccessreviews'),
     '405 MethodNotAllowed'),
])

refuse('token', [
    ('is_missing', get(MAPS, headers={'Authorization': None}), '401 Unauthorized'),
    ('is_wrong', get(MAPS, token='wrong'), '401 Unauthorized'),
    ('is_empty', get(MAPS, headers={'Authorization': 'Bearer '}), '401 Unauthorized'),
    ('is_of_another_scheme', get(MAPS, headers={'Authorization': 'Basic YTpi'}), '401 Unauthorized'),
    ('has_no_scheme', get(MAPS, headers={'Authorization': 'x'}), '401 Unauthorized'),
    ('is_wrong_on_create', post(MAPS, config_map('y'), token='wrong'), '401 Unauthorized'),
    ('is_wrong_on_a_broken_body', sent('{', token='wrong'), '401 Unauthorized'),
    ('is_wrong_on_an_unknown_path', get('/nothing', token='wrong'), '401 Unauthorized'),
    ('is_wrong_on_discovery', get('/apis', token='wrong'), '401 Unauthorized'),
    ('is_wrong_on_a_watch', get(f'{MAPS}?watch=1&timeoutSeconds=1', token='wrong'), '401 Unauthorized'),
    ('is_two_words', get(MAPS, token='a b'), '401 Unauthorized'),
])

# ---- reading ----

refuse('label_selector', [
    ('is_a_comma', get(f'{MAPS}?labelSelector=,'), '400 BadRequest'),
    ('ends_with_a_comma', get(f'{MAPS}?labelSelector=a,'), '400 BadRequest'),
    ('has_an_empty_set', get(f'{MAPS}?labelSelector=a%20in%20(%20'), '400 BadRequest'),
    ('has_an_open_set', get(f'{MAPS}?labelSelector=a%20in%20(b'), '400 BadRequest'),
    ('has_two_words', get(f'{MAPS}?labelSelector=a%20b'), '400 BadRequest'),
    ('is_an_exclamation_mark', get(f'{MAPS}?labelSelector=!'), '400 BadRequest'),
    ('compares_with_a_word', get(f'{MAPS}?labelSelector=a%3Eb'), '400 BadRequest'),
    ('has_two_slashes', get(f'{MAPS}?labelSelector=a/b/c'), '400 BadRequest'),
    ('has_bad_bytes', get(f'{MAPS}?labelSelector=%ff'), '400 BadRequest'),
    ('has_a_bad_value', get(f'{MAPS}?labelSelector=a=-'), '400 BadRequest'),
    ('has_a_long_value', get(f'{MAPS}?labelSelector=a=' + 'x' * 64), '400 BadRequest'),
    ('has_a_long_key', get(f'{MAPS}?labelSelector=' + 'x' * 64), '400 BadRequest'),
    ('has_three_equal_signs', get(f'{MAPS}?labelSelector=a===b'), '400 BadRequest'),
    ('has_an_unknown_word', get(f'{MAPS}?labelSelector=a%20like%20(b)'), '400 BadRequest'),
    ('is_bad_on_a_watch', get(f'{MAPS}?watch=1&timeoutSeconds=1&labelSelector=a%20in'), '400 BadRequest'),
    ('is_bad_on_delete', delete(f'{MAPS}?labelSelector=('), '400 BadRequest'),
    ('is_bad_on_custom_objects', get(f'{GROUPS}?labelSelector=('), '400 BadRequest'),
    ('negates_an_operator', get(f'{MAPS}?labelSelector=!a=b'), '400 BadRequest'),
])

refuse('field_selector', [
    ('has_no_operator', get(f'{MAPS}?fieldSelector=a'), '400 BadRequest'),
    ('names_an_unknown_field', get(f'{MAPS}?fieldSelector=data.k%3Dv'), '400 BadRequest'),
    ('names_an_unknown_field_of_pods', get(f'{PODS}?fieldSelector=spec.x%3D1'), '400 BadRequest'),
    ('names_an_unknown_field_of_nodes', get('/api/v1/nodes?fieldSelector=spec.x%3D1'), '400 BadRequest'),
    ('names_an_unknown_field_of_custom_objects', get(f'{GROUPS}?fieldSelector=spec.minMember%3D1'), '400 BadRequest'),
    ('names_an_unknown_field_on_a_watch', get(f'{MAPS}?watch=1&timeoutSeconds=1&fieldSelector=a%3Db'),
     '400 BadRequest'),
    ('names_an_unknown_field_on_delete', delete(f'{MAPS}?fieldSelector=x%3Dy'), '400 BadRequest'),
    ('ends_with_a_backslash', get(f'{MAPS}?fieldSelector=metadata.name%3Da%5C'), '400 BadRequest'),
    ('has_an_unknown_escape', get(f'{MAPS}?fieldSelector=metadata.name%3Da%5Cb'), '400 BadRequest'),
    ('has_a_bare_equal_sign_in_a_value', get(f'{MAPS}?fieldSelector=metadata.name%3Da%3Db%3Dc'), '400 BadRequest'),
])

refuse('list', [
    ('limit_is_a_word', get(f'{MAPS}?limit=a'), '400 BadRequest'),
    ('limit_is_a_fraction', get(f'{MAPS}?limit=1.5'), '400 BadRequest'),
    ('limit_is_too_large', get(f'{MAPS}?limit=99999999999999999999'), '400 BadRequest'),
    ('limit_is_a_space', get(f'{MAPS}?limit=%20'), '400 BadRequest'),
    ('timeout_seconds_is_a_word', get(f'{MAPS}?timeoutSeconds=x'), '400 BadRequest'),
    ('timeout_has_an_unknown_unit', get(f'{MAPS}?timeout=1x'), '400 BadRequest'),
    ('timeout_is_a_word', get(f'{MAPS}?timeout=soon'), '400 BadRequest'),
    ('version_is_negative', get(f'{MAPS}?resourceVersion=-1'), '400 BadRequest'),
    ('version_is_a_fraction', get(f'{MAPS}?resourceVersion=1.5'), '400 BadRequest'),
    ('version_is_a_word', get(f'{MAPS}?resourceVersion=x'), '400 BadRequest'),
    ('version_is_a_word_on_get', get(f'{MAP}?resourceVersion=x'), '500 None'),
    ('version_match_without_a_version', get(f'{MAPS}?resourceVersionMatch=Exact'),
     '422 Invalid: Forbidden resourceVersionMatch'),
    ('version_match_is_unknown', get(f'{MAPS}?resourceVersionMatch=x&resourceVersion=1'),
     '422 Invalid: NotSupported resourceVersionMatch'),
    ('version_match_exact_of_zero', get(f'{MAPS}?resourceVersionMatch=Exact&resourceVersion=0'),
     '422 Invalid: Forbidden resourceVersionMatch'),
    ('version_match_with_continue', get(f'{MAPS}?resourceVersionMatch=Exact&resourceVersion=1&continue=x'),
     '422 Invalid: Forbidden resourceVersionMatch'),
    ('continue_is_not_base64', get(f'{MAPS}?continue=!'), '400 BadRequest'),
    ('continue_is_not_json', get(f'{MAPS}?continue=eA'), '400 BadRequest'),
    ('continue_is_empty_json', get(f'{MAPS}?continue=e30'), '400 BadRequest'),
    ('continue_is_of_another_version', get(f'{MAPS}?continue=' + token(v='v9', rv=1, start='a')), '400 BadRequest'),
    ('continue_has_no_start', get(f'{MAPS}?continue=' + token(v='meta.k8s.io/v1', rv=5)), '400 BadRequest'),
    ('continue_has_version_zero', get(f'{MAPS}?continue=' + token(v='meta.k8s.io/v1', rv=0, start='a')),
     '400 BadRequest'),
    ('continue_leaves_its_place', get(f'{MAPS}?continue=' + token(v='meta.k8s.io/v1', rv=5, start='../x')),
     '400 BadRequest'),
    ('continue_with_a_version', get(f'{MAPS}?resourceVersion=1&continue=' +
                                    token(v='meta.k8s.io/v1', rv=5, start='a')), '400 BadRequest'),
    ('initial_events_without_a_watch', get(f'{MAPS}?sendInitialEvents=true'),
     '422 Invalid: Forbidden sendInitialEvents'),
    ('version_match_is_unknown_and_alone', get(f'{MAPS}?resourceVersionMatch=x&continue=a'),
     '422 Invalid: Forbidden resourceVersionMatch, NotSupported resourceVersionMatch'),
    ('initial_events_and_a_match', get(f'{MAPS}?sendInitialEvents=true&resourceVersionMatch=Exact'),
     '422 Invalid: Forbidden resourceVersionMatch, Forbidden sendInitialEvents'),
    ('timeout_has_no_unit', get(f'{MAPS}?timeout=1'), '400 BadRequest'),
    ('timeout_is_too_large', get(f'{MAPS}?timeout=99999999999h'), '400 BadRequest'),
    ('timeout_is_bad_on_get', get(f'{MAP}?timeout=1x'), '400 BadRequest'),
])

refuse('watch', [
    ('with_a_word_as_version', get(f'{MAPS}?watch=1&timeoutSeconds=1&resourceVersion=x'), '500 None'),
    ('with_a_negative_version', get(f'{MAPS}?watch=1&timeoutSeconds=1&resourceVersion=-1'), '500 None'),
    ('with_continue', get(f'{MAPS}?watch=1&timeoutSeconds=1&continue=x'),
     '422 Invalid: Forbidden resourceVersionMatch'),
    ('with_a_version_match', get(f'{MAPS}?watch=1&timeoutSeconds=1&resourceVersionMatch=Exact&resourceVersion=1'),
     '422 Invalid: Forbidden resourceVersionMatch, NotSupported resourceVersionMatch'),
    ('with_initial_events_and_no_match', get(f'{MAPS}?watch=1&timeoutSeconds=1&sendInitialEvents=true'),
     '422 Invalid: Forbidden resourceVersionMatch'),
    ('with_initial_events_and_exact_match',
     get(f'{MAPS}?watch=1&timeoutSeconds=1&sendInitialEvents=true&resourceVersionMatch=Exact&resourceVersion=1'),
     '422 Invalid: Forbidden resourceVersionMatch, NotSupported resourceVersionMatch'),
    ('with_a_word_as_time', get(f'{MAPS}?watch=1&timeoutSeconds=x'), '400 BadRequest'),
    ('with_a_word_as_limit', get(f'{MAPS}?watch=1&timeoutSeconds=1&limit=x'), '400 BadRequest'),
    ('with_a_match_that_needs_initial_events',
     get(f'{MAPS}?watch=1&timeoutSeconds=1&resourceVersionMatch=NotOlderThan'),
     '422 Invalid: Forbidden resourceVersionMatch'),
    ('with_initial_events_and_continue',
     get(f'{MAPS}?watch=1&timeoutSeconds=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&continue=x'),
     '422 Invalid: Forbidden resourceVersionMatch'),
    ('of_custom_objects_with_a_word_as_version', get(f'{GROUPS}?watch=1&timeoutSeconds=1&resourceVersion=x'),
     '500 None'),
])
