"""python_cases.py - run by the Python of test_python's virtual environment; see there.

usage: python_cases.py [--skip=NAME]... [NAME]...      KUBECONFIG says which server
"""
import datetime
import os
import sys
import time
import types
import unittest
import uuid

from kubernetes import client, config, utils, watch
from kubernetes.client.rest import ApiException
from kubernetes.dynamic import DynamicClient
from kubernetes.dynamic.exceptions import ConflictError
from kubernetes.leaderelection.leaderelectionrecord import LeaderElectionRecord
from kubernetes.leaderelection.resourcelock.configmaplock import ConfigMapLock

PATIENCE_S = 60


def configuration():
    c = client.Configuration()
    config.load_kube_config(config_file=os.environ['KUBECONFIG'], client_configuration=c)
    return c


# The package's tests take their server from a module that the package does not carry.
BASE = types.ModuleType('kubernetes.e2e_test.base')
BASE.get_e2e_configuration = configuration
E2E = types.ModuleType('kubernetes.e2e_test')
E2E.base = BASE
sys.modules.update({'kubernetes.e2e_test': E2E, 'kubernetes.e2e_test.base': BASE})


def some(what):
    return f'{what}-{uuid.uuid4().hex[:10]}'


def container(name='main', image='busybox', **more):
    return {'name': name, 'image': image, **more}


def workload(kind, name, replicas, version='apps/v1'):
    labels = {'app': name}
    selector = {'matchLabels': labels} if version == 'apps/v1' else labels
    return {'apiVersion': version, 'kind': kind, 'metadata': {'name': name, 'labels': labels},
            'spec': {'replicas': replicas, 'selector': selector,
                     'template': {'metadata': {'labels': labels}, 'spec': {'containers': [container()]}}}}


def config_map(name, **data):
    return {'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': name}, 'data': data}


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.api = client.ApiClient(configuration=configuration())
        cls.core, cls.apps, cls.batch = client.CoreV1Api(cls.api), client.AppsV1Api(cls.api), client.BatchV1Api(cls.api)
        cls.rbac, cls.custom = client.RbacAuthorizationV1Api(cls.api), client.CustomObjectsApi(cls.api)
        cls.ns = some('python')
        cls.core.create_namespace({'metadata': {'name': cls.ns}})

    @classmethod
    def tearDownClass(cls):
        cls.core.delete_namespace(cls.ns)

    def until(self, fn):
        end = time.monotonic() + PATIENCE_S
        while not (got := fn()):
            self.assertLess(time.monotonic(), end, 'it does not happen')
            time.sleep(0.1)
        return got

    def refused(self, status, fn, *args, **named):
        with self.assertRaises(ApiException) as caught:
            fn(*args, **named)
        self.assertEqual(status, caught.exception.status)
        return caught.exception


