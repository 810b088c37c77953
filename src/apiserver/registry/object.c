/* object.c - documents: reading what clients send, checking it, and the text that is stored.
 *
 * A stored document always starts {"kind":"K","apiVersion":"V","metadata":{ with the server's own
 * fields of metadata first, so that most reads hand it out, or change its resourceVersion, as text.
 */
#include <stdio.h>

#include "apiserver/http/protobuf.h"
#include "apiserver/registry/internal.h"
#include "apiserver/schema/types.h"

/* ---- bodies -------------------------------------------------------------------------------------
 */

static int parse_body(struct api_call *c, const char *api_version, const char *kind,
                      struct kj_doc **ret, struct kerr *err)
{
    enum body_type t = content_type_of(c);
    struct kerr why = { 0 };
    int e;

    if (t == BODY_OTHER)
        return kerr_api(err, -EINVAL, KR_UNSUPPORTED_MEDIA_TYPE,
                        "the body of the request was in an unknown format - accepted media types "
                        "include: application/json, application/yaml");
    if (t == BODY_PROTOBUF)
        return protobuf_decode(c->body, c->body_len, str_or(api_version, ""), kind, ret, err);
    if (t == BODY_YAML)
        e = kj_parse_yaml(c->body, c->body_len, KJ_RAW_NUMBERS, ret, &why);
    else
        e = kj_parse(c->body ? c->body : "", c->body_len, KJ_RAW_NUMBERS, ret, &why);
    if (e == 0 && kj_type(kj_root(*ret)) == KJ_NULL) { /* counts as an object without fields */
        *ret = kj_doc_free(*ret);
        e = kj_parse("{}", 2, 0, ret, &why);
    }
    if (e == 0 && kj_type(kj_root(*ret)) != KJ_OBJ) {
        *ret = kj_doc_free(*ret);
        e = kerr_set(&why, -EINVAL, "the document is not an object");
    }
    if (e == 0)
        return 0;
    if (!c->body_len)
        kerr_set(&why, -EINVAL, "unexpected end of JSON input (<empty>)");
    return kerr_api(err, -EINVAL, KR_BAD_REQUEST,
                    "the object provided is unrecognized (must be of type %s): couldn't get "
                    "version/kind; json parse error: %s",
                    kind, why.text);
}

static int bad_type(struct kerr *err, const char *field)
{
    return kerr_api(err, -EINVAL, KR_BAD_REQUEST,
                    "json: cannot unmarshal into Go struct field ObjectMeta.metadata.%s of type "
                    "string",
                    field);
}

/* Kinds without a table have at least the types of their metadata checked: all that follows
 * relies on them. */
static int check_meta_types(const struct kj_val *obj, struct kerr *err)
{
    static const char *const strings[] = { "name", "namespace", "generateName", "uid",
                                           "resourceVersion" };
    static const char *const maps[] = { "labels", "annotations" };
    const struct kj_val *meta = kj_get(obj, "metadata");

    if (kj_type(meta) > KJ_NULL && kj_type(meta) != KJ_OBJ)
        return kerr_api(err, -EINVAL, KR_BAD_REQUEST,
                        "json: cannot unmarshal into Go struct field .metadata of type "
                        "v1.ObjectMeta");
    for (size_t i = 0; i < ARRAY_LEN(strings); i++) {
        enum kj_type t = kj_type(kj_get(meta, strings[i]));
        if (t > KJ_NULL && t != KJ_STR)
            return bad_type(err, strings[i]);
    }
    for (size_t i = 0; i < ARRAY_LEN(maps); i++) {
        const struct kj_val *m = kj_get(meta, maps[i]), *v;
        struct kj_iter it = kj_iter(m);
        struct str key;
        if (kj_type(m) > KJ_NULL && kj_type(m) != KJ_OBJ)
            return bad_type(err, maps[i]);
        while (kj_next(&it, &key, &v))
            if (kj_type(v) != KJ_STR)
                return bad_type(err, maps[i]);
    }
    return 0;
}

