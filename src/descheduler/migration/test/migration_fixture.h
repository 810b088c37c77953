/* migration_fixture.h - the MigrationController on the virtual loop, over the fake API server, with
 * objects for it, and somebody who plays the scheduler. Single quotes stand for double ones. */
#ifndef KOORD_DESCHEDULER_MIGRATION_TEST_MIGRATION_FIXTURE_H
#define KOORD_DESCHEDULER_MIGRATION_TEST_MIGRATION_FIXTURE_H
#include <stdio.h>

#include "base/ktime.h"
#include "base/strbuf.h"
#include "base/test/asserts.h"
#include "client/events.h"
#include "client/test/client_fixture.h"
#include "component/metrics.h"
#include "controllers/caches.h"
#include "descheduler/framework/plugin.h"
#include "descheduler/migration/args.h"
#include "descheduler/migration/migration.h"
#include "net/http.h"
#include "json/kj.h"

#define JOBS         "/apis/scheduling.koordinator.sh/v1alpha1/podmigrationjobs"
#define RESERVATIONS "/apis/scheduling.koordinator.sh/v1alpha1/reservations"
#define REPLICASETS  "/apis/apps/v1/namespaces/ns/replicasets"
#define DEPLOYMENTS  "/apis/apps/v1/namespaces/ns/deployments"
#define SEC          NSEC_PER_SEC
#define MINUTE       (60 * SEC)

struct migration_fixture {
    struct client_fixture client;
    struct arena *arena;
    struct migration_args *args;
    struct metrics *metrics;
    struct caches *caches;
    struct recorder *events;
    void *plugin;       /* NULL: nobody leads */
    unsigned evictions; /* requests that made a pod go */
    nsec_t evicted_at[64];
    bool no_scheduler;              /* Reservations stay as they are */
    const struct kd_placer *placer; /* NULL: there is none */
};

static inline char *mig_quoted(char *text)
{
    for (char *p = text; *p; p++)
        if (*p == '\'')
            *p = '"';
    return text;
}

/* ---- the server ------------------------------------------------------------------------------ */

static inline void mig_on_write(void *arg, const char *agent, const char *method,
                                const char *target, const struct kj_val *body)
{
    struct migration_fixture *f = arg;

    (void)agent, (void)body;
    if ((streq(method, "POST") && str_ends(target, "/eviction")) ||
        (streq(method, "DELETE") && strstr(target, "/pods/"))) {
        if (f->evictions < ARRAY_LEN(f->evicted_at))
            f->evicted_at[f->evictions] = loop_mono(f->client.loop);
        f->evictions++;
    }
}

static inline void mig_put(struct migration_fixture *f, const char *collection, const char *name,
                           const char *fmt, ...) PRINTF(4, 5);
static inline void mig_put(struct migration_fixture *f, const char *collection, const char *name,
                           const char *fmt, ...)
{
    char text[4096];
    va_list ap;

    va_start(ap, fmt);
    int n = vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    assert_that(n, <, (int)sizeof text);
    fake_put(f->client.fake, collection, name, mig_quoted(text));
}

static inline UNUSED void mig_patch(struct migration_fixture *f, const char *collection,
                                    const char *name, const char *text)
{
    CLEANUP(mem_free) char *copy = xstrdup(text);
    fake_patch(f->client.fake, collection, name, mig_quoted(copy));
}

/* A text of a stored object, "" when absent. */
static inline UNUSED const char *mig_text(const struct migration_fixture *f, const char *collection,
                                          const char *name, const char *path)
{
    static char texts[4][1024];
    static unsigned at;
    char *text = texts[at++ % 4];
    const char *json = fake_find(f->client.fake, collection, name);
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;

    text[0] = '\0';
    if (json && kj_parse(json, strlen(json), 0, &doc, NULL) == 0)
        (void)snprintf(text, 1024, "%s", kj_str_or(kj_path(kj_root(doc), path), ""));
    return text;
}

static inline UNUSED const char *mig_job(const struct migration_fixture *f, const char *name,
                                         const char *path)
{
    return mig_text(f, JOBS, name, path);
}

/* A member of a condition of a job. */
static inline UNUSED const char *mig_condition(const struct migration_fixture *f, const char *job,
                                               const char *type, const char *member)
{
    static char text[1024];
    const char *json = fake_find(f->client.fake, JOBS, job);
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;

    text[0] = '\0';
    if (!json || kj_parse(json, strlen(json), 0, &doc, NULL) < 0)
        return text;
    const struct kj_val *l = kj_path(kj_root(doc), "status.conditions");
    for (size_t i = 0; i < kj_len(l); i++)
        if (streq(kj_str_or(kj_get(kj_at(l, i), "type"), ""), type))
            (void)snprintf(text, sizeof text, "%s", kj_str_or(kj_get(kj_at(l, i), member), ""));
    return text;
}

