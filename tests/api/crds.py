"""crds.py - CustomResourceDefinitions: ours and new ones; defaulting, validation, pruning, status, scale, columns."""
from client import JSON_PATCH, MERGE, STRATEGIC, TABLE, check, names

APPLY = 'application/apply-patch+yaml'
CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
SPEC = {
    'type': 'object',
    'required': ['size'],
    'properties': {
        'size': {'type': 'integer', 'minimum': 1, 'maximum': 10},
        'color': {'type': 'string', 'enum': ['red', 'blue'], 'default': 'red'},
        'code': {'type': 'string', 'pattern': '^[a-z]+$', 'maxLength': 5},
        'tags': {'type': 'array', 'maxItems': 3, 'items': {'type': 'string', 'minLength': 1}},
        'ratio': {'type': 'number'},
        'free': {'type': 'object', 'x-kubernetes-preserve-unknown-fields': True},
        'port': {'x-kubernetes-int-or-string': True},
        'when': {'type': 'string', 'format': 'date-time'},
        'maybe': {'type': 'string', 'nullable': True},
        'nested': {'type': 'object', 'properties': {'on': {'type': 'boolean', 'default': True},
                                                    'n': {'type': 'integer', 'format': 'int32'}}},
        'parts': {'type': 'array', 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name'],
                  'items': {'type': 'object', 'required': ['name'], 'properties': {
                      'name': {'type': 'string'}, 'weight': {'type': 'integer', 'default': 1}}}},
        'uniq': {'type': 'array', 'x-kubernetes-list-type': 'set', 'items': {'type': 'string'}},
        'map': {'type': 'object', 'additionalProperties': {'type': 'integer'}},
        'selector': {'type': 'string'},
        'replicas': {'type': 'integer'},
    },
}


def crd(t, schema=None, subresources=None, columns=None, scope='Namespaced', group=None):
    group = group or f'{t.name("g")}.example.com'
    version = {'name': 'v1', 'served': True, 'storage': True, 'schema': {'openAPIV3Schema': {
        'type': 'object', 'properties': {'spec': schema or SPEC, 'status': {
            'type': 'object', 'properties': {'phase': {'type': 'string'}, 'replicas': {'type': 'integer'}}}}}}}
    if subresources is not None:
        version['subresources'] = subresources
    if columns:
        version['additionalPrinterColumns'] = columns
    return {'apiVersion': 'apiextensions.k8s.io/v1', 'kind': 'CustomResourceDefinition',
            'metadata': {'name': f'widgets.{group}'},
            'spec': {'group': group, 'scope': scope, 'versions': [version],
                     'names': {'plural': 'widgets', 'singular': 'widget', 'kind': 'Widget', 'listKind': 'WidgetList',
                               'shortNames': ['wd'], 'categories': ['all']}}}


def install(t, **kw):
    """The path of the new resource's collection, once the server serves it."""
    body = crd(t, **kw)
    t.make(CRDS, body)
    group = body['spec']['group']
    path = t.at('widgets', group) if body['spec']['scope'] == 'Namespaced' else f'/apis/{group}/v1/widgets'
    t.until('the new resource is served', lambda: t.get(path).code == 200)
    return path


def shared(t, status=False):
    """The same for checks that leave the definition alone: installed once a run, for it takes the real server time."""
    def first():
        body = crd(t, group=f'{"status" if status else "plain"}-{t.server.run_id}.example.com',
                   subresources={'status': {}} if status else None)
        t.code(t.post(CRDS, body), 201)
        t.server.leave(t.made.pop())
        path = f'/apis/{body["spec"]["group"]}/v1/widgets'
        t.until('the new resource is served', lambda: t.get(path).code == 200)
        return body['spec']['group']
    return t.at('widgets', t.server.once(f'widgets {status}', first))


def widget(path, name='a', spec=None, **more):
    return {'apiVersion': f'{path.split("/")[2]}/v1', 'kind': 'Widget', 'metadata': {'name': name, **more},
            'spec': {'size': 3} if spec is None else spec}


def refused(t, path, spec, *causes, part=None):
    t.invalid(t.post(path, widget(path, spec=spec)), *causes, part=part)


# ---- definitions ----

@check
def a_new_definition_is_established(t):
    made = t.make(CRDS, crd(t))
    name = made['metadata']['name']

    def conditions():
        got = {c['type']: c['status'] for c in (t.read(f'{CRDS}/{name}').get('status') or {}).get('conditions') or ()}
        return got.get('Established') == 'True' and got.get('NamesAccepted') == 'True'
    t.until('Established and NamesAccepted', conditions)
    obj = t.read(f'{CRDS}/{name}')
    t.has(obj, 'status.acceptedNames.kind', 'Widget')
    t.has(obj, 'status.storedVersions', ['v1'])


@check
def a_definition_must_be_named_after_plural_and_group(t):
    body = crd(t)
    body['metadata']['name'] = 'other.example.com'
    t.invalid(t.post(CRDS, body), ('FieldValueInvalid', 'metadata.name'), part='must be spec.names.plural+"."+spec.group')


@check
def a_definition_needs_a_schema(t):
    body = crd(t)
    del body['spec']['versions'][0]['schema']
    t.invalid(t.post(CRDS, body), ('FieldValueRequired', 'spec.versions[0].schema.openAPIV3Schema'),
              part='schema.openAPIV3Schema: Required value')


@check
def a_definition_needs_one_storage_version(t):
    body = crd(t)
    body['spec']['versions'][0]['storage'] = False
    t.invalid(t.post(CRDS, body), ('FieldValueInvalid', 'spec.versions'),
              part='must have exactly one version marked as storage version')


@check
def a_definition_needs_a_structural_schema(t):
    body = crd(t, schema={'properties': {'x': {'type': 'string'}}})
    t.invalid(t.post(CRDS, body), part='must not be empty for specified object fields')


@check
def a_definition_has_no_additional_properties_at_its_root(t):
    for more in ({'type': 'string'}, True, False):
        body = crd(t)
        body['spec']['versions'][0]['schema']['openAPIV3Schema'] = {'type': 'object', 'additionalProperties': more}
        t.invalid(t.post(CRDS, body), ('FieldValueForbidden', 'spec.validation.openAPIV3Schema.additionalProperties',
                                       'must not be used at the root'))


