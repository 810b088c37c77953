/* protobuf.c - the envelope around a body in protobuf. */
#include "apiserver/http/protobuf.h"

#include "apiserver/schema/types.h"
#include "base/wire_codec.h"

static const char magic[4] = "k8s";

struct type_meta {
    struct str api_version, kind, unknown;
};
static const struct wire_member type_meta_members[] = {
    WIRE_MEMBER(struct type_meta, api_version, 1, WK_STR),
    WIRE_MEMBER(struct type_meta, kind, 2, WK_STR),
};
static const struct wire_table type_meta_table =
    WIRE_TABLE("TypeMeta", struct type_meta, type_meta_members);

struct envelope { /* runtime.Unknown, without contentEncoding and contentType */
    struct type_meta *type;
    struct str raw, unknown;
};
static const struct wire_member envelope_members[] = {
    WIRE_MEMBER(struct envelope, type, 1, WK_MSG, .sub = &type_meta_table),
    WIRE_MEMBER(struct envelope, raw, 2, WK_STR),
};
static const struct wire_table envelope_table =
    WIRE_TABLE("Unknown", struct envelope, envelope_members);

/* NULL: there is no table. */
static const struct t_type *type_find(const char *api_version, const char *kind, struct arena *a)
{
    const char *slash = strchr(api_version, '/');

    if (streq(kind, "DeleteOptions")) /* of any group */
        return types_find("", "v1", kind);
    if (!slash)
        return types_find("", api_version, kind);
    return types_find(arena_strndup(a, api_version, (size_t)(slash - api_version)), slash + 1,
                      kind);
}

static const char *text_or(struct str s, const char *otherwise, struct arena *a)
{
    return s.n ? arena_strndup(a, s.p, s.n) : otherwise;
}

static int decode(const struct envelope *e, struct kj_mdoc *d, const char *api_version,
                  const char *kind, struct arena *a, struct kj_mval *obj, struct kerr *err)
{
    if (e->type) {
        api_version = text_or(e->type->api_version, api_version, a);
        kind = text_or(e->type->kind, kind, a);
    }
    const struct t_type *t = type_find(api_version, kind, a);
    if (!t)
        return kerr_api(err, -EINVAL, KR_UNSUPPORTED_MEDIA_TYPE,
                        "the body of the request was in an unknown format - accepted media types "
                        "include: application/json, application/yaml (%.60s in protobuf is not "
                        "supported)",
                        kind);
    kj_mset(d, obj, "apiVersion", kj_mstr(d, api_version));
    kj_mset(d, obj, "kind", kj_mstr(d, kind));
    return types_read_protobuf(t, e->raw, d, obj, err);
}

int protobuf_decode(const char *p, size_t n, const char *api_version, const char *kind,
                    struct kj_doc **ret, struct kerr *err)
{
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    CLEANUP(arena_free) struct arena *a = arena_new_sized(512);
    struct kj_mval *obj = kj_mobj(d);
    struct envelope e;

    if (n < sizeof magic || memcmp(p, magic, sizeof magic) != 0 ||
        wire_decode(&envelope_table, (struct str){ p + sizeof magic, n - sizeof magic }, a, &e,
                    NULL) < 0)
        return kerr_api(err, -EINVAL, KR_BAD_REQUEST,
                        "the protobuf body could not be decoded: its envelope is malformed");
    int r = decode(&e, d, api_version, kind, a, obj, err);
    if (r == 0)
        *ret = kj_freeze(obj);
    return r;
}
