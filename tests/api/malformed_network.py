"""malformed_network.py - networking, autoscaling and kinds that are only stored; see malformed.py for how to read a row."""
import copy

from malformed import NS, place, refuse_new

NETWORKING = f'/apis/networking.k8s.io/v1/namespaces/{NS.rsplit("/", 1)[1]}'
BACKEND = {'service': {'name': 's', 'port': {'number': 80}}}
PATH = {'path': '/', 'pathType': 'Prefix', 'backend': BACKEND}

refuse_new('ingress', f'{NETWORKING}/ingresses',
           {'metadata': {'name': 'x'}, 'spec': {'rules': [{'host': 'a.b', 'http': {'paths': [PATH]}}]}}, 'spec', [
    ('without_rules_and_backend', {'rules': None}, '422 Invalid: Invalid spec'),
    ('host_is_an_address', {'rules.0.host': '10.0.0.1'}, '422 Invalid: Invalid spec.rules[0].host'),
    ('host_is_bad', {'rules.0.host': 'Bad_'}, '422 Invalid: Invalid spec.rules[0].host'),
    ('wildcard_is_in_the_middle', {'rules.0.host': 'a.*.b'}, '422 Invalid: Invalid spec.rules[0].host'),
    ('paths_are_missing', {'rules.0.http.paths': []}, '422 Invalid: Required spec.rules[0].http.paths'),
    ('path_is_relative', {'rules.0.http.paths.0.path': 'x'}, '422 Invalid: Invalid spec.rules[0].http.paths[0].path'),
    ('path_has_two_slashes', {'rules.0.http.paths.0.path': '/a//b'},
     '422 Invalid: Invalid spec.rules[0].http.paths[0].path'),
    ('path_type_is_missing', {'rules.0.http.paths.0.pathType': None},
     '422 Invalid: Required spec.rules[0].http.paths[0].pathType'),
    ('path_type_is_unknown', {'rules.0.http.paths.0.pathType': 'X'},
     '422 Invalid: NotSupported spec.rules[0].http.paths[0].pathType'),
    ('backend_is_empty', {'rules.0.http.paths.0.backend': {}},
     '422 Invalid: Invalid spec.rules[0].http.paths[0].backend'),
    ('backend_has_no_name', {'rules.0.http.paths.0.backend.service.name': ''},
     '422 Invalid: Required spec.rules[0].http.paths[0].backend.service.name'),
    ('backend_has_no_port', {'rules.0.http.paths.0.backend.service.port': {}},
     '422 Invalid: Required spec.rules[0].http.paths[0].backend'),
    ('backend_has_two_ports', {'rules.0.http.paths.0.backend.service.port': {'number': 80, 'name': 'a'}},
     '422 Invalid: Invalid spec.rules[0].http.paths[0].backend'),
    ('backend_port_is_too_large', {'rules.0.http.paths.0.backend.service.port.number': 70000},
     '422 Invalid: Invalid spec.rules[0].http.paths[0].backend.service.port.number'),
    ('class_is_bad', {'ingressClassName': 'Bad_'}, '422 Invalid: Invalid spec.ingressClassName'),
    ('tls_host_is_bad', {'tls': [{'hosts': ['Bad_']}]}, '422 Invalid: Invalid spec.tls[0].hosts[0]'),
    ('rules_are_an_object', {'rules': {}}, '400 BadRequest'),
])

refuse_new('ingress_class', '/apis/networking.k8s.io/v1/ingressclasses',
           {'metadata': {'name': 'x'}, 'spec': {'controller': 'a.com/c'}}, 'spec', [
    ('without_a_controller', {'controller': ''}, '422 Invalid: Required spec.controller'),
    ('controller_has_no_domain', {'controller': 'x'}, '422 Invalid: Invalid spec.controller'),
    ('parameters_have_no_kind', {'parameters': {'name': 'p'}}, '422 Invalid: Required spec.parameters.kind'),
    ('parameters_have_no_name', {'parameters': {'kind': 'P'}}, '422 Invalid: Required spec.parameters.name'),
])