static int check_type_meta(const struct kj_val *obj, const char *kind, struct kerr *err)
{
    static const char *const fields[] = { "kind", "apiVersion" };

    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        enum kj_type t = kj_type(kj_get(obj, fields[i]));
        if (t > KJ_NULL && t != KJ_STR)
            return kerr_api(err, -EINVAL, KR_BAD_REQUEST,
                            "the object provided is unrecognized (must be of type %s): couldn't "
                            "get version/kind; json parse error: json: cannot unmarshal into Go "
                            "struct field .%s of type string",
                            kind, fields[i]);
    }
    return 0;
}

int api_body(struct api_call *c, const char *want_api_version, const char *want_kind,
             struct kj_doc **ret_doc, struct kerr *err)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    int e = parse_body(c, want_api_version, want_kind ? want_kind : c->res->kind, &doc, err);

    if (e == 0)
        e = check_type_meta(kj_root(doc), want_kind ? want_kind : c->res->kind, err);
    if (e == 0 && *c->sub) /* of whole objects, with the rest of their fields */
        e = check_meta_types(kj_root(doc), err);
    if (e < 0)
        return e;
    const char *v = kj_str_or(kj_get(kj_root(doc), "apiVersion"), "");
    const char *k = kj_str_or(kj_get(kj_root(doc), "kind"), "");
    /* Custom objects have to say what they are, and are judged by it later; options and scales that
     * go with them need not. */
    bool custom = c->res->crd && want_kind && streq(want_kind, c->res->kind);
    if (want_kind && !custom && *k && !streq(k, want_kind))
        return kerr_api(err, -EINVAL, KR_BAD_REQUEST,
                        "%.60s in version \"%.40s\" cannot be handled as a %s: converting "
                        "(%.60s) to (%s): unknown conversion",
                        k, v, want_kind, k, want_kind);
    if (custom && !*k)
        return kerr_api(err, -EINVAL, KR_BAD_REQUEST,
                        "the object provided is unrecognized (must be of type %s): Object 'Kind' "
                        "is missing",
                        want_kind);
    if (want_api_version && (*v || custom) && !streq(v, want_api_version))
        return kerr_api(err, -EINVAL, KR_BAD_REQUEST,
                        "the API version in the data (%.80s) does not match the expected API "
                        "version (%s)",
                        v, want_api_version);
    *ret_doc = take(doc);
    return 0;
}

static void ignore_problem(void *arg, const char *text)
{
    (void)arg, (void)text;
}

int object_check_types(const struct resource *r, const struct kj_val *obj, struct kerr *err)
{
    int e = check_type_meta(obj, r->kind, err);

    if (e == 0)
        e = check_meta_types(obj, err);
    if (e == 0 && r->type)
        e = types_check(r->type, obj, ignore_problem, NULL, err);
    return e;
}

struct problems {
    struct api_call *c;
    struct strbuf text;
    size_t n;
};

static void on_problem(void *arg, const char *text)
{
    struct problems *p = arg;
    if (p->c->fields == API_FIELDS_WARN)
        api_warn(p->c, "%s", text);
    else if (p->n < 100)
        strbuf_appendf(&p->text, "%s%s", p->n ? ", " : "", text);
    p->n++;
}

int object_check_fields(struct api_call *c, const struct kj_val *obj, bool of_patch,
                        struct kerr *err)
{
    const struct resource *r = c->res;
    struct problems p = { c, STRBUF_INIT, 0 };
    struct kerr why = { 0 };
    int e = 0;

