"""watch.py - watches: where they start, what they tell, bookmarks, initial events, time limits, 410, selectors."""
import time

from client import TABLE, Failed, check, config_map, dig, pod


def rv(obj):
    return obj['metadata']['resourceVersion']


@check
def a_watch_tells_added_modified_deleted(t):
    start = rv(t.read(t.maps()))
    w = t.watching(t.maps(), resourceVersion=start)
    t.make(t.maps(), config_map('a'))
    t.patch(f'{t.maps()}/a', {'data': {'k': 'n'}})
    t.delete(f'{t.maps()}/a')
    t.eq(w.take(3), ['ADDED a', 'MODIFIED a', 'DELETED a'], 'events')


@check
def an_event_carries_the_whole_object(t):
    start = rv(t.read(t.maps()))
    w = t.watching(t.maps(), resourceVersion=start)
    made = t.make(t.maps(), config_map('a'))
    t.eq(w.next(), ('ADDED', made), 'event')


@check
def a_deleted_event_carries_the_last_state_with_the_version_of_the_deletion(t):
    made = t.make(t.maps(), config_map('a'))
    w = t.watching(t.maps(), resourceVersion=rv(made))
    t.delete(f'{t.maps()}/a')
    kind, obj = w.next()
    t.eq(kind, 'DELETED', 'type')
    t.has(obj, 'data', {'k': 'v'})
    t.true(int(rv(obj)) > int(rv(made)), 'the deletion has no version of its own')


@check
def resource_versions_of_events_grow(t):
    start = rv(t.read(t.maps()))
    w = t.watching(t.maps(), resourceVersion=start)
    for n in 'abc':
        t.make(t.maps(), config_map(n))
    t.patch(f'{t.maps()}/b', {'data': {'k': 'n'}})
    got = [int(rv(w.next()[1])) for _ in range(4)]
    t.eq(got, sorted(set(got)), 'versions')
    t.true(got[0] > int(start), 'an event is not after the start')


@check
def a_watch_without_a_version_starts_with_what_is_there(t):
    t.make(t.maps(), config_map('a'))
    t.make(t.maps(), config_map('b'))
    w = t.watching(t.maps())
    t.eq(sorted(w.take(2)), ['ADDED a', 'ADDED b'], 'events')
    t.make(t.maps(), config_map('c'))
    t.eq(w.take(1), ['ADDED c'], 'events')


@check
def a_watch_at_version_zero_starts_with_what_is_there(t):
    t.make(t.maps(), config_map('a'))

    def seen():
        try:
            return t.watching(t.maps(), resourceVersion='0').take(1, 1.0) == ['ADDED a']
        except Failed:
            return False
    t.until('the object as ADDED', seen)


@check
def a_watch_from_a_version_tells_only_what_came_after(t):
    t.make(t.maps(), config_map('a'))
    b = t.make(t.maps(), config_map('b'))
    t.make(t.maps(), config_map('c'))
    t.eq(t.watching(t.maps(), resourceVersion=rv(b)).take(1), ['ADDED c'], 'events')


@check
def a_watch_resumes_from_any_event_it_told(t):
    start = rv(t.read(t.maps()))
    w = t.watching(t.maps(), resourceVersion=start)
    for n in 'abcd':
        t.make(t.maps(), config_map(n))
    at = [rv(w.next()[1]) for _ in range(2)][-1]
    w.close()
    t.eq(t.watching(t.maps(), resourceVersion=at).take(2), ['ADDED c', 'ADDED d'], 'events')


@check
def a_watch_from_the_version_of_a_list_misses_nothing(t):
    t.make(t.maps(), config_map('a'))
    listed = t.read(t.maps())
    t.delete(f'{t.maps()}/a')
    t.make(t.maps(), config_map('b'))
    t.eq(t.watching(t.maps(), resourceVersion=rv(listed)).take(2), ['DELETED a', 'ADDED b'], 'events')


@check
def a_watch_ends_after_its_time(t):
    start = time.monotonic()
    w = t.watching(t.maps(), timeoutSeconds=1)
    t.eq(w.next(), None, 'what comes at the end')
    # How much later than that is the machine's load; w.next() gives up at last.
    t.true(time.monotonic() - start > 0.8, 'the watch ended before its second was over')


@check
def a_watch_with_a_bad_version_is_refused(t):
    # A plain Go error on the real server, as with create; a list answers 400.
    a = t.watch(t.maps(), resourceVersion='abc').answer()
    t.status(a, 500, None, part='resourceVersion: Invalid value: "abc"')


@check
def a_watch_of_one_namespace_tells_nothing_of_others(t):
    other = t.name('api')
    t.make('/api/v1/namespaces', {'metadata': {'name': other}})
    w = t.watching(t.maps(), resourceVersion=rv(t.read(t.maps())))
    t.make(f'/api/v1/namespaces/{other}/configmaps', config_map('x'))
    t.make(t.maps(), config_map('a'))
    t.eq(w.take(1), ['ADDED a'], 'events')