# Parts of a schema that have one form or another: name, schema, what is kept of it or what is said.
UNIONS = [
    ('additional_properties_lose_unknown_fields', {'type': 'object', 'additionalProperties': {'type': 'string', 'foo': 1, 'description': ''}},
     {'type': 'object', 'additionalProperties': {'type': 'string'}}),
    ('additional_properties_may_be_true', {'type': 'object', 'additionalProperties': True},
     {'type': 'object', 'additionalProperties': True}),
    ('items_lose_unknown_fields', {'type': 'array', 'items': {'type': 'string', 'foo': 1}},
     {'type': 'array', 'items': {'type': 'string'}}),
    ('additional_properties_of_a_wrong_type', {'type': 'object', 'additionalProperties': {'type': 5}},
     '400 BadRequest cannot unmarshal number into Go struct field '
     'JSONSchemaProps.spec.versions.schema.openAPIV3Schema.properties.properties.additionalProperties.type of type'),
    ('additional_properties_as_a_word', {'type': 'object', 'additionalProperties': 'x'}, '400 BadRequest boolean or JSON schema expected'),
    ('additional_properties_as_a_list', {'type': 'object', 'additionalProperties': []}, '400 BadRequest boolean or JSON schema expected'),
    ('items_as_a_list', {'type': 'array', 'items': [{'type': 'string'}]},
     '422 Invalid items: Forbidden: items must be a schema object and not an array'),
    ('items_as_an_empty_list', {'type': 'array', 'items': []}, '422 Invalid items: Required value: must be specified'),
    ('items_as_a_word', {'type': 'array', 'items': 'x'}, '422 Invalid items: Required value: must be specified'),
    ('dependencies', {'type': 'object', 'dependencies': {'x': ['a']}}, '422 Invalid dependencies: Forbidden: dependencies is not supported'),
]
for _name, _schema, _want in UNIONS:
    def _union(t, schema=_schema, want=_want):
        body = crd(t, schema={'type': 'object', 'properties': {'a': schema}})
        a = t.post(CRDS, body, dryRun='All', fieldValidation='Strict')
        if isinstance(want, str):
            code, reason, part = want.split(' ', 2)
            t.status(a, int(code), reason, part=part)
        else:
            t.eq(t.code(a, 201)['spec.versions.0.schema.openAPIV3Schema.properties.spec.properties.a'], want, 'schema')
    _union.__name__ = f'in_a_schema_{_name}'
    check(_union)


@check
def a_definition_with_a_default_that_does_not_fit_is_invalid(t):
    body = crd(t, schema={'type': 'object', 'properties': {'x': {'type': 'integer', 'default': 'no'}}})
    t.invalid(t.post(CRDS, body), part='properties[spec].properties[x].default')


@check
def a_definition_fills_in_names(t):
    body = crd(t)
    names_ = body['spec']['names']
    del names_['listKind'], names_['singular']
    got = t.make(CRDS, body)
    t.has(got, 'spec.names.listKind', 'WidgetList')
    t.has(got, 'spec.names.singular', 'widget')
    t.has(got, 'spec.conversion', {'strategy': 'None'})


@check
def a_deleted_definition_takes_its_resource_away(t):
    path = install(t)
    name = f'widgets.{path.split("/")[2]}'
    t.make(path, widget(path))
    t.code(t.delete(f'{CRDS}/{name}'), 200)
    t.until('the resource is gone', lambda: t.get(path).code == 404)
    t.until('the definition is gone', lambda: t.get(f'{CRDS}/{name}').code == 404)


CLEANUP = 'customresourcecleanup.apiextensions.k8s.io'


def terminating(obj):
    """(status, reason, message) of the condition Terminating."""
    found = [c for c in (obj.get('status') or {}).get('conditions') or () if c['type'] == 'Terminating']
    return tuple(found[0][k] for k in ('status', 'reason', 'message')) if found else None


def held(t):
    """A definition with an object that waits for a finalizer: its path, and the object's collection."""
    path = install(t)
    name = f'widgets.{path.split("/")[2]}'
    t.until('Established', lambda: any(c['type'] == 'Established' and c['status'] == 'True'
                                       for c in (t.read(f'{CRDS}/{name}').get('status') or {}).get('conditions') or ()))
    t.make(path, widget(path, finalizers=['e.com/x']))
    return f'{CRDS}/{name}', path


def in_progress(t, definition):
    t.until('InstanceDeletionInProgress', lambda: terminating(t.read(definition)) == (
        'True', 'InstanceDeletionInProgress', 'CustomResource deletion is in progress'))


@check
def a_deleted_definition_waits_for_its_objects(t):
    definition, path = held(t)
    t.make(path, widget(path, 'b'))
    w = t.watching(path, resourceVersion=t.read(path)['metadata']['resourceVersion'])
    a = t.code(t.delete(definition, {'propagationPolicy': 'Foreground'}), 200)
    t.has(a, 'kind', 'CustomResourceDefinition')
    t.has(a, 'metadata.finalizers', [CLEANUP])
    t.true(a['metadata.deletionTimestamp'], 'no deletionTimestamp')
    t.has(a, 'metadata.deletionGracePeriodSeconds', None)
    t.has(a, 'metadata.generation', 1)
    t.eq(terminating(a.json), ('True', 'InstanceDeletionPending',
                               'CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon'), 'condition')
    in_progress(t, definition)
    t.until('b is gone', lambda: t.get(f'{path}/b').code == 404)
    t.until('a is being deleted', lambda: t.read(f'{path}/a')['metadata'].get('deletionTimestamp'))
    t.eq(t.read(f'{path}/a')['metadata']['deletionGracePeriodSeconds'], 0, 'grace')
    t.code(t.patch(f'{path}/a', {'metadata': {'finalizers': None}}), 200)
    t.eq(sorted(w.take(3)), ['DELETED a', 'DELETED b', 'MODIFIED a'], 'events')
    t.until('the definition is gone', lambda: t.get(definition).code == 404)
    t.until('the resource is gone', lambda: t.get(path).code == 404)


@check
def nothing_is_created_while_a_definition_is_being_deleted(t):
    definition, path = held(t)
    t.code(t.delete(definition), 200)
    t.until('creates are refused', lambda: t.post(path, widget(path, t.name('w')), dryRun='All').code == 403)
    group = path.split('/')[2]
    words = f'widgets.{group} "b" is forbidden: create not allowed while custom resource definition is terminating'
    t.status(t.post(path, widget(path, 'b')), 403, 'Forbidden', words, details={'name': 'b', 'group': group, 'kind': 'widgets'})
    t.status(t.patch(f'{path}/b', widget(path, 'b'), APPLY, fieldManager='me'), 403, 'Forbidden', words)
    t.status(t.call('POST', path, raw=b'{'), 400, 'BadRequest')
    t.code(t.patch(f'{path}/a', {'spec': {'size': 4}}), 200)
    t.code(t.patch(f'{path}/a', widget(path), APPLY, fieldManager='me', force='true'), 200)
    t.until('verbs', lambda: sorted(next(r for r in t.read(f'/apis/{group}/v1')['resources'] if r['name'] == 'widgets')['verbs'])
            == ['delete', 'deletecollection', 'get', 'list', 'watch'])
    t.code(t.patch(f'{path}/a', {'metadata': {'finalizers': None}}), 200)
    t.until('the definition is gone', lambda: t.get(definition).code == 404)


