"""podsecurity.py - Pod Security Standards: what namespaces enforce of pods and warn of, and what their labels may say.

The tables judge pods by dry run, in one namespace for each standard; a row is a check. A row of pods: name, standard,
what differs from a pod that is fine, and how the violation is told (None: it is taken).
"""
import copy
import re

from client import STRATEGIC, check, job, meta
from webhooks import rows

LABELS = 'pod-security.kubernetes.io/'
NAMESPACES = '/api/v1/namespaces'
ESCALATION = 'allowPrivilegeEscalation != false (container "a" must set securityContext.allowPrivilegeEscalation=false)'
CAPABILITIES = 'unrestricted capabilities (container "a" must set securityContext.capabilities.drop=["ALL"])'
ROOT = 'runAsNonRoot != true (pod or container "a" must set securityContext.runAsNonRoot=true)'
SECCOMP = 'seccompProfile (pod or container "a" must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")'
ALL_FOUR = ', '.join((ESCALATION, CAPABILITIES, ROOT, SECCOMP))
NETWORK = 'host namespaces (hostNetwork=true)'


def merged(onto, more):
    for key, value in more.items():
        if value is None:
            onto.pop(key, None)
        elif isinstance(value, dict) and isinstance(onto.get(key), dict):
            merged(onto[key], value)
        else:
            onto[key] = copy.deepcopy(value)
    return onto


def container(name='a', **more):
    return {'name': name, 'image': 'busybox:1', **more}


def spec_of(hardened=True, a=None, **more):
    """The spec of a pod with a container a; what is given changes the pod and, in a, that container."""
    context = {'runAsNonRoot': True, 'seccompProfile': {'type': 'RuntimeDefault'}}
    own = {'allowPrivilegeEscalation': False, 'capabilities': {'drop': ['ALL']}}
    c = container(**({'securityContext': own} if hardened else {}))
    spec = {'containers': [merged(c, a or {})], **({'securityContext': context} if hardened else {})}
    return merged(spec, more)


def pod(spec, name='x', **more):
    return {'metadata': meta(name, **more), 'spec': spec}


def labels(**modes):
    """enforce='restricted:v1.25' and so on, as labels."""
    found = {}
    for mode, standard in modes.items():
        level, _, version = standard.partition(':')
        found[LABELS + mode] = level
        if version:
            found[LABELS + mode + '-version'] = version
    return found


def space(t, **modes):
    """A namespace of the check with these labels."""
    name = t.name('psa')
    t.make(NAMESPACES, {'metadata': meta(name, labels=labels(**modes))})
    return name


def shared(t, standard):
    """A namespace that enforces this, for dry runs only."""
    def make():
        name = f'psa-{t.server.run_id}-{standard.replace(":", "-").replace(".", "-")}'
        t.make(NAMESPACES, {'metadata': meta(name, labels=labels(enforce=standard))})
        t.server.leave(t.made.pop())
        return name
    return t.server.once(('podsecurity', standard), make)


def warned(a):
    """Warnings about pod security; pods are warned of other things, too."""
    texts = [re.sub(r'\\(.)', r'\1', w)[len('299 - "'):-1] for w in a.headers.get_all('Warning') or ()]
    return [w for w in texts if 'PodSecurity' in w]


def all_warned(a):
    return [re.sub(r'\\(.)', r'\1', w)[len('299 - "'):-1] for w in a.headers.get_all('Warning') or ()]


def refused(t, a, standard, how, name='x'):
    t.status(a, 403, 'Forbidden', message=f'pods "{name}" is forbidden: violates PodSecurity "{standard}": {how}',
             details={'name': name, 'kind': 'pods', 'causes': None})
    t.eq(warned(a), [], 'warnings of what is refused')


def sysctl(*names):
    return {'sysctls': [{'name': n, 'value': '1'} for n in names]}


# ---- checks of pods ----

def volumes(**sources):
    return {'volumes': [{'name': n, **s} for n, s in sources.items()]}


UNMASKED = {'hostUsers': False, 'a': {'securityContext': {'procMount': 'Unmasked'}}}
PROC = 'procMount (container "a" must not set securityContext.procMount to "Unmasked")'
PATH = {'hostPath': {'path': '/'}}
WINDOWS = {'os': {'name': 'windows'}, 'securityContext': {'runAsNonRoot': True}}
HOST = 'probe or lifecycle host (container "a" uses probe or lifecycle host "h")'
GET = {'httpGet': {'host': 'h', 'port': 1}}

