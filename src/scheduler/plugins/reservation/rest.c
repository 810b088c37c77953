/* rest.c - what the REST paths of the plugin answer (sched-reservation 14). */
#include "api/pod.h"
#include "api/podresources.h"
#include "base/strbuf.h"
#include "scheduler/plugins/reservation/cache.h"
#include "json/kj.h"

static void write_quantities(struct kjw *w, const char *key, const struct ks_amounts *a)
{
    kjw_obj(w, key);
    for (uint32_t i = 0; i < a->n; i++) {
        char text[QTY_TEXT_MAX];
        qty_print(resource_from_count(a->items[i].name, a->items[i].count), text);
        kjw_str(w, a->items[i].name, text);
    }
    kjw_end(w);
}

/* As Go's scheduler has it. */
static void write_resource(struct kjw *w, const char *key, const struct ks_amounts *a)
{
    static const char *const fixed[][2] = { { RES_CPU, "MilliCPU" },
                                            { RES_MEMORY, "Memory" },
                                            { RES_EPHEMERAL_STORAGE, "EphemeralStorage" },
                                            { "pods", "AllowedPodNumber" } };
    kjw_obj(w, key);
    for (size_t i = 0; i < ARRAY_LEN(fixed); i++)
        kjw_i64(w, fixed[i][1], ks_amounts_get(a, fixed[i][0]));
    kjw_obj(w, "ScalarResources");
    for (uint32_t i = 0; i < a->n; i++) {
        bool scalar = true;
        for (size_t k = 0; k < ARRAY_LEN(fixed); k++)
            scalar = scalar && !streq(fixed[k][0], a->items[i].name);
        if (scalar)
            kjw_i64(w, a->items[i].name, a->items[i].count);
    }
    kjw_end(w);
    kjw_end(w);
}

/* A list: upstream's answer has a map with a struct for key, which no JSON can hold. */
static void write_ports(struct kjw *w, const char *key, const struct pod *p)
{
    const containerlist *lists[] = { &p->spec->init_containers, &p->spec->containers };

    kjw_arr(w, key);
    for (size_t l = 0; l < ARRAY_LEN(lists); l++)
        for (uint32_t i = 0; i < lists[l]->n; i++)
            for (uint32_t k = 0; k < lists[l]->items[i].ports.n; k++) {
                const struct container_port *x = &lists[l]->items[i].ports.items[k];
                if (x->host_port <= 0)
                    continue;
                kjw_obj(w, NULL);
                kjw_str(w, "ip", str_empty(x->host_ip) ? "0.0.0.0" : x->host_ip);
                kjw_str(w, "protocol", x->protocol ? protocol_names[x->protocol] : "TCP");
                kjw_i64(w, "port", x->host_port);
                kjw_end(w);
            }
    kjw_end(w);
}

static void write_owner(struct kjw *w, const struct ks_owner *o)
{
    char uid[KUID_TEXT_MAX];

    kuid_format(o->uid, uid, sizeof uid);
    kjw_obj(w, NULL);
    kjw_str(w, "Namespace", o->ns);
    kjw_str(w, "Name", o->name);
    kjw_str(w, "UID", uid);
    write_quantities(w, "Requests", &o->requests);
    kjw_end(w);
}

static void write_owners_spec(struct kjw *w, const struct resv *r)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;

    if (r->is_pod)
        return;
    const reservation_ownerlist *l = &reservation_of(r->view.object)->spec.owners;
    kjw_arr(w, "owners");
    for (uint32_t i = 0; i < l->n; i++) {
        strbuf_reset(&text);
        kj_encode(&reservation_owner_schema, &l->items[i], &text);
        kjw_raw(w, NULL, text.data, text.len);
    }
    kjw_end(w);
}

static void write_one(struct kjw *w, const struct resv *r)
{
    struct ks_request left[64];
    struct ks_amounts available = { left, 0 };

    for (uint32_t i = 0; i < r->view.allocatable.n && i < ARRAY_LEN(left); i++) {
        left[i] = r->view.allocatable.items[i];
        left[i].count = resv_available(r, left[i].name);
        available.n++;
    }
    kjw_obj(w, NULL);
    kjw_str(w, "name", r->view.name);
    if (r->is_pod)
        kjw_str(w, "namespace", r->view.object->meta.ns);
    kjw_str(w, "uid", r->uid_text);
    kjw_str(w, "kind", r->is_pod ? "Pod" : "Reservation");
    kjw_bool(w, "available", r->available);
    kjw_bool(w, "allocateOnce", r->view.allocate_once);
    write_quantities(w, "allocatable", &r->view.allocatable);
    write_quantities(w, "reserved", &r->view.kept);
    write_quantities(w, "allocated", &r->view.allocated);
    if (r->view.pod)
        write_ports(w, "allocatablePorts", pod_of(r->view.pod));
    write_resource(w, "availableResource", &available);
    write_resource(w, "allocatedResource", &r->view.allocated);
    write_owners_spec(w, r);
    kjw_str(w, "allocatePolicy", allocate_policy_names[r->view.policy]);
    kjw_arr(w, "assignedPods");
    for (uint32_t i = 0; i < r->view.nowners; i++)
        write_owner(w, r->view.owners[i]);
    kjw_end(w);
    kjw_end(w);
}