class Typed(Case):
    """CoreV1Api and its sisters."""

    def test_service(self):
        name = some('service')
        body = {'metadata': {'name': name, 'resourceVersion': ''},
                'spec': {'ports': [{'name': 'port', 'port': 80, 'protocol': 'TCP', 'targetPort': 80}]}}
        made = self.core.create_namespaced_service(self.ns, body)
        self.assertTrue(made.spec.cluster_ip and made.status is not None)
        self.assertEqual(name, self.core.read_namespaced_service(name, self.ns).metadata.name)
        body['spec']['ports'] = [{'name': 'new', 'port': 8080, 'protocol': 'TCP', 'targetPort': 8080}]
        ports = self.core.patch_namespaced_service(name, self.ns, body).spec.ports
        self.assertEqual([80, 8080], sorted(p.port for p in ports))
        gone = self.core.delete_namespaced_service(name, self.ns)
        self.assertEqual(name, gone.metadata.name)
        self.refused(404, self.core.read_namespaced_service, name, self.ns)

    def test_replication_controller(self):
        name = some('rc')
        made = self.core.create_namespaced_replication_controller(self.ns, workload('ReplicationController', name, 2, 'v1'))
        self.assertEqual(2, made.spec.replicas)
        scale = self.core.read_namespaced_replication_controller_scale(name, self.ns)
        self.assertEqual(2, scale.spec.replicas)
        scale.spec.replicas = 1
        # Its controller writes the status meanwhile, so the version that was read may be an old one.
        scale.metadata.resource_version = None
        self.assertEqual(1, self.core.replace_namespaced_replication_controller_scale(name, self.ns, scale).spec.replicas)
        self.core.delete_namespaced_replication_controller(name, self.ns, propagation_policy='Background')

    def test_config_map(self):
        name = some('map')
        body = config_map(name, **{'config.json': '{"command": "x"}', 'frontend.cnf': '[a]\nb = 1\n'})
        body['metadata']['labels'] = {'case': name}
        self.core.create_namespaced_config_map(self.ns, body)
        body['data']['config.json'] = '{}'
        self.assertEqual('{}', self.core.patch_namespaced_config_map(name, self.ns, body).data['config.json'])
        self.assertEqual(1, len(self.core.list_namespaced_config_map(self.ns, label_selector=f'case={name}').items))
        self.core.delete_namespaced_config_map(name, self.ns, body={})
        self.assertEqual([], self.core.list_namespaced_config_map(self.ns, label_selector=f'case={name}', pretty=True).items)

    def test_nodes(self):
        for item in self.core.list_node().items:
            node = self.core.read_node(item.metadata.name)
            self.assertTrue(node.metadata.labels and node.status.node_info.kubelet_version)

    def test_pod_runs(self):
        name = some('pod')
        made = self.core.create_namespaced_pod(self.ns, {'metadata': {'name': name}, 'spec': {'containers': [container()]}})
        self.assertEqual('Pending', made.status.phase)
        self.until(lambda: self.core.read_namespaced_pod(name, self.ns).status.phase == 'Running')
        self.assertTrue(self.core.list_pod_for_all_namespaces(field_selector=f'metadata.name={name}').items[0].status.pod_ip)
        gone = self.core.delete_namespaced_pod(name, self.ns)
        self.assertTrue(gone.metadata.deletion_timestamp)

    def test_patches(self):
        """A list body is a JSON patch, a dictionary a strategic merge, as the client chooses them."""
        name = some('patches')
        self.apps.create_namespaced_deployment(self.ns, workload('Deployment', name, 0))
        got = self.apps.patch_namespaced_deployment(name, self.ns, {'spec': {'template': {'spec': {'containers': [
            container(image='other'), container('side')]}}}})
        self.assertEqual({'main': 'other', 'side': 'busybox'}, {c.name: c.image for c in got.spec.template.spec.containers})
        got = self.apps.patch_namespaced_deployment(name, self.ns, [{'op': 'replace', 'path': '/spec/paused', 'value': True}])
        self.assertTrue(got.spec.paused)
        self.refused(422, self.apps.patch_namespaced_deployment, name, self.ns,
                     [{'op': 'test', 'path': '/spec/paused', 'value': False}])

    def test_server_side_apply(self):
        name = some('applied')
        api = DynamicClient(self.api).resources.get(api_version='apps/v1', kind='Deployment')

        def applied(manager, replicas, **more):
            return api.server_side_apply(namespace=self.ns, name=name, body=workload('Deployment', name, replicas),
                                         field_manager=manager, **more)
        got = applied('python', 1)
        self.assertEqual(['python'], [m.manager for m in got.metadata.managedFields if m.operation == 'Apply'])
        with self.assertRaises(ConflictError) as caught:
            applied('other', 0)
        self.assertIn(b'conflict with \\"python\\"', caught.exception.body)
        self.assertEqual(0, applied('other', 0, force_conflicts=True).spec.replicas)

    def test_deployment(self):
        name = some('deployment')
        self.apps.create_namespaced_deployment(self.ns, workload('Deployment', name, 2))
        self.until(lambda: self.apps.read_namespaced_deployment(name, self.ns).status.ready_replicas == 2)
        got = self.apps.patch_namespaced_deployment_scale(name, self.ns, {'spec': {'replicas': 1}})
        self.assertEqual(1, got.spec.replicas)
        self.until(lambda: self.apps.read_namespaced_deployment_status(name, self.ns).status.replicas == 1)
        self.apps.delete_namespaced_deployment(name, self.ns, body={})

    def test_daemon_set(self):
        name = some('daemon')
        body = workload('DaemonSet', name, 0)
        del body['spec']['replicas']
        self.apps.create_namespaced_daemon_set(self.ns, body)
        body['spec']['template']['spec']['containers'][0]['image'] = 'other'
        got = self.apps.patch_namespaced_daemon_set(name, self.ns, body)
        self.assertEqual('other', got.spec.template.spec.containers[0].image)
        self.apps.delete_namespaced_daemon_set(name, self.ns, body={})

    def test_job(self):
        name = some('job')
        body = {'metadata': {'name': name}, 'spec': {'template': {'metadata': {'name': name}, 'spec': {
            'restartPolicy': 'Never', 'containers': [container(command=['sh', '-c', 'sleep 5'])]}}}}
        self.assertEqual(name, self.batch.create_namespaced_job(self.ns, body).metadata.name)
        self.assertEqual(name, self.batch.read_namespaced_job(name, self.ns).metadata.name)
        self.batch.delete_namespaced_job(name, self.ns, propagation_policy='Background')

    def test_pages(self):
        for i in range(5):
            self.core.create_namespaced_secret(self.ns, {'metadata': {'name': f'page-{i}', 'labels': {'pages': 'x'}},
                                                         'stringData': {'i': str(i)}})
        seen, token = [], None
        while token != '':
            page = self.core.list_namespaced_secret(self.ns, limit=2, _continue=token, label_selector='pages=x')
            self.assertLessEqual(len(page.items), 2)
            seen += [s.metadata.name for s in page.items]
            token = page.metadata._continue or ''
        self.assertEqual([f'page-{i}' for i in range(5)], seen)

    def test_errors(self):
        name = some('twice')
        self.core.create_namespaced_config_map(self.ns, config_map(name))
        e = self.refused(409, self.core.create_namespaced_config_map, self.ns, config_map(name))
        self.assertEqual('Conflict', e.reason)
        self.assertIn(f'configmaps \\"{name}\\" already exists', e.body)
        self.refused(422, self.core.create_namespaced_pod, self.ns, {'metadata': {'name': 'Bad_'}, 'spec': {'containers': []}})
        self.refused(404, self.core.read_namespaced_pod, 'none', self.ns)
        body = self.core.read_namespaced_config_map(name, self.ns)
        body.metadata.resource_version = '1'
        self.refused(409, self.core.replace_namespaced_config_map, name, self.ns, body)

    def test_dry_run(self):
        name = some('dry')
        self.core.create_namespaced_config_map(self.ns, config_map(name), dry_run='All')
        self.refused(404, self.core.read_namespaced_config_map, name, self.ns)

    def test_raw_and_versions(self):
        self.assertEqual('1', client.VersionApi(self.api).get_code().major)
        groups = [g.name for g in client.ApisApi(self.api).get_api_versions().groups]
        self.assertTrue({'apps', 'batch', 'rbac.authorization.k8s.io'} <= set(groups))
        self.assertIn('pods', [r.name for r in self.core.get_api_resources().resources])
        raw = self.core.list_namespaced_pod(self.ns, _preload_content=False)
        self.assertEqual('application/json', raw.headers['Content-Type'])

    def test_access_review(self):
        body = {'spec': {'resourceAttributes': {'verb': 'list', 'resource': 'pods', 'namespace': self.ns}}}
        self.assertTrue(client.AuthorizationV1Api(self.api).create_self_subject_access_review(body).status.allowed)

    def test_events(self):
        name = some('event')
        about = {'kind': 'Pod', 'namespace': self.ns, 'name': 'x'}
        self.core.create_namespaced_event(self.ns, {'metadata': {'name': name}, 'involvedObject': about, 'reason': 'Test'})
        got = self.core.list_namespaced_event(self.ns, field_selector='involvedObject.name=x,reason=Test')
        self.assertEqual([name], [e.metadata.name for e in got.items])


