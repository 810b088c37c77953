/* run_manager_quota.c - ElasticQuotas through their webhooks, one request after the other. */
#include "api/koord/quota.h"
#include "api/protocol/quota.h"
#include "base/b64.h"
#include "base/intern.h"
#include "base/map.h"
#include "loop/loop.h"
#include "manager/quota/topology.h"
#include "manager/webhook/serve.h"
#include "manager/webhook/source.h"
#include "run_manager.h"
#include "json/patch.h"

struct cluster {
    struct intern *strings;
    struct kj_scratch *scratch;
    struct loop *loop;
    struct quota_topology *topology;
    struct webhook_source src;
    struct webhooks *w;
    const struct kj_val *pods;
    struct map stored; /* JSON texts by name; both of the arena */
};

static size_t labelled(void *arg, const char *quota, const char **names, size_t max)
{
    const struct cluster *c = arg;
    size_t n = 0;

    for (size_t i = 0; i < kj_len(c->pods); i++) {
        const struct kj_val *m = kj_get(kj_at(c->pods, i), "metadata");
        if (!streq(kj_str_or(kj_get(kj_get(m, "labels"), LABEL_QUOTA_NAME), ""), quota))
            continue;
        if (n < max)
            names[n] = kj_str_or(kj_get(m, "name"), "");
        n++;
    }
    return n;
}

static bool in_namespace(void *arg, const char *ns)
{
    const struct cluster *c = arg;

    for (size_t i = 0; i < kj_len(c->pods); i++)
        if (streq(kj_str_or(kj_path(kj_at(c->pods, i), "metadata.namespace"), ""), ns))
            return true;
    return false;
}

static struct quota_topology *get_quotas(void *self)
{
    return ((struct cluster *)self)->topology;
}

static void cluster_init(struct cluster *c, const struct kj_val *in)
{
    const struct kj_val *gates = kj_get(in, "featureGates");
    struct topology_gates g = {
        .guarantee = kj_bool(kj_get(gates, "ElasticQuotaGuaranteeUsage"), false),
        .update_key = kj_bool(kj_get(gates, "ElasticQuotaEnableUpdateResourceKey"), false),
    };
    struct topology_pods pods = { labelled, in_namespace, c };

    *c = (struct cluster){ .strings = intern_new(),
                           .loop = loop_new_virtual(0, 1),
                           .pods = kj_get(in, "pods") };
    c->scratch = kj_scratch_new(c->strings);
    c->topology = topology_new(&g, &pods);
    c->src = (struct webhook_source){ .quotas = get_quotas, .self = c };
    c->w =
        webhooks_new(c->loop, &c->src, &(struct webhook_opts){ .gates = webhook_gates_default() });
}

static void cluster_fini_p(struct cluster *c)
{
    webhooks_free(c->w);
    topology_free(c->topology);
    loop_free(c->loop);
    kj_scratch_free(c->scratch);
    intern_free(c->strings);
    map_fini(&c->stored);
}

/* ---- reviews --------------------------------------------------------------------------------- */

static void put_text(struct kjw *w, const char *key, const char *json)
{
    if (json)
        kjw_raw(w, key, json, strlen(json));
}

static const struct kj_val *review(struct cluster *c, enum webhook_id id, const char *op,
                                   const char *name, const char *object, const char *old,
                                   struct kj_doc **ret)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT, out = STRBUF_INIT;
    struct kjw w = kjw_to(&text);

    kjw_obj(&w, NULL);
    kjw_str(&w, "kind", "AdmissionReview");
    kjw_str(&w, "apiVersion", "admission.k8s.io/v1");
    kjw_obj(&w, "request");
    kjw_str(&w, "uid", "1");
    kjw_obj(&w, "resource");
    kjw_str(&w, "group", "scheduling.sigs.k8s.io");
    kjw_str(&w, "version", "v1alpha1");
    kjw_str(&w, "resource", "elasticquotas");
    kjw_end(&w);
    kjw_str(&w, "operation", op);
    kjw_str(&w, "name", name);
    kjw_str(&w, "namespace", "default");
    put_text(&w, "object", object);
    put_text(&w, "oldObject", old);
    kjw_end(&w);
    kjw_end(&w);
    size_t n = text.len;
    strbuf_reserve(&text, KJ_PADDING);
    (void)webhook_review(c->w, id, text.data, n, &out);
    if (kj_parse(out.data, out.len, 0, ret, NULL) < 0)
        return NULL;
    return kj_get(kj_root(*ret), "response");
}

static int patched(const struct kj_val *quota, const struct kj_val *response, struct strbuf *out,
                   struct kerr *err)
{
    const struct kj_val *patch = kj_get(response, "patch");
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    CLEANUP(kj_doc_free) struct kj_doc *ops = NULL;
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    struct kj_mval *v;

    if (!patch) {
        kj_write(quota, 0, out);
        return 0;
    }
    if (b64_decode(kj_str(patch), kj_len(patch), &text) < 0 ||
        kj_parse(text.data, text.len, 0, &ops, err) < 0 ||
        kj_patch_json(d, quota, kj_root(ops), &v, err) < 0)
        return kerr_wrap(err, "patch");
    kj_mwrite(v, 0, out);
    return 0;
}

/* ---- one request ----------------------------------------------------------------------------- */

static void refuse(struct kjw *w, const char *phase, const struct kj_val *response)
{
    kjw_obj(w, NULL);
    kjw_bool(w, "allowed", false);
    kjw_str(w, "phase", phase);
    if (response)
        kjw_str(w, "message", kj_str_or(kj_path(response, "status.message"), ""));
    kjw_end(w);
}