# Without hardening, against baseline.
BASELINE = [
    ('plain', 'baseline:latest', {}, None),
    ('host-network', 'baseline:latest', {'hostNetwork': True}, NETWORK),
    ('all-host-namespaces', 'baseline:latest', {'hostNetwork': True, 'hostPID': True, 'hostIPC': True},
     'host namespaces (hostNetwork=true, hostPID=true, hostIPC=true)'),
    ('host-namespaces-not', 'baseline:latest', {'hostNetwork': False, 'hostPID': False}, None),
    ('privileged', 'baseline:latest', {'a': {'securityContext': {'privileged': True}}},
     'privileged (container "a" must not set securityContext.privileged=true)'),
    ('privileged-not', 'baseline:latest', {'a': {'securityContext': {'privileged': False}}}, None),
    ('privileged-init', 'baseline:latest', {'initContainers': [container('i', securityContext={'privileged': True})],
                                            'a': {'securityContext': {'privileged': True}}},
     'privileged (containers "i", "a" must not set securityContext.privileged=true)'),
    ('capabilities', 'baseline:latest', {'a': {'securityContext': {'capabilities': {'add': ['SYS_TIME', 'CHOWN', 'NET_ADMIN']}}}},
     'non-default capabilities (container "a" must not include "NET_ADMIN", "SYS_TIME" in securityContext.capabilities.add)'),
    ('capabilities-by-default', 'baseline:latest',
     {'a': {'securityContext': {'capabilities': {'add': ['KILL', 'MKNOD', 'NET_BIND_SERVICE', 'SYS_CHROOT']}}}}, None),
    ('capabilities-all', 'baseline:latest', {'a': {'securityContext': {'capabilities': {'add': ['ALL']}}}},
     'non-default capabilities (container "a" must not include "ALL" in securityContext.capabilities.add)'),
    ('host-path', 'baseline:latest', volumes(v=PATH), 'hostPath volumes (volume "v")'),
    ('host-paths', 'baseline:latest', volumes(w=PATH, v=PATH, e={'emptyDir': {}}), 'hostPath volumes (volumes "w", "v")'),
    ('host-port', 'baseline:latest', {'a': {'ports': [{'containerPort': 80, 'hostPort': 8080}]}},
     'hostPort (container "a" uses hostPort 8080)'),
    ('host-ports', 'baseline:latest', {'a': {'ports': [{'containerPort': 80, 'hostPort': 9}, {'containerPort': 81, 'hostPort': 10}]},
                                       'initContainers': [container('i', ports=[{'containerPort': 82, 'hostPort': 9}])]},
     'hostPort (containers "i", "a" use hostPorts 10, 9)'),
    ('host-port-of-the-host-network', 'baseline:latest', {'hostNetwork': True, 'a': {'ports': [{'containerPort': 80}]}},
     'host namespaces (hostNetwork=true), hostPort (container "a" uses hostPort 80)'),
    ('port', 'baseline:latest', {'a': {'ports': [{'containerPort': 80, 'hostPort': 0}]}}, None),
    ('probe', 'baseline:latest', {'a': {'livenessProbe': GET}}, HOST),
    ('probe-of-tcp', 'baseline:latest', {'a': {'readinessProbe': {'tcpSocket': {'host': 'h', 'port': 1}}}}, HOST),
    ('probe-of-the-pod', 'baseline:latest', {'a': {'startupProbe': {'httpGet': {'port': 1}}}}, None),
    ('handler', 'baseline:latest', {'a': {'lifecycle': {'postStart': GET}}}, HOST),
    ('handlers', 'baseline:latest',
     {'containers': [container('b', lifecycle={'preStop': {'httpGet': {'host': 'i', 'port': 1}}}, livenessProbe=GET), container('a', livenessProbe=GET)]},
     'probe or lifecycle host (containers "a", "b" use probe or lifecycle hosts "h", "i")'),
    ('probe-before-1-34', 'baseline:v1.33', {'a': {'livenessProbe': GET}}, None),
    ('probe-in-1-34', 'baseline:v1.34', {'a': {'livenessProbe': GET}}, HOST),
    ('proc-mount', 'baseline:latest', UNMASKED, None),
    ('proc-mount-before-1-35', 'baseline:v1.34', UNMASKED, PROC),
    ('proc-mount-of-the-runtime', 'baseline:v1.34', {'a': {'securityContext': {'procMount': 'Default'}}}, None),
    ('apparmor', 'baseline:latest', {'securityContext': {'appArmorProfile': {'type': 'Unconfined'}}},
     'forbidden AppArmor profile (pod must not set AppArmor profile type to "Unconfined")'),
    ('apparmor-of-a-container', 'baseline:v1.0', {'securityContext': {'appArmorProfile': {'type': 'Unconfined'}},
                                                  'a': {'securityContext': {'appArmorProfile': {'type': 'Unconfined'}}}},
     'forbidden AppArmor profile (pod and container "a" must not set AppArmor profile type to "Unconfined")'),
    ('apparmor-fine', 'baseline:latest', {'securityContext': {'appArmorProfile': {'type': 'RuntimeDefault'}},
                                          'a': {'securityContext': {'appArmorProfile': {'type': 'Localhost', 'localhostProfile': 'p'}}}}, None),
    ('selinux-type', 'baseline:latest', {'securityContext': {'seLinuxOptions': {'type': 'spc_t'}}},
     'seLinuxOptions (pod set forbidden securityContext.seLinuxOptions: type "spc_t")'),
    ('selinux-types', 'baseline:latest', {'securityContext': {'seLinuxOptions': {'type': 'spc_t', 'user': 'u'}},
                                          'a': {'securityContext': {'seLinuxOptions': {'type': 'a_t', 'role': 'r'}}}},
     'seLinuxOptions (pod and container "a" set forbidden securityContext.seLinuxOptions: types "a_t", "spc_t"; '
     'user may not be set; role may not be set)'),
    ('selinux-user', 'baseline:latest', {'a': {'securityContext': {'seLinuxOptions': {'user': 'u'}}}},
     'seLinuxOptions (container "a" set forbidden securityContext.seLinuxOptions: user may not be set)'),
    ('selinux-role', 'baseline:latest', {'a': {'securityContext': {'seLinuxOptions': {'role': 'r', 'type': 'container_t'}}}},
     'seLinuxOptions (container "a" set forbidden securityContext.seLinuxOptions: role may not be set)'),
    ('selinux-level', 'baseline:latest', {'securityContext': {'seLinuxOptions': {'level': 's0:c1', 'type': 'container_kvm_t'}}}, None),
    ('selinux-engine', 'baseline:v1.31', {'securityContext': {'seLinuxOptions': {'type': 'container_engine_t'}}}, None),
    ('selinux-engine-before-1-31', 'baseline:v1.30', {'securityContext': {'seLinuxOptions': {'type': 'container_engine_t'}}},
     'seLinuxOptions (pod set forbidden securityContext.seLinuxOptions: type "container_engine_t")'),
    ('seccomp', 'baseline:latest', {'securityContext': {'seccompProfile': {'type': 'Unconfined'}}},
     'seccompProfile (pod must not set securityContext.seccompProfile.type to "Unconfined")'),
    ('seccomp-of-containers', 'baseline:v1.19', {'initContainers': [container('i', securityContext={'seccompProfile': {'type': 'Unconfined'}})],
                                                 'a': {'securityContext': {'seccompProfile': {'type': 'Unconfined'}}}},
     'seccompProfile (containers "i", "a" must not set securityContext.seccompProfile.type to "Unconfined")'),
    ('seccomp-before-1-19', 'baseline:v1.18', {'securityContext': {'seccompProfile': {'type': 'Unconfined'}}}, None),
    ('seccomp-fine', 'baseline:latest', {'securityContext': {'seccompProfile': {'type': 'Localhost', 'localhostProfile': 'p'}}}, None),
    ('sysctls', 'baseline:latest', {'securityContext': sysctl('net.core.somaxconn', 'kernel.shm_rmid_forced', 'kernel.msgmax')},
     'forbidden sysctls (net.core.somaxconn, kernel.msgmax)'),
    ('sysctls-fine', 'baseline:v1.0', {'securityContext': sysctl('kernel.shm_rmid_forced', 'net.ipv4.tcp_syncookies')}, None),
    ('sysctls-of-1-27', 'baseline:v1.27', {'securityContext': sysctl('net.ipv4.ip_local_reserved_ports')}, None),
    ('sysctls-before-1-27', 'baseline:v1.26', {'securityContext': sysctl('net.ipv4.ip_local_reserved_ports')},
     'forbidden sysctls (net.ipv4.ip_local_reserved_ports)'),
    ('sysctls-of-1-29', 'baseline:v1.29', {'securityContext': sysctl('net.ipv4.tcp_keepalive_time', 'net.ipv4.tcp_fin_timeout',
                                                                     'net.ipv4.tcp_keepalive_intvl', 'net.ipv4.tcp_keepalive_probes')}, None),
    ('sysctls-before-1-29', 'baseline:v1.28', {'securityContext': sysctl('net.ipv4.tcp_fin_timeout')},
     'forbidden sysctls (net.ipv4.tcp_fin_timeout)'),
    ('sysctls-of-1-32', 'baseline:v1.32', {'securityContext': sysctl('net.ipv4.tcp_rmem', 'net.ipv4.tcp_wmem')}, None),
    ('sysctls-before-1-32', 'baseline:v1.31', {'securityContext': sysctl('net.ipv4.tcp_rmem')}, 'forbidden sysctls (net.ipv4.tcp_rmem)'),
    ('host-process', 'baseline:latest', {'hostNetwork': True, 'securityContext': {'windowsOptions': {'hostProcess': True}}},
     f'{NETWORK}, hostProcess (pod must not set securityContext.windowsOptions.hostProcess=true)'),
    ('host-process-of-a-container', 'baseline:latest', {'hostNetwork': True, 'a': {'securityContext': {'windowsOptions': {'hostProcess': True}}}},
     f'{NETWORK}, hostProcess (container "a" must not set securityContext.windowsOptions.hostProcess=true)'),
    ('in-order', 'baseline:latest', {'hostPID': True, **volumes(v=PATH), 'securityContext': {**sysctl('kernel.msgmax'), 'seLinuxOptions': {'user': 'u'}},
                                     'a': {'securityContext': {'privileged': True, 'seccompProfile': {'type': 'Unconfined'}}}},
     'host namespaces (hostPID=true), hostPath volumes (volume "v"), privileged (container "a" must not set securityContext.privileged=true), '
     'seLinuxOptions (pod set forbidden securityContext.seLinuxOptions: user may not be set), '
     'seccompProfile (container "a" must not set securityContext.seccompProfile.type to "Unconfined"), forbidden sysctls (kernel.msgmax)'),
    ('version-to-come', 'baseline:v1.999', {'a': {'livenessProbe': GET}}, HOST),
    ('privileged-standard', 'privileged:latest', {'hostNetwork': True, 'a': {'securityContext': {'privileged': True}}}, None),
    ('plain-against-restricted', 'restricted:latest', {}, ALL_FOUR),
    ('plain-against-restricted-1-24', 'restricted:v1.24', {}, ALL_FOUR),
    ('plain-against-restricted-1-21', 'restricted:v1.21', {}, ', '.join((ESCALATION, ROOT, SECCOMP))),
    ('plain-against-restricted-1-18', 'restricted:v1.18', {}, ', '.join((ESCALATION, ROOT))),
    ('plain-against-restricted-1-7', 'restricted:v1.7', {}, ROOT),
    ('baseline-against-restricted', 'restricted:latest', {'hostNetwork': True}, f'{NETWORK}, {ALL_FOUR}'),
]

