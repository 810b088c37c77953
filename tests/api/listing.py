"""listing.py - lists: order, label and field selectors, limit and continue, resourceVersion and its match."""
from client import check, config_map, names, node, pod


def three(t):
    t.make(t.maps(), config_map('a', labels={'env': 'prod', 'tier': 'web'}))
    t.make(t.maps(), config_map('b', labels={'env': 'test'}))
    t.make(t.maps(), config_map('c'))
    return t.maps()


def selected(t, path, **query):
    return names(t.read(path, **query))


# ---- the list ----

@check
def a_list_has_its_kind_and_a_resource_version(t):
    made = t.make(t.maps(), config_map('a'))
    a = t.code(t.get(t.maps()), 200)
    t.has(a, 'kind', 'ConfigMapList')
    t.has(a, 'apiVersion', 'v1')
    t.true(int(a['metadata.resourceVersion']) >= int(made['metadata']['resourceVersion']), 'an old version')


@check
def an_empty_list_has_an_empty_array(t):
    t.eq(t.read(t.maps())['items'], [], 'items')


@check
def items_of_a_list_have_no_kind(t):
    t.make(t.maps(), config_map('a'))
    item = t.read(t.maps())['items'][0]
    t.true('kind' not in item and 'apiVersion' not in item, f'item {item}')


@check
def a_list_is_ordered_by_name(t):
    for n in ('c', 'a', 'b', 'a.b', 'a-b'):
        t.make(t.maps(), config_map(n))
    t.eq(selected(t, t.maps()), ['a', 'a-b', 'a.b', 'b', 'c'], 'names')


@check
def a_list_of_all_namespaces_is_ordered_by_namespace(t):
    label = t.name('l')
    other = t.name('aaa')
    t.make('/api/v1/namespaces', {'metadata': {'name': other}})
    t.make(t.maps(), config_map('a', labels={'l': label}))
    t.make(f'/api/v1/namespaces/{other}/configmaps', config_map('z', labels={'l': label}))
    t.eq(selected(t, '/api/v1/configmaps', labelSelector=f'l={label}'), ['z', 'a'], 'names')


# ---- label selectors ----

@check
def label_selector_equality(t):
    three(t)
    t.eq(selected(t, t.maps(), labelSelector='env=prod'), ['a'], '=')
    t.eq(selected(t, t.maps(), labelSelector='env==prod'), ['a'], '==')


@check
def label_selector_inequality_takes_objects_without_the_label(t):
    three(t)
    t.eq(selected(t, t.maps(), labelSelector='env!=prod'), ['b', 'c'], 'names')


@check
def label_selector_sets(t):
    three(t)
    t.eq(selected(t, t.maps(), labelSelector='env in (prod, test)'), ['a', 'b'], 'in')
    t.eq(selected(t, t.maps(), labelSelector='env notin (prod)'), ['b', 'c'], 'notin')


@check
def label_selector_existence(t):
    three(t)
    t.eq(selected(t, t.maps(), labelSelector='env'), ['a', 'b'], 'exists')
    t.eq(selected(t, t.maps(), labelSelector='!env'), ['c'], 'does not exist')


@check
def label_selector_terms_are_all_required(t):
    three(t)
    t.eq(selected(t, t.maps(), labelSelector='env,tier=web'), ['a'], 'names')
    t.eq(selected(t, t.maps(), labelSelector='env=test,tier=web'), [], 'names')


@check
def label_selector_compares_numbers(t):
    for n, v in (('a', '5'), ('b', '10'), ('c', 'x')):
        t.make(t.maps(), config_map(n, labels={'size': v}))
    t.eq(selected(t, t.maps(), labelSelector='size>7'), ['b'], 'gt')
    t.eq(selected(t, t.maps(), labelSelector='size<7'), ['a'], 'lt')


@check
def label_selector_that_is_empty_selects_all(t):
    three(t)
    t.eq(selected(t, t.maps(), labelSelector=''), ['a', 'b', 'c'], 'names')


@check
def label_selector_that_cannot_be_read_is_a_bad_request(t):
    t.status(t.get(t.maps(), labelSelector='a in prod'), 400, 'BadRequest',
             part="unable to parse requirement: found 'prod' expected: '('")
    t.status(t.get(t.maps(), labelSelector='a==='), 400, 'BadRequest')


@check
def label_selector_with_a_bad_key_is_a_bad_request(t):
    t.status(t.get(t.maps(), labelSelector='-a=b'), 400, 'BadRequest', part='name part must consist of alphanumeric')


