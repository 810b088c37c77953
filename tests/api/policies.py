"""policies.py - what may be written into matchConditions of webhooks, ValidatingAdmissionPolicies and their bindings.

A row is a check. What they do to requests is in verdicts.py and src/apiserver/test/test_conditions.c.
"""
from client import check
from malformed import NO_TEXTS, raw_with
from webhooks import KINDS, MAPS, rows

GROUP = '/apis/admissionregistration.k8s.io/v1'
POLICIES, BINDINGS = f'{GROUP}/validatingadmissionpolicies', f'{GROUP}/validatingadmissionpolicybindings'


def condition(*expressions):
    return [{'name': f'c{i}', 'expression': e} for i, e in enumerate(expressions)]


def written(name, expression='true', **more):
    return {'name': name, 'expression': expression, **more}


# name, conditions, part of the message; '' when they are accepted
WRITTEN_CONDITIONS = [
    ('good', [written('a', 'object.x == 1'), written('b.c/d')], ''),
    ('blank', [written('a', ' ')], 'matchConditions[0].expression: Required value'),
    ('no-name', [written('')], 'matchConditions[0].name: Required value'),
    ('bad-name', [written('a b')], 'matchConditions[0].name: Invalid value: "a b": name part must consist of'),
    ('name-twice', [written('a'), written('a')], 'matchConditions[1].name: Duplicate value: "a"'),
    ('int', [written('a', '1')], 'matchConditions[0].expression: Invalid value: "1": must evaluate to bool'),
    ('dyn', [written('a', 'object.x')], 'must evaluate to bool'),
    ('syntax', [written('a', 'true &&')], 'compilation failed: ERROR: <input>:1:8: Syntax error'),
    ('unknown-name', [written('a', 'self == 1')], "undeclared reference to 'self'"),
    ('params', [written('a', 'params == 1')], "undeclared reference to 'params'"),
    ('variables', [written('a', 'variables.x == 1')], "undeclared reference to 'variables'"),
    ('unknown-field', [written('a', 'request.x == 1')], "undefined field 'x'"),
    ('too-many', [written(f'c{i}') for i in range(65)], 'matchConditions: Too many: 65: must have at most 64 items'),
]


@rows(WRITTEN_CONDITIONS)
def conditions_written(t, _name, list_, part):
    for path in KINDS.values():
        a = t.post(path, {'metadata': {'name': t.name('c')}, 'webhooks': [{
            'name': 'a.example.com', 'clientConfig': {'url': 'https://127.0.0.1:1/'}, 'sideEffects': 'None',
            'admissionReviewVersions': ['v1'], 'matchConditions': list_}]}, dryRun='All')
        if part:
            t.invalid(a, part=part)
        else:
            t.code(a, 201)


# ---- policies ----

def validation(expression, **more):
    return [{'expression': expression, **more}]


def policy_spec(validations, constraints=None, **more):
    return {'matchConstraints': {'resourceRules': [MAPS], **(constraints or {})}, 'validations': validations, **more}


CONFIG = {'apiVersion': 'v1', 'kind': 'ConfigMap'}


def ref(**more):
    return {'paramRef': {'parameterNotFoundAction': 'Deny', **more}}


