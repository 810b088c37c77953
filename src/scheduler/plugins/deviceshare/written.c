/* written.c - what is written on a pod, or on a Reservation, that gets devices (sched-device 5). */
#include "api/pod.h"
#include "api/protocol/keys.h"
#include "api/protocol/reservation.h"
#include "base/arena.h"
#include "base/strbuf.h"
#include "scheduler/model/objects.h"
#include "scheduler/plugins/deviceshare/deviceshare.h"
#include "scheduler/plugins/deviceshare/vendor.h"

/* KS_SKIP: it holds none. */
static enum ks_code write_allocated(struct device_plugin *d, struct ks_bind *b, struct arena *a,
                                    const struct holding **ret, struct ks_texts *why)
{
    const struct holding *x = holdings_find(d->holdings, b->pod->meta.uid);

    *ret = x;
    if (!x)
        return KS_SKIP;
    struct kobj *o = objects_get(d->env.objects, &kind_device, NULL, b->node);
    if (!o) {
        ks_texts_addf(why, "devices.scheduling.koordinator.sh \"%s\" not found", b->node);
        return KS_ERROR;
    }
    const char *text = held_format(x->items, x->n, device_of(o), a);
    ks_bind_annotate(b, ANNO_DEVICE_ALLOCATED, text);
    holdings_written(d->holdings, b->pod->meta.uid, text);
    return KS_SUCCESS;
}

enum ks_code devices_pre_bind(void *self, struct ks_bind *b, struct ks_texts *why)
{
    struct device_plugin *d = self;
    const struct holding *x;

    arena_reset(d->scratch);
    enum ks_code code = write_allocated(d, b, d->scratch, &x, why);
    return code == KS_SUCCESS && d->adapts ? vendor_adapt(d, b, x, d->scratch, why) : code;
}

/* ---- reservations ---------------------------------------------------------------------------- */

/* What the devices come down to, over all of them. */
static reslist sum_of(const struct holding *x, struct arena *a)
{
    reslist all = { 0 };

    for (uint32_t k = 0; k < DEVICE_KINDS; k++) {
        struct amounts sum = { 0 };
        for (uint32_t i = 0; i < x->n; i++)
            if (x->items[i].kind == k)
                amounts_add(&sum, &x->items[i].amounts);
        reslist l = amounts_list((enum device_kind)k, &sum, a);
        for (uint32_t i = 0; i < l.n; i++)
            all = reslist_with(&all, l.items[i].name, l.items[i].value, a);
    }
    return all;
}

static void write_resize(struct ks_bind *b, const struct holding *x, struct arena *a)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    struct reservation_resize resize = { 0 };
    struct kerr err = { 0 };
    reslist sum = sum_of(x, a);

    if (reservation_resize_read(&b->pod->meta.annotations, a, &resize, &err) < 0)
        resize = (struct reservation_resize){ 0 };
    for (uint32_t i = 0; i < sum.n; i++)
        resize.resources =
            reslist_with(&resize.resources, sum.items[i].name, sum.items[i].value, a);
    reservation_resize_encode(&resize, &text);
    ks_bind_annotate(b, ANNO_RESERVATION_RESIZE, strbuf_str(&text));
}

enum ks_code devices_pre_bind_reservation(void *self, struct ks_bind *b, struct ks_texts *why)
{
    struct device_plugin *d = self;
    const struct holding *x;

    arena_reset(d->scratch);
    enum ks_code code = write_allocated(d, b, d->scratch, &x, why);
    if (code == KS_SUCCESS && d->resizes)
        write_resize(b, x, d->scratch);
    return code;
}