@check
def a_definition_is_deleted_again_as_any_object(t):
    definition, path = held(t)
    a = t.code(t.delete(definition, dryRun='All'), 200)
    t.eq(terminating(a.json)[1], 'InstanceDeletionPending', 'dry run')
    t.eq(t.read(definition)['metadata'].get('deletionTimestamp'), None, 'deletionTimestamp')
    t.code(t.delete(definition), 200)
    in_progress(t, definition)
    a = t.code(t.delete(definition), 200)
    t.has(a, 'metadata.generation', 1)
    t.has(a, 'metadata.deletionGracePeriodSeconds', 0)
    t.has(a, 'metadata.finalizers', [CLEANUP])
    t.code(t.patch(f'{path}/a', {'metadata': {'finalizers': None}}), 200)
    t.until('the definition is gone', lambda: t.get(definition).code == 404)


@check
def a_definition_whose_objects_have_gone_waits_for_others(t):
    body = crd(t)
    body['metadata']['finalizers'] = ['e.com/x']
    definition = f'{CRDS}/{t.make(CRDS, body)["metadata"]["name"]}'
    path = t.at('widgets', body['spec']['group'])
    t.until('the new resource is served', lambda: t.get(path).code == 200)
    t.make(path, widget(path))
    a = t.code(t.delete(definition), 200)
    t.has(a, 'metadata.finalizers', ['e.com/x', CLEANUP])
    t.until('InstanceDeletionCompleted', lambda: terminating(t.read(definition)) == (
        'False', 'InstanceDeletionCompleted', 'removed all instances'))
    t.has(t.read(definition), 'metadata.finalizers', ['e.com/x'])
    t.code(t.get(f'{path}/a'), 404)
    t.code(t.patch(definition, {'metadata': {'finalizers': None}}), 200)
    t.code(t.get(definition), 404)


@check
def a_definition_that_was_never_established_goes(t):
    first = t.make(CRDS, crd(t))
    body = crd(t, group=first['spec']['group'])
    body['metadata']['name'] = f'gadgets.{first["spec"]["group"]}'
    body['metadata']['finalizers'] = ['e.com/x']
    body['spec']['names'].update({'plural': 'gadgets', 'singular': 'gadget'})
    t.until('the first is served', lambda: t.get(t.at('widgets', first['spec']['group'])).code == 200)
    definition = f'{CRDS}/{t.make(CRDS, body)["metadata"]["name"]}'
    t.until('its names are taken', lambda: any(c['type'] == 'NamesAccepted' and c['status'] == 'False' for c in
                                               (t.read(definition).get('status') or {}).get('conditions') or ()))
    t.code(t.delete(definition), 200)
    t.until('NeverEstablished', lambda: terminating(t.read(definition)) == (
        'False', 'NeverEstablished', 'resource was never established'))
    t.has(t.read(definition), 'metadata.finalizers', ['e.com/x'])


@check
def a_definition_can_be_changed_while_it_is_served(t):
    path = install(t)
    name = f'widgets.{path.split("/")[2]}'
    refused(t, path, {'size': 50})
    t.code(t.patch(f'{CRDS}/{name}', [
        {'op': 'replace', 'path': '/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/size/maximum',
         'value': 100}], JSON_PATCH), 200)
    t.until('the new schema counts', lambda: t.post(path, widget(path, t.name('w'), {'size': 50})).code == 201)


@check
def the_scope_of_a_definition_is_immutable(t):
    body = t.make(CRDS, crd(t))
    name = body['metadata']['name']
    t.until('Established', lambda: any(c['type'] == 'Established' and c['status'] == 'True' for c in
                                       (t.read(f'{CRDS}/{name}').get('status') or {}).get('conditions') or ()))
    t.invalid(t.patch(f'{CRDS}/{name}', {'spec': {'scope': 'Cluster'}}), ('FieldValueInvalid', 'spec.scope'),
              part='field is immutable')


# ---- custom objects ----

@check
def a_custom_object_has_uid_and_generation(t):
    path = shared(t)
    got = t.make(path, widget(path))
    t.has(got, 'metadata.generation', 1)
    t.true(got['metadata']['uid'], 'no uid')
    t.has(got, 'kind', 'Widget')


@check
def a_custom_list_has_its_list_kind(t):
    path = shared(t)
    t.make(path, widget(path))
    a = t.code(t.get(path), 200)
    t.has(a, 'kind', 'WidgetList')
    t.eq(names(a), ['a'], 'names')
    t.has(a, 'items.0.kind', 'Widget')


@check
def a_cluster_scoped_custom_resource_has_no_namespace(t):
    path = install(t, scope='Cluster')
    t.has(t.make(path, widget(path)), 'metadata.namespace', None)
    t.code(t.get(f'/apis/{path.split("/")[2]}/v1/namespaces/default/widgets'), 404)


@check
def a_custom_object_needs_kind_and_version(t):
    path = shared(t)
    a = t.post(path, {'metadata': {'name': 'a'}, 'spec': {'size': 1}})
    t.status(a, 400, 'BadRequest')


@check
def defaults_are_filled_in(t):
    path = shared(t)
    got = t.make(path, widget(path, spec={'size': 1, 'nested': {}, 'parts': [{'name': 'p'}]}))
    t.has(got, 'spec.color', 'red')
    t.has(got, 'spec.nested', {'on': True})
    t.has(got, 'spec.parts', [{'name': 'p', 'weight': 1}])


@check
def defaults_do_not_make_parents(t):
    path = shared(t)
    t.has(t.make(path, widget(path)), 'spec.nested', None)


@check
def defaults_replace_null_where_null_is_not_allowed(t):
    path = shared(t)
    got = t.make(path, widget(path, spec={'size': 1, 'color': None, 'maybe': None}))
    t.has(got, 'spec.color', 'red')
    t.true('maybe' in got['spec'] and got['spec']['maybe'] is None, f'spec {got["spec"]}')


