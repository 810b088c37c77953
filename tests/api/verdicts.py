"""verdicts.py - what ValidatingAdmissionPolicies do to requests: rows of a policy, its binding, a request and the answer.

Each check works on ConfigMaps of its own namespace. A second policy that refuses one name tells when the server knows them all.
"""
from client import check
from policies import BINDINGS, CONFIG, POLICIES, condition, ref, validation
from webhooks import MAPS, REVIEWS, asked_by, review, rows

DENIED = "ValidatingAdmissionPolicy '{p}' with binding '{b}' denied request: "
RAN_OUT = 'lists.range(1000).all(i, lists.range(2000).all(j, j >= 0))'
MAY = "authorizer.path('/healthz').check('get').allowed()"
COSTLY = f'{MAY} && {MAY}'  # 700,006 of 10,000,000, and quick
SPENT = 'validation failed due to running out of cost budget, no further validation rules will be run'
LONG = "lists.range(180).all(i, lists.range(180).all(j, i + j >= 0)) ? 'a' : 'b'"  # more than fourteen of them leave
SCALERS = {'operations': ['*'], 'apiGroups': ['autoscaling'], 'apiVersions': ['v1'], 'resources': ['horizontalpodautoscalers']}
VARIABLES = [{'name': 'a', 'expression': "object.data['k']"}, {'name': 'b', 'expression': "variables.a + '!'"},
             {'name': 'bad', 'expression': '1 / 0'}]


def here(t, constraints=None):
    return {'resourceRules': [MAPS], 'namespaceSelector': {'matchLabels': {'kubernetes.io/metadata.name': t.ns}},
            **(constraints or {})}


def deploy(t, spec, binding=None):
    """A policy of the check's namespace and its binding; their names."""
    p, b = t.name('p'), t.name('b')
    constraints = here(t, spec.get('matchConstraints'))
    t.make(POLICIES, {'metadata': {'name': p}, 'spec': {**spec, 'matchConstraints': constraints}})
    spec = {'policyName': p, 'validationActions': ['Deny'], **(binding or {})}
    if 'paramRef' in spec and 'namespace' in spec['paramRef']:
        spec['paramRef']['namespace'] = t.ns
    t.make(BINDINGS, {'metadata': {'name': b}, 'spec': spec})
    return p, b


def known(t):
    """Policies that were made before are in force."""
    deploy(t, {'validations': validation("object == null || object.metadata.name != 'probe'")})
    t.until('policies are in force', lambda: t.post(t.maps(), {'metadata': {'name': 'probe'}}, dryRun='All').code != 201)


def config(name='x', labels=None, **data):
    return {'metadata': {'name': name, **({'labels': labels} if labels else {})}, 'data': data or {'k': 'v'}}


