/* patch.c - PATCH: JSON, merge and strategic merge patches. Server-side apply is refused. */
#include <strings.h>

#include "apiserver/registry/internal.h"
#include "apiserver/schema/types.h"

static int find_type(struct api_call *c, struct kerr *err)
{
    static const struct {
        const char *type;
        enum api_patch_type patch;
    } types[] = {
        { "application/json-patch+json", API_PATCH_JSON },
        { "application/merge-patch+json", API_PATCH_MERGE },
        { "application/strategic-merge-patch+json", API_PATCH_STRATEGIC },
        { "application/apply-patch+yaml", API_PATCH_APPLY },
        { "application/apply-patch+cbor", API_PATCH_APPLY },
    };
    size_t n = c->content_type ? strcspn(c->content_type, "; ") : 0;

    for (size_t i = 0; i < ARRAY_LEN(types); i++) {
        if (n != strlen(types[i].type) || strncasecmp(c->content_type, types[i].type, n) != 0)
            continue;
        c->patch = types[i].patch;
        if (c->patch == API_PATCH_APPLY)
            return kerr_api(err, -EINVAL, KR_UNSUPPORTED_MEDIA_TYPE,
                            "server-side apply is not supported by this server; use client-side "
                            "apply (kubectl apply --server-side=false) or another patch type");
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
    int e = find_type(c, err);

    if (e == 0)
        e = parse(c, &patch, err);
    if (e < 0)
        return e;
    const struct kmerge *merge = c->res->type && !*c->sub ? types_merge(c->res->type) : NULL;
    if (c->res->type && streq(c->sub, "status"))
        merge = types_merge(c->res->type);
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
    return kj_patch_strategic(d, old, kj_root(patch), merge ? merge : none, ret, err);
}

/* The patched object does not decode: 422 that shows it. */
static int refuse_patched(struct api_call *c, const struct kj_val *obj, const struct kerr *why)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT, quoted = STRBUF_INIT;
    kj_write(obj, 0, &text);
    strbuf_append_quoted(&quoted, text.data, text.len);
    fail_options(c, "", FIELD_INVALID, "patch", quoted.data, why->text);
    return 1;
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
    patched = kj_freeze(*ret);
    c->warnings.n = 0; /* of an attempt before */
    if (object_check_fields(c, kj_root(patched), true, &why) < 0)
        return refuse_patched(c, kj_root(patched), &why);
    const char *kind = kj_str_or(kj_get(kj_root(patched), "kind"), c->res->kind);
    if (!streq(kind, c->res->kind))
        return kerr_api(err, -EINVAL, KR_BAD_REQUEST,
                        "%s in version \"%s\" cannot be handled as a %s: the kind of an object "
                        "cannot be changed",
                        kind, c->res->version, c->res->kind);
    return 0;
}

void verb_patch(struct api_call *c)
{
    struct kerr err = { 0 };
    if (find_type(c, &err) < 0) {
        api_fail(c, &err);
        return;
    }
    api_change(
        c, &(struct api_change){ .verb = *c->sub ? RES_STATUS : RES_UPDATE, .make = from_patch });
}
