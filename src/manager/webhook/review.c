/* review.c - AdmissionReviews: read, put to the webhook, answered in the same version. */
#include "base/b64.h"
#include "manager/webhook/serve.h"
#include "manager/webhook/webhook_int.h"
#include "json/patch.h"

#define V1      "admission.k8s.io/v1"
#define V1BETA1 "admission.k8s.io/v1beta1"

/* ---- reading --------------------------------------------------------------------------------- */

static const char *kind_text(const struct kj_val *root)
{
    return kj_str_or(kj_get(root, "kind"), "");
}

/* -EINVAL and what is wrong, unless this is a review in a version that we know. */
static int check_review(const struct kj_val *root, struct kerr *err)
{
    const char *version = kj_str_or(kj_get(root, "apiVersion"), "");
    char a[80], b[80];

    if (kj_type(root) != KJ_OBJ)
        return kerr_set(err, -EINVAL, "the body is no JSON object");
    if (!streq(kind_text(root), "AdmissionReview") ||
        (!streq(version, V1) && !streq(version, V1BETA1)))
        return kerr_set(err, -EINVAL,
                        "expected AdmissionReview of " V1 " or " V1BETA1 ", got kind %s of %s",
                        text_quote(a, sizeof a, kind_text(root), strlen(kind_text(root))),
                        text_quote(b, sizeof b, version, strlen(version)));
    if (kj_type(kj_get(root, "request")) != KJ_OBJ)
        return kerr_set(err, -EINVAL, "the AdmissionReview has no request");
    return 0;
}

static const char *text_of(const struct kj_val *request, const char *path)
{
    return kj_str_or(kj_path(request, path), "");
}

static struct webhook_request request_of(const struct kj_val *v)
{
    const struct kj_val *old = kj_get(v, "oldObject");

    return (struct webhook_request){
        .op = webhook_op_parse(text_of(v, "operation")),
        .group = text_of(v, "resource.group"),
        .resource = text_of(v, "resource.resource"),
        .subresource = text_of(v, "subResource"),
        .ns = text_of(v, "namespace"),
        .name = text_of(v, "name"),
        .user = text_of(v, "userInfo.username"),
        .old = kj_type(old) == KJ_OBJ ? old : NULL,
        .dry_run = kj_bool(kj_get(v, "dryRun"), false),
    };
}

/* ---- answering ------------------------------------------------------------------------------- */

static void write_status(struct kjw *w, const struct webhook_answer *a)
{
    kjw_obj(w, "status");
    kjw_obj(w, "metadata");
    kjw_end(w);
    if (*a->message)
        kjw_str(w, "message", a->message);
    if (*a->reason)
        kjw_str(w, "reason", a->reason);
    kjw_i64(w, "code", a->code);
    kjw_end(w);
}

static void write_review(const char *version, const char *uid, const struct webhook_answer *a,
                         const struct strbuf *patch, struct strbuf *out)
{
    struct kjw w = kjw_to(out);

    kjw_obj(&w, NULL);
    kjw_str(&w, "kind", "AdmissionReview");
    kjw_str(&w, "apiVersion", version);
    kjw_obj(&w, "response");
    kjw_str(&w, "uid", uid);
    kjw_bool(&w, "allowed", a->allowed);
    if (patch && patch->len > 0) {
        CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
        strbuf_appendc(&text, '"');
        b64_encode(patch->data, patch->len, &text);
        strbuf_appendc(&text, '"');
        kjw_raw(&w, "patch", text.data, text.len);
        kjw_str(&w, "patchType", "JSONPatch");
    }
    write_status(&w, a);
    if (a->nwarnings > 0) {
        kjw_arr(&w, "warnings");
        for (size_t i = 0; i < a->nwarnings; i++)
            kjw_str(&w, NULL, a->warnings[i]);
        kjw_end(&w);
    }
    kjw_end(&w);
    kjw_end(&w);
}

void webhook_review_unread(int code, const char *message, struct strbuf *out)
{
    struct webhook_answer a = { .code = code, .reason = "", .message = message };

    write_review(V1, "", &a, NULL, out);
}

/* ---- one review ------------------------------------------------------------------------------ */

static void mutate(struct webhooks *w, enum webhook_id id, const struct webhook_request *r,
                   const struct kj_val *object, struct webhook_answer *a, struct strbuf *patch)
{
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    struct kj_mval *obj = object ? kj_mborrow(d, object) : NULL;

    webhook_mutate(w, id, r, d, obj, w->scratch, a);
    if (!a->allowed || !a->changed)
        return;
    if (kj_diff_json(object, obj, patch) == 0)
        strbuf_reset(patch);
}

struct webhook_review { /* the answer is known but for the charge */
    struct webhooks *w;
    struct arena *arena;
    const char *version, *uid;
    struct webhook_answer answer;
    struct quota_charge charge;
    struct charging *charging;
    webhook_reviewed_fn fn;
    void *arg;
};

