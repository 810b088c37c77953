"""certificates.py - CertificateSigningRequest: what is asked for, who approves, what is issued. Nobody signs here."""
import base64

from client import check
from malformed import refuse_new

PATH = '/apis/certificates.k8s.io/v1/certificatesigningrequests'
SIGNER = 'example.com/signer'


def b64(text):
    return base64.b64encode(text.encode()).decode()


# P-256, O=team, CN=jane
REQUEST = b64(
    '-----BEGIN CERTIFICATE REQUEST-----\n'
    'MIHaMIGAAgEAMB4xDTALBgNVBAoMBHRlYW0xDTALBgNVBAMMBGphbmUwWTATBgcq\n'
    'hkjOPQIBBggqhkjOPQMBBwNCAATzT+EFpGwVanuxt6EKVr6eW2yDy98yrZGklo1M\n'
    'mp6uqvYdrYwGerB67xz5MG8ImeJYXzP7zpFfLCIBOK5pMLIzoAAwCgYIKoZIzj0E\n'
    'AwIDSQAwRgIhANhGtaFyCiAi5AQyq6UDECgfeWDEaYInUrWc1gIMtuM3AiEA9XrD\n'
    'Tthz7sPs+iHS2bvBOBwUN+f4vWMe0I1lzrq88yE=\n'
    '-----END CERTIFICATE REQUEST-----\n')
# O=system:masters
MASTERS = b64(
    '-----BEGIN CERTIFICATE REQUEST-----\n'
    'MIHkMIGKAgEAMCgxFzAVBgNVBAoMDnN5c3RlbTptYXN0ZXJzMQ0wCwYDVQQDDARq\n'
    'YW5lMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE80/hBaRsFWp7sbehCla+nlts\n'
    'g8vfMq2RpJaNTJqerqr2Ha2MBnqweu8c+TBvCJniWF8z+86RXywiATiuaTCyM6AA\n'
    'MAoGCCqGSM49BAMCA0kAMEYCIQDxY/QiqgkrHvDNFJe5BCsNZyX0FVd6I9QxFoRK\n'
    'W3YW+wIhAOM5GlDFMmtvqv5HQBcaF1f+qrHeAqj9HEoz2gx8wbRm\n'
    '-----END CERTIFICATE REQUEST-----\n')
CERTIFICATE = b64(
    '-----BEGIN CERTIFICATE-----\n'
    'MIIBdTCCARugAwIBAgIUT4Qjcy35GRylcZ123HGBu9RO+fEwCgYIKoZIzj0EAwIw\n'
    'DzENMAsGA1UEAwwEamFuZTAgFw0yNjExMTcxNzI5NTNaGA8yMTI2MTAyNDE3Mjk1\n'
    'M1owDzENMAsGA1UEAwwEamFuZTBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABPNP\n'
    '4QWkbBVqe7G3oQpWvp5bbIPL3zKtkaSWjUyanq6q9h2tjAZ6sHrvHPkwbwiZ4lhf\n'
    'M/vOkV8sIgE4rmkwsjOjUzBRMB0GA1UdDgQWBBRf2/3EsjvrDTYC3pmtIrWaqyGJ\n'
    'sjAfBgNVHSMEGDAWgBRf2/3EsjvrDTYC3pmtIrWaqyGJsjAPBgNVHRMBAf8EBTAD\n'
    'AQH/MAoGCCqGSM49BAMCA0gAMEUCIQCje6HBQbKgg0lWlm79MebBZ4xqUUP6TL3M\n'
    'B9zv36RNSQIgH+CghMqrmOhQtHY/u8bxwme1GTmvw7icv86jkfNOXsI=\n'
    '-----END CERTIFICATE-----\n')


def csr(name, request=REQUEST, **spec):
    return {'apiVersion': 'certificates.k8s.io/v1', 'kind': 'CertificateSigningRequest', 'metadata': {'name': name},
            'spec': {'request': request, 'signerName': SIGNER, 'usages': ['client auth'], **spec}}


def text(b):
    return base64.b64decode(b).decode()


def other_signature(b):
    """A letter in the middle of the key changed: it can still be read."""
    t = text(b)
    i = t.index('\n') + 100
    return b64(t[:i] + ('A' if t[i] != 'A' else 'B') + t[i + 1:])


