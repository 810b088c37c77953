"""malformed_network.py - networking, autoscaling and kinds that are only stored; see malformed.py for how to read a row."""
from malformed import NS, refuse_new

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