static struct webhook_review *review_keep(struct webhooks *w, const char *version, const char *uid,
                                          const struct webhook_answer *a)
{
    struct arena *to = arena_new();
    struct webhook_review *v = arena_new0(to, struct webhook_review);
    const reslist *l = &a->charge->request;

    *v = (struct webhook_review){ .w = w, .arena = to, .answer = *a };
    v->version = arena_strdup(to, version);
    v->uid = arena_strdup(to, uid);
    for (size_t i = 0; i < a->nwarnings; i++)
        v->answer.warnings[i] = arena_strdup(to, a->warnings[i]);
    v->charge = (struct quota_charge){ .ns = arena_strdup(to, a->charge->ns),
                                       .name = arena_strdup(to, a->charge->name),
                                       .request = { arena_newn0(to, l->n, struct resqty), l->n },
                                       .dry_run = a->charge->dry_run };
    for (uint32_t i = 0; i < l->n; i++)
        v->charge.request.items[i] =
            (struct resqty){ arena_strdup(to, l->items[i].name), l->items[i].value };
    return v;
}

static void on_charged(void *arg, int code, const char *why)
{
    struct webhook_review *v = arg;
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;

    if (code) {
        v->answer.allowed = false;
        v->answer.code = code;
        v->answer.message = why;
    }
    write_review(v->version, v->uid, &v->answer, NULL, &out);
    v->fn(v->arg, &out);
    arena_free(v->arena);
}

void webhook_review_finish(struct webhook_review *v, webhook_reviewed_fn fn, void *arg)
{
    v->fn = fn;
    v->arg = arg;
    v->charging = webhook_charge(v->w, &v->charge, on_charged, v);
}

void webhook_review_cancel(struct webhook_review *v)
{
    if (v->charging)
        charging_cancel(v->charging);
    arena_free(v->arena);
}

struct webhook_review *webhook_review(struct webhooks *w, enum webhook_id id, char *body, size_t n,
                                      struct strbuf *out)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    CLEANUP(strbuf_fini) struct strbuf patch = STRBUF_INIT;
    struct webhook_answer a;
    struct kerr err = { 0 };

    if (n == 0) {
        webhook_review_unread(400, "request body is empty", out);
        return NULL;
    }
    if (kj_parse_insitu(body, n, 0, &doc, &err) < 0 || check_review(kj_root(doc), &err) < 0) {
        webhook_review_unread(400, err.text, out);
        return NULL;
    }
    const struct kj_val *v = kj_get(kj_root(doc), "request"), *object = kj_get(v, "object");
    const char *version = kj_str(kj_get(kj_root(doc), "apiVersion"));
    struct webhook_request r = request_of(v);
    arena_reset(w->scratch);
    if (webhook_infos[id].mutating)
        mutate(w, id, &r, object, &a, &patch);
    else
        webhook_validate(w, id, &r, object, w->scratch, &a);
    if (a.allowed && a.charge)
        return review_keep(w, version, text_of(v, "uid"), &a);
    write_review(version, text_of(v, "uid"), &a, &patch, out);
    return NULL;
}

/* ---- conversion ------------------------------------------------------------------------------ */

static bool write_converted(struct kjw *w, const struct kj_val *objects, const char *version)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    const struct kj_val *o;

    for (struct kj_iter it = kj_iter(objects); kj_next(&it, NULL, &o);)
        if (!streq(kj_str_or(kj_get(o, "apiVersion"), ""), version))
            return false;
    kjw_arr(w, "convertedObjects");
    for (struct kj_iter it = kj_iter(objects); kj_next(&it, NULL, &o);) {
        strbuf_reset(&text);
        kj_write(o, 0, &text);
        kjw_raw(w, NULL, text.data, text.len);
    }
    kjw_end(w);
    return true;
}

void webhook_convert(char *body, size_t n, struct strbuf *out)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct kj_val const *request = NULL;
    struct kjw w = kjw_to(out);
    struct kerr err = { 0 };
    bool done = false;

    if (n > 0 && kj_parse_insitu(body, n, 0, &doc, &err) == 0)
        request = kj_get(kj_root(doc), "request");
    const char *version = kj_str_or(kj_get(request, "desiredAPIVersion"), "");
    kjw_obj(&w, NULL);
    kjw_str(&w, "kind", "ConversionReview");
    kjw_str(&w, "apiVersion", "apiextensions.k8s.io/v1");
    kjw_obj(&w, "response");
    kjw_str(&w, "uid", text_of(request, "uid"));
    if (*version)
        done = write_converted(&w, kj_get(request, "objects"), version);
    kjw_obj(&w, "result");
    kjw_str(&w, "status", done ? "Success" : "Failure");
    if (!done)
        kjw_str(&w, "message",
                *err.text  ? err.text
                : *version ? "every kind has one version: there is nothing to convert to"
                           : "the ConversionReview has no request with a desiredAPIVersion");
    kjw_end(&w);
    kjw_end(&w);
    kjw_end(&w);
}
