/* demo_load.c - what people do in the cluster of koordctl demo, the same in both runs.
 *
 * Services request five sixths of the cores and use a fifth of them, as services do. Reports
 * are batch jobs, as many as the cluster takes. Old services on one node use far more than they
 * request. In the morning somebody starts jobs that take whatever CPU they find; in the evening a
 * sale needs more replicas at once.
 */
#include <stdio.h>

#include "ctl/demo.h"

enum { JOB_PODS = 8 }; /* of a batch job */

struct service {
    const char *name, *load;
    unsigned per_10; /* replicas per ten nodes */
    const char *cpu, *memory;
};
static const struct service services[] = {
    { "web", "wave:low=100m,high=600m,phase=2h,memory=1Gi", 32, "2", "2Gi" },
    { "api", "wave:low=200m,high=1500m,phase=3h,memory=1Gi", 10, "1", "2Gi" },
    { "search", "wave:low=100m,high=600m,phase=8h,memory=2Gi", 15, "2", "4Gi" },
    { "db", "constant:cpu=200m,memory=3Gi", 15, "2", "4Gi" },
};

static unsigned scaled(const struct demo *d, unsigned per_10)
{
    return MAX((per_10 * d->plan.nodes + 5) / 10, 1u);
}

/* ---- objects ----------------------------------------------------------------------------------- */

static void create_namespace(struct demo *d, const char *name)
{
    char body[160];

    (void)snprintf(body, sizeof body,
                   "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"%s\"}}",
                   name);
    demo_create(d, body);
}

static void create_priority(struct demo *d, const char *name, int value, const char *preemption)
{
    char body[256];

    (void)snprintf(body, sizeof body,
                   "{\"apiVersion\":\"scheduling.k8s.io/v1\",\"kind\":\"PriorityClass\","
                   "\"metadata\":{\"name\":\"%s\"},\"value\":%d,\"preemptionPolicy\":\"%s\"}",
                   name, value, preemption);
    demo_create(d, body);
}

/* With koord: what makes ordinary pods prod and batch ones, without a change to any manifest. */
static void create_profile(struct demo *d, const char *tier, const char *qos, const char *class)
{
    char body[512];

    (void)snprintf(body, sizeof body,
                   "{\"apiVersion\":\"config.koordinator.sh/v1alpha1\",\"kind\":"
                   "\"ClusterColocationProfile\",\"metadata\":{\"name\":\"%s\"},\"spec\":{"
                   "\"selector\":{\"matchLabels\":{\"tier\":\"%s\"}},\"qosClass\":\"%s\","
                   "\"priorityClassName\":\"%s\",\"schedulerName\":\"koord-scheduler\"}}",
                   tier, tier, qos, class);
    demo_create(d, body);
}

/* Fewer reports and fewer writes: the day passes faster, and loads change slowly. */
static void configure(struct demo *d)
{
    demo_patch_config(d, "{\"data\":{\"colocation-config\":\"{\\\"enable\\\":true,"
                         "\\\"metricReportIntervalSeconds\\\":120,"
                         "\\\"updateTimeThresholdSeconds\\\":900}\"}}");
}

struct podtext { /* of a template */
    const char *name, *tier, *node, *priority, *restart;
    const char *load, *work; /* annotations; NULL: none */
    const char *cpu, *memory;
    bool limited;
};

static void add_annotations(struct strbuf *out, const struct podtext *p)
{
    strbuf_append(out, "\"annotations\":{");
    if (p->load)
        strbuf_appendf(out, "\"sim.koordinator.sh/load\":\"%s\"%s", p->load, p->work ? "," : "");
    if (p->work)
        strbuf_appendf(out, "\"sim.koordinator.sh/work\":\"%s\"", p->work);
    strbuf_append(out, "}");
}

static void add_template(struct strbuf *out, const struct podtext *p)
{
    strbuf_appendf(out, "\"template\":{\"metadata\":{\"labels\":{\"app\":\"%s\",\"tier\":\"%s\"},",
                   p->name, p->tier);
    add_annotations(out, p);
    strbuf_appendf(out, "},\"spec\":{\"priorityClassName\":\"%s\",\"restartPolicy\":\"%s\",",
                   p->priority, p->restart);
    if (p->node)
        strbuf_appendf(out, "\"nodeSelector\":{\"kubernetes.io/hostname\":\"%s\"},", p->node);
    strbuf_appendf(out,
                   "\"containers\":[{\"name\":\"main\",\"image\":\"%s:1\",\"resources\":{"
                   "\"requests\":{\"cpu\":\"%s\",\"memory\":\"%s\"}",
                   p->name, p->cpu, p->memory);
    if (p->limited)
        strbuf_appendf(out, ",\"limits\":{\"cpu\":\"%s\",\"memory\":\"%s\"}", p->cpu, p->memory);
    strbuf_append(out, "}}]}}");
}

