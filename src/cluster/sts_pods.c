/* sts_pods.c - pods of a StatefulSet: their claims first, then the pod; one of a name at a time. */
#include <stdio.h>

#include "api/storage.h"
#include "cluster/sts.h"

struct placing { /* in the arena of the batch */
    struct stsctl *sc;
    const struct sts *s; /* held */
    int64_t ordinal;
    const char *name, *revision, *template_json;
    const char **claims;
    unsigned waiting; /* for answers about claims */
    bool failed;
};

/* ---- the pod ------------------------------------------------------------------------------- */

static void decorate(void *arg, uint32_t i, struct kj_mdoc *d, struct kj_mval *pod)
{
    const struct placing *p = arg;
    struct kj_mval *spec = kj_mget(pod, "spec");
    char index[24];

    (void)i;
    (void)snprintf(index, sizeof index, "%lld", (long long)p->ordinal);
    pod_set_text(d, pod, "labels", LABEL_POD_NAME, p->name);
    pod_set_text(d, pod, "labels", LABEL_POD_INDEX, index);
    pod_set_text(d, pod, "labels", LABEL_REVISION, p->revision);
    kj_mset(d, spec, "hostname", kj_mstr(d, p->name));
    if (!str_empty(p->s->spec.service_name))
        kj_mset(d, spec, "subdomain", kj_mstr(d, p->s->spec.service_name));
    sts_claim_volumes(p->s, p->ordinal, d, pod);
}

static bool on_created(struct batch *b, struct kube_resp *r, const struct kerr *err, void *arg)
{
    const struct placing *p = arg;
    struct cluster *c = p->sc->c;

    (void)r;
    if (!err) {
        c->stats.pods_created++;
        recorder_event_on(c->events, &p->s->obj, false, "SuccessfulCreate", NULL,
                          "create Pod %s in StatefulSet %s successful", p->name,
                          p->s->obj.meta.name);
        return true;
    }
    /* Whether it was made after all, the next pass sees: its name tells. */
    expect_created(p->sc->expect, batch_key(b), p->name);
    if (err->reason != KR_ALREADY_EXISTS && err_is_refusal(err))
        recorder_event_on(c->events, &p->s->obj, true, "FailedCreate", NULL,
                          "create Pod %s in StatefulSet %s failed error: %s", p->name,
                          p->s->obj.meta.name, err->text);
    return err->reason == KR_FORBIDDEN && strstr(err->text, "terminated");
}

static void send_pod(struct batch *b, struct placing *p)
{
    CLEANUP(kj_doc_free) struct kj_doc *template = NULL;
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    struct podplan plan = { .c = p->sc->c, .owner = &p->s->obj, .decorate = decorate, .arg = p };

    if (!p->template_json ||
        kj_parse(p->template_json, strlen(p->template_json), 0, &template, NULL) < 0)
        return;
    pod_write(&plan, kj_root(template), 0, p->name, NULL, &body);
    expect_create(p->sc->expect, batch_key(b), p->name);
    batch_create(b, &kind_pod, p->s->obj.meta.ns, &body, on_created, p);
}

/* ---- its claims ---------------------------------------------------------------------------- */

static bool on_claim(struct batch *b, struct kube_resp *r, const struct kerr *err, void *arg)
{
    struct placing *p = arg;
    bool there = !err || err->reason == KR_ALREADY_EXISTS;

    (void)r;
    if (!there && !p->failed && err_is_refusal(err))
        recorder_event_on(p->sc->c->events, &p->s->obj, true, "FailedCreate", NULL,
                          "create Claim for Pod %s in StatefulSet %s failed error: %s", p->name,
                          p->s->obj.meta.name, err->text);
    p->failed = p->failed || !there;
    if (--p->waiting == 0 && !p->failed)
        send_pod(b, p);
    return there;
}

static void send_claim(struct batch *b, struct placing *p, size_t i)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;

    sts_claim_write(p->s, i, p->claims[i], &body);
    p->waiting++;
    batch_create(b, &kind_pvc, p->s->obj.meta.ns, &body, on_claim, p);
    recorder_event_on(p->sc->c->events, &p->s->obj, false, "SuccessfulCreate", NULL,
                      "create Claim %s Pod %s in StatefulSet %s success", p->claims[i], p->name,
                      p->s->obj.meta.name);
}