    if (r->type && of_patch && c->patch == API_PATCH_STRATEGIC)
        e = types_check_restored(r->type, obj, on_problem, &p, &why);
    else if ((e = check_meta_types(obj, &why)) == 0 && r->type)
        e = types_check(r->type, obj, on_problem, &p, &why);
    else if (e == 0 && r->crd)
        e = crd_check(r->crd, obj, on_problem, &p, &why);
    CLEANUP(strbuf_fini) struct strbuf text = p.text;
    if (e == 0 && !(p.n && c->fields == API_FIELDS_STRICT))
        return 0;
    const char *what = e < 0 ? why.text : strbuf_str(&text),
               *strict = e < 0 ? "" : "strict decoding error: ";
    if (of_patch) /* the caller makes it the 422 that kube-apiserver answers */
        return kerr_api(err, -EBADMSG, KR_INVALID, "%s%s", strict, what);
    return kerr_api(err, -EINVAL, KR_BAD_REQUEST,
                    "%s in version \"%s\" cannot be handled as a %s: %s%s", r->kind, r->version,
                    r->kind, strict, what);
}

int object_body(struct api_call *c, struct kj_doc **ret, struct kerr *err)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    const struct resource *r = c->res;
    int e = api_body(c, resource_api_version(r, c->arena), r->kind, &doc, err);

    if (e == 0)
        e = object_check_fields(c, kj_root(doc), false, err);
    if (e == 0)
        *ret = take(doc);
    return e;
}

void object_default(const struct resource *r, struct kj_mdoc *d, struct kj_mval *obj)
{
    if (r->type) {
        types_prune(r->type, d, obj);
        types_default(r->type, d, obj);
    } else if (r->crd) {
        crd_prune(r->crd, d, obj);
        crd_default(r->crd, d, obj);
    }
    if (r->strategy && r->strategy->set_defaults)
        r->strategy->set_defaults(d, obj);
}

bool object_allocate(struct api_call *c, const struct resource *r, enum res_verb verb,
                     struct kj_mdoc *d, struct kj_mval *obj, const struct kj_val *old)
{
    CLEANUP(field_errors_free) struct field_errors *errors = NULL;
    struct kerr err = { 0 };

    if (!r->strategy || !r->strategy->allocate || (verb != RES_CREATE && verb != RES_UPDATE))
        return true;
    errors = field_errors_new();
    int e = r->strategy->allocate(&(struct res_allocation){ .s = c->s,
                                                            .verb = verb,
                                                            .dry_run = c->dry_run,
                                                            .d = d,
                                                            .obj = obj,
                                                            .old = old,
                                                            .errors = errors },
                                  &err);
    if (e < 0)
        api_fail(c, &err);
    else if (field_errors_count(errors))
        api_fail_invalid(c, str_or(kj_mstr_get(kj_mget(object_meta(d, obj), "name")), ""), errors);
    else
        return true;
    return false;
}

void object_validate(struct apiserver *s, const struct resource *r, enum res_verb verb,
                     const struct kj_val *obj, const struct kj_val *old,
                     struct field_errors *errors, struct field_errors *warnings)
{
    const char *kind = kj_str_or(kj_get(obj, "kind"), r->kind);

    meta_validate(r, obj, old, errors);
    if (r->crd && !streq(kind, r->kind))
        field_error_text(errors, FIELD_INVALID, "kind", kind, "must be %s", r->kind);
    if (r->crd)
        crd_validate(r->crd, verb, obj, old, errors, warnings);
    if (r->strategy && r->strategy->validate)
        r->strategy->validate(verb, obj, old, errors);
    if (r->strategy && r->strategy->validate_in)
        r->strategy->validate_in(s, verb, obj, old, errors);
}

static const char rev_mark[] = "\"resourceVersion\":\"";

/* The revision inside a stored document; 0: none. */
static uint64_t stored_rev(const char *doc, size_t n)
{
    const char *p = memmem(doc, n, rev_mark, sizeof rev_mark - 1);
    return p ? strtoull(p + sizeof rev_mark - 1, NULL, 10) : 0;
}

/* Whether the document is not shown as it is stored. */
static bool needs_reading(const struct resource *r, const char *doc, size_t n)
{
    if (r->crd)
        return crd_may_lack_defaults(r->crd, stored_rev(doc, n));
    return r->strategy && r->strategy->from_stored;
}

static void from_stored(const struct resource *r, struct kj_mdoc *d, struct kj_mval *v)
{
    if (r->crd)
        crd_default(r->crd, d, v);
    else
        r->strategy->from_stored(d, v);
}