static void create_service(struct demo *d, const struct service *s, unsigned replicas,
                           const char *node)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;

    strbuf_appendf(&body,
                   "{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"metadata\":{\"name\":"
                   "\"%s\",\"namespace\":\"shop\"},\"spec\":{\"replicas\":%u,\"selector\":{"
                   "\"matchLabels\":{\"app\":\"%s\"}},",
                   s->name, replicas, s->name);
    add_template(&body, &(struct podtext){ .name = s->name,
                                           .tier = "service",
                                           .node = node,
                                           .priority = "services",
                                           .restart = "Always",
                                           .load = s->load,
                                           .cpu = s->cpu,
                                           .memory = s->memory });
    strbuf_append(&body, "}}");
    demo_create(d, strbuf_str(&body));
}

struct job {
    const char *work, *cpu, *memory;
    unsigned pods;
    const char *load; /* NULL: as much as it requests, which is its limit too */
};

static void create_job(struct demo *d, const char *name, const struct job *j)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;

    strbuf_appendf(&body,
                   "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"%s\","
                   "\"namespace\":\"batch\"},\"spec\":{\"completions\":%u,\"parallelism\":%u,"
                   "\"backoffLimit\":1000,",
                   name, j->pods, j->pods);
    add_template(&body, &(struct podtext){ .name = name,
                                           .tier = "batch",
                                           .priority = "jobs",
                                           .restart = "Never",
                                           .load = j->load,
                                           .work = j->work,
                                           .cpu = j->cpu,
                                           .memory = j->memory,
                                           .limited = !j->load });
    strbuf_append(&body, "}}");
    demo_create(d, strbuf_str(&body));
}

/* ---- batch jobs -------------------------------------------------------------------------------- */

static void submit(struct demo *d)
{
    static const struct job report = { "10800", "2", "2Gi", JOB_PODS, NULL };
    struct demo_job j = { .left = report.pods };

    (void)snprintf(j.name, sizeof j.name, "report-%u", d->next_job++);
    vec_push(&d->jobs, j);
    create_job(d, j.name, &report);
}

/* There is always more work than room, but nobody queues up a week of it. */
static void submit_more(struct demo *d)
{
    unsigned jobs = MAX(d->plan.nodes / 100, 1u);

    if (demo_waiting(d) < jobs * JOB_PODS)
        for (unsigned i = 0; i < jobs; i++)
            submit(d);
}

void demo_load_succeeded(struct demo *d, const char *job)
{
    vec_foreach(&d->jobs, i) {
        struct demo_job *j = &d->jobs.items[i];
        if (!streq(j->name, job))
            continue;
        if (--j->left > 0)
            return;
        demo_delete_job(d, job);
        vec_remove(&d->jobs, i);
        return;
    }
}

/* ---- the day ----------------------------------------------------------------------------------- */

void demo_load_begin(struct demo *d)
{
    static const struct service old = { "legacy", "wave:low=1900m,high=2600m,phase=2h,memory=2Gi",
                                        0, "250m", "2Gi" };

    create_namespace(d, "shop");
    create_namespace(d, "batch");
    create_priority(d, "services", 5000, "PreemptLowerPriority");
    create_priority(d, "jobs", 100, "Never");
    if (d->koord) {
        configure(d);
        create_profile(d, "service", "LS", "koord-prod");
        create_profile(d, "batch", "BE", "koord-batch");
    }
    create_service(d, &old, 5, DEMO_HOT_NODE);
}

static void start_noisy(struct demo *d)
{
    static const struct job noisy = { "150000", "1", "2Gi", 1, "constant:cpu=14,memory=2Gi" };
    unsigned n = MAX(d->plan.nodes / 20, 1u);

    demo_say(d,
             "Somebody starts %u training job%s of one requested core, and %s fourteen: "
             "noisy neighbours.",
             n, n == 1 ? "" : "s", n == 1 ? "it takes" : "each takes");
    for (unsigned i = 0; i < n; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "training-%u", i);
        create_job(d, name, &noisy);
    }
}

static void start_sale(struct demo *d)
{
    static const struct service checkout = { "checkout", "constant:cpu=1,memory=1Gi", 3, "2",
                                             "2Gi" };
    unsigned n = scaled(d, checkout.per_10);

    demo_say(d, "A sale begins: the service checkout needs %u replicas at once.", n);
    create_service(d, &checkout, n, NULL);
}

void demo_load_minute(struct demo *d)
{
    if (d->minute == 5) {
        demo_say(d, "Services are deployed: they request five sixths of all cores.");
        for (size_t i = 0; i < ARRAY_LEN(services); i++)
            create_service(d, &services[i], scaled(d, services[i].per_10), NULL);
    }
    if (d->minute == demo_at(d, 10))
        start_noisy(d);
    if (d->minute == demo_at(d, 20))
        start_sale(d);
    if (d->minute == demo_at(d, 22)) {
        demo_say(d, "The sale is over.");
        demo_scale(d, "checkout", 0);
    }
    if (d->minute >= 10)
        submit_more(d);
}
