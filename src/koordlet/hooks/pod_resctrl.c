/* pod_resctrl.c - Resctrl: a resctrl group of a pod's own (koordlet-qos 15.8). */
#include "koordlet/facts/resctrl.h"
#include "koordlet/hooks/hooks.h"
#include "koordlet/hooks/rules.h"
#include "json/kj.h"

static bool all_set(const struct resctrl_item *items, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (items[i].value == 0)
            return false;
    return n > 0;
}

static const char *schemata_of(const struct rule_resctrl *r, const struct kj_val *config,
                               struct arena *a)
{
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    struct resctrl_item *l3 = arena_newn0(a, r->ncaches + 1, struct resctrl_item);
    struct resctrl_item *mb = arena_newn0(a, r->ncaches + 1, struct resctrl_item);

    for (uint32_t i = 0; i < r->ncaches; i++)
        l3[i].cache = mb[i].cache = r->caches[i];
    resctrl_pod_values(config, r->cbm, r->vendor, l3, mb, r->ncaches);
    if (all_set(l3, r->ncaches))
        schemata_l3_format(l3, r->ncaches, &out);
    if (all_set(mb, r->ncaches))
        schemata_mb_format(mb, r->ncaches, &out);
    return out.len > 0 ? arena_strdup(a, strbuf_str(&out)) : NULL;
}

static const char *closid_of(const struct hook_context *c)
{
    return arena_printf(c->arena, "koordlet-%s", c->uid);
}

static int run_pod(const struct hook_rules *r, struct hook_context *c, struct kerr *err)
{
    const char *text = kstrmap_get(c->annotations, ANNO_RESCTRL);
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;

    if (!text)
        return 0;
    if (kj_parse(text, strlen(text), 0, &doc, err) < 0)
        return kerr_wrap(err, ANNO_RESCTRL);
    if (!r->resctrl.known)
        return kerr_set(err, -EOPNOTSUPP, "resctrl is not mounted on this node");
    c->resctrl.closid = closid_of(c);
    c->resctrl.schemata = schemata_of(&r->resctrl, kj_root(doc), c->arena);
    return 0;
}

/* The class of a container's threads. */
static int run_container(const struct hook_rules *r, struct hook_context *c, struct kerr *err)
{
    (void)err;
    if (r->resctrl.known && kstrmap_get(c->annotations, ANNO_RESCTRL))
        c->resctrl.closid = closid_of(c);
    return 0;
}

/* The group that goes with the pod. */
static int run_remove(const struct hook_rules *r, struct hook_context *c, struct kerr *err)
{
    return run_container(r, c, err);
}

const struct hook_plugin hook_resctrl = {
    .name = "Resctrl",
    .gate = GATE_RESCTRL,
    .stages = { [HOOK_PRE_RUN_POD_SANDBOX] = run_pod,
                [HOOK_PRE_CREATE_CONTAINER] = run_container,
                [HOOK_PRE_REMOVE_POD_SANDBOX] = run_remove },
};
