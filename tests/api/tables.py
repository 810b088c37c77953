"""tables.py - Table output: what kubectl get shows of pods, nodes, workloads, events and the rest."""
from client import TABLE, check, config_map, deployment, job, node, pod


def table(t, path, **query):
    a = t.code(t.get(path, accept=TABLE, **query), 200)
    t.has(a, 'kind', 'Table')
    t.has(a, 'apiVersion', 'meta.k8s.io/v1')
    return a


def columns(a):
    return [c['name'] for c in a['columnDefinitions']]


def row(a, i=0):
    """Cells by the names of their columns."""
    return dict(zip(columns(a), a[f'rows.{i}.cells']))


def young(t, age):
    t.true(age[-1] == 's' and int(age[:-1]) < 20, f'age {age}')


@check
def a_table_has_columns_rows_and_a_version(t):
    t.make(t.maps(), config_map('a'))
    a = table(t, t.maps())
    t.true(int(a['metadata.resourceVersion']) > 0, 'no resourceVersion')
    t.eq(columns(a), ['Name', 'Data', 'Age'], 'columns')
    t.eq(len(a['rows']), 1, 'rows')
    first = a['columnDefinitions.0']
    t.eq((first['type'], first['format'], first['priority']), ('string', 'name', 0), 'first column')
    t.true(first['description'], 'no description')


@check
def a_review_has_no_table(t):
    review = {'spec': {'resourceAttributes': {'verb': 'get', 'resource': 'pods'}}}
    path = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews'
    t.status(t.post(path, review, accept=TABLE.split(',')[0]), 406, 'NotAcceptable', part='only the following media types')
    t.code(t.post(path, review, accept=f'{TABLE.split(",")[0]},application/json'), 201)


@check
def a_row_carries_the_metadata_of_its_object(t):
    made = t.make(t.maps(), config_map('a', labels={'x': 'y'}))
    obj = table(t, t.maps())['rows.0.object']
    t.eq((obj['kind'], obj['apiVersion']), ('PartialObjectMetadata', 'meta.k8s.io/v1'), 'kind')
    t.eq(obj['metadata']['uid'], made['metadata']['uid'], 'uid')
    t.has(obj, 'metadata.labels', {'x': 'y'})


@check
def include_object_chooses_what_a_row_carries(t):
    t.make(t.maps(), config_map('a'))
    t.has(table(t, t.maps(), includeObject='Object'), 'rows.0.object.data', {'k': 'v'})
    t.has(table(t, t.maps(), includeObject='None'), 'rows.0.object', None)


@check
def a_table_of_one_object(t):
    t.make(t.maps(), config_map('a'))
    t.eq(len(table(t, f'{t.maps()}/a')['rows']), 1, 'rows')


@check
def an_empty_table_has_columns(t):
    a = table(t, t.pods())
    t.eq(columns(a)[0], 'Name', 'first column')
    t.eq(a['rows'] or [], [], 'rows')


@check
def tables_are_paged(t):
    for n in 'abc':
        t.make(t.maps(), config_map(n))
    a = table(t, t.maps(), limit=2)
    t.eq(len(a['rows']), 2, 'rows')
    t.has(a, 'metadata.remainingItemCount', 1)
    t.eq(len(table(t, t.maps(), limit=2, continue_=a['metadata.continue'])['rows']), 1, 'rest')


@check
def a_table_or_json_when_both_are_accepted(t):
    a = t.code(t.get(t.maps(), accept=f'{TABLE},application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json'), 200)
    t.has(a, 'kind', 'Table')


@check
def pods_have_the_usual_columns(t):
    a = table(t, t.pods())
    t.eq(columns(a), ['Name', 'Ready', 'Status', 'Restarts', 'Age', 'IP', 'Node', 'Nominated Node', 'Readiness Gates'],
         'columns')
    t.eq([c['priority'] for c in a['columnDefinitions']], [0, 0, 0, 0, 0, 1, 1, 1, 1], 'priorities')


@check
def a_pending_pod_in_a_table(t):
    t.make(t.pods(), pod('a'))
    r = row(table(t, t.pods()))
    young(t, r.pop('Age'))
    t.eq(r, {'Name': 'a', 'Ready': '0/1', 'Status': 'Pending', 'Restarts': '0', 'IP': '<none>', 'Node': '<none>',
             'Nominated Node': '<none>', 'Readiness Gates': '<none>'}, 'row')