@check
def defaults_that_came_later_are_filled_in_when_objects_are_read(t):
    path = install(t, schema={'type': 'object', 'properties': {'size': {'type': 'integer'}, 'nested': {
        'type': 'object', 'properties': {'on': {'type': 'boolean'}}}}})
    t.make(path, widget(path, spec={'size': 3, 'nested': {}}))
    before = t.read(f'{path}/a')
    t.true('late' not in before['spec'], f'{before["spec"]}')
    at = '/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties'
    t.code(t.patch(f'{CRDS}/widgets.{path.split("/")[2]}', [
        {'op': 'add', 'path': f'{at}/late', 'value': {'type': 'string', 'default': 'yes'}},
        {'op': 'add', 'path': f'{at}/nested/properties/on/default', 'value': True}], JSON_PATCH), 200)
    t.until('the default is there', lambda: t.read(f'{path}/a')['spec'].get('late') == 'yes')
    got = t.read(f'{path}/a')
    t.eq(got['spec'], {'size': 3, 'late': 'yes', 'nested': {'on': True}}, 'spec')
    t.eq((got['metadata']['resourceVersion'], got['metadata']['generation']),
         (before['metadata']['resourceVersion'], before['metadata']['generation']), 'version and generation')
    t.eq(t.read(path)['items'][0]['spec'], got['spec'], 'in a list')
    kind, seen = t.watching(path, resourceVersion='0').next()
    t.eq((kind, seen['spec']), ('ADDED', got['spec']), 'in a watch')
    a = t.code(t.patch(f'{path}/a', {'metadata': {'labels': {'a': 'b'}}}), 200)
    t.eq(a['spec'], got['spec'], 'after a change of something else')


@check
def a_deprecated_version_is_warned_of(t):
    body = crd(t)
    group, one = body['spec']['group'], body['spec']['versions'][0]
    body['spec']['versions'] += [{**one, 'name': 'v1beta1', 'storage': False, 'deprecated': True},
                                 {**one, 'name': 'v1alpha1', 'storage': False, 'deprecated': True,
                                  'deprecationWarning': 'take v1 of widgets'}]
    t.make(CRDS, body)
    paths = {v: t.at('widgets', group, v) for v in ('v1', 'v1beta1', 'v1alpha1')}
    t.until('all versions are served', lambda: all(t.get(p).code == 200 for p in paths.values()))
    t.make(paths['v1'], widget(paths['v1']))
    for v, want in (('v1', None), ('v1beta1', f'299 - "{group}/v1beta1 Widget is deprecated; use {group}/v1 Widget"'),
                    ('v1alpha1', '299 - "take v1 of widgets"')):
        w = {**widget(paths[v], 'b'), 'apiVersion': f'{group}/{v}'}
        for what, a in (('list', t.get(paths[v])), ('get', t.get(f'{paths[v]}/a')), ('create', t.post(paths[v], w)),
                        ('patch', t.patch(f'{paths[v]}/b', {'spec': {'size': 4}})), ('delete', t.delete(f'{paths[v]}/b'))):
            t.code(a, 200, 201)
            t.eq(a.headers.get_all('Warning'), want and [want], f'warnings of {what} in {v}')


@check
def unknown_fields_are_pruned(t):
    path = shared(t)
    got = t.make(path, widget(path, spec={'size': 1, 'other': 1, 'nested': {'more': 1},
                                          'parts': [{'name': 'p', 'x': 1}]}), fieldValidation='Ignore')
    t.has(got, 'spec.other', None)
    t.has(got, 'spec.nested.more', None)
    t.has(got, 'spec.parts.0.x', None)


@check
def unknown_fields_are_kept_where_the_schema_says_so(t):
    path = shared(t)
    free = {'a': {'b': [1, {'c': None}]}}
    t.has(t.make(path, widget(path, spec={'size': 1, 'free': free})), 'spec.free', free)


@check
def unknown_fields_are_refused_when_strict(t):
    path = shared(t)
    a = t.post(path, widget(path, spec={'size': 1, 'other': 1}), fieldValidation='Strict')
    t.status(a, 400, 'BadRequest', part='unknown field "spec.other"')


@check
def unknown_fields_are_warned_of(t):
    path = shared(t)
    a = t.code(t.post(path, widget(path, spec={'size': 1, 'other': 1})), 201)
    t.eq(a.headers.get('Warning'), '299 - "unknown field \\"spec.other\\""', 'Warning header')


OPEN = {'type': 'object', 'properties': {
    'any': {'type': 'object', 'additionalProperties': True},
    'mixed': {'type': 'object', 'properties': {'a': {'type': 'string'}, 'd': {'type': 'string', 'default': 'x'}}, 'additionalProperties': True},
    'kept': {'type': 'object', 'additionalProperties': True, 'x-kubernetes-preserve-unknown-fields': True},
    'list': {'type': 'array', 'items': {'type': 'object', 'additionalProperties': True}},
    'none': {'type': 'object', 'additionalProperties': False}}}


@check
def members_of_any_name_are_kept_but_not_what_is_in_them(t):
    path = install(t, schema=OPEN)
    spec = {'any': {'s': 'x', 'n': 1, 'o': {'p': 1, 'q': {'r': 1}}, 'l': [1, {'m': 2}, [{'z': 1}], 'w']},
            'mixed': {'a': 's', 'b': 't', 'c': {'e': 1}, 'f': [1]},
            'kept': {'s': 'x', 'o': {'p': 1}, 'l': [{'m': 2}]},
            'list': [{'a': 1, 'b': {'c': 2}}], 'none': {}}
    unknown = ['any.l[1].m', 'any.l[2][0].z', 'any.o.p', 'any.o.q', 'kept.l[0].m', 'kept.o.p', 'list[0].b.c', 'mixed.c.e']
    a = t.post(path, widget(path, spec=spec), fieldValidation='Strict')
    t.status(a, 400, 'BadRequest', part='strict decoding error: ' + ', '.join(f'unknown field "spec.{u}"' for u in unknown[:3]))
    a = t.code(t.post(path, widget(path, spec=spec)), 201)
    t.eq(a.headers.get_all('Warning'), [f'299 - "unknown field \\"spec.{u}\\""' for u in unknown], 'Warning headers')
    t.eq(a['spec'], {'any': {'s': 'x', 'n': 1, 'o': {}, 'l': [1, {}, [{}], 'w']}, 'mixed': {'a': 's', 'b': 't', 'c': {}, 'd': 'x', 'f': [1]},
                     'kept': {'s': 'x', 'o': {}, 'l': [{}]}, 'list': [{'a': 1, 'b': {}}], 'none': {}}, 'spec')
    t.eq(t.read(f'{path}/a')['spec'], a['spec'], 'what is stored')
    # Those that have a schema of their own are judged by it.
    refused(t, path, {'mixed': {'a': 5, 'b': 5}}, ('FieldValueTypeInvalid', 'spec.mixed.a'))
    # And where there may be none, they are not dropped but refused.
    refused(t, path, {'none': {'x': 1, 'y': {'z': 1}}}, ('FieldValueInvalid', 'spec.none', 'spec.none.x in body is a forbidden property'),
            ('FieldValueInvalid', 'spec.none', 'spec.none.y in body is a forbidden property'))


