/* protobuf.c - the envelope around a body in protobuf, lists and events of watches. */
#include "apiserver/http/protobuf.h"

#include "apiserver/schema/protobuf_odd.h"
#include "apiserver/schema/types.h"
#include "base/arena.h"
#include "base/wire.h"

static const char magic[4] = "k8s";

struct envelope { /* runtime.Unknown: contentEncoding and contentType mean nothing here */
    struct str api_version, kind, raw;
};

/* Fields of a message of texts and one message, by their numbers from 1 on. */
struct texts {
    const char *message; /* Go's name */
    const char *const *names;
    size_t n;
};

/* Walks one; -EBADMSG: why. */
static int read_texts(const struct texts *t, struct str rest, struct str *ret, struct strbuf *why)
{
    struct wire_field w;
    int e;

    while ((e = wire_next(&rest, &w)) != 0) {
        uint32_t num = e > 0 ? w.num : protobuf_odd_number(rest);
        const char *known = num > 0 && num <= t->n ? t->names[num - 1] : NULL;
        if (e < 0 && (e = protobuf_odd(&rest, t->message, known, why)) < 0)
            return e;
        if (e == 0 || !known)
            continue;
        if (w.type != WIRE_BYTES) {
            protobuf_wrong_type(w.type, known, why);
            return -EBADMSG;
        }
        ret[num - 1] = w.bytes;
    }
    return 0;
}

static int envelope_read(struct str body, struct envelope *ret, struct strbuf *why)
{
    static const char *const type_names[] = { "apiVersion", "kind" };
    static const char *const names[] = { "typeMeta", "raw", "contentEncoding", "contentType" };
    static const struct texts type = { "TypeMeta", type_names, ARRAY_LEN(type_names) };
    static const struct texts unknown = { "Unknown", names, ARRAY_LEN(names) };
    struct str meta[ARRAY_LEN(type_names)] = { 0 }, parts[ARRAY_LEN(names)] = { 0 };

    if (read_texts(&unknown, body, parts, why) < 0 || read_texts(&type, parts[0], meta, why) < 0)
        return -EBADMSG;
    *ret = (struct envelope){ meta[0], meta[1], parts[1] };
    return 0;
}

static bool has_nul(struct str s)
{
    return s.n && memchr(s.p, 0, s.n);
}

/* NULL: there is no table. */
static const struct t_type *type_find(const char *api_version, const char *kind, struct arena *a)
{
    const char *slash = strchr(api_version, '/');

    if (streq(kind, "DeleteOptions")) /* of any group */
        return types_find_message("", "v1", kind);
    if (!slash)
        return types_find_message("", api_version, kind);
    return types_find_message(arena_strndup(a, api_version, (size_t)(slash - api_version)),
                              slash + 1, kind);
}

static const char *text_or(struct str s, const char *otherwise, struct arena *a)
{
    return s.n ? arena_strndup(a, s.p, s.n) : otherwise;
}

static int refuse(struct kerr *err, const char *got, const char *version, const char *kind,
                  const char *why)
{
    return kerr_api(err, -EINVAL, KR_BAD_REQUEST,
                    "%.80s in version \"%.80s\" cannot be handled as a %s: %.200s", got, version,
                    kind, why);
}

static int decode(const struct envelope *e, struct kj_mdoc *d, const char *wanted_version,
                  const char *wanted, struct arena *a, struct kj_mval *obj, struct kerr *err)
{
    const char *api_version = text_or(e->api_version, wanted_version, a);
    const char *kind = text_or(e->kind, wanted, a), *slash = strchr(api_version, '/');
    const char *version = slash ? slash + 1 : api_version;
    const struct t_type *t =
        has_nul(e->api_version) || has_nul(e->kind) ? NULL : type_find(api_version, kind, a);
    struct kerr why = { 0 };

    if (!t && type_find(wanted_version, wanted, a))
        return refuse(
            err, kind, version, wanted,
            arena_printf(a,
                         "no kind \"%.80s\" is registered for version \"%.80s\" in scheme "
                         "\"pkg/runtime/scheme.go:111\"",
                         kind, api_version));
    if (!t)
        return kerr_api(err, -EINVAL, KR_UNSUPPORTED_MEDIA_TYPE,
                        "the body of the request was in an unknown format - accepted media types "
                        "include: application/json, application/yaml (%.60s in protobuf is not "
                        "supported)",
                        kind);
    kj_mset(d, obj, "apiVersion", kj_mstr(d, api_version));
    kj_mset(d, obj, "kind", kj_mstr(d, kind));
    if (types_read_protobuf(t, e->raw, d, obj, &why) < 0)
        return refuse(err, kind, version, wanted, why.text);
    return 0;
}

/* The first bytes of a body, for a message. */
static const char *shown(const char *p, size_t n, struct arena *a)
{
    enum { SHOWN = 30 };
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;

    if (n == 0)
        return "<empty>";
    for (size_t i = 0; i < MIN(n, (size_t)SHOWN); i++)
        strbuf_appendf(&b, "%02x", (unsigned char)p[i]);
    if (n > SHOWN)
        strbuf_append(&b, " ...");
    return arena_strdup(a, b.data);
}

int protobuf_decode(const char *p, size_t n, const char *api_version, const char *kind,
                    struct kj_doc **ret, struct kerr *err)
{
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    CLEANUP(arena_free) struct arena *a = arena_new_sized(512);
    CLEANUP(strbuf_fini) struct strbuf why = STRBUF_INIT;
    struct kj_mval *obj = kj_mobj(d);
    struct envelope e = { 0 };

    if (n == 0)
        strbuf_append(&why, "empty data");
    else if (n < sizeof magic || memcmp(p, magic, sizeof magic) != 0)
        strbuf_append(&why, "provided data does not appear to be a protobuf message, expected "
                            "prefix [107 56 115 0]");
    else if (n == sizeof magic)
        strbuf_append(&why, "empty body");
    else
        (void)envelope_read((struct str){ p + sizeof magic, n - sizeof magic }, &e, &why);
    if (why.len)
        return kerr_api(err, -EINVAL, KR_BAD_REQUEST,
                        "the object provided is unrecognized (must be of type %s): %s (%s)", kind,
                        why.data, shown(p, n, a));
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

/* Never stored, and told only. */
static const struct {
    const char *kind;
    const struct t_type *type;
} discovery[] = { { "APIVersions", &meta_api_versions },
                  { "APIGroup", &meta_api_group },
                  { "APIGroupList", &meta_api_group_list },
                  { "APIResourceList", &meta_api_resource_list } };

/* The type of an answer, or of the items of a list; NULL: none. */
static const struct t_type *answer_type(const char *api_version, const char *kind, struct arena *a)
{
    if (streq(kind, "Status") && streq(api_version, "v1"))
        return &meta_status;
    if (streq(kind, "PartialObjectMetadata"))
        return &meta_partial_object_metadata;
    if (streq(kind, "APIGroupDiscovery"))
        return &apidiscovery_group;
    for (size_t i = 0; i < ARRAY_LEN(discovery); i++)
        if (streq(kind, discovery[i].kind))
            return discovery[i].type;
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
    return types_find_message(group, version, kind) != NULL;
}
