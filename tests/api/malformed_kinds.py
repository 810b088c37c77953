"""malformed_kinds.py - other objects and subresources that a server refuses; see malformed.py for how to read a row."""
from client import JSON_PATCH, MERGE, node
from malformed import (APPS, CRDS, DEPLOYMENT, GROUPS, NS, POD, PODS, patch, pod_group, post, put, refuse, refuse_new,
                       service)

# ---- cluster objects ----

refuse_new('node', '/api/v1/nodes', node('x'), '', [
    ('address_range_is_bad', {'spec': {'podCIDR': 'x'}}, '422 Invalid: Invalid spec.podCIDRs[0]'),
    ('taint_key_is_bad', {'spec': {'taints': [{'key': 'a b', 'effect': 'NoSchedule'}]}},
     '422 Invalid: Invalid metadata.taints[0].key'),
    ('taint_effect_is_unknown', {'spec': {'taints': [{'key': 'a', 'effect': 'X'}]}},
     '422 Invalid: NotSupported metadata.taints[0].effect'),
    ('taint_without_an_effect', {'spec': {'taints': [{'key': 'a'}]}},
     '422 Invalid: Required metadata.taints[0].effect'),
    ('taint_is_there_twice', {'spec': {'taints': [{'key': 'a', 'effect': 'NoSchedule'}] * 2}},
     '422 Invalid: Duplicate metadata.taints[1]'),
    ('taints_are_an_object', {'spec': {'taints': {}}}, '400 BadRequest'),
    ('unschedulable_is_a_string', {'spec': {'unschedulable': 'yes'}}, '400 BadRequest'),
    ('capacity_is_a_word', {'status': {'capacity': {'cpu': 'x'}}}, '400 BadRequest'),
    ('capacity_is_negative', {'status': {'capacity': {'cpu': '-1'}}},
     '422 Invalid: Invalid status.allocatable.cpu, Invalid status.capacity.cpu'),
    ('allocatable_is_negative', {'status': {'allocatable': {'cpu': '-1'}}},
     '422 Invalid: Invalid status.allocatable.cpu'),
    ('allocatable_extended_is_a_fraction', {'status': {'allocatable': {'a.com/b': '1.5'}}},
     '422 Invalid: Invalid status.allocatable.a.com/b'),
    ('capacity_is_a_list', {'status': {'capacity': []}}, '400 BadRequest'),
    ('conditions_are_an_object', {'status': {'conditions': {}}}, '400 BadRequest'),
])

refuse_new('namespace', '/api/v1/namespaces', {'metadata': {'name': 'x'}}, '', [
    ('finalizer_is_bad', {'spec': {'finalizers': ['bad_']}}, '422 Invalid: Invalid spec.finalizers'),
    ('finalizer_has_no_domain', {'spec': {'finalizers': ['x']}}, '422 Invalid: Invalid spec.finalizers'),
    ('finalizers_are_a_string', {'spec': {'finalizers': 'x'}}, '400 BadRequest'),
])

CLASSES = '/apis/scheduling.k8s.io/v1/priorityclasses'
refuse_new('priority_class', CLASSES, {'metadata': {'name': 'x'}, 'value': 5}, '', [
    ('value_is_a_string', {'value': '5'}, '400 BadRequest'),
    ('value_is_for_the_system', {'value': 2000000000}, '422 Invalid: Forbidden value'),
    ('value_is_a_fraction', {'value': 1.5}, '400 BadRequest'),
    ('policy_is_unknown', {'preemptionPolicy': 'X'}, '422 Invalid: NotSupported preemptionPolicy'),
    ('name_is_for_the_system', {'metadata.name': 'system-x'}, '422 Invalid: Forbidden metadata.name'),
    ('default_is_a_string', {'globalDefault': 'yes'}, '400 BadRequest'),
])

