/* protobuf_odd.c - fields that cannot be read, in the words of Go's generated code. */
#include "apiserver/schema/protobuf_odd.h"

enum { GROUP_START = 3, GROUP_END = 4, VARINT_BYTES_MAX = 10 };

static const char eof[] = "unexpected EOF";

static int refuse(struct strbuf *why, const char *text)
{
    strbuf_append(why, text);
    return -EBADMSG;
}

/* A number; or it ends too soon, or never. */
static int number(struct str *rest, uint64_t *ret, struct strbuf *why)
{
    bool long_enough = rest->n >= VARINT_BYTES_MAX;

    if (wire_next_packed(rest, ret) > 0)
        return 0;
    return refuse(why, long_enough ? "proto: integer overflow" : eof);
}

static int bytes(struct str *rest, struct str *ret, struct strbuf *why)
{
    uint64_t n;
    int e = number(rest, &n, why);

    if (e < 0)
        return e;
    if (n > INT64_MAX)
        return refuse(why, "proto: negative length found during unmarshaling");
    if (n > rest->n)
        return refuse(why, eof);
    *ret = (struct str){ rest->p, n };
    *rest = (struct str){ rest->p + n, rest->n - n };
    return 0;
}

static int fixed(struct str *rest, size_t n, struct strbuf *why)
{
    if (rest->n < n)
        return refuse(why, eof);
    *rest = (struct str){ rest->p + n, rest->n - n };
    return 0;
}

/* One field that nobody knows; a group with all that is in it. */
static int skip(struct str *rest, struct strbuf *why)
{
    uint64_t key = 0, v;
    size_t depth = 0;
    struct str s;
    int e;

    do {
        if (rest->n == 0)
            return refuse(why, eof);
        if ((e = number(rest, &key, why)) < 0)
            return e;
        switch (key & 7) {
        case WIRE_VARINT: e = number(rest, &v, why); break;
        case WIRE_FIXED64: e = fixed(rest, 8, why); break;
        case WIRE_BYTES: e = bytes(rest, &s, why); break;
        case WIRE_FIXED32: e = fixed(rest, 4, why); break;
        case GROUP_START: depth++; break;
        case GROUP_END:
            if (depth == 0)
                return refuse(why, "proto: unexpected end of group");
            depth--;
            break;
        default: strbuf_appendf(why, "proto: illegal wireType %d", (int)(key & 7)); e = -EBADMSG;
        }
    } while (e == 0 && depth > 0);
    return e;
}

/* "clusterIP" is ClusterIP to Go, "uid" UID. */
static void go_name(const char *field, struct strbuf *out)
{
    static const struct {
        const char *json, *go;
    } odd[] = {
        { "metadata", "ObjectMeta" },
        { "uid", "UID" },
        { "apiVersion", "APIVersion" },
        { "apiGroup", "APIGroup" },
        { "httpGet", "HTTPGet" },
        { "tcpSocket", "TCPSocket" },
        { "grpc", "GRPC" },
        { "fsType", "FSType" },
        { "nfs", "NFS" },
        { "csi", "CSI" },
        { "dnsPolicy", "DNSPolicy" },
        { "ip", "IP" },
        { "typeMeta", "TypeMeta" },
    };

    for (size_t i = 0; i < ARRAY_LEN(odd); i++)
        if (streq(odd[i].json, field)) {
            strbuf_append(out, odd[i].go);
            return;
        }
    strbuf_appendc(out, *field >= 'a' && *field <= 'z' ? (char)(*field - 'a' + 'A') : *field);
    strbuf_append(out, field + 1);
}

void protobuf_wrong_type(unsigned type, const char *field, struct strbuf *why)
{
    strbuf_appendf(why, "proto: wrong wireType = %u for field ", type);
    go_name(field, why);
}

uint32_t protobuf_odd_number(struct str rest)
{
    uint64_t key;
    return wire_next_packed(&rest, &key) > 0 && key >> 3 <= WIRE_NUM_MAX ? (uint32_t)(key >> 3) : 0;
}

int protobuf_odd(struct str *rest, const char *message, const char *field, struct strbuf *why)
{
    struct str at = *rest;
    uint64_t key;
    int e = number(&at, &key, why);

    if (e < 0)
        return e;
    unsigned type = key & 7;
    int32_t num = (int32_t)(uint32_t)(key >> 3);
    if (type == GROUP_END) {
        strbuf_appendf(why, "proto: %s: wiretype end group for non-group", message);
        return -EBADMSG;
    }
    if (num <= 0) {
        strbuf_appendf(why, "proto: %s: illegal tag %d (wire type %u)", message, num, type);
        return -EBADMSG;
    }
    if (field && type != WIRE_BYTES && type != WIRE_VARINT) {
        protobuf_wrong_type(type, field, why);
        return -EBADMSG;
    }
    return skip(rest, why);
}

int protobuf_entry(struct str entry, struct str *key, struct str *value, struct strbuf *why)
{
    *key = *value = (struct str){ "", 0 };
    while (entry.n) {
        struct str at = entry;
        uint64_t k;
        int e = number(&at, &k, why);
        if (e == 0 && (k >> 3 == 1 || k >> 3 == 2)) {
            e = bytes(&at, k >> 3 == 1 ? key : value, why);
            entry = at;
        } else if (e == 0) {
            e = skip(&entry, why);
        }
        if (e < 0)
            return e;
    }
    return 0;
}
