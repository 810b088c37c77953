/* volumes.c - which volume a claim is bound to, for the claims of this node's pods only. */
#include "api/storage.h"
#include "base/klog.h"
#include "client/kube.h"
#include "koordlet/states/states_int.h"
#include "json/kj.h"

struct claim {
    struct kube_call *call;
    char *volume;   /* NULL: not bound, or not known yet */
    unsigned round; /* the last set of pods that names it */
    uint32_t ns_len;
    char key[]; /* "ns/name" */
};

static void claim_free(struct claim *c)
{
    kube_cancel(c->call);
    free(c->volume);
    free(c);
}

static void on_answer(void *arg, struct kube_resp *r, const struct kerr *err)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct claim *c = arg;
    struct kerr bad = { 0 };

    c->call = NULL;
    if (err) {
        KLOG_I(4, "Cannot read a claim now", KV_S("claim", c->key), KV_S("err", err->text));
        return; /* the next round asks again */
    }
    if (kj_parse_insitu(r->body, r->n, 0, &doc, &bad) < 0)
        return;
    const char *volume = kj_str_or(kj_path(kj_root(doc), "spec.volumeName"), "");
    if (*volume) {
        free(c->volume);
        c->volume = xstrdup(volume);
    }
}

/* A bound claim stays bound to its volume: it is read once. */
static void claim_ask(struct states *s, struct claim *c)
{
    char *ns = xstrndup(c->key, c->ns_len);
    struct kube_req r = {
        .verb = KUBE_GET, .kind = &kind_pvc, .ns = ns, .name = c->key + c->ns_len + 1
    };

    if (!c->volume && !c->call)
        c->call = kube_do(s->env.kube, &r, on_answer, c);
    free(ns);
}

static void claim_named(struct states *s, const char *ns, const char *name)
{
    struct volumes *v = &s->volumes;
    CLEANUP(strbuf_fini) struct strbuf key = STRBUF_INIT;

    strbuf_appendf(&key, "%s/%s", ns, name);
    struct claim *c = map_get(&v->claims, key.data, key.len);
    if (!c) {
        c = xcalloc(1, sizeof *c + key.len + 1);
        memcpy(c->key, key.data, key.len + 1);
        c->ns_len = (uint32_t)strlen(ns);
        map_put(&v->claims, c->key, key.len, c);
    }
    c->round = v->round;
    claim_ask(s, c);
}

static void forget_others(struct volumes *v)
{
    struct gone vec_of(struct claim *) gone = { 0 };

    map_foreach(&v->claims, e) {
        struct claim *c = e->value;
        if (c->round != v->round)
            vec_push(&gone, c);
    }
    vec_foreach(&gone, i) {
        map_removez(&v->claims, gone.items[i]->key);
        claim_free(gone.items[i]);
    }
    vec_fini(&gone);
}

void volumes_update(struct states *s)
{
    const struct podset *set = states_now(s)->pods;

    s->volumes.round++;
    for (uint32_t i = 0; i < set->n; i++) {
        const struct pod *p = npod_pod(set->pods[i]);
        for (uint32_t j = 0; j < p->volumes.n; j++)
            if (p->volumes.items[j].claim)
                claim_named(s, p->obj.meta.ns, p->volumes.items[j].claim->claim_name);
    }
    forget_others(&s->volumes);
}

const char *states_volume_name(const struct states *s, const char *ns, const char *claim)
{
    CLEANUP(strbuf_fini) struct strbuf key = STRBUF_INIT;

    strbuf_appendf(&key, "%s/%s", ns, claim);
    const struct claim *c = map_get(&s->volumes.claims, key.data, key.len);
    return c ? c->volume : NULL;
}

void volumes_fini(struct states *s)
{
    map_foreach(&s->volumes.claims, e)
        claim_free(e->value);
    map_fini(&s->volumes.claims);
}
