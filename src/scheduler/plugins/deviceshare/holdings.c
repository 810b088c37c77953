/* holdings.c - which devices pods hold (sched-device 3). */
#include "scheduler/plugins/deviceshare/holdings.h"

#include "api/node.h"
#include "api/pod.h"
#include "api/protocol/keys.h"
#include "api/protocol/reservation.h"
#include "base/arena.h"
#include "base/klog.h"
#include "base/strbuf.h"
#include "scheduler/plugins/cards/cards.h"
#include "scheduler/plugins/deviceshare/rest.h"
#include "scheduler/plugins/deviceshare/templates.h"

const struct holding *holdings_find(const struct holdings *h, struct kuid uid)
{
    return uidmap_get(&h->by_uid, uid);
}

static void touch(const struct holdings *h, const char *node)
{
    if (h->env.nodes)
        ks_touch_row(h->env.nodes, node);
}

static void holding_free(struct holding *x)
{
    kobj_unref(x->pod);
    free(x->node);
    free(x->reservation);
    free(x);
}

/* ---- cards that DynamicResources knows too --------------------------------------------------- */

void device_ids(const struct device_info *d, struct card_ids *ret)
{
    card_ids_add(ret, d->id);
    if (d->topology)
        card_ids_add(ret, d->topology->bus_id);
    for (uint32_t i = 0; i < d->vf_groups.n; i++)
        for (uint32_t k = 0; k < d->vf_groups.items[i].vfs.n; k++)
            card_ids_add(ret, d->vf_groups.items[i].vfs.items[k].bus_id);
}

static const struct device_info *find_info(const struct device *d, const struct held *item)
{
    for (uint32_t i = 0; d && i < d->devices.n; i++) {
        const struct device_info *info = &d->devices.items[i];
        if (info->minor.set && info->minor.v == item->minor &&
            device_kind_of(info->type) == item->kind)
            return info;
    }
    return NULL;
}

/* Cards that the Device does not list any more stay what they were. */
static void link_holding(struct holdings *h, struct holding *x, const struct device *d)
{
    CLEANUP(card_ids_fini) struct card_ids ids = { 0 };
    struct card_hold *old = x->cards;
    char key[KOBJ_KEY_MAX];

    for (uint32_t i = 0; i < x->n; i++) {
        const struct device_info *info = find_info(d, &x->items[i]);
        if (info)
            device_ids(info, &ids);
        else if (old)
            return;
    }
    if (ids.text.len == 0 || card_hold_is(old, x->node, &ids))
        return;
    kobj_key(x->pod, key, sizeof key);
    x->cards = cards_hold(h->cards, CARDS_OF_DEVICES, x->node, &ids, key);
    cards_give(h->cards, old);
}

static bool same_ids(const struct device *a, const struct device *b)
{
    CLEANUP(card_ids_fini) struct card_ids x = { 0 }, y = { 0 };

    for (uint32_t i = 0; i < a->devices.n; i++)
        device_ids(&a->devices.items[i], &x);
    for (uint32_t i = 0; i < b->devices.n; i++)
        device_ids(&b->devices.items[i], &y);
    return x.text.len == y.text.len &&
           memcmp(strbuf_str(&x.text), strbuf_str(&y.text), x.text.len) == 0;
}

static void on_device(void *arg, struct kobj *before, struct kobj *now)
{
    struct holdings *h = arg;
    struct holding *x;

    if (!now || (before && same_ids(device_of(before), device_of(now))))
        return;
    for (size_t it = 0; (x = uidmap_next(&h->by_uid, &it));)
        if (streq(x->node, now->meta.name))
            link_holding(h, x, device_of(now));
}

static void on_cards(void *arg, const char *node)
{
    touch(arg, node);
}

static void on_cards_free(void *arg)
{
    const struct holdings *h = arg;

    ks_wake(&h->env, "DeviceShare", DEVICE_WAITS_FOR_CARDS);
    ks_wake(&h->env, "DeviceShare", DEVICE_WAITS_FOR_TEMPLATES);
}

