/* run_reservation.c - which reservations a pod may use on a node, and which one it takes. */
#include "api/kobj.h"
#include "api/koord/reservation.h"
#include "api/node.h"
#include "api/pod.h"
#include "api/protocol/keys.h"
#include "base/intern.h"
#include "runners.h"
#include "scheduler/observe/explain/whatif.h"
#include "scheduler/plugins/registry.h"

/* The plugin alone: what others say of the node is not part of the answers. */
static const struct ks_registered plugins[] = {
    { &ks_plugin_priority_sort, 0, true },
    { &ks_plugin_reservation, 1, true },
    { &ks_plugin_default_binder, 0, true },
    { NULL, 0, false },
};

struct cluster {
    struct whatif *w;
    struct kj_scratch *scratch;
};

static int add(struct cluster *c, const struct kind *k, const struct kj_val *v, struct kerr *err)
{
    CLEANUP(kobj_unref) struct kobj *o = NULL;
    int r = kobj_decode(k, v, c->scratch, &o, err);

    return r == 0 ? whatif_add(c->w, o, err) : r;
}

static int add_all(struct cluster *c, const struct kind *k, const struct kj_val *list,
                   struct kerr *err)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < kj_len(list); i++)
        r = add(c, k, kj_at(list, i), err);
    return r;
}

/* As the API server stores them: with the default of the ttl. */
static int add_reservation(struct cluster *c, const struct kj_val *v, struct kerr *err)
{
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    struct kj_mval *m = kj_mcopy(d, v), *spec = kj_mget(m, "spec");

    if (spec && !kj_mget(spec, "ttl"))
        kj_mset(d, spec, "ttl", kj_mstr(d, "24h"));
    CLEANUP(kj_doc_free) struct kj_doc *doc = kj_freeze(m);
    return add(c, &kind_reservation, kj_root(doc), err);
}

/* Pods that use a reservation have the annotation which says so. */
static int add_owner(struct cluster *c, const struct kj_val *v, const char *name, const char *uid,
                     struct kerr *err)
{
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    CLEANUP(mem_free) char *text = xasprintf("{\"name\":\"%s\",\"uid\":\"%s\"}", name, uid);
    struct kj_mval *m = kj_mcopy(d, v), *annotations = kj_mobj(d);

    kj_mset(d, annotations, ANNO_RESERVATION_ALLOCATED, kj_mstr(d, text));
    kj_mset(d, kj_mget(m, "metadata"), "annotations", annotations);
    CLEANUP(kj_doc_free) struct kj_doc *doc = kj_freeze(m);
    return add(c, &kind_pod, kj_root(doc), err);
}

static int add_cluster(struct cluster *c, const struct kj_val *in, struct kerr *err)
{
    const struct kj_val *list = kj_get(in, "reservations"), *owners = kj_get(in, "assignedPods");
    int r = add(c, &kind_node, kj_get(in, "node"), err);

    for (size_t i = 0; r == 0 && i < kj_len(list); i++)
        r = add_reservation(c, kj_at(list, i), err);
    if (r == 0)
        r = add_all(c, &kind_pod, kj_get(in, "otherPods"), err);
    for (size_t i = 0; r == 0 && i < kj_len(list); i++) {
        const struct kj_val *meta = kj_get(kj_at(list, i), "metadata");
        const char *name = kj_str_or(kj_get(meta, "name"), "");
        const struct kj_val *pods = kj_get(owners, name);
        for (size_t k = 0; r == 0 && k < kj_len(pods); k++)
            r = add_owner(c, kj_at(pods, k), name, kj_str_or(kj_get(meta, "uid"), ""), err);
    }
    return r;
}

/* ---- the answer ------------------------------------------------------------------------------ */

static void write_verdict(struct kjw *w, const struct whatif_node *n)
{
    kjw_obj(w, "filter");
    kjw_str(w, "code", ks_code_name(n->code));
    if (n->nreasons) {
        kjw_arr(w, "reasons");
        for (uint32_t i = 0; i < n->nreasons; i++)
            kjw_str(w, NULL, n->reasons[i]);
        kjw_end(w);
    }
    kjw_end(w);
}

static void write_nominated(struct kjw *w, struct whatif *x, const struct whatif_node *n)
{
    struct whatif_placement p;

    if (whatif_place(x, n->name, &p, NULL) == 0 && p.reservation)
        kjw_str(w, "nominated", p.reservation);
    else
        kjw_null(w, "nominated");
}

static void write_answer(struct strbuf *got, struct whatif *x, const struct whatif_result *r)
{
    const struct whatif_node *n = &r->nodes[0];
    struct kjw w = kjw_to(got);

    kjw_obj(&w, NULL);
    kjw_arr(&w, "matched");
    for (uint32_t i = 0; i < n->nusable; i++)
        kjw_str(&w, NULL, n->usable[i]);
    kjw_end(&w);
    kjw_obj(&w, "nodeRequestedAfterRestore");
    kjw_i64(&w, "cpu", n->used_mcpu);
    kjw_i64(&w, "memory", n->used_memory);
    kjw_end(&w);
    if (n->code != KS_SUCCESS && n->nusable == 0) { /* the pod was rejected as a whole */
        kjw_obj(&w, "preFilter");
        kjw_str(&w, "code", ks_code_name(n->code));
        kjw_str(&w, "message", n->nreasons ? n->reasons[0] : "");
        kjw_end(&w);
    } else {
        write_verdict(&w, n);
        if (n->code == KS_SUCCESS)
            write_nominated(&w, x, n);
    }
    kjw_end(&w);
}

static int run_match(const struct kj_val *in, struct arena *a, struct strbuf *got, struct kerr *err)
{
    CLEANUP(intern_free) struct intern *strings = intern_new();
    CLEANUP(kj_scratch_free) struct kj_scratch *scratch = kj_scratch_new(strings);
    CLEANUP(kobj_unref) struct kobj *pod = NULL;
    CLEANUP(whatif_free) struct whatif *w = NULL;
    const struct profile_config config = profile_config_default(plugins, "default-scheduler", a);
    struct whatif_result result;
    struct kerr refused = { 0 };

    w = whatif_new(&config, plugins, err);
    if (!w)
        return err->code;
    struct cluster c = { w, scratch };
    int r = add_cluster(&c, in, err);
    if (r == 0)
        r = kobj_decode(&kind_pod, kj_get(in, "pod"), scratch, &pod, err);
    if (r < 0)
        return r;
    if (whatif_explain(w, pod, 0, &result, &refused) == 0) {
        write_answer(got, w, &result);
        return 0;
    }
    struct kjw out = kjw_to(got);
    kjw_obj(&out, NULL);
    kjw_str(&out, "error", refused.text);
    kjw_end(&out);
    return 0;
}

const struct golden_runner golden_reservation[] = { { "match", run_match, NULL },
                                                    { NULL, NULL, NULL } };
