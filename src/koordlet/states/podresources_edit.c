/* podresources_edit.c - devices of annotations into the kubelet's list of pod resources.
 *
 * Only the fields named here are looked at; all others, known or not, are copied as bytes.
 */
#include "api/protocol/device.h"
#include "base/arena.h"
#include "base/vec.h"
#include "base/wire.h"
#include "koordlet/states/podresources.h"

enum { LIST_PODS = 1 };
enum { POD_NAME = 1, POD_NAMESPACE = 2, POD_CONTAINERS = 3 };
enum { CONTAINER_DEVICES = 2 };
enum { DEVICES_RESOURCE = 1, DEVICES_IDS = 2 };

struct given { /* what a pod's annotation says */
    const char *ns, *name;
    struct device_allocations devices;
};
struct devices_entry {
    struct str resource, message;
    size_t order; /* entries of one resource stay in turn */
};
struct editor {
    struct arena *arena;
    struct vec_of(struct given) given;
    struct vec_of(struct devices_entry) entries;
    struct strbuf pod, container;
};

/* ---- what we gave ---------------------------------------------------------------------------- */

static void collect_given(struct editor *e, const struct podset *pods, struct kerr *ret_bad)
{
    for (uint32_t i = 0; i < pods->n; i++) {
        const struct objmeta *m = &pods->pods[i]->obj->meta;
        struct given g = { .ns = str_or(m->ns, ""), .name = str_or(m->name, "") };
        struct kerr err;

        /* One that is over may have the name of its successor. */
        if (pod_is_terminal(npod_pod(pods->pods[i])))
            continue;
        int r = device_allocations_read(&m->annotations, e->arena, &g.devices, &err);
        if (r > 0)
            vec_push(&e->given, g);
        if (r < 0 && ret_bad->code == 0) {
            *ret_bad = err;
            kerr_wrap(ret_bad, "pod %s/%s", g.ns, g.name);
        }
    }
}

static const struct given *given_find(const struct editor *e, struct str ns, struct str name)
{
    vec_foreach(&e->given, i)
        if (str_eqz(name, e->given.items[i].name) && str_eqz(ns, e->given.items[i].ns))
            return &e->given.items[i];
    return NULL;
}

static const char *resource_of_type(const char *type)
{
    return streq(type, DEVICE_TYPE_GPU)    ? RES_NVIDIA_GPU
           : streq(type, DEVICE_TYPE_RDMA) ? RES_RDMA
                                           : "";
}

static void put_ids(struct strbuf *out, const struct device_allocation *a)
{
    if (!a->extension) {
        wire_put_bytes(out, DEVICES_IDS, str_of(a->id));
        return;
    }
    for (uint32_t i = 0; i < a->extension->vfs.n; i++)
        wire_put_bytes(out, DEVICES_IDS, str_of(a->extension->vfs.items[i].bus_id));
}

static void add_entry(struct editor *e, struct str resource, struct str message)
{
    struct devices_entry d = { resource, message, e->entries.n };
    vec_push(&e->entries, d);
}

static void add_given(struct editor *e, const struct given *g)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;

    for (uint32_t i = 0; i < g->devices.v.n; i++) {
        const struct device_type_allocations *t = &g->devices.v.items[i];
        struct str resource = str_of(resource_of_type(t->type));

        strbuf_reset(&b);
        if (resource.n > 0)
            wire_put_bytes(&b, DEVICES_RESOURCE, resource);
        for (uint32_t k = 0; k < t->devices.v.n; k++)
            put_ids(&b, &t->devices.v.items[k]);
        add_entry(e, resource,
                  (struct str){ arena_strndup(e->arena, strbuf_str(&b), b.len), b.len });
    }
}

/* ---- messages -------------------------------------------------------------------------------- */

static int resource_name(struct str devices, struct str *ret)
{
    struct wire_field f;
    int r;

    *ret = (struct str){ NULL, 0 };
    while ((r = wire_next(&devices, &f)) > 0)
        if (f.num == DEVICES_RESOURCE && f.type == WIRE_BYTES)
            *ret = f.bytes;
    return r;
}

