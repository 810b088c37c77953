/* metrics.c - how many devices there are, and how many are taken. */
#include "scheduler/plugins/dynamicresources/metrics.h"

#include "component/metrics.h"
#include "scheduler/plugins/dynamicresources/pools.h"

static const struct metric_desc devices_desc = {
    .name = "koord_scheduler_dra_devices",
    .help = "Devices that ResourceSlices publish, by driver and whether somebody has them",
    .type = METRIC_GAUGE,
    .labels = { "driver", "state" },
};

struct dra_metrics {
    struct pools *pools;
    struct metrics *all;
    struct metric *devices;
};

static void add(const struct dra_metrics *m, const char *driver, const char *state, uint32_t n)
{
    gauge_add(metric_gauge(m->devices, METRIC_VALUES(driver, state)), n);
}

/* Incomplete and invalid pools give nothing: neither free nor allocated. */
static bool gives(const struct pool *p)
{
    return p->complete && !p->invalid && !(p->node && p->repeats);
}

static void on_scrape(void *arg)
{
    const struct dra_metrics *m = arg;

    metric_clear(m->devices);
    map_foreach(&m->pools->by_key, e) {
        struct pool *p = e->value;
        uint32_t taken = 0;
        pool_refresh(p);
        if (!gives(p))
            continue;
        for (uint32_t i = 0; i < p->ndevices; i++)
            taken += p->devices[i].holding || cardlink_holder(NULL, p, &p->devices[i]);
        add(m, p->driver, "allocated", taken);
        add(m, p->driver, "free", p->ndevices - taken);
    }
}

struct dra_metrics *dra_metrics_new(struct pools *pools, struct metrics *all)
{
    struct dra_metrics *m = xnew0(struct dra_metrics);

    *m = (struct dra_metrics){ pools, all, metrics_add(all, &devices_desc) };
    metrics_on_scrape(all, on_scrape, m);
    return m;
}

struct dra_metrics *dra_metrics_free(struct dra_metrics *m)
{
    if (m)
        metrics_off_scrape(m->all, on_scrape, m);
    free(m);
    return NULL;
}