static inline UNUSED const char *mig_annotation(const struct migration_fixture *f, const char *job,
                                                const char *key)
{
    static char text[256];
    const char *json = fake_find(f->client.fake, JOBS, job);
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;

    text[0] = '\0';
    if (json && kj_parse(json, strlen(json), 0, &doc, NULL) == 0)
        (void)snprintf(text, sizeof text, "%s",
                       kj_str_or(kj_get(kj_path(kj_root(doc), "metadata.annotations"), key), ""));
    return text;
}

static inline bool mig_has(const struct migration_fixture *f, const char *collection,
                           const char *name)
{
    return fake_find(f->client.fake, collection, name) != NULL;
}

/* ---- objects --------------------------------------------------------------------------------- */

static inline UNUSED void mig_replicaset(struct migration_fixture *f, const char *name,
                                         int replicas)
{
    mig_put(f, REPLICASETS, name,
            "{'spec':{'replicas':%d,'selector':{'matchLabels':{'app':'%s'}}}}", replicas, name);
}

/* A pod of that ReplicaSet, ready on the node; more: members of metadata. */
static inline UNUSED void mig_pod_with(struct migration_fixture *f, const char *name,
                                       const char *set, const char *node, const char *more)
{
    mig_put(
        f, PODS, name,
        "{'metadata':{'labels':{'app':'%s'},%s'ownerReferences':[{'apiVersion':'apps/v1',"
        "'kind':'ReplicaSet','name':'%s','uid':'%s','controller':true}]},'spec':{'nodeName':'%s',"
        "'schedulerName':'koord-scheduler','containers':[{'name':'c','resources':{'requests':{"
        "'cpu':'1'}}}]},'status':{'phase':'Running','conditions':[{'type':'Ready','status':"
        "'True'},{'type':'PodScheduled','status':'True'}]}}",
        set, more, set, mig_text(f, REPLICASETS, set, "metadata.uid"), node);
}
static inline UNUSED void mig_pod(struct migration_fixture *f, const char *name, const char *set,
                                  const char *node)
{
    mig_pod_with(f, name, set, node, "");
}

/* A job for a pod of ns; more: members of spec, as "'mode':'EvictDirectly',". */
static inline UNUSED void mig_new_job(struct migration_fixture *f, const char *name,
                                      const char *pod, const char *more)
{
    char created[KTIME_TEXT_MAX];

    ktime_format(loop_wall(f->client.loop), created);
    mig_put(f, JOBS, name,
            "{'metadata':{'creationTimestamp':'%s','generation':1},'spec':{%s'podRef':{"
            "'namespace':'ns','name':'%s'}}}",
            created, more, pod);
}

/* ---- who plays the scheduler ----------------------------------------------------------------- */

static inline void mig_place(struct migration_fixture *f, const char *reservation, const char *node)
{
    CLEANUP(mem_free)
    char *text = xasprintf(
        "{'status':{'phase':'Available','nodeName':'%s','conditions':[{'type':'Scheduled','status':"
        "'True','reason':'Scheduled'},{'type':'Ready','status':'True','reason':'Available'}]}}",
        node);
    fake_patch(f->client.fake, RESERVATIONS, reservation, mig_quoted(text));
}

struct mig_names {
    char items[32][64];
    unsigned n;
};
static inline void mig_add_name(void *arg, const char *ns, const char *name, const char *version)
{
    struct mig_names *l = arg;

    (void)ns, (void)version;
    if (l->n < ARRAY_LEN(l->items))
        (void)snprintf(l->items[l->n++], sizeof l->items[0], "%s", name);
}

/* Reservations get node n9; a pod that has gone comes back as NAME-new in its Reservation. */
static inline void mig_schedule(struct migration_fixture *f)
{
    struct mig_names l = { .n = 0 };

    fake_each(f->client.fake, "reservations", mig_add_name, &l);
    for (unsigned i = 0; i < l.n; i++) {
        const char *name = l.items[i], *phase = mig_text(f, RESERVATIONS, name, "status.phase");
        const char *pod = mig_text(f, RESERVATIONS, name, "spec.template.metadata.name");
        if (!*phase || streq(phase, "Pending")) {
            mig_place(f, name, "n9");
        } else if (streq(phase, "Available") && !mig_has(f, PODS, pod)) {
            CLEANUP(mem_free) char *fresh = xasprintf("%s-new", pod);
            mig_put(f, PODS, fresh,
                    "{'spec':{'nodeName':'n9','containers':[]},'status':{'phase':'Running',"
                    "'conditions':[{'type':'Ready','status':'True'}]}}");
            CLEANUP(mem_free)
            char *text = xasprintf("{'status':{'phase':'Succeeded','currentOwners':[{'namespace':"
                                   "'ns','name':'%s','uid':'%s'}]}}",
                                   fresh, mig_text(f, PODS, fresh, "metadata.uid"));
            fake_patch(f->client.fake, RESERVATIONS, name, mig_quoted(text));
        }
    }
}

/* ---- the controller -------------------------------------------------------------------------- */