static int by_resource(const void *a, const void *b)
{
    const struct devices_entry *x = a, *y = b;
    size_t n = MIN(x->resource.n, y->resource.n);
    int r = n > 0 ? memcmp(x->resource.p, y->resource.p, n) : 0;

    if (r == 0)
        r = (x->resource.n > y->resource.n) - (x->resource.n < y->resource.n);
    return r ? r : (x->order > y->order) - (x->order < y->order);
}

static int edit_container(struct editor *e, const struct given *g, struct str container)
{
    struct wire_field f;
    struct str resource;
    int r;

    strbuf_reset(&e->container);
    vec_clear(&e->entries);
    while ((r = wire_next(&container, &f)) > 0) {
        if (f.num != CONTAINER_DEVICES || f.type != WIRE_BYTES) {
            strbuf_appendn(&e->container, f.raw.p, f.raw.n);
            continue;
        }
        if (resource_name(f.bytes, &resource) < 0)
            return -EBADMSG;
        add_entry(e, resource, f.bytes);
    }
    if (r < 0)
        return r;
    add_given(e, g);
    if (e->entries.n > 0)
        qsort(e->entries.items, e->entries.n, sizeof *e->entries.items, by_resource);
    vec_foreach(&e->entries, i)
        wire_put_bytes(&e->container, CONTAINER_DEVICES, e->entries.items[i].message);
    return 0;
}

/* NULL: none of ours. */
static int pod_given(const struct editor *e, struct str pod, const struct given **ret)
{
    struct str name = { NULL, 0 }, ns = { NULL, 0 };
    struct wire_field f;
    int r;

    while ((r = wire_next(&pod, &f)) > 0) {
        if (f.num == POD_NAME && f.type == WIRE_BYTES)
            name = f.bytes;
        if (f.num == POD_NAMESPACE && f.type == WIRE_BYTES)
            ns = f.bytes;
    }
    *ret = r == 0 ? given_find(e, ns, name) : NULL;
    return r;
}

/* Into e->pod. The first container stands for the pod: an annotation does not tell which one. */
static int edit_pod(struct editor *e, const struct given *g, struct str pod)
{
    struct wire_field f;
    bool done = false;

    strbuf_reset(&e->pod);
    while (wire_next(&pod, &f) > 0) { /* pod_given() has seen all of it */
        if (done || f.num != POD_CONTAINERS || f.type != WIRE_BYTES) {
            strbuf_appendn(&e->pod, f.raw.p, f.raw.n);
            continue;
        }
        if (edit_container(e, g, f.bytes) < 0)
            return -EBADMSG;
        wire_put_bytes(&e->pod, POD_CONTAINERS,
                       (struct str){ e->container.data, e->container.len });
        done = true;
    }
    return 0;
}

static int edit_list(struct editor *e, struct str list, struct strbuf *out)
{
    struct wire_field f;
    int r;

    while ((r = wire_next(&list, &f)) > 0) {
        const struct given *g = NULL;

        if (f.num == LIST_PODS && f.type == WIRE_BYTES && pod_given(e, f.bytes, &g) < 0)
            return -EBADMSG;
        if (!g) {
            strbuf_appendn(out, f.raw.p, f.raw.n);
            continue;
        }
        if (edit_pod(e, g, f.bytes) < 0)
            return -EBADMSG;
        wire_put_bytes(out, LIST_PODS, (struct str){ e->pod.data, e->pod.len });
    }
    return r;
}

int podresources_edit(struct str list, const struct podset *pods, struct strbuf *out,
                      struct kerr *ret_bad, struct kerr *err)
{
    CLEANUP(arena_free) struct arena *arena = arena_new();
    struct editor e = { .arena = arena };
    size_t before = out->len;
    int r = 1;

    ret_bad->code = 0;
    collect_given(&e, pods, ret_bad);
    if (e.given.n > 0)
        r = edit_list(&e, list, out);
    if (r < 0) {
        strbuf_truncate(out, before);
        r = kerr_set(err, -EBADMSG, "the kubelet's list of pod resources is no such message");
    }
    vec_fini(&e.given);
    vec_fini(&e.entries);
    strbuf_fini(&e.pod);
    strbuf_fini(&e.container);
    return r;
}
