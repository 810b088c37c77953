/* rows.c - how many volumes of a sort the pods of each row have. */
#include "scheduler/plugins/volume/rows.h"

void volrows_fini(struct volrows *r)
{
    free(r->count);
    r->count = NULL;
}

static uint32_t count_row(const struct volrows *r, const struct ks_podlist *pods)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < pods->n; i++) {
        const volumelist *v = &pods->items[i]->volumes;
        for (uint32_t k = 0; k < v->n; k++)
            n += r->counts(&v->items[k]);
    }
    return n;
}

void volrows_refresh(struct volrows *r, const struct ks_nodes *nodes)
{
    struct ks_changed it = ks_changed_since(&nodes->changes, nodes->n, r->generation);

    if (nodes->n > r->cap) {
        r->cap = nodes->n;
        r->count = xreallocarray(r->count, r->cap, sizeof *r->count);
    }
    for (uint32_t row; (row = ks_changed_next(&it)) != KS_NO_ROW;)
        r->count[row] = count_row(r, &nodes->pods[row]);
    r->generation = nodes->changes.generation;
}
