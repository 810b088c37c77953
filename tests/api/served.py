"""served.py - every built-in resource in discovery, whole: what kube-apiserver 1.35 says of what it serves by default."""
from client import check

VERBS = 'create delete deletecollection get list patch update watch'.split()
# A line per resource: name, kind (of a subresource with its group and version where they are others), scope, verbs, short names,
# categories, hash of the version it is stored in. The singular name is the kind in small letters.
TABLE = """
/api/v1
    bindings                       Binding                                namespaced  create                                     -       -    -
    componentstatuses              ComponentStatus                        cluster     get,list                                   cs      -    -
    configmaps                     ConfigMap                              namespaced  all                                        cm      -    qFsyl6wFWjQ=
    endpoints                      Endpoints                              namespaced  all                                        ep      -    fWeeMqaN/OA=
    events                         Event                                  namespaced  all                                        ev      -    r2yiGXH7wu8=
    limitranges                    LimitRange                             namespaced  all                                        limits  -    EBKMFVe6cwo=
    namespaces                     Namespace                              cluster     create,delete,get,list,patch,update,watch  ns      -    Q3oi5N2YM8M=
    namespaces/finalize            Namespace                              cluster     update                                     -       -    -
    namespaces/status              Namespace                              cluster     get,patch,update                           -       -    -
    nodes                          Node                                   cluster     all                                        no      -    XwShjMxG9Fs=
    nodes/proxy                    NodeProxyOptions                       cluster     create,delete,get,patch,update             -       -    -
    nodes/status                   Node                                   cluster     get,patch,update                           -       -    -
    persistentvolumeclaims         PersistentVolumeClaim                  namespaced  all                                        pvc     -    QWTyNDq0dC4=
    persistentvolumeclaims/status  PersistentVolumeClaim                  namespaced  get,patch,update                           -       -    -
    persistentvolumes              PersistentVolume                       cluster     all                                        pv      -    HN/zwEC+JgM=
    persistentvolumes/status       PersistentVolume                       cluster     get,patch,update                           -       -    -
    pods                           Pod                                    namespaced  all                                        po      all  xPOwRZ+Yhw8=
    pods/attach                    PodAttachOptions                       namespaced  create,get                                 -       -    -
    pods/binding                   Binding                                namespaced  create                                     -       -    -
    pods/ephemeralcontainers       Pod                                    namespaced  get,patch,update                           -       -    -
    pods/eviction                  policy/v1/Eviction                     namespaced  create                                     -       -    -
    pods/exec                      PodExecOptions                         namespaced  create,get                                 -       -    -
    pods/log                       Pod                                    namespaced  get                                        -       -    -
    pods/portforward               PodPortForwardOptions                  namespaced  create,get                                 -       -    -
    pods/proxy                     PodProxyOptions                        namespaced  create,delete,get,patch,update             -       -    -
    pods/resize                    Pod                                    namespaced  get,patch,update                           -       -    -
    pods/status                    Pod                                    namespaced  get,patch,update                           -       -    -
    podtemplates                   PodTemplate                            namespaced  all                                        -       -    LIXB2x4IFpk=
    replicationcontrollers         ReplicationController                  namespaced  all                                        rc      all  Jond2If31h0=
    replicationcontrollers/scale   autoscaling/v1/Scale                   namespaced  get,patch,update                           -       -    -
    replicationcontrollers/status  ReplicationController                  namespaced  get,patch,update                           -       -    -
    resourcequotas                 ResourceQuota                          namespaced  all                                        quota   -    8uhSgffRX6w=
    resourcequotas/status          ResourceQuota                          namespaced  get,patch,update                           -       -    -
    secrets                        Secret                                 namespaced  all                                        -       -    S6u1pOWzb84=
    serviceaccounts                ServiceAccount                         namespaced  all                                        sa      -    pbx9ZvyFpBE=
    serviceaccounts/token          authentication.k8s.io/v1/TokenRequest  namespaced  create                                     -       -    -
    services                       Service                                namespaced  all                                        svc     all  0/CO1lhkEBI=
    services/proxy                 ServiceProxyOptions                    namespaced  create,delete,get,patch,update             -       -    -
    services/status                Service                                namespaced  get,patch,update                           -       -    -
/apis/admissionregistration.k8s.io/v1
    mutatingwebhookconfigurations       MutatingWebhookConfiguration      cluster  all               -  api-extensions  Sqi0GUgDaX0=
    validatingadmissionpolicies         ValidatingAdmissionPolicy         cluster  all               -  api-extensions  6OxvlMmQ6is=
    validatingadmissionpolicies/status  ValidatingAdmissionPolicy         cluster  get,patch,update  -  -               -
    validatingadmissionpolicybindings   ValidatingAdmissionPolicyBinding  cluster  all               -  api-extensions  v9715VZqakg=
    validatingwebhookconfigurations     ValidatingWebhookConfiguration    cluster  all               -  api-extensions  B0wHjQmsGNk=
/apis/apiextensions.k8s.io/v1
    customresourcedefinitions         CustomResourceDefinition  cluster  all               crd,crds  api-extensions  jfWCUB31mvA=
    customresourcedefinitions/status  CustomResourceDefinition  cluster  get,patch,update  -         -               -
/apis/apiregistration.k8s.io/v1
    apiservices         APIService  cluster  all               -  api-extensions  InPBPD7+PqM=
    apiservices/status  APIService  cluster  get,patch,update  -  -               -
/apis/apps/v1
    controllerrevisions  ControllerRevision    namespaced  all               -       -    85nkx63pcBU=
    daemonsets           DaemonSet             namespaced  all               ds      all  dd7pWHUlMKQ=
    daemonsets/status    DaemonSet             namespaced  get,patch,update  -       -    -
    deployments          Deployment            namespaced  all               deploy  all  8aSe+NMegvE=
    deployments/scale    autoscaling/v1/Scale  namespaced  get,patch,update  -       -    -
    deployments/status   Deployment            namespaced  get,patch,update  -       -    -
    replicasets          ReplicaSet            namespaced  all               rs      all  P1RzHs8/mWQ=
    replicasets/scale    autoscaling/v1/Scale  namespaced  get,patch,update  -       -    -
    replicasets/status   ReplicaSet            namespaced  get,patch,update  -       -    -
    statefulsets         StatefulSet           namespaced  all               sts     all  H+vl74LkKdo=
    statefulsets/scale   autoscaling/v1/Scale  namespaced  get,patch,update  -       -    -
    statefulsets/status  StatefulSet           namespaced  get,patch,update  -       -    -
/apis/authentication.k8s.io/v1
    selfsubjectreviews  SelfSubjectReview  cluster  create  -  -  -
    tokenreviews        TokenReview        cluster  create  -  -  -
/apis/authorization.k8s.io/v1
    localsubjectaccessreviews  LocalSubjectAccessReview  namespaced  create  -  -  -
    selfsubjectaccessreviews   SelfSubjectAccessReview   cluster     create  -  -  -
    selfsubjectrulesreviews    SelfSubjectRulesReview    cluster     create  -  -  -
    subjectaccessreviews       SubjectAccessReview       cluster     create  -  -  -
/apis/autoscaling/v1
    horizontalpodautoscalers         HorizontalPodAutoscaler  namespaced  all               hpa  all  qwQve8ut294=
    horizontalpodautoscalers/status  HorizontalPodAutoscaler  namespaced  get,patch,update  -    -    -
/apis/autoscaling/v2
    horizontalpodautoscalers         HorizontalPodAutoscaler  namespaced  all               hpa  all  qwQve8ut294=
    horizontalpodautoscalers/status  HorizontalPodAutoscaler  namespaced  get,patch,update  -    -    -
/apis/batch/v1
    cronjobs         CronJob  namespaced  all               cj  all  sd5LIXh4Fjs=
    cronjobs/status  CronJob  namespaced  get,patch,update  -   -    -
    jobs             Job      namespaced  all               -   all  mudhfqk/qZY=
    jobs/status      Job      namespaced  get,patch,update  -   -    -
/apis/certificates.k8s.io/v1
    certificatesigningrequests           CertificateSigningRequest  cluster  all               csr  -  95fRKMXA+00=
    certificatesigningrequests/approval  CertificateSigningRequest  cluster  get,patch,update  -    -  -
    certificatesigningrequests/status    CertificateSigningRequest  cluster  get,patch,update  -    -  -
/apis/coordination.k8s.io/v1
    leases  Lease  namespaced  all  -  -  gqkMMb/YqFM=
/apis/discovery.k8s.io/v1
    endpointslices  EndpointSlice  namespaced  all  -  -  qgS0xkrxYAI=
/apis/events.k8s.io/v1
    events  Event  namespaced  all  ev  -  r2yiGXH7wu8=
/apis/flowcontrol.apiserver.k8s.io/v1
    flowschemas                         FlowSchema                  cluster  all               -  -  GJVAJZSZBIw=
    flowschemas/status                  FlowSchema                  cluster  get,patch,update  -  -  -
    prioritylevelconfigurations         PriorityLevelConfiguration  cluster  all               -  -  Kir5PVfvNeI=
    prioritylevelconfigurations/status  PriorityLevelConfiguration  cluster  get,patch,update  -  -  -
/apis/networking.k8s.io/v1
    ingressclasses       IngressClass   cluster     all               -       -  l/iqIbDgFyQ=
    ingresses            Ingress        namespaced  all               ing     -  39NQlfNR+bo=
    ingresses/status     Ingress        namespaced  get,patch,update  -       -  -
    ipaddresses          IPAddress      cluster     all               ip      -  3f/plJFChNE=
    networkpolicies      NetworkPolicy  namespaced  all               netpol  -  YpfwF18m1G8=
    servicecidrs         ServiceCIDR    cluster     all               -       -  gNLvruQhW2g=
    servicecidrs/status  ServiceCIDR    cluster     get,patch,update  -       -  -
/apis/node.k8s.io/v1
    runtimeclasses  RuntimeClass  cluster  all  -  -  WQTu1GL3T2Q=
/apis/policy/v1
    poddisruptionbudgets         PodDisruptionBudget  namespaced  all               pdb  -  EVWiDmWqyJw=
    poddisruptionbudgets/status  PodDisruptionBudget  namespaced  get,patch,update  -    -  -
/apis/rbac.authorization.k8s.io/v1
    clusterrolebindings  ClusterRoleBinding  cluster     all  -  -  48tpQ8gZHFc=
    clusterroles         ClusterRole         cluster     all  -  -  bYE5ZWDrJ44=
    rolebindings         RoleBinding         namespaced  all  -  -  eGsCzGH6b1g=
    roles                Role                namespaced  all  -  -  7FuwZcIIItM=
/apis/resource.k8s.io/v1
    deviceclasses           DeviceClass            cluster     all               -  -  Yk2PTc1Ybxk=
    resourceclaims          ResourceClaim          namespaced  all               -  -  wgAZaHcZxUg=
    resourceclaims/status   ResourceClaim          namespaced  get,patch,update  -  -  -
    resourceclaimtemplates  ResourceClaimTemplate  namespaced  all               -  -  TuzjC49aUfM=
    resourceslices          ResourceSlice          cluster     all               -  -  KsC072WgaEY=
/apis/scheduling.k8s.io/v1
    priorityclasses  PriorityClass  cluster  all  pc  -  1QwjyaZjj3Y=
/apis/storage.k8s.io/v1
    csidrivers                CSIDriver              cluster     all               -    -  hL6j/rwBV5w=
    csinodes                  CSINode                cluster     all               -    -  Pe62DkZtjuo=
    csistoragecapacities      CSIStorageCapacity     namespaced  all               -    -  xeVl+2Ly1kE=
    storageclasses            StorageClass           cluster     all               sc   -  K+m6uJwbjGY=
    volumeattachments         VolumeAttachment       cluster     all               -    -  tJx/ezt6UDU=
    volumeattachments/status  VolumeAttachment       cluster     get,patch,update  -    -  -
    volumeattributesclasses   VolumeAttributesClass  cluster     all               vac  -  Bl3MtjZ/n/s=
"""


