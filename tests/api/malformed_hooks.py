"""malformed_hooks.py - configurations of admission webhooks; see malformed.py for how to read a row."""
from client import check
from malformed import refuse_new

ROOT = '/apis/admissionregistration.k8s.io/v1'
RULE = {'apiGroups': [''], 'apiVersions': ['v1'], 'resources': ['pods'], 'operations': ['CREATE']}
# Matches nothing that anybody creates meanwhile.
NOBODY = {'matchLabels': {'malformed-hooks': 'nobody'}}


def hook(**more):
    return {'name': 'a.b.c', 'clientConfig': {'url': 'https://127.0.0.1:9/x'}, 'rules': [RULE], 'sideEffects': 'None',
            'admissionReviewVersions': ['v1'], 'namespaceSelector': NOBODY, **more}


def url(text):
    return {'clientConfig': {'url': text}}


def service(**fields):
    return {'clientConfig': {'service': {'name': 'n', 'namespace': 's', **fields}}}


AT = 'webhooks[0]'
ROWS = [
    ('name_is_missing', {'name': ''}, f'422 Invalid: Required {AT}.name'),
    ('name_is_bad', {'name': 'Bad_.b.c'}, f'422 Invalid: Invalid {AT}.name'),
    ('name_has_two_parts', {'name': 'a.b'}, f'422 Invalid: Invalid {AT}.name'),
    ('rule_has_no_operations', {'rules.0.operations': []}, f'422 Invalid: Required {AT}.rules[0].operations'),
    ('rule_has_an_unknown_operation', {'rules.0.operations': ['PATCH']},
     f'422 Invalid: NotSupported {AT}.rules[0].operations[0]'),
    ('rule_has_all_operations_and_one', {'rules.0.operations': ['*', 'CREATE']},
     f'422 Invalid: Invalid {AT}.rules[0].operations'),
    ('rule_has_no_groups', {'rules.0.apiGroups': []}, f'422 Invalid: Required {AT}.rules[0].apiGroups'),
    ('rule_has_all_groups_and_one', {'rules.0.apiGroups': ['*', 'a']}, f'422 Invalid: Invalid {AT}.rules[0].apiGroups'),
    ('rule_has_no_versions', {'rules.0.apiVersions': []}, f'422 Invalid: Required {AT}.rules[0].apiVersions'),
    ('rule_has_an_empty_version', {'rules.0.apiVersions': ['']}, f'422 Invalid: Required {AT}.rules[0].apiVersions[0]'),
    ('rule_has_all_versions_and_one', {'rules.0.apiVersions': ['*', 'v1']},
     f'422 Invalid: Invalid {AT}.rules[0].apiVersions'),
    ('rule_has_no_resources', {'rules.0.resources': []}, f'422 Invalid: Required {AT}.rules[0].resources'),
    ('rule_has_an_empty_resource', {'rules.0.resources': ['']}, f'422 Invalid: Required {AT}.rules[0].resources[0]'),
    ('rule_has_all_resources_and_one', {'rules.0.resources': ['*', 'pods']},
     f'422 Invalid: Invalid {AT}.rules[0].resources'),
    ('rule_has_everything_and_one', {'rules.0.resources': ['*/*', 'pods']},
     f'422 Invalid: Invalid {AT}.rules[0].resources'),
    ('rule_has_a_part_twice', {'rules.0.resources': ['pods/*', 'pods/status']},
     f'422 Invalid: Invalid {AT}.rules[0].resources[1]'),
    ('rule_has_an_unknown_scope', {'rules.0.scope': 'X'}, f'422 Invalid: NotSupported {AT}.rules[0].scope'),
    ('failure_policy_is_unknown', {'failurePolicy': 'X'}, f'422 Invalid: NotSupported {AT}.failurePolicy'),
    ('match_policy_is_unknown', {'matchPolicy': 'X'}, f'422 Invalid: NotSupported {AT}.matchPolicy'),
    ('side_effects_are_missing', {'sideEffects': None}, f'422 Invalid: Required {AT}.sideEffects'),
    ('side_effects_are_some', {'sideEffects': 'Some'}, f'422 Invalid: NotSupported {AT}.sideEffects'),
    ('side_effects_are_unknown', {'sideEffects': 'Unknown'}, f'422 Invalid: NotSupported {AT}.sideEffects'),
    ('timeout_is_zero', {'timeoutSeconds': 0}, f'422 Invalid: Invalid {AT}.timeoutSeconds'),
    ('timeout_is_too_long', {'timeoutSeconds': 31}, f'422 Invalid: Invalid {AT}.timeoutSeconds'),
    ('namespace_selector_is_bad', {'namespaceSelector': {'matchLabels': {'a b': 'c'}}},
     f'422 Invalid: Invalid {AT}.namespaceSelector.matchLabels'),
    ('object_selector_is_bad', {'objectSelector': {'matchExpressions': [{'key': 'a', 'operator': 'X'}]}},
     f'422 Invalid: Invalid {AT}.objectSelector.matchExpressions[0].operator'),
    ('client_is_missing', {'clientConfig': {}}, f'422 Invalid: Required {AT}.clientConfig'),
    ('client_is_two', {'clientConfig': {'url': 'https://a', 'service': {'name': 'n', 'namespace': 's'}}},
     f'422 Invalid: Required {AT}.clientConfig'),
    ('url_is_empty', url(''), f'422 Invalid: Invalid {AT}.clientConfig.url'),
    ('url_is_no_url', url('https://a b'), f'422 Invalid: Required {AT}.clientConfig.url'),
    ('url_has_no_scheme', url(':x'), f'422 Invalid: Required {AT}.clientConfig.url'),
    ('url_has_a_colon_in_its_path', url('1x:y'), f'422 Invalid: Required {AT}.clientConfig.url'),
    ('url_has_a_bad_escape', url('https://a/%zz'), f'422 Invalid: Required {AT}.clientConfig.url'),
    ('url_has_a_bad_port', url('https://a:x/'), f'422 Invalid: Required {AT}.clientConfig.url'),
    ('url_has_a_line_break', url('https://a/\n'), f'422 Invalid: Required {AT}.clientConfig.url'),
    ('url_has_an_open_bracket', url('https://[::1'), f'422 Invalid: Required {AT}.clientConfig.url'),
    ('url_is_http', url('http://a'), f'422 Invalid: Invalid {AT}.clientConfig.url'),
    ('url_has_no_host', url('https:///x'), f'422 Invalid: Invalid {AT}.clientConfig.url'),
    ('url_is_opaque', url('https:x'), f'422 Invalid: Invalid {AT}.clientConfig.url'),
    ('url_has_a_user', url('https://u:p@a/x'), f'422 Invalid: Invalid {AT}.clientConfig.url'),
    ('url_has_a_query', url('https://a/x?y=1'), f'422 Invalid: Invalid {AT}.clientConfig.url'),
    ('url_has_a_fragment', url('https://a/x#y'), f'422 Invalid: Invalid {AT}.clientConfig.url'),
    ('service_has_no_name', service(name=''), f'422 Invalid: Required {AT}.clientConfig.service.namespace'),
    ('service_has_no_namespace', service(namespace=''), f'422 Invalid: Required {AT}.clientConfig.service.name'),
    ('service_port_is_zero', service(port=0), f'422 Invalid: Invalid {AT}.clientConfig.service.port'),
    ('service_port_is_too_large', service(port=65536), f'422 Invalid: Invalid {AT}.clientConfig.service.port'),
    ('service_path_is_relative', service(path='xx'), f'422 Invalid: Invalid {AT}.clientConfig.service.path'),
    ('service_path_has_two_slashes', service(path='/a//b'), f'422 Invalid: Invalid {AT}.clientConfig.service.path'),
    ('service_path_is_two_slashes', service(path='//'), f'422 Invalid: Invalid {AT}.clientConfig.service.path'),
    ('service_path_is_bad', service(path='/A_'), f'422 Invalid: Invalid {AT}.clientConfig.service.path'),
    ('versions_are_missing', {'admissionReviewVersions': []}, f'422 Invalid: Required {AT}.admissionReviewVersions'),
    ('version_is_there_twice', {'admissionReviewVersions': ['v1', 'v1']},
     f'422 Invalid: Invalid {AT}.admissionReviewVersions[1]'),
    ('version_is_bad', {'admissionReviewVersions': ['v1', 'V_']}, f'422 Invalid: Invalid {AT}.admissionReviewVersions[1]'),
    ('version_is_not_known', {'admissionReviewVersions': ['v2']}, f'422 Invalid: Invalid {AT}.admissionReviewVersions'),
]
for kind, plural, more in (('mutating_hook', 'mutatingwebhookconfigurations',
                            [('reinvocation_is_unknown', {'reinvocationPolicy': 'X'},
                              f'422 Invalid: NotSupported {AT}.reinvocationPolicy')]),
                           ('validating_hook', 'validatingwebhookconfigurations', [])):
    refuse_new(kind, f'{ROOT}/{plural}', {'metadata': {'name': 'x'}, 'webhooks': [hook()]}, 'webhooks.0', ROWS + more)
    refuse_new(kind, f'{ROOT}/{plural}', {'metadata': {'name': 'x'}, 'webhooks': [hook(), hook(name='d.e.f')]}, 'webhooks.1', [
        ('name_is_there_twice', {'name': 'a.b.c'}, '422 Invalid: Duplicate webhooks[1].name')])


