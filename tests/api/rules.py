"""rules.py - x-kubernetes-validations: what definitions may say, what rules say about objects, what did not change."""
from client import check
from crds import CRDS, crd
from malformed import NO_TEXTS, raw_with
from webhooks import rows

WHERE = 'spec.validation.openAPIV3Schema.properties[spec]'
ADVICE = 'try simplifying the rule, or adding maxItems, maxProperties, and maxLength'


def rules(*entries, **schema):
    return {**schema, 'x-kubernetes-validations': [e if isinstance(e, dict) else {'rule': e} for e in entries]}


def spec(*entries, **properties):
    return rules(*entries, type='object', properties=properties or {'a': {'type': 'integer'}})


INT, TEXT = {'type': 'integer'}, {'type': 'string', 'maxLength': 50}


def many(items, **more):
    return {'type': 'array', 'items': items, **more}


# name -> (schema of spec, part of the message; '' when it is accepted)
DEFINITIONS = {
    'a_rule_that_compares': (spec('self.a > 0'), ''),
    'a_rule_of_another_type_than_bool': (spec('self.a + 1'), 'cel expression must evaluate to a bool'),
    'a_rule_on_an_unknown_field': (spec('self.b > 0'), "undefined field 'b'"),
    'a_rule_with_types_that_do_not_fit': (spec("self.a == 'x'"), "found no matching overload for '_==_' applied to '(int, string)'"),
    'a_rule_that_is_empty': (spec(''), 'x-kubernetes-validations[0].rule: Required value: rule is not specified'),
    'a_rule_that_is_blank': (spec('  \n'), 'rule is not specified'),
    'a_rule_that_is_no_expression': (spec('self.a >'), 'Syntax error'),
    'a_rule_with_an_unknown_name': (spec('foo > 0'), "undeclared reference to 'foo' (in container '')"),
    'a_rule_with_an_unknown_function': (spec('self.a.foo()'), "undeclared reference to 'foo'"),
    'a_rule_with_cel_bind': (spec('cel.bind(x, self.a, x > 0)'), "undeclared reference to 'cel'"),
    'a_rule_that_asks_the_authorizer': (spec("authorizer.path('/').check('get').allowed()"), "undeclared reference to 'authorizer'"),
    'a_rule_nested_too_deeply': (spec('(' * 300 + 'true' + ')' * 300), 'expression recursion limit exceeded: 250'),
    'a_rule_that_is_too_long': (spec('true ' + ' ' * 100000), 'expression code point size exceeds limit'),
    'a_bad_duration': (spec("duration('x') > duration('1s')"), 'invalid duration argument'),
    'a_bad_timestamp': (spec("timestamp('x') > timestamp('2020-01-01T00:00:00Z')"), 'invalid timestamp argument'),
    'a_bad_pattern': (spec("self.a > 0 && 'a'.matches('(')"), 'invalid matches argument'),
    'a_message_of_two_lines': (spec({'rule': 'self.a > 0', 'message': 'a\nb'}), 'must not contain line breaks'),
    'a_message_that_is_blank': (spec({'rule': 'self.a > 0', 'message': ' '}), 'must be non-empty if specified'),
    'a_rule_of_two_lines_without_a_message': (spec('self.a > 0\n && true'), 'message must be specified if rule contains line breaks'),
    'a_rule_of_two_lines_with_a_message': (spec({'rule': 'self.a > 0\n && true', 'message': 'm'}), ''),
    'a_message_expression': (spec({'rule': 'self.a > 0', 'messageExpression': "'a is %d'.format([self.a])"}), ''),
    'a_message_expression_of_another_type': (spec({'rule': 'self.a > 0', 'messageExpression': 'self.a'}),
                                             'messageExpression must evaluate to a string'),
    'a_message_expression_that_does_not_compile': (spec({'rule': 'self.a > 0', 'messageExpression': 'self.b'}),
                                                   'messageExpression compilation failed'),
    'a_message_expression_with_string_of_int': (spec({'rule': 'self.a > 0', 'messageExpression': "'a ' + string(self.a)"}),
                                                'estimated messageExpression cost exceeds budget by factor of more than 100x'),
    'a_reason_that_is_known': (spec({'rule': 'self.a > 0', 'reason': 'FieldValueForbidden'}), ''),
    'a_reason_that_is_unknown': (spec({'rule': 'self.a > 0', 'reason': 'Nope'}), 'Unsupported value: "Nope"'),
    'a_field_path': (spec({'rule': 'self.a > 0', 'fieldPath': '.a'}), ''),
    'a_field_path_without_a_dot': (spec({'rule': 'self.a > 0', 'fieldPath': 'a'}), 'must be a valid path'),
    'a_field_path_to_nothing': (spec({'rule': 'self.a > 0', 'fieldPath': '.b'}), 'must be a valid path'),
    'optional_old_self': (spec({'rule': 'oldSelf.hasValue() || self.a > 0', 'optionalOldSelf': True}), ''),
    'optional_old_self_that_is_not_used': (spec({'rule': 'self.a > 0', 'optionalOldSelf': True}),
                                           'may not be set if oldSelf is not used in rule'),
    'old_self_on_the_spec': (spec('self.a >= oldSelf.a'), ''),
    'old_self_below_an_atomic_list': (spec(l=many(rules('self >= oldSelf', **INT), maxItems=3)),
                                      f'within {WHERE}.properties[l]'),
    'old_self_below_a_list_map': (spec(l=many(rules('self.v >= oldSelf.v', type='object', required=['k'],
                                                    properties={'k': TEXT, 'v': INT}), maxItems=3,
                                              **{'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['k']})), ''),
    'old_self_below_a_map': (spec(m={'type': 'object', 'maxProperties': 3,
                                     'additionalProperties': rules('self >= oldSelf', **INT)}), ''),
    'a_rule_without_a_type': (spec(x=rules('true', **{'x-kubernetes-preserve-unknown-fields': True})),
                              'failed to construct type information'),
    'a_rule_in_any_of': (spec(n={**INT, 'anyOf': [rules('self > 0')]}), 'must be empty to be structural'),
    'a_rule_in_all_of': (spec(n={**INT, 'allOf': [rules('self > 0')]}), 'must be empty to be structural'),
    'a_default_that_breaks_a_rule': (spec(n={**rules('self < 10', **INT), 'default': 30}), 'failed rule: self < 10'),
    'a_default_that_keeps_a_rule': (spec(n={**rules('self < 10', **INT), 'default': 3}), ''),
    'a_rule_on_a_list_without_limit': (spec(l=rules('self.all(x, self.all(y, x != y || x == 1))', **many(INT))), ADVICE),
    'a_rule_on_a_list_with_a_limit': (spec(l=rules('self.all(x, self.all(y, x != y || x == 1))', **many(INT, maxItems=20))), ''),
    'a_rule_below_lists_without_limits': (spec(l=many(many(rules("self.matches('^(a|b)*c$')", type='string')))),
                                          'estimated rule cost total for entire OpenAPIv3 schema exceeds budget'),
    'a_rule_on_text_without_limit': (spec(s=rules("self.contains('ab')", type='string')), ''),
}


def definition(name, schema, part):
    def run(t):
        a = t.post(CRDS, crd(t, schema=schema), dryRun='All')
        if part:
            t.invalid(a, part=part)
        else:
            t.code(a, 201)
    run.__name__ = f'rules_definition_{name}'
    run.__module__ = __name__
    check(run)


for _name, (_schema, _part) in DEFINITIONS.items():
    definition(_name, _schema, _part)


@rows(NO_TEXTS)
def rules_with_bytes_that_are_no_text(t, _name, sent, read):
    """In a literal they are a text as any other; outside they are no expression."""
    schema = spec({'rule': "self.s != 'aMARKb'", 'message': 'mMARK', 'messageExpression': "'MARK'"}, s=TEXT)
    entry = 'spec.versions.0.schema.openAPIV3Schema.properties.spec.x-kubernetes-validations.0'
    a = t.code(t.call('POST', CRDS, raw=raw_with(crd(t, schema=schema), sent), dryRun='All'), 201)
    t.has(a, f'{entry}.rule', f"self.s != 'a{read}b'")
    t.has(a, f'{entry}.message', f'm{read}')
    t.has(a, f'{entry}.messageExpression', f"'{read}'")
    for rule in 'self.s MARK', 'MARKself.s == "a"', 'self.MARKs == "a"':
        a = t.call('POST', CRDS, raw=raw_with(crd(t, schema=spec(rule, s=TEXT)), sent), dryRun='All')
        t.invalid(a, part='Syntax error')


# One definition for all objects: each property has its own rule.
OBJECTS = spec(
    {'rule': '!has(self.min) || !has(self.max) || self.min <= self.max', 'fieldPath': '.min',
     'messageExpression': "'min %d is above max %d'.format([self.min, self.max])"},
    {'rule': "!has(self.kind) || (self.kind == 'A') == has(self.a)", 'message': 'a goes with kind A',
     'reason': 'FieldValueForbidden'},
    {'rule': '!has(self.need) || has(self.max)', 'reason': 'FieldValueRequired', 'fieldPath': '.max'},
    {'rule': '!has(self.m) || self.m.all(k, v, v > 0)', 'message': 'positive values'},
    min=INT, max=INT, kind={'type': 'string', 'enum': ['A', 'B']}, a={'type': 'object', 'properties': {'x': INT}},
    need=INT, m={'type': 'object', 'maxProperties': 5, 'additionalProperties': INT},
    even=rules('self % 2 == 0', **INT), name=rules({'rule': "self.startsWith('x-')", 'message': 'must start with x-'}, **TEXT),
    ratio=rules('self < 1.5', type='number'), on=rules({'rule': 'self', 'message': 'must be on'}, type='boolean'),
    port=rules("type(self) == int ? self > 0 : self.endsWith('%')", **{'x-kubernetes-int-or-string': True}),
    when=rules("self > timestamp('2020-01-01T00:00:00Z')", type='string', format='date-time'),
    wait=rules("self < duration('1h')", type='string', format='duration'),
    ip=rules('isIP(self) && ip(self).family() == 4', **TEXT), cidr=rules('cidr(self).prefixLength() >= 8', **TEXT),
    size=rules("quantity(self).isGreaterThan(quantity('1Gi'))", **TEXT), url=rules("url(self).getScheme() == 'https'", **TEXT),
    version=rules("semver(self).isLessThan(semver('2.0.0'))", **TEXT),
    label=rules('!format.dns1123Label().validate(self).hasValue()', **TEXT),
    stamp=rules('int(google.protobuf.Timestamp{seconds: dyn(self)}) > 0', **TEXT),
    tags=rules('self.all(x, self.exists_one(y, x == y))', **many(TEXT, maxItems=5)),
    parts=many(rules('self.n > 0', type='object', properties={'n': INT}), maxItems=5),
    zero=rules('10 / self > 1', **INT), index=rules('self[2] > 0', **many(INT, maxItems=5)),
    **{'a-b': rules('self != 3', **INT)}, fixed=rules({'rule': 'self == oldSelf', 'message': 'is immutable'}, **TEXT),
)

# name -> (spec, part of the message; '' when it is accepted)
JUDGED = {
    'min_below_max': ({'min': 1, 'max': 2}, ''),
    'min_above_max': ({'min': 3, 'max': 2}, 'spec.min: Invalid value: min 3 is above max 2'),
    'kind_with_its_part': ({'kind': 'A', 'a': {}}, ''),
    'kind_without_its_part': ({'kind': 'A'}, 'spec: Forbidden: a goes with kind A'),
    'a_kind_that_the_enum_refuses': ({'kind': 'C', 'min': 3, 'max': 2}, 'some validation rules were not checked'),
    'something_required': ({'need': 1}, 'spec.max: Required value'),
    'values_of_a_map': ({'m': {'a': 1, 'b': 2}}, ''),
    'values_of_a_map_that_break_it': ({'m': {'a': 1, 'b': 0}}, 'spec: Invalid value: positive values'),
    'even': ({'even': 4}, ''), 'odd': ({'even': 3}, 'spec.even: Invalid value: 3: failed rule: self % 2 == 0'),
    'a_name': ({'name': 'x-1'}, ''), 'another_name': ({'name': 'y'}, 'spec.name: Invalid value: "y": must start with x-'),
    'a_ratio': ({'ratio': 1.25}, ''), 'a_large_ratio': ({'ratio': 2}, 'spec.ratio: Invalid value: 2'),
    'on': ({'on': True}, ''), 'off': ({'on': False}, 'spec.on: Invalid value: false: must be on'),
    'a_port_number': ({'port': 80}, ''), 'a_port_percent': ({'port': '5%'}, ''),
    'a_port_of_zero': ({'port': 0}, 'spec.port: Invalid value: 0: failed rule'),
    'a_port_word': ({'port': 'x'}, 'spec.port: Invalid value: "x": failed rule'),
    'a_late_time': ({'when': '2024-01-01T00:00:00Z'}, ''), 'an_early_time': ({'when': '2019-01-01T00:00:00Z'}, 'spec.when: Invalid value'),
    'a_wait_in_words': ({'wait': '30 minutes'}, ''), 'a_wait_of_a_day': ({'wait': '1d'}, 'spec.wait: Invalid value: "1d": failed rule'),
    'no_wait': ({'wait': '1x'}, 'spec.wait: Invalid value: "1x": spec.wait in body must be of type duration'),
    'a_time_in_small_letters': ({'when': '2024-01-01t00:00:00z'}, 'Invalid date-time formatted string 2024-01-01t00:00:00z'),
    'a_short_wait': ({'wait': '30m'}, ''), 'a_long_wait': ({'wait': '2h'}, 'spec.wait: Invalid value: "2h": failed rule'),
    'an_ipv4': ({'ip': '10.0.0.1'}, ''), 'an_ipv6': ({'ip': '::1'}, 'spec.ip: Invalid value: "::1": failed rule'),
    'a_small_network': ({'cidr': '10.0.0.0/16'}, ''), 'a_huge_network': ({'cidr': '0.0.0.0/0'}, 'failed rule: cidr(self)'),
    'no_network': ({'cidr': 'x'}, 'evaluating rule: cidr(self).prefixLength() >= 8'),
    'a_large_size': ({'size': '2Gi'}, ''), 'a_small_size': ({'size': '500Mi'}, 'spec.size: Invalid value: "500Mi": failed rule'),
    'https': ({'url': 'https://a/'}, ''), 'http': ({'url': 'http://a/'}, 'spec.url: Invalid value'),
    'an_old_version': ({'version': '1.9.9'}, ''), 'a_new_version': ({'version': '2.0.1'}, 'spec.version: Invalid value: "2.0.1"'),
    'a_message_of_a_text': ({'stamp': 'abc'}, 'spec.stamp: Invalid value: "string": field type conversion error for google.protobuf.Timestamp.seconds '
                            "value type: unsupported native conversion from string to 'int64' evaluating rule"),
    'a_label': ({'label': 'abc'}, ''), 'no_label': ({'label': 'A_b'}, 'spec.label: Invalid value: "A_b": failed rule'),
    'tags': ({'tags': ['a', 'b']}, ''), 'tags_twice': ({'tags': ['a', 'a']}, 'spec.tags: Invalid value: failed rule'),
    'parts': ({'parts': [{'n': 1}]}, ''), 'a_part_that_breaks_it': ({'parts': [{'n': 1}, {'n': 0}]}, 'spec.parts[1]: Invalid value'),
    'a_part_without_the_field': ({'parts': [{}]}, 'spec.parts[0]: Invalid value: "object": no such key: n evaluating rule: self.n > 0'),
    'division_by_zero': ({'zero': 0}, 'spec.zero: Invalid value: "integer": division by zero evaluating rule: 10 / self > 1'),
    'an_index_out_of_bounds': ({'index': [1]}, 'spec.index: Invalid value: "array": index out of bounds: 2 evaluating rule'),
    'an_escaped_name': ({'a-b': 3}, 'spec.a-b: Invalid value: 3: failed rule: self != 3'),
    'a_transition_rule_on_create': ({'fixed': 'x'}, ''),
}


def shared(t):
    def first():
        body = crd(t, schema=OBJECTS, group=f'rules-{t.server.run_id}.example.com', subresources={'status': {}})
        t.code(t.post(CRDS, body), 201)
        t.server.leave(t.made.pop())
        t.until('the new resource is served', lambda: t.get(f'/apis/{body["spec"]["group"]}/v1/widgets').code == 200)
        return body['spec']['group']
    return t.at('widgets', t.server.once('rules', first))


def widget(path, name, spec_):
    return {'apiVersion': f'{path.split("/")[2]}/v1', 'kind': 'Widget', 'metadata': {'name': name}, 'spec': spec_}


def judged(name, spec_, part):
    def run(t):
        path = shared(t)
        a = t.post(path, widget(path, 'a', spec_), dryRun='All')
        if part:
            t.invalid(a, part=part)
        else:
            t.code(a, 201)
    run.__name__ = f'rules_object_{name}'
    run.__module__ = __name__
    check(run)


for _name, (_spec, _part) in JUDGED.items():
    judged(_name, _spec, _part)


@check
def rules_see_the_old_value(t):
    path = shared(t)
    t.make(path, widget(path, 'a', {'fixed': 'x'}))
    t.invalid(t.patch(f'{path}/a', {'spec': {'fixed': 'y'}}), part='spec.fixed: Invalid value: "y": is immutable')
    t.code(t.patch(f'{path}/a', {'spec': {'fixed': 'x', 'even': 2}}), 200)


@check
def rules_without_an_old_value_are_skipped(t):
    path = shared(t)
    t.make(path, widget(path, 'a', {'even': 2}))
    t.code(t.patch(f'{path}/a', {'spec': {'fixed': 'y'}}), 200)


@check
def rules_judge_updates(t):
    path = shared(t)
    t.make(path, widget(path, 'a', {'even': 2}))
    t.invalid(t.patch(f'{path}/a', {'spec': {'even': 3}}), part='failed rule: self % 2 == 0')


@check
def rules_judge_server_side_apply(t):
    path = shared(t)
    body = widget(path, 'a', {'even': 3})
    t.invalid(t.call('PATCH', f'{path}/a', body, 'application/apply-patch+yaml', fieldManager='x'),
              part='failed rule: self % 2 == 0')


@check
def rules_that_came_later_warn_about_what_was_there(t):
    body = crd(t, schema=spec(n=INT, o=INT))
    made = t.make(CRDS, body)
    path = t.at('widgets', body['spec']['group'])
    t.until('the new resource is served', lambda: t.get(path).code == 200)
    t.make(path, widget(path, 'a', {'n': 30}))
    body['spec']['versions'][0]['schema']['openAPIV3Schema']['properties']['spec'] = spec(n=rules('self < 10', **INT), o=INT)
    t.code(t.patch(f'{CRDS}/{body["metadata"]["name"]}', {'spec': {'versions': body['spec']['versions']}}), 200)
    t.until('the new rule is in force', lambda: t.post(path, widget(path, 'b', {'n': 30}), dryRun='All').code == 422)
    a = t.code(t.patch(f'{path}/a', {'spec': {'o': 1}}), 200)
    t.eq(a.headers.get_all('Warning'), ['299 - "spec.n: Invalid value: 30: failed rule: self < 10"'], 'Warning headers')
    t.invalid(t.patch(f'{path}/a', {'spec': {'n': 31}}), part='failed rule: self < 10')
    a = t.code(t.patch(f'{path}/a', {'spec': {'n': 3}}), 200)
    t.eq(a.headers.get_all('Warning'), None, 'Warning headers')
    t.true(made is not None, 'the definition was made')


def served(t, schema):
    """A definition of the check's own: its body, and where its objects are."""
    body = crd(t, schema=schema)
    t.make(CRDS, body)
    path = t.at('widgets', body['spec']['group'])
    t.until('the new resource is served', lambda: t.get(path).code == 200)
    return body, path


def tightened(t, before, after, sound, spec_):
    """An object that was made before its schema got stricter; the path of it. sound: part of a spec that the new schema refuses."""
    body, path = served(t, before)
    t.make(path, widget(path, 'a', spec_))
    body['spec']['versions'][0]['schema']['openAPIV3Schema']['properties']['spec'] = after
    t.code(t.patch(f'{CRDS}/{body["metadata"]["name"]}', {'spec': {'versions': body['spec']['versions']}}), 200)
    t.until('the new schema is in force', lambda: t.post(path, widget(path, 'b', sound), dryRun='All').code == 422)
    return f'{path}/a'


@check
def rules_have_no_old_value_beside_a_null(t):
    null = {**TEXT, 'nullable': True}
    _, path = served(t, spec(
        same=rules({'rule': 'self == oldSelf', 'message': 'is immutable'}, **null), o=INT,
        had=rules({'rule': 'oldSelf.hasValue() || self == "first"', 'optionalOldSelf': True}, **null)))
    t.make(path, widget(path, 'a', {'same': None, 'had': None, 'o': 1}))
    t.eq(t.get(f'{path}/a')['spec'], {'same': None, 'had': None, 'o': 1}, 'spec')

    def put(**values):
        return t.patch(f'{path}/a', [{'op': 'add', 'path': f'/spec/{k}', 'value': v} for k, v in values.items()], 'application/json-patch+json')
    t.invalid(put(had='x'), part='failed rule: oldSelf.hasValue()')
    t.code(put(same='x', had='first'), 200)
    t.invalid(put(same='y'), part='spec.same: Invalid value: "y": is immutable')
    t.code(put(had='x'), 200)
    t.code(put(same=None), 200)
    t.code(put(same='y'), 200)


# ---- what messageExpressions say ----

# name -> (messageExpression, message of the error)
SAID = {
    'a_blank_before_and_a_line_break_after': (r"' hello\n'", 'hello'),
    'blanks_after': ("' hello  '", 'hello'),
    'blanks_that_are_not_ascii': (r"'\u00a0\u2003hello \u3000\u0085'", 'hello'),
    'a_carriage_return_inside': (r"'hel\rlo'", 'hel\rlo'),
    'a_line_break_inside': (r"'hel\nlo'", 'the message'),
    'nothing': ("''", 'the message'),
    'nothing_but_blanks': (r"' \t\u2028'", 'the message'),
    'what_cannot_be_computed': ("'%d'.format([1 / (self - 3)])", 'the message'),
    'five_kilobytes_and_blanks': (f"'  {'y' * 5120}\t'", 'y' * 5120),
    'more_than_five_kilobytes': (f"'{'y' * 5121}'", 'the message'),
}


def says(name, expression, message):
    def run(t):
        def first():
            body = crd(t, group=f'said-{t.server.run_id}.example.com', schema={
                'type': 'object', 'properties': {k: rules({'rule': 'self != 3', 'message': 'the message', 'messageExpression': e}, **INT)
                                                 for k, (e, _) in SAID.items()}})
            t.code(t.post(CRDS, body), 201)
            t.server.leave(t.made.pop())
            t.until('the new resource is served', lambda: t.get(f'/apis/{body["spec"]["group"]}/v1/widgets').code == 200)
            return body['spec']['group']
        path = t.at('widgets', t.server.once('said', first))
        a = t.invalid(t.post(path, widget(path, 'a', {name: 3}), dryRun='All'))
        t.eq([c['message'] for c in a['details.causes']], [f'Invalid value: 3: {message}'], 'causes')
    run.__name__ = f'rules_say_{name}'
    run.__module__ = __name__
    check(run)


for _name, (_expression, _message) in SAID.items():
    says(_name, _expression, _message)


def pairs(n, words='costly'):
    """An expression of n * n steps or more; l has n numbers."""
    return f"self.l.map(x, self.l.filter(y, y < x).size()).size() > {n} ? 'no' : '{words}'"


def of_numbers(count, n, **more):
    """Rules that do not hold for a list l of n numbers, with messageExpressions."""
    return spec(*({'rule': f'self.l.size() < {i}', 'message': f'm{i}', 'messageExpression': pairs(n), **more} for i in range(count)),
                l=many(INT, maxItems=600))


def answers(t, schema, n):
    _, path = served(t, schema)
    return t.invalid(t.post(path, widget(path, 'a', {'l': list(range(n))}), dryRun='All'))['details.causes']


@check
def rules_end_at_a_message_that_costs_too_much(t):
    """More than one call may: that is told, in place of the message, and no other rule is looked at."""
    causes = answers(t, of_numbers(3, 600, fieldPath='.l', reason='FieldValueForbidden'), 600)
    t.eq(causes, [{'reason': 'FieldValueInvalid', 'field': 'spec.l',
                   'message': 'Invalid value: "object": no further validation rules will be run due to call cost exceeds limit for '
                              f'messageExpression: "{pairs(600)}"'}], 'causes')


@check
def rules_end_at_a_message_that_uses_up_the_budget(t):
    causes = answers(t, of_numbers(15, 600, fieldPath='.l'), 300)
    t.eq({c['field'] for c in causes}, {'spec.l'}, 'fields')
    t.eq([c['message'] for c in causes[:-1]], ['Invalid value: costly'] * (len(causes) - 1), 'what is told before')
    t.true(10 < len(causes) < 15, f'{len(causes)} causes')
    t.eq(causes[-1]['message'], 'Invalid value: "object": messageExpression evaluation failed due to running out of cost budget, no further '
                                'validation rules will be run', 'the last')


# ---- what did not change ----

KEYED = {'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['k']}


def keyed(*entries, **more):
    return rules(*entries, **many({'type': 'object', 'required': ['k'], 'properties': {'k': TEXT, 'v': INT}}, maxItems=9, **KEYED), **more)


@check
def rules_warn_about_a_keyed_list_in_another_order(t):
    items = [{'k': 'a', 'v': 30}, {'k': 'b', 'v': 2}]
    rule = 'self.all(x, x.v < 10)'
    at = tightened(t, spec(l=keyed(), n=INT), spec(l=keyed(rule), n=INT), {'l': items}, {'l': items})
    a = t.code(t.patch(at, {'spec': {'l': items[::-1]}}), 200)
    t.eq(a.headers.get_all('Warning'), [f'299 - "spec.l: Invalid value: failed rule: {rule}"'], 'Warning headers')
    t.eq(t.get(at)['spec.l'], items[::-1], 'list')
    t.invalid(t.patch(at, {'spec': {'l': [items[0]]}}), part=f'spec.l: Invalid value: failed rule: {rule}')
    t.invalid(t.patch(at, {'spec': {'l': [items[0], {'k': 'b', 'v': 3}]}}), part='failed rule')
    t.invalid(t.patch(at, {'spec': {'l': [items[0], {'k': 'c', 'v': 2}]}}), part='failed rule')


@check
def rules_refuse_fields_that_the_schema_does_not_know(t):
    """What it does not know may have changed."""
    open_ = {'type': 'object', 'properties': {'a': INT}, 'x-kubernetes-preserve-unknown-fields': True}
    strict, rule = rules('self.a < 10', **open_), 'failed rule: self.a < 10'
    at = tightened(t, spec(p=open_, q=open_, n=INT), spec(p=strict, q=open_, n=INT), {'p': {'a': 30}}, {'p': {'a': 30}, 'q': {'a': 30, 'z': 1}})
    a = t.code(t.patch(at, {'spec': {'n': 1}}), 200)
    t.eq(a.headers.get_all('Warning'), [f'299 - "spec.p: Invalid value: {rule}"'], 'Warning headers')
    at = tightened(t, spec(p=open_, n=INT), spec(p=strict, n=INT), {'p': {'a': 30}}, {'p': {'a': 30, 'z': 1}})
    t.invalid(t.patch(at, {'spec': {'n': 1}}), part=f'spec.p: Invalid value: {rule}')


@check
def schemas_ratchet_as_rules_do(t):
    """By their keys, whatever the order; not where something is unknown."""
    items = [{'k': 'a'}, {'k': 'b'}]
    at = tightened(t, spec(l=keyed(), n=INT), spec(l={**keyed(), 'maxItems': 1}, n=INT), {'l': items}, {'l': items})
    t.code(t.patch(at, {'spec': {'n': 1}}), 200)
    t.code(t.patch(at, {'spec': {'l': items[::-1]}}), 200)
    a = t.invalid(t.patch(at, {'spec': {'l': [items[0], {'k': 'c'}]}}), part='spec.l: Too many: 2: ')
    t.true(a['message'].endswith('must have at most 1 item'), a['message'])
    open_ = {'type': 'object', 'properties': {'a': INT}, 'x-kubernetes-preserve-unknown-fields': True}
    for sent, code in (({'a': 1}, 200), ({'a': 1, 'z': 1}, 422)):
        at = tightened(t, spec(p=open_, n=INT), spec(p={**open_, 'minProperties': 3}, n=INT), {'p': sent}, {'p': sent})
        t.code(t.patch(at, {'spec': {'n': 1}}), code)


@check
def schemas_ratchet_no_whole_object(t):
    body, path = served(t, spec(n=INT))
    t.make(path, {'apiVersion': f'{path.split("/")[2]}/v1', 'kind': 'Widget', 'metadata': {'name': 'a'}})
    body['spec']['versions'][0]['schema']['openAPIV3Schema']['required'] = ['spec']
    t.code(t.patch(f'{CRDS}/{body["metadata"]["name"]}', {'spec': {'versions': body['spec']['versions']}}), 200)
    t.until('the new schema is in force', lambda: t.post(path, {'apiVersion': f'{path.split("/")[2]}/v1', 'kind': 'Widget', 'metadata': {
        'name': 'b'}}, dryRun='All').code == 422)
    a = t.read(f'{path}/a')
    t.invalid(t.put(f'{path}/a', a), part='spec: Required value')
    t.invalid(t.patch(f'{path}/a', {}), part='spec: Required value')
