/* engine_fixture.h - a scheduler on the virtual loop, joined to the fake API server; and objects
 * for it. */
#ifndef KOORD_SCHEDULER_TEST_ENGINE_FIXTURE_H
#define KOORD_SCHEDULER_TEST_ENGINE_FIXTURE_H
#include <stdio.h>

#include "client/test/client_fixture.h"

#include "api/node.h"
#include "api/pod.h"
#include "base/strbuf.h"
#include "scheduler/scheduler.h"
#include "json/kj.h"

#define NODES "/api/v1/nodes"
#define SEC   NSEC_PER_SEC

struct engine_fixture {
    struct client_fixture client;
    struct scheduler *s;
};

/* The names and the check of what is reused are added to the options. */
static inline void engine_start_opts(struct engine_fixture *b, uint64_t seed,
                                     struct scheduler_opts o)
{
    static const char *const names[] = { "koord-scheduler", "default-scheduler", NULL };
    struct kerr err = { 0 };
    client_fixture_init(&b->client, seed);
    o.scheduler_names = names;
    o.verify_reuse = true;
    b->s = scheduler_new(b->client.loop, b->client.kube, &o, &err);
    assert_string_equal(err.text, "");
    scheduler_start(b->s);
}

/* plugins: NULL for the built-in ones. */
static inline void engine_start_with(struct engine_fixture *b, uint64_t seed,
                                     const struct ks_registered *plugins)
{
    engine_start_opts(b, seed, (struct scheduler_opts){ .plugins = plugins });
}

static inline UNUSED void engine_start(struct engine_fixture *b, uint64_t seed)
{
    engine_start_with(b, seed, NULL);
}

static inline UNUSED void engine_stop_p(struct engine_fixture *b)
{
    scheduler_free(b->s);
    client_fixture_fini(&b->client);
}

static inline UNUSED void engine_verify(const struct engine_fixture *b)
{
    struct kerr err = { 0 };
    if (scheduler_verify(b->s, &err) < 0)
        fail_msg("%s", err.text);
}

/* more: further members of spec, as ",\"unschedulable\":true"; may be "". */
static inline UNUSED void engine_node(struct engine_fixture *b, const char *name, int mcpu, int mib,
                                      int pods, const char *more)
{
    char body[1024];
    (void)snprintf(body, sizeof body,
                   "{\"spec\":{\"providerID\":\"x\"%s},\"status\":{\"allocatable\":{\"cpu\":\"%dm\""
                   ",\"memory\":\"%dMi\",\"pods\":\"%d\"}}}",
                   more, mcpu, mib, pods);
    fake_put(b->client.fake, NODES, name, body);
}

static inline UNUSED void engine_pod(struct engine_fixture *b, const char *name, int mcpu, int mib,
                                     const char *more)
{
    char body[1024];
    (void)snprintf(body, sizeof body,
                   "{\"spec\":{\"schedulerName\":\"koord-scheduler\",\"containers\":[{\"name\":"
                   "\"c\",\"resources\":{\"requests\":{\"cpu\":\"%dm\",\"memory\":\"%dMi\"}}}]%s}}",
                   mcpu, mib, more);
    fake_put(b->client.fake, PODS, name, body);
}

/* A text of the stored pod, "" when absent; valid until the next call. */
static inline UNUSED const char *engine_get(const struct engine_fixture *b, const char *pod,
                                            const char *path)
{
    static char text[4096];
    const char *json = fake_find(b->client.fake, PODS, pod);
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    text[0] = '\0';
    if (json && kj_parse(json, strlen(json), 0, &doc, NULL) == 0)
        (void)snprintf(text, sizeof text, "%s", kj_str_or(kj_path(kj_root(doc), path), ""));
    return text;
}

static inline UNUSED struct kuid engine_uid(const struct engine_fixture *b, const char *pod)
{
    const char *text = engine_get(b, pod, "metadata.uid");
    return kuid_parse(text, strlen(text));
}

static inline UNUSED const char *engine_node_of(const struct engine_fixture *b, const char *pod)
{
    return engine_get(b, pod, "spec.nodeName");
}

/* A member of the condition PodScheduled. */
static inline UNUSED const char *engine_condition(const struct engine_fixture *b, const char *pod,
                                                  const char *member)
{
    static char text[4096];
    const char *json = fake_find(b->client.fake, PODS, pod);
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    text[0] = '\0';
    if (!json || kj_parse(json, strlen(json), 0, &doc, NULL) < 0)
        return text;
    const struct kj_val *c = kj_path(kj_root(doc), "status.conditions");
    if (c && kj_len(c) > 0)
        (void)snprintf(text, sizeof text, "%s", kj_str_or(kj_path(kj_at(c, 0), member), ""));
    return text;
}

struct engine_search {
    const struct engine_fixture *b;
    const char *reason, *note;
    int found;
};
static inline void engine_match(void *arg, const char *ns, const char *name, const char *version)
{
    struct engine_search *s = arg;
    CLEANUP(mem_free) char *path = xasprintf("/api/v1/namespaces/%s/events", ns);
    const char *json = fake_find(s->b->client.fake, path, name);
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    (void)version;
    if (!json || kj_parse(json, strlen(json), 0, &doc, NULL) < 0)
        return;
    const struct kj_val *v = kj_root(doc);
    const char *note = kj_str_or(kj_get(v, "message"), kj_str_or(kj_get(v, "note"), ""));
    s->found += streq(kj_str_or(kj_get(v, "reason"), ""), s->reason) && streq(note, s->note);
}
/* How many events have this reason and text. */
static inline UNUSED int engine_events(const struct engine_fixture *b, const char *reason,
                                       const char *note)
{
    struct engine_search s = { b, reason, note, 0 };
    fake_each(b->client.fake, "events", engine_match, &s);
    return s.found;
}
#endif
