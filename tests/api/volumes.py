"""volumes.py - claims for volumes: what may change, and what admission adds or refuses; other defaults by admission: the class
of an Ingress, the zone of a pod."""
from client import check, node, pod

CLASSES = '/apis/storage.k8s.io/v1/storageclasses'


def claim(name='c', size='1Gi', **spec):
    return {'apiVersion': 'v1', 'kind': 'PersistentVolumeClaim', 'metadata': {'name': name},
            'spec': {'accessModes': ['ReadWriteOnce'], 'resources': {'requests': {'storage': size}}, **spec}}


def claims(t):
    return t.at('persistentvolumeclaims')


def storage_class(t, notes=None, **fields):
    name = t.name('sc')
    t.make(CLASSES, {'metadata': {'name': name, 'annotations': notes or {}}, 'provisioner': 'example.com/none', **fields})
    return name


def bound(t, size='2Gi', **spec):
    """A claim that has a volume of 2Gi."""
    t.make(claims(t), claim(size=size, **spec))
    t.code(t.patch(f'{claims(t)}/c/status', {'status': {'phase': 'Bound', 'capacity': {'storage': '2Gi'}}}), 200)
    return f'{claims(t)}/c'


def sized(size):
    return {'spec': {'resources': {'requests': {'storage': size}}}}


def causes(a):
    return sorted((c['reason'], c['field']) for c in a['details.causes'] or [])


# ---- what may change ----

@check
def a_claim_without_a_volume_keeps_its_size(t):
    t.make(claims(t), claim())
    for size in ('2Gi', '512Mi'):
        a = t.status(t.patch(f'{claims(t)}/c', sized(size)), 422, 'Invalid',
                     part='spec: Forbidden: spec is immutable after creation except resources.requests and '
                          'volumeAttributesClassName for bound claims')
        t.eq(causes(a), [('FieldValueForbidden', 'spec')], 'causes')


@check
def a_bound_claim_never_shrinks_below_its_volume(t):
    path = bound(t)
    for size in ('1Gi', '1'):
        a = t.status(t.patch(path, sized(size)), 422, 'Invalid', part='PersistentVolumeClaim "c" is invalid: '
                     'spec.resources.requests.storage: Forbidden: field can not be less than status.capacity')
        t.eq(causes(a), [('FieldValueForbidden', 'spec.resources.requests.storage')], 'causes')


@check
def an_expansion_may_be_taken_back_as_far_as_the_volume(t):
    path = bound(t, '5Gi')
    t.code(t.patch(path, sized('3Gi')), 200)
    t.status(t.patch(path, sized('2Gi')), 422, 'Invalid', part='field can not be less than status.capacity')
    t.code(t.patch(path, sized('2049Mi')), 200)


@check
def a_bound_claim_keeps_its_modes_and_its_volume(t):
    path = bound(t, volumeName='v')
    for change in ({'accessModes': ['ReadOnlyMany']}, {'volumeName': 'w'}, {'selector': {'matchLabels': {'a': 'b'}}},
                   {'resources': {'limits': {'storage': '9Gi'}}}):
        a = t.code(t.patch(path, {'spec': change}), 422)
        t.eq(causes(a), [('FieldValueForbidden', 'spec')], f'causes of {change}')
    a = t.code(t.patch(path, {'spec': {'volumeMode': 'Block'}}), 422)
    t.eq(causes(a), [('FieldValueForbidden', 'spec'), ('FieldValueInvalid', 'volumeMode')], 'causes')


@check
def a_class_may_come_late(t):
    t.make(claims(t), claim())
    t.code(t.patch(f'{claims(t)}/c', {'spec': {'storageClassName': 'x'}}), 200)
    t.code(t.patch(f'{claims(t)}/c', {'spec': {'storageClassName': 'y'}}), 422)
    t.code(t.patch(f'{claims(t)}/c', {'spec': {'storageClassName': None}}), 422)


NOTE = 'volume.beta.kubernetes.io/storage-class'


@check
def the_annotation_of_a_class_never_changes(t):
    t.make(claims(t), {**claim(), 'metadata': {'name': 'c', 'annotations': {NOTE: 'x'}}})
    path = f'{claims(t)}/c'
    for value in ('y', None):
        a = t.code(t.patch(path, {'metadata': {'annotations': {NOTE: value}}}), 422)
        t.eq(causes(a), [('FieldValueInvalid', f'metadata.annotations.{NOTE}')], 'causes')
    t.code(t.patch(path, {'spec': {'storageClassName': 'y'}}), 422)
    t.code(t.patch(path, {'metadata': {'annotations': {NOTE: None}}, 'spec': {'storageClassName': 'x'}}), 200)


