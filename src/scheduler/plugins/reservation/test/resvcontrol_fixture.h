/* resvcontrol_fixture.h - the Reservation controller on the virtual loop, over the fake API server,
 * with objects for it. Single quotes stand for double ones. */
#ifndef KOORD_SCHEDULER_RESERVATION_TEST_RESVCONTROL_FIXTURE_H
#define KOORD_SCHEDULER_RESERVATION_TEST_RESVCONTROL_FIXTURE_H
#include <stdio.h>

#include "base/ktime.h"
#include "base/strbuf.h"
#include "base/test/asserts.h"
#include "client/events.h"
#include "client/test/client_fixture.h"
#include "component/metrics.h"
#include "controllers/controller.h"
#include "net/http.h"
#include "scheduler/plugins/reservation/controller/control.h"
#include "json/kj.h"

#define RESERVATIONS "/apis/scheduling.koordinator.sh/v1alpha1/reservations"
#define NODES        "/api/v1/nodes"
#define SEC          NSEC_PER_SEC
#define HOUR         (3600 * SEC)

struct resv_fixture {
    struct client_fixture client;
    struct caches *caches;
    struct recorder *events;
    struct controllers *controllers;
    struct metrics *metrics;
    struct reservation_args args;
    struct resv_control *c;
    unsigned writes; /* of statuses */
};

static inline void resv_count_write(void *arg, const char *agent, const char *method,
                                    const char *target, const struct kj_val *body)
{
    struct resv_fixture *f = arg;

    (void)agent, (void)method, (void)body;
    f->writes += strstr(target, "/status") != NULL;
}

static inline void resv_prepare(struct resv_fixture *f, uint64_t seed)
{
    *f = (struct resv_fixture){
        .args = { .gc_duration = 86400, .gc_interval = 60, .resync = 60, .workers = { true, 1 } }
    };
    client_fixture_init(&f->client, seed);
    fake_on_write(f->client.fake, resv_count_write, f);
    fake_put(f->client.fake, NODES, "n1", "{}");
}

/* Between prepare and this: what is there at the start. */
static inline void resv_lead(struct resv_fixture *f, bool clean)
{
    f->caches = caches_new(f->client.kube);
    f->events = recorder_new(f->client.kube, &(struct recorder_opts){ .component = "test" });
    f->metrics = metrics_new();
    const struct controller_env env = { f->client.loop, f->client.kube, f->caches, f->events };
    f->controllers = controllers_new(&env);
    f->c =
        resv_control_new(f->controllers, &env,
                         &(struct resv_control_opts){
                             .args = &f->args, .metrics = f->metrics, .clean_allocated = clean });
    caches_start(f->caches);
    controllers_start(f->controllers);
    loop_advance(f->client.loop, SEC);
}

/* Another replica leads. */
static inline void resv_resign(struct resv_fixture *f)
{
    controllers_stop(f->controllers);
    f->c = resv_control_free(f->c);
    f->controllers = controllers_free(f->controllers);
    f->events = recorder_free(f->events);
    f->caches = caches_free(f->caches);
    f->metrics = metrics_free(f->metrics);
}

static inline UNUSED void resv_end_p(struct resv_fixture *f)
{
    if (f->c)
        resv_resign(f);
    client_fixture_fini(&f->client);
}

static inline char *resv_quoted(char *text)
{
    for (char *p = text; *p; p++)
        if (*p == '\'')
            *p = '"';
    return text;
}

/* spec: members beside template and owners, as "'ttl':'1m',"; status: members. age in ns. */
static inline UNUSED void resv_put(struct resv_fixture *f, const char *name, nsec_t age,
                                   const char *spec, const char *status)
{
    char created[KTIME_TEXT_MAX];

    ktime_format(loop_wall(f->client.loop) - age, created);
    CLEANUP(mem_free)
    char *body = xasprintf(
        "{'metadata':{'creationTimestamp':'%s','generation':1},'spec':{%s'template':{'spec':{"
        "'containers':[{'name':'c'}]}},'owners':[{'labelSelector':{'matchLabels':{'a':'b'}}}]},"
        "'status':{%s}}",
        created, spec, status);
    fake_put(f->client.fake, RESERVATIONS, name, resv_quoted(body));
}