refuse_new('network_policy', f'{NETWORKING}/networkpolicies',
           {'metadata': {'name': 'x'}, 'spec': {'podSelector': {}}}, 'spec', [
    ('selector_is_bad', {'podSelector.matchLabels': {'a b': 'c'}}, '422 Invalid: Invalid spec.podSelector.matchLabels'),
    ('type_is_unknown', {'policyTypes': ['X']}, '422 Invalid: NotSupported spec.policyTypes[0]'),
    ('has_three_types', {'policyTypes': ['Ingress', 'Egress', 'Ingress']}, '422 Invalid: Invalid spec.policyTypes'),
    ('peer_is_empty', {'ingress': [{'from': [{}]}]}, '422 Invalid: Required spec.ingress[0].from[0]'),
    ('peer_is_two_things', {'egress': [{'to': [{'ipBlock': {'cidr': '10.0.0.0/8'}, 'podSelector': {}}]}]},
     '422 Invalid: Forbidden spec.egress[0].to[0]'),
    ('block_has_no_range', {'ingress': [{'from': [{'ipBlock': {}}]}]},
     '422 Invalid: Required spec.ingress[0].from[0].ipBlock.cidr'),
    ('block_is_bad', {'ingress': [{'from': [{'ipBlock': {'cidr': 'x'}}]}]},
     '422 Invalid: Invalid spec.ingress[0].from[0].ipBlock.cidr'),
    ('exception_is_outside', {'ingress': [{'from': [{'ipBlock': {'cidr': '10.0.0.0/8', 'except': ['11.0.0.0/9']}}]}]},
     '422 Invalid: Invalid spec.ingress[0].from[0].ipBlock.except[0]'),
    ('protocol_is_unknown', {'ingress': [{'ports': [{'protocol': 'X'}]}]},
     '422 Invalid: NotSupported spec.ingress[0].ports[0].protocol'),
    ('port_is_too_large', {'ingress': [{'ports': [{'port': 70000}]}]}, '422 Invalid: Invalid spec.ingress[0].ports[0].port'),
    ('range_has_no_begin', {'ingress': [{'ports': [{'endPort': 90}]}]},
     '422 Invalid: Invalid spec.ingress[0].ports[0].endPort'),
    ('range_ends_before_it_begins', {'ingress': [{'ports': [{'port': 90, 'endPort': 80}]}]},
     '422 Invalid: Invalid spec.ingress[0].ports[0].endPort'),
])

refuse_new('service_range', '/apis/networking.k8s.io/v1/servicecidrs',
           {'metadata': {'name': 'x'}, 'spec': {'cidrs': ['10.99.0.0/24']}}, 'spec', [
    ('is_missing', {'cidrs': []}, '422 Invalid: Required spec.cidrs'),
    ('is_bad', {'cidrs': ['x']}, '422 Invalid: Invalid spec.cidrs[0]'),
])

refuse_new('address', '/apis/networking.k8s.io/v1/ipaddresses',
           {'metadata': {'name': '10.99.0.1'},
            'spec': {'parentRef': {'resource': 'services', 'name': 'a', 'namespace': 'b'}}}, '', [
    ('name_is_none', {'metadata.name': 'x'}, '422 Invalid: Invalid metadata.name'),
    ('has_no_parent', {'spec': {}}, '422 Invalid: Required spec.parentRef'),
    ('parent_has_no_name', {'spec': {'parentRef': {'resource': 'services'}}}, '422 Invalid: Required spec.parentRef.name'),
])

METRIC = {'type': 'Resource', 'resource': {'name': 'cpu', 'target': {'type': 'Utilization', 'averageUtilization': 50}}}
VALUE, AVERAGE = {'type': 'Value', 'value': 1}, {'type': 'AverageValue', 'averageValue': 1}
OBJECT = {'describedObject': {'apiVersion': 'v1', 'kind': 'Service', 'name': 's'}, 'metric': {'name': 'm'}, 'target': VALUE}
OUTSIDE = {'metric': {'name': 'm'}, 'target': VALUE}
OF_PODS = {'metric': {'name': 'm'}, 'target': AVERAGE}
OF_CONTAINER = {'name': 'cpu', 'container': 'c', 'target': AVERAGE}
RULES = {'policies': [{'type': 'Pods', 'value': 1, 'periodSeconds': 1}]}
METRICS = {'Object': OBJECT, 'External': OUTSIDE, 'Pods': OF_PODS, 'ContainerResource': OF_CONTAINER, 'Resource': METRIC['resource']}


def metric(kind, **fields):
    """Fields of a request whose one metric is of this kind; a__b stands for a.b."""
    key = kind[0].lower() + kind[1:]
    new = {'type': kind, key: copy.deepcopy(METRICS[kind])}
    for dotted, value in fields.items():
        place(new[key], dotted.replace('__', '.'), value)
    return {'metrics': [new]}


