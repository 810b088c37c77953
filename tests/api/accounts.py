"""accounts.py - what admission makes of a pod's service account. Only on servers that were started with that plugin (--accounts)."""
from client import check, pod

PATH = '/var/run/secrets/kubernetes.io/serviceaccount'
PREFIX = 'kube-api-access-'


def with_accounts(fn):
    """The suite's servers have no controller that makes accounts, so most of its runs are without the plugin."""
    def run(t):
        if not t.server.accounts:
            t.skip('the server takes pods without accounts: --accounts')
        fn(t)
    run.__name__, run.__module__ = fn.__name__, fn.__module__
    return check(run)


def account(t, name='default', **more):
    return t.make(t.at('serviceaccounts'), {'metadata': {'name': name}, **more})


def volumes(p):
    return [v for v in p['spec'].get('volumes', []) if v['name'].startswith(PREFIX)]


def mounts(c):
    return [m for m in c.get('volumeMounts', []) if m['mountPath'] == PATH]


@with_accounts
def a_pod_without_the_default_account_is_forbidden(t):
    t.status(t.post(t.pods(), pod('p')), 403, 'Forbidden', 'pods "p" is forbidden: error looking up service account '
             f'{t.ns}/default: serviceaccount "default" not found', details={'name': 'p', 'kind': 'pods'})


@with_accounts
def a_pod_of_a_missing_account_is_forbidden(t):
    account(t)
    a = t.post(t.pods(), pod('p', {'serviceAccountName': 'robot'}))
    t.status(a, 403, 'Forbidden', f'pods "p" is forbidden: error looking up service account {t.ns}/robot: serviceaccount "robot" '
             'not found')


@with_accounts
def a_pod_runs_as_default(t):
    account(t)
    p = t.make(t.pods(), pod('p'))
    t.has(p, 'spec.serviceAccountName', 'default')
    t.has(p, 'spec.serviceAccount', 'default')


@with_accounts
def a_pod_gets_its_token(t):
    account(t)
    p = t.make(t.pods(), pod('p'))
    [v] = volumes(p)
    t.eq(len(v['name']), len(PREFIX) + 5, 'length of the name')
    t.eq(v['projected'], {'defaultMode': 420, 'sources': [
        {'serviceAccountToken': {'expirationSeconds': 3607, 'path': 'token'}},
        {'configMap': {'name': 'kube-root-ca.crt', 'items': [{'key': 'ca.crt', 'path': 'ca.crt'}]}},
        {'downwardAPI': {'items': [{'path': 'namespace', 'fieldRef': {'apiVersion': 'v1', 'fieldPath': 'metadata.namespace'}}]}}]},
         'volume')
    [m] = mounts(p['spec']['containers'][0])
    t.eq(m, {'name': v['name'], 'readOnly': True, 'mountPath': PATH}, 'mount')


@with_accounts
def all_containers_get_it(t):
    account(t)
    c = {'image': 'busybox:1'}
    p = t.make(t.pods(), pod('p', {'initContainers': [{'name': 'i', **c}], 'containers': [{'name': 'a', **c}, {'name': 'b', **c}]}))
    t.eq([len(mounts(x)) for x in p['spec']['initContainers'] + p['spec']['containers']], [1, 1, 1], 'mounts')


@with_accounts
def a_container_with_its_own_mount_keeps_it(t):
    account(t)
    own = {'volumes': [{'name': 'own', 'emptyDir': {}}]}
    p = t.make(t.pods(), pod('p', own, {'volumeMounts': [{'name': 'own', 'mountPath': PATH}]}))
    t.eq([m['name'] for m in mounts(p['spec']['containers'][0])], ['own'], 'mounts')
    t.eq(volumes(p), [], 'volumes')


@with_accounts
def a_pod_may_do_without_the_token(t):
    account(t)
    p = t.make(t.pods(), pod('p', {'automountServiceAccountToken': False}))
    t.eq((volumes(p), mounts(p['spec']['containers'][0])), ([], []), 'volumes')
    t.has(p, 'spec.serviceAccountName', 'default')


@with_accounts
def an_account_may_do_without_the_token(t):
    account(t, automountServiceAccountToken=False)
    t.eq(volumes(t.make(t.pods(), pod('p'))), [], 'volumes')


@with_accounts
def a_pod_wins_over_its_account(t):
    account(t, automountServiceAccountToken=False)
    t.eq(len(volumes(t.make(t.pods(), pod('p', {'automountServiceAccountToken': True})))), 1, 'volumes')


@with_accounts
def pull_secrets_come_from_the_account(t):
    account(t, imagePullSecrets=[{'name': 'pull'}])
    t.has(t.make(t.pods(), pod('p')), 'spec.imagePullSecrets', [{'name': 'pull'}])
    t.has(t.make(t.pods(), pod('q', {'imagePullSecrets': [{'name': 'own'}]})), 'spec.imagePullSecrets', [{'name': 'own'}])


@with_accounts
def the_old_name_of_the_field_counts(t):
    account(t, 'robot')
    t.has(t.make(t.pods(), pod('p', {'serviceAccount': 'robot'})), 'spec.serviceAccountName', 'robot')


@with_accounts
def dry_run_is_admitted_as_well(t):
    account(t)
    a = t.post(t.pods(), pod('p'), dryRun='All')
    t.eq(len(volumes(t.code(a, 201).json)), 1, 'volumes')