class Watches(Case):
    def test_all_since_the_list(self):
        self.core.create_namespaced_config_map(self.ns, config_map('a', key='a'))
        since = self.core.list_namespaced_config_map(self.ns, field_selector='metadata.name=a').metadata.resource_version
        self.core.create_namespaced_config_map(self.ns, config_map('b', key='b', other='x'))
        self.core.patch_namespaced_config_map('b', self.ns, {'data': {'other': '{}'}})
        self.core.delete_namespaced_config_map('b', self.ns)
        seen = []
        w = watch.Watch()
        for event in w.stream(self.core.list_namespaced_config_map, self.ns, resource_version=since, timeout_seconds=30):
            if event['object'].metadata.name == 'b':
                seen.append(event['type'])
            if len(seen) == 3:
                w.stop()
        self.assertEqual(['ADDED', 'MODIFIED', 'DELETED'], seen)

    def test_collection_goes(self):
        for name in 'cd':
            self.core.create_namespaced_secret(self.ns, {'metadata': {'name': name, 'labels': {'go': 'x'}}})
        since = self.core.list_namespaced_secret(self.ns).metadata.resource_version
        self.core.delete_collection_namespaced_secret(self.ns, label_selector='go=x')
        gone, w = set(), watch.Watch()
        for event in w.stream(self.core.list_namespaced_secret, self.ns, resource_version=since, timeout_seconds=30):
            if event['type'] == 'DELETED':
                gone.add(event['object'].metadata.name)
            if len(gone) == 2:
                w.stop()
        self.assertEqual({'c', 'd'}, gone)

    def test_bookmarks_and_end(self):
        """A watch that is over in time ends without an error; its version goes on."""
        w = watch.Watch()
        for _ in w.stream(self.core.list_namespaced_pod, self.ns, timeout_seconds=1, allow_watch_bookmarks=True):
            pass
        self.assertEqual([], list(w.stream(self.core.list_namespaced_pod, self.ns, timeout_seconds=1)))

    def test_old_version(self):
        e = None
        try:
            for _ in watch.Watch().stream(self.core.list_namespaced_pod, self.ns, resource_version='999999999999',
                                          timeout_seconds=3):
                pass
        except ApiException as caught:
            e = caught
        self.assertTrue(e is None or e.status in (410, 504))