# Hardened, against restricted.
RESTRICTED = [
    ('hardened', 'restricted:latest', {}, None),
    ('hardened-first-version', 'restricted:v1.0', {}, None),
    ('escalation', 'restricted:latest', {'a': {'securityContext': {'allowPrivilegeEscalation': True}}}, ESCALATION),
    ('escalation-by-default', 'restricted:v1.8', {'a': {'securityContext': {'allowPrivilegeEscalation': None}}}, ESCALATION),
    ('escalation-before-1-8', 'restricted:v1.7', {'a': {'securityContext': {'allowPrivilegeEscalation': None}}}, None),
    ('drops-some', 'restricted:latest', {'a': {'securityContext': {'capabilities': {'drop': ['KILL', 'CHOWN']}}}}, CAPABILITIES),
    ('adds', 'restricted:latest', {'a': {'securityContext': {'capabilities': {'add': ['NET_BIND_SERVICE', 'KILL', 'CHOWN']}}}},
     'unrestricted capabilities (container "a" must not include "CHOWN", "KILL" in securityContext.capabilities.add)'),
    ('adds-and-keeps', 'restricted:v1.22', {'a': {'securityContext': {'capabilities': {'drop': None, 'add': ['SYS_TIME']}}}},
     'unrestricted capabilities (container "a" must set securityContext.capabilities.drop=["ALL"]; '
     'container "a" must not include "SYS_TIME" in securityContext.capabilities.add)'),
    ('adds-before-1-22', 'restricted:v1.21', {'a': {'securityContext': {'capabilities': {'drop': None, 'add': ['SYS_TIME']}}}},
     'non-default capabilities (container "a" must not include "SYS_TIME" in securityContext.capabilities.add)'),
    ('adds-what-it-may', 'restricted:latest', {'a': {'securityContext': {'capabilities': {'add': ['NET_BIND_SERVICE']}}}}, None),
    ('root', 'restricted:latest', {'securityContext': {'runAsNonRoot': None}}, ROOT),
    ('root-said-by-the-pod', 'restricted:latest', {'securityContext': {'runAsNonRoot': False}, 'a': {'securityContext': {'runAsNonRoot': True}}},
     'runAsNonRoot != true (pod must not set securityContext.runAsNonRoot=false)'),
    ('root-said-by-all', 'restricted:latest', {'securityContext': {'runAsNonRoot': False}, 'a': {'securityContext': {'runAsNonRoot': False}}},
     'runAsNonRoot != true (pod and container "a" must not set securityContext.runAsNonRoot=false)'),
    ('root-said-by-a-container', 'restricted:latest', {'a': {'securityContext': {'runAsNonRoot': False}}},
     'runAsNonRoot != true (container "a" must not set securityContext.runAsNonRoot=false)'),
    ('non-root-said-by-the-container', 'restricted:latest', {'securityContext': {'runAsNonRoot': None}, 'a': {'securityContext': {'runAsNonRoot': True}}}, None),
    ('root-in-a-user-namespace', 'restricted:latest', {'hostUsers': False, 'securityContext': {'runAsNonRoot': None}}, None),
    ('root-in-a-user-namespace-before-1-35', 'restricted:v1.34', {'hostUsers': False, 'securityContext': {'runAsNonRoot': None}}, ROOT),
    ('root-in-the-host-s', 'restricted:latest', {'hostUsers': True, 'securityContext': {'runAsNonRoot': None}}, ROOT),
    ('user', 'restricted:latest', {'securityContext': {'runAsUser': 0}, 'a': {'securityContext': {'runAsUser': 0}}},
     'runAsUser=0 (pod and container "a" must not set runAsUser=0)'),
    ('user-of-the-pod', 'restricted:v1.23', {'securityContext': {'runAsUser': 0}}, 'runAsUser=0 (pod must not set runAsUser=0)'),
    ('user-before-1-23', 'restricted:v1.22', {'securityContext': {'runAsUser': 0}}, None),
    ('user-fine', 'restricted:latest', {'securityContext': {'runAsUser': 1000}}, None),
    ('user-in-a-user-namespace', 'restricted:latest', {'hostUsers': False, 'securityContext': {'runAsUser': 0}}, None),
    ('user-in-a-user-namespace-before-1-35', 'restricted:v1.34', {'hostUsers': False, 'securityContext': {'runAsUser': 0}},
     'runAsUser=0 (pod must not set runAsUser=0)'),
    ('seccomp-not-said', 'restricted:latest', {'securityContext': {'seccompProfile': None}}, SECCOMP),
    ('seccomp-unconfined', 'restricted:latest', {'securityContext': {'seccompProfile': {'type': 'Unconfined'}}},
     'seccompProfile (pod must not set securityContext.seccompProfile.type to "Unconfined")'),
    ('seccomp-of-the-container', 'restricted:latest',
     {'securityContext': {'seccompProfile': None}, 'a': {'securityContext': {'seccompProfile': {'type': 'RuntimeDefault'}}}}, None),
    ('seccomp-of-the-container-unconfined', 'restricted:latest', {'a': {'securityContext': {'seccompProfile': {'type': 'Unconfined'}}}},
     'seccompProfile (container "a" must not set securityContext.seccompProfile.type to "Unconfined")'),
    ('seccomp-before-1-19', 'restricted:v1.18', {'securityContext': {'seccompProfile': None}}, None),
    ('volumes-fine', 'restricted:latest', volumes(
        a={'configMap': {'name': 'x'}}, b={'csi': {'driver': 'x'}}, c={'downwardAPI': {'items': []}}, d={'emptyDir': {}}, e={'secret': {'secretName': 'x'}},
        f={'persistentVolumeClaim': {'claimName': 'x'}}, g={'projected': {'sources': []}}, h={'image': {'reference': 'x'}}), None),
    ('volumes', 'restricted:latest', volumes(
        a=PATH, b={'nfs': {'server': 's', 'path': '/'}}, c={'emptyDir': {}}, d={'nfs': {'server': 's', 'path': '/'}}),
     'restricted volume types (volumes "a", "b", "d" use restricted volume types "hostPath", "nfs")'),
    ('volume', 'restricted:v1.0', volumes(a={'iscsi': {'targetPortal': 't', 'iqn': 'iqn.2000-01.a:b', 'lun': 0}}),
     'restricted volume types (volume "a" uses restricted volume type "iscsi")'),
    ('proc-mount', 'restricted:latest', UNMASKED, PROC),
    ('proc-mount-before-1-35', 'restricted:v1.34', UNMASKED, PROC),
    ('two-containers', 'restricted:latest', {'initContainers': [container('i')]},
     'allowPrivilegeEscalation != false (container "i" must set securityContext.allowPrivilegeEscalation=false), '
     'unrestricted capabilities (container "i" must set securityContext.capabilities.drop=["ALL"])'),
]