refuse_new('certificate_request', PATH, csr('x'), 'spec', [
    ('is_missing', {'request': None}, '422 Invalid: Invalid spec.request'),
    ('is_empty', {'request': ''}, '422 Invalid: Invalid spec.request'),
    ('is_no_pem', {'request': b64('hello')}, '422 Invalid: Invalid spec.request'),
    ('is_no_base64', {'request': '!'}, '400 BadRequest'),
    ('is_a_certificate', {'request': CERTIFICATE}, '422 Invalid: Invalid spec.request'),
    ('is_cut_off', {'request': b64(text(REQUEST)[:200])}, '422 Invalid: Invalid spec.request'),
    ('has_no_content', {'request': b64('-----BEGIN CERTIFICATE REQUEST-----\nAAAA\n-----END CERTIFICATE REQUEST-----\n')},
     '422 Invalid: Invalid spec.request'),
    ('is_signed_by_another_key', {'request': other_signature(REQUEST)}, '422 Invalid: Invalid spec.request'),
    ('has_no_usages', {'usages': []}, '422 Invalid: Required spec.usages'),
    ('usage_is_unknown', {'usages': ['client auth', 'x']}, '422 Invalid: NotSupported spec.usages[1]'),
    ('usage_is_there_twice', {'usages': ['client auth', 'client auth']}, '422 Invalid: Duplicate spec.usages[1]'),
    ('signer_is_missing', {'signerName': ''}, '422 Invalid: Required spec.signerName'),
    ('signer_has_no_path', {'signerName': 'example.com'}, '422 Invalid: Invalid spec.signerName'),
    ('signer_has_two_slashes', {'signerName': 'example.com/a/b'}, '422 Invalid: Invalid spec.signerName'),
    ('signer_has_no_domain', {'signerName': 'example/a'}, '422 Invalid: Invalid spec.signerName'),
    ('signer_has_a_bad_domain', {'signerName': 'Exa_mple.com/a'}, '422 Invalid: Invalid spec.signerName'),
    ('signer_has_a_bad_path', {'signerName': 'example.com/A'}, '422 Invalid: Invalid spec.signerName'),
    ('signer_has_an_empty_path', {'signerName': 'example.com/'}, '422 Invalid: Invalid spec.signerName'),
    ('signer_is_too_long', {'signerName': 'a.' * 130 + 'com/x'}, '422 Invalid: TooLong spec.signerName'),
    ('signer_is_the_legacy_one', {'signerName': 'kubernetes.io/legacy-unknown'}, '422 Invalid: Invalid spec.signerName'),
    ('ends_too_soon', {'expirationSeconds': 599}, '422 Invalid: Invalid spec.expirationSeconds'),
])


@check
def nobody_asks_to_be_an_administrator(t):
    name = t.name('csr')
    a = t.post(PATH, csr(name, MASTERS, signerName='kubernetes.io/kube-apiserver-client'))
    t.status(a, 403, 'Forbidden', f'certificatesigningrequests.certificates.k8s.io "{name}" is forbidden: use of '
             'kubernetes.io/kube-apiserver-client signer with system:masters group is not allowed')
    t.make(PATH, csr(name, MASTERS))


@check
def who_asks_is_told_by_the_server(t):
    got = t.make(PATH, csr(t.name('csr'), username='somebody', groups=['x']))
    t.true(got['spec']['username'] != 'somebody' and 'x' not in got['spec']['groups'], f'{got["spec"]}')
    t.has(got, 'status', {})


@check
def neither_spec_nor_status_changes_on_the_plain_path(t):
    made = t.make(PATH, csr(t.name('csr')))
    body = {**made, 'spec': {**made['spec'], 'usages': ['server auth'], 'signerName': 'example.com/other'},
            'status': {'conditions': [{'type': 'Approved', 'status': 'True'}]}}
    got = t.code(t.put(f'{PATH}/{made["metadata"]["name"]}', body), 200)
    t.has(got, 'spec', made['spec'])
    t.has(got, 'status', {})


def approved(kind='Approved', **more):
    return {'status': {'conditions': [{'type': kind, 'status': 'True', 'reason': 'r', 'message': 'm', **more}]}}


@check
def approval_sets_conditions_and_their_times(t):
    made = t.make(PATH, csr(t.name('csr')))
    path = f'{PATH}/{made["metadata"]["name"]}'
    got = t.code(t.put(f'{path}/approval', {**made, **approved()}), 200)
    c, = got['status.conditions']
    t.eq((c['type'], c['status'], c['reason'], c['message']), ('Approved', 'True', 'r', 'm'), 'condition')
    t.true(c['lastUpdateTime'] and c['lastTransitionTime'], f'{c}')
    t.has(got, 'spec', made['spec'])
    t.has(t.code(t.get(f'{path}/approval'), 200), 'status.conditions', [c])
    got = t.code(t.patch(f'{path}/approval', {'status': {'conditions': [c, {'type': 'X', 'status': 'Unknown'}]}}), 200)
    t.eq([x['type'] for x in got['status.conditions']], ['Approved', 'X'], 'conditions')