# name, policy, (code, reason, message), what else: binding, made (ConfigMaps that are there), body
ROWS = [
    ('true', {'validations': validation('true')}, None, {}),
    ('false', {'validations': validation('false')}, (422, 'Invalid', 'failed expression: false'), {}),
    ('message', {'validations': validation('false', message='no')}, (422, 'Invalid', 'no'), {}),
    ('expression-of-the-message', {'validations': validation('false', message='no', messageExpression="'not ' + object.data.k")},
     (422, 'Invalid', 'not v'), {}),
    ('expression-of-the-message-fails', {'validations': validation('false', message='no', messageExpression="string(object.data.gone)")},
     (422, 'Invalid', 'no'), {}),
    ('expression-of-the-message-is-blank', {'validations': validation('false', message='no', messageExpression="' '")},
     (422, 'Invalid', 'no'), {}),
    ('expression-of-the-message-has-lines', {'validations': validation('false', message='no', messageExpression="'a\\nb'")},
     (422, 'Invalid', 'no'), {}),
    ('expression-of-the-message-alone-fails', {'validations': validation('false', messageExpression="string(object.data.gone)")},
     (422, 'Invalid', 'failed expression: false'), {}),
    ('forbidden', {'validations': validation('false', reason='Forbidden')}, (403, 'Forbidden', 'failed expression: false'), {}),
    ('too-large', {'validations': validation('false', reason='RequestEntityTooLarge')},
     (413, 'RequestEntityTooLarge', 'failed expression: false'), {}),
    ('the-first-denial', {'validations': validation('true') + validation('false', message='one') + validation('false', message='two')},
     (422, 'Invalid', 'one'), {}),
    ('error', {'validations': validation('object.data.gone == 1')},
     (422, 'Invalid', "expression 'object.data.gone == 1' resulted in error: no such key: gone"), {}),
    ('error-ignored', {'validations': validation('object.data.gone == 1'), 'failurePolicy': 'Ignore'}, None, {}),
    ('error-or-true', {'validations': validation('object.data.gone == 1 || true')}, None, {}),
    ('cost', {'validations': validation(RAN_OUT)},
     (422, 'Invalid', f"expression '{RAN_OUT}' resulted in error: operation cancelled: actual cost limit exceeded"), {}),
    ('cost-ignored', {'validations': validation(RAN_OUT), 'failurePolicy': 'Ignore'}, None, {}),
    ('budget-is-enough', {'validations': validation(COSTLY) * 14 + validation('false', message='no')}, (422, 'Invalid', 'no'), {}),
    ('budget', {'validations': validation(COSTLY) * 15 + validation('false', message='no')}, (422, 'Invalid', SPENT), {}),
    ('budget-ignored', {'validations': validation(COSTLY) * 15 + validation('false'), 'failurePolicy': 'Ignore'}, None, {}),
    ('budget-of-messages', {'validations': validation(COSTLY) * 14 + validation('false', message='no', messageExpression=LONG)},
     (422, 'Invalid', f'failed messageExpression: {SPENT}'), {}),
    ('condition-holds', {'validations': validation('false'), 'matchConditions': condition('true', "request.operation == 'CREATE'")},
     (422, 'Invalid', 'failed expression: false'), {}),
    ('condition-does-not-hold', {'validations': validation('false'), 'matchConditions': condition('true', 'false')}, None, {}),
    ('condition-fails', {'validations': validation('true'), 'matchConditions': condition('object.data.gone == 1')},
     (422, 'Invalid', 'no such key: gone'), {}),
    ('condition-fails-ignored', {'validations': validation('false'), 'matchConditions': condition('object.data.gone == 1'),
                                 'failurePolicy': 'Ignore'}, None, {}),
    ('condition-fails-beside-false', {'validations': validation('false'), 'matchConditions': condition('object.data.gone == 1', 'false')},
     None, {}),
    ('variables', {'variables': VARIABLES, 'validations': validation("variables.b == 'w!'", messageExpression='variables.b')},
     (422, 'Invalid', 'v!'), {}),
    ('variable-that-fails', {'variables': VARIABLES, 'validations': validation('variables.bad == 1')},
     (422, 'Invalid', "expression 'variables.bad == 1' resulted in error: composited variable \"bad\" fails to evaluate: division by zero"), {}),
    ('variable-nobody-uses', {'variables': VARIABLES, 'validations': validation("variables.b == 'v!'")}, None, {}),
    ('namespace', {'validations': validation("namespaceObject.metadata.name == object.metadata.namespace && "
                                             "namespaceObject.metadata.labels['kubernetes.io/metadata.name'].size() > 0")}, None, {}),
    ('old-object', {'validations': validation('oldObject == null')}, None, {}),
    ('request', {'validations': validation("request.kind.kind == 'ConfigMap' && request.resource.resource == 'configmaps' && request.dryRun && "
                                           "request.userInfo.username != '' && request.name == 'x'")}, None, {}),
    ('authorizer', {'validations': validation("authorizer.group('').resource('pods').namespace('default').check('get').allowed()")}, None, {}),
    ('authorizer-of-the-request', {'validations': validation("authorizer.requestResource.check('delete').allowed()")}, None, {}),
    ('authorizer-of-a-path', {'validations': validation("authorizer.path('/healthz').check('get').allowed() && "
                                                        "authorizer.path('/healthz').check('get').errored() == false")}, None, {}),
    ('authorizer-costs', {'validations': validation("[1, 2, 3].all(i, authorizer.path('/healthz').check('get').allowed())")},
     (422, 'Invalid', 'actual cost limit exceeded'), {}),
    ('object-selected', {'validations': validation('false'), 'matchConstraints': {'objectSelector': {'matchLabels': {'a': 'b'}}}},
     (422, 'Invalid', 'failed expression: false'), {'body': config(labels={'a': 'b'})}),
    ('object-not-selected', {'validations': validation('false'), 'matchConstraints': {'objectSelector': {'matchLabels': {'a': 'b'}}}}, None, {}),
    ('name-selected', {'validations': validation('false'), 'matchConstraints': {'resourceRules': [{**MAPS, 'resourceNames': ['x']}]}},
     (422, 'Invalid', 'failed expression: false'), {}),
    ('name-not-selected', {'validations': validation('false'), 'matchConstraints': {'resourceRules': [{**MAPS, 'resourceNames': ['y']}]}}, None, {}),
    ('excluded', {'validations': validation('false'), 'matchConstraints': {'excludeResourceRules': [MAPS]}}, None, {}),
    ('other-operation', {'validations': validation('false'), 'matchConstraints': {'resourceRules': [{**MAPS, 'operations': ['DELETE']}]}}, None, {}),
    ('binding-selects', {'validations': validation('false')}, (422, 'Invalid', 'failed expression: false'),
     {'binding': {'matchResources': {'objectSelector': {'matchLabels': {'a': 'b'}}}}, 'body': config(labels={'a': 'b'})}),
    ('binding-does-not-select', {'validations': validation('false')}, None,
     {'binding': {'matchResources': {'objectSelector': {'matchLabels': {'a': 'b'}}}}}),
    ('params', {'paramKind': CONFIG, 'validations': validation("object.data.k == params.data.want", messageExpression="'not ' + params.data.want")},
     (422, 'Invalid', 'not w'), {'binding': ref(name='param', namespace=''), 'made': [config('param', want='w')]}),
    ('params-hold', {'paramKind': CONFIG, 'validations': validation("object.data.k == params.data.want")}, None,
     {'binding': ref(name='param', namespace=''), 'made': [config('param', want='v')]}),
    ('params-of-the-object-s-namespace', {'paramKind': CONFIG, 'validations': validation("object.data.k == params.data.want", message='no')},
     (422, 'Invalid', 'no'), {'binding': ref(name='param'), 'made': [config('param', want='w')]}),
    ('params-by-label', {'paramKind': CONFIG, 'validations': validation("object.data.k == params.data.want", messageExpression="string(params.data.want)")},
     (422, 'Invalid', 'w'), {'binding': ref(selector={'matchLabels': {'p': 'q'}}),
                             'made': [config('one', labels={'p': 'q'}, want='v'), config('two', labels={'p': 'q'}, want='w')]}),
    ('params-are-not-there', {'paramKind': CONFIG, 'validations': validation('true')},
     (422, 'Invalid', 'no params found for policy binding with `Deny` parameterNotFoundAction'), {'binding': ref(name='param', namespace='')}),
    ('params-are-not-there-allowed', {'paramKind': CONFIG, 'validations': validation('false')}, None,
     {'binding': {'paramRef': {'name': 'param', 'namespace': '', 'parameterNotFoundAction': 'Allow'}}}),
    ('no-reference-to-params', {'paramKind': CONFIG, 'validations': validation('params == null')}, None, {}),
]