refuse_new('storage_class', '/apis/storage.k8s.io/v1/storageclasses',
           {'metadata': {'name': 'x'}, 'provisioner': 'e.com/p'}, '', [
               ('without_a_provisioner', {'provisioner': ''}, '422 Invalid: Required provisioner'),
               ('reclaim_policy_is_unknown', {'reclaimPolicy': 'X'}, '422 Invalid: NotSupported reclaimPolicy'),
               ('binding_mode_is_unknown', {'volumeBindingMode': 'X'}, '422 Invalid: NotSupported volumeBindingMode'),
           ])

PVC = {'metadata': {'name': 'x'},
       'spec': {'accessModes': ['ReadWriteOnce'], 'resources': {'requests': {'storage': '1Gi'}}}}
refuse_new('volume_claim', f'{NS}/persistentvolumeclaims', PVC, 'spec', [
    ('mode_is_unknown', {'accessModes': ['X']}, '422 Invalid: NotSupported spec.accessModes'),
    ('modes_are_missing', {'accessModes': None}, '422 Invalid: Required spec.accessModes'),
    ('size_is_zero', {'resources.requests.storage': '0'}, '422 Invalid: Invalid spec.resources[storage]'),
    ('size_is_missing', {'resources': {}}, '422 Invalid: Required spec.resources[storage]'),
    ('class_is_bad', {'storageClassName': 'Bad_'}, '422 Invalid: Invalid spec.storageClassName'),
    ('volume_mode_is_unknown', {'volumeMode': 'X'}, '422 Invalid: NotSupported spec.volumeMode'),
    ('once_pod_with_another_mode', {'accessModes': ['ReadWriteOncePod', 'ReadWriteOnce']},
     '422 Invalid: Forbidden spec.accessModes'),
])

# ---- services, secrets, events, leases ----