#define AVAILABLE                                                                                  \
    "'phase':'Available','nodeName':'n1','allocatable':{'cpu':'10','memory':'10Gi'},"              \
    "'conditions':[{'type':'Scheduled','status':'True','reason':'Scheduled','lastProbeTime':"      \
    "'2025-11-15T09:00:00Z','lastTransitionTime':'2025-11-15T09:00:00Z'},{'type':'Ready','status'" \
    ":'True','reason':'Available','lastProbeTime':'2025-11-15T09:00:00Z','lastTransitionTime':"    \
    "'2025-11-15T09:00:00Z'}]"

/* A text of a stored object, "" when absent. */
static inline UNUSED const char *resv_text(const struct resv_fixture *f, const char *collection,
                                           const char *name, const char *path)
{
    static char text[1024];
    const char *json = fake_find(f->client.fake, collection, name);
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;

    text[0] = '\0';
    if (json && kj_parse(json, strlen(json), 0, &doc, NULL) == 0)
        (void)snprintf(text, sizeof text, "%s", kj_str_or(kj_path(kj_root(doc), path), ""));
    return text;
}

static inline UNUSED const char *resv_get(const struct resv_fixture *f, const char *name,
                                          const char *path)
{
    return resv_text(f, RESERVATIONS, name, path);
}

/* A member of one of its conditions. */
static inline UNUSED const char *resv_condition(const struct resv_fixture *f, const char *name,
                                                const char *type, const char *member)
{
    static char text[1024];
    const char *json = fake_find(f->client.fake, RESERVATIONS, name);
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;

    text[0] = '\0';
    if (!json || kj_parse(json, strlen(json), 0, &doc, NULL) < 0)
        return text;
    const struct kj_val *l = kj_path(kj_root(doc), "status.conditions");
    for (size_t i = 0; l && i < kj_len(l); i++)
        if (streq(kj_str_or(kj_get(kj_at(l, i), "type"), ""), type))
            (void)snprintf(text, sizeof text, "%s", kj_str_or(kj_get(kj_at(l, i), member), ""));
    return text;
}

/* A pod on a node that uses the Reservation; more: further members of status. */
static inline UNUSED void resv_owner(struct resv_fixture *f, const char *pod, const char *of,
                                     const char *cpu, const char *more)
{
    char uid[64];

    (void)snprintf(uid, sizeof uid, "%s", resv_get(f, of, "metadata.uid"));
    CLEANUP(mem_free)
    char *body = xasprintf(
        "{'metadata':{'annotations':{'scheduling.koordinator.sh/reservation-allocated':"
        "'{\\'name\\':\\'%s\\',\\'uid\\':\\'%s\\'}'}},'spec':{'nodeName':'n1','containers':[{"
        "'name':'c','resources':{'requests':{'cpu':'%s','memory':'2Gi','ephemeral-storage':"
        "'10Gi'}}}]},'status':{%s}}",
        of, uid, cpu, more);
    fake_put(f->client.fake, PODS, pod, resv_quoted(body));
}

/* How many owners the status names. */
static inline UNUSED size_t resv_owners(const struct resv_fixture *f, const char *name)
{
    const char *json = fake_find(f->client.fake, RESERVATIONS, name);
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;

    if (!json || kj_parse(json, strlen(json), 0, &doc, NULL) < 0)
        return 0;
    const struct kj_val *l = kj_path(kj_root(doc), "status.currentOwners");
    return l ? kj_len(l) : 0;
}

/* Texts of all events, with their reasons. */
struct resv_events {
    const struct resv_fixture *f;
    struct strbuf *out;
};
static inline void resv_add_event(void *arg, const char *ns, const char *name, const char *version)
{
    struct resv_events *e = arg;
    CLEANUP(mem_free) char *collection = xasprintf("/api/v1/namespaces/%s/events", ns);

    (void)version;
    strbuf_appendf(e->out, "%s: ", resv_text(e->f, collection, name, "reason"));
    strbuf_appendf(e->out, "%s\n", resv_text(e->f, collection, name, "message"));
}
static inline UNUSED void resv_events(const struct resv_fixture *f, struct strbuf *out)
{
    strbuf_reset(out);
    fake_each(f->client.fake, "events", resv_add_event, &(struct resv_events){ f, out });
}
#endif