@check
def a_class_of_attributes_stays_once_it_is_in_force(t):
    path = bound(t, volumeAttributesClassName='gold')
    t.code(t.patch(f'{path}/status', {'status': {'currentVolumeAttributesClassName': 'gold'}}), 200)
    for value, word in ((None, 'nil'), ('', 'empty string')):
        a = t.status(t.patch(path, {'spec': {'volumeAttributesClassName': value}}), 422, 'Invalid',
                     part=f'update to {word} is forbidden when status.currentVolumeAttributesClassName is not nil')
        t.eq(causes(a), [('FieldValueForbidden', 'spec.volumeAttributesClassName')], 'causes')
    t.code(t.patch(path, {'spec': {'volumeAttributesClassName': 'silver'}}), 200)


# ---- PersistentVolumeClaimResize ----

NO_RESIZE = ('persistentvolumeclaims "c" is forbidden: only dynamically provisioned pvc can be resized and the storageclass '
             'that provisions the pvc must support resize')


@check
def a_claim_grows_where_its_class_allows_it(t):
    cls = storage_class(t, allowVolumeExpansion=True)
    path = bound(t, storageClassName=cls)
    t.until('the class is known', lambda: t.patch(path, sized('3Gi')).code == 200)
    t.has(t.read(path), 'spec.resources.requests.storage', '3Gi')


@check
def a_claim_does_not_grow_where_its_class_says_nothing(t):
    path = bound(t, storageClassName=storage_class(t))
    t.status(t.patch(path, sized('3Gi')), 403, 'Forbidden', part=NO_RESIZE, details={'kind': 'persistentvolumeclaims', 'name': 'c'})
    t.code(t.patch(path, {'metadata': {'labels': {'a': 'b'}}}), 200)


@check
def a_claim_without_a_class_does_not_grow(t):
    t.status(t.patch(bound(t, storageClassName=''), sized('3Gi')), 403, 'Forbidden', part=NO_RESIZE)


@check
def a_claim_of_a_missing_class_does_not_grow(t):
    t.status(t.patch(bound(t, storageClassName='missing'), sized('3Gi')), 403, 'Forbidden', part=NO_RESIZE)


# ---- DefaultStorageClass, DefaultIngressClass ----

MARK = 'storageclass.kubernetes.io/is-default-class'
INGRESS_CLASSES = '/apis/networking.k8s.io/v1/ingressclasses'


def given(t, **spec):
    """The class that a new claim gets."""
    return t.post(claims(t), claim(**spec), dryRun='All')['spec.storageClassName']


@check(alone=True)
def a_claim_gets_the_default_class(t):
    t.eq(given(t), None, 'class where there is no default')
    for mark in (MARK, 'storageclass.beta.kubernetes.io/is-default-class'):
        name = storage_class(t, {mark: 'true'})
        t.until('the default class is given', lambda: given(t) == name)
        t.eq(given(t, storageClassName=''), '', 'class of a claim that wants none')
        t.eq(given(t, storageClassName='other'), 'other', 'class of a claim with another')
        a = t.post(claims(t), {**claim(), 'metadata': {'name': 'c', 'annotations': {NOTE: 'x'}}}, dryRun='All')
        t.eq(a['spec.storageClassName'], None, 'class of a claim with the annotation')
        t.code(t.patch(f'{CLASSES}/{name}', {'metadata': {'annotations': {mark: 'false'}}}), 200)
        t.until('there is no default any more', lambda: given(t) is None)


@check(alone=True)
def of_several_default_classes_the_newest_counts(t):
    old = storage_class(t, {MARK: 'true'})
    made = t.read(f'{CLASSES}/{old}')['metadata']['creationTimestamp']
    new = None

    def later():
        nonlocal new
        name = storage_class(t, {MARK: 'true'})
        new = name if t.read(f'{CLASSES}/{name}')['metadata']['creationTimestamp'] > made else None
        return new or t.code(t.delete(f'{CLASSES}/{name}'), 200) is None
    t.until('one is newer', later)
    t.until('it is given', lambda: given(t) == new)


