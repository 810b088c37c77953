/* configs.c - the two webhook configurations: read, compared with the plan, patched. */
#include "base/klog.h"
#include "controllers/meta.h"
#include "manager/registration/registration_int.h"
#include "net/certauth.h"

#define GROUP   "admissionregistration.k8s.io"
#define VERSION "v1"
/* How long an old CA stays beside a new one: each replica looks at the Secret every minute. */
#define OLD_CA_STAYS (600 * NSEC_PER_SEC)
/* Another replica's conditions count for so long: its cache may be ahead of ours. */
#define FOLLOWER_WAITS (5 * NSEC_PER_SEC)
enum { BUNDLE_MAX = 6 };

/* ---- the kinds ------------------------------------------------------------------------------- */

#define FIELDS(type)                                                                      \
    KF(type, obj.meta, "metadata", KF_OBJ, .flags = KF_REQUIRED, .sub = &objmeta_schema), \
        KF(type, webhooks, "webhooks", KF_RAW, .flags = KF_OMITEMPTY)
static const struct kfield fields[] = { FIELDS(struct hook_configuration) };
static const struct kschema schema =
    KSCHEMA("WebhookConfiguration", struct hook_configuration, fields);
const struct kind kind_mutating_configuration = { .group = GROUP,
                                                  .version = VERSION,
                                                  .kind = "MutatingWebhookConfiguration",
                                                  .plural = "mutatingwebhookconfigurations",
                                                  .schema = &schema };
const struct kind kind_validating_configuration = { .group = GROUP,
                                                    .version = VERSION,
                                                    .kind = "ValidatingWebhookConfiguration",
                                                    .plural = "validatingwebhookconfigurations",
                                                    .schema = &schema };

/* ---- trust ----------------------------------------------------------------------------------- */

/* The CA that counts, the one of what we serve, and for a while what was trusted before. Replicas
 * with files of their own each have their own CA. */
static void make_bundle(const struct registration *r, const struct certset *certs,
                        const struct kj_val *webhooks, struct strbuf *out)
{
    CLEANUP(strbuf_fini) struct strbuf before = STRBUF_INIT;
    struct str parts[3] = { certset_get(certs, CERTSET_CA), certset_get(&r->in_use, CERTSET_CA) };

    if (r->in_files || loop_mono(r->loop) - r->ca_since < OLD_CA_STAYS)
        hookconfig_trusted(webhooks, &before);
    parts[2] = (struct str){ before.data, before.len };
    certauth_bundle(parts, ARRAY_LEN(parts), BUNDLE_MAX, loop_wall(r->loop), out);
}

/* API servers that trust something need time to learn what else to trust. */
static void note_trust(struct registration *r, const struct certset *certs,
                       const struct kj_val *webhooks)
{
    CLEANUP(strbuf_fini) struct strbuf trusted = STRBUF_INIT, all = STRBUF_INIT;
    const struct str ca = certset_get(certs, CERTSET_CA);
    const bool known = hookconfig_all_trust(webhooks, ca);

    hookconfig_trusted(webhooks, &trusted);
    size_t n = certauth_bundle(&(struct str){ trusted.data, trusted.len }, 1, BUNDLE_MAX,
                               loop_wall(r->loop), &all);
    if (!known && n)
        r->untrusted_at = loop_mono(r->loop);
    r->others_trusted |= n > 1;
}

/* ---- writing --------------------------------------------------------------------------------- */

struct sent {
    struct registration *r;
    bool conditions;
};

static bool on_patched(struct batch *b, struct kube_resp *resp, const struct kerr *err, void *arg)
{
    const struct sent *sent = arg;

    (void)b;
    if (!err) {
        if (sent->conditions && !strstr(resp->body, HOOKCONFIG_CONDITION)) {
            /* Servers before 1.28 do not know the field, and drop it. */
            KLOG_W("The API server does not keep matchConditions; it will call for every pod");
            sent->r->no_conditions = true;
        }
        return true;
    }
    if (sent->conditions && (err->reason == KR_INVALID || err->reason == KR_BAD_REQUEST)) {
        /* Trust matters more than a call that could be spared. */
        KLOG_E(err, "The API server refused matchConditions; it will call for every pod");
        sent->r->no_conditions = true;
    }
    return false;
}