refuse_new('autoscaler', f'/apis/autoscaling/v2/namespaces/{NS.rsplit("/", 1)[1]}/horizontalpodautoscalers',
           {'metadata': {'name': 'x'}, 'spec': {'scaleTargetRef': {'apiVersion': 'apps/v1', 'kind': 'Deployment', 'name': 'd'},
                                               'maxReplicas': 3, 'metrics': [METRIC]}}, 'spec', [
    ('maximum_is_zero', {'maxReplicas': 0}, '422 Invalid: Invalid spec.maxReplicas'),
    ('minimum_is_negative', {'minReplicas': -1}, '422 Invalid: Invalid spec.minReplicas'),
    ('minimum_is_above_the_maximum', {'minReplicas': 5}, '422 Invalid: Invalid spec.maxReplicas'),
    ('target_has_no_kind', {'scaleTargetRef.kind': ''}, '422 Invalid: Required spec.scaleTargetRef.kind'),
    ('target_has_no_name', {'scaleTargetRef.name': ''}, '422 Invalid: Required spec.scaleTargetRef.name'),
    ('metric_has_no_type', {'metrics.0.type': ''}, '422 Invalid: NotSupported spec.metrics[0].type, Required spec.metrics[0].type'),
    ('metric_type_is_unknown', {'metrics.0.type': 'X'}, '422 Invalid: NotSupported spec.metrics[0].type'),
    ('utilization_is_zero', {'metrics.0.resource.target.averageUtilization': 0},
     '422 Invalid: Invalid spec.metrics[0].resource.target.averageUtilization'),
    ('window_is_too_long', {'behavior': {'scaleDown': {'stabilizationWindowSeconds': 9999}}},
     '422 Invalid: Invalid spec.behavior.scaleDown.stabilizationWindowSeconds'),
    ('policies_are_empty', {'behavior': {'scaleUp': {'policies': []}}},
     '422 Invalid: Required spec.behavior.scaleUp.policies'),
    ('policies_down_are_empty', {'behavior': {'scaleDown': {'policies': [], 'selectPolicy': 'Disabled'}}},
     '422 Invalid: Required spec.behavior.scaleDown.policies'),
    ('policy_is_empty', {'behavior': {'scaleDown': {'policies': [{}]}}},
     '422 Invalid: Invalid spec.behavior.scaleDown.policies[0].periodSeconds, '
     'Invalid spec.behavior.scaleDown.policies[0].value, NotSupported spec.behavior.scaleDown.policies[0].type'),
    ('target_is_in_a_group_of_no_form', {'scaleTargetRef.apiVersion': 'a/b/c'}, '422 Invalid: Invalid spec.scaleTargetRef.apiVersion'),
    ('target_is_a_controller_in_a_group_of_no_form', {'scaleTargetRef': {'apiVersion': 'a/b/c', 'kind': 'ReplicationController', 'name': 'd'}},
     '422 Invalid: Invalid spec.scaleTargetRef.apiVersion'),
    ('target_has_a_slash_in_its_kind', {'scaleTargetRef.kind': 'a/b%'}, '422 Invalid: Invalid spec.scaleTargetRef.kind'),
    ('without_replicas_has_no_metric_that_is_left', {'minReplicas': 0}, '422 Invalid: Forbidden spec.metrics, Invalid spec.minReplicas'),
    ('without_replicas_has_one', {'minReplicas': 0, **metric('External')}, '422 Invalid: Invalid spec.minReplicas'),
    ('metric_is_null', {'metrics': [None]}, '422 Invalid: NotSupported spec.metrics[0].type, Required spec.metrics[0].type'),
    ('metric_has_no_source', {'metrics': [{'type': 'Pods'}]}, '422 Invalid: Required spec.metrics[0].pods'),
    ('metric_has_another_source', {'metrics': [{'type': 'Pods', 'external': OUTSIDE}]}, '422 Invalid: Required spec.metrics[0].pods'),
    ('metric_has_two_sources', {'metrics': [{'type': 'Pods', 'pods': OF_PODS, 'external': OUTSIDE}]},
     '422 Invalid: Forbidden spec.metrics[0].external'),
    ('metric_has_two_sources_and_the_second_is_empty', {'metrics': [{'type': 'Pods', 'pods': {}, 'external': OUTSIDE}]},
     '422 Invalid: Forbidden spec.metrics[0].external'),
    ('metric_without_a_type_has_a_source', {'metrics': [{'external': {**OUTSIDE, 'target': {**VALUE, 'value': 0}}}]},
     '422 Invalid: Invalid spec.metrics[0].external.target.value, NotSupported spec.metrics[0].type, Required spec.metrics[0].type'),
    ('metric_target_has_no_type', metric('Resource', target__type=''),
     '422 Invalid: Invalid spec.metrics[0].resource.target.type, Required spec.metrics[0].resource.target.type'),
    ('metric_target_type_is_unknown', metric('Resource', target__type='X'), '422 Invalid: Invalid spec.metrics[0].resource.target.type'),
    ('object_value_is_zero', metric('Object', target__value=0), '422 Invalid: Invalid spec.metrics[0].object.target.value'),
    ('object_value_is_negative', metric('Object', target__value='-1m'), '422 Invalid: Invalid spec.metrics[0].object.target.value'),
    ('object_average_is_zero', metric('Object', target__averageValue='0Ki'), '422 Invalid: Invalid spec.metrics[0].object.target.averageValue'),
    ('object_has_no_value', metric('Object', target__value=None), '422 Invalid: Required spec.metrics[0].object.target.averageValue'),
    ('object_has_a_percentage_only', metric('Object', target={'type': 'Utilization', 'averageUtilization': 5}),
     '422 Invalid: Required spec.metrics[0].object.target.averageValue'),
    ('object_is_not_named', metric('Object', describedObject={}),
     '422 Invalid: Required spec.metrics[0].object.describedObject.kind, Required spec.metrics[0].object.describedObject.name'),
    ('object_has_a_bad_name', metric('Object', describedObject__name='..', describedObject__kind='a%'),
     '422 Invalid: Invalid spec.metrics[0].object.describedObject.kind, Invalid spec.metrics[0].object.describedObject.name'),
    ('object_is_in_a_group_of_no_form', metric('Object', describedObject__apiVersion='a/b/c'),
     '422 Invalid: Invalid spec.metrics[0].object.describedObject.apiVersion'),
    ('object_metric_has_no_name', metric('Object', metric__name=''), '422 Invalid: Required spec.metrics[0].object.metric.name'),
    ('object_metric_has_a_slash', metric('Object', metric__name='a/b'), '422 Invalid: Invalid spec.metrics[0].object.metric.name'),
    ('external_metric_is_one_dot', metric('External', metric__name='.'), '422 Invalid: Invalid spec.metrics[0].external.metric.name'),
    ('external_metric_has_no_value', metric('External', target__value=None),
     '422 Invalid: Required spec.metrics[0].external.target.averageValue'),
    ('external_metric_has_both_values', metric('External', target__averageValue=1), '422 Invalid: Forbidden spec.metrics[0].external.target.value'),
    ('pods_metric_has_a_percent_sign', metric('Pods', metric__name='a%'), '422 Invalid: Invalid spec.metrics[0].pods.metric.name'),
    ('pods_metric_has_no_average', metric('Pods', target=VALUE), '422 Invalid: Required spec.metrics[0].pods.target.averageValue'),
    ('pods_metric_is_zero', metric('Pods', target__averageValue=0), '422 Invalid: Invalid spec.metrics[0].pods.target.averageValue'),
    ('resource_has_no_name', metric('Resource', name=''), '422 Invalid: Required spec.metrics[0].resource.name'),
    ('resource_has_no_target', metric('Resource', target={'type': 'Value', 'value': 1}),
     '422 Invalid: Required spec.metrics[0].resource.target.averageUtilization'),
    ('resource_has_two_targets', metric('Resource', target__averageValue=1), '422 Invalid: Forbidden spec.metrics[0].resource.target.averageValue'),
    ('resource_average_is_negative', metric('Resource', target={'type': 'AverageValue', 'averageValue': -1}),
     '422 Invalid: Invalid spec.metrics[0].resource.target.averageValue'),
    ('container_is_missing', metric('ContainerResource', container=''), '422 Invalid: Required spec.metrics[0].containerResource.container'),
    ('container_has_a_bad_name', metric('ContainerResource', container='Bad_'), '422 Invalid: Invalid spec.metrics[0].containerResource.container'),
    ('container_has_a_long_name', metric('ContainerResource', container='a' * 64),
     '422 Invalid: Invalid spec.metrics[0].containerResource.container'),
    ('container_resource_has_no_name', metric('ContainerResource', name=''), '422 Invalid: Required spec.metrics[0].containerResource.name'),
    ('container_resource_is_unknown', metric('ContainerResource', name='x'), '422 Invalid: Invalid spec.metrics[0].containerResource.name'),
    ('container_resource_is_of_pods', metric('ContainerResource', name='pods'), '422 Invalid: Invalid spec.metrics[0].containerResource.name'),
    ('container_resource_has_no_target', metric('ContainerResource', target={'type': 'AverageValue'}),
     '422 Invalid: Required spec.metrics[0].containerResource.target.averageUtilization'),
    ('tolerance_is_negative', {'behavior': {'scaleUp': {**RULES, 'tolerance': '-10m'}}}, '422 Invalid: Invalid spec.behavior.scaleUp.tolerance'),
    ('tolerance_is_none', {'behavior': {'scaleDown': {**RULES, 'tolerance': 'x'}}}, '400 BadRequest'),
    ('selection_is_unknown', {'behavior': {'scaleUp': {**RULES, 'selectPolicy': 'X'}}}, '422 Invalid: NotSupported spec.behavior.scaleUp.selectPolicy'),
    ('selection_is_empty', {'behavior': {'scaleUp': {**RULES, 'selectPolicy': ''}}}, '422 Invalid: NotSupported spec.behavior.scaleUp.selectPolicy'),
    ('policy_is_null', {'behavior': {'scaleUp': {'policies': [None]}}},
     '422 Invalid: Invalid spec.behavior.scaleUp.policies[0].periodSeconds, '
     'Invalid spec.behavior.scaleUp.policies[0].value, NotSupported spec.behavior.scaleUp.policies[0].type'),
    ('period_is_too_long', {'behavior': {'scaleUp': {'policies': [{**RULES['policies'][0], 'periodSeconds': 1801}]}}},
     '422 Invalid: Invalid spec.behavior.scaleUp.policies[0].periodSeconds'),
    ('window_is_negative', {'behavior': {'scaleUp': {**RULES, 'stabilizationWindowSeconds': -1}}},
     '422 Invalid: Invalid spec.behavior.scaleUp.stabilizationWindowSeconds'),
])