@check
def label_selector_with_a_long_value_is_a_bad_request(t):
    t.status(t.get(t.maps(), labelSelector='a=' + 'x' * 64), 400, 'BadRequest', part='must be no more than 63')


# ---- field selectors ----

@check
def field_selector_name_and_namespace(t):
    three(t)
    t.eq(selected(t, t.maps(), fieldSelector='metadata.name=b'), ['b'], 'name')
    t.eq(selected(t, t.maps(), fieldSelector='metadata.name!=b'), ['a', 'c'], 'not the name')
    t.eq(selected(t, '/api/v1/configmaps', fieldSelector=f'metadata.namespace={t.ns}'), ['a', 'b', 'c'], 'namespace')


@check
def field_selector_node_name_of_pods(t):
    t.make(t.pods(), pod('a', {'nodeName': 'n1'}))
    t.make(t.pods(), pod('b'))
    t.eq(selected(t, t.pods(), fieldSelector='spec.nodeName=n1'), ['a'], 'bound')
    t.eq(selected(t, t.pods(), fieldSelector='spec.nodeName='), ['b'], 'not bound')
    t.eq(selected(t, t.pods(), fieldSelector='spec.nodeName!='), ['a'], 'bound to any')


@check
def field_selector_phase_of_pods(t):
    t.make(t.pods(), pod('a'))
    t.make(t.pods(), pod('b'))
    t.code(t.patch(f'{t.pods()}/b/status', {'status': {'phase': 'Running'}}), 200)
    t.eq(selected(t, t.pods(), fieldSelector='status.phase=Running'), ['b'], 'running')
    t.eq(selected(t, t.pods(), fieldSelector='status.phase!=Running,status.phase!=Failed'), ['a'], 'not running')


@check
def field_selector_other_pod_fields(t):
    t.make(t.pods(), pod('a', {'restartPolicy': 'Never', 'schedulerName': 's', 'hostNetwork': True,
                               'serviceAccountName': 'sa'}))
    t.make(t.pods(), pod('b'))
    for field in ('spec.restartPolicy=Never', 'spec.schedulerName=s', 'spec.hostNetwork=true', 'spec.serviceAccountName=sa'):
        t.eq(selected(t, t.pods(), fieldSelector=field), ['a'], field)


@check
def field_selector_of_nodes(t):
    n = t.name('node')
    t.make('/api/v1/nodes', {**node(n), 'spec': {'unschedulable': True}})
    t.eq(selected(t, '/api/v1/nodes', fieldSelector=f'metadata.name={n},spec.unschedulable=true'), [n], 'cordoned')
    t.eq(selected(t, '/api/v1/nodes', fieldSelector=f'metadata.name={n},spec.unschedulable=false'), [], 'not cordoned')


@check
def field_selector_of_events(t):
    path = t.at('events')
    for n, about in (('e1', 'p1'), ('e2', 'p2')):
        t.make(path, {'metadata': {'name': n}, 'reason': 'Scheduled', 'type': 'Normal', 'message': 'm',
                      'involvedObject': {'kind': 'Pod', 'name': about, 'namespace': t.ns, 'uid': f'u-{about}'}})
    for field in ('involvedObject.name=p1', 'involvedObject.uid=u-p1', 'involvedObject.kind=Pod,involvedObject.name=p1'):
        t.eq(selected(t, path, fieldSelector=field), ['e1'], field)
    t.eq(selected(t, path, fieldSelector='reason=Scheduled,type=Normal'), ['e1', 'e2'], 'reason and type')
    t.eq(selected(t, path, fieldSelector='type=Warning'), [], 'type')


# The words of core/v1 and of events.k8s.io/v1 for the same; None: the other form has none.
EVENT_FIELDS = [(f'involvedObject.{part}', f'regarding.{part}') for part in (
    'kind', 'namespace', 'name', 'uid', 'apiVersion', 'resourceVersion', 'fieldPath')] + [
    ('reportingComponent', 'reportingController'), ('source', None)]