@check
def a_watch_of_all_namespaces_tells_of_each(t):
    label = t.name('l')
    w = t.watching('/api/v1/configmaps', resourceVersion=rv(t.read(t.maps())), labelSelector=f'l={label}')
    t.make(t.maps(), config_map('a', labels={'l': label}))
    event = w.next()
    t.eq((event[0], event[1]['metadata']['namespace']), ('ADDED', t.ns), 'event')


@check
def a_watch_of_one_object_by_field_selector(t):
    w = t.watching(t.maps(), resourceVersion=rv(t.read(t.maps())), fieldSelector='metadata.name=b')
    for n in 'abc':
        t.make(t.maps(), config_map(n))
    t.eq(w.take(1), ['ADDED b'], 'events')
    w.quiet()


@check
def the_old_watch_paths_work(t):
    t.make(t.maps(), config_map('a'))
    w = t.watching(t.maps().replace('/api/v1/', '/api/v1/watch/'), watch=None)
    t.eq(w.take(1), ['ADDED a'], 'events')


@check
def an_object_that_begins_to_match_a_selector_is_added(t):
    made = t.make(t.maps(), config_map('a'))
    w = t.watching(t.maps(), resourceVersion=rv(made), labelSelector='x=y')
    t.patch(f'{t.maps()}/a', {'metadata': {'labels': {'x': 'y'}}})
    t.eq(w.take(1), ['ADDED a'], 'events')


@check
def an_object_that_ceases_to_match_a_selector_is_deleted(t):
    made = t.make(t.maps(), config_map('a', labels={'x': 'y'}))
    w = t.watching(t.maps(), resourceVersion=rv(made), labelSelector='x=y')
    t.patch(f'{t.maps()}/a', {'metadata': {'labels': {'x': 'z'}}})
    t.eq(w.take(1), ['DELETED a'], 'events')


@check
def the_deleted_event_of_a_selector_carries_the_old_state(t):
    made = t.make(t.maps(), config_map('a', labels={'x': 'y'}))
    w = t.watching(t.maps(), resourceVersion=rv(made), labelSelector='x=y')
    changed = t.patch(f'{t.maps()}/a', {'metadata': {'labels': {'x': 'z'}}}).json
    kind, obj = w.next()
    t.eq((kind, obj['metadata']['labels'], rv(obj)), ('DELETED', {'x': 'y'}, rv(changed)), 'event')


@check
def an_object_that_never_matched_is_not_told(t):
    made = t.make(t.maps(), config_map('a'))
    w = t.watching(t.maps(), resourceVersion=rv(made), labelSelector='x=y')
    t.patch(f'{t.maps()}/a', {'data': {'k': 'n'}})
    t.delete(f'{t.maps()}/a')
    t.make(t.maps(), config_map('b', labels={'x': 'y'}))
    t.eq(w.take(1), ['ADDED b'], 'events')


@check
def a_pod_that_is_bound_moves_between_field_selectors(t):
    made = t.make(t.pods(), pod('a'))
    pending = t.watching(t.pods(), resourceVersion=rv(made), fieldSelector='spec.nodeName=')
    bound = t.watching(t.pods(), resourceVersion=rv(made), fieldSelector='spec.nodeName=n1')
    t.code(t.post(f'{t.pods()}/a/binding', {'target': {'kind': 'Node', 'name': 'n1'}, 'metadata': {'name': 'a'}}), 201)
    t.eq(pending.take(1), ['DELETED a'], 'events')
    t.eq(bound.take(1), ['ADDED a'], 'events')


@check
def a_watch_from_a_future_version_waits_for_it(t):
    made = t.make(t.maps(), config_map('a'))
    w = t.watching(t.maps(), resourceVersion=str(int(rv(made)) + 100000), timeoutSeconds=2)
    t.make(t.maps(), config_map('b'))
    w.quiet(0.5)


@check
def initial_events_end_with_a_marked_bookmark(t):
    t.make(t.maps(), config_map('a'))
    last = t.make(t.maps(), config_map('b'))
    w = t.watching(t.maps(), sendInitialEvents='true', resourceVersionMatch='NotOlderThan', allowWatchBookmarks='true')
    got = [w.next() for _ in range(3)]
    t.eq([e[0] for e in got], ['ADDED', 'ADDED', 'BOOKMARK'], 'types')
    t.eq(sorted(e[1]['metadata']['name'] for e in got[:2]), ['a', 'b'], 'names')
    mark = got[2][1]
    t.has(mark, 'metadata.annotations', {'k8s.io/initial-events-end': 'true'})
    t.has(mark, 'kind', 'ConfigMap')
    t.true(int(rv(mark)) >= int(rv(last)), 'the bookmark is older than what was told')
    t.make(t.maps(), config_map('c'))
    t.eq(w.take(1), ['ADDED c'], 'events')


@check
def initial_events_of_nothing_are_only_the_bookmark(t):
    w = t.watching(t.maps(), sendInitialEvents='true', resourceVersionMatch='NotOlderThan', allowWatchBookmarks='true')
    t.eq(w.next()[0], 'BOOKMARK', 'type')