class Utils(Case):
    """kubernetes.utils.create_from_yaml and create_from_dict."""

    def made(self, *objects, **named):
        return utils.create_from_yaml(self.api, yaml_objects=objects, namespace=self.ns, **named)

    def test_deployment_and_again(self):
        name = some('app')
        self.made(workload('Deployment', name, 0))
        with self.assertRaises(utils.FailToCreateError) as caught:
            self.made(workload('Deployment', name, 0))
        self.assertIn('Error from server (Conflict)', str(caught.exception))
        self.assertIn(f'"message":"deployments.apps \\"{name}\\" already exists"', str(caught.exception))

    def test_apply_is_idempotent(self):
        name = some('app')
        for _ in range(2):
            utils.create_from_yaml(self.api, yaml_objects=[workload('Deployment', name, 0)], namespace=self.ns, apply=True)
        self.assertEqual(0, self.apps.read_namespaced_deployment(name, self.ns).spec.replicas)

    def test_list_of_kinds(self):
        name = some('list')
        service = {'apiVersion': 'v1', 'kind': 'Service', 'metadata': {'name': name}, 'spec': {'ports': [{'port': 80}]}}
        self.made({'apiVersion': 'v1', 'kind': 'List', 'items': [service, workload('Deployment', name, 0)]})
        self.assertEqual(80, self.core.read_namespaced_service(name, self.ns).spec.ports[0].port)
        self.assertEqual(name, self.apps.read_namespaced_deployment(name, self.ns).metadata.name)

    def test_role(self):
        name = some('role')
        self.made({'apiVersion': 'rbac.authorization.k8s.io/v1', 'kind': 'Role', 'metadata': {'name': name},
                   'rules': [{'apiGroups': [''], 'resources': ['pods'], 'verbs': ['get', 'watch', 'list']}]})
        self.assertEqual(['pods'], self.rbac.read_namespaced_role(name, self.ns).rules[0].resources)

    def test_some_fail(self):
        good, bad = some('good'), {'apiVersion': 'v1', 'kind': 'Service', 'metadata': {'name': 'Bad_'}, 'spec': {}}
        with self.assertRaises(utils.FailToCreateError) as caught:
            self.made(bad, bad, config_map(good))
        self.assertEqual(2, len(caught.exception.api_exceptions))
        self.core.read_namespaced_config_map(good, self.ns)

    def test_api_service(self):
        if 'apiregistration.k8s.io' not in [g.name for g in client.ApisApi(self.api).get_api_versions().groups]:
            self.skipTest('APIService is not served')
        body = {'apiVersion': 'apiregistration.k8s.io/v1', 'kind': 'APIService', 'metadata': {'name': 'v1alpha1.wardle.k8s.io'},
                'spec': {'insecureSkipTLSVerify': True, 'group': 'wardle.k8s.io', 'groupPriorityMinimum': 1000,
                         'versionPriority': 15, 'service': {'name': 'api', 'namespace': 'wardle'}, 'version': 'v1alpha1'}}
        registry = client.ApiregistrationV1Api(self.api)
        utils.create_from_dict(self.api, body)
        self.assertEqual('wardle.k8s.io', registry.read_api_service('v1alpha1.wardle.k8s.io').spec.group)
        with self.assertRaises(utils.FailToCreateError) as caught:
            utils.create_from_dict(self.api, body)
        self.assertIn('"reason":"AlreadyExists","details":{"name":"v1alpha1.wardle.k8s.io",'
                      '"group":"apiregistration.k8s.io","kind":"apiservices"},"code":409}', str(caught.exception))
        registry.delete_api_service('v1alpha1.wardle.k8s.io', body={})


