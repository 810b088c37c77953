/* conversion.c - spec.conversion of a definition, and ConversionReview, versions v1 and v1beta1.
 *
 * An answer is untrusted input: of its metadata only labels and annotations are taken, and these
 * only when they are valid.
 */
#include "apiserver/crd/conversion.h"

#include "apiserver/crd/internal.h"
#include "apiserver/registry/internal.h"

#define REVIEW_GROUP "apiextensions.k8s.io"

struct crd_conversion {
    unsigned refs;
    uint64_t id;
    struct kj_doc *doc; /* {"name","group","webhook":{...}} */
    const char *review; /* the version of ConversionReview that is spoken; NULL: none */
    struct vec_of(struct crd_schema *) schemas; /* of all versions, served or not */
};

/* ---- the definition -------------------------------------------------------------------------- */

static struct kj_doc *summary(const struct kj_val *definition)
{
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    const struct kj_val *spec = kj_get(definition, "spec");
    struct kj_mval *v = kj_mobj(d);

    kj_mset(d, v, "name", kj_mcopy(d, kj_path(definition, "metadata.name")));
    kj_mset(d, v, "group", kj_mcopy(d, kj_get(spec, "group")));
    kj_mset(d, v, "webhook", kj_mcopy(d, kj_path(spec, "conversion.webhook")));
    return kj_freeze(v);
}

/* The first one in the definition's list that this server knows. */
static const char *review_version(const struct kj_val *list)
{
    for (size_t i = 0; i < kj_len(list); i++) {
        const char *v = kj_str_or(kj_at(list, i), "");
        if (streq(v, "v1"))
            return "v1";
        if (streq(v, "v1beta1"))
            return "v1beta1";
    }
    return NULL;
}

struct crd_conversion *crd_conversion_new(const struct kj_val *definition)
{
    static uint64_t last_id;
    const struct kj_val *conversion = kj_path(definition, "spec.conversion");
    struct crd_conversion *v;

    if (!streq(kj_str_or(kj_get(conversion, "strategy"), ""), "Webhook"))
        return NULL;
    v = xnew0(struct crd_conversion);
    v->refs = 1;
    v->id = ++last_id;
    v->doc = summary(definition);
    v->review = review_version(kj_path(conversion, "webhook.conversionReviewVersions"));
    const struct kj_val *versions = kj_path(definition, "spec.versions");
    for (size_t i = 0; i < kj_len(versions); i++)
        vec_push(&v->schemas, crd_version_new(definition, kj_at(versions, i)));
    return v;
}

struct crd_conversion *crd_conversion_ref(struct crd_conversion *v)
{
    if (v)
        v->refs++;
    return v;
}

struct crd_conversion *crd_conversion_unref(struct crd_conversion *v)
{
    if (!v || --v->refs > 0)
        return NULL;
    vec_foreach(&v->schemas, i)
        crd_schema_release(&v->schemas.items[i]->res);
    vec_fini(&v->schemas);
    kj_doc_free(v->doc);
    free(v);
    return NULL;
}

struct crd_conversion *crd_schema_conversion(const struct crd_schema *s)
{
    return s->conversion;
}

uint64_t crd_conversion_id(const struct crd_conversion *v)
{
    return v->id;
}

const struct kj_val *crd_conversion_client(const struct crd_conversion *v)
{
    return kj_path(kj_root(v->doc), "webhook.clientConfig");
}

const char *crd_conversion_name(const struct crd_conversion *v)
{
    return kj_str_or(kj_get(kj_root(v->doc), "name"), "");
}

const struct crd_schema *crd_conversion_schema(const struct crd_conversion *v,
                                               const char *api_version)
{
    const char *group = kj_str_or(kj_get(kj_root(v->doc), "group"), "");
    size_t n = strlen(group);

    if (strncmp(api_version, group, n) != 0 || api_version[n] != '/')
        return NULL;
    vec_foreach(&v->schemas, i)
        if (streq(v->schemas.items[i]->res.version, api_version + n + 1))
            return v->schemas.items[i];
    return NULL;
}

/* ---- the question ---------------------------------------------------------------------------- */