def pod_status(t, status, name='a', **spec):
    t.make(t.pods(), pod(name, {'nodeName': 'n1', **spec}))
    t.code(t.patch(f'{t.pods()}/{name}/status', {'status': status}), 200)
    return row(table(t, f'{t.pods()}/{name}'))


def container_status(state, ready=False, restarts=0, **more):
    return {'name': 'main', 'image': 'i', 'imageID': '', 'ready': ready, 'restartCount': restarts, 'state': state, **more}


@check
def a_running_pod_in_a_table(t):
    r = pod_status(t, {'phase': 'Running', 'podIP': '10.0.0.5', 'podIPs': [{'ip': '10.0.0.5'}], 'containerStatuses': [
        container_status({'running': {'startedAt': '2026-01-01T00:00:00Z'}}, True, 0)],
        'conditions': [{'type': 'Ready', 'status': 'True'}]})
    t.eq((r['Ready'], r['Status'], r['Restarts'], r['IP'], r['Node']), ('1/1', 'Running', '0', '10.0.0.5', 'n1'), 'row')


@check
def a_crashing_pod_in_a_table(t):
    r = pod_status(t, {'phase': 'Running', 'containerStatuses': [
        container_status({'waiting': {'reason': 'CrashLoopBackOff'}}, False, 3)]})
    t.eq((r['Ready'], r['Status'], r['Restarts']), ('0/1', 'CrashLoopBackOff', '3'), 'row')


@check
def restarts_tell_when_the_last_was(t):
    r = pod_status(t, {'phase': 'Running', 'containerStatuses': [container_status(
        {'running': {}}, True, 2, lastState={'terminated': {'exitCode': 1, 'finishedAt': '2020-01-01T00:00:00Z'}})]})
    t.true(r['Restarts'].startswith('2 (') and r['Restarts'].endswith(' ago)'), r['Restarts'])


@check
def a_finished_pod_in_a_table(t):
    r = pod_status(t, {'phase': 'Succeeded', 'containerStatuses': [
        container_status({'terminated': {'exitCode': 0, 'reason': 'Completed'}})]})
    t.eq((r['Ready'], r['Status']), ('0/1', 'Completed'), 'row')


@check
def a_failed_pod_without_a_reason_shows_its_exit_code(t):
    r = pod_status(t, {'phase': 'Failed', 'containerStatuses': [container_status({'terminated': {'exitCode': 3}})]})
    t.eq(r['Status'], 'ExitCode:3', 'status')


@check
def an_evicted_pod_shows_its_reason(t):
    t.eq(pod_status(t, {'phase': 'Failed', 'reason': 'Evicted'})['Status'], 'Evicted', 'status')


@check
def a_terminating_pod_in_a_table(t):
    t.make(t.pods(), pod('a', {'nodeName': 'n1'}))
    t.code(t.delete(f'{t.pods()}/a'), 200)
    t.eq(row(table(t, t.pods()))['Status'], 'Terminating', 'status')


@check
def a_gated_pod_in_a_table(t):
    t.make(t.pods(), pod('a', {'schedulingGates': [{'name': 'e.com/x'}]}))
    t.eq(row(table(t, t.pods()))['Status'], 'SchedulingGated', 'status')


@check
def a_pod_in_initialisation_in_a_table(t):
    r = pod_status(t, {'phase': 'Pending', 'initContainerStatuses': [
        {**container_status({'running': {}}), 'name': 'init'}]}, initContainers=[{'name': 'init', 'image': 'i'}])
    t.eq(r['Status'], 'Init:0/1', 'status')


@check
def nodes_have_the_usual_columns(t):
    a = table(t, '/api/v1/nodes', limit=1)
    t.eq(columns(a), ['Name', 'Status', 'Roles', 'Age', 'Version', 'Internal-IP', 'External-IP', 'OS-Image', 'Kernel-Version',
                      'Container-Runtime'], 'columns')