refuse_new('service', f'{NS}/services', service('x'), 'spec', [
    ('ports_are_missing', {'ports': None}, '422 Invalid: Required spec.ports'),
    ('port_is_zero', {'ports': [{'port': 0}]},
     '422 Invalid: Invalid spec.ports[0].port, Invalid spec.ports[0].targetPort'),
    ('port_is_too_large', {'ports': [{'port': 70000}]},
     '422 Invalid: Invalid spec.ports[0].port, Invalid spec.ports[0].targetPort'),
    ('two_ports_without_names', {'ports': [{'port': 80}, {'port': 81}]},
     '422 Invalid: Required spec.ports[0].name, Required spec.ports[1].name'),
    ('two_ports_are_equal', {'ports': [{'name': 'a', 'port': 80}, {'name': 'b', 'port': 80}]},
     '422 Invalid: Duplicate spec.ports[1]'),
    ('port_protocol_is_unknown', {'ports': [{'port': 80, 'protocol': 'X'}]},
     '422 Invalid: NotSupported spec.ports[0].protocol'),
    ('target_port_is_bad', {'ports': [{'port': 80, 'targetPort': 'Bad_'}]},
     '422 Invalid: Invalid spec.ports[0].targetPort'),
    ('node_port_of_an_inner_service', {'ports': [{'port': 80, 'nodePort': 30000}]},
     '422 Invalid: Forbidden spec.ports[0].nodePort'),
    ('type_is_unknown', {'type': 'X'}, '422 Invalid: NotSupported spec.type'),
    ('external_name_is_missing', {'type': 'ExternalName'}, '422 Invalid: Required spec.externalName'),
    ('affinity_is_unknown', {'sessionAffinity': 'X'}, '422 Invalid: NotSupported spec.sessionAffinity'),
    ('affinity_time_is_zero',
     {'sessionAffinity': 'ClientIP', 'sessionAffinityConfig': {'clientIP': {'timeoutSeconds': 0}}},
     '422 Invalid: Invalid spec.sessionAffinityConfig.clientIP.timeoutSeconds'),
    ('cluster_ip_is_a_word', {'clusterIP': 'x'}, '422 Invalid: Invalid spec.clusterIPs[0]'),
    ('cluster_ip_differs_from_the_list', {'clusterIP': '10.0.0.7', 'clusterIPs': ['10.0.0.8']},
     '422 Invalid: Invalid spec.clusterIPs'),
    ('cluster_ips_are_three', {'clusterIPs': ['10.0.0.7', '10.0.0.8', '10.0.0.9']},
     '422 Invalid: Invalid spec.clusterIPs'),
    ('headless_load_balancer', {'clusterIP': 'None', 'type': 'LoadBalancer'},
     '422 Invalid: Invalid spec.clusterIPs[0]'),
    ('family_is_unknown', {'ipFamilies': ['IPv5']}, '422 Invalid: NotSupported spec.ipFamilies[0]'),
    ('family_policy_is_unknown', {'ipFamilyPolicy': 'X'}, '422 Invalid: NotSupported spec.ipFamilyPolicy'),
    ('external_ip_is_bad', {'externalIPs': ['x']}, '422 Invalid: Invalid spec.externalIPs[0]'),
    ('selector_is_bad', {'selector': {'a b': 'c'}}, '422 Invalid: Invalid spec.selector'),
    ('traffic_policy_is_unknown', {'internalTrafficPolicy': 'X'},
     '422 Invalid: NotSupported spec.internalTrafficPolicy'),
    ('external_policy_of_an_inner_service', {'externalTrafficPolicy': 'Local'},
     '422 Invalid: Invalid spec.externalTrafficPolicy'),
    ('external_policy_is_unknown', {'type': 'LoadBalancer', 'externalTrafficPolicy': 'X'},
     '422 Invalid: NotSupported spec.externalTrafficPolicy'),
    ('external_name_with_an_address', {'type': 'ExternalName', 'externalName': 'a.b', 'clusterIP': '10.96.0.5'},
     '422 Invalid: Forbidden spec.clusterIPs'),
    ('external_name_with_families', {'type': 'ExternalName', 'externalName': 'a.b', 'ipFamilies': ['IPv4']},
     '422 Invalid: Forbidden spec.ipFamilies'),
    ('external_name_with_a_policy', {'type': 'ExternalName', 'externalName': 'a.b', 'ipFamilyPolicy': 'SingleStack'},
     '422 Invalid: Forbidden spec.ipFamilyPolicy'),
    ('headless_node_port', {'clusterIP': 'None', 'type': 'NodePort'}, '422 Invalid: Invalid spec.clusterIPs[0]'),
    ('cluster_ip_is_too_large', {'clusterIP': '10.96.0.300'}, '422 Invalid: Invalid spec.clusterIPs[0]'),
    ('cluster_ips_without_the_first', {'clusterIPs': ['x']},
     '422 Invalid: Invalid spec.clusterIPs, Invalid spec.clusterIPs[0]'),
    ('cluster_ips_of_one_family', {'clusterIP': '10.96.0.5', 'clusterIPs': ['10.96.0.5', '10.96.0.6']},
     '422 Invalid: Invalid spec.clusterIPs'),
    ('cluster_ips_with_none', {'clusterIP': 'None', 'clusterIPs': ['None', '10.96.0.5']},
     '422 Invalid: Invalid spec.clusterIPs'),
    ('cluster_ip_is_of_another_family', {'clusterIP': '10.96.0.5', 'ipFamilies': ['IPv6']},
     '422 Invalid: Invalid spec.clusterIPs[0]'),
    ('family_is_there_twice', {'ipFamilies': ['IPv4', 'IPv4']}, '422 Invalid: Duplicate spec.ipFamilies[1]'),
    ('affinity_time_is_too_long',
     {'sessionAffinity': 'ClientIP', 'sessionAffinityConfig': {'clientIP': {'timeoutSeconds': 86401}}},
     '422 Invalid: Invalid spec.sessionAffinityConfig.clientIP.timeoutSeconds'),
])