def judged(t, standard, spec, how):
    a = t.post(t.at('pods', ns=shared(t, standard)), pod(spec), dryRun='All')
    if how is None:
        t.code(a, 201)
        t.eq(warned(a), [], 'warnings')
    else:
        refused(t, a, standard, how)


@rows(BASELINE)
def baseline(t, _name, standard, more, how):
    judged(t, standard, spec_of(False, **copy.deepcopy(more)), how)


@rows(RESTRICTED)
def restricted(t, _name, standard, more, how):
    judged(t, standard, spec_of(**copy.deepcopy(more)), how)


@rows([('now', 'restricted:latest', None), ('since-1-25', 'restricted:v1.25', None),
       ('before-1-25', 'restricted:v1.24', ', '.join((ESCALATION, CAPABILITIES, SECCOMP)))])
def windows(t, _name, standard, how):
    judged(t, standard, spec_of(False, **WINDOWS), how)


@rows([('pod', {'seccomp.security.alpha.kubernetes.io/pod': 'unconfined'},
        'seccompProfile (forbidden annotation seccomp.security.alpha.kubernetes.io/pod="unconfined")'),
       ('containers', {'container.seccomp.security.alpha.kubernetes.io/a': 'unconfined', 'seccomp.security.alpha.kubernetes.io/pod': 'unconfined'},
        'seccompProfile (forbidden annotations container.seccomp.security.alpha.kubernetes.io/a="unconfined", '
        'seccomp.security.alpha.kubernetes.io/pod="unconfined")'),
       ('fine', {'seccomp.security.alpha.kubernetes.io/pod': 'docker/default', 'container.seccomp.security.alpha.kubernetes.io/a': 'localhost/x'}, None)])
def seccomp_annotations(t, _name, notes, how):
    where = t.at('pods', ns=shared(t, 'baseline:v1.18'))
    a = t.post(where, pod(spec_of(False), annotations=notes), dryRun='All')
    if how is None:
        t.code(a, 201)
    else:
        refused(t, a, 'baseline:v1.18', how)