def entry(words):
    name, kind, scope, verbs, short, categories, stored = words.split()
    *version, kind = kind.rsplit('/', 2)
    e = {'name': name, 'singularName': '' if '/' in name else kind.lower(), 'namespaced': scope == 'namespaced', 'kind': kind,
         'verbs': VERBS if verbs == 'all' else verbs.split(',')}
    lists = {'shortNames': short, 'categories': categories}
    return {**e, **{k: v.split(',') for k, v in lists.items() if v != '-'}, **dict(zip(('group', 'version'), version)),
            **({'storageVersionHash': stored} if stored != '-' else {})}


def table():
    """Path of a group version to its entries."""
    lists = {}
    for line in TABLE.strip().split('\n'):
        if line.startswith('/'):
            path = line
            lists[path] = []
        else:
            lists[path].append(entry(line))
    return lists


def group_version(path):
    def run(t):
        got = t.read(path)['resources']
        want = table()[path]
        t.eq([r['name'] for r in got], [r['name'] for r in want], 'names')
        for g, w in zip(got, want):
            t.eq(g, w, w['name'])
    run.__name__ = f'all_of_{path[1:].replace("/", "_")}'
    check(run)


for _path in table():
    group_version(_path)


def aggregated(r):
    """An entry of the aggregated form, and those of its subresources, as the old form has them."""
    def kind(of):
        k = of['responseKind']
        return {'kind': k['kind'], **{f: k[f] for f in ('group', 'version') if k[f]}}
    namespaced = r['scope'] == 'Namespaced'
    yield {'name': r['resource'], 'singularName': r['singularResource'], 'namespaced': namespaced, **kind(r), 'verbs': r['verbs'],
           **{f: r[f] for f in ('shortNames', 'categories') if f in r}}
    for s in r.get('subresources', []):
        yield {'name': f'{r["resource"]}/{s["subresource"]}', 'singularName': '', 'namespaced': namespaced, **kind(s), 'verbs': s['verbs']}


@check
def both_forms_of_discovery_say_the_same(t):
    form = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList'
    groups = [g for path in ('/api', '/apis') for g in t.code(t.get(path, accept=form), 200).json['items']]
    got = {f'/apis/{g["metadata"]["name"]}/{v["version"]}' if g['metadata'].get('name') else f'/api/{v["version"]}': v['resources']
           for g in groups for v in g['versions']}
    for path, entries in table().items():
        whole = {e['name']: {k: v for k, v in e.items() if k != 'storageVersionHash'} for e in entries}
        t.eq({e['name']: e for r in got[path] for e in aggregated(r)}, whole, path)