@check(alone=True)
def an_ingress_gets_the_default_class(t):
    name = t.name('ic')
    t.make(INGRESS_CLASSES, {'metadata': {'name': name, 'annotations': {'ingressclass.kubernetes.io/is-default-class': 'true'}},
                             'spec': {'controller': 'example.com/none'}})

    def ingress(notes=None, **spec):
        body = {'metadata': {'name': 'i', 'annotations': notes or {}},
                'spec': {'defaultBackend': {'service': {'name': 's', 'port': {'number': 80}}}, **spec}}
        return t.post(t.at('ingresses', 'networking.k8s.io'), body, dryRun='All')['spec.ingressClassName']
    t.until('it is given', lambda: ingress() == name)
    t.eq(ingress(ingressClassName='other'), 'other', 'class of an Ingress with another')
    t.eq(ingress({'kubernetes.io/ingress.class': 'old'}), None, 'class of an Ingress with the annotation')


# ---- StorageObjectInUseProtection ----

@check
def a_claim_is_protected_from_the_start(t):
    got = t.make(claims(t), claim())
    t.eq(got['metadata']['finalizers'], ['kubernetes.io/pvc-protection'], 'finalizers')
    got = t.make(claims(t), {**claim(), 'metadata': {'name': 'd', 'finalizers': ['a/b', 'kubernetes.io/pvc-protection']}})
    t.eq(got['metadata']['finalizers'], ['a/b', 'kubernetes.io/pvc-protection'], 'finalizers of one that has it')
    got = t.code(t.patch(f'{claims(t)}/c', {'metadata': {'finalizers': None}}), 200)
    t.eq(got['metadata.finalizers'], None, 'finalizers that were taken away')


@check
def a_volume_is_protected_from_the_start(t):
    path, name = '/api/v1/persistentvolumes', t.name('pv')
    got = t.make(path, {'metadata': {'name': name, 'finalizers': ['a/b']}, 'spec': {
        'accessModes': ['ReadWriteOnce'], 'capacity': {'storage': '1Gi'}, 'hostPath': {'path': '/x'}}})
    t.eq(got['metadata']['finalizers'], ['a/b', 'kubernetes.io/pv-protection'], 'finalizers')
    t.code(t.patch(f'{path}/{name}', {'metadata': {'finalizers': None}}), 200)


# ---- PodTopologyLabels ----

ZONE, REGION = 'topology.kubernetes.io/zone', 'topology.kubernetes.io/region'


def placed_node(t):
    name = t.name('node')
    t.make('/api/v1/nodes', node(name, labels={ZONE: 'z', REGION: 'r', 'topology.kubernetes.io/rack': 'k', 'x': 'y'}))
    return name


def bind(t, pod_name, node_name, **meta):
    return t.post(f'{t.pods()}/{pod_name}/binding', {'metadata': {'name': pod_name, **meta},
                                                    'target': {'kind': 'Node', 'name': node_name}})


@check
def a_bound_pod_gets_the_zone_and_region_of_its_node(t):
    name, labels = placed_node(t), {'app': 'x', ZONE: 'other'}
    # A real server's admission reads nodes from a cache.
    t.until('the node is known', lambda: t.post(t.pods(), pod('b', {'nodeName': name}), dryRun='All')['metadata.labels'])
    t.make(t.pods(), pod('a', labels=labels))
    t.code(bind(t, 'a', name), 201)
    t.eq(t.read(f'{t.pods()}/a')['metadata']['labels'], {'app': 'x', ZONE: 'z', REGION: 'r'}, 'labels')


@check
def a_pod_made_for_a_node_gets_its_zone_and_region(t):
    name = placed_node(t)
    t.until('the node is known', lambda: t.post(t.pods(), pod('a', {'nodeName': name}), dryRun='All')['metadata.labels']
            == {ZONE: 'z', REGION: 'r'})


@check
def labels_of_a_binding_replace_those_of_the_pod(t):
    t.make(t.pods(), pod('a', labels={'app': 'x', 'b': 'c'}))
    t.code(bind(t, 'a', 'missing', labels={'app': 'y', 'd': 'e'}), 201)
    t.eq(t.read(f'{t.pods()}/a')['metadata']['labels'], {'app': 'y', 'b': 'c', 'd': 'e'}, 'labels')


@check
def a_bound_pod_is_nominated_no_longer(t):
    t.make(t.pods(), pod('a'))
    t.code(t.patch(f'{t.pods()}/a/status', {'status': {'nominatedNodeName': 'n'}}), 200)
    t.code(bind(t, 'a', 'm'), 201)
    t.true('nominatedNodeName' not in t.read(f'{t.pods()}/a')['status'], 'nominatedNodeName')