/* Custom objects that are the same in all versions are stored in one of them. */
static bool names_other_version(const struct resource *r, const struct kj_val *stored)
{
    const char *version = kj_str_or(kj_get(stored, "apiVersion"), "");
    size_t n = strlen(r->group);

    return r->crd && (strncmp(version, r->group, n) != 0 || version[n] != '/' ||
                      !streq(version + n + 1, r->version));
}

static void set_version(const struct resource *r, struct kj_mdoc *d, struct kj_mval *v)
{
    CLEANUP(mem_free) char *version = xasprintf("%s/%s", r->group, r->version);
    kj_mset(d, v, "apiVersion", kj_mstr(d, version));
}

int object_load(const struct resource *r, const char *doc, size_t n, struct kj_doc **ret,
                struct kerr *err)
{
    CLEANUP(kj_doc_free) struct kj_doc *stored = NULL;
    int e = kj_parse(doc, n, KJ_RAW_NUMBERS, &stored, err);

    if (e < 0)
        return e;
    bool other = names_other_version(r, kj_root(stored)), lacks = needs_reading(r, doc, n);
    if (other || lacks) {
        CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
        struct kj_mval *v = kj_mcopy(d, kj_root(stored));
        if (lacks)
            from_stored(r, d, v);
        if (other)
            set_version(r, d, v);
        *ret = kj_freeze(v);
    } else {
        *ret = take(stored);
    }
    return 0;
}

bool object_fill(const struct crd_schema *schema, const char *doc, size_t n, struct strbuf *out)
{
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = NULL;
    CLEANUP(kj_doc_free) struct kj_doc *stored = NULL;
    uint64_t rev = stored_rev(doc, n);

    if (!crd_may_lack_defaults(schema, rev) || kj_parse(doc, n, KJ_RAW_NUMBERS, &stored, NULL) < 0)
        return false;
    d = kj_mdoc_new();
    struct kj_mval *v = kj_mcopy(d, kj_root(stored));
    crd_default(schema, d, v);
    object_write_as(kj_str_or(kj_get(kj_root(stored), "kind"), ""),
                    kj_str_or(kj_get(kj_root(stored), "apiVersion"), ""), v, rev, out);
    return true;
}

struct kj_mval *object_meta(struct kj_mdoc *d, struct kj_mval *obj)
{
    struct kj_mval *m = kj_mget(obj, "metadata");
    if (kj_mtype(m) != KJ_OBJ) {
        m = kj_mobj(d);
        kj_mset(d, obj, "metadata", m);
    }
    return m;
}

/* ---- text ---------------------------------------------------------------------------------------
 */

static const char *const meta_order[] = {
    "name",
    "generateName",
    "namespace",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "labels",
    "annotations",
    "ownerReferences",
    "finalizers",
    "managedFields",
};

static void write_member(struct strbuf *out, const char *key, size_t n, const struct kj_mval *v)
{
    if (out->data[out->len - 1] != '{')
        strbuf_appendc(out, ',');
    kj_append_string(out, key, n);
    strbuf_appendc(out, ':');
    kj_mwrite(v, 0, out);
}

static bool in_meta_order(struct str key)
{
    for (size_t i = 0; i < ARRAY_LEN(meta_order); i++)
        if (str_eqz(key, meta_order[i]))
            return true;
    return false;
}

/* selfLink is not kept, as upstream. */
static void write_meta(const struct kj_mval *meta, uint64_t rev, struct strbuf *out)
{
    struct kj_mval *v;
    struct str key;

    strbuf_appendc(out, '{');
    for (size_t i = 0; i < ARRAY_LEN(meta_order); i++) {
        if (streq(meta_order[i], "resourceVersion")) {
            if (rev)
                strbuf_appendf(out, "%s\"resourceVersion\":\"%llu\"",
                               out->data[out->len - 1] == '{' ? "" : ",", (unsigned long long)rev);
            continue;
        }
        v = kj_mget(meta, meta_order[i]);
        if (v && kj_mtype(v) != KJ_NULL)
            write_member(out, meta_order[i], strlen(meta_order[i]), v);
    }
    for (struct kj_miter it = kj_miter(meta); kj_mnext(&it, &key, &v);)
        if (!in_meta_order(key) && !str_eqz(key, "selfLink"))
            write_member(out, key.p, key.n, v);
    strbuf_appendc(out, '}');
}