refuse_new('runtime_class', '/apis/node.k8s.io/v1/runtimeclasses', {'metadata': {'name': 'x'}, 'handler': 'runc'}, '', [
    ('handler_is_bad', {'handler': 'Bad_'}, '422 Invalid: Invalid handler'),
    ('handler_is_missing', {'handler': ''}, '422 Invalid: Invalid handler'),
])

refuse_new('flow_schema', '/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas',
           {'metadata': {'name': 'x'}, 'spec': {'priorityLevelConfiguration': {'name': 'exempt'}}}, 'spec', [
    ('precedence_is_negative', {'matchingPrecedence': -1}, '422 Invalid: Invalid spec.matchingPrecedence'),
    ('precedence_is_too_large', {'matchingPrecedence': 20000}, '422 Invalid: Invalid spec.matchingPrecedence'),
    ('level_is_missing', {'priorityLevelConfiguration': {'name': ''}},
     '422 Invalid: Required spec.priorityLevelConfiguration.name'),
])

refuse_new('priority_level', '/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations',
           {'metadata': {'name': 'x'}, 'spec': {'type': 'Limited', 'limited': {'limitResponse': {'type': 'Reject'}}}}, 'spec', [
    ('type_is_unknown', {'type': 'X'}, '422 Invalid: NotSupported spec.type'),
    ('limit_is_missing', {'limited': None}, '422 Invalid: Required spec.limited'),
])