# name, what is different from a good policy, part of the message; '' when it is accepted
WRITTEN = [
    ('good', {}, ''),
    ('no-constraints', {'matchConstraints': None}, 'spec.matchConstraints: Required value'),
    ('no-rules', {'matchConstraints': {}}, 'spec.matchConstraints.resourceRules: Required value'),
    ('no-operations', {'matchConstraints': {'resourceRules': [{**MAPS, 'operations': []}]}},
     'spec.matchConstraints.resourceRules[0].operations: Required value'),
    ('star-and-more', {'matchConstraints': {'resourceRules': [{**MAPS, 'resources': ['*/*', 'pods']}]}},
     "if '*/*' is present, must not specify other resources"),
    ('failure-policy', {'failurePolicy': 'Never'}, 'spec.failurePolicy: Unsupported value: "Never": supported values: "Fail", "Ignore"'),
    ('nothing-to-check', {'validations': []},
     'spec.validations: Required value: validations or auditAnnotations must contain at least one item'),
    ('blank', {'validations': validation(' ')}, 'spec.validations[0].expression: Required value: expression is not specified'),
    ('int', {'validations': validation('1')}, 'spec.validations[0].expression: Invalid value: "1": must evaluate to bool'),
    ('params', {'validations': validation('params.x == 1')}, "undeclared reference to 'params'"),
    ('no-variables', {'validations': validation('variables.x == 1')}, "undeclared reference to 'variables'"),
    ('later-variable', {'variables': [{'name': 'a', 'expression': 'variables.b'}, {'name': 'b', 'expression': '1'}]},
     "spec.variables[0].expression: Invalid value: \"variables.b\": compilation failed: ERROR: <input>:1:10: undefined field 'b'"),
    ('variable-name', {'variables': [{'name': 'in', 'expression': '1'}]}, 'spec.variables[0].name: Invalid value: "in": must be a valid CEL identifier'),
    ('variable-type', {'variables': [{'name': 'a', 'expression': '1'}], 'validations': validation("variables.a == 'x'")},
     "found no matching overload for '_==_' applied to '(int, string)'"),
    ('message-type', {'validations': validation('true', messageExpression='1')},
     'spec.validations[0].messageExpression: Invalid value: "1": must evaluate to string'),
    ('message-authorizer', {'validations': validation('true', messageExpression="authorizer.path('/').check('get').reason()")},
     "undeclared reference to 'authorizer'"),
    ('message-lines', {'validations': validation('true', message='a\nb')}, 'spec.validations[0].message: Invalid value: "a\\nb": must not contain line breaks'),
    ('reason', {'validations': validation('true', reason='Gone')},
     'Unsupported value: "Gone": supported values: "Forbidden", "Invalid", "RequestEntityTooLarge"'),
    ('note-type', {'auditAnnotations': [{'key': 'k', 'valueExpression': '1'}]}, 'must evaluate to one of [string null_type]'),
    ('note-key', {'auditAnnotations': [{'key': 'a b', 'valueExpression': "'v'"}]}, 'spec.auditAnnotations[0].key: Invalid value'),
    ('param-kind', {'paramKind': {'apiVersion': 'a/b/c', 'kind': 'X'}}, 'unexpected GroupVersion string: a/b/c'),
    ('param-kind-empty', {'paramKind': {}}, 'spec.paramKind.apiVersion: Required value'),
    ('condition', {'matchConditions': condition('1')}, 'spec.matchConditions[0].expression: Invalid value: "1": must evaluate to bool'),
]


@rows(WRITTEN)
def policies_written(t, _name, change, part):
    spec = {k: v for k, v in {**policy_spec(validation('true')), **change}.items() if v is not None}
    a = t.post(POLICIES, {'metadata': {'name': t.name('p')}, 'spec': spec}, dryRun='All')
    if part:
        t.invalid(a, part=part)
    else:
        t.code(a, 201)
        t.has(a, 'spec.failurePolicy', 'Fail')
        t.has(a, 'spec.matchConstraints.matchPolicy', 'Equivalent')


@rows(NO_TEXTS)
def policies_with_bytes_that_are_no_text(t, _name, sent, read):
    """In a literal they are a text as any other; outside they are no expression."""
    good = {'variables': [{'name': 'v', 'expression': "'MARK'"}], 'matchConditions': condition("'MARK' != 'a'"),
            'validations': validation("'aMARKb' != variables.v", message='mMARK', messageExpression="'MARK'"),
            'auditAnnotations': [{'key': 'k', 'valueExpression': "'MARK'"}]}
    make = lambda spec: t.call('POST', POLICIES, raw=raw_with(  # noqa: E731
        {'metadata': {'name': t.name('p')}, 'spec': {**policy_spec(None), **spec}}, sent), dryRun='All')
    a = t.code(make(good), 201)
    t.has(a, 'spec.validations', validation(f"'a{read}b' != variables.v", message=f'm{read}', messageExpression=f"'{read}'"))
    t.has(a, 'spec.variables', [{'name': 'v', 'expression': f"'{read}'"}])
    t.has(a, 'spec.matchConditions.0.expression', f"'{read}' != 'a'")
    t.has(a, 'spec.auditAnnotations.0.valueExpression', f"'{read}'")
    for bad in {'validations': validation('true MARK')}, {'variables': [{'name': 'v', 'expression': 'MARK'}]}, \
            {'matchConditions': condition('MARKtrue')}, {'auditAnnotations': [{'key': 'k', 'valueExpression': "'a' + MARK'b'"}]}:
        t.invalid(make({**good, **bad}), part='Syntax error')
    t.invalid(make({**good, 'variables': [{'name': 'vMARK', 'expression': '1'}]}), part='must be a valid CEL identifier')
    t.invalid(make({**good, 'auditAnnotations': [{'key': 'kMARK', 'valueExpression': "'a'"}]}), part='spec.auditAnnotations[0].key: Invalid value')
    t.invalid(make({**good, 'matchConditions': [{'name': 'cMARK', 'expression': 'true'}]}), part='spec.matchConditions[0].name: Invalid value')