static void write_head(const struct resource *r, struct strbuf *out)
{
    strbuf_appendf(out, "{\"kind\":\"%s\",\"apiVersion\":\"%s%s%s\"", r->kind, r->group,
                   *r->group ? "/" : "", r->version);
}

static void write_members(const struct kj_mval *obj, uint64_t rev, struct strbuf *out)
{
    struct kj_mval *v;
    struct str key;

    strbuf_append(out, ",\"metadata\":");
    write_meta(kj_mget(obj, "metadata"), rev, out);
    for (struct kj_miter it = kj_miter(obj); kj_mnext(&it, &key, &v);)
        if (!str_eqz(key, "kind") && !str_eqz(key, "apiVersion") && !str_eqz(key, "metadata"))
            write_member(out, key.p, key.n, v);
    strbuf_appendc(out, '}');
}

static void write_object(const struct resource *r, const struct kj_mval *obj, uint64_t rev,
                         struct strbuf *out)
{
    write_head(r, out);
    write_members(obj, rev, out);
}

void object_write_as(const char *kind, const char *api_version, const struct kj_mval *obj,
                     uint64_t rev, struct strbuf *out)
{
    strbuf_appendf(out, "{\"kind\":\"%s\",\"apiVersion\":\"%s\"", kind, api_version);
    write_members(obj, rev, out);
}

void object_write(const struct resource *r, const struct kj_mval *obj, uint64_t rev,
                  struct strbuf *out)
{
    if (r->crd && r->stored_as) {
        object_write_as(r->kind, r->stored_as, obj, rev, out);
    } else if (r->strategy && r->strategy->to_stored) {
        CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
        struct kj_mval *v = kj_mclone(d, (struct kj_mval *)(uintptr_t)obj);
        r->strategy->to_stored(d, v);
        write_object(r, v, rev, out);
    } else {
        write_object(r, obj, rev, out);
    }
}

bool object_is_current(const struct resource *r, const char *doc, size_t n)
{
    static const char mark[] = "\"apiVersion\":\"";
    const char *p = memmem(doc, n, mark, sizeof mark - 1);

    if (!r->crd || !r->stored_as || !p)
        return true;
    p += sizeof mark - 1;
    return strncmp(p, r->stored_as, strlen(r->stored_as)) == 0 && p[strlen(r->stored_as)] == '"';
}

static const char meta_mark[] = ",\"metadata\":";

void object_show(const struct resource *r, const char *doc, size_t n, bool in_list,
                 struct strbuf *out)
{
    const char *meta = memmem(doc, n, meta_mark, sizeof meta_mark - 1);
    CLEANUP(strbuf_fini) struct strbuf converted = STRBUF_INIT;

    assert(meta);
    if (needs_reading(r, doc, n)) {
        CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
        CLEANUP(kj_doc_free) struct kj_doc *stored = NULL;
        if (kj_parse(doc, n, KJ_RAW_NUMBERS, &stored, NULL) == 0) {
            struct kj_mval *v = kj_mcopy(d, kj_root(stored));
            uint64_t rev = 0;
            (void)parse_rev(kj_str_or(kj_path(kj_root(stored), "metadata.resourceVersion"), ""),
                            &rev);
            from_stored(r, d, v);
            write_object(r, v, rev, &converted);
            doc = converted.data;
            n = converted.len;
            meta = memmem(doc, n, meta_mark, sizeof meta_mark - 1);
        }
    }
    if (in_list && !r->crd) /* typed lists do not repeat the kind; lists of custom resources do */
        strbuf_appendc(out, '{'), meta++;
    else
        write_head(r, out);
    strbuf_appendn(out, meta, n - (size_t)(meta - doc));
}