@check
def a_pod_without_a_name_is_refused_by_the_name_it_gets(t):
    body = {'metadata': {'generateName': 'gen-'}, 'spec': spec_of(False, hostNetwork=True)}
    a = t.post(t.at('pods', ns=shared(t, 'baseline:latest')), body, dryRun='All')
    t.status(a, 403, 'Forbidden')
    t.true(re.fullmatch(r'pods "gen-[a-z0-9]{5}" is forbidden: violates PodSecurity "baseline:latest": ' + re.escape(NETWORK), a['message']), a['message'])


# ---- modes ----

@check
def no_labels_mean_privileged(t):
    a = t.post(t.pods(), pod(spec_of(False, hostNetwork=True, a={'securityContext': {'privileged': True}})), dryRun='All')
    t.code(a, 201)
    t.eq(warned(a), [])


@check
def version_without_a_level_means_nothing(t):
    ns = t.name('psa')
    t.make(NAMESPACES, {'metadata': meta(ns, labels={LABELS + 'enforce-version': 'v1.30', LABELS + 'warn-version': 'v1.30'})})
    a = t.code(t.post(t.at('pods', ns=ns), pod(spec_of(False, hostNetwork=True)), dryRun='All'), 201)
    t.eq(warned(a), [])


@check
def audit_neither_refuses_nor_warns(t):
    a = t.post(t.at('pods', ns=space(t, audit='restricted:latest')), pod(spec_of(False)), dryRun='All')
    t.code(a, 201)
    t.eq(warned(a), [])


@check
def warn_does_not_refuse(t):
    a = t.post(t.at('pods', ns=space(t, warn='restricted')), pod(spec_of(False)), dryRun='All')
    t.code(a, 201)
    t.eq(warned(a), [f'would violate PodSecurity "restricted:latest": {ALL_FOUR}'])


@check
def what_is_enforced_is_warned_of_only_where_it_is_not_refused(t):
    where = t.at('pods', ns=space(t, enforce='baseline', warn='restricted:v1.24'))
    refused(t, t.post(where, pod(spec_of(False, hostNetwork=True)), dryRun='All'), 'baseline:latest', NETWORK)
    a = t.code(t.post(where, pod(spec_of(False)), dryRun='All'), 201)
    t.eq(warned(a), [f'would violate PodSecurity "restricted:v1.24": {ALL_FOUR}'])


@check
def all_modes_at_once(t):
    where = t.at('pods', ns=space(t, enforce='restricted', warn='restricted', audit='restricted'))
    refused(t, t.post(where, pod(spec_of(False)), dryRun='All'), 'restricted:latest', ALL_FOUR)
    t.eq(warned(t.code(t.post(where, pod(spec_of()), dryRun='All'), 201)), [])


@check
def long_names_are_told_whole(t):
    name = 'c' * 63
    spec = spec_of(False, containers=[container(name), container('d' * 63), container('e' * 63)])
    listed = ', '.join(f'"{n * 63}"' for n in 'cde')
    a = t.post(t.at('pods', ns=shared(t, 'restricted:v1.7')), pod(spec, name='n' * 63), dryRun='All')
    refused(t, a, 'restricted:v1.7', f'runAsNonRoot != true (pod or containers {listed} must set securityContext.runAsNonRoot=true)', 'n' * 63)


# ---- templates ----

def workload(plural, spec, name='w'):
    template = {'metadata': {'labels': {'app': 'x'}}, 'spec': spec}
    selector = {'matchLabels': {'app': 'x'}}
    once = merged(copy.deepcopy(template), {'spec': {'restartPolicy': 'Never'}})
    body = {
        'deployments': {'spec': {'selector': selector, 'template': template}},
        'replicasets': {'spec': {'selector': selector, 'template': template}},
        'statefulsets': {'spec': {'selector': selector, 'template': template, 'serviceName': 's'}},
        'daemonsets': {'spec': {'selector': selector, 'template': template}},
        'replicationcontrollers': {'spec': {'selector': {'app': 'x'}, 'template': template}},
        'podtemplates': {'template': template},
        'jobs': {'spec': {'template': once}},
        'cronjobs': {'spec': {'schedule': '0 0 1 1 *', 'jobTemplate': {'spec': {'template': once}}}},
    }[plural]
    return {'metadata': meta(name), **body}


def collection(t, plural, ns):
    group = {'jobs': 'batch', 'cronjobs': 'batch', 'replicationcontrollers': '', 'podtemplates': ''}.get(plural, 'apps')
    return t.at(plural, group, ns=ns)


WORKLOADS = [(p,) for p in ('deployments', 'replicasets', 'statefulsets', 'daemonsets', 'replicationcontrollers', 'podtemplates', 'jobs', 'cronjobs')]


@rows(WORKLOADS)
def templates_are_warned_of(t, plural):
    where = collection(t, plural, space(t, warn='restricted:v1.30'))
    want = [f'would violate PodSecurity "restricted:v1.30": {ALL_FOUR}']
    t.eq(warned(t.code(t.post(where, workload(plural, spec_of(False)), dryRun='All'), 201)), want, 'create')
    t.eq(warned(t.code(t.post(where, workload(plural, spec_of())), 201)), [], 'hardened')
    a = t.code(t.patch(f'{where}/w', {'metadata': {'labels': {'a': 'b'}}}), 200)
    t.eq(warned(a), [], 'update')


@rows(WORKLOADS)
def templates_are_warned_of_what_is_enforced(t, plural):
    where = collection(t, plural, space(t, enforce='baseline:v1.30'))
    a = t.code(t.post(where, workload(plural, spec_of(False, hostNetwork=True))), 201)
    want = [f'would violate PodSecurity "baseline:v1.30": {NETWORK}']
    t.eq(warned(a), want, 'create')
    a = t.code(t.patch(f'{where}/w', {'metadata': {'labels': {'a': 'b'}}}), 200)
    t.eq(warned(a), want, 'any update')


@check
def templates_are_not_refused_and_not_warned_of_when_nobody_wants_it(t):
    where = collection(t, 'deployments', space(t, enforce='restricted', warn='privileged'))
    t.eq(warned(t.code(t.post(where, workload('deployments', spec_of(False)), dryRun='All'), 201)), [])
    where = collection(t, 'deployments', space(t, audit='restricted'))
    t.eq(warned(t.code(t.post(where, workload('deployments', spec_of(False)), dryRun='All'), 201)), [])