/* It was allowed: it is stored, and the informer hears of it. */
static int store(struct cluster *c, const char *name, const char *json, struct arena *a,
                 struct kerr *err)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    CLEANUP(kobj_unref) struct kobj *o = NULL;

    if (!json) {
        map_removez(&c->stored, name);
        topology_remove(c->topology, name);
        return 0;
    }
    if (kj_parse(json, strlen(json), KJ_RAW_NUMBERS, &doc, err) < 0 ||
        kobj_decode(&kind_elasticquota, kj_root(doc), c->scratch, &o, err) < 0)
        return err->code;
    topology_put(c->topology, o);
    map_putz(&c->stored, arena_strdup(a, name), arena_strdup(a, json));
    return 0;
}

static int step(struct cluster *c, const struct kj_val *in, struct kjw *w, struct arena *a,
                struct kerr *err)
{
    CLEANUP(kj_doc_free) struct kj_doc *mutated = NULL;
    CLEANUP(kj_doc_free) struct kj_doc *validated = NULL;
    CLEANUP(strbuf_fini) struct strbuf given = STRBUF_INIT, object = STRBUF_INIT;
    const struct kj_val *quota = kj_get(in, "quota"), *answer;
    const char *op = kj_str_or(kj_get(in, "operation"), "");
    const char *name = kj_str_or(kj_path(quota, "metadata.name"), "");
    const char *old = map_getz(&c->stored, name);
    bool create = streq(op, "CREATE"), delete = streq(op, "DELETE");

    kj_write(quota, 0, &given);
    if (!create && !old) {
        refuse(w, "notFound", NULL);
        return 0;
    }
    if (create) {
        answer = review(c, WEBHOOK_MUTATE_QUOTA, op, name, strbuf_str(&given), NULL, &mutated);
        if (!kj_bool(kj_get(answer, "allowed"), false)) {
            refuse(w, "mutate", answer);
            return 0;
        }
        if (patched(quota, answer, &object, err) < 0)
            return err->code;
    } else {
        strbuf_appendf(&object, "%s", strbuf_str(&given));
    }
    answer = review(c, WEBHOOK_VALIDATE_QUOTA, op, name, delete ? NULL : strbuf_str(&object), old,
                    &validated);
    if (!kj_bool(kj_get(answer, "allowed"), false)) {
        refuse(w, "validate", answer);
        return 0;
    }
    kjw_obj(w, NULL);
    kjw_bool(w, "allowed", true);
    if (create)
        kjw_raw(w, "quota", strbuf_str(&object), object.len);
    kjw_end(w);
    return store(c, name, delete ? NULL : strbuf_str(&object), a, err);
}

int run_quota_validate(const struct kj_val *in, struct arena *a, struct strbuf *got,
                       struct kerr *err)
{
    CLEANUP(cluster_fini) struct cluster c;
    const struct kj_val *steps = kj_get(in, "steps");
    struct kjw w = kjw_to(got);
    int r = 0;

    cluster_init(&c, in);
    kjw_obj(&w, NULL);
    kjw_arr(&w, "steps");
    for (size_t i = 0; r == 0 && i < kj_len(steps); i++)
        r = step(&c, kj_at(steps, i), &w, a, err);
    kjw_end(&w);
    kjw_end(&w);
    return r;
}

/* ---- is it right? ---------------------------------------------------------------------------- */

/* What upstream's JSON decoder says is its own affair. */
static bool same_message(const char *want, const char *have)
{
    static const char *const decoder[] = { "sharedWeight failed:", "value is invalid: " };

    for (size_t i = 0; i < ARRAY_LEN(decoder); i++) {
        const char *at = strstr(want, decoder[i]);
        if (at)
            return strncmp(want, have, (size_t)(at - want) + strlen(decoder[i])) == 0;
    }
    return streq(want, have);
}

/* Go writes the empty status of an object that has none, and leaves out empty lists. */
static bool same_list(const struct kj_val *want, const struct kj_val *have)
{
    return kj_equal(want, have) || (kj_len(want) == 0 && kj_len(have) == 0);
}

static bool same_quota(const struct kj_val *want, const struct kj_val *have)
{
    return kj_equal(kj_get(want, "metadata"), kj_get(have, "metadata")) &&
           same_list(kj_path(want, "spec.max"), kj_path(have, "spec.max")) &&
           same_list(kj_path(want, "spec.min"), kj_path(have, "spec.min"));
}

bool same_quota_validate(const struct kj_val *out, const struct kj_val *got)
{
    const struct kj_val *want = kj_get(out, "steps"), *have = kj_get(got, "steps");

    if (kj_len(want) != kj_len(have))
        return false;
    for (size_t i = 0; i < kj_len(want); i++) {
        const struct kj_val *x = kj_at(want, i), *y = kj_at(have, i);
        if (kj_bool(kj_get(x, "allowed"), false) != kj_bool(kj_get(y, "allowed"), false) ||
            !streq(kj_str_or(kj_get(x, "phase"), ""), kj_str_or(kj_get(y, "phase"), "")) ||
            !same_message(kj_str_or(kj_get(x, "message"), ""), kj_str_or(kj_get(y, "message"), "")))
            return false;
        if (kj_get(x, "quota") && !same_quota(kj_get(x, "quota"), kj_get(y, "quota")))
            return false;
    }
    return true;
}