@check
def a_missing_required_field_is_named(t):
    path = shared(t)
    a = t.post(path, widget(path, spec={}))
    t.invalid(a, ('FieldValueRequired', 'spec.size', 'Required value'))
    t.eq(a['message'], 'Widget.%s "a" is invalid: spec.size: Required value' % path.split('/')[2], 'message')
    t.has(a, 'details.kind', 'Widget')
    t.has(a, 'details.name', 'a')


@check
def a_wrong_type_is_named(t):
    path = shared(t)
    refused(t, path, {'size': 'big'}, ('FieldValueTypeInvalid', 'spec.size'),
            part='spec.size in body must be of type integer: "string"')


@check
def bounds_of_numbers_hold(t):
    path = shared(t)
    refused(t, path, {'size': 0}, ('FieldValueInvalid', 'spec.size'),
            part='spec.size in body should be greater than or equal to 1')
    refused(t, path, {'size': 11}, ('FieldValueInvalid', 'spec.size'),
            part='spec.size in body should be less than or equal to 10')


@check
def enums_hold(t):
    path = shared(t)
    refused(t, path, {'size': 1, 'color': 'green'}, ('FieldValueNotSupported', 'spec.color'),
            part='spec.color: Unsupported value: "green": supported values: "red", "blue"')


@check
def patterns_and_lengths_hold(t):
    path = shared(t)
    refused(t, path, {'size': 1, 'code': 'A1'}, ('FieldValueInvalid', 'spec.code'),
            part="spec.code in body should match '^[a-z]+$'")
    refused(t, path, {'size': 1, 'code': 'abcdefgh'}, ('FieldValueTooLong', 'spec.code'))


@check
def items_of_lists_are_checked_with_their_index(t):
    path = shared(t)
    refused(t, path, {'size': 1, 'tags': ['a', '']}, ('FieldValueInvalid', 'spec.tags[1]'))
    refused(t, path, {'size': 1, 'tags': ['a', 'b', 'c', 'd']}, ('FieldValueTooMany', 'spec.tags'))


@check
def keys_of_map_lists_are_unique(t):
    path = shared(t)
    refused(t, path, {'size': 1, 'parts': [{'name': 'x'}, {'name': 'x'}]}, ('FieldValueDuplicate', 'spec.parts[1]'))
    refused(t, path, {'size': 1, 'uniq': ['x', 'x']}, ('FieldValueDuplicate', 'spec.uniq[1]'))


@check
def values_of_maps_are_checked_with_their_key(t):
    path = shared(t)
    refused(t, path, {'size': 1, 'map': {'x': 'no'}}, ('FieldValueTypeInvalid', 'spec.map.x'))


@check
def formats_hold(t):
    path = shared(t)
    refused(t, path, {'size': 1, 'when': 'yesterday'}, ('FieldValueTypeInvalid', 'spec.when'))
    t.code(t.post(path, widget(path, spec={'size': 1, 'when': '2026-01-01T00:00:00Z'})), 201)


# format -> texts that have it, texts that have not
FORMATS = {
    'date-time': (('2020-02-03t00:00:00z', '2020-02-03T00:00:00+99:99', '2020-02-03T00:00:00x5Z'), ('2020-02-03T00:00:60Z', '2020-02-03T00:00:00')),
    'date': (('0000-01-01',), ('2020-02-30', '2020-2-3')),
    'duration': (('1d', '2 weeks', '10 seconds', '1.5h', '1 Hour, and 30 MINUTES!'), ('5', '5 x', '99999999999999999999 s')),
    'uri': (('/a', 'http://[::1]', 'mailto:x'), ('http://[::1', 'a', 'http://%zz')),
    'cidr': (('10.0.0.0/08', '010.0.0.0/8', '::/0'), ('10.0.0.0/33', '10.0.0.0', '10.0.0.0/+8')),
    'ipv4': (('010.0.0.1', '::ffff:1.2.3.4'), ('10.0.0.256', '::1')),
    'ipv6': (('::1', '::ffff:1.2.3.4'), ('1.2.3.4', 'fe80::1%e')),
    'byte': (('AA==',), ('AA==\n\n\n\n', '', 'AA=')),
    'mac': (('01:23:45:67:89:ab', '0123.4567.89ab'), ('x', '01:23-45:67:89:ab')),
    'uuid': (('11E669DABC834978BBEBD6689DDDA52E',), ('11e669da--bc834978-bbeb-d6689ddda52e',)),
    'uuid4': (('11e669da-bc83-4978-bbeb-d6689ddda52e',), ('11e669da-bc83-5978-bbeb-d6689ddda52e',)),
    'isbn': (('978-0321751041', '0321751043'), ('978-0321751042',)),
    'hostname': (('a-b.com', 'localhost', '\u2603.com'), ('my-host', 'a.b1', 'a_b.com')),
    'hexcolor': (('#FFF',), ('#ffff',)),
    'k8s-short-name': (('a-b',), ('a.b',)),
    'password': (('', 'x'), ()),
    'nope': (('', 'x'), ()),
}


@check
def each_format_is_as_strict_as_the_library_has_it(t):
    properties = {f.replace('-', ''): {'type': 'string', 'format': f} for f in FORMATS}
    path = install(t, schema={'type': 'object', 'properties': properties})
    for name, (good, bad) in FORMATS.items():
        field = name.replace('-', '')
        for text in good:
            t.code(t.call('POST', path, widget(path, spec={field: text}), dryRun='All'), 201)
        for text in bad:
            refused(t, path, {field: text}, ('FieldValueTypeInvalid', f'spec.{field}'))


@check
def a_pattern_may_name_a_group_twice(t):
    path = install(t, schema={'type': 'object', 'properties': {'p': {'type': 'string', 'pattern': '^(?P<x>hi)$|^(?P<x>bye)$'}}})
    t.code(t.call('POST', path, widget(path, spec={'p': 'bye'}), dryRun='All'), 201)
    refused(t, path, {'p': 'by'}, ('FieldValueInvalid', 'spec.p'))