void holdings_link(struct holdings *h, struct cards *cards)
{
    struct holding *x;
    bool gone;

    if (h->cards || !h->env.objects)
        return;
    h->cards = cards;
    cards_listen(cards, CARDS_OF_DEVICES, on_cards, h);
    if (h->env.scheduler)
        cards_listen_wake(cards, CARDS_OF_DEVICES, on_cards_free, h);
    h->on_device = (struct objects_listener){ .kind = &kind_device, .fn = on_device, .arg = h };
    objects_listen(h->env.objects, &h->on_device);
    for (size_t it = 0; (x = uidmap_next(&h->by_uid, &it));)
        link_holding(h, x, holdings_device(h, x->node, &gone));
}

static void holdings_unlink(struct holdings *h)
{
    struct holding *x;

    if (!h->cards)
        return;
    objects_unlisten(h->env.objects, &h->on_device);
    cards_listen(h->cards, CARDS_OF_DEVICES, NULL, NULL);
    cards_listen_wake(h->cards, CARDS_OF_DEVICES, NULL, NULL);
    for (size_t it = 0; (x = uidmap_next(&h->by_uid, &it));)
        cards_give(h->cards, take(x->cards));
}

/* ---- holdings -------------------------------------------------------------------------------- */

static void drop(struct holdings *h, struct holding *x)
{
    uidmap_remove(&h->by_uid, x->uid);
    if (x->cards)
        cards_give(h->cards, x->cards);
    touch(h, x->node);
    holding_free(x);
}

static void put(struct holdings *h, const struct pod *p, const char *node, struct holding *x)
{
    struct holding *was = uidmap_get(&h->by_uid, p->obj.meta.uid);
    bool gone;

    x->uid = p->obj.meta.uid;
    x->pod = kobj_ref((struct kobj *)&p->obj);
    x->node = xstrdup(node);
    if (was)
        drop(h, was);
    uidmap_put(&h->by_uid, x);
    touch(h, node);
    if (h->cards)
        link_holding(h, x, holdings_device(h, node, &gone));
}

/* ---- items ----------------------------------------------------------------------------------- */

static size_t text_size(const char *s)
{
    return s ? strlen(s) + 1 : 0;
}

static const char *text_put(char **at, const char *s)
{
    char *to = *at;

    if (!s)
        return NULL;
    memcpy(to, s, strlen(s) + 1);
    *at += strlen(s) + 1;
    return to;
}

/* The items, their virtual functions and all texts in one block behind the struct. */
static struct holding *holding_make(const struct held *items, uint32_t n)
{
    size_t nvfs = 0, texts = 0;

    for (uint32_t i = 0; i < n; i++) {
        nvfs += items[i].nvfs;
        texts += text_size(items[i].gpu_template);
        for (uint32_t k = 0; k < items[i].nvfs; k++)
            texts += text_size(items[i].vfs[k].bus_id);
    }
    struct holding *x =
        xcalloc(1, sizeof *x + n * sizeof(struct held) + nvfs * sizeof(struct device_vf) + texts);
    struct held *to = (struct held *)(x + 1);
    struct device_vf *vf = (struct device_vf *)(to + n);
    char *text = (char *)(vf + nvfs);
    x->items = to;
    x->n = n;
    for (uint32_t i = 0; i < n; i++) {
        to[i] = items[i];
        to[i].gpu_template = text_put(&text, items[i].gpu_template);
        to[i].vfs = vf;
        for (uint32_t k = 0; k < items[i].nvfs; k++, vf++)
            *vf = (struct device_vf){ items[i].vfs[k].minor,
                                      text_put(&text, items[i].vfs[k].bus_id) };
    }
    return x;
}

static void read_device(enum device_kind kind, const struct device_allocation *from,
                        struct held *to)
{
    const struct device_allocation_extension *more = from->extension;

    *to = (struct held){ .amounts = amounts_of(kind, &from->resources, NULL),
                         .minor = from->minor,
                         .kind = (uint8_t)kind };
    if (!more)
        return;
    to->vfs = more->vfs.items;
    to->nvfs = (uint16_t)MIN(more->vfs.n, (uint32_t)UINT16_MAX);
    to->gpu_template = str_empty(more->gpu_template) ? NULL : more->gpu_template;
}

uint32_t held_of(const struct device_allocations *from, struct arena *a, const struct held **ret)
{
    uint32_t n = 0, at = 0;

    for (uint32_t t = 0; t < from->v.n; t++)
        n += from->v.items[t].devices.v.n;
    struct held *items = arena_newn0(a, n + 1, struct held);
    for (uint32_t t = 0; t < from->v.n; t++) {
        int kind = device_kind_of(from->v.items[t].type);
        for (uint32_t i = 0; kind >= 0 && i < from->v.items[t].devices.v.n; i++)
            read_device((enum device_kind)kind, &from->v.items[t].devices.v.items[i], &items[at++]);
    }
    *ret = items;
    return at;
}