refuse('secret', [
    ('data_is_not_base64', post(f'{NS}/secrets', {'metadata': {'name': 'y'}, 'data': {'a': '!'}}), '400 BadRequest'),
    ('key_is_bad', post(f'{NS}/secrets', {'metadata': {'name': 'y'}, 'data': {'a b': ''}}),
     '422 Invalid: Invalid data[a b]'),
    ('docker_config_is_missing',
     post(f'{NS}/secrets', {'metadata': {'name': 'y'}, 'type': 'kubernetes.io/dockerconfigjson'}),
     '422 Invalid: Required data[.dockerconfigjson]'),
    ('token_without_an_account',
     post(f'{NS}/secrets', {'metadata': {'name': 'y'}, 'type': 'kubernetes.io/service-account-token'}),
     '422 Invalid: Required metadata.annotations[kubernetes.io/service-account.name]'),
    ('tls_without_a_key', post(f'{NS}/secrets', {'metadata': {'name': 'y'}, 'type': 'kubernetes.io/tls'}),
     '422 Invalid: Required data[tls.crt], Required data[tls.key]'),
])

refuse('event', [
    ('is_about_another_namespace', post(f'{NS}/events', {'metadata': {'name': 'y'}}),
     '422 Invalid: Invalid involvedObject.namespace'),
    ('v1_without_a_time', post('/apis/events.k8s.io/v1/namespaces/{ns}/events', {'metadata': {'name': 'y'}}),
     '422 Invalid: Invalid involvedObject.namespace, Invalid type, Required eventTime'),
    ('v1_time_is_bad', post('/apis/events.k8s.io/v1/namespaces/{ns}/events',
                            {'metadata': {'name': 'y'}, 'eventTime': 'x'}), '400 BadRequest'),
])

LEASES = '/apis/coordination.k8s.io/v1/namespaces/{ns}/leases'
refuse_new('lease', LEASES, {'metadata': {'name': 'x'}}, 'spec', [
    ('renew_time_is_bad', {'renewTime': 'x'}, '400 BadRequest'),
    ('transitions_are_negative', {'leaseTransitions': -1}, '422 Invalid: Invalid spec.leaseTransitions'),
    ('duration_is_zero', {'leaseDurationSeconds': 0}, '422 Invalid: Invalid spec.leaseDurationSeconds'),
    ('duration_is_a_string', {'leaseDurationSeconds': '5'}, '400 BadRequest'),
])

# ---- custom objects and their definitions ----

refuse_new('custom_object', GROUPS, pod_group('x'), '', [
    ('without_a_kind', {'kind': ''}, '400 BadRequest'),
    ('of_another_kind', {'kind': 'Other'}, '422 Invalid: Invalid kind'),
    ('without_a_version', {'apiVersion': ''}, '400 BadRequest'),
    ('of_another_version', {'apiVersion': 'scheduling.sigs.k8s.io/v9'}, '400 BadRequest'),
    ('of_another_group', {'apiVersion': 'v1'}, '400 BadRequest'),
    ('number_is_a_string', {'spec.minMember': 'x'}, '422 Invalid: TypeInvalid spec.minMember'),
    ('number_is_a_fraction', {'spec.minMember': 1.5}, '422 Invalid: TypeInvalid spec.minMember'),
    ('spec_is_a_list', {'spec': []}, '422 Invalid: TypeInvalid spec'),
    ('spec_is_a_string', {'spec': 'x'}, '422 Invalid: TypeInvalid spec'),
    ('without_a_name', {'metadata': {}}, '422 Invalid: Required metadata.name'),
    ('metadata_is_a_list', {'metadata': []}, '400 BadRequest'),
    ('label_is_a_number', {'metadata.labels': {'a': 5}}, '400 BadRequest'),
    ('label_is_bad', {'metadata.labels': {'a': 'b c'}}, '422 Invalid: Invalid metadata.labels'),
    ('finalizers_are_a_string', {'metadata.finalizers': 'x'}, '400 BadRequest'),
    ('owner_is_empty', {'metadata.ownerReferences': [{}]},
     '422 Invalid: Invalid metadata.ownerReferences.apiVersion, Invalid metadata.ownerReferences.kind, '
     'Invalid metadata.ownerReferences.name, Invalid metadata.ownerReferences.uid'),
    ('namespace_is_another', {'metadata.namespace': 'elsewhere'}, '400 BadRequest'),
])

