/* patch.c - PATCH: JSON, merge and strategic merge patches; managed.c has server-side apply. */
#include <strings.h>

#include "apiserver/registry/internal.h"
#include "apiserver/schema/types.h"

int patch_type(struct api_call *c, struct kerr *err)
{
    static const struct {
        const char *type;
        enum api_patch_type patch;
    } types[] = {
        { "application/json-patch+json", API_PATCH_JSON },
        { "application/merge-patch+json", API_PATCH_MERGE },
        { "application/strategic-merge-patch+json", API_PATCH_STRATEGIC },
        { "application/apply-patch+yaml", API_PATCH_APPLY },
    };
    size_t n = c->content_type ? strcspn(c->content_type, "; ") : 0;

    for (size_t i = 0; i < ARRAY_LEN(types); i++) {
        if (n != strlen(types[i].type) || strncasecmp(c->content_type, types[i].type, n) != 0)
            continue;
        c->patch = types[i].patch;
        if (c->patch == API_PATCH_STRATEGIC && c->res->crd)
            return kerr_api(err, -EINVAL, KR_UNSUPPORTED_MEDIA_TYPE,
                            "the body of the request was in an unknown format - accepted media "
                            "types include: application/json-patch+json, "
                            "application/merge-patch+json, application/apply-patch+yaml");
        return 0;
    }
    return kerr_api(err, -EINVAL, KR_UNSUPPORTED_MEDIA_TYPE, "415: Unsupported Media Type");
}

static int parse(struct api_call *c, struct kj_doc **ret, struct kerr *err)
{
    struct kerr why = { 0 };
    enum kj_type want = c->patch == API_PATCH_JSON ? KJ_ARR : KJ_OBJ;

    if (kj_parse(c->body ? c->body : "", c->body_len, KJ_RAW_NUMBERS, ret, &why) < 0)
        return kerr_api(err, -EINVAL, KR_BAD_REQUEST, "error decoding patch: %s",
                        c->body_len ? why.text : "unexpected end of JSON input");
    enum kj_type got = kj_type(kj_root(*ret));
    if (got == want)
        return 0;
    if (got == KJ_NULL && c->patch != API_PATCH_MERGE) { /* changes nothing */
        *ret = kj_doc_free(*ret);
        return kj_parse(want == KJ_ARR ? "[]" : "{}", 2, 0, ret, err);
    }
    static const char *const names[] = { "nothing", "null",  "bool",  "number",
                                         "string",  "array", "object" };
    return kerr_api(err, -EINVAL, KR_BAD_REQUEST,
                    "error decoding patch: json: cannot unmarshal %s into Go value of type %s",
                    names[got],
                    want == KJ_ARR ? "[]handlers.jsonPatchOp" : "map[string]interface {}");
}

int patch_apply(struct api_call *c, const struct kj_val *old, struct kj_mdoc *d,
                struct kj_mval **ret, struct kerr *err)
{
    CLEANUP(kj_doc_free) struct kj_doc *patch = NULL;
    int e = patch_type(c, err);

    if (e == 0)
        e = parse(c, &patch, err);
    if (e < 0)
        return e;
    const struct kmerge *merge =
        c->res->type && (!*c->sub || is_part(c->sub)) ? types_merge(c->res->type) : NULL;
    switch (c->patch) {
    case API_PATCH_JSON:
        e = kj_patch_json(d, old, kj_root(patch), ret, err);
        /* Upstream says only this much; the cause after it is ours. */
        return e < 0 ? kerr_wrap(err, "the server rejected our request due to an error in our "
                                      "request")
                     : 0;
    case API_PATCH_MERGE: return kj_patch_merge(d, old, kj_root(patch), ret, err);
    default: break;
    }
    /* A kind without tables: its lists are replaced, as those of a merge patch. */
    static const struct kmerge none[] = { { 0 } };
    e = kj_patch_strategic(d, old, kj_root(patch), merge ? merge : none, ret, err);
    if (e == -EBADMSG)
        err->reason = KR_NONE; /* upstream forgot to say whose fault it is: 500 */
    return e;
}

int fail_patched(struct api_call *c, const struct kj_val *obj, const struct kerr *why)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    kj_write(obj, 0, &text);
    fail_options(c, "", FIELD_INVALID, "patch", text.data, why->text);
    return 1;
}

/* A patch cannot make an object another kind: 422. A strategic one that tries is not heeded. */
static int keep_type(struct api_call *c, const struct kj_val *old, const struct kj_val *patched,
                     struct kj_mdoc *d, struct kj_mval *obj)
{
    static const char *const fields[] = { "kind", "apiVersion" };
    const char *want[] = { c->res->kind, resource_api_version(c->res, c->arena) };
    struct kerr why = { 0 };

    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        const struct kj_val *is = kj_get(patched, fields[i]), *was = kj_get(old, fields[i]);
        /* What is stored may be of another version than what is asked for. */
        if ((is && was && kj_equal(is, was)) || streq(kj_str_or(is, ""), want[i]))
            continue;
        if (c->patch == API_PATCH_STRATEGIC || (!c->res->crd && kj_type(is) <= KJ_NULL)) {
            object_dup_member(d, obj, old, fields[i]);
            continue;
        }
        if (c->res->crd && kj_str(is) && i == 0)
            continue; /* judged with the rest of the object */
        if (c->res->crd && kj_str(is)) {
            CLEANUP(field_errors_free) struct field_errors *e = field_errors_new();
            field_error_text(e, FIELD_INVALID, "apiVersion", kj_str(is), "must be %s", want[i]);
            api_fail_invalid(c, c->name, e);
            return 1;
        }
        kerr_set(&why, -EINVAL, "no kind \"%.80s\" is registered for version \"%.80s\"",
                 kj_str_or(kj_get(patched, "kind"), ""),
                 kj_str_or(kj_get(patched, "apiVersion"), ""));
        return fail_patched(c, patched, &why);
    }
    return 0;
}

static int from_patch(void *arg, struct api_call *c, const struct kj_val *old, struct kj_mdoc *d,
                      struct kj_mval **ret, struct kerr *err)
{
    CLEANUP(kj_doc_free) struct kj_doc *patched = NULL;
    struct kerr why = { 0 };
    int e = patch_apply(c, old, d, ret, err);

    (void)arg;
    if (e < 0)
        return e;
    patched = kj_view(*ret);
    warn_anew(c);
    if (object_check_fields(c, kj_root(patched), true, &why) < 0)
        return fail_patched(c, kj_root(patched), &why);
    return keep_type(c, old, kj_root(patched), d, *ret);
}

void verb_patch(struct api_call *c)
{
    struct kerr err = { 0 };
    if (patch_type(c, &err) < 0) {
        api_fail(c, &err);
        return;
    }
    if (c->patch == API_PATCH_APPLY) {
        verb_apply(c);
        return;
    }
    api_change(c, &(struct api_change){ .verb = call_res_verb(c), .make = from_patch });
}