@check
def initial_events_obey_the_selector(t):
    t.make(t.maps(), config_map('a'))
    t.make(t.maps(), config_map('b', labels={'x': 'y'}))
    w = t.watching(t.maps(), sendInitialEvents='true', resourceVersionMatch='NotOlderThan', allowWatchBookmarks='true',
                   labelSelector='x=y')
    t.eq([w.next()[0] for _ in range(2)], ['ADDED', 'BOOKMARK'], 'types')


@check
def initial_events_refused_by_the_client_are_not_told(t):
    t.make(t.maps(), config_map('a'))
    last = t.make(t.maps(), config_map('b'))
    w = t.watching(t.maps(), sendInitialEvents='false', resourceVersionMatch='NotOlderThan', resourceVersion=rv(last),
                   allowWatchBookmarks='true')
    t.make(t.maps(), config_map('c'))
    t.eq(w.take(1), ['ADDED c'], 'events')


@check
def initial_events_need_a_resource_version_match(t):
    a = t.watch(t.maps(), sendInitialEvents='true', allowWatchBookmarks='true').answer()
    t.invalid(a, ('FieldValueForbidden', 'resourceVersionMatch'),
              part='sendInitialEvents requires setting resourceVersionMatch to NotOlderThan')


@check
def initial_events_are_forbidden_for_lists(t):
    t.invalid(t.get(t.maps(), sendInitialEvents='true'), ('FieldValueForbidden', 'sendInitialEvents'),
              part='sendInitialEvents is forbidden for list')


@check
def resource_version_match_is_forbidden_for_watch(t):
    a = t.watch(t.maps(), resourceVersionMatch='NotOlderThan', resourceVersion='1').answer()
    t.invalid(a, ('FieldValueForbidden', 'resourceVersionMatch'))


@check
def bookmarks_come_before_the_end_of_the_watch(t):
    made = t.make(t.maps(), config_map('a'))
    w = t.watching(t.maps(), resourceVersion=rv(made), allowWatchBookmarks='true', timeoutSeconds=4)
    kind, obj = w.next()
    t.eq(kind, 'BOOKMARK', 'type')
    t.eq(sorted(obj), ['apiVersion', 'data', 'kind', 'metadata'] if 'data' in obj else ['apiVersion', 'kind', 'metadata'],
         'fields')
    t.true(int(rv(obj)) >= int(rv(made)), 'the bookmark goes back')
    t.has(obj, 'metadata.name', None)


@check
def bookmarks_are_not_sent_unasked(t):
    w = t.watching(t.maps(), resourceVersion=rv(t.read(t.maps())), timeoutSeconds=3)
    t.eq(w.next(), None, 'what comes before the end')


@check
def a_version_that_is_compacted_is_gone_for_a_watch(t):
    if not t.server.expired:
        t.skip('no --expired')
    w = t.watching(t.maps(), resourceVersion=t.server.expired)
    kind, status = w.next()
    t.eq(kind, 'ERROR', 'type')
    t.has(status, 'kind', 'Status')
    t.has(status, 'code', 410)
    t.has(status, 'reason', 'Expired')
    t.true(status['message'].startswith('too old resource version: '), status['message'])
    t.eq(w.next(), None, 'what comes after the error')


@check
def a_version_that_is_compacted_is_gone_for_an_exact_list(t):
    if not t.server.expired:
        t.skip('no --expired')
    a = t.get(t.maps(), resourceVersion=t.server.expired, resourceVersionMatch='Exact')
    t.status(a, 410, 'Expired', part='The resourceVersion for the provided list is too old.')


@check
def a_version_that_is_compacted_is_fine_for_a_list_not_older(t):
    if not t.server.expired:
        t.skip('no --expired')
    t.make(t.maps(), config_map('a'))
    a = t.code(t.get(t.maps(), resourceVersion=t.server.expired, resourceVersionMatch='NotOlderThan'), 200)
    t.true(int(a['metadata.resourceVersion']) > int(t.server.expired), 'an old list')


@check
def a_watch_as_table_sends_rows(t):
    t.make(t.pods(), pod('a'))
    kind, obj = t.watching(t.pods(), accept=TABLE).next()
    t.eq((kind, obj['kind']), ('ADDED', 'Table'), 'event')
    t.eq(dig(obj, 'rows.0.cells.0'), 'a', 'first cell')
    t.true(obj['columnDefinitions'], 'no columns')


@check
def a_watch_as_table_names_the_columns_once(t):
    t.make(t.pods(), pod('a'))
    t.make(t.pods(), pod('b'))
    w = t.watching(t.pods(), accept=TABLE)
    t.true(w.next()[1].get('columnDefinitions'), 'no columns in the first event')
    t.true(not w.next()[1].get('columnDefinitions'), 'columns in the second event')


@check
def many_watches_see_the_same_events(t):
    start = rv(t.read(t.maps()))
    watches = [t.watching(t.maps(), resourceVersion=start) for _ in range(8)]
    for i in range(20):
        t.make(t.maps(), config_map(f'a{i:02}'))
    want = [f'ADDED a{i:02}' for i in range(20)]
    for w in watches:
        t.eq(w.take(20), want, 'events')
