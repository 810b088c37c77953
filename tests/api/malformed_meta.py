"""malformed_meta.py - what every kind refuses in its metadata, and as a body; see malformed.py for how to read a row.

The rules are the same for all kinds, so the table is kinds times mistakes.
"""
import copy

from malformed import JSON, NS, YAML, place, post, refuse, write

NAME = NS.rsplit('/', 1)[1]
TEMPLATE = {'metadata': {'labels': {'a': 'b'}}, 'spec': {'containers': [{'name': 'c', 'image': 'i'}]}}
JOB_TEMPLATE = {'spec': {'restartPolicy': 'Never', **TEMPLATE['spec']}}
SELECTED = {'selector': {'matchLabels': {'a': 'b'}}, 'template': TEMPLATE}
HOOK = {'name': 'a.b.c', 'clientConfig': {'url': 'https://x/y'}, 'sideEffects': 'None', 'admissionReviewVersions': ['v1']}
SCALED = {'scaleTargetRef': {'apiVersion': 'apps/v1', 'kind': 'Deployment', 'name': 'd'}, 'maxReplicas': 3}
DEVICES = {'devices': {'requests': [{'name': 'r', 'exactly': {'deviceClassName': 'c'}}]}}


def inside(group, plural):
    return f'/apis/{group}/namespaces/{NAME}/{plural}'


def core(plural):
    return f'{NS}/{plural}'


# What a valid object has besides its metadata.
KINDS = {
    'configmap': (core('configmaps'), {}),
    'endpoints': (core('endpoints'), {}),
    'limitrange': (core('limitranges'), {'spec': {'limits': []}}),
    'namespace': ('/api/v1/namespaces', {}),
    'node': ('/api/v1/nodes', {}),
    'persistentvolume': ('/api/v1/persistentvolumes', {'spec': {
        'capacity': {'storage': '1Gi'}, 'accessModes': ['ReadWriteOnce'], 'hostPath': {'path': '/x'}}}),
    'persistentvolumeclaim': (core('persistentvolumeclaims'), {'spec': {
        'accessModes': ['ReadWriteOnce'], 'resources': {'requests': {'storage': '1Gi'}}}}),
    'pod': (core('pods'), {'spec': TEMPLATE['spec']}),
    'podtemplate': (core('podtemplates'), {'template': TEMPLATE}),
    'replicationcontroller': (core('replicationcontrollers'), {'spec': {'selector': {'a': 'b'}, 'template': TEMPLATE}}),
    'resourcequota': (core('resourcequotas'), {'spec': {'hard': {'pods': '1'}}}),
    'secret': (core('secrets'), {}),
    'serviceaccount': (core('serviceaccounts'), {}),
    'service': (core('services'), {'spec': {'ports': [{'port': 80}]}}),
    'mutating_hooks': ('/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations', {'webhooks': [HOOK]}),
    'validating_hooks': ('/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations', {'webhooks': [HOOK]}),
    'controllerrevision': (inside('apps/v1', 'controllerrevisions'), {'revision': 1, 'data': {}}),
    'daemonset': (inside('apps/v1', 'daemonsets'), {'spec': SELECTED}),
    'deployment': (inside('apps/v1', 'deployments'), {'spec': SELECTED}),
    'replicaset': (inside('apps/v1', 'replicasets'), {'spec': SELECTED}),
    'statefulset': (inside('apps/v1', 'statefulsets'), {'spec': {'serviceName': 's', **SELECTED}}),
    'autoscaler_v1': (inside('autoscaling/v1', 'horizontalpodautoscalers'), {'spec': SCALED}),
    'autoscaler_v2': (inside('autoscaling/v2', 'horizontalpodautoscalers'), {'spec': SCALED}),
    'cronjob': (inside('batch/v1', 'cronjobs'), {'spec': {
        'schedule': '* * * * *', 'jobTemplate': {'spec': {'template': JOB_TEMPLATE}}}}),
    'job': (inside('batch/v1', 'jobs'), {'spec': {'template': JOB_TEMPLATE}}),
    'lease': (inside('coordination.k8s.io/v1', 'leases'), {}),
    'endpointslice': (inside('discovery.k8s.io/v1', 'endpointslices'), {'addressType': 'IPv4', 'endpoints': []}),
    'ingress': (inside('networking.k8s.io/v1', 'ingresses'), {'spec': {
        'defaultBackend': {'service': {'name': 's', 'port': {'number': 80}}}}}),
    'ingressclass': ('/apis/networking.k8s.io/v1/ingressclasses', {'spec': {'controller': 'a.b/c'}}),
    'networkpolicy': (inside('networking.k8s.io/v1', 'networkpolicies'), {'spec': {'podSelector': {}}}),
    'runtimeclass': ('/apis/node.k8s.io/v1/runtimeclasses', {'handler': 'h'}),
    'budget': (inside('policy/v1', 'poddisruptionbudgets'), {'spec': {'minAvailable': 1, 'selector': {}}}),
    'clusterrole': ('/apis/rbac.authorization.k8s.io/v1/clusterroles', {'rules': []}),
    'role': (inside('rbac.authorization.k8s.io/v1', 'roles'), {'rules': []}),
    'deviceclass': ('/apis/resource.k8s.io/v1/deviceclasses', {'spec': {}}),
    'claim': (inside('resource.k8s.io/v1', 'resourceclaims'), {'spec': DEVICES}),
    'claimtemplate': (inside('resource.k8s.io/v1', 'resourceclaimtemplates'), {'spec': {'spec': DEVICES}}),
    'priorityclass': ('/apis/scheduling.k8s.io/v1/priorityclasses', {'value': 1}),
    'csidriver': ('/apis/storage.k8s.io/v1/csidrivers', {'spec': {}}),
    'csinode': ('/apis/storage.k8s.io/v1/csinodes', {'spec': {'drivers': []}}),
    'storageclass': ('/apis/storage.k8s.io/v1/storageclasses', {'provisioner': 'a.b/c'}),
    'attributesclass': ('/apis/storage.k8s.io/v1/volumeattributesclasses', {'driverName': 'a.b', 'parameters': {'a': 'b'}}),
}