@check
def warnings_keep_their_own_version(t):
    ns = t.name('psa')
    t.make(NAMESPACES, {'metadata': meta(ns, labels={LABELS + 'enforce': 'restricted', LABELS + 'enforce-version': 'v1.30',
                                                     LABELS + 'warn-version': 'v1.7'})})
    a = t.code(t.post(collection(t, 'jobs', ns), workload('jobs', spec_of(False)), dryRun='All'), 201)
    t.eq(warned(a), [f'would violate PodSecurity "restricted:v1.7": {ROOT}'])


@check
def subresources_of_templates_warn_of_nothing(t):
    where = collection(t, 'deployments', space(t, warn='restricted'))
    t.code(t.post(where, workload('deployments', spec_of(False))), 201)
    t.eq(warned(t.code(t.patch(f'{where}/w/scale', {'spec': {'replicas': 2}}), 200)), [], 'scale')
    t.eq(warned(t.code(t.patch(f'{where}/w/status', {'status': {'replicas': 2}}), 200)), [], 'status')
    t.true(warned(t.code(t.patch(f'{where}/w', {'spec': {'replicas': 3}}), 200)), 'no warning of the deployment itself')


@check
def annotations_of_apparmor_in_a_template(t):
    body = workload('deployments', spec_of(False, a={'securityContext': {'appArmorProfile': {'type': 'Unconfined'}}}))
    key = 'container.apparmor.security.beta.kubernetes.io/'
    body['spec']['template']['metadata']['annotations'] = {key + 'b': 'unconfined', key + 'a': 'localhost/x', key + 'c': ''}
    body['spec']['template']['spec']['containers'] += [container('b'), container('c')]
    body['spec']['template']['spec']['containers'][0]['securityContext']['appArmorProfile'] = {'type': 'Localhost', 'localhostProfile': 'x'}
    where = collection(t, 'deployments', space(t, warn='baseline'))
    a = t.post(where, body, dryRun='All')
    t.code(a, 201)
    t.eq(warned(a), ['would violate PodSecurity "baseline:latest": forbidden AppArmor profile (annotation must not set AppArmor '
                     f'profile type to "{key}b="unconfined"")'])


# ---- updates of pods ----

def tightened(t, standard='restricted', *specs):
    """Pods of these specs, named x0, x1, ..., in a namespace that enforces the standard afterwards."""
    ns = space(t)
    for i, spec in enumerate(specs):
        t.make(t.at('pods', ns=ns), pod(spec, name=f'x{i}'))
    t.code(t.patch(f'{NAMESPACES}/{ns}', {'metadata': {'labels': labels(enforce=standard)}}), 200)
    t.until('the standard is enforced', lambda: t.post(t.at('pods', ns=ns), pod(spec_of(False, hostPID=True)), dryRun='All').code == 403)
    return ns


@check
def updates_that_concern_no_check_are_not_judged(t):
    ns = tightened(t, 'restricted', spec_of(False))
    path = f'{t.at("pods", ns=ns)}/x0'
    a = t.code(t.patch(path, {'metadata': {'labels': {'a': 'b'}, 'annotations': {'seccomp.security.alpha.kubernetes.io/pod': 'unconfined'}}}), 200)
    t.eq(warned(a), [], 'labels')
    t.eq(warned(t.code(t.patch(path, {'spec': {'activeDeadlineSeconds': 100}}), 200)), [], 'deadline')
    t.eq(warned(t.code(t.patch(f'{path}/status', {'status': {'reason': 'x'}}), 200)), [], 'status')
    body = {'apiVersion': 'v1', 'kind': 'Binding', 'metadata': meta('x0'), 'target': {'kind': 'Node', 'name': 'nowhere'}}
    t.eq(warned(t.code(t.post(f'{path}/binding', body, dryRun='All'), 201)), [], 'binding')
    body = {'apiVersion': 'policy/v1', 'kind': 'Eviction', 'metadata': meta('x0')}
    t.eq(warned(t.code(t.post(f'{path}/eviction', body, dryRun='All'), 201)), [], 'eviction')
    t.code(t.delete(path, {'gracePeriodSeconds': 0}), 200)


@check
def a_new_image_is_judged(t):
    ns = tightened(t, 'restricted', spec_of(False), spec_of(), spec_of(initContainers=[container('i')]))
    where = t.at('pods', ns=ns)
    image = {'spec': {'containers': [{'name': 'a', 'image': 'busybox:2'}]}}
    refused(t, t.patch(f'{where}/x0', image, STRATEGIC), 'restricted:latest', ALL_FOUR, 'x0')
    t.eq(warned(t.code(t.patch(f'{where}/x1', image, STRATEGIC), 200)), [], 'hardened')
    init = {'spec': {'initContainers': [{'name': 'i', 'image': 'busybox:2'}]}}
    a = t.status(t.patch(f'{where}/x2', init, STRATEGIC), 403, 'Forbidden', part='(container "i" must set')
    t.eq(a['details.name'], 'x2')


@check
def ephemeral_containers_are_judged(t):
    ns = tightened(t, 'restricted', spec_of())
    path = f'{t.at("pods", ns=ns)}/x0/ephemeralcontainers'
    good = spec_of()['containers'][0]['securityContext']

    def debug(name, **more):
        return {'spec': {'ephemeralContainers': [{'name': name, 'image': 'busybox:1', **more}]}}

    refused(t, t.patch(path, debug('e'), STRATEGIC), 'restricted:latest',
            'allowPrivilegeEscalation != false (container "e" must set securityContext.allowPrivilegeEscalation=false), '
            'unrestricted capabilities (container "e" must set securityContext.capabilities.drop=["ALL"])', 'x0')
    refused(t, t.patch(path, debug('e', securityContext={**good, 'privileged': True, 'allowPrivilegeEscalation': None}), STRATEGIC),
            'restricted:latest', 'privileged (container "e" must not set securityContext.privileged=true), '
            'allowPrivilegeEscalation != false (container "e" must set securityContext.allowPrivilegeEscalation=false)', 'x0')
    t.eq(warned(t.code(t.patch(path, debug('f', securityContext=good), STRATEGIC), 200)), [], 'hardened')


