"""accounts.py - what admission makes of a pod's service account. Only on servers that were started with that plugin (--accounts)."""
from client import STRATEGIC, check, pod

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


# ---- mirror pods ----

def mirror(spec=None):
    return pod('p', {'nodeName': 'n', **(spec or {})}, annotations={'kubernetes.io/config.mirror': 'x'})


def forbidden(t, a, why):
    t.status(a, 403, 'Forbidden', f'pods "p" is forbidden: {why}', details={'name': 'p', 'kind': 'pods'})


@with_accounts
def a_mirror_pod_stays_as_it_is(t):
    account(t, imagePullSecrets=[{'name': 'pull'}])
    p = t.make(t.pods(), mirror())
    t.eq([p['spec'].get(k) for k in ('serviceAccountName', 'serviceAccount', 'volumes', 'imagePullSecrets')], 4 * [None], 'spec')
    t.eq(mounts(p['spec']['containers'][0]), [], 'mounts')


@with_accounts
def a_mirror_pod_needs_no_account(t):
    t.make(t.pods(), mirror())


@with_accounts
def a_mirror_pod_has_no_account(t):
    account(t)
    for field in ('serviceAccountName', 'serviceAccount'):
        forbidden(t, t.post(t.pods(), mirror({field: 'default'})), 'a mirror pod may not reference service accounts')


@with_accounts
def a_mirror_pod_uses_no_secrets(t):
    env = [{'name': 'E', 'valueFrom': {'secretKeyRef': {'name': 's', 'key': 'k'}}}]
    c = {'name': 'c', 'image': 'busybox:1'}
    ref = {'secretRef': {'name': 's'}}
    for spec in ({'imagePullSecrets': [{'name': 's'}]},
                 {'containers': [{**c, 'env': env}]},
                 {'containers': [{**c, 'envFrom': [ref]}]},
                 {'initContainers': [{**c, 'env': env}], 'containers': [{**c, 'name': 'd'}]},
                 *({'volumes': [{'name': 'v', **source}]} for source in (
                     {'secret': {'secretName': 's'}},
                     {'projected': {'sources': [{'secret': {'name': 's'}}]}},
                     {'azureFile': {'secretName': 's', 'shareName': 'a'}},
                     {'cephfs': {'monitors': ['a'], **ref}},
                     {'cinder': {'volumeID': 'a', **ref}},
                     {'flexVolume': {'driver': 'a', **ref}},
                     {'rbd': {'monitors': ['a'], 'image': 'a', **ref}},
                     {'scaleIO': {'gateway': 'a', 'system': 'a', 'volumeName': 'a', **ref}},
                     {'iscsi': {'targetPortal': 'a', 'iqn': 'iqn.2001-04.com.example:x', 'lun': 0, **ref}},
                     {'storageos': {'volumeName': 'a', **ref}},
                     {'csi': {'driver': 'a', 'nodePublishSecretRef': {'name': 's'}}}))):
        forbidden(t, t.post(t.pods(), mirror(spec)), 'a mirror pod may not reference secrets')


@with_accounts
def a_mirror_pod_projects_no_token(t):
    source = {'serviceAccountToken': {'path': 't'}}
    forbidden(t, t.post(t.pods(), mirror({'volumes': [{'name': 'v', 'projected': {'sources': [source]}}]})),
              'a mirror pod may not use ServiceAccountToken volume projections')


# ---- accounts that limit the Secrets of their pods ----

def limited(t, value='true', **more):
    return account(t, **{'metadata': {'name': 'default', 'annotations': {'kubernetes.io/enforce-mountable-secrets': value}},
                         'secrets': [{'name': 'mine'}], 'imagePullSecrets': [{'name': 'pull'}], **more})


def env_of(name):
    return {'env': [{'name': 'E', 'valueFrom': {'secretKeyRef': {'name': name, 'key': 'k'}}}]}


def env_from(name):
    return {'envFrom': [{'secretRef': {'name': name}}]}


def using(name):
    """Specs of pods that use this Secret, with the words for it."""
    c = {'name': 'c', 'image': 'busybox:1'}
    d = [{**c, 'name': 'd'}]
    return (({'volumes': [{'name': 'v', 'secret': {'secretName': name}}]}, 'volume with'),
            ({'initContainers': [{**c, **env_of(name)}], 'containers': d}, 'init container c with envVar E referencing'),
            ({'initContainers': [{**c, **env_from(name)}], 'containers': d}, 'init container c with envFrom referencing'),
            ({'containers': [{**c, **env_of(name)}]}, 'container c with envVar E referencing'),
            ({'containers': [{**c, **env_from(name)}]}, 'container c with envFrom referencing'))


FOREIGN = 'secret.secretName="foreign" is not allowed because service account default does not reference that secret'


@with_accounts
def a_limited_account_keeps_foreign_secrets_from_its_pods(t):
    limited(t)
    for spec, words in using('foreign'):
        forbidden(t, t.post(t.pods(), pod('p', spec)), f'{words} {FOREIGN}')
    for spec, _ in using('mine'):
        t.code(t.post(t.pods(), pod('p', spec), dryRun='All'), 201)


@with_accounts
def a_limited_account_keeps_foreign_pull_secrets_from_its_pods(t):
    limited(t)
    forbidden(t, t.post(t.pods(), pod('p', {'imagePullSecrets': [{'name': 'pull'}, {'name': 'mine'}]})),
              'imagePullSecrets[1].name="mine" is not allowed because service account default does not reference that imagePullSecret')
    t.has(t.make(t.pods(), pod('p')), 'spec.imagePullSecrets', [{'name': 'pull'}])


@with_accounts
def a_limited_account_minds_no_other_use_of_secrets(t):
    limited(t)
    t.make(t.pods(), pod('p', {'volumes': [{'name': 'v', 'projected': {'sources': [{'secret': {'name': 'foreign'}}]}}]}))


@with_accounts
def an_account_is_limited_by_what_go_reads_as_true(t):
    limited(t, 'T')
    forbidden(t, t.post(t.pods(), pod('p', using('foreign')[0][0])), f'volume with {FOREIGN}')


@with_accounts
def an_account_is_not_limited_by_other_words(t):
    limited(t, 'yes')
    t.make(t.pods(), pod('p', using('foreign')[0][0]))


@with_accounts
def a_limited_account_judges_ephemeral_containers(t):
    limited(t)
    t.make(t.pods(), pod('p'))

    def add(more):
        return t.patch(f'{t.pods()}/p/ephemeralcontainers', {'spec': {'ephemeralContainers': [{'name': 'e', 'image': 'x', **more}]}},
                       content=STRATEGIC)
    for more, words in ((env_of('foreign'), 'envVar E'), (env_from('foreign'), 'envFrom')):
        a = t.code(add(more), 500)  # kube-apiserver does not make a 403 of this one
        t.eq([a['reason'], a['details'], a['message']], [None, None, f'ephemeral container e with {words} referencing {FOREIGN}'], 'answer')
    t.code(add(env_of('mine')), 200)
