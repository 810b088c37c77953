/* run_dra.c - devices for ResourceClaims, node by node. */
#include "api/node.h"
#include "base/intern.h"
#include "runners.h"
#include "scheduler/model/objects.h"
#include "scheduler/plugins/dynamicresources/allocate.h"

static int put_all(struct objects *to, const struct kind *k, const struct kj_val *list,
                   struct kj_scratch *scratch, struct kerr *err)
{
    for (size_t i = 0; i < kj_len(list); i++) {
        CLEANUP(kobj_unref) struct kobj *o = NULL;
        int r = kobj_decode(k, kj_at(list, i), scratch, &o, err);
        if (r < 0)
            return r;
        objects_put(to, o);
    }
    return 0;
}

static struct dra_gates gates_of(const struct kj_val *names)
{
    struct dra_gates g = { .admin_access = true, .prioritized_list = true };
    const struct {
        const char *name;
        bool *on;
    } table[] = {
        { "DRAPartitionableDevices", &g.partitionable },
        { "DRADeviceTaints", &g.taints },
        { "DRAConsumableCapacity", &g.consumable },
        { "DRADeviceBindingConditions", &g.binding_conditions },
    };

    for (size_t i = 0; i < kj_len(names); i++)
        for (size_t k = 0; k < ARRAY_LEN(table); k++)
            *table[k].on |= streq(kj_str_or(kj_at(names, i), ""), table[k].name);
    return g;
}

static void star(void *arg, char out[37])
{
    (void)arg;
    memcpy(out, "*", 2);
}

static void write_node(const struct plan *p, struct node_devices *nd, const struct node *node,
                       struct arena *a, struct kjw *w)
{
    static const char *const words[] = {
        [FOUND_NONE] = "cannot allocate all claims",
        [FOUND_INVALID] = "invalid resource pools were encountered",
        [FOUND_TIMEOUT] = "timed out trying to allocate devices",
    };
    const struct id_source ids = { star, NULL };
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    struct outcome o;

    node_devices_refresh(nd, node);
    enum counts counts = counts_say(p, nd, NULL);
    search_node(p, nd, NULL, a, &o);
    if (counts == COUNTS_TOO_FEW && o.found != FOUND_NONE)
        o = (struct outcome){ FOUND_ERROR, .why = "the counts are wrong" };
    if (counts == COUNTS_ENOUGH && !search_is_needed(p) && o.found != FOUND)
        o = (struct outcome){ FOUND_ERROR, .why = "the counts are not enough" };
    strbuf_append(&text, "[");
    for (uint32_t i = 0; i < p->n && o.found == FOUND; i++) {
        struct claim_allocation *got;
        if (allocation_of(p, &o, i, node, &ids, a, &got, &o.why) < 0) {
            o.found = FOUND_ERROR;
            break;
        }
        strbuf_append(&text, i ? "," : "");
        kj_encode(&claim_allocation_schema, got, &text);
    }
    strbuf_append(&text, "]");
    kjw_obj(w, node->obj.meta.name);
    if (o.found == FOUND)
        kjw_raw(w, "allocations", text.data, text.len);
    else if (o.found == FOUND_ERROR)
        kjw_str(w, "error", o.why);
    else
        kjw_str(w, "unschedulable", words[o.found]);
    kjw_end(w);
}

static void write_nodes(struct pools *in, const struct objects *objects, const struct kj_val *nodes,
                        const struct resource_claim *const *claims, uint32_t n, struct arena *a,
                        struct kjw *w)
{
    struct plan *p = NULL;
    const char *why = NULL;

    (void)plan_make(in, objects, claims, n, NULL, a, &p, &why);
    for (size_t i = 0; i < kj_len(nodes); i++) {
        const char *name = kj_str_or(kj_get(kj_get(kj_at(nodes, i), "metadata"), "name"), "");
        const struct kobj *o = objects_get(objects, &kind_node, NULL, name);
        if (p) {
            write_node(p, pools_node(in, name), node_of(o), a, w);
            continue;
        }
        kjw_obj(w, name);
        kjw_str(w, "error", why);
        kjw_end(w);
    }
}

static void hold_all(struct pools *in, const struct objects *objects)
{
    const struct kobj *o;

    for (size_t it = 0; (o = objects_next(objects, &kind_resource_claim, &it));)
        if (resource_claim_of(o)->status.allocation)
            pools_hold(in, resource_claim_of(o)->status.allocation, o->meta.name);
    for (size_t it = 0; (o = objects_next(objects, &kind_resource_slice, &it));)
        pools_put_slice(in, (struct kobj *)o);
}

int golden_dra_allocate(const struct kj_val *in, struct arena *a, struct strbuf *got,
                        struct kerr *err)
{
    CLEANUP(intern_free) struct intern *strings = intern_new();
    CLEANUP(kj_scratch_free) struct kj_scratch *scratch = kj_scratch_new(strings);
    CLEANUP(objects_free) struct objects *objects = objects_new();
    struct dra_gates gates = gates_of(kj_get(in, "gates"));
    CLEANUP(pools_free) struct pools *inv = pools_new(&gates);
    const struct kj_val *list = kj_get(in, "claims");
    const struct resource_claim **claims =
        arena_newn0(a, kj_len(list), const struct resource_claim *);
    struct kjw w = kjw_to(got);

    if (put_all(objects, &kind_node, kj_get(in, "nodes"), scratch, err) < 0 ||
        put_all(objects, &kind_device_class, kj_get(in, "deviceClasses"), scratch, err) < 0 ||
        put_all(objects, &kind_resource_slice, kj_get(in, "resourceSlices"), scratch, err) < 0 ||
        put_all(objects, &kind_resource_claim, kj_get(in, "allocatedClaims"), scratch, err) < 0 ||
        put_all(objects, &kind_resource_claim, list, scratch, err) < 0)
        return err->code;
    for (size_t i = 0; i < kj_len(list); i++) {
        const struct kj_val *meta = kj_get(kj_at(list, i), "metadata");
        claims[i] = resource_claim_of(objects_get(objects, &kind_resource_claim,
                                                  kj_str_or(kj_get(meta, "namespace"), ""),
                                                  kj_str_or(kj_get(meta, "name"), "")));
    }
    hold_all(inv, objects);
    kjw_obj(&w, NULL);
    kjw_obj(&w, "nodes");
    write_nodes(inv, objects, kj_get(in, "nodes"), claims, (uint32_t)kj_len(list), a, &w);
    kjw_end(&w);
    kjw_end(&w);
    return 0;
}

/* Quantities by value. */
bool golden_dra_same(const struct kj_val *out, const struct kj_val *got)
{
    struct qty a, b;
    struct kerr err;

    if (kj_type(out) != kj_type(got))
        return false;
    if (kj_type(out) == KJ_STR) {
        const char *x = kj_str_or(out, ""), *y = kj_str_or(got, "");
        return streq(x, y) || (qty_parse(x, strlen(x), &a, &err) == 0 &&
                               qty_parse(y, strlen(y), &b, &err) == 0 && qty_cmp(a, b) == 0);
    }
    if (kj_type(out) != KJ_OBJ && kj_type(out) != KJ_ARR)
        return kj_equal(out, got);
    if (kj_len(out) != kj_len(got))
        return false;
    struct kj_iter it = kj_iter(out);
    const struct kj_val *x;
    struct str key;
    for (size_t i = 0; kj_next(&it, &key, &x); i++) {
        const struct kj_val *y =
            kj_type(out) == KJ_ARR ? kj_at(got, i) : kj_getn(got, key.p, key.n);
        if (!y || !golden_dra_same(x, y))
            return false;
    }
    return true;
}
