"""protobuf.py - protobuf, read and written: bodies that are cut off, absurd or wrong get the same words from both servers, and
nothing is stored; updates and DeleteOptions; answers, lists, watches and errors that say what they say in JSON.

Written by hand: the envelope "k8s\\0", then runtime.Unknown {1: TypeMeta {1: apiVersion, 2: kind}, 2: raw}.
"""
from client import Failed, check, pod

PROTOBUF = 'application/vnd.kubernetes.protobuf'
MAPS = '/api/v1/namespaces/default/configmaps'
VARINT, FIXED64, BYTES, START, END, FIXED32 = range(6)


def varint(n):
    out = b''
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def field(num, data, wire=BYTES):
    return varint(num << 3 | wire) + (varint(len(data)) if wire == BYTES else b'') + data


def body(raw, api='v1', kind='ConfigMap'):
    return b'k8s\0' + field(1, field(1, api.encode()) + field(2, kind.encode())) + field(2, raw)


def meta(name):
    return field(1, field(1, name.encode()))


def data(key=b'a', value=b'b'):
    return field(2, field(1, key) + field(2, value))


def length(num, n):
    """The beginning of a field that says to be so long."""
    return varint(num << 3 | BYTES) + varint(n) + b'x'


GOOD = body(meta('pb') + data())
EOF = 'unexpected EOF'
# name, body, what is said of it: of the envelope (with its first bytes behind it), or of the object
ENVELOPE = [
    ('empty', b'', 'empty data (<empty>)'),
    ('only_the_magic', b'k8s\0', 'empty body (6b387300)'),
    ('without_the_magic', GOOD[4:], 'provided data does not appear to be a protobuf message, expected prefix [107 56 115 0] '
     '(0a0f0a0276311209436f6e6669674d6170120e0a040a02706212060a0161 ...)'),
    ('with_another_magic', b'k8t\0' + GOOD[4:], 'provided data does not appear to be a protobuf message, expected prefix '
     '[107 56 115 0] (6b3874000a0f0a0276311209436f6e6669674d6170120e0a040a02706212 ...)'),
    ('without_its_last_byte', GOOD[:-1], f'{EOF} (6b3873000a0f0a0276311209436f6e6669674d6170120e0a040a02706212 ...)'),
    ('cut_in_half', GOOD[:len(GOOD) // 2], f'{EOF} (6b3873000a0f0a0276311209436f6e666967)'),
    ('absurdly_long', b'k8s\0' + length(2, 1 << 40), f'{EOF} (6b3873001280808080802078)'),
    ('longer_than_memory', b'k8s\0' + length(2, (1 << 64) - 1),
     'proto: negative length found during unmarshaling (6b38730012ffffffffffffffffff0178)'),
    ('a_number_without_end', b'k8s\0' + b'\xff' * 11, 'proto: integer overflow (6b387300ffffffffffffffffffffff)'),
    ('type_of_another_wire_type', b'k8s\0' + field(1, b'\5', VARINT) + field(2, meta('pb')),
     'proto: wrong wireType = 0 for field TypeMeta (6b387300080512060a040a027062)'),
]
OBJECT = [
    ('cut_off_inside', body((meta('pb') + data())[:-1]), EOF),
    ('longer_than_its_message', body(length(1, 1 << 40)), EOF),
    ('of_two_gigabytes', body(length(1, (1 << 31) - 1)), EOF),
    ('of_negative_length', body(length(1, (1 << 63) + 5)), 'proto: negative length found during unmarshaling'),
    ('a_number_without_end', body(b'\xff' * 11), 'proto: integer overflow'),
    ('wire_type_6', body(meta('pb') + bytes([2 << 3 | 6]) + b'xx'), 'proto: wrong wireType = 6 for field Data'),
    ('wire_type_7', body(bytes([1 << 3 | 7])), 'proto: wrong wireType = 7 for field ObjectMeta'),
    ('unknown_field_of_wire_type_6', body(meta('pb') + bytes([9 << 3 | 6])), 'proto: illegal wireType 6'),
    ('metadata_as_a_number', body(field(1, b'\5', VARINT)), 'proto: wrong wireType = 0 for field ObjectMeta'),
    ('metadata_as_fixed64', body(field(1, b'12345678', FIXED64)), 'proto: wrong wireType = 1 for field ObjectMeta'),
    ('metadata_as_fixed32', body(field(1, b'1234', FIXED32)), 'proto: wrong wireType = 5 for field ObjectMeta'),
    ('name_as_a_number', body(field(1, field(1, b'\5', VARINT))), 'proto: wrong wireType = 0 for field Name'),
    ('field_zero', body(b'\2\0' + meta('pb')), 'proto: ConfigMap: illegal tag 0 (wire type 2)'),
    ('group_without_end', body(meta('pb') + bytes([9 << 3 | START])), EOF),
    ('end_without_group', body(meta('pb') + bytes([9 << 3 | END])), 'proto: ConfigMap: wiretype end group for non-group'),
    ('entry_cut_off', body(meta('pb') + field(2, field(1, b'a') + b'\x12\5b')), EOF),
    ('entry_of_another_type', body(meta('pb') + field(2, field(1, b'\1', VARINT))), EOF),
]


def table(rows, said):
    for name, raw, why in rows:
        def fn(t, raw=raw, why=why):
            a = t.call('POST', MAPS, raw=raw, content=PROTOBUF, dryRun='All')
            t.status(a, 400, 'BadRequest', f'{said}{why}')
        fn.__name__ = f'{"envelope" if rows is ENVELOPE else "object"}_{name}'
        check(fn)


table(ENVELOPE, 'the object provided is unrecognized (must be of type ConfigMap): ')
table(OBJECT, 'ConfigMap in version "v1" cannot be handled as a ConfigMap: ')


@check
def objects_of_another_version_are_refused(t):
    a = t.call('POST', MAPS, raw=body(meta('pb'), 'v9'), content=PROTOBUF)
    t.status(a, 400, 'BadRequest', part='ConfigMap in version "v9" cannot be handled as a ConfigMap: no kind "ConfigMap" is registered')
    a = t.call('POST', MAPS, raw=body(meta('pb'), kind='Secret'), content=PROTOBUF)
    t.status(a, 400, 'BadRequest', part='Secret in version "v1" cannot be handled as a ConfigMap: ')


def taken(t, raw):
    return t.code(t.call('POST', MAPS, raw=raw, content=PROTOBUF, dryRun='All'), 201)


@check
def unknown_fields_are_dropped(t):
    deep = field(99, b'')
    for _ in range(2000):
        deep = field(99, deep)
    for more in (field(99, b'hello'), field(99, b'\1', VARINT), field(99, b'12345678', FIXED64), deep,
                 bytes([9 << 3 | START]) * 10000 + bytes([9 << 3 | END]) * 10000):
        a = taken(t, body(meta('pb') + more + data()))
        t.has(a, 'data', {'a': 'b'})
        t.has(a, 'metadata.name', 'pb')


@check
def messages_10000_deep_end_as_text(t):
    deep = b''
    for _ in range(10000):
        deep = field(1, deep)
    for raw in (body(deep), body(field(1, deep))):
        t.invalid(t.call('POST', MAPS, raw=raw, content=PROTOBUF, dryRun='All'), ('FieldValueInvalid', 'metadata.name'))


@check
def envelopes_say_more_than_is_needed(t):
    t.has(taken(t, b'k8s\0' + field(2, meta('pb'))), 'metadata.name', 'pb')
    t.has(taken(t, GOOD + field(2, meta('pc'))), 'metadata.name', 'pc')
    t.has(taken(t, GOOD + field(3, b'gzip') + field(4, b'application/json')), 'data', {'a': 'b'})
    t.invalid(t.call('POST', MAPS, raw=b'k8s\0' + field(1, field(1, b'v1') + field(2, b'ConfigMap')), content=PROTOBUF, dryRun='All'),
              ('FieldValueRequired', 'metadata.name'))


@check
def texts_that_are_no_utf8_are_mended(t):
    t.has(taken(t, body(meta('pb') + data(value=b'\xff\xfe'))), 'data', {'a': '\ufffd\ufffd'})
    t.invalid(t.call('POST', MAPS, raw=body(field(1, field(1, b'\xff'))), content=PROTOBUF, dryRun='All'), ('FieldValueInvalid', 'metadata.name'))


# ---- answers ----

def fields_of(message):
    """[(number, wire type, value)] of a message; a value is a number or bytes."""
    at, found = 0, []

    def number():
        nonlocal at
        n, shift = 0, 0
        while True:
            byte, at = message[at], at + 1
            n |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return n
    while at < len(message):
        tag = number()
        wire = tag & 7
        if wire == VARINT:
            found.append((tag >> 3, wire, number()))
            continue
        size = {FIXED64: 8, FIXED32: 4}.get(wire) or number()
        if at + size > len(message):
            raise Failed(f'field {tag >> 3} of {size} bytes ends beyond its message of {len(message)}')
        found.append((tag >> 3, wire, message[at:at + size]))
        at += size
    return found


def texts(pairs):
    return {key.decode(): value.decode() for key, value in (
        (dict((n, v) for n, _, v in fields_of(p))[1], dict((n, v) for n, _, v in fields_of(p))[2]) for p in pairs)}


def read(message, schema):
    """What JSON would say of the fields in the schema: number -> (name, kind)."""
    out, lists = {}, {}
    for n, _, value in fields_of(message):
        if n not in schema:
            continue
        name, kind = schema[n]
        if kind in ('texts', 'list') or isinstance(kind, list):
            lists.setdefault(name, (kind, []))[1].append(value)
        else:
            out[name] = (value.decode() if kind is str else bool(value) if kind is bool else value if kind is int
                         else read(value, kind))
    for name, (kind, values) in lists.items():
        out[name] = (texts(values) if kind == 'texts' else [v.decode() for v in values] if kind == 'list'
                     else [read(v, kind[0]) for v in values])
    return out


META = {1: ('name', str), 3: ('namespace', str), 5: ('uid', str), 6: ('resourceVersion', str), 7: ('generation', int),
        11: ('labels', 'texts'), 12: ('annotations', 'texts'), 14: ('finalizers', 'list')}
MAP = {1: ('metadata', META), 2: ('data', 'texts'), 4: ('immutable', bool)}
CONTAINER = {1: ('name', str), 2: ('image', str)}
POD = {1: ('metadata', META), 2: ('spec', {2: ('containers', [CONTAINER]), 3: ('restartPolicy', str), 12: ('hostIPC', bool)}),
       3: ('status', {1: ('phase', str), 9: ('qosClass', str)})}
LIST_META = {2: ('resourceVersion', str), 3: ('continue', str), 4: ('remainingItemCount', int)}
CAUSE = {1: ('reason', str), 2: ('message', str), 3: ('field', str)}
STATUS = {2: ('status', str), 3: ('message', str), 4: ('reason', str), 6: ('code', int),
          5: ('details', {1: ('name', str), 2: ('group', str), 3: ('kind', str), 4: ('causes', [CAUSE]), 6: ('uid', str)})}


def opened(t, raw):
    """(apiVersion, kind, message) of an envelope."""
    t.eq(raw[:4], b'k8s\0', 'the first bytes')
    parts = {n: v for n, _, v in fields_of(raw[4:])}
    kind = {n: v.decode() for n, _, v in fields_of(parts[1])}
    return kind[1], kind[2], parts[2]


def answer(t, a, code, kind, schema, version='v1'):
    t.code(a, code)
    t.eq(a.type, PROTOBUF, 'Content-Type')
    got_version, got, message = opened(t, a.data)
    t.eq((got_version, got), (version, kind), 'kind')
    return read(message, schema)


def only(obj, schema):
    """The part of a JSON object that the schema has; zero values are absent in protobuf's reading only when they are in JSON."""
    out = {}
    for name, kind in schema.values():
        if name not in obj:
            continue
        v = obj[name]
        out[name] = only(v, kind) if isinstance(kind, dict) else [only(x, kind[0]) for x in v] if isinstance(kind, list) else v
    return out


def like(t, got, want, schema, what):
    """The same but for zero values, which only one of the forms may show."""
    def bare(v):
        return {k: b for k, x in v.items() if (b := bare(x)) not in ('', 0, False, {}, [])} if isinstance(v, dict) else (
            [bare(x) for x in v] if isinstance(v, list) else v)
    t.eq(bare(got), bare(only(want, schema)), what)


def make_map(t, name, **more):
    return t.make(t.maps(), {'metadata': {'name': name, 'labels': {'l': name}, **more}, 'data': {'a': 'b', 'c': 'ü'}})


@check
def get_is_answered_in_protobuf(t):
    want = make_map(t, 'm', annotations={'x': 'y'}, finalizers=['example.com/f'])
    like(t, answer(t, t.get(f'{t.maps()}/m', accept=PROTOBUF), 200, 'ConfigMap', MAP), want, MAP, 'ConfigMap')
    t.patch(f'{t.maps()}/m', {'metadata': {'finalizers': None}})
    t.make(t.pods(), pod('p'))
    like(t, answer(t, t.get(f'{t.pods()}/p', accept=PROTOBUF), 200, 'Pod', POD), t.read(f'{t.pods()}/p'), POD, 'Pod')


@check
def protobuf_is_taken_when_it_is_preferred(t):
    make_map(t, 'm')
    for accept, want in ((f'{PROTOBUF},application/json', PROTOBUF), (f'application/json,{PROTOBUF}', 'application/json'),
                         ('application/json,*/*', 'application/json'), (f'application/x,{PROTOBUF}', PROTOBUF)):
        t.eq(t.code(t.get(f'{t.maps()}/m', accept=accept), 200).type, want, accept)


@check
def lists_are_answered_in_protobuf(t):
    for n in 'abc':
        make_map(t, n)
    schema = {1: ('metadata', LIST_META), 2: ('items', [MAP])}
    got = answer(t, t.get(t.maps(), accept=PROTOBUF), 200, 'ConfigMapList', schema)
    same = t.read(t.maps(), resourceVersion=got['metadata']['resourceVersion'], resourceVersionMatch='Exact')
    like(t, got, same, schema, 'list')
    part = answer(t, t.get(t.maps(), accept=PROTOBUF, limit=1), 200, 'ConfigMapList', schema)
    t.eq((len(part['items']), bool(part['metadata']['continue']), part['metadata']['remainingItemCount']),
         (1, True, len(got['items']) - 1), 'a page')
    rest = answer(t, t.get(t.maps(), accept=PROTOBUF, **{'continue': part['metadata']['continue']}), 200, 'ConfigMapList', schema)
    t.eq(part['items'] + rest['items'], got['items'], 'pages together')
    empty = answer(t, t.get(t.at('secrets'), accept=PROTOBUF, labelSelector='a=b'), 200, 'SecretList', schema)
    t.true('items' not in empty, f'{empty}')


@check
def watches_are_answered_in_protobuf(t):
    rv = t.read(t.maps())['metadata']['resourceVersion']
    made = make_map(t, 'w')
    changed = t.code(t.patch(f'{t.maps()}/w', {'data': {'a': 'c'}}), 200).json
    t.code(t.delete(f'{t.maps()}/w'), 200)
    a = t.get(t.maps(), accept=f'{PROTOBUF};stream=watch', watch='1', resourceVersion=rv, timeoutSeconds=1)
    t.eq((a.code, a.type), (200, f'{PROTOBUF};stream=watch'), 'answer')
    left, events = a.data, []
    while left:
        size = int.from_bytes(left[:4], 'big')
        t.true(len(left) >= 4 + size, f'a frame of {size} bytes, and {len(left)} are there')
        event = {n: v for n, _, v in fields_of(left[4:4 + size])}
        raw = {n: v for n, _, v in fields_of(event[2])}[1]
        version, kind, message = opened(t, raw)
        t.eq((version, kind), ('v1', 'ConfigMap'), 'kind')
        events.append((event[1].decode(), read(message, MAP)))
        left = left[4 + size:]
    t.eq([kind for kind, _ in events], ['ADDED', 'MODIFIED', 'DELETED'], 'events')
    like(t, events[0][1], made, MAP, 'ADDED')
    like(t, events[1][1], changed, MAP, 'MODIFIED')
    t.eq(events[2][1]['data'], {'a': 'c', 'c': 'ü'}, 'DELETED')


@check
def a_watch_that_is_too_old_is_told_in_protobuf(t):
    if not t.server.expired:
        t.skip('no compacted version')
    a = t.get(t.maps(), accept=f'{PROTOBUF};stream=watch', watch='1', resourceVersion=t.server.expired, timeoutSeconds=5)
    if a.code == 200:
        event = {n: v for n, _, v in fields_of(a.data[4:])}
        t.eq(event[1], b'ERROR', 'event')
        got = read(opened(t, {n: v for n, _, v in fields_of(event[2])}[1])[2], STATUS)
    else:
        got = answer(t, a, 410, 'Status', STATUS)
    t.eq((got['code'], got['reason']), (410, 'Expired'), 'Status')


@check
def errors_are_answered_in_protobuf(t):
    for method, path, body_, code in (('GET', f'{t.maps()}/nobody', None, 404), ('POST', t.maps(), {'metadata': {'name': 'Bad_'}}, 422),
                                      ('DELETE', f'{t.maps()}/nobody', None, 404)):
        got = answer(t, t.call(method, path, body_, accept=PROTOBUF), code, 'Status', STATUS)
        like(t, got, t.call(method, path, body_).json, STATUS, f'Status of {method}')


# ---- writing ----

@check
def updates_are_taken_in_protobuf(t):
    made = make_map(t, 'm')
    rv = made['metadata']['resourceVersion']

    def put(value, version=None):
        m = field(1, b'm') + (field(6, version.encode()) if version else b'')
        return t.call('PUT', f'{t.maps()}/m', raw=body(field(1, m) + data(value=value)), content=PROTOBUF, accept=PROTOBUF)
    got = answer(t, put(b'1', rv), 200, 'ConfigMap', MAP)
    like(t, got, t.read(f'{t.maps()}/m'), MAP, 'the answer')
    t.eq((got['data'], got['metadata']['uid'], 'labels' in got['metadata']), ({'a': '1'}, made['metadata']['uid'], False), 'object')
    t.eq(answer(t, put(b'2', rv), 409, 'Status', STATUS)['reason'], 'Conflict', 'of an old version')
    t.eq(answer(t, put(b'3'), 200, 'ConfigMap', MAP)['data'], {'a': '3'}, 'without a version')
    a = t.call('PUT', f'{t.maps()}/m', raw=body(field(1, field(1, b'other'))), content=PROTOBUF)
    t.status(a, 400, 'BadRequest', part='does not match the name on the URL')
    a = t.call('PUT', f'{t.maps()}/m', raw=body(field(1, field(1, b'm')))[:-1], content=PROTOBUF)
    t.status(a, 400, 'BadRequest')
    t.eq(t.read(f'{t.maps()}/m')['data'], {'a': '3'}, 'data')


@check
def patches_are_not_taken_in_protobuf(t):
    make_map(t, 'm')
    t.status(t.call('PATCH', f'{t.maps()}/m', raw=GOOD, content=PROTOBUF), 415, 'UnsupportedMediaType')


@check
def delete_options_are_taken_in_protobuf(t):
    for api in 'v1', 'meta.k8s.io/v1':
        uid = make_map(t, 'm')['metadata']['uid']

        def sent(message, api=api):
            return t.call('DELETE', f'{t.maps()}/m', raw=body(message, api, 'DeleteOptions'), content=PROTOBUF, accept=PROTOBUF)
        got = answer(t, sent(field(2, field(1, b'another'))), 409, 'Status', STATUS)
        t.eq(got['reason'], 'Conflict', 'a uid that it has not')
        answer(t, sent(field(5, b'All')), 200, 'Status', STATUS)
        t.code(t.get(f'{t.maps()}/m'), 200)
        got = answer(t, sent(field(4, b'Nonsense')), 422, 'Status', STATUS)
        t.eq(got['reason'], 'Invalid', 'an unknown propagation policy')
        t.code(sent(field(2, field(1, uid.encode()))[:-1]), 400)
        got = answer(t, sent(field(1, b'\0', VARINT) + field(2, field(1, uid.encode())) + field(4, b'Background')), 200, 'Status', STATUS)
        t.eq((got['status'], got['details']['uid']), ('Success', uid), 'the answer')
        t.code(t.get(f'{t.maps()}/m'), 404)


@check
def delete_options_of_a_collection_are_taken_in_protobuf(t):
    for n in 'ab':
        make_map(t, n)
    a = t.call('DELETE', t.maps(), raw=body(field(5, b'All'), 'v1', 'DeleteOptions'), content=PROTOBUF, accept=PROTOBUF,
               labelSelector='l')
    t.code(a, 200)
    t.eq(sorted(o['metadata']['name'] for o in t.read(t.maps(), labelSelector='l')['items']), ['a', 'b'], 'after a dry run')
    a = t.call('DELETE', t.maps(), raw=body(b'', 'v1', 'DeleteOptions'), content=PROTOBUF, accept=PROTOBUF, labelSelector='l')
    t.code(a, 200)
    t.eq(t.read(t.maps(), labelSelector='l')['items'], [], 'what is left')


# ---- definitions ----

CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'


def definition(schema):
    names = field(1, b'deeps') + field(2, b'deep') + field(4, b'Deep') + field(5, b'DeepList')
    version = field(1, b'v1') + field(2, b'\1', VARINT) + field(3, b'\1', VARINT) + field(4, field(1, schema))
    spec = field(1, b'example.com') + field(3, names) + field(4, b'Namespaced') + field(7, version)
    return body(field(1, field(1, b'deeps.example.com')) + field(2, spec), 'apiextensions.k8s.io/v1', 'CustomResourceDefinition')


def nested(levels):
    schema = field(5, b'object')
    for _ in range(levels):
        schema = field(5, b'object') + field(29, field(1, b'a') + field(2, schema))
    return schema


@check
def definitions_are_taken_in_protobuf(t):
    a = t.code(t.call('POST', CRDS, raw=definition(nested(3)), content=PROTOBUF, dryRun='All'), 201)
    t.has(a, 'spec.versions.0.schema.openAPIV3Schema.properties.a.properties.a.properties.a.type', 'object')


@check
def a_definition_10000_deep_is_refused(t):
    """The real server fails when it writes it (500), ours does not read it (400): a difference that is documented. Only tried, for
    the real server stores it first, and then serves no definition any more."""
    a = t.call('POST', CRDS, raw=definition(nested(10000)), content=PROTOBUF, accept=PROTOBUF, dryRun='All')
    t.code(a, 400, 500)
    got = answer(t, a, a.code, 'Status', STATUS)
    t.eq((got['status'], got['code']), ('Failure', a.code), 'Status')
    if a.code == 400:
        t.eq(got.get('reason'), 'BadRequest', 'reason')
        t.true('nested too deep' in got['message'], got['message'])
    else:
        # Who fails first differs from time to time: who writes the answer (no reason), or who reads the object before.
        t.true((got.get('reason') or 'InternalError') == 'InternalError', str(got.get('reason')))