@check
def ephemeral_containers_of_a_pod_that_is_there_are_judged_with_it(t):
    ns = tightened(t, 'baseline', spec_of(False, hostPID=True))
    path = f'{t.at("pods", ns=ns)}/x0/ephemeralcontainers'
    body = {'spec': {'ephemeralContainers': [{'name': 'e', 'image': 'busybox:1'}]}}
    refused(t, t.patch(path, body, STRATEGIC), 'baseline:latest', 'host namespaces (hostPID=true)', 'x0')


@check
def a_resize_is_not_judged(t):
    ns = tightened(t, 'restricted', spec_of(False, a={'resources': {'requests': {'cpu': '1'}, 'limits': {'cpu': '2'}}}))
    a = t.patch(f'{t.at("pods", ns=ns)}/x0/resize', {'spec': {'containers': [{'name': 'a', 'resources': {'limits': {'cpu': '3'}}}]}}, STRATEGIC)
    t.code(a, 200)
    t.eq(warned(a), [])


@check
def updates_are_warned_of(t):
    ns = space(t, warn='restricted')
    where = t.at('pods', ns=ns)
    t.eq(len(warned(t.code(t.post(where, pod(spec_of(False))), 201))), 1, 'create')
    t.eq(warned(t.code(t.patch(f'{where}/x', {'metadata': {'labels': {'a': 'b'}}}), 200)), [], 'labels')
    a = t.code(t.patch(f'{where}/x', {'spec': {'containers': [{'name': 'a', 'image': 'busybox:2'}]}}, STRATEGIC), 200)
    t.eq(warned(a), [f'would violate PodSecurity "restricted:latest": {ALL_FOUR}'], 'image')


# ---- labels of namespaces ----

LEVEL = 'must be one of privileged, baseline, restricted'
VERSION = 'must be "latest" or "v1.x"'


def cause(label, value, why):
    return f'metadata.labels[{LABELS}{label}]: Invalid value: "{value}": {why}'


WRONG = [
    ('level', {'enforce': 'strict'}, [('enforce', 'strict', LEVEL)]),
    ('level-in-capitals', {'audit': 'Baseline'}, [('audit', 'Baseline', LEVEL)]),
    ('empty-level', {'warn': ''}, [('warn', '', LEVEL)]),
    ('version', {'enforce-version': 'v2.0'}, [('enforce-version', 'v2.0', VERSION)]),
    ('version-without-v', {'enforce': 'baseline', 'enforce-version': '1.20'}, [('enforce-version', '1.20', VERSION)]),
    ('version-without-minor', {'audit-version': 'v1'}, [('audit-version', 'v1', VERSION)]),
    ('version-with-patch', {'warn-version': 'v1.20.1'}, [('warn-version', 'v1.20.1', VERSION)]),
    ('version-with-zero', {'warn-version': 'v1.01'}, [('warn-version', 'v1.01', VERSION)]),
    ('version-too-large', {'warn-version': 'v1.9223372036854775808'}, [('warn-version', 'v1.9223372036854775808', VERSION)]),
    ('empty-version', {'warn-version': ''}, [('warn-version', '', VERSION)]),
    ('all', {'warn-version': 'a', 'warn': 'b', 'audit-version': 'c', 'audit': 'd', 'enforce-version': 'e', 'enforce': 'f'},
     [('enforce', 'f', LEVEL), ('enforce-version', 'e', VERSION), ('audit', 'd', LEVEL), ('audit-version', 'c', VERSION),
      ('warn', 'b', LEVEL), ('warn-version', 'a', VERSION)]),
]


def wrong_labels(t, a, name, causes):
    told = [cause(*c) for c in causes]
    text = told[0] if len(told) == 1 else f'[{", ".join(told)}]'
    t.status(a, 422, 'Invalid', message=f'Namespace "{name}" is invalid: {text}', details={'name': name, 'kind': 'Namespace', 'group': None},
             causes=[('FieldValueInvalid', f'metadata.labels[{LABELS}{c[0]}]', c[2]) for c in causes])
    t.eq([c['message'] for c in a['details.causes']], [x.split(': ', 1)[1] for x in told], 'causes')


@rows(WRONG)
def wrong_labels_are_refused(t, _name, given, causes):
    given = {LABELS + k: v for k, v in given.items()}
    name = t.name('psa')
    wrong_labels(t, t.post(NAMESPACES, {'metadata': meta(name, labels=given)}, dryRun='All'), name, causes)
    wrong_labels(t, t.patch(f'{NAMESPACES}/{t.ns}', {'metadata': {'labels': given}}), t.ns, causes)


@rows([('latest', 'latest'), ('first', 'v1.0'), ('this', 'v1.35'), ('to-come', 'v1.36'), ('large', 'v1.9223372036854775807')])
def versions_that_are_fine(t, _name, version):
    name = t.name('psa')
    t.make(NAMESPACES, {'metadata': meta(name, labels={**labels(enforce=f'restricted:{version}'), LABELS + 'else': 'x'})})
    a = t.post(t.at('pods', ns=name), pod(spec_of(False, **volumes(v={'nfs': {'server': 's', 'path': '/'}}))), dryRun='All')
    t.status(a, 403, 'Forbidden', part=f'violates PodSecurity "restricted:{version}": ')


@check
def subresources_of_namespaces_are_not_judged(t):
    given = {LABELS + 'enforce': 'strict'}
    body = t.read(f'{NAMESPACES}/{t.ns}')
    a = t.code(t.patch(f'{NAMESPACES}/{t.ns}/status', {'metadata': {'labels': given}, 'status': {'phase': 'Active'}}), 200)
    t.eq(a['metadata.uid'], body['metadata']['uid'])


