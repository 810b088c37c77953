/* fixture_manager.h - a manager on the virtual loop, over the fake API server. */
#ifndef KOORD_MANAGER_TEST_FIXTURE_MANAGER_H
#define KOORD_MANAGER_TEST_FIXTURE_MANAGER_H
#include <stdio.h>

#include "base/ktime.h"
#include "base/strbuf.h"
#include "client/test/client_fixture.h"
#include "manager/manager.h"
#include "json/kj.h"

#define NODES      "/api/v1/nodes"
#define METRICS    "/apis/slo.koordinator.sh/v1alpha1/nodemetrics"
#define SLOS       "/apis/slo.koordinator.sh/v1alpha1/nodeslos"
#define TOPOLOGIES "/apis/topology.node.k8s.io/v1alpha1/noderesourcetopologies"
#define DEVICES    "/apis/scheduling.koordinator.sh/v1alpha1/devices"
#define CONFIGMAPS "/api/v1/namespaces/koordinator-system/configmaps"
#define CONFIG     "slo-controller-config"
#define SECONDS(n) ((n)*NSEC_PER_SEC)

struct fixture {
    struct client_fixture r;
    struct manager *m;
    struct strbuf writes; /* "PATCH /api/v1/nodes/n {...};" of everything but events and leases */
    unsigned nwrites, events;
    char last_event[512];
};

static inline void fixture_on_write(void *arg, const char *agent, const char *method,
                                    const char *target, const struct kj_val *body)
{
    struct fixture *f = arg;

    (void)agent;
    if (strstr(target, "/events")) {
        f->events++;
        (void)snprintf(f->last_event, sizeof f->last_event, "%s %s %s: %s",
                       kj_str_or(kj_path(body, "type"), ""),
                       kj_str_or(kj_path(body, "involvedObject.kind"), ""),
                       kj_str_or(kj_path(body, "reason"), ""),
                       kj_str_or(kj_path(body, "message"), ""));
        return;
    }
    f->nwrites++;
    strbuf_appendf(&f->writes, "%s %.*s ", method, (int)strcspn(target, "?"), target);
    if (body)
        kj_write(body, 0, &f->writes);
    strbuf_appendc(&f->writes, ';');
}

/* Not started: manager_watch() and manager_lead() are the test's. */
static inline void fixture_init(struct fixture *f, const struct manager_opts *o)
{
    *f = (struct fixture){ 0 };
    client_fixture_init(&f->r, 7);
    f->m = manager_new(f->r.loop, f->r.kube, o ? o : &(struct manager_opts){ 0 });
    fake_on_write(f->r.fake, fixture_on_write, f);
}

static inline void fixture_fini(struct fixture *f)
{
    f->m = manager_free(f->m);
    strbuf_fini(&f->writes);
    client_fixture_fini(&f->r);
}
static inline UNUSED void fixture_fini_p(struct fixture *f)
{
    fixture_fini(f);
}

static inline void fixture_run(struct fixture *f, nsec_t by)
{
    client_fixture_run(&f->r, by);
}

static inline UNUSED void fixture_start(struct fixture *f)
{
    manager_watch(f->m);
    manager_lead(f->m);
    fixture_run(f, SECONDS(5));
}

static inline UNUSED void fixture_reset(struct fixture *f)
{
    strbuf_reset(&f->writes);
    f->nwrites = f->events = 0;
}

/* One key of the ConfigMap, the others are absent. */
static inline UNUSED void fixture_config(struct fixture *f, const char *key, const char *value)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    struct kjw w = kjw_to(&body);

    kjw_obj(&w, NULL);
    kjw_obj(&w, "data");
    kjw_str(&w, key, value);
    kjw_end(&w);
    kjw_end(&w);
    fake_put(f->r.fake, CONFIGMAPS, CONFIG, strbuf_str(&body));
}

#define PLAIN_NODE                                                                              \
    "{\"status\":{\"capacity\":{\"cpu\":\"100\",\"memory\":\"120G\"},\"allocatable\":{\"cpu\":" \
    "\"100\",\"memory\":\"120G\"}}}"

/* A report as koordlet makes it, of this moment. */
static inline UNUSED void fixture_report(struct fixture *f, const char *node, int system_cpu)
{
    char when[KTIME_TEXT_MAX], body[512];

    ktime_format(loop_wall(f->r.loop), when);
    (void)snprintf(
        body, sizeof body,
        "{\"status\":{\"updateTime\":\"%s\",\"nodeMetric\":{\"nodeUsage\":{\"resources\":"
        "{\"cpu\":\"%d\",\"memory\":\"12G\"}},\"systemUsage\":{\"resources\":{\"cpu\":"
        "\"%d\",\"memory\":\"12G\"}}}}}",
        when, system_cpu, system_cpu);
    fake_patch(f->r.fake, METRICS, node, body);
}

/* The value at a dotted path of a stored object; "" when it is absent. The text lives until the
 * next call. */
static inline UNUSED const char *fixture_get(struct fixture *f, const char *collection,
                                             const char *name, const char *parent,
                                             const char *member)
{
    static char text[1024];
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    const char *json = fake_find(f->r.fake, collection, name);

    text[0] = '\0';
    if (!json || kj_parse(json, strlen(json), 0, &doc, NULL) < 0)
        return text;
    const struct kj_val *v = kj_get(*parent ? kj_path(kj_root(doc), parent) : kj_root(doc), member);
    if (!v)
        return text;
    if (kj_str(v))
        strbuf_append(&out, kj_str(v));
    else
        kj_write(v, KJ_SORTED, &out);
    (void)snprintf(text, sizeof text, "%s", strbuf_str(&out));
    return text;
}
#endif