static void patch(struct registration *r, struct batch *b, const struct kobj *o,
                  const struct kj_mval *want, const struct strbuf *tmpl)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT, list = STRBUF_INIT;
    struct kjw w = kjw_to(&body);

    kjw_obj(&w, NULL);
    kjw_obj(&w, "metadata");
    kjw_str(&w, "resourceVersion", o->meta.resource_version);
    if (tmpl->len) {
        kjw_obj(&w, "annotations");
        kjw_strn(&w, HOOKCONFIG_TEMPLATE, tmpl->data, tmpl->len);
        kjw_end(&w);
    }
    kjw_end(&w);
    kj_mwrite(want, 0, &list);
    kjw_raw(&w, "webhooks", list.data, list.len);
    kjw_end(&w);
    KLOG_I(0, "Updating the webhook configuration", KV_S("name", o->meta.name));
    struct sent *sent = arena_new0(batch_arena(b), struct sent);
    *sent = (struct sent){ r, strstr(list.data, HOOKCONFIG_CONDITION) != NULL };
    batch_patch(b, o, NULL, KUBE_PATCH_MERGE, &body, on_patched, sent);
}

/* Conditions alone: at once by the leader, by the others when nobody else does it. */
static bool may_wait(struct registration *r, struct batch *b, nsec_t *since,
                     enum hookconfig_diff diff)
{
    nsec_t now = loop_mono(r->loop);

    if (diff != HOOKCONFIG_CONDITIONS || r->leads)
        return false;
    if (*since == 0)
        *since = MAX(now, 1);
    if (now - *since >= FOLLOWER_WAITS)
        return false;
    batch_again(b, *since + FOLLOWER_WAITS - now);
    return true;
}

static int plan(struct registration *r, const struct certset *certs, const struct kobj *o,
                const struct kj_val *webhooks, struct kj_mdoc *d, struct kj_mval **ret,
                struct strbuf *ret_template, struct kerr *err)
{
    CLEANUP(strbuf_fini) struct strbuf bundle = STRBUF_INIT;
    const struct hookconfig_env env = { .host = r->host,
                                        .port = r->o.port,
                                        .ns = r->ns,
                                        .service = r->service,
                                        .serves = r->o.serves,
                                        .condition = r->no_conditions ? NULL : r->o.condition,
                                        .arg = r->o.arg };

    note_trust(r, certs, webhooks);
    make_bundle(r, certs, webhooks, &bundle);
    const struct str pem = { bundle.data, bundle.len };
    return hookconfig_plan(&env, webhooks, meta_annotation(o, HOOKCONFIG_TEMPLATE), pem, d, ret,
                           ret_template, err);
}

bool registration_configure(struct registration *r, struct batch *b, size_t which,
                            const struct certset *certs)
{
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    CLEANUP(strbuf_fini) struct strbuf tmpl = STRBUF_INIT;
    struct kj_mval *want = NULL;
    struct kerr err = { 0 };
    const struct kobj *o = informer_get(r->configurations[which], r->name[which]);
    const struct kind *kind = informer_kind(r->configurations[which]);

    if (!o) {
        kerr_set(&err, -ENOENT, "not found %s %s", kind->kind, r->name[which]);
        batch_fail(b, &err);
        r->problem = err;
        return false;
    }
    const char *text = str_or(container_of(o, struct hook_configuration, obj)->webhooks, "[]");
    if (kj_parse(text, strlen(text), 0, &doc, &err) < 0 ||
        plan(r, certs, o, kj_root(doc), d, &want, &tmpl, &err) < 0) {
        kerr_wrap(&err, "%s %s", kind->kind, r->name[which]);
        batch_fail(b, &err);
        r->problem = err;
        return false;
    }
    enum hookconfig_diff diff = hookconfig_compare(kj_root(doc), want);
    if (diff != HOOKCONFIG_CONDITIONS)
        r->differs_since[which] = 0;
    if (tmpl.len == 0 &&
        (diff == HOOKCONFIG_SAME || may_wait(r, b, &r->differs_since[which], diff)))
        return true;
    nsec_t wait = bucket_take(&r->patches, loop_mono(r->loop));
    if (wait > 0) {
        r->patches.tokens += 1; /* not taken */
        KLOG_W(
            "The webhook configuration changes all the time; do replicas have different settings?",
            KV_S("name", r->name[which]));
        batch_again(b, wait);
        return false;
    }
    patch(r, b, o, want, &tmpl);
    return false;
}