@rows(ROWS)
def policies_judge(t, _name, policy, want, more):
    for m in more.get('made', ()):
        t.make(t.maps(), m)
    p, b = deploy(t, policy, more.get('binding'))
    known(t)
    a = t.post(t.maps(), more.get('body') or config(), dryRun='All')
    if want is None:
        t.code(a, 201)
        t.eq(a.headers.get_all('Warning'), None, 'Warning headers')
        return
    t.status(a, want[0], want[1], part=want[2])
    if a['message'].find('denied request') >= 0:
        t.true(DENIED.format(p=p, b=b) in a['message'], f'who denied: {a["message"]}')


@check
def policies_warn(t):
    p, b = deploy(t, {'validations': validation('false', message='no')}, {'validationActions': ['Warn']})
    known(t)
    a = t.code(t.post(t.maps(), config(), dryRun='All'), 201)
    t.eq(a.headers.get('Warning'), f"299 - \"Validation failed for ValidatingAdmissionPolicy '{p}' with binding '{b}': no\"", 'Warning')


@check
def policies_that_only_audit_say_nothing(t):
    deploy(t, {'validations': validation('false'), 'auditAnnotations': [{'key': 'k', 'valueExpression': "'v'"}]},
           {'validationActions': ['Audit']})
    known(t)
    a = t.code(t.post(t.maps(), config(), dryRun='All'), 201)
    t.eq(a.headers.get_all('Warning'), None, 'Warning headers')