# name, what is different from a good binding, part of the message; '' when it is accepted
WRITTEN_BINDINGS = [
    ('good', {}, ''),
    ('no-policy', {'policyName': None}, 'spec.policyName: Required value'),
    ('no-actions', {'validationActions': None}, 'spec.validationActions: Required value: at least one validation action is required'),
    ('deny-and-warn', {'validationActions': ['Deny', 'Warn']}, 'must not contain both Deny and Warn'),
    ('unknown-action', {'validationActions': ['Shout']},
     'spec.validationActions[0]: Unsupported value: "Shout": supported values: "Audit", "Deny", "Warn"'),
    ('ref-to-nothing', {'paramRef': {'parameterNotFoundAction': 'Deny'}}, 'spec.paramRef: Required value: one of name or selector must be specified'),
    ('ref-twice', ref(name='x', selector={}), 'spec.paramRef.name: Forbidden: name and selector are mutually exclusive'),
    ('ref-without-action', {'paramRef': {'name': 'x'}}, 'spec.paramRef.parameterNotFoundAction: Required value'),
]


@rows(WRITTEN_BINDINGS)
def policies_written_binding(t, _name, change, part):
    spec = {k: v for k, v in {'policyName': 'p', 'validationActions': ['Deny'], **change}.items() if v is not None}
    a = t.post(BINDINGS, {'metadata': {'name': t.name('b')}, 'spec': spec}, dryRun='All')
    if part:
        t.invalid(a, part=part)
    else:
        t.code(a, 201)


@check
def policies_as_tables(t):
    table = 'application/json;as=Table;v=v1;g=meta.k8s.io'
    name = t.name('table')
    t.make(POLICIES, {'metadata': {'name': name}, 'spec': policy_spec(validation('true'), paramKind=CONFIG)})
    t.make(BINDINGS, {'metadata': {'name': name}, 'spec': {'policyName': 'other', 'validationActions': ['Deny'], **ref(name='x')}})
    for path, columns, cells in ((POLICIES, ['Name', 'Validations', 'ParamKind', 'Age'], [name, 1, 'v1/ConfigMap']),
                                 (BINDINGS, ['Name', 'PolicyName', 'ParamRef', 'Age'], [name, 'other', '*/x'])):
        a = t.get(f'{path}/{name}', accept=table)
        t.eq([c['name'] for c in a['columnDefinitions']], columns, 'columns')
        t.eq(a['rows'][0]['cells'][:3], cells, 'cells')


@check
def parts_of_policies_are_applied_as_a_whole(t):
    path, variables = f'{POLICIES}/{t.name()}', [{'name': 'p', 'expression': '1'}]
    rules = {'resourceRules': [{'apiGroups': [''], 'apiVersions': ['v1'], 'operations': ['CREATE'], 'resources': ['pods']}]}

    def apply(who, spec, **query):
        body = {'apiVersion': 'admissionregistration.k8s.io/v1', 'kind': 'ValidatingAdmissionPolicy',
                'metadata': {'name': path.rsplit('/', 1)[1]}, 'spec': spec}
        return t.call('PATCH', path, body, content='application/apply-patch+yaml', fieldManager=who, **query)
    t.server.leave(path)
    t.code(apply('a', {'matchConstraints': rules, 'validations': [{'expression': 'true'}], 'variables': variables,
                       'paramKind': {'apiVersion': 'v1', 'kind': 'ConfigMap'}}), 201)
    for spec, field in (({'matchConstraints': {**rules, 'matchPolicy': 'Exact'}}, '.spec.matchConstraints'),
                        ({'paramKind': {'apiVersion': 'v1', 'kind': 'Secret'}}, '.spec.paramKind'),
                        ({'variables': [{'name': 'p', 'expression': '2'}]}, '.spec.variables[name="p"]')):
        t.status(apply('b', spec), 409, 'Conflict', f'Apply failed with 1 conflict: conflict with "a": {field}')
    t.code(apply('b', {'matchConstraints': {**rules, 'matchPolicy': 'Exact'}}, force='true'), 200)
    a = t.code(apply('a', {'validations': [{'expression': 'true'}]}), 200)
    t.eq((a['spec.matchConstraints.matchPolicy'], 'variables' in a['spec']), ('Exact', False), 'what is left')