@check
def each_form_of_events_has_field_selectors_of_its_own(t):
    core, new = t.at('events'), t.at('events', 'events.k8s.io')
    about = {'kind': 'Pod', 'namespace': t.ns, 'name': 'p', 'uid': 'u', 'apiVersion': 'v1', 'resourceVersion': '7', 'fieldPath': 'spec'}
    made = {'involvedObject': about, 'reason': 'Tested', 'type': 'Normal', 'reportingComponent': 'example.com/c'}
    t.make(core, {'metadata': {'name': 'e'}, **made})
    t.make(core, {'metadata': {'name': 'other'}, 'involvedObject': {'namespace': t.ns}, 'source': {'component': 's'}})
    values = {**{f'involvedObject.{k}': v for k, v in about.items()}, 'reportingComponent': 'example.com/c', 'source': 'example.com/c'}
    for old, word in EVENT_FIELDS:
        t.eq(selected(t, core, fieldSelector=f'{old}={values[old]}'), ['e'] if old != 'involvedObject.namespace' else ['e', 'other'], old)
        t.status(t.get(new, fieldSelector=f'{old}=x'), 400, 'BadRequest', part=f'field label not supported: {old}')
        if word:
            t.eq(selected(t, new, fieldSelector=f'{word}={values[old]}'), ['e'] if old != 'involvedObject.namespace' else ['e', 'other'], word)
            t.status(t.get(core, fieldSelector=f'{word}=x'), 400, 'BadRequest', part=f'field label not supported: {word}')
    for path in (core, new):
        t.eq(selected(t, path, fieldSelector='reason=Tested,type=Normal,metadata.name=e'), ['e'], f'reason, type and name in {path}')
    t.eq(selected(t, core, fieldSelector='source=s'), ['other'], 'source')
    for path in (core, new):
        for none in ('involvedObject', 'regarding', 'regardingx.name', 'regarding.more', 'note', 'message'):
            t.status(t.get(path, fieldSelector=f'{none}=x'), 400, 'BadRequest', part='field label not supported')


@check
def field_selector_of_secrets_and_namespaces(t):
    t.make(t.at('secrets'), {'metadata': {'name': 's'}, 'type': 'example.com/x'})
    t.eq(selected(t, t.at('secrets'), fieldSelector='type=example.com/x'), ['s'], 'type')
    t.eq(selected(t, '/api/v1/namespaces', fieldSelector=f'status.phase=Active,metadata.name={t.ns}'), [t.ns], 'phase')


@check
def field_selector_of_jobs(t):
    t.code(t.get(t.at('jobs', 'batch'), fieldSelector='status.successful=0'), 200)


@check
def field_selector_that_is_not_supported_is_a_bad_request(t):
    t.status(t.get(t.pods(), fieldSelector='spec.dnsPolicy=Default'), 400, 'BadRequest',
             part='field label not supported: spec.dnsPolicy')
    t.status(t.get(t.maps(), fieldSelector='data.k=v'), 400, 'BadRequest',
             part='"data.k" is not a known field selector: only "metadata.name", "metadata.namespace"')


@check
def field_selector_that_cannot_be_read_is_a_bad_request(t):
    t.status(t.get(t.pods(), fieldSelector='nonsense'), 400, 'BadRequest', part="invalid selector: 'nonsense'")


# ---- limit and continue ----

@check
def limit_cuts_and_continue_goes_on(t):
    for i in range(5):
        t.make(t.maps(), config_map(f'a{i}'))
    first = t.read(t.maps(), limit=2)
    t.eq(names(first), ['a0', 'a1'], 'first page')
    t.has(first, 'metadata.remainingItemCount', 3)
    second = t.read(t.maps(), limit=2, continue_=first['metadata']['continue'])
    t.eq(names(second), ['a2', 'a3'], 'second page')
    t.has(second, 'metadata.remainingItemCount', 1)
    t.has(second, 'metadata.resourceVersion', first['metadata']['resourceVersion'])
    third = t.read(t.maps(), limit=2, continue_=second['metadata']['continue'])
    t.eq(names(third), ['a4'], 'third page')
    t.has(third, 'metadata.continue', None)
    t.has(third, 'metadata.remainingItemCount', None)


@check
def pages_show_the_moment_of_the_first(t):
    for n in 'abc':
        t.make(t.maps(), config_map(n))
    first = t.read(t.maps(), limit=1)
    t.make(t.maps(), config_map('bb'))
    t.code(t.delete(f'{t.maps()}/c'), 200)
    rest = t.read(t.maps(), continue_=first['metadata']['continue'])
    t.eq(names(rest), ['b', 'c'], 'the rest')


@check
def limit_counts_what_the_selector_takes(t):
    for i in range(6):
        t.make(t.maps(), config_map(f'a{i}', labels={'odd': str(i % 2)}))
    first = t.read(t.maps(), limit=2, labelSelector='odd=1')
    t.eq(names(first), ['a1', 'a3'], 'first page')
    t.has(first, 'metadata.remainingItemCount', None)
    t.eq(names(t.read(t.maps(), limit=2, labelSelector='odd=1', continue_=first['metadata']['continue'])), ['a5'], 'rest')