void conversion_write(const struct crd_conversion *v, const char *uid, const char *api_version,
                      const struct conversion_texts *objects, struct strbuf *out)
{
    struct kjw w = kjw_to(out);

    kjw_obj(&w, NULL);
    kjw_str(&w, "kind", "ConversionReview");
    kjw_str(&w, "apiVersion",
            streq(str_or(v->review, ""), "v1beta1") ? REVIEW_GROUP "/v1beta1" : REVIEW_GROUP "/v1");
    kjw_obj(&w, "request");
    kjw_str(&w, "uid", uid);
    kjw_str(&w, "desiredAPIVersion", api_version);
    kjw_arr(&w, "objects");
    vec_foreach(objects, i)
        kjw_raw(&w, NULL, objects->items[i].p, objects->items[i].n);
    kjw_end(&w);
    kjw_end(&w);
    kjw_end(&w);
}

/* ---- the answer ------------------------------------------------------------------------------ */

static int bad(struct strbuf *why, const char *fmt, ...) PRINTF(2, 3);
static int bad(struct strbuf *why, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    strbuf_vappendf(why, fmt, ap);
    va_end(ap);
    return -EBADMSG;
}

/* "group/version, Kind=K" as Go prints a kind that an object claims to be. */
static const char *kind_text(struct arena *a, const struct kj_val *obj)
{
    const char *v = kj_str_or(kj_get(obj, "apiVersion"), "");

    return arena_printf(a, "%s%s, Kind=%s", strchr(v, '/') ? "" : "/", v,
                        kj_str_or(kj_get(obj, "kind"), ""));
}

static int check_review(const struct crd_conversion *v, const char *uid,
                        const struct kj_val *review, struct strbuf *why)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    const struct kj_val *response = kj_get(review, "response");
    const char *got = kj_str_or(kj_get(response, "uid"), "");
    bool v1 = !streq(str_or(v->review, ""), "v1beta1"); /* which is not looked at so closely */
    static const char want[] = REVIEW_GROUP "/v1, Kind=ConversionReview";
    const char *is = kind_text(a, review);

    if (v1 && !streq(is, want))
        return bad(why, " failed: expected webhook response of %s, got %s", want, is);
    if (kj_type(response) != KJ_OBJ)
        return bad(why, " failed: no response provided");
    if (v1 && !streq(got, uid))
        return bad(why, " failed: expected response.uid=\"%s\", got \"%s\"", uid, got);
    const char *status = kj_str_or(kj_path(response, "result.status"), "");
    const char *message = kj_str_or(kj_path(response, "result.message"), "");
    if (streq(status, "Success"))
        return 0;
    if (*message)
        return bad(why, " failed: %s", message);
    return bad(why, " failed: response.result.status was '%s', not 'Success'", status);
}

int conversion_read(const struct crd_conversion *v, const char *uid, const char *body, size_t n,
                    size_t expected, struct kj_doc **ret, const struct kj_val **ret_objects,
                    struct strbuf *why)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct kerr err = { 0 };

    if (kj_parse(body, n, KJ_RAW_NUMBERS, &doc, &err) < 0 || kj_type(kj_root(doc)) != KJ_OBJ)
        return bad(why, " failed: couldn't get version/kind; json parse error: %s",
                   err.code ? err.text : "the document is not an object");
    int e = check_review(v, uid, kj_root(doc), why);
    if (e < 0)
        return e;
    const struct kj_val *objects = kj_path(kj_root(doc), "response.convertedObjects");
    if (kj_type(objects) > KJ_NULL && kj_type(objects) != KJ_ARR)
        return bad(why, " failed: json: cannot unmarshal into Go struct field "
                        "ConversionResponse.response.convertedObjects of type "
                        "[]runtime.RawExtension");
    if (kj_len(objects) != expected)
        return bad(why, " returned %zu objects, expected %zu", kj_len(objects), expected);
    *ret = take(doc);
    *ret_objects = objects;
    return 0;
}

/* ---- one object ------------------------------------------------------------------------------ */

static int check_same(const struct kj_val *original, const struct kj_val *converted,
                      struct strbuf *why)
{
    static const struct {
        const char *path, *name;
    } fields[] = { { "metadata.name", "name" },
                   { "metadata.namespace", "namespace" },
                   { "metadata.uid", "UID" } };

    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        const char *was = kj_str_or(kj_path(original, fields[i].path), "");
        const char *is = kj_str_or(kj_path(converted, fields[i].path), "");
        if (!streq(was, is))
            return bad(why, "must have the same %s: %s != %s", fields[i].name, was, is);
    }
    return 0;
}

static const char *go_type(const struct kj_val *v)
{
    switch (kj_type(v)) {
    case KJ_STR: return "string";
    case KJ_ARR: return "[]interface {}";
    case KJ_OBJ: return "map[string]interface {}";
    case KJ_BOOL: return "bool";
    case KJ_NUM: return "int64";
    default: return "<nil>";
    }
}