void object_set_rev(const char *doc, size_t n, uint64_t rev, struct strbuf *out)
{
    const char *p = memmem(doc, n, rev_mark, sizeof rev_mark - 1);

    assert(p); /* names and uids before it hold no quotes */
    p += sizeof rev_mark - 1;
    strbuf_appendn(out, doc, (size_t)(p - doc));
    strbuf_appendf(out, "%llu", (unsigned long long)rev);
    p += strspn(p, "0123456789");
    strbuf_appendn(out, p, n - (size_t)(p - doc));
}

/* Length of the JSON object at p: up to its matching brace. */
static size_t object_extent(const char *p, size_t n)
{
    int depth = 0;
    for (size_t i = 0; i < n; i++) {
        if (p[i] == '"') {
            for (i++; i < n && p[i] != '"'; i++)
                i += p[i] == '\\';
        } else if (p[i] == '{') {
            depth++;
        } else if (p[i] == '}' && --depth == 0) {
            return i + 1;
        }
    }
    return n;
}

void object_metadata_only(const char *doc, size_t n, bool in_list, struct strbuf *out)
{
    const char *meta = memmem(doc, n, meta_mark, sizeof meta_mark - 1);

    (void)in_list; /* each item names its kind, unlike in typed lists */
    assert(meta);
    meta += sizeof meta_mark - 1;
    strbuf_append(out, "{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/v1\","
                       "\"metadata\":");
    strbuf_appendn(out, meta, object_extent(meta, n - (size_t)(meta - doc)));
    strbuf_appendc(out, '}');
}

/* ---- comparing ----------------------------------------------------------------------------------
 */

static bool counts(const struct resource *r, struct str key)
{
    return !str_eqz(key, "metadata") && !str_eqz(key, "kind") && !str_eqz(key, "apiVersion") &&
           !(r->has_status && str_eqz(key, "status"));
}

static size_t compare_side(const struct resource *r, const struct kj_val *a, const struct kj_val *b,
                           bool *equal)
{
    struct kj_iter it = kj_iter(a);
    const struct kj_val *v;
    struct str key;
    size_t n = 0;

    while (kj_next(&it, &key, &v)) {
        if (!counts(r, key))
            continue;
        n++;
        if (b && !kj_equal(v, kj_getn(b, key.p, key.n)))
            *equal = false;
    }
    return n;
}

bool object_spec_equal(const struct resource *r, const struct kj_val *a, const struct kj_val *b)
{
    bool equal = true;
    return compare_side(r, a, b, &equal) == compare_side(r, b, NULL, &equal) && equal;
}

bool object_has_finalizers(const struct resource *r, const struct kj_val *obj)
{
    if (kj_len(kj_path(obj, "metadata.finalizers")) > 0)
        return true;
    return streq(r->kind, "Namespace") && !*r->group && kj_len(kj_path(obj, "spec.finalizers")) > 0;
}

/* Objects and lists that begin in these bytes, those inside of texts included: compilers make this
 * loop fast, and few documents have so many that the other one is needed. */
static size_t count_openings(const char *doc, size_t n)
{
    size_t openings = 0;

    for (size_t i = 0; i < n; i++)
        openings += (doc[i] == '{') | (doc[i] == '[');
    return openings;
}

bool object_too_deep(const char *doc, size_t n)
{
    unsigned depth = 0;
    bool in_text = false;

    if (count_openings(doc, n) <= OBJECT_DEPTH_MAX)
        return false;
    for (size_t i = 0; i < n; i++) {
        if (in_text && doc[i] == '\\')
            i++;
        else if (doc[i] == '"')
            in_text = !in_text;
        else if (!in_text && (doc[i] == '{' || doc[i] == '[') && ++depth > OBJECT_DEPTH_MAX)
            return true;
        else if (!in_text && (doc[i] == '}' || doc[i] == ']'))
            depth--;
    }
    return false;
}