static int get_node(void *service, const struct ks_get *g, struct kjw *w, struct kerr *err)
{
    const struct resv_node *n = reservations_on(service, g->params[0]);

    (void)err;
    kjw_obj(w, NULL);
    if (n) {
        kjw_arr(w, "items");
        vec_foreach(&n->items, i)
            write_one(w, n->items.items[i]);
        kjw_end(w);
    }
    kjw_end(w);
    return 0;
}

/* ---- the selector index ---------------------------------------------------------------------- */

/* Owners are found by an index of their own, so the one that args describe narrows nothing further:
 * the answer says what it would hold. */
static bool is_prefixed(const kstrlist *prefixes, const char *key, const char **ret)
{
    for (uint32_t i = 0; i < prefixes->n; i++)
        if (*prefixes->items[i] && str_starts(key, prefixes->items[i])) {
            *ret = prefixes->items[i];
            return true;
        }
    return false;
}

static bool is_listed(const kstrlist *l, const char *key)
{
    for (uint32_t i = 0; i < l->n; i++)
        if (streq(l->items[i], key))
            return true;
    return false;
}

static int64_t count_key(const struct reservations *c, const char *key)
{
    int64_t n = 0;
    const struct resv *r;

    for (size_t it = 0; (r = reservations_next(c, &it));)
        n += r->on && !r->is_pod && kstrmap_get(&r->view.object->meta.labels, key);
    return n;
}

static int64_t count_prefix(const struct reservations *c, const kstrlist *all, const char *prefix)
{
    int64_t n = 0;
    const struct resv *r;
    const char *first;

    for (size_t it = 0; (r = reservations_next(c, &it));) {
        bool found = false;
        for (uint32_t i = 0; r->on && !r->is_pod && i < r->view.object->meta.labels.n; i++)
            found = found || (is_prefixed(all, r->view.object->meta.labels.items[i].key, &first) &&
                              streq(first, prefix));
        n += found;
    }
    return n;
}

static int64_t count_indexed(const struct reservations *c, const struct selector_index *x)
{
    int64_t n = 0;
    const struct resv *r;
    const char *unused;

    for (size_t it = 0; (r = reservations_next(c, &it));) {
        bool found = false;
        for (uint32_t i = 0; r->on && !r->is_pod && i < r->view.object->meta.labels.n; i++) {
            const char *key = r->view.object->meta.labels.items[i].key;
            found = found || is_listed(&x->keys, key) || is_prefixed(&x->prefixes, key, &unused);
        }
        n += found;
    }
    return n;
}

static void write_list(struct kjw *w, const char *key, const kstrlist *l)
{
    kjw_arr(w, key);
    for (uint32_t i = 0; i < l->n; i++)
        kjw_str(w, NULL, l->items[i]);
    kjw_end(w);
}

static int get_index(void *service, const struct ks_get *g, struct kjw *w, struct kerr *err)
{
    const struct reservations *c = service;
    const struct selector_index none = { 0 }, *x = c->args->index ? c->args->index : &none;

    (void)err, (void)g;
    kjw_obj(w, NULL);
    kjw_bool(w, "enabled", x->enabled && x->keys.n + x->prefixes.n > 0);
    write_list(w, "prefixes", &x->prefixes);
    write_list(w, "keys", &x->keys);
    kjw_i64(w, "indexedReservations", x->enabled ? count_indexed(c, x) : 0);
    kjw_obj(w, "byPrefix");
    for (uint32_t i = 0; x->enabled && i < x->prefixes.n; i++)
        kjw_i64(w, x->prefixes.items[i], count_prefix(c, &x->prefixes, x->prefixes.items[i]));
    kjw_end(w);
    kjw_obj(w, "byKey");
    for (uint32_t i = 0; x->enabled && i < x->keys.n; i++)
        kjw_i64(w, x->keys.items[i], count_key(c, x->keys.items[i]));
    kjw_end(w);
    kjw_end(w);
    return 0;
}

const struct ks_path reservations_paths[] = {
    { "nodeReservations/:nodeName", get_node },
    { "reservationSelectorIndex", get_index },
    { NULL, NULL },
};