/* ---- what an annotation says ----------------------------------------------------------------- */

/* NULL: the pod holds nothing, or says so in a way that nobody understands. */
static struct holding *holding_of(struct holdings *h, const struct pod *p)
{
    struct device_allocations d;
    const struct held *items;
    struct kerr err = { 0 };

    arena_reset(h->scratch);
    int r = device_allocations_read(&p->obj.meta.annotations, h->scratch, &d, &err);
    if (r < 0)
        KLOG_W("Pod holds no devices: its annotation does not parse", KV_S("err", err.text),
               KV_S("namespace", p->obj.meta.ns), KV_S("pod", p->obj.meta.name),
               KV_S("annotation", ANNO_DEVICE_ALLOCATED));
    uint32_t n = r > 0 ? held_of(&d, h->scratch, &items) : 0;
    return n ? holding_make(items, n) : NULL;
}

/* Its annotation names the reservation by UID. */
static char *reservation_of_pod(const struct holdings *h, const struct pod *p)
{
    struct reservation_allocated of;
    struct kerr err;

    if (reservation_allocated_read(&p->obj.meta.annotations, h->scratch, &of, &err) <= 0 ||
        str_empty(of.uid))
        return NULL;
    return xstrdup(of.uid);
}

/* ---- pods ------------------------------------------------------------------------------------ */

static void read_pod(struct holdings *h, const struct pod *p)
{
    struct holding *was = uidmap_get(&h->by_uid, p->obj.meta.uid);
    struct holding *x = holding_of(h, p);

    if (x)
        x->reservation = reservation_of_pod(h, p);
    if (x)
        put(h, p, p->node_name, x);
    else if (was)
        drop(h, was);
}

/* Does the pod say what reserve() gave it? Then it is confirmed, and its row stays as it is. */
static bool confirm(struct holdings *h, const struct pod *p)
{
    struct holding *x = uidmap_get(&h->by_uid, p->obj.meta.uid);
    const char *text = kstrmap_get(&p->obj.meta.annotations, ANNO_DEVICE_ALLOCATED);

    if (!x || !x->reserved || !text || x->text != hash_bytes(text, strlen(text)) ||
        !streq(x->node, p->node_name))
        return false;
    arena_reset(h->scratch);
    CLEANUP(mem_free) char *of = reservation_of_pod(h, p);
    if (!streq(str_or(of, ""), str_or(x->reservation, "")))
        return false;
    uidmap_remove(&h->by_uid, x->uid);
    kobj_unref(x->pod);
    x->pod = kobj_ref((struct kobj *)&p->obj);
    x->uid = p->obj.meta.uid;
    x->reserved = false;
    uidmap_put(&h->by_uid, x);
    return true;
}

static void on_placed(void *service, const struct pod *before, const struct pod *now)
{
    (void)before;
    if (!confirm(service, now))
        read_pod(service, now);
}

static bool differ(const struct pod *a, const struct pod *b, const char *key)
{
    return !streq(str_or(kstrmap_get(&a->obj.meta.annotations, key), ""),
                  str_or(kstrmap_get(&b->obj.meta.annotations, key), ""));
}

static void on_changed(void *service, const struct pod *before, const struct pod *now)
{
    if (!before || differ(before, now, ANNO_DEVICE_ALLOCATED) ||
        differ(before, now, ANNO_RESERVATION_ALLOCATED))
        read_pod(service, now);
}

static void on_gone(void *service, const struct pod *last)
{
    struct holdings *h = service;
    struct holding *x = uidmap_get(&h->by_uid, last->obj.meta.uid);

    if (x)
        drop(h, x);
}

static const struct ks_pod_handler holdings_pods = {
    .placed = on_placed,
    .changed = on_changed,
    .gone = on_gone,
};

void holdings_reserve(struct holdings *h, const struct pod *p, const char *node,
                      const struct ks_reservation *of, const struct held *items, uint32_t n)
{
    struct holding *x = holding_make(items, n);
    char uid[KUID_TEXT_MAX];

    if (of) {
        kuid_format(of->uid, uid, sizeof uid);
        x->reservation = xstrdup(uid);
    }
    x->reserved = true;
    put(h, p, node, x);
}