refuse_new('volume_attributes', '/apis/storage.k8s.io/v1/volumeattributesclasses',
           {'metadata': {'name': 'x'}, 'driverName': 'a.com', 'parameters': {'a': 'b'}}, '', [
    ('driver_is_missing', {'driverName': ''}, '422 Invalid: Required driverName'),
    ('parameters_are_missing', {'parameters': {}}, '422 Invalid: Required parameters'),
])

ADDRESS, PORT = {'ip': '10.0.0.1'}, {'name': 'a', 'port': 80}
refuse_new('endpoints', f'{NS}/endpoints',
           {'metadata': {'name': 'x'}, 'subsets': [{'addresses': [ADDRESS], 'ports': [PORT]}]}, 'subsets.0', [
    ('have_no_address', {'addresses': []}, '422 Invalid: Required subsets[0]'),
    ('address_is_missing', {'addresses': [{}]}, '422 Invalid: Invalid subsets[0].addresses[0].ip'),
    ('address_is_none', {'addresses': [{'ip': 'x'}]}, '422 Invalid: Invalid subsets[0].addresses[0].ip'),
    ('address_has_a_zone', {'addresses': [{'ip': 'fd00::1%eth0'}]}, '422 Invalid: Invalid subsets[0].addresses[0].ip'),
    ('address_has_large_octets', {'addresses': [{'ip': '10.0.0.256'}]}, '422 Invalid: Invalid subsets[0].addresses[0].ip'),
    ('address_has_five_octets', {'addresses': [{'ip': '10.0.0.1.2'}]}, '422 Invalid: Invalid subsets[0].addresses[0].ip'),
    ('address_is_unspecified', {'addresses': [{'ip': '0.0.0.0'}]}, '422 Invalid: Invalid subsets[0].addresses[0].ip'),
    ('address_is_unspecified_v6', {'addresses': [{'ip': '::'}]}, '422 Invalid: Invalid subsets[0].addresses[0].ip'),
    ('address_is_loopback', {'addresses': [{'ip': '127.0.0.1'}]}, '422 Invalid: Invalid subsets[0].addresses[0].ip'),
    ('address_is_loopback_v6', {'addresses': [{'ip': '::1'}]}, '422 Invalid: Invalid subsets[0].addresses[0].ip'),
    ('address_is_loopback_mapped', {'addresses': [{'ip': '::ffff:127.0.0.9'}]},
     '422 Invalid: Invalid subsets[0].addresses[0].ip'),
    ('address_is_loopback_with_zeros', {'addresses': [{'ip': '127.000.000.001'}]},
     '422 Invalid: Invalid subsets[0].addresses[0].ip'),
    ('address_is_link_local', {'addresses': [{'ip': '169.254.1.1'}]}, '422 Invalid: Invalid subsets[0].addresses[0].ip'),
    ('address_is_link_local_v6', {'addresses': [{'ip': 'fe80::1'}]}, '422 Invalid: Invalid subsets[0].addresses[0].ip'),
    ('address_is_link_local_multicast', {'addresses': [{'ip': '224.0.0.1'}]},
     '422 Invalid: Invalid subsets[0].addresses[0].ip'),
    ('address_is_link_local_multicast_v6', {'addresses': [{'ip': 'ff02::1'}]},
     '422 Invalid: Invalid subsets[0].addresses[0].ip'),
    ('second_address_is_none', {'addresses': [ADDRESS, {'ip': 'x'}]}, '422 Invalid: Invalid subsets[0].addresses[1].ip'),
    ('address_that_is_not_ready_is_none', {'notReadyAddresses': [{'ip': 'x'}]},
     '422 Invalid: Invalid subsets[0].notReadyAddresses[0].ip'),
    ('hostname_is_bad', {'addresses': [{**ADDRESS, 'hostname': 'a.b'}]},
     '422 Invalid: Invalid subsets[0].addresses[0].hostname'),
    ('node_is_bad', {'addresses': [{**ADDRESS, 'nodeName': 'Bad_'}]},
     '422 Invalid: Invalid subsets[0].addresses[0].nodeName'),
    ('node_is_empty', {'addresses': [{**ADDRESS, 'nodeName': ''}]},
     '422 Invalid: Invalid subsets[0].addresses[0].nodeName'),
    ('ports_have_no_names', {'ports': [{'port': 80}, {'port': 81}]},
     '422 Invalid: Required subsets[0].ports[0].name, Required subsets[0].ports[1].name'),
    ('port_name_is_bad', {'ports.0.name': 'Bad_'}, '422 Invalid: Invalid subsets[0].ports[0].name'),
    ('port_is_missing', {'ports.0.port': None}, '422 Invalid: Invalid subsets[0].ports[0].port'),
    ('port_is_zero', {'ports.0.port': 0}, '422 Invalid: Invalid subsets[0].ports[0].port'),
    ('port_is_too_large', {'ports.0.port': 65536}, '422 Invalid: Invalid subsets[0].ports[0].port'),
    ('protocol_is_unknown', {'ports.0.protocol': 'tcp'}, '422 Invalid: NotSupported subsets[0].ports[0].protocol'),
    ('application_is_bad', {'ports.0.appProtocol': 'a b'}, '422 Invalid: Invalid subsets[0].ports[0].appProtocol'),
    ('application_is_empty', {'ports.0.appProtocol': ''}, '422 Invalid: Invalid subsets[0].ports[0].appProtocol'),
    ('ports_are_an_object', {'ports': {}}, '400 BadRequest'),
    ('address_is_a_number', {'addresses': [{'ip': 1}]}, '400 BadRequest'),
])

