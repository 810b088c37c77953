/* protobuf.c - the envelope around a body in protobuf, lists and events of watches. */
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

/* ---- answers -----------------------------------------------------------------------------------
 */

/* The envelope up to what it holds. */
static void put_head(struct strbuf *out, const char *api_version, const char *kind)
{
    strbuf_appendn(out, magic, sizeof magic);
    size_t start = out->len;
    wire_put_bytes(out, 1, str_of(api_version));
    wire_put_bytes(out, 2, str_of(kind));
    wire_wrap(out, 1, start);
}

/* The type of an answer, or of the items of a list; NULL: none. */
static const struct t_type *answer_type(const char *api_version, const char *kind, struct arena *a)
{
    if (streq(kind, "Status") && streq(api_version, "v1"))
        return &meta_status;
    if (streq(kind, "PartialObjectMetadata"))
        return &meta_partial_object_metadata;
    return type_find(api_version, kind, a);
}

void protobuf_put_item(const struct t_type *t, const struct kj_val *item, struct strbuf *out)
{
    size_t start = out->len;

    types_write_protobuf(t, item, out);
    wire_wrap(out, 2, start);
}

static void put_list_meta(const struct kj_val *meta, struct strbuf *out)
{
    size_t start = out->len;

    types_write_protobuf(&meta_list_meta, meta, out);
    wire_wrap(out, 1, start);
}

static void put_list(const struct t_type *item, const struct kj_val *list, struct strbuf *out)
{
    struct kj_iter it = kj_iter(kj_get(list, "items"));
    const struct kj_val *v;

    put_list_meta(kj_get(list, "metadata"), out);
    while (kj_next(&it, NULL, &v))
        protobuf_put_item(item, v, out);
}

void protobuf_open_list(const char *api_version, const char *kind, const char *metadata,
                        size_t items, struct strbuf *out)
{
    CLEANUP(strbuf_fini) struct strbuf meta = STRBUF_INIT;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;

    (void)kj_parse(metadata, strlen(metadata), 0, &doc, NULL);
    put_list_meta(kj_root(doc), &meta);
    put_head(out, api_version, kind);
    wire_put_length(out, 2, meta.len + items);
    strbuf_appendn(out, meta.data, meta.len);
}

void protobuf_close_list(struct strbuf *out)
{
    wire_put_bytes(out, 3, STR("")); /* contentEncoding and contentType, which Go always writes */
    wire_put_bytes(out, 4, STR(""));
}

bool protobuf_encode(const char *json, size_t n, struct strbuf *out)
{
    static const char list[] = "List";
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    CLEANUP(arena_free) struct arena *a = arena_new_sized(256);

    if (kj_parse(json, n, 0, &doc, NULL) < 0)
        return false;
    const struct kj_val *root = kj_root(doc);
    const char *api_version = kj_str_or(kj_get(root, "apiVersion"), ""),
               *kind = kj_str_or(kj_get(root, "kind"), "");
    bool is_list = str_ends(kind, list) && kj_type(kj_get(root, "items")) == KJ_ARR;
    size_t base = strlen(kind) - (is_list ? sizeof list - 1 : 0);
    const struct t_type *t = answer_type(api_version, arena_strndup(a, kind, base), a);
    if (!t)
        return false;
    put_head(out, api_version, kind);
    size_t start = out->len;
    if (is_list)
        put_list(t, root, out);
    else
        types_write_protobuf(t, root, out);
    wire_wrap(out, 2, start);
    protobuf_close_list(out);
    return true;
}

bool protobuf_encode_event(const char *type, const char *json, size_t n, struct strbuf *out)
{
    size_t frame = out->len, start;

    strbuf_appendn(out, "\0\0\0\0", 4); /* the length, once it is known */
    wire_put_bytes(out, 1, str_of(type));
    start = out->len;
    if (!protobuf_encode(json, n, out)) {
        strbuf_truncate(out, frame);
        return false;
    }
    wire_wrap(out, 1, start); /* a RawExtension */
    wire_wrap(out, 2, start);
    uint32_t len = (uint32_t)(out->len - frame - 4);
    for (unsigned i = 0; i < 4; i++)
        out->data[frame + i] = (char)(len >> (24 - 8 * i));
    return true;
}

bool protobuf_serves(const char *group, const char *version, const char *kind)
{
    return types_find(group, version, kind) != NULL;
}