CRD = {'metadata': {'name': 'things.e.com'}, 'spec': {
    'group': 'e.com', 'scope': 'Namespaced', 'names': {'plural': 'things', 'kind': 'Thing'},
    'versions': [{'name': 'v1', 'served': True, 'storage': True, 'schema': {'openAPIV3Schema': {'type': 'object'}}}]}}
SCHEMA = 'versions.0.schema.openAPIV3Schema'
refuse_new('definition', CRDS, CRD, 'spec', [
    ('version_name_is_empty', {'versions.0.name': ''}, '422 Invalid: Invalid spec.versions[0].name'),
    ('group_is_missing', {'group': ''}, '422 Invalid: Invalid metadata.name, Required spec.group'),
    ('group_is_bad', {'group': 'E_com'}, '422 Invalid: Invalid metadata.name, Invalid spec.group'),
    ('group_is_another', {'group': 'f.com'}, '422 Invalid: Invalid metadata.name'),
    ('scope_is_missing', {'scope': ''}, '422 Invalid: Required spec.scope'),
    ('scope_is_unknown', {'scope': 'World'}, '422 Invalid: NotSupported spec.scope'),
    ('kind_is_missing', {'names.kind': ''},
     '422 Invalid: Required spec.names.kind, Required spec.names.listKind, Required spec.names.singular'),
    ('plural_is_missing', {'names.plural': ''}, '422 Invalid: Invalid metadata.name, Required spec.names.plural'),
    ('plural_is_another', {'names.plural': 'others'}, '422 Invalid: Invalid metadata.name'),
    ('short_name_has_upper_case', {'names.shortNames': ['Th']}, '422 Invalid: Invalid spec.names.shortNames[0]'),
    ('versions_are_missing', {'versions': []}, '422 Invalid: Invalid spec.versions, Invalid status.storedVersions'),
    ('version_name_is_bad', {'versions.0.name': 'V_1'},
     '422 Invalid: Invalid spec.version, Invalid spec.versions[0].name'),
    ('no_version_is_stored', {'versions.0.storage': False},
     '422 Invalid: Invalid spec.versions, Invalid status.storedVersions'),
    ('schema_is_missing', {'versions.0.schema': None},
     '422 Invalid: Required spec.versions[0].schema.openAPIV3Schema'),
    ('schema_type_is_missing', {SCHEMA: {}}, '422 Invalid: Required spec.validation.openAPIV3Schema.type'),
    ('schema_type_is_unknown', {f'{SCHEMA}.properties': {'a': {'type': 'thing'}}},
     '422 Invalid: NotSupported spec.validation.openAPIV3Schema.properties[a].type'),
    ('schema_type_of_the_root_is_a_string', {f'{SCHEMA}.type': 'string'},
     '422 Invalid: Invalid spec.validation.openAPIV3Schema.type'),
    ('schema_type_of_a_property_is_missing', {f'{SCHEMA}.properties': {'a': {}}},
     '422 Invalid: Required spec.validation.openAPIV3Schema.properties[a].type'),
    ('schema_items_are_missing', {f'{SCHEMA}.properties': {'a': {'type': 'array'}}},
     '422 Invalid: Required spec.validation.openAPIV3Schema.properties[a].items'),
    ('schema_pattern_is_bad', {f'{SCHEMA}.properties': {'a': {'type': 'string', 'pattern': '('}}},
     '422 Invalid: Invalid spec.validation.openAPIV3Schema.properties[a].pattern'),
    ('schema_default_is_of_another_type', {f'{SCHEMA}.properties': {'a': {'type': 'string', 'default': 5}}},
     '422 Invalid: TypeInvalid spec.validation.openAPIV3Schema.properties[a].default'),
    ('schema_enum_is_a_string', {f'{SCHEMA}.properties': {'a': {'type': 'string', 'enum': 'x'}}}, '400 BadRequest'),
    ('schema_has_properties_and_additional',
     {f'{SCHEMA}.properties': {'a': {'type': 'object', 'properties': {'b': {'type': 'string'}},
                                     'additionalProperties': {'type': 'string'}}}},
     '422 Invalid: Forbidden spec.validation.openAPIV3Schema.properties[a].additionalProperties'),
    ('schema_is_unique',
     {f'{SCHEMA}.properties': {'a': {'type': 'array', 'uniqueItems': True, 'items': {'type': 'string'}}}},
     '422 Invalid: Forbidden spec.validation.openAPIV3Schema.properties[a].uniqueItems'),
    ('column_without_a_path', {'versions.0.additionalPrinterColumns': [{'name': 'A', 'type': 'string'}]},
     '422 Invalid: Required spec.additionalPrinterColumns[0].JSONPath'),
    ('column_type_is_unknown',
     {'versions.0.additionalPrinterColumns': [{'name': 'A', 'type': 'thing', 'jsonPath': '.spec.a'}]},
     '422 Invalid: Invalid spec.additionalPrinterColumns[0].type'),
    ('scale_without_paths', {'versions.0.subresources': {'scale': {}}},
     '422 Invalid: Required spec.subresources.scale.specReplicasPath, '
     'Required spec.subresources.scale.statusReplicasPath'),
    ('conversion_is_unknown', {'conversion': {'strategy': 'X'}},
     '422 Invalid: NotSupported spec.conversion.strategy'),
])