SLICES = f'/apis/discovery.k8s.io/v1/namespaces/{NS.rsplit("/", 1)[1]}/endpointslices'
SLICE = {'metadata': {'name': 'x'}, 'addressType': 'IPv4', 'endpoints': [{'addresses': ['10.0.0.1']}],
         'ports': [{'name': 'a', 'port': 80}]}
refuse_new('endpoint_slice', SLICES, SLICE, '', [
    ('type_is_missing', {'addressType': ''}, '422 Invalid: Required addressType'),
    ('type_is_unknown', {'addressType': 'IP'}, '422 Invalid: NotSupported addressType'),
    ('type_is_unknown_and_the_rest_is_not_asked', {'addressType': 'IP', 'endpoints.0.addresses': ['x']},
     '422 Invalid: NotSupported addressType'),
    ('has_no_address', {'endpoints.0.addresses': []}, '422 Invalid: Required endpoints[0].addresses'),
    ('has_too_many_addresses', {'endpoints.0.addresses': [f'10.0.0.{n}' for n in range(1, 102)]},
     '422 Invalid: TooMany endpoints[0].addresses'),
    ('has_too_many_endpoints', {'endpoints': [{'addresses': [f'10.0.{n // 256}.{n % 256}']} for n in range(1001)]},
     '422 Invalid: TooMany endpoints'),
    ('has_too_many_ports', {'ports': [{'name': f'a{n}', 'port': 80} for n in range(20001)]}, '422 Invalid: TooMany ports'),
    ('address_is_none', {'endpoints.0.addresses': ['x']}, '422 Invalid: Invalid endpoints[0].addresses[0]'),
    ('address_is_of_the_other_family', {'endpoints.0.addresses': ['fd00::1']}, '422 Invalid: Invalid endpoints[0].addresses'),
    ('address_is_unspecified', {'endpoints.0.addresses': ['0.0.0.0']}, '422 Invalid: Invalid endpoints[0].addresses[0]'),
    ('address_is_loopback', {'endpoints.0.addresses': ['127.0.0.1']}, '422 Invalid: Invalid endpoints[0].addresses[0]'),
    ('address_is_loopback_of_the_other_family', {'endpoints.0.addresses': ['::1']},
     '422 Invalid: Invalid endpoints[0].addresses, Invalid endpoints[0].addresses[0]'),
    ('address_is_link_local', {'endpoints.0.addresses': ['169.254.1.1']},
     '422 Invalid: Invalid endpoints[0].addresses[0]'),
    ('address_is_multicast', {'endpoints.0.addresses': ['224.0.0.1']}, '422 Invalid: Invalid endpoints[0].addresses[0]'),
    ('second_address_is_none', {'endpoints.0.addresses': ['10.0.0.1', '']},
     '422 Invalid: Invalid endpoints[0].addresses[1]'),
    ('v6_address_is_v4', {'addressType': 'IPv6'}, '422 Invalid: Invalid endpoints[0].addresses'),
    ('v6_address_is_none', {'addressType': 'IPv6', 'endpoints.0.addresses': ['x']},
     '422 Invalid: Invalid endpoints[0].addresses[0]'),
    ('v6_address_is_mapped', {'addressType': 'IPv6', 'endpoints.0.addresses': ['::ffff:10.0.0.1']},
     '422 Invalid: Invalid endpoints[0].addresses[0]'),
    ('v6_address_is_not_canonical', {'addressType': 'IPv6', 'endpoints.0.addresses': ['FD00:0::1']},
     '422 Invalid: Invalid endpoints[0].addresses[0]'),
    ('v6_address_has_dots', {'addressType': 'IPv6', 'endpoints.0.addresses': ['fd00::10.0.0.1']},
     '422 Invalid: Invalid endpoints[0].addresses[0]'),
    ('v6_address_has_zeros', {'addressType': 'IPv6', 'endpoints.0.addresses': ['fd00::010.0.0.1']},
     '422 Invalid: Invalid endpoints[0].addresses[0]'),
    ('v6_address_is_loopback', {'addressType': 'IPv6', 'endpoints.0.addresses': ['::1']},
     '422 Invalid: Invalid endpoints[0].addresses[0]'),
    ('v6_address_is_link_local', {'addressType': 'IPv6', 'endpoints.0.addresses': ['fe80::1']},
     '422 Invalid: Invalid endpoints[0].addresses[0]'),
    ('domain_is_empty', {'addressType': 'FQDN', 'endpoints.0.addresses': ['']},
     '422 Invalid: Required endpoints[0].addresses[0]'),
    ('domain_is_one_word', {'addressType': 'FQDN', 'endpoints.0.addresses': ['a']},
     '422 Invalid: Invalid endpoints[0].addresses[0]'),
    ('domain_is_bad', {'addressType': 'FQDN', 'endpoints.0.addresses': ['a_.b']},
     '422 Invalid: Invalid endpoints[0].addresses[0]'),
    ('domain_has_a_long_part', {'addressType': 'FQDN', 'endpoints.0.addresses': ['a' * 64 + '.b']},
     '422 Invalid: Invalid endpoints[0].addresses[0]'),
    ('domain_ends_with_two_dots', {'addressType': 'FQDN', 'endpoints.0.addresses': ['a.b..']},
     '422 Invalid: Invalid endpoints[0].addresses[0]'),
    ('hostname_is_bad', {'endpoints.0.hostname': 'a.b'}, '422 Invalid: Invalid endpoints[0].hostname'),
    ('hostname_is_empty', {'endpoints.0.hostname': ''}, '422 Invalid: Invalid endpoints[0].hostname'),
    ('node_is_bad', {'endpoints.0.nodeName': 'Bad_'}, '422 Invalid: Invalid endpoints[0].nodeName'),
    ('node_is_empty', {'endpoints.0.nodeName': ''}, '422 Invalid: Invalid endpoints[0].nodeName'),
    ('zones_are_too_many', {'endpoints.0.hints': {'forZones': [{'name': f'z{n}'} for n in range(9)]}},
     '422 Invalid: TooMany endpoints[0].hints.forZones'),
    ('zone_is_there_twice', {'endpoints.0.hints': {'forZones': [{'name': 'z'}, {'name': 'z'}]}},
     '422 Invalid: Duplicate endpoints[0].hints.forZones[1].name'),
    ('zone_is_bad', {'endpoints.0.hints': {'forZones': [{'name': 'a b'}]}},
     '422 Invalid: Invalid endpoints[0].hints.forZones[0].name'),
    ('nodes_are_too_many', {'endpoints.0.hints': {'forNodes': [{'name': f'n{n}'} for n in range(9)]}},
     '422 Invalid: TooMany endpoints[0].hints.forNodes'),
    ('node_hint_is_there_twice', {'endpoints.0.hints': {'forNodes': [{'name': 'n'}, {'name': 'n'}]}},
     '422 Invalid: Duplicate endpoints[0].hints.forNodes[1].name'),
    ('node_hint_is_bad', {'endpoints.0.hints': {'forNodes': [{'name': 'Bad_'}]}},
     '422 Invalid: Invalid endpoints[0].hints.forNodes[0].name'),
    ('port_name_is_bad', {'ports.0.name': 'Bad_'}, '422 Invalid: Invalid ports[0].name'),
    ('port_is_there_twice', {'ports': [{'name': 'a', 'port': 80}, {'name': 'a', 'port': 81}]},
     '422 Invalid: Duplicate ports[1].name'),
    ('ports_have_no_names', {'ports': [{'port': 80}, {'port': 81}]}, '422 Invalid: Duplicate ports[1].name'),
    ('protocol_is_unknown', {'ports.0.protocol': 'tcp'}, '422 Invalid: NotSupported ports[0].protocol'),
    ('protocol_is_empty', {'ports.0.protocol': ''}, '422 Invalid: NotSupported ports[0].protocol'),
    ('application_is_bad', {'ports.0.appProtocol': 'a b'}, '422 Invalid: Invalid ports[0].appProtocol'),
    ('condition_is_a_word', {'endpoints.0.conditions': {'ready': 'yes'}}, '400 BadRequest'),
    ('addresses_are_a_word', {'endpoints.0.addresses': '10.0.0.1'}, '400 BadRequest'),
])