@check
def policies_warn_and_deny(t):
    one, _ = deploy(t, {'validations': validation('false', message='one')}, {'validationActions': ['Warn', 'Audit']})
    deploy(t, {'validations': validation('false', message='two')})
    known(t)
    a = t.status(t.post(t.maps(), config(), dryRun='All'), 422, 'Invalid', part='two')
    t.true(one in (a.headers.get('Warning') or ''), f'Warning: {a.headers.get("Warning")}')


@check
def policies_without_a_binding_do_nothing(t):
    t.make(POLICIES, {'metadata': {'name': t.name('p')}, 'spec': {'matchConstraints': here(t), 'validations': validation('false')}})
    known(t)
    t.code(t.post(t.maps(), config(), dryRun='All'), 201)


@check
def policies_judge_updates_and_deletions(t):
    p, b = deploy(t, {'validations': validation("request.operation == 'CREATE' || oldObject.data.k == 'free'", message='held')})
    known(t)
    t.make(t.maps(), config('held'))
    t.make(t.maps(), config('free', k='free'))
    said = DENIED.format(p=p, b=b) + 'held'
    t.status(t.patch(f'{t.maps()}/held', {'data': {'k': 'w'}}), 422, 'Invalid', part=said)
    t.status(t.delete(f'{t.maps()}/held'), 422, 'Invalid', part=said)
    t.code(t.patch(f'{t.maps()}/free', {'data': {'j': 'w'}}), 200)
    t.code(t.delete(f'{t.maps()}/free'), 200)
    t.code(t.delete(f'{BINDINGS}/{b}'), 200)
    t.until('the binding is gone', lambda: t.delete(f'{t.maps()}/held', dryRun='All').code == 200)


@check
def policies_are_about_other_versions_unless_exact(t):
    def scaler(version):
        return t.post(f'/apis/autoscaling/{version}/namespaces/{t.ns}/horizontalpodautoscalers', {'metadata': {'name': 'x'}, 'spec': {
            'maxReplicas': 3, 'scaleTargetRef': {'apiVersion': 'apps/v1', 'kind': 'Deployment', 'name': 'd'}}}, dryRun='All')

    deploy(t, {'validations': validation('false', message='exact'), 'matchConstraints': {'resourceRules': [SCALERS], 'matchPolicy': 'Exact'}})
    deploy(t, {'validations': validation("request.requestKind.version != 'v2'", messageExpression="'seen as ' + request.kind.version"),
               'matchConstraints': {'resourceRules': [SCALERS], 'matchPolicy': 'Equivalent'}})
    known(t)
    t.status(scaler('v1'), 422, 'Invalid', part='exact')
    t.status(scaler('v2'), 422, 'Invalid', part='seen as v1')


@check
def policies_whose_param_kind_is_missing_deny_or_let_pass(t):
    kind = {'apiVersion': 'nowhere.example.com/v1', 'kind': 'Nothing'}
    p, _ = deploy(t, {'paramKind': kind, 'validations': validation('true')}, ref(name='x', namespace=''))
    known(t)
    t.status(t.post(t.maps(), config(), dryRun='All'), 422, 'Invalid', part=p)
    t.code(t.patch(f'{POLICIES}/{p}', {'spec': {'failurePolicy': 'Ignore'}}), 200)
    t.until('it lets pass', lambda: t.post(t.maps(), config(), dryRun='All').code == 201)


# ---- bad input ----