void holdings_release(struct holdings *h, struct kuid uid)
{
    struct holding *x = uidmap_get(&h->by_uid, uid);

    if (x && x->reserved)
        drop(h, x);
}

void holdings_written(struct holdings *h, struct kuid uid, const char *text)
{
    struct holding *x = uidmap_get(&h->by_uid, uid);

    if (x)
        x->text = hash_bytes(text, strlen(text));
}

/* ---- Devices --------------------------------------------------------------------------------- */

const struct device *holdings_device(struct holdings *h, const char *node, bool *ret_gone)
{
    struct kobj *o = objects_get(h->env.objects, &kind_device, NULL, node);
    struct kobj *last = map_getz(&h->devices, node);

    *ret_gone = !o;
    if (!o || o == last)
        return last ? device_of(last) : NULL;
    map_putz(&h->devices, o->meta.name, kobj_ref(o)); /* the name lives as long as the object */
    kobj_unref(last);
    return device_of(o);
}

static void on_node(void *service, const struct node *before, const struct node *now)
{
    struct holdings *h = service;

    if (!now)
        kobj_unref(map_removez(&h->devices, before->obj.meta.name));
}

/* ---- the annotation -------------------------------------------------------------------------- */

static const char *id_of(const struct device *d, const struct held *item)
{
    const struct device_info *info = find_info(d, item);
    return info ? info->id : NULL;
}

static void format_item(const struct held *from, const struct device *d,
                        struct device_allocation *to, struct arena *a)
{
    *to = (struct device_allocation){
        .minor = from->minor,
        .resources = amounts_list((enum device_kind)from->kind, &from->amounts, a),
        .id = id_of(d, from),
    };
    if (!from->nvfs && !from->gpu_template)
        return;
    to->extension = arena_new0(a, struct device_allocation_extension);
    to->extension->gpu_template = from->gpu_template;
    to->extension->vfs.items = (struct device_vf *)from->vfs;
    to->extension->vfs.n = from->nvfs;
}

struct device_allocations held_allocations(const struct held *items, uint32_t n,
                                           const struct device *d, struct arena *a)
{
    static const enum device_kind by_name[] = { DEVICE_FPGA, DEVICE_GPU, DEVICE_RDMA };
    struct device_allocations all = { 0 };
    struct device_allocation *to = arena_newn0(a, n + 1, struct device_allocation);

    all.v.items = arena_newn0(a, DEVICE_KINDS, struct device_type_allocations);
    for (size_t k = 0; k < ARRAY_LEN(by_name); k++) {
        struct device_type_allocations *t = &all.v.items[all.v.n];
        t->type = device_kind_name(by_name[k]);
        t->devices.v.items = to;
        for (uint32_t i = 0; i < n; i++)
            if (items[i].kind == by_name[k])
                format_item(&items[i], d, to + t->devices.v.n++, a);
        to += t->devices.v.n;
        all.v.n += t->devices.v.n > 0;
    }
    return all;
}

const char *held_format(const struct held *items, uint32_t n, const struct device *d,
                        struct arena *a)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    struct device_allocations all = held_allocations(items, n, d, a);

    device_allocations_encode(&all, &b);
    return arena_strdup(a, strbuf_str(&b));
}

/* ---- the service ----------------------------------------------------------------------------- */

static int holdings_create(const struct ks_env *env, const void *args, void **ret, struct kerr *err)
{
    struct holdings *h = xnew0(struct holdings);

    (void)args, (void)err;
    h->env = *env;
    h->scratch = arena_new();
    device_gauges_start(h);
    *ret = h;
    return 0;
}

static void holdings_destroy(void *service)
{
    struct holdings *h = service;
    struct holding *x;

    device_gauges_stop(h);
    holdings_unlink(h);
    for (size_t it = 0; (x = uidmap_next(&h->by_uid, &it));)
        holding_free(x);
    uidmap_fini(&h->by_uid);
    map_foreach(&h->devices, e)
        kobj_unref(e->value);
    map_fini(&h->devices);
    arena_free(h->scratch);
    free(h);
}

const struct ks_service holdings_service = {
    .name = "DeviceShare",
    .create = holdings_create,
    .destroy = holdings_destroy,
    .pods = &holdings_pods,
    .node = on_node,
    .paths = device_paths,
};