# ---- subresources ----

refuse('binding', [
    ('kind_is_a_list', post(f'{POD}/binding', {'kind': [], 'metadata': {'name': 'q'}}), '400 BadRequest'),
    ('is_empty', post(f'{POD}/binding', {}), '400 BadRequest'),
    ('names_another_pod', post(f'{POD}/binding', {'metadata': {'name': 'z'}, 'target': {'name': 'n'}}),
     '400 BadRequest'),
    ('without_a_target', post(f'{POD}/binding', {'metadata': {'name': 'q'}}), '500 None'),
    ('target_is_another_kind',
     post(f'{POD}/binding', {'metadata': {'name': 'q'}, 'target': {'kind': 'Pod', 'name': 'n'}}), '500 None'),
    ('is_of_another_kind', post(f'{POD}/binding', {'kind': 'Pod', 'apiVersion': 'v1', 'metadata': {'name': 'q'}}),
     '400 BadRequest'),
    ('of_a_pod_that_is_not_there',
     post(f'{PODS}/nothing/binding', {'metadata': {'name': 'nothing'}, 'target': {'name': 'n'}}), '404 NotFound'),
])

refuse('eviction', [
    ('name_is_a_list', post(f'{POD}/eviction', {'metadata': {'name': []}}), '400 BadRequest'),
    ('options_are_a_list', post(f'{POD}/eviction', {'metadata': {'name': 'q'}, 'deleteOptions': []}), '400 BadRequest'),
    ('names_another_pod', post(f'{POD}/eviction', {'metadata': {'name': 'z'}}), '400 BadRequest'),
    ('is_of_another_version',
     post(f'{POD}/eviction', {'apiVersion': 'v1', 'kind': 'Eviction', 'metadata': {'name': 'q'}}), '400 BadRequest'),
    ('is_of_another_kind', post(f'{POD}/eviction', {'apiVersion': 'v1', 'kind': 'Pod', 'metadata': {'name': 'q'}}),
     '400 BadRequest'),
    ('options_are_bad', post(f'{POD}/eviction', {
        'metadata': {'name': 'q'}, 'deleteOptions': {'gracePeriodSeconds': 'x'}}), '400 BadRequest'),
    ('policy_is_unknown', post(f'{POD}/eviction', {
        'metadata': {'name': 'q'}, 'deleteOptions': {'propagationPolicy': 'x'}}),
     '422 Invalid: NotSupported propagationPolicy'),
    ('of_a_pod_that_is_not_there', post(f'{PODS}/nothing/eviction', {'metadata': {'name': 'nothing'}}),
     '404 NotFound'),
])