@check
def approval_has_rules(t):
    made = t.make(PATH, csr(t.name('csr')))
    path = f'{PATH}/{made["metadata"]["name"]}/approval'
    at = 'status.conditions'

    def patch(*conditions):
        return t.patch(path, {'status': {'conditions': list(conditions)}})
    yes, no = approved()['status']['conditions'][0], approved('Denied')['status']['conditions'][0]
    t.invalid(patch({**yes, 'status': 'False'}), ('FieldValueNotSupported', f'{at}[0].status'))
    t.invalid(patch({**yes, 'status': ''}), ('FieldValueRequired', f'{at}[0].status'))
    t.invalid(patch({'type': 'X', 'status': 'Y'}), ('FieldValueNotSupported', f'{at}[0].status'))
    t.invalid(patch({'type': '', 'status': 'True'}), ('FieldValueRequired', f'{at}[0].type'))
    t.invalid(patch(yes, no), ('FieldValueInvalid', at, 'Approved and Denied conditions are mutually exclusive'))
    t.invalid(patch(yes, yes), ('FieldValueDuplicate', f'{at}[1].type'))
    t.code(patch(yes), 200)
    t.invalid(patch(), ('FieldValueForbidden', at, 'updates may not remove a condition of type "Approved"'))
    t.invalid(patch(no), ('FieldValueForbidden', at, 'updates may not remove a condition of type "Approved"'))


@check
def approval_sets_no_certificate(t):
    made = t.make(PATH, csr(t.name('csr')))
    path = f'{PATH}/{made["metadata"]["name"]}'
    body = approved()
    body['status']['certificate'] = CERTIFICATE
    t.has(t.code(t.patch(f'{path}/approval', body), 200), 'status.certificate', None)


@check
def status_takes_the_certificate(t):
    made = t.make(PATH, csr(t.name('csr')))
    path = f'{PATH}/{made["metadata"]["name"]}'
    status = f'{path}/status'

    def patch(certificate):
        return t.patch(status, {'status': {'certificate': certificate}})
    t.invalid(t.patch(status, approved()),
              ('FieldValueForbidden', 'status.conditions', 'updates may not add a condition of type "Approved"'))
    t.code(t.patch(f'{path}/approval', approved()), 200)
    for bad in (b64('x'), REQUEST, b64(text(CERTIFICATE) + text(REQUEST)),
                b64('-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n')):
        t.invalid(patch(bad), ('FieldValueInvalid', 'status.certificate'))
    t.has(t.code(patch(CERTIFICATE), 200), 'status.certificate', CERTIFICATE)
    t.invalid(patch(b64(text(CERTIFICATE) * 2)),
              ('FieldValueForbidden', 'status.certificate', 'updates may not modify existing certificate content'))
    got = t.code(t.patch(status, approved(message='other')), 200)
    t.eq(got['status.conditions'][0]['message'], 'm', 'what approval said')


@check
def certificate_requests_are_selected_by_signer(t):
    signer = f'example.com/{t.name("s")}'
    name = t.make(PATH, csr(t.name('csr'), signerName=signer))['metadata']['name']
    got = t.read(PATH, fieldSelector=f'spec.signerName={signer}')
    t.eq([i['metadata']['name'] for i in got['items']], [name], 'items')


def role(t, verb, signers):
    """bob may write approval and status, and do this for these signers."""
    group = 'rbac.authorization.k8s.io'
    name = t.name('signing')
    t.make(f'/apis/{group}/v1/clusterroles', {'metadata': {'name': name}, 'rules': [
        {'apiGroups': ['certificates.k8s.io'], 'verbs': ['get', 'update', 'patch'],
         'resources': ['certificatesigningrequests/approval', 'certificatesigningrequests/status']},
        {'apiGroups': ['certificates.k8s.io'], 'verbs': [verb], 'resources': ['signers'], 'resourceNames': signers}]})
    user = t.name('signer')
    t.make(f'/apis/{group}/v1/clusterrolebindings', {
        'metadata': {'name': name}, 'roleRef': {'apiGroup': group, 'kind': 'ClusterRole', 'name': name},
        'subjects': [{'kind': 'User', 'name': user, 'apiGroup': group}]})
    return {'Impersonate-User': user}


@check
def approving_and_signing_are_rights(t):
    t.token('alice')  # only where roles count
    made = t.make(PATH, csr(t.name('csr')))
    name = made['metadata']['name']
    path = f'{PATH}/{name}'
    signing, approving = role(t, 'sign', [SIGNER]), role(t, 'approve', ['example.com/*'])
    said = f'certificatesigningrequests.certificates.k8s.io "{name}" is forbidden: user not permitted to'
    t.until('the role counts', lambda: t.get(f'{path}/approval', headers=signing).code == 200)
    t.until('the role counts', lambda: t.get(f'{path}/approval', headers=approving).code == 200)
    t.status(t.patch(f'{path}/approval', approved(), headers=signing), 403, 'Forbidden',
             f'{said} approve requests with signerName "{SIGNER}"')
    t.code(t.patch(f'{path}/approval', approved(), headers=approving), 200)
    issued = {'status': {'certificate': CERTIFICATE}}
    t.status(t.patch(f'{path}/status', issued, headers=approving), 403, 'Forbidden',
             f'{said} sign requests with signerName "{SIGNER}"')
    t.code(t.patch(f'{path}/status', issued, headers=signing), 200)
