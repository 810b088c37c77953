/* resourceclaim_metrics.c - how many claims there are and how many were made: the metrics of
 * kube-controller-manager's controller (sched-dra 8). */
#include "cluster/resourceclaim.h"
#include "component/metrics.h"

static const struct metric_desc creates_desc = {
    .name = "resourceclaim_controller_creates_total",
    .help = "Number of ResourceClaims creation requests, by status and admin access",
    .type = METRIC_COUNTER,
    .labels = { "status", "admin_access" },
};
static const struct metric_desc claims_desc = {
    .name = "resourceclaim_controller_resource_claims",
    .help = "Number of ResourceClaims, by allocation, admin access and source: "
            "resource_claim_template, extended_resource, or empty for those that somebody made",
    .type = METRIC_GAUGE,
    .labels = { "allocated", "admin_access", "source" },
};

struct claim_metrics {
    struct metrics *all;
    struct metric *creates, *claims;
    struct informer *informer;
};

static const char *text_of(bool b)
{
    return b ? "true" : "false";
}

/* Sub-requests have no such access. */
static bool has_admin_access(const struct claim_spec *s)
{
    for (uint32_t i = 0; i < s->devices.requests.n; i++) {
        const struct device_ask *k = s->devices.requests.items[i].exactly;
        if (k && k->admin_access.set && k->admin_access.v)
            return true;
    }
    return false;
}

static const char *source_of(const struct kobj *o)
{
    if (streq(meta_annotation(o, CLAIM_EXTENDED_ANNOTATION), "true"))
        return "extended_resource";
    return *meta_annotation(o, CLAIM_POD_ENTRY_ANNOTATION) ? "resource_claim_template" : "";
}

static void on_scrape(void *arg)
{
    const struct claim_metrics *m = arg;
    const struct kobj *o;

    metric_clear(m->claims);
    for (size_t it = 0; (o = informer_next(m->informer, &it));) {
        const struct resource_claim *c = resource_claim_of(o);
        gauge_add(metric_gauge(m->claims,
                               METRIC_VALUES(text_of(c->status.allocation != NULL),
                                             text_of(has_admin_access(&c->spec)), source_of(o))),
                  1);
    }
}

struct claim_metrics *claim_metrics_new(struct metrics *all, struct informer *claims)
{
    struct claim_metrics *m = xnew0(struct claim_metrics);

    *m = (struct claim_metrics){ all, metrics_add(all, &creates_desc),
                                 metrics_add(all, &claims_desc), claims };
    metrics_on_scrape(all, on_scrape, m);
    return m;
}

struct claim_metrics *claim_metrics_free(struct claim_metrics *m)
{
    if (m)
        metrics_off_scrape(m->all, on_scrape, m);
    free(m);
    return NULL;
}

/* The template's spec is text: it is read for the label alone. */
static bool asks_for_admin(const char *spec)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    const struct kj_val *r;

    if (!spec || kj_parse(spec, strlen(spec), KJ_RAW_NUMBERS, &doc, NULL) < 0)
        return false;
    for (struct kj_iter it = kj_iter(kj_path(kj_root(doc), "devices.requests"));
         kj_next(&it, NULL, &r);)
        if (kj_bool(kj_path(r, "exactly.adminAccess"), false))
            return true;
    return false;
}

void claim_metrics_created(struct claim_metrics *m, const char *spec, bool success)
{
    if (m)
        counter_inc(metric_counter(m->creates, METRIC_VALUES(success ? "success" : "failure",
                                                             text_of(asks_for_admin(spec)))));
}