@check
def hooks_are_told_what_is_wrong_with_their_address(t):
    path = f'{ROOT}/validatingwebhookconfigurations'

    def post(**config):
        return t.post(path, {'metadata': {'name': 'x'}, 'webhooks': [hook(clientConfig=config)]}, dryRun='All')
    form = '; desired format: https://host[/path]'
    said = 'ValidatingWebhookConfiguration.admissionregistration.k8s.io "x" is invalid: webhooks[0].clientConfig'
    t.status(post(url='http://a'), 422, 'Invalid', f'{said}.url: Invalid value: "http": \'https\' is the only allowed URL scheme{form}')
    t.status(post(url='https://a:x'), 422, 'Invalid',
             f'{said}.url: Required value: url must be a valid URL: parse "https://a:x": invalid port ":x" after host{form}')
    t.status(post(url='https://a/%zz'), 422, 'Invalid',
             f'{said}.url: Required value: url must be a valid URL: parse "https://a/%zz": invalid URL escape "%zz"{form}')
    t.status(post(), 422, 'Invalid', f'{said}: Required value: exactly one of url or service is required')
    t.status(post(service={'name': 'a', 'namespace': 'b', 'path': '/x//y'}), 422, 'Invalid',
             f'{said}.service.path: Invalid value: "/x//y": segment[1] may not be empty')


@check
def good_hooks_are_taken(t):
    for plural in ('mutatingwebhookconfigurations', 'validatingwebhookconfigurations'):
        got = t.make(f'{ROOT}/{plural}', {'metadata': {'name': t.name('hooks')}, 'webhooks': [
            hook(), hook(name='d.e.f', clientConfig={'service': {'name': 'n', 'namespace': 's', 'path': '/a/b.c/'}},
                         rules=[{**RULE, 'resources': ['pods', 'pods/status']}, {**RULE, 'resources': ['*/*']}]),
            hook(name='g.h.i', rules=[], admissionReviewVersions=['v2', 'v1beta1'], sideEffects='NoneOnDryRun')]})
        t.eq(got['webhooks'][1]['clientConfig']['service']['port'], 443, 'port')
        t.eq(got['webhooks'][0]['timeoutSeconds'], 10, 'timeoutSeconds')
