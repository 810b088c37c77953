/* fixture.h - objects from JSON, and one round of a configuration over them, without a server.
 *
 * Rounds are dry runs: limits count, filters are asked, and who would go is written down.
 */
#ifndef KOORD_DESCHEDULER_TEST_FIXTURE_H
#define KOORD_DESCHEDULER_TEST_FIXTURE_H
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/intern.h"
#include "base/ktime.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "component/metrics.h"
#include "descheduler/config/config.h"
#include "json/kj.h"

#define NOW_TEXT "2026-01-01T12:00:00Z"

struct fixture {
    struct intern *strings;
    struct kj_scratch *scratch;
    struct vec_of(struct kobj *) objects;
    struct strbuf gone; /* "ns/name ns/name ", in order */
    struct strbuf reasons;
    struct strbuf kept;    /* "ns/name: why; " of evictions that were refused */
    struct strbuf classes; /* "node class; " */
    struct metrics *metrics;
    nsec_t now;
};

static UNUSED nsec_t fixture_time(const char *text)
{
    nsec_t t = 0;
    assert_int_equal(ktime_parse(text, strlen(text), &t, NULL), 0);
    return t;
}

static UNUSED void fixture_init(struct fixture *f)
{
    *f = (struct fixture){ .strings = intern_new(), .metrics = metrics_new() };
    f->scratch = kj_scratch_new(f->strings);
    f->now = fixture_time(NOW_TEXT);
}

static UNUSED void fixture_clear(struct fixture *f)
{
    vec_foreach(&f->objects, i)
        kobj_unref(f->objects.items[i]);
    vec_fini(&f->objects);
}

static UNUSED void fixture_fini(struct fixture *f)
{
    fixture_clear(f);
    strbuf_fini(&f->gone);
    strbuf_fini(&f->reasons);
    strbuf_fini(&f->kept);
    strbuf_fini(&f->classes);
    kj_scratch_free(f->scratch);
    intern_free(f->strings);
    metrics_free(f->metrics);
}

/* One object; its text as printf writes it. */
static UNUSED PRINTF(3, 4) void fixture_add(struct fixture *f, const struct kind *k,
                                            const char *fmt, ...)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct kobj *o = NULL;
    struct kerr err = { 0 };
    va_list ap;

    va_start(ap, fmt);
    strbuf_vappendf(&text, fmt, ap);
    va_end(ap);
    if (kj_parse(text.data, text.len, 0, &doc, &err) < 0 ||
        kobj_decode(k, kj_root(doc), f->scratch, &o, &err) < 0)
        fail_msg("%s: %s", err.text, text.data);
    vec_push(&f->objects, o);
}

/* extra: further members of metadata, or of spec, each with a comma in front; "" for none. */
struct node_text {
    const char *name, *cpu, *memory, *labels, *spec;
    int pods;
};
static UNUSED void add_node(struct fixture *f, struct node_text n)
{
    fixture_add(f, &kind_node,
                "{\"metadata\":{\"name\":\"%s\",\"labels\":{%s}},\"spec\":{%s},\"status\":{"
                "\"allocatable\":{\"cpu\":\"%s\",\"memory\":\"%s\",\"pods\":\"%d\"}}}",
                n.name, str_or(n.labels, ""), str_or(n.spec, ""), str_or(n.cpu, "4"),
                str_or(n.memory, "8Gi"), n.pods ? n.pods : 110);
}

struct pod_text {
    const char *name, *node, *ns, *cpu, *memory;
    const char *owner;   /* of kind ReplicaSet; "": none; NULL: "w" */
    const char *meta;    /* further members of metadata, each with a comma in front */
    const char *spec;    /* the same of spec */
    const char *status;  /* of status */
    const char *phase;   /* NULL: Running */
    const char *created; /* NULL: an hour ago */
    const char *image;
};
static UNUSED void add_pod(struct fixture *f, struct pod_text p)
{
    CLEANUP(strbuf_fini) struct strbuf owner = STRBUF_INIT;
    const char *w = str_or(p.owner, "w");

    if (*w)
        strbuf_appendf(&owner,
                       ",\"ownerReferences\":[{\"apiVersion\":\"apps/v1\",\"kind\":\"ReplicaSet\","
                       "\"name\":\"%s\",\"uid\":\"uid-%s\",\"controller\":true}]",
                       w, w);
    fixture_add(f, &kind_pod,
                "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"%s\",\"uid\":\"u-%s\","
                "\"creationTimestamp\":\"%s\"%s%s},\"spec\":{\"nodeName\":\"%s\",\"containers\":[{"
                "\"name\":\"c\",\"image\":\"%s\",\"resources\":{\"requests\":{\"cpu\":\"%s\","
                "\"memory\":\"%s\"}}}]%s},\"status\":{\"phase\":\"%s\"%s}}",
                p.name, str_or(p.ns, "default"), p.name, str_or(p.created, "2026-01-01T11:00:00Z"),
                strbuf_str(&owner), str_or(p.meta, ""), p.node, str_or(p.image, "i"),
                str_or(p.cpu, "100m"), str_or(p.memory, "100Mi"), str_or(p.spec, ""),
                str_or(p.phase, "Running"), str_or(p.status, ""));
}