# name, expression, part of the message; '' when it is accepted
ABSURD = [
    ('long', 'a' * 100001, 'expression code point size exceeds limit: size: 100001, limit 100000'),
    ('deep', '(' * 10000 + 'true' + ')' * 10000, 'expression recursion limit exceeded: 250'),
    ('deep-lists', '[' * 300 + ']' * 300 + ' == []', 'expression recursion limit exceeded: 250'),
    ('nul', "'a\x00b' == 'c'", ''),
    ('not-a-character', "'\\ud800' == 'c'", 'invalid unicode code point'),
    ('half-a-text', "'a", 'Syntax error'),
    ('pattern-too-large', "'a'.matches('(a{1000}){1000}')", 'invalid matches argument'),
    ('pattern-that-explodes-elsewhere', f"!'{'a' * 60}!'.matches('^(a+)+$')", ''),
    ('variable-of-itself', 'variables.v == 1', "undefined field 'v'"),
]


@rows(ABSURD)
def policies_absurd(t, _name, expression, part):
    spec = {'matchConstraints': here(t), 'validations': validation(expression),
            'variables': [{'name': 'w', 'expression': '1'}]}
    a = t.post(POLICIES, {'metadata': {'name': t.name('p')}, 'spec': spec}, dryRun='All')
    if part:
        t.invalid(a, part=part)
    else:
        t.code(a, 201)


@check
def policies_variables_in_a_long_chain_are_evaluated(t):
    """There is no limit to how many variables one is made of."""
    chain = [{'name': 'v1', 'expression': '1'}, *({'name': f'v{i}', 'expression': f'variables.v{i - 1} + 1'} for i in range(2, 151))]
    deploy(t, {'variables': chain, 'validations': validation('variables.v150 != 150', messageExpression="'it is %d'.format([variables.v150])")})
    known(t)
    t.status(t.post(t.maps(), config(), dryRun='All'), 422, 'Invalid', part='it is 150')


@check
def policies_variables_that_need_each_other_are_refused(t):
    names = [{'name': 'a', 'expression': 'variables.b'}, {'name': 'b', 'expression': 'variables.a'}]
    a = t.post(POLICIES, {'metadata': {'name': t.name('p')}, 'spec': {'matchConstraints': here(t), 'variables': names,
                                                                      'validations': validation('true')}}, dryRun='All')
    t.invalid(a, part="undefined field 'b'")


@check
def policies_do_not_judge_reviews(t):
    rule = {'operations': ['*'], 'apiGroups': ['authorization.k8s.io'], 'apiVersions': ['*'], 'resources': ['*']}
    user = t.name('user')
    deploy(t, {'validations': validation('false'), 'matchConstraints': {'resourceRules': [rule], 'namespaceSelector': {}}, **asked_by(user)})
    known(t)
    t.code(review(t, *REVIEWS[2], user), 201)


@check
def policies_outlive_their_kind_of_params(t):
    group, plural = t.name('g') + '.example.com', 'wants'
    t.make('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
        'metadata': {'name': f'{plural}.{group}'}, 'spec': {
            'group': group, 'scope': 'Namespaced', 'names': {'plural': plural, 'kind': 'Want'}, 'versions': [{
                'name': 'v1', 'served': True, 'storage': True, 'schema': {'openAPIV3Schema': {
                    'type': 'object', 'properties': {'want': {'type': 'string'}}}}}]}})
    path = t.at(plural, group)
    t.until('it is served', lambda: t.post(path, {'apiVersion': f'{group}/v1', 'kind': 'Want', 'metadata': {'name': 'param'}, 'want': 'v'}).code in (201, 409))
    deploy(t, {'paramKind': {'apiVersion': f'{group}/v1', 'kind': 'Want'}, 'validations': validation('object.data.k == params.want')},
           ref(name='param', namespace=''))
    known(t)
    t.until('it lets pass', lambda: t.post(t.maps(), config(), dryRun='All').code == 201)
    t.status(t.post(t.maps(), config(k='w'), dryRun='All'), 422, 'Invalid', part='failed expression')
    t.code(t.delete(f'/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{plural}.{group}'), 200)
    t.until('it refuses', lambda: t.post(t.maps(), config(), dryRun='All').code == 422)
    t.code(t.post(t.at('secrets'), {'metadata': {'name': 'other'}}, dryRun='All'), 201)