@check
def a_ready_node_in_a_table(t):
    n = t.name('node')
    t.make('/api/v1/nodes', {**node(n, labels={'node-role.kubernetes.io/worker': ''}), 'spec': {'unschedulable': True}, 'status': {
        'conditions': [{'type': 'Ready', 'status': 'True'}], 'addresses': [{'type': 'InternalIP', 'address': '10.1.1.1'}],
        'nodeInfo': {'kubeletVersion': 'v1.35.4', 'osImage': 'Debian', 'kernelVersion': '6.1', 'machineID': '', 'systemUUID': '',
                     'bootID': '', 'containerRuntimeVersion': 'containerd://2', 'kubeProxyVersion': '', 'operatingSystem': 'linux',
                     'architecture': 'amd64'}}})
    r = row(table(t, f'/api/v1/nodes/{n}'))
    young(t, r.pop('Age'))
    t.eq(r, {'Name': n, 'Status': 'Ready,SchedulingDisabled', 'Roles': 'worker', 'Version': 'v1.35.4', 'Internal-IP': '10.1.1.1',
             'External-IP': '<none>', 'OS-Image': 'Debian', 'Kernel-Version': '6.1', 'Container-Runtime': 'containerd://2'}, 'row')


@check
def an_unknown_node_in_a_table(t):
    n = t.name('node')
    t.make('/api/v1/nodes', node(n))
    r = row(table(t, f'/api/v1/nodes/{n}'))
    t.eq((r['Status'], r['Roles'], r['Internal-IP'], r['OS-Image']), ('Unknown', '<none>', '<none>', '<unknown>'), 'row')


@check
def a_node_that_is_not_ready_in_a_table(t):
    n = t.name('node')
    t.make('/api/v1/nodes', node(n, {'conditions': [{'type': 'Ready', 'status': 'False'}]}))
    t.eq(row(table(t, f'/api/v1/nodes/{n}'))['Status'], 'NotReady', 'status')


@check
def deployments_in_a_table(t):
    path = t.at('deployments', 'apps')
    t.make(path, deployment('d', {'replicas': 3}))
    t.code(t.patch(f'{path}/d/status', {'status': {'replicas': 3, 'readyReplicas': 2, 'updatedReplicas': 3,
                                                   'availableReplicas': 2, 'observedGeneration': 1}}), 200)
    r = row(table(t, path))
    young(t, r.pop('Age'))
    t.eq(r, {'Name': 'd', 'Ready': '2/3', 'Up-to-date': 3, 'Available': 2, 'Containers': 'main', 'Images': 'busybox:1',
             'Selector': 'app=x'}, 'row')


@check
def replica_sets_in_a_table(t):
    path = t.at('replicasets', 'apps')
    t.make(path, {**deployment('d', {'replicas': 3}), 'kind': 'ReplicaSet'})
    r = row(table(t, path))
    young(t, r.pop('Age'))
    t.eq(r, {'Name': 'd', 'Desired': 3, 'Current': 0, 'Ready': 0, 'Containers': 'main', 'Images': 'busybox:1',
             'Selector': 'app=x'}, 'row')


@check
def stateful_and_daemon_sets_in_a_table(t):
    t.make(t.at('statefulsets', 'apps'), {**deployment('s', {'serviceName': 'x', 'replicas': 2}), 'kind': 'StatefulSet'})
    r = row(table(t, t.at('statefulsets', 'apps')))
    t.eq((r['Name'], r['Ready']), ('s', '0/2'), 'row')
    t.make(t.at('daemonsets', 'apps'), {**deployment('s'), 'kind': 'DaemonSet'})
    a = table(t, t.at('daemonsets', 'apps'))
    t.eq(columns(a), ['Name', 'Desired', 'Current', 'Ready', 'Up-to-date', 'Available', 'Node Selector', 'Age', 'Containers',
                      'Images', 'Selector'], 'columns')
    t.eq(row(a)['Node Selector'], '<none>', 'node selector')


@check
def jobs_in_a_table(t):
    path = t.at('jobs', 'batch')
    t.make(path, job('j', {'completions': 3}))
    r = row(table(t, path))
    t.eq((r['Name'], r['Status'], r['Completions'], r['Duration']), ('j', 'Running', '0/3', ''), 'row')


@check
def suspended_jobs_in_a_table(t):
    path = t.at('jobs', 'batch')
    t.make(path, job('j', {'suspend': True}))
    t.code(t.patch(f'{path}/j/status', {'status': {'conditions': [{'type': 'Suspended', 'status': 'True'}]}}), 200)
    t.eq(row(table(t, path))['Status'], 'Suspended', 'status')