void sts_create_pod(struct stsctl *sc, struct batch *b, const struct stsview *v, int64_t ordinal)
{
    struct arena *a = batch_arena(b);
    struct placing *p = arena_new0(a, struct placing);
    const struct revision *rev = sts_revision_for(v, ordinal);
    const struct sts *s = v->s;

    *p = (struct placing){ .sc = sc, .s = s, .ordinal = ordinal };
    batch_hold(b, &s->obj);
    p->name = arena_printf(a, "%s-%lld", s->obj.meta.name, (long long)ordinal);
    p->revision = arena_strdup(a, rev->obj.meta.name);
    p->template_json = rev == v->update ? s->spec.template_json : revision_template(rev, a);
    p->claims = sts_claim_names(s, ordinal, a);
    for (size_t i = 0; p->claims[i]; i++) {
        const char *key = arena_printf(a, "%s/%s", s->obj.meta.ns, p->claims[i]);
        const struct kobj *claim = informer_get(sc->claims, key);
        /* One that goes with an earlier pod must be gone: the news of it brings the next pass. */
        if (claim && claim->meta.deleted)
            return;
    }
    for (size_t i = 0; p->claims[i]; i++) {
        const char *key = arena_printf(a, "%s/%s", s->obj.meta.ns, p->claims[i]);
        if (!informer_get(sc->claims, key))
            send_claim(b, p, i);
    }
    if (p->waiting == 0)
        send_pod(b, p);
}

/* ---- deleting, mending --------------------------------------------------------------------- */

struct removing {
    struct stsctl *sc;
    const struct kobj *set, *pod; /* held */
};

static bool on_removed(struct batch *b, struct kube_resp *r, const struct kerr *err, void *arg)
{
    const struct removing *x = arg;

    (void)r;
    if (!err) {
        x->sc->c->stats.pods_deleted++;
        recorder_event_on(x->sc->c->events, x->set, false, "SuccessfulDelete", NULL,
                          "delete Pod %s in StatefulSet %s successful", x->pod->meta.name,
                          x->set->meta.name);
        return true;
    }
    /* A lost answer: the next pass chooses the same pod, or sees it go. */
    expect_deleted(x->sc->expect, batch_key(b), x->pod->meta.name);
    return err->reason == KR_NOT_FOUND || err->reason == KR_CONFLICT;
}

void sts_delete_pod(struct stsctl *sc, struct batch *b, const struct stsview *v,
                    const struct kobj *pod)
{
    struct removing *x = arena_new0(batch_arena(b), struct removing);

    *x = (struct removing){ sc, batch_hold(b, &v->s->obj), batch_hold(b, pod) };
    expect_delete(sc->expect, batch_key(b), pod->meta.name);
    batch_delete(b, pod, &(struct delete_opts){ .grace = -1, .any_version = true }, on_removed, x);
}

void sts_mend_pod(struct batch *b, const struct kobj *pod, int64_t ordinal)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    struct kjw w = kjw_to(&body);
    char index[24], uid[KUID_TEXT_MAX];

    (void)snprintf(index, sizeof index, "%lld", (long long)ordinal);
    if (streq(str_or(kstrmap_get(&pod->meta.labels, LABEL_POD_NAME), ""), pod->meta.name) &&
        streq(str_or(kstrmap_get(&pod->meta.labels, LABEL_POD_INDEX), ""), index))
        return;
    kuid_format(pod->meta.uid, uid, sizeof uid);
    kjw_obj(&w, NULL);
    kjw_obj(&w, "metadata");
    kjw_str(&w, "uid", uid);
    kjw_obj(&w, "labels");
    kjw_str(&w, LABEL_POD_NAME, pod->meta.name);
    kjw_str(&w, LABEL_POD_INDEX, index);
    kjw_end(&w);
    kjw_end(&w);
    kjw_end(&w);
    batch_patch(b, pod, NULL, KUBE_PATCH_STRATEGIC, &body, NULL, NULL);
}