class Custom(Case):
    """Definitions and objects of them, typed and dynamic."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.group = f'{some("g")}.example.com'
        schema = {'type': 'object', 'properties': {'spec': {'type': 'object', 'properties': {
            'size': {'type': 'integer', 'minimum': 1, 'default': 3}, 'name': {'type': 'string'}}}}}
        names = {'kind': 'Thing', 'listKind': 'ThingList', 'plural': 'things', 'singular': 'thing'}
        cls.definition = {
            'metadata': {'name': f'things.{cls.group}'},
            'spec': {'group': cls.group, 'names': names, 'scope': 'Namespaced', 'versions': [{
                'name': 'v1', 'served': True, 'storage': True, 'schema': {'openAPIV3Schema': schema},
                'subresources': {'status': {}}}]}}
        cls.ext = client.ApiextensionsV1Api(cls.api)
        cls.ext.create_custom_resource_definition(cls.definition)
        cls.args = (cls.group, 'v1', cls.ns, 'things')

    @classmethod
    def tearDownClass(cls):
        cls.ext.delete_custom_resource_definition(f'things.{cls.group}')
        super().tearDownClass()

    def established(self):
        def is_so():
            got = self.ext.read_custom_resource_definition(f'things.{self.group}').status
            return any(c.type == 'Established' and c.status == 'True' for c in got.conditions or [])
        self.until(is_so)

    def thing(self, called, **spec):
        return {'apiVersion': f'{self.group}/v1', 'kind': 'Thing', 'metadata': {'name': called}, 'spec': spec}

    def test_objects(self):
        self.established()
        made = self.until(lambda: self.created('one', name='x'))
        self.assertEqual({'name': 'x', 'size': 3}, made['spec'])
        self.refused(422, self.custom.create_namespaced_custom_object, *self.args, self.thing('bad', size=0))
        got = self.custom.patch_namespaced_custom_object(*self.args, 'one', {'spec': {'size': 5}})
        self.assertEqual(5, got['spec']['size'])
        self.assertEqual(1, len(self.custom.list_namespaced_custom_object(*self.args, field_selector='metadata.name=one')['items']))
        self.custom.delete_namespaced_custom_object(*self.args, 'one')

    def created(self, called, **spec):
        try:
            return self.custom.create_namespaced_custom_object(*self.args, self.thing(called, **spec))
        except ApiException as e:
            if e.status != 404:
                raise
            return None

    def test_dynamic(self):
        self.established()
        self.until(lambda: self.created('seed'))
        api = DynamicClient(self.api).resources.get(api_version=f'{self.group}/v1', kind='Thing')
        made = api.create(namespace=self.ns, body=self.thing('two', name='y'))
        made = api.patch(namespace=self.ns, name='two', body={'spec': {'size': 7}}, content_type='application/merge-patch+json')
        self.assertEqual(7, made.spec.size)
        api.status.patch(namespace=self.ns, name='two', body={'status': {}}, content_type='application/merge-patch+json')
        seen = [e['object'].metadata.name for e in api.watch(namespace=self.ns, timeout=1)]
        self.assertIn('two', seen)
        api.delete(namespace=self.ns, name='two')


class Leader(Case):
    """What its leader election does with a ConfigMap."""

    def test_lock(self):
        config.load_kube_config(config_file=os.environ['KUBECONFIG'])
        name = some('leader')
        lock = ConfigMapLock(name, self.ns, 'me')
        self.assertFalse(lock.get(name, self.ns)[0])
        now = str(datetime.datetime.now())
        record = LeaderElectionRecord('me', '3', now, now)
        self.assertTrue(lock.create(name, self.ns, record))
        found, held = lock.get(name, self.ns)
        self.assertTrue(found and held.holder_identity == 'me')
        other = ConfigMapLock(name, self.ns, 'you')
        self.assertTrue(other.get(name, self.ns)[0])
        self.assertTrue(lock.update(name, self.ns, LeaderElectionRecord('me', '5', now, now)))
        self.assertFalse(other.update(name, self.ns, LeaderElectionRecord('you', '3', now, now)))


class Said(unittest.TestResult):
    """A line for each test, and the end of what went wrong."""

    def startTest(self, test):
        super().startTest(test)
        self.since = time.monotonic()

    def say(self, verdict, test, text=''):
        name = test.id().rsplit('.', 1)[-1]
        print(f'@{verdict} {name} {time.monotonic() - self.since:.1f}')
        print(''.join(f'    {line}\n' for line in text.splitlines()[-12:]), end='', flush=True)

    def addSuccess(self, test):
        self.say('ok', test)

    def addSkip(self, test, reason):
        print(f'# left out: {test.id()}: {reason}', flush=True)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.say('not ok', test, self.failures[-1][1])

    def addError(self, test, err):
        super().addError(test, err)
        if not hasattr(self, 'since'):
            self.since = time.monotonic()
        self.say('not ok', test, self.errors[-1][1])


def chosen(suite, words):
    skip = {w[len('--skip='):] for w in words if w.startswith('--skip=')}
    names = {w for w in words if not w.startswith('--')}
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from chosen(test, words)
        elif test._testMethodName not in skip and (not names or test._testMethodName in names):
            yield test


def main():
    load = unittest.defaultTestLoader
    suite = unittest.TestSuite([load.loadTestsFromNames(['kubernetes.dynamic.test_client', 'kubernetes.dynamic.test_discovery']),
                                load.loadTestsFromModule(sys.modules[__name__])])
    result = Said()
    unittest.TestSuite(chosen(suite, sys.argv[1:])).run(result)
    return 0 if result.wasSuccessful() else 1


if __name__ == '__main__':
    sys.exit(main())