@check
def events_in_a_table(t):
    path = t.at('events')
    t.make(path, {'metadata': {'name': 'e'}, 'reason': 'Pulled', 'type': 'Normal', 'message': 'got it\n', 'count': 4,
                  'involvedObject': {'kind': 'Pod', 'name': 'p', 'namespace': t.ns, 'fieldPath': 'spec.containers{x}'},
                  'source': {'component': 'kubelet', 'host': 'n1'}, 'firstTimestamp': '2026-01-01T00:00:00Z',
                  'lastTimestamp': '2026-01-01T00:00:00Z'})
    a = table(t, path)
    t.eq(columns(a), ['Last Seen', 'Type', 'Reason', 'Object', 'Subobject', 'Source', 'Message', 'First Seen', 'Count', 'Name'],
         'columns')
    r = row(a)
    t.eq((r['Type'], r['Reason'], r['Object'], r['Subobject'], r['Source'], r['Message'], r['Count'], r['Name']),
         ('Normal', 'Pulled', 'pod/p', 'spec.containers{x}', 'kubelet, n1', 'got it', 4, 'e'), 'row')


@check
def namespaces_in_a_table(t):
    r = row(table(t, f'/api/v1/namespaces/{t.ns}'))
    t.eq((r['Name'], r['Status']), (t.ns, 'Active'), 'row')


@check
def services_in_a_table(t):
    t.make(t.at('services'), {'metadata': {'name': 's'}, 'spec': {'ports': [{'port': 80}], 'selector': {'a': 'b'},
                                                                 'clusterIP': 'None'}})
    r = row(table(t, t.at('services')))
    t.eq((r['Type'], r['Cluster-IP'], r['External-IP'], r['Port(s)'], r['Selector']),
         ('ClusterIP', 'None', '<none>', '80/TCP', 'a=b'), 'row')


@check
def budgets_in_a_table(t):
    path = t.at('poddisruptionbudgets', 'policy')
    t.make(path, {'metadata': {'name': 'b'}, 'spec': {'minAvailable': '50%', 'selector': {}}})
    r = row(table(t, path))
    t.eq((r['Min Available'], r['Max Unavailable'], r['Allowed Disruptions']), ('50%', 'N/A', 0), 'row')


@check
def priority_classes_in_a_table(t):
    r = row(table(t, '/apis/scheduling.k8s.io/v1/priorityclasses/system-node-critical'))
    t.eq((r['Name'], r['Value'], r['Global-Default']), ('system-node-critical', 2000001000, False), 'row')


@check
def leases_in_a_table(t):
    path = t.at('leases', 'coordination.k8s.io')
    t.make(path, {'metadata': {'name': 'l'}, 'spec': {'holderIdentity': 'me'}})
    t.eq(row(table(t, path))['Holder'], 'me', 'holder')


@check
def secrets_in_a_table(t):
    t.make(t.at('secrets'), {'metadata': {'name': 's'}, 'stringData': {'a': '1', 'b': '2'}})
    r = row(table(t, t.at('secrets')))
    t.eq((r['Type'], r['Data']), ('Opaque', 2), 'row')


@check
def claims_in_a_table(t):
    path = t.at('persistentvolumeclaims')
    t.make(path, {'metadata': {'name': 'c'}, 'spec': {'accessModes': ['ReadWriteOnce'], 'storageClassName': 'fast',
                                                     'resources': {'requests': {'storage': '1Gi'}}}})
    r = row(table(t, path))
    t.eq((r['Status'], r['Volume'], r['StorageClass'], r['VolumeMode']), ('Pending', '', 'fast', 'Filesystem'), 'row')


@check
def definitions_in_a_table(t):
    r = row(table(t, '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/podgroups.scheduling.sigs.k8s.io'))
    t.true(r['Name'] == 'podgroups.scheduling.sigs.k8s.io' and r['Created At'].endswith('Z'), f'row {r}')


NETWORKING = '/apis/networking.k8s.io/v1'


@check
def an_ingress_shows_class_hosts_and_ports(t):
    path = f'{NETWORKING}/namespaces/{t.ns}/ingresses'
    backend = {'service': {'name': 's', 'port': {'number': 80}}}
    rules = [{'host': h, 'http': {'paths': [{'path': '/', 'pathType': 'Prefix', 'backend': backend}]}}
             for h in ('a.x', 'b.x', 'c.x', 'd.x')]
    t.make(path, {'metadata': {'name': 'i'}, 'spec': {'ingressClassName': 'nginx', 'rules': rules, 'tls': [{}]}})
    r = row(table(t, path))
    t.eq((r['Class'], r['Hosts'], r['Address'], r['Ports']), ('nginx', 'a.x,b.x,c.x + 1 more...', '', '80, 443'), 'cells')