refuse('scale', [
    ('is_empty', put(f'{DEPLOYMENT}/scale', {}), '400 BadRequest'),
    ('names_another', put(f'{DEPLOYMENT}/scale', {'metadata': {'name': 'z'}}), '400 BadRequest'),
    ('replicas_are_a_word', put(f'{DEPLOYMENT}/scale', {'metadata': {'name': 'd'}, 'spec': {'replicas': 'x'}}),
     '400 BadRequest'),
    ('replicas_are_negative', put(f'{DEPLOYMENT}/scale', {'metadata': {'name': 'd'}, 'spec': {'replicas': -1}}),
     '422 Invalid: Invalid spec.replicas'),
    ('is_of_another_group', put(f'{DEPLOYMENT}/scale', {
        'apiVersion': 'apps/v1', 'kind': 'Scale', 'metadata': {'name': 'd'}}), '400 BadRequest'),
    ('patch_makes_it_negative', patch(MERGE, '{"spec":{"replicas":-1}}', f'{DEPLOYMENT}/scale'),
     '422 Invalid: Invalid spec.replicas'),
    ('patch_makes_it_a_word', patch(MERGE, '{"spec":{"replicas":"x"}}', f'{DEPLOYMENT}/scale'),
     '422 Invalid: Invalid patch'),
    ('of_what_is_not_there', put(f'{APPS}/deployments/nothing/scale', {'metadata': {'name': 'nothing'}}),
     '404 NotFound'),
])

refuse('status', [
    ('of_a_namespace_on_finalize_has_a_list_as_name', put(f'{NS}/finalize', {'metadata': {'name': []}, 'spec': {}}),
     '400 BadRequest'),
    ('patch_makes_a_phase_a_number', patch(MERGE, '{"status":{"phase":5}}', f'{POD}/status'),
     '422 Invalid: Invalid patch'),
    ('patch_makes_conditions_an_object', patch(MERGE, '{"status":{"conditions":{}}}', f'{POD}/status'),
     '422 Invalid: Invalid patch'),
    ('patch_of_what_is_not_there', patch(MERGE, '{}', f'{PODS}/nothing/status'), '404 NotFound'),
    ('json_patch_removes_nothing', patch(JSON_PATCH, '[{"op":"remove","path":"/status/nothing"}]', f'{POD}/status'),
     '422 Invalid'),
    ('patch_makes_replicas_negative', patch(MERGE, '{"status":{"replicas":-1}}', f'{DEPLOYMENT}/status'),
     '422 Invalid: Invalid status.availableReplicas, Invalid status.readyReplicas, Invalid status.replicas, '
     'Invalid status.updatedReplicas'),
    ('patch_makes_more_ready_than_there_are',
     patch(MERGE, '{"status":{"replicas":1,"readyReplicas":2}}', f'{DEPLOYMENT}/status'),
     '422 Invalid: Invalid status.readyReplicas'),
    ('of_a_namespace_on_finalize_names_another',
     put(f'{NS}/finalize', {'metadata': {'name': 'z'}, 'spec': {}}), '400 BadRequest'),
])

refuse('review', [
    ('spec_is_a_list', post('/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', {'spec': []}), '400 BadRequest'),
    ('attributes_are_a_string', post('/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
                                     {'spec': {'resourceAttributes': 'x'}}), '400 BadRequest'),
    ('of_access_is_empty', post('/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', {}),
     '422 Invalid: Invalid spec.resourceAttributes'),
    ('of_the_access_of_nobody', post('/apis/authorization.k8s.io/v1/subjectaccessreviews',
                                     {'spec': {'resourceAttributes': {'verb': 'get'}}}),
     '422 Invalid: Invalid spec.user'),
    ('of_rules_without_a_namespace', post('/apis/authorization.k8s.io/v1/selfsubjectrulesreviews', {}),
     '400 BadRequest'),
    ('of_a_token_without_one', post('/apis/authentication.k8s.io/v1/tokenreviews', {}), '400 BadRequest'),
    ('of_access_has_two_attributes', post('/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', {'spec': {
        'resourceAttributes': {'verb': 'get'}, 'nonResourceAttributes': {'verb': 'get'}}}),
     '422 Invalid: Invalid spec.nonResourceAttributes'),
])