@check
def int_or_string_takes_both_and_nothing_else(t):
    path = shared(t)
    t.code(t.post(path, widget(path, 'a', {'size': 1, 'port': 80})), 201)
    t.code(t.post(path, widget(path, 'b', {'size': 1, 'port': 'http'})), 201)
    refused(t, path, {'size': 1, 'port': True}, ('FieldValueTypeInvalid', 'spec.port'))


@check
def all_errors_are_told_at_once(t):
    path = shared(t)
    refused(t, path, {'size': 99, 'color': 'x', 'code': '1'}, ('FieldValueInvalid', 'spec.size'),
            ('FieldValueNotSupported', 'spec.color'), ('FieldValueInvalid', 'spec.code'))


@check
def floats_and_large_integers_survive(t):
    path = shared(t)
    got = t.make(path, widget(path, spec={'size': 1, 'ratio': 0.1, 'free': {'n': 9007199254740993, 'f': 1.5}}))
    t.has(got, 'spec.ratio', 0.1)
    t.has(got, 'spec.free', {'n': 9007199254740993, 'f': 1.5})


# ---- verbs on custom objects ----

@check
def a_custom_object_is_updated_with_its_version_only(t):
    path = shared(t)
    made = t.make(path, widget(path))
    t.invalid(t.put(f'{path}/a', widget(path)), ('FieldValueInvalid', 'metadata.resourceVersion'),
              part='metadata.resourceVersion: Invalid value: 0: must be specified for an update')
    made['spec']['size'] = 5
    a = t.code(t.put(f'{path}/a', made), 200)
    t.has(a, 'metadata.generation', 2)


@check
def a_custom_object_takes_merge_and_json_patches(t):
    path = shared(t)
    t.make(path, widget(path))
    t.has(t.code(t.patch(f'{path}/a', {'spec': {'size': 4}}, MERGE), 200), 'spec.size', 4)
    a = t.patch(f'{path}/a', [{'op': 'replace', 'path': '/spec/size', 'value': 5}], JSON_PATCH)
    t.has(t.code(a, 200), 'spec.size', 5)


@check
def a_custom_object_takes_no_strategic_patch(t):
    path = shared(t)
    t.make(path, widget(path))
    t.status(t.patch(f'{path}/a', {'spec': {'size': 4}}, STRATEGIC), 415, 'UnsupportedMediaType')


@check
def a_patch_of_a_custom_object_is_validated(t):
    path = shared(t)
    t.make(path, widget(path))
    t.invalid(t.patch(f'{path}/a', {'spec': {'size': 99}}), ('FieldValueInvalid', 'spec.size'))


@check
def custom_objects_are_watched(t):
    path = shared(t)
    w = t.watching(path, resourceVersion=t.read(path)['metadata']['resourceVersion'])
    t.make(path, widget(path))
    t.patch(f'{path}/a', {'spec': {'size': 4}})
    t.delete(f'{path}/a')
    t.eq(w.take(3), ['ADDED a', 'MODIFIED a', 'DELETED a'], 'events')


@check
def custom_objects_are_selected_by_label_and_name(t):
    path = shared(t)
    t.make(path, widget(path, 'a', labels={'x': 'y'}))
    t.make(path, widget(path, 'b'))
    t.eq(names(t.read(path, labelSelector='x=y')), ['a'], 'by label')
    t.eq(names(t.read(path, fieldSelector='metadata.name=b')), ['b'], 'by name')
    t.status(t.get(path, fieldSelector='spec.size=3'), 400, 'BadRequest', part='field label not supported: spec.size')


@check
def custom_objects_wait_for_their_finalizers(t):
    path = shared(t)
    t.make(path, widget(path, finalizers=['e.com/x']))
    a = t.code(t.delete(f'{path}/a'), 200)
    t.true(a['metadata.deletionTimestamp'], 'no deletionTimestamp')
    t.code(t.patch(f'{path}/a', {'metadata': {'finalizers': []}}), 200)
    t.code(t.get(f'{path}/a'), 404)


# ---- subresources ----

@check
def without_a_status_subresource_the_status_is_plain(t):
    path = shared(t)
    got = t.make(path, {**widget(path), 'status': {'phase': 'Up'}})
    t.has(got, 'status.phase', 'Up')
    t.status(t.get(f'{path}/a/status'), 404, 'NotFound')


@check
def with_a_status_subresource_create_and_update_leave_it_alone(t):
    path = shared(t, status=True)
    got = t.make(path, {**widget(path), 'status': {'phase': 'Up'}})
    t.has(got, 'status', None)
    got['status'] = {'phase': 'Up'}
    t.has(t.code(t.put(f'{path}/a', got), 200), 'status', None)


@check
def the_status_subresource_changes_only_the_status(t):
    path = shared(t, status=True)
    got = t.make(path, widget(path))
    got['status'] = {'phase': 'Up'}
    got['spec']['size'] = 9
    got['metadata']['labels'] = {'x': 'y'}
    a = t.code(t.put(f'{path}/a/status', got), 200)
    t.has(a, 'status.phase', 'Up')
    t.has(a, 'spec.size', 3)
    t.has(a, 'metadata.labels', None)
    t.has(a, 'metadata.generation', 1)


@check
def the_status_subresource_is_validated(t):
    path = shared(t, status=True)
    t.make(path, widget(path))
    t.invalid(t.patch(f'{path}/a/status', {'status': {'phase': 5}}), ('FieldValueTypeInvalid', 'status.phase'))


@check
def the_scale_subresource_maps_paths(t):
    path = install(t, subresources={'status': {}, 'scale': {
        'specReplicasPath': '.spec.replicas', 'statusReplicasPath': '.status.replicas',
        'labelSelectorPath': '.spec.selector'}})
    t.make(path, widget(path, spec={'size': 1, 'replicas': 2, 'selector': 'a=b'}))
    t.code(t.patch(f'{path}/a/status', {'status': {'replicas': 1}}), 200)
    a = t.code(t.get(f'{path}/a/scale'), 200)
    t.has(a, 'kind', 'Scale')
    t.has(a, 'spec.replicas', 2)
    t.has(a, 'status', {'replicas': 1, 'selector': 'a=b'})
    t.code(t.patch(f'{path}/a/scale', {'spec': {'replicas': 5}}), 200)
    t.has(t.read(f'{path}/a'), 'spec.replicas', 5)
    t.invalid(t.patch(f'{path}/a', {'spec': {'replicas': -1}}), ('FieldValueInvalid', '.spec.replicas', 'should be a non-negative integer'))
    t.invalid(t.patch(f'{path}/a', {'spec': {'replicas': 1 << 31}}),
              ('FieldValueInvalid', '.spec.replicas', 'should be less than or equal to 2147483647'))