@check
def a_network_policy_shows_its_selector_and_gets_its_types(t):
    path = f'{NETWORKING}/namespaces/{t.ns}/networkpolicies'
    made = t.make(path, {'metadata': {'name': 'p'},
                         'spec': {'podSelector': {'matchLabels': {'a': 'b'}}, 'egress': [{'ports': [{'port': 53}]}]}})
    t.eq(made['spec']['policyTypes'], ['Ingress', 'Egress'], 'types')
    t.eq(made['spec']['egress'][0]['ports'][0]['protocol'], 'TCP', 'protocol')
    t.eq(row(table(t, path))['Pod-Selector'], 'a=b', 'selector')


@check
def an_autoscaler_shows_reference_targets_and_bounds(t):
    path = f'/apis/autoscaling/v2/namespaces/{t.ns}/horizontalpodautoscalers'
    made = t.make(path, {'metadata': {'name': 'h'}, 'spec': {
        'scaleTargetRef': {'apiVersion': 'apps/v1', 'kind': 'Deployment', 'name': 'd'}, 'maxReplicas': 3}})
    t.eq(made['spec']['minReplicas'], 1, 'minReplicas')
    t.eq(made['spec']['metrics'][0]['resource']['target'], {'type': 'Utilization', 'averageUtilization': 80}, 'target')
    r = row(table(t, path))
    t.eq((r['Reference'], r['Targets'], r['MinPods'], r['MaxPods'], r['Replicas']),
         ('Deployment/d', 'cpu: <unknown>/80%', '1', 3, 0), 'cells')


@check
def stored_kinds_show_what_matters(t):
    rows = [('/apis/node.k8s.io/v1/runtimeclasses', {'handler': 'runc'}, ('Handler', 'runc')),
            (f'{NETWORKING}/ingressclasses', {'spec': {'controller': 'a.com/c'}}, ('Controller', 'a.com/c')),
            ('/apis/storage.k8s.io/v1/volumeattributesclasses', {'driverName': 'a.com', 'parameters': {'a': 'b'}},
             ('DriverName', 'a.com')),
            ('/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations',
             {'spec': {'type': 'Limited', 'limited': {'limitResponse': {'type': 'Queue', 'queuing': {}}}}},
             ('Queues', '64'))]
    for path, fields, (column, cell) in rows:
        name = t.name()
        t.make(path, {'metadata': {'name': name}, **fields})
        t.eq(str(row(table(t, f'{path}/{name}'))[column]), cell, path)


@check
def slices_classes_and_claims_in_tables(t):
    group, name = '/apis/resource.k8s.io/v1', t.name('dev')
    t.make(f'{group}/deviceclasses', {'metadata': {'name': name}, 'spec': {}})
    a = table(t, f'{group}/deviceclasses/{name}')
    t.eq((columns(a), row(a)['Name']), (['Name', 'Age'], name), 'class')
    t.make(f'{group}/resourceslices', {'metadata': {'name': name}, 'spec': {
        'driver': 'd.example.com', 'nodeName': 'n1', 'pool': {'name': 'p1', 'resourceSliceCount': 1, 'generation': 1}, 'devices': [{'name': 'd0'}]}})
    a = table(t, f'{group}/resourceslices/{name}')
    t.eq(columns(a), ['Name', 'Node', 'Driver', 'Pool', 'Age'], 'columns of a slice')
    t.eq(a['rows.0.cells'][:4], [name, 'n1', 'd.example.com', 'p1'], 'slice')
    t.make(f'{group}/namespaces/{t.ns}/resourceclaims', {'metadata': {'name': 'c'}, 'spec': {'devices': {'requests': [
        {'name': 'r', 'exactly': {'deviceClassName': name}}]}}})
    a = table(t, f'{group}/namespaces/{t.ns}/resourceclaims')
    t.eq((columns(a), a['rows.0.cells'][:2]), (['Name', 'State', 'Age'], ['c', 'pending']), 'claim')
