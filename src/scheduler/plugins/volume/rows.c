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
    uint64_t since = r->generation;

    if (nodes->n > r->cap) {
        r->cap = nodes->n;
        r->count = xreallocarray(r->count, r->cap, sizeof *r->count);
    }
    r->generation = nodes->generation;
    if (nodes->generation - since > KS_JOURNAL) {
        for (uint32_t i = 0; i < nodes->n; i++)
            if (nodes->changed[i] > since)
                r->count[i] = count_row(r, &nodes->pods[i]);
        return;
    }
    while (since < nodes->generation) {
        uint32_t row = nodes->journal[++since % KS_JOURNAL];
        if (row < nodes->n && nodes->changed[row] == since)
            r->count[row] = count_row(r, &nodes->pods[row]);
    }
}