static inline struct migration_args *mig_args(struct arena *a, const char *json, struct kerr *err)
{
    struct migration_args *args = arena_new0(a, struct migration_args);
    CLEANUP(mem_free) char *text = xstrdup(json);

    mig_quoted(text);
    if (kj_decode_text(&migration_args_schema, text, strlen(text), KJ_STRICT, a, args, err) < 0)
        return NULL;
    kj_default(&migration_args_schema, a, args);
    if (kj_validate(&migration_args_schema, args, err) < 0 ||
        migration_kd_args.check(args, a, err) < 0)
        return NULL;
    return args;
}

static inline UNUSED void mig_prepare(struct migration_fixture *f, uint64_t seed, const char *args)
{
    struct kerr err = { 0 };

    *f = (struct migration_fixture){ .arena = arena_new() };
    client_fixture_init(&f->client, seed);
    fake_on_write(f->client.fake, mig_on_write, f);
    f->args = mig_args(f->arena, args, &err);
    if (!f->args)
        fail_msg("%s", err.text);
}

static inline UNUSED void mig_lead(struct migration_fixture *f)
{
    struct kerr err = { 0 };

    f->metrics = metrics_new();
    f->caches = caches_new(f->client.kube);
    f->events = recorder_new(f->client.kube, &(struct recorder_opts){ .component = "test" });
    const struct kd_env env = { .loop = f->client.loop,
                                .kube = f->client.kube,
                                .caches = f->caches,
                                .events = f->events,
                                .metrics = f->metrics,
                                .placer = f->placer,
                                .profile = "test" };
    assert_int_equal(plugin_migrationcontroller.create(&env, f->args, &f->plugin, &err), 0);
    caches_start(f->caches);
    for (int i = 0; i < 600 && !caches_synced(f->caches); i++)
        loop_advance(f->client.loop, SEC);
    plugin_migrationcontroller.start(f->plugin);
}

static inline UNUSED void mig_resign(struct migration_fixture *f)
{
    if (!f->plugin)
        return;
    plugin_migrationcontroller.stop(f->plugin);
    plugin_migrationcontroller.destroy(f->plugin);
    f->plugin = NULL;
    f->events = recorder_free(f->events);
    f->caches = caches_free(f->caches);
    f->metrics = metrics_free(f->metrics);
}

static inline UNUSED void mig_end_p(struct migration_fixture *f)
{
    mig_resign(f);
    client_fixture_fini(&f->client);
    arena_free(f->arena);
}

/* Time passes, and the scheduler looks around every 100 ms. */
static inline UNUSED void mig_run(struct migration_fixture *f, nsec_t by)
{
    for (nsec_t t = 0; t < by; t += SEC / 10) {
        loop_advance(f->client.loop, MIN(SEC / 10, by - t));
        if (!f->no_scheduler)
            mig_schedule(f);
    }
}

/* Until the job has ended, but no longer. */
static inline UNUSED void mig_until_over(struct migration_fixture *f, const char *job, nsec_t most)
{
    for (nsec_t t = 0; t < most; t += SEC / 10) {
        const char *phase = mig_job(f, job, "status.phase");
        if (streq(phase, "Succeeded") || streq(phase, "Failed"))
            return;
        mig_run(f, SEC / 10);
    }
}

/* Events of all objects, "Reason: text" by line, in the order of their writing. */
struct mig_events {
    const struct migration_fixture *f;
    struct {
        unsigned long long version;
        char text[512];
    } items[64];
    unsigned n;
};
static inline void mig_add_event(void *arg, const char *ns, const char *name, const char *version)
{
    struct mig_events *e = arg;
    CLEANUP(mem_free) char *collection = xasprintf("/api/v1/namespaces/%s/events", ns);

    if (e->n == ARRAY_LEN(e->items))
        return;
    e->items[e->n].version = strtoull(version, NULL, 10);
    (void)snprintf(e->items[e->n++].text, sizeof e->items[0].text, "%s: %s",
                   mig_text(e->f, collection, name, "reason"),
                   mig_text(e->f, collection, name, "message"));
}
static inline UNUSED void mig_events(struct migration_fixture *f, struct strbuf *out)
{
    struct mig_events *e = xnew0(struct mig_events);

    loop_advance(f->client.loop, SEC);
    e->f = f;
    fake_each(f->client.fake, "events", mig_add_event, e);
    strbuf_reset(out);
    for (unsigned done = 0; done < e->n; done++) {
        unsigned first = 0;
        for (unsigned i = 1; i < e->n; i++)
            if (e->items[i].version < e->items[first].version)
                first = i;
        strbuf_appendf(out, "%s\n", e->items[first].text);
        e->items[first].version = ~0ull;
    }
    free(e);
}

/* Four replicas, two of them on n1, none of them limited but by the defaults. */
static inline UNUSED void mig_four_pods(struct migration_fixture *f)
{
    mig_replicaset(f, "web", 4);
    mig_pod(f, "web-0", "web", "n1");
    mig_pod(f, "web-1", "web", "n1");
    mig_pod(f, "web-2", "web", "n2");
    mig_pod(f, "web-3", "web", "n3");
}
#endif