# ---- columns ----

@check
def a_table_without_columns_shows_name_and_age(t):
    path = shared(t)
    t.make(path, widget(path))
    a = t.code(t.get(path, accept=TABLE), 200)
    t.eq([c['name'] for c in a['columnDefinitions']], ['Name', 'Age'], 'columns')
    t.has(a, 'rows.0.cells.0', 'a')


@check
def a_table_shows_the_printer_columns(t):
    columns = [{'name': 'Size', 'type': 'integer', 'jsonPath': '.spec.size'},
               {'name': 'Color', 'type': 'string', 'jsonPath': '.spec.color', 'priority': 1, 'description': 'how it looks'},
               {'name': 'Age', 'type': 'date', 'jsonPath': '.metadata.creationTimestamp'}]
    path = install(t, columns=columns)
    t.make(path, widget(path))
    a = t.code(t.get(path, accept=TABLE), 200)
    t.eq([(c['name'], c['type'], c['priority']) for c in a['columnDefinitions']],
         [('Name', 'string', 0), ('Size', 'integer', 0), ('Color', 'string', 1), ('Age', 'date', 0)], 'columns')
    t.has(a, 'columnDefinitions.2.description', 'how it looks')
    t.eq(a['rows.0.cells'][:3], ['a', 3, 'red'], 'cells')
    t.true(a['rows.0.cells.3'] in ('0s', '1s', '2s', '3s'), f'age {a["rows.0.cells.3"]}')


@check
def a_printer_column_without_a_value_is_null(t):
    path = install(t, columns=[{'name': 'Code', 'type': 'string', 'jsonPath': '.spec.code'}])
    t.make(path, widget(path))
    t.eq(t.get(path, accept=TABLE)['rows.0.cells'], ['a', None], 'cells')


# ---- ours ----

def ours(t, group, plural, version='v1alpha1'):
    return f'/apis/{group}/{version}/{plural}'


@check
def our_definitions_are_served(t):
    for group, version, plural in (('slo.koordinator.sh', 'v1alpha1', 'nodemetrics'),
                                   ('slo.koordinator.sh', 'v1alpha1', 'nodeslos'),
                                   ('scheduling.koordinator.sh', 'v1alpha1', 'reservations'),
                                   ('scheduling.koordinator.sh', 'v1alpha1', 'devices'),
                                   ('scheduling.koordinator.sh', 'v1alpha1', 'podmigrationjobs'),
                                   ('config.koordinator.sh', 'v1alpha1', 'clustercolocationprofiles'),
                                   ('scheduling.sigs.k8s.io', 'v1alpha1', 'podgroups'),
                                   ('scheduling.sigs.k8s.io', 'v1alpha1', 'elasticquotas')):
        t.until(plural, lambda p=f'/apis/{group}/{version}/{plural}': t.get(p).code == 200)


@check
def a_node_metric_has_a_status_subresource(t):
    path, n = ours(t, 'slo.koordinator.sh', 'nodemetrics'), t.name('nm')
    body = {'apiVersion': 'slo.koordinator.sh/v1alpha1', 'kind': 'NodeMetric', 'metadata': {'name': n},
            'spec': {'metricCollectPolicy': {'reportIntervalSeconds': 60}}}
    t.make(path, body)
    usage = {'nodeMetric': {'nodeUsage': {'resources': {'cpu': '1500m', 'memory': '2Gi'}}},
             'updateTime': '2026-01-01T00:00:00Z'}
    a = t.code(t.patch(f'{path}/{n}/status', {'status': usage}), 200)
    t.has(a, 'status.nodeMetric.nodeUsage.resources', {'cpu': '1500m', 'memory': '2Gi'})
    t.has(a, 'metadata.generation', 1)


@check
def a_pod_group_shows_its_columns(t):
    path = t.at('podgroups', 'scheduling.sigs.k8s.io', 'v1alpha1')
    t.make(path, {'apiVersion': 'scheduling.sigs.k8s.io/v1alpha1', 'kind': 'PodGroup', 'metadata': {'name': 'g'},
                  'spec': {'minMember': 3}})
    a = t.code(t.get(path, accept=TABLE), 200)
    t.eq(a['columnDefinitions.0.name'], 'Name', 'first column')
    t.true('Age' in [c['name'] for c in a['columnDefinitions']], 'no Age')


@check
def an_elastic_quota_keeps_quantities_as_written(t):
    path = t.at('elasticquotas', 'scheduling.sigs.k8s.io', 'v1alpha1')
    got = t.make(path, {'apiVersion': 'scheduling.sigs.k8s.io/v1alpha1', 'kind': 'ElasticQuota', 'metadata': {'name': 'q'},
                        'spec': {'min': {'cpu': 4, 'memory': '1024Mi'}, 'max': {'cpu': '8000m'}}})
    t.has(got, 'spec', {'min': {'cpu': 4, 'memory': '1024Mi'}, 'max': {'cpu': '8000m'}})


@check
def a_reservation_of_a_wrong_shape_is_refused(t):
    a = t.post(ours(t, 'scheduling.koordinator.sh', 'reservations'), {
        'apiVersion': 'scheduling.koordinator.sh/v1alpha1', 'kind': 'Reservation', 'metadata': {'name': t.name('r')},
        'spec': {'template': {}, 'owners': 'everybody'}})
    t.invalid(a, ('FieldValueTypeInvalid', 'spec.owners'))


# ---- selectableFields ----

FIELDS = {'type': 'object', 'properties': {
    'color': {'type': 'string'}, 'on': {'type': 'boolean'}, 'n': {'type': 'integer'}, 'ratio': {'type': 'number'},
    'deep': {'type': 'object', 'properties': {'er': {'type': 'string'}}}, 'map': {'type': 'object', 'additionalProperties': {'type': 'string'}},
    'list': {'type': 'array', 'items': {'type': 'string'}}, **{f'f{i}': {'type': 'string'} for i in range(10)}}}
SELECTABLE = ['.spec.color', '.spec.on', '.spec.n', '.spec.deep.er']


def selectable(t, paths, **kw):
    body = crd(t, schema=FIELDS, **kw)
    body['spec']['versions'][0]['selectableFields'] = [{'jsonPath': p} for p in paths]
    return body