@check
def limit_beyond_the_list_has_no_continue(t):
    three(t)
    t.has(t.read(t.maps(), limit=3), 'metadata.continue', None)
    t.has(t.read(t.maps(), limit=0), 'metadata.continue', None)


@check
def limit_is_not_heeded_where_any_version_will_do(t):
    for n in 'abc':
        t.make(t.maps(), config_map(n))
    got = t.until('all in one', lambda: (lambda a: len(a['items']) == 3 and a)(
        t.code(t.get(t.maps(), limit=2, resourceVersion='0'), 200)))
    t.true('continue' not in got['metadata'], 'a page of a list that has none')


@check
def limit_that_is_negative_or_no_number(t):
    t.status(t.get(t.maps(), limit='many'), 400, 'BadRequest')


@check
def continue_that_is_garbage_is_a_bad_request(t):
    t.status(t.get(t.maps(), continue_='garbage!'), 400, 'BadRequest', part='continue key is not valid')


@check
def continue_with_a_resource_version_is_refused(t):
    three(t)
    token = t.read(t.maps(), limit=1)['metadata']['continue']
    t.status(t.get(t.maps(), limit=1, continue_=token, resourceVersion='1'), 400, 'BadRequest',
             part='specifying resource version is not allowed when using continue')


@check
def limit_across_namespaces(t):
    label = t.name('l')
    other = t.name('zzz')
    t.make('/api/v1/namespaces', {'metadata': {'name': other}})
    for n in 'ab':
        t.make(t.maps(), config_map(n, labels={'l': label}))
        t.make(f'/api/v1/namespaces/{other}/configmaps', config_map(n, labels={'l': label}))
    seen, token = [], None
    for _ in range(5):
        page = t.read('/api/v1/configmaps', limit=1, labelSelector=f'l={label}', continue_=token)
        seen += [(i['metadata']['namespace'], i['metadata']['name']) for i in page['items']]
        token = page['metadata'].get('continue')
        if not token:
            break
    t.eq(seen, [(ns, n) for ns in (t.ns, other) for n in 'ab'], 'objects')


# ---- resourceVersion and its match ----

@check
def exact_list_shows_an_old_moment(t):
    t.make(t.maps(), config_map('a'))
    at = t.make(t.maps(), config_map('b'))['metadata']['resourceVersion']
    t.make(t.maps(), config_map('c'))
    t.delete(f'{t.maps()}/a')
    a = t.code(t.get(t.maps(), resourceVersion=at, resourceVersionMatch='Exact'), 200)
    t.eq(names(a), ['a', 'b'], 'names')
    t.has(a, 'metadata.resourceVersion', at)


@check
def not_older_than_shows_that_moment_or_later(t):
    at = t.make(t.maps(), config_map('a'))['metadata']['resourceVersion']
    a = t.code(t.get(t.maps(), resourceVersion=at, resourceVersionMatch='NotOlderThan'), 200)
    t.eq(names(a), ['a'], 'names')
    t.true(int(a['metadata.resourceVersion']) >= int(at), 'an older list')


@check
def version_zero_is_any_moment(t):
    t.code(t.get(t.maps(), resourceVersion='0'), 200)
    t.code(t.get(t.maps(), resourceVersion='0', resourceVersionMatch='NotOlderThan'), 200)


@check
def exact_at_version_zero_is_refused(t):
    t.invalid(t.get(t.maps(), resourceVersion='0', resourceVersionMatch='Exact'),
              ('FieldValueForbidden', 'resourceVersionMatch'))


@check
def match_without_a_version_is_refused(t):
    t.invalid(t.get(t.maps(), resourceVersionMatch='Exact'), ('FieldValueForbidden', 'resourceVersionMatch'),
              part='resourceVersionMatch is forbidden unless resourceVersion is provided')


@check
def match_of_another_value_is_refused(t):
    t.invalid(t.get(t.maps(), resourceVersion='1', resourceVersionMatch='Sometimes'),
              ('FieldValueNotSupported', 'resourceVersionMatch'))


@check
def list_at_a_bad_version_is_refused(t):
    t.status(t.get(t.maps(), resourceVersion='abc'), 400, 'BadRequest')


@check
def list_at_a_future_version_times_out(t):
    a = t.get(t.maps(), resourceVersion='1000000000', resourceVersionMatch='NotOlderThan')
    t.status(a, 504, 'Timeout', part='Too large resource version: 1000000000',
             causes=[('ResourceVersionTooLarge', None)])


@check
def a_write_is_seen_by_the_next_list(t):
    for i in range(10):
        t.make(t.maps(), config_map(f'a{i}'))
        t.eq(len(t.read(t.maps())['items']), i + 1, 'items')