OWNER = {'apiVersion': 'v1', 'kind': 'Pod', 'name': 'p', 'uid': 'u'}
# Fields of metadata, and the answer of most kinds.
MISTAKES = {
    'without_a_name': ({'name': None}, '422 Invalid: Required metadata.name'),
    'label_key_is_bad': ({'labels': {'a b': 'c'}}, '422 Invalid: Invalid metadata.labels'),
    'label_value_is_bad': ({'labels': {'a': 'b c'}}, '422 Invalid: Invalid metadata.labels'),
    'label_is_a_number': ({'labels': {'a': 1}}, '400 BadRequest'),
    'annotation_key_is_bad': ({'annotations': {'a b': 'c'}}, '422 Invalid: Invalid metadata.annotations'),
    'owner_has_no_uid': ({'ownerReferences': [{**OWNER, 'uid': ''}]}, '422 Invalid: Invalid metadata.ownerReferences.uid'),
    'two_owners_control_it': ({'ownerReferences': [{**OWNER, 'controller': True}, {**OWNER, 'uid': 'v', 'controller': True}]},
                              '422 Invalid: Invalid metadata.ownerReferences'),
    'owner_has_no_kind': ({'ownerReferences': [{**OWNER, 'kind': ''}]}, '422 Invalid: Invalid metadata.ownerReferences.kind'),
    'owner_has_no_name': ({'ownerReferences': [{**OWNER, 'name': ''}]}, '422 Invalid: Invalid metadata.ownerReferences.name'),
    'labels_are_a_list': ({'labels': []}, '400 BadRequest'),
    'name_is_a_number': ({'name': 1}, '400 BadRequest'),
    'creation_time_is_no_time': ({'creationTimestamp': 'x'}, '400 BadRequest'),
}
# Bodies.
BODIES = {
    'of_another_kind': ({'apiVersion': 'v1', 'kind': 'Other', 'metadata': {'name': 'x'}}, JSON, '400 BadRequest'),
    'is_a_list': ([], JSON, '400 BadRequest'),
    'is_text_in_yaml': (None, YAML, '400 BadRequest'),
}
# The real server makes up a name.
LEFT_OUT = ('limitrange_without_a_name',)


def rows():
    for kind, (path, rest) in KINDS.items():
        for name, (fields, answer) in MISTAKES.items():
            body = {'metadata': {'name': 'x'}, **copy.deepcopy(rest)}
            for field, value in fields.items():
                place(body, f'metadata.{field}', value)
            yield f'{kind}_{name}', post(path, body), answer
        for name, (body, content, answer) in BODIES.items():
            request = post(path, body) if body is not None else write('POST', path, content=content, raw=b'just words')
            yield f'{kind}_{name}', request, answer


refuse('new', [r for r in rows() if r[0] not in LEFT_OUT])
