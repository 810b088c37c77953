/* show.c - the devices of a row beside a verdict, for koordctl explain: what is free on each, who
 * has the rest, and what each lacks for the pod. */
#include "api/pod.h"
#include "base/arena.h"
#include "scheduler/plugins/deviceshare/deviceshare.h"
#include "json/kj.h"

static void write_amounts(const char *key, enum device_kind kind, const struct amounts *x,
                          struct kjw *w)
{
    kjw_obj(w, key);
    for (uint32_t i = 0; i < DEVICE_RESOURCES; i++)
        if (amounts_has(x, i))
            kjw_i64(w, device_resource_name(kind, i), x->v[i]);
    kjw_end(w);
}

/* What the pod wants of each device and this one does not have. */
static void write_lacks(const struct amounts *want, enum device_kind kind,
                        const struct amounts *left, struct kjw *w)
{
    struct amounts lacks = { 0 };

    for (uint32_t i = 0; i < DEVICE_RESOURCES; i++)
        if (amounts_has(want, i) && want->v[i] > left->v[i])
            amounts_set(&lacks, i, want->v[i] - left->v[i]);
    if (lacks.has)
        write_amounts("lacks", kind, &lacks, w);
}

static void write_holders(const struct holdings *h, const struct ks_podlist *pods,
                          const struct devrow *r, uint32_t at, struct arena *a, struct kjw *w)
{
    const struct card *c = &r->inv->card[at];
    const char *claim = devrow_claim(r, h, at);
    bool open = claim != NULL;

    if (claim) {
        kjw_arr(w, "holders");
        kjw_str(w, NULL, arena_printf(a, "%s (ResourceClaim)", claim));
    }

    for (uint32_t i = 0; i < pods->n; i++) {
        const struct holding *x = holdings_find(h, pods->items[i]->obj.meta.uid);
        for (uint32_t k = 0; x && k < x->n; k++) {
            if (x->items[k].kind != c->kind || x->items[k].minor != c->minor)
                continue;
            if (!open)
                kjw_arr(w, "holders");
            open = true;
            kjw_str(w, NULL, arena_printf(a, "%s/%s", x->pod->meta.ns, x->pod->meta.name));
        }
    }
    if (open)
        kjw_end(w);
}

void devices_show(void *self, const struct ks_cycle *c, const struct ks_pod *p, uint32_t row,
                  struct kjw *w)
{
    const struct devrow *r = ks_row(c->rows, row);
    const struct wish *wish = c->state;
    struct device_plugin *d = self;
    CLEANUP(arena_free) struct arena *a = NULL;
    int64_t count;

    (void)p;
    if (!wish || !r->inv)
        return;
    a = arena_new();
    const struct device_try t = { .row = r, .wish = wish };
    kjw_arr(w, "devices");
    for (uint32_t i = 0; i < inventory_cards(r->inv); i++) {
        const struct card *card = &r->inv->card[i];
        enum device_kind kind = (enum device_kind)card->kind;
        struct amounts left = devrow_free(r, i), each;
        if (!wish->of[kind].asked || devices_wanted(&t, kind, &count, &each, NULL) != KS_SUCCESS)
            continue;
        kjw_obj(w, NULL);
        kjw_str(w, "type", device_kind_name(kind));
        kjw_i64(w, "minor", card->minor);
        kjw_bool(w, "healthy", card->total.has != 0);
        write_amounts("free", kind, &left, w);
        write_lacks(&each, kind, &left, w);
        write_holders(d->holdings, &c->nodes->pods[row], r, i, a, w);
        kjw_end(w);
    }
    kjw_end(w);
}