def install_selectable(t):
    body = selectable(t, SELECTABLE)
    t.make(CRDS, body)
    path = t.at('widgets', body['spec']['group'])
    t.until('the new resource is served', lambda: t.get(path).code == 200)
    for name, spec in (('a', {'color': 'red', 'on': True, 'n': 3, 'deep': {'er': 'x'}}), ('b', {'color': 'blue', 'on': False, 'n': 0}),
                       ('c', {}), ('d', {'color': 'red', 'n': -5})):
        t.make(path, widget(path, name, spec))
    return path


@check
def selectable_fields_in_lists(t):
    path = install_selectable(t)
    for selector, want in (('spec.color=red', 'ad'), ('spec.color==red', 'ad'), ('spec.color!=red', 'bc'), ('spec.color=', 'c'),
                           ('spec.on=true', 'a'), ('spec.on=false', 'b'), ('spec.on=', 'cd'), ('spec.n=3', 'a'), ('spec.n=0', 'b'),
                           ('spec.n=-5', 'd'), ('spec.deep.er=x', 'a'), ('spec.color=red,spec.n=3', 'a'),
                           ('spec.color=red,metadata.name=d', 'd'), ('metadata.name!=a,spec.color=red', 'd')):
        t.eq(''.join(sorted(names(t.read(path, fieldSelector=selector)))), want, selector)


@check
def selectable_fields_that_are_not(t):
    path = install_selectable(t)
    for field in ('spec.f1', '.spec.color', 'spec', 'status.phase', 'spec.deep'):
        t.status(t.get(path, fieldSelector=f'{field}=x'), 400, 'BadRequest', message=f'field label not supported: {field}')


@check
def selectable_fields_in_watches(t):
    path = install_selectable(t)
    w = t.watching(path, fieldSelector='spec.color=red', resourceVersion=t.read(path)['metadata']['resourceVersion'])
    t.code(t.patch(f'{path}/a', {'spec': {'color': 'green'}}, MERGE), 200)
    t.code(t.patch(f'{path}/b', {'spec': {'color': 'red'}}, MERGE), 200)
    t.code(t.patch(f'{path}/c', {'spec': {'n': 1}}, MERGE), 200)
    t.code(t.patch(f'{path}/d', {'spec': {'n': 1}}, MERGE), 200)
    t.code(t.delete(f'{path}/d'), 200)
    t.eq(w.take(4), ['DELETED a', 'ADDED b', 'MODIFIED d', 'DELETED d'], 'events')


@check
def selectable_fields_in_deletecollection(t):
    path = install_selectable(t)
    t.code(t.delete(path, fieldSelector='spec.color=red'), 200)
    t.until('they are gone', lambda: names(t.get(path)) == ['b', 'c'])


@check
def selectable_fields_of_definitions(t):
    at = 'spec.selectableFields'
    for paths, reason, field, part in (
            ([''], 'FieldValueRequired', f'{at}[0].jsonPath', ''),
            (['.spec.nothing'], 'FieldValueInvalid', f'{at}[0].jsonPath', 'is an invalid path: does not refer to a valid field'),
            (['spec.color'], 'FieldValueInvalid', f'{at}[0].jsonPath', 'is an invalid path: expected [ or . but got: spec'),
            (['.spec.'], 'FieldValueInvalid', f'{at}[0].jsonPath', 'is an invalid path: unexpected end of JSON path'),
            ([".spec['color']"], 'FieldValueInvalid', f'{at}[0].jsonPath', 'is an invalid path: array notation is not allowed'),
            (['.metadata.name'], 'FieldValueInvalid', f'{at}[0].jsonPath', ''),
            (['.spec'], 'FieldValueInvalid', f'{at}[0].jsonPath', 'must point to a field of type string, boolean or integer'),
            (['.spec.ratio'], 'FieldValueInvalid', f'{at}[0].jsonPath', 'must point to a field of type string, boolean or integer'),
            (['.spec.list'], 'FieldValueInvalid', f'{at}[0].jsonPath', 'must point to a field of type string, boolean or integer'),
            (['.spec.color', '.spec.color'], 'FieldValueDuplicate', f'{at}[1].jsonPath', ''),
            ([f'.spec.f{i}' for i in range(9)], 'FieldValueTooMany', at, 'must have at most 8 items')):
        t.invalid(t.post(CRDS, selectable(t, paths)), (reason, field, part))
    t.code(t.post(CRDS, selectable(t, [f'.spec.f{i}' for i in range(8)]), dryRun='All'), 201)
    t.code(t.post(CRDS, selectable(t, ['.spec.map.anything']), dryRun='All'), 201)


@check
def selectable_fields_by_version(t):
    body = selectable(t, ['.spec.color'])
    one = body['spec']['versions'][0]
    two = {**one, 'name': 'v2', 'storage': False, 'selectableFields': [{'jsonPath': '.spec.n'}]}
    body['spec']['versions'].append(two)
    t.invalid(t.post(CRDS, body), ('FieldValueInvalid', 'spec.versions[0].selectableFields', 'may only be set when'),
              ('FieldValueInvalid', 'spec.versions[1].selectableFields', 'may only be set when'))
    two['schema'] = {'openAPIV3Schema': {**one['schema']['openAPIV3Schema'], 'description': 'another'}}
    t.invalid(t.post(CRDS, {**body, 'spec': {**body['spec'], 'versions': [one, {**two, 'selectableFields': one['selectableFields']}]}}),
              ('FieldValueInvalid', 'spec.selectableFields', 'may only be set when'))
    t.make(CRDS, body)
    paths = {v: t.at('widgets', body['spec']['group'], v) for v in ('v1', 'v2')}
    t.until('both versions are served', lambda: all(t.get(p).code == 200 for p in paths.values()))
    t.make(paths['v1'], widget(paths['v1'], 'a', {'color': 'red', 'n': 1}))
    t.eq(names(t.read(paths['v1'], fieldSelector='spec.color=red')), ['a'], 'v1')
    t.eq(names(t.read(paths['v2'], fieldSelector='spec.n=1')), ['a'], 'v2')
    t.code(t.get(paths['v2'], fieldSelector='spec.color=red'), 400)
    t.code(t.get(paths['v1'], fieldSelector='spec.n=1'), 400)
    bad = selectable(t, ['.spec.nothing'])
    bad['spec']['versions'].append(two)
    t.invalid(t.post(CRDS, bad), ('FieldValueInvalid', 'spec.versions[0].selectableFields[0].jsonPath'))