@check
def labels_that_are_wrong_already_hinder_no_other_change(t):
    """They come in through a status, which nobody judges."""
    path = f'{NAMESPACES}/{t.ns}'
    a = t.code(t.patch(f'{path}/status', {'metadata': {'labels': {LABELS + 'enforce': 'strict'}}}), 200)
    t.eq(a['metadata.labels'].get(LABELS + 'enforce'), 'strict')
    t.code(t.patch(path, {'metadata': {'annotations': {'a': 'b'}}}), 200)
    wrong_labels(t, t.patch(path, {'metadata': {'labels': {LABELS + 'enforce': 'stricter'}}}), t.ns, [('enforce', 'stricter', LEVEL)])
    wrong_labels(t, t.patch(path, {'metadata': {'labels': {LABELS + 'warn': 'x'}}}), t.ns, [('enforce', 'strict', LEVEL), ('warn', 'x', LEVEL)])
    t.until('restricted is enforced', lambda: t.post(t.pods(), pod(spec_of(False)), dryRun='All').code == 403)
    refused(t, t.post(t.pods(), pod(spec_of(False)), dryRun='All'), 'restricted:latest', ALL_FOUR)
    where = collection(t, 'deployments', t.ns)
    t.eq(warned(t.code(t.post(where, workload('deployments', spec_of(False)), dryRun='All'), 201)), [], 'what is mistyped is not warned of')


# ---- pods that are there ----

def change(t, ns, dry=True, **modes):
    return t.code(t.patch(f'{NAMESPACES}/{ns}', {'metadata': {'labels': labels(**modes)}}, dryRun='All' if dry else None), 200)


def told(t, ns, want, **modes):
    """The server may not know all pods yet."""
    want = [w.replace('{ns}', ns) for w in want]
    t.until(f'warned of {want}', lambda: all_warned(change(t, ns, **modes)) == want, limit=20)
    t.eq(all_warned(change(t, ns, **modes)), want)


FOUR = 'allowPrivilegeEscalation != false, unrestricted capabilities, runAsNonRoot != true, seccompProfile'
EXISTING = 'existing pods in namespace "{ns}" violate the new PodSecurity enforce level '


@check
def who_tightens_is_told_of_pods(t):
    ns = space(t)
    where = t.at('pods', ns=ns)
    for name in ('c', 'b', 'd'):
        t.make(where, pod(spec_of(False), name=name))
    for name in ('f', 'e'):
        t.make(where, pod(spec_of(False, hostPID=True), name=name))
    t.make(where, pod(spec_of(hostIPC=True), name='a'))
    t.make(where, pod(spec_of(), name='good'))
    told(t, ns, [EXISTING + '"restricted:latest"', 'a: host namespaces', f'b (and 2 other pods): {FOUR}',
                 f'e (and 1 other pod): host namespaces, {FOUR}'], enforce='restricted')
    told(t, ns, [EXISTING + '"baseline:v1.30"', 'a (and 2 other pods): host namespaces'], enforce='baseline:v1.30')
    told(t, ns, [EXISTING + '"restricted:v1.7"', 'a: host namespaces', 'b (and 2 other pods): runAsNonRoot != true',
                 'e (and 1 other pod): host namespaces, runAsNonRoot != true'], enforce='restricted:v1.7')


@check
def who_tightens_by_a_version_is_told_of_pods(t):
    ns = space(t, enforce='baseline:v1.33')
    t.make(t.at('pods', ns=ns), pod(spec_of(False, a={'livenessProbe': GET})))
    told(t, ns, [EXISTING + '"baseline:v1.34"', 'x: probe or lifecycle host'], enforce='baseline:v1.34')
    told(t, ns, [], enforce='baseline:v1.32')
    told(t, ns, [EXISTING + '"restricted:v1.7"', 'x: runAsNonRoot != true'], enforce='restricted:v1.7')


@check
def who_loosens_is_told_of_nothing(t):
    ns = tightened(t, 'restricted:v1.30', spec_of(False, hostPID=True))
    told(t, ns, [EXISTING + '"baseline:v1.31"', 'x0: host namespaces'], enforce='baseline:v1.31')
    t.eq(all_warned(change(t, ns, enforce='baseline:v1.30')), [], 'a lower level of the same version')
    t.eq(all_warned(change(t, ns, enforce='restricted:v1.30', warn='restricted', audit='restricted')), [], 'the same')
    t.eq(all_warned(change(t, ns, enforce='privileged:v1.29')), [], 'privileged')
    t.eq(all_warned(t.code(t.patch(f'{NAMESPACES}/{ns}', {'metadata': {'labels': {'a': 'b'}}}), 200)), [], 'another label')


@check
def who_makes_a_namespace_is_told_of_nothing(t):
    a = t.post(NAMESPACES, {'metadata': meta(t.name('psa'), labels=labels(enforce='restricted', warn='baseline'))}, dryRun='All')
    t.code(a, 201)
    t.eq(all_warned(a), [])


@check
def a_put_is_judged_as_a_patch(t):
    ns = space(t)
    t.make(t.at('pods', ns=ns), pod(spec_of(False, hostPID=True)))
    told(t, ns, [EXISTING + '"baseline:latest"', 'x: host namespaces'], enforce='baseline')
    body = t.read(f'{NAMESPACES}/{ns}')
    body['metadata']['labels'].update(labels(enforce='baseline'))
    a = t.code(t.put(f'{NAMESPACES}/{ns}', body), 200)
    t.eq(all_warned(a), [f'existing pods in namespace "{ns}" violate the new PodSecurity enforce level "baseline:latest"', 'x: host namespaces'])


@check
def a_label_counts_soon_and_until_it_goes(t):
    ns = tightened(t, 'restricted')
    t.code(t.patch(f'{NAMESPACES}/{ns}', {'metadata': {'labels': {LABELS + 'enforce': None}}}), 200)
    t.until('nothing is enforced', lambda: t.post(t.at('pods', ns=ns), pod(spec_of(False)), dryRun='All').code == 201)


@check
def an_apply_is_judged(t):
    body = {'apiVersion': 'v1', 'kind': 'Pod', **pod(spec_of(False, hostIPC=True))}
    a = t.patch(f'{t.at("pods", ns=shared(t, "baseline:latest"))}/x', body, 'application/apply-patch+yaml', fieldManager='m', dryRun='All')
    refused(t, a, 'baseline:latest', 'host namespaces (hostIPC=true)')


@check
def other_templates_are_not_judged(t):
    """A job of a cron job is judged when it is made, as its pods are."""
    ns = space(t, warn='baseline')
    a = t.code(t.post(t.at('jobs', 'batch', ns=ns), job('j'), dryRun='All'), 201)
    t.eq(warned(a), [])
    a = t.code(t.post(t.at('configmaps', ns=ns), {'metadata': meta('x'), 'data': {'hostNetwork': 'true'}}, dryRun='All'), 201)
    t.eq(warned(a), [])