/* ---- rounds ----------------------------------------------------------------------------------- */

static UNUSED void note_decision(void *arg, const struct kd_decision *d)
{
    struct fixture *f = arg;

    if (!d->evicted) {
        strbuf_appendf(&f->kept, "%s/%s: %s; ", d->pod->obj.meta.ns, d->pod->obj.meta.name, d->why);
        return;
    }
    strbuf_appendf(&f->gone, "%s%s", f->gone.len ? " " : "", d->pod->obj.meta.name);
    strbuf_appendf(&f->reasons, "%s%s", f->reasons.len ? "|" : "", d->reason);
}

static UNUSED void note_class(void *arg, const struct kd_node_class *c)
{
    struct fixture *f = arg;
    strbuf_appendf(&f->classes, "%s %s; ", c->node, c->class);
}

/* The configuration, or a failure of the test with its message. */
static UNUSED struct config *fixture_config(const char *yaml)
{
    struct config *c = NULL;
    struct kerr err = { 0 };

    if (config_parse(&desched_config_spec, yaml, strlen(yaml), "test", &c, &err) < 0)
        fail_msg("%s", err.text);
    return c;
}

struct rounds { /* profiles that live over several rounds */
    struct fixture *f;
    struct config *config;
    struct limiter *limiter;
    struct kd_observer observer;
    struct kd_shared shared;
    struct vec_of(struct kd_profile *) profiles;
};

static UNUSED void rounds_init(struct rounds *r, struct fixture *f, const char *yaml)
{
    struct kerr err = { 0 };

    *r = (struct rounds){ .f = f, .config = fixture_config(yaml), .limiter = limiter_new() };
    const struct desched_config *c = r->config->value;
    r->observer = (struct kd_observer){ note_decision, note_class, f };
    r->shared = (struct kd_shared){ .env = { .metrics = f->metrics },
                                    .include = c->nodes,
                                    .limiter = r->limiter,
                                    .dry_run = true,
                                    .observer = &r->observer };
    limiter_set(r->limiter, &c->limits);
    for (uint32_t i = 0; i < c->profiles.n; i++) {
        struct kd_profile *p = kd_profile_new(&r->shared, &c->made[i], i, &err);
        if (!p)
            fail_msg("%s", err.text);
        vec_push(&r->profiles, p);
    }
}

/* The names of the pods that would go, in order; good until the next round. */
static UNUSED const char *rounds_run(struct rounds *r)
{
    struct fixture *f = r->f;
    const struct kd_view_opts o = { .objects = (const struct kobj *const *)f->objects.items,
                                    .nobjects = f->objects.n,
                                    .include = r->shared.include,
                                    .now = f->now };
    struct kd_view *v = kd_view_new(&o);
    struct kerr err = { 0 };

    strbuf_reset(&f->gone);
    strbuf_reset(&f->reasons);
    strbuf_reset(&f->kept);
    strbuf_reset(&f->classes);
    limiter_reset(r->limiter);
    for (int point = KD_DESCHEDULE; point <= KD_BALANCE; point++)
        vec_foreach(&r->profiles, i) {
            struct kd_profile_run *run =
                kd_profile_run_new(r->profiles.items[i], (enum kd_point)point, v);
            int more;
            while ((more = kd_profile_run_turn(run, &err)) > 0)
                continue;
            if (more < 0)
                fail_msg("%s", err.text);
            kd_profile_run_free(run);
        }
    kd_view_free(v);
    return strbuf_str(&f->gone);
}

static UNUSED void rounds_fini(struct rounds *r)
{
    vec_foreach(&r->profiles, i)
        kd_profile_free(r->profiles.items[i]);
    vec_fini(&r->profiles);
    limiter_free(r->limiter);
    config_unref(r->config);
}

/* A configuration of one plugin with its args (YAML in flow style), under DefaultEvictor. */
static UNUSED char *config_of(const char *point, const char *plugin, const char *args,
                              const char *evictor)
{
    return xasprintf("apiVersion: descheduler/v1alpha2\n"
                     "kind: DeschedulerConfiguration\n"
                     "profiles:\n"
                     "- name: test\n"
                     "  plugins:\n"
                     "    %s: {enabled: [{name: %s}]}\n"
                     "    evict: {disabled: [{name: '*'}], enabled: [{name: DefaultEvictor}]}\n"
                     "    filter: {disabled: [{name: '*'}], enabled: [{name: DefaultEvictor}]}\n"
                     "  pluginConfig:\n"
                     "  - {name: %s, args: %s}\n"
                     "  - {name: DefaultEvictor, args: %s}\n",
                     point, plugin, plugin, args, evictor);
}

static UNUSED const char *run_plugin(struct fixture *f, const char *point, const char *plugin,
                                     const char *args)
{
    CLEANUP(mem_free) char *yaml = config_of(point, plugin, args, "{}");
    struct rounds r;

    rounds_init(&r, f, yaml);
    (void)rounds_run(&r);
    rounds_fini(&r);
    return strbuf_str(&f->gone);
}
#endif
