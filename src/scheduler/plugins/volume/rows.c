/* rows.c - how many volumes of a sort pods have. */
#include "scheduler/plugins/volume/rows.h"

int64_t volumes_of_pod(const struct pod *p, volume_sort_fn counts)
{
    int64_t n = 0;

    for (uint32_t i = 0; i < p->volumes.n; i++)
        n += counts(&p->volumes.items[i]);
    return n;
}

int64_t volumes_of_pods(const struct ks_podlist *pods, volume_sort_fn counts)
{
    int64_t n = 0;

    for (uint32_t i = 0; i < pods->n; i++)
        n += volumes_of_pod(pods->items[i], counts);
    return n;
}