static int check_map(const struct kj_val *map, const char *name, struct strbuf *why)
{
    struct kj_iter it = kj_iter(map);
    const struct kj_val *v;
    struct str key;

    if (kj_type(map) > KJ_NULL && kj_type(map) != KJ_OBJ)
        return bad(why, "invalid metadata.%s of type %s in converted object", name, go_type(map));
    while (kj_next(&it, &key, &v))
        if (kj_type(v) != KJ_STR)
            return bad(why, "metadata.%s[%.*s] must be a string, but is %s in converted object",
                       name, (int)key.n, key.p, go_type(v));
    return 0;
}

/* Labels and annotations that are not the original's have to be valid. */
static int check_changed(const struct kj_val *original, const struct kj_val *meta,
                         struct strbuf *why)
{
    CLEANUP(field_errors_free) struct field_errors *errors = field_errors_new();

    if (!kj_equal(kj_path(original, "metadata.labels"), kj_get(meta, "labels")))
        meta_check_labels(meta, errors);
    if (!kj_equal(kj_path(original, "metadata.annotations"), kj_get(meta, "annotations")))
        meta_check_annotations(meta, errors);
    if (!errors->n)
        return 0;
    strbuf_append(why, errors->n > 1 ? "[" : "");
    vec_foreach(errors, i)
        strbuf_appendf(why, "%s%s: %s", i ? ", " : "", errors->items[i].path,
                       errors->items[i].text);
    strbuf_append(why, errors->n > 1 ? "]" : "");
    return -EBADMSG;
}

static int restore_meta(const struct kj_val *original, const struct kj_val *converted,
                        struct kj_mdoc *d, struct kj_mval *obj, struct strbuf *why)
{
    static const char *const taken[] = { "labels", "annotations" };
    const struct kj_val *meta = kj_get(converted, "metadata");
    struct kj_mval *restored = kj_mcopy(d, kj_get(original, "metadata"));

    if (!meta)
        return bad(why, "missing metadata in converted object");
    if (kj_type(meta) != KJ_OBJ)
        return bad(why, "invalid metadata of type %s in converted object", go_type(meta));
    for (size_t i = 0; i < ARRAY_LEN(taken); i++) {
        int e = check_map(kj_get(meta, taken[i]), taken[i], why);
        if (e < 0)
            return e;
        object_dup_member(d, restored, meta, taken[i]);
    }
    kj_mset(d, obj, "metadata", restored);
    return check_changed(original, meta, why);
}

/* One object alone is spoken of without its place, as kube-apiserver does. */
static int prefix(struct strbuf *why, const char *what, size_t at, size_t of, struct strbuf *reason)
{
    bool meta = streq(what, "metadata");

    if (of > 1 && meta)
        strbuf_appendf(why, " returned invalid metadata in object at index %zu: %s", at,
                       strbuf_str(reason));
    else if (of > 1)
        strbuf_appendf(why, " returned invalid converted object at index %zu: %s", at,
                       strbuf_str(reason));
    else
        strbuf_appendf(why, " returned invalid %s: %s", what, strbuf_str(reason));
    return -EBADMSG;
}

int conversion_accept(const struct kj_val *original, const struct kj_val *converted,
                      const char *api_version, size_t at, size_t of, struct kj_mdoc *d,
                      struct kj_mval **ret, struct strbuf *why)
{
    CLEANUP(strbuf_fini) struct strbuf reason = STRBUF_INIT;
    const char *version = kj_str_or(kj_get(converted, "apiVersion"), "");
    const char *kind = kj_str_or(kj_get(converted, "kind"), "");
    const char *want = kj_str_or(kj_get(original, "kind"), "");

    if (kj_type(converted) != KJ_OBJ || !*kind) {
        strbuf_append(&reason, "Object 'Kind' is missing in '");
        kj_write(converted, 0, &reason);
        strbuf_appendc(&reason, '\'');
    } else if (!streq(version, api_version))
        bad(&reason, "invalid groupVersion (expected %s, received %s)", api_version, version);
    else if (!streq(kind, want))
        bad(&reason, "invalid kind (expected %s, received %s)", want, kind);
    if (reason.len)
        return prefix(why, "object at index 0", at, of, &reason);
    if (check_same(original, converted, &reason) < 0)
        return prefix(why, "object", at, of, &reason);
    struct kj_mval *obj = kj_mcopy(d, converted);
    if (restore_meta(original, converted, d, obj, &reason) < 0)
        return prefix(why, "metadata", at, of, &reason);
    *ret = obj;
    return 0;
}
