/* fixture_webhook.h - webhooks over a cluster that is written down as JSON. */
#ifndef KOORD_MANAGER_TEST_FIXTURE_WEBHOOK_H
#define KOORD_MANAGER_TEST_FIXTURE_WEBHOOK_H
#include "api/core.h"
#include "api/node.h"
#include "api/policy.h"
#include "component/metrics.h"
#include "fixture.h"
#include "loop/loop.h"
#include "manager/profile/profiles.h"
#include "manager/webhook/source.h"
#include "manager/webhook/webhook.h"

struct webhook_fixture {
    struct fixture f;
    struct loop *loop;
    struct metrics *metrics;
    struct webhook_source src;
    struct webhook_opts opts;
    struct webhooks *w;
    struct profile_set *profiles;
    struct vec_of(const struct node *) nodes;
    kstrmap slo_config;
    bool has_slo_config;
    struct webhook_answer answer;
    struct kj_doc *after; /* the object after a mutation */
};

static inline bool fixture_node_at(void *self, size_t i, struct slo_node *ret)
{
    struct webhook_fixture *x = self;

    if (i >= x->nodes.n)
        return false;
    *ret =
        (struct slo_node){ x->nodes.items[i]->obj.meta.name, &x->nodes.items[i]->obj.meta.labels };
    return true;
}

static inline const struct profile_set *fixture_profiles(void *self)
{
    return ((struct webhook_fixture *)self)->profiles;
}

static inline struct kobj *fixture_find(struct webhook_fixture *x, const struct kind *k,
                                        const char *name)
{
    vec_foreach(&x->f.objects, i) {
        struct kobj *o = x->f.objects.items[i];
        if (o->kind == k && streq(o->meta.name, name))
            return o;
    }
    return NULL;
}

static inline const kstrmap *fixture_namespace_labels(void *self, const char *ns)
{
    struct kobj *o = fixture_find(self, &kind_namespace, ns);
    return o ? &o->meta.labels : NULL;
}

static inline const struct priority_class_obj *fixture_priority_class(void *self, const char *name)
{
    struct kobj *o = fixture_find(self, &kind_priority_class, name);
    return o ? container_of(o, struct priority_class_obj, obj) : NULL;
}

static inline const kstrmap *fixture_slo_config(void *self)
{
    struct webhook_fixture *x = self;
    return x->has_slo_config ? &x->slo_config : NULL;
}

/* Gates: names with commas that are turned the other way round. */
static inline void webhook_fixture_init(struct webhook_fixture *x, const char *gates)
{
    *x = (struct webhook_fixture){ .metrics = metrics_new() };
    fixture_init(&x->f);
    x->loop = loop_new_virtual(0, 1);
    x->profiles = profile_set_new();
    x->src = (struct webhook_source){ .profiles = fixture_profiles,
                                      .namespace_labels = fixture_namespace_labels,
                                      .priority_class = fixture_priority_class,
                                      .node_at = fixture_node_at,
                                      .slo_config = fixture_slo_config,
                                      .self = x };
    x->opts = (struct webhook_opts){ .gates = webhook_gates_default(), .metrics = x->metrics };
    for (int g = 0; g < WEBHOOK_GATES; g++) {
        const char *at = strstr(gates, webhook_gate_names[g]);
        if (at)
            x->opts.gates ^= 1u << g;
    }
    x->w = webhooks_new(x->loop, &x->src, &x->opts);
}

static inline void webhook_fixture_fini(struct webhook_fixture *x)
{
    x->after = kj_doc_free(x->after);
    x->w = webhooks_free(x->w);
    profile_set_free(x->profiles);
    vec_fini(&x->nodes);
    metrics_free(x->metrics);
    fixture_fini(&x->f);
    x->loop = loop_free(x->loop);
}
static inline UNUSED void webhook_fixture_fini_p(struct webhook_fixture *x)
{
    webhook_fixture_fini(x);
}

static inline UNUSED void webhook_fixture_node(struct webhook_fixture *x, const char *json)
{
    vec_push(&x->nodes, node_of(fixture_object(&x->f, &kind_node, json)));
}

/* An object of the cluster, as YAML in one line. */
static inline UNUSED struct kobj *webhook_fixture_object(struct webhook_fixture *x,
                                                         const struct kind *k, const char *yaml)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    CLEANUP(strbuf_fini) struct strbuf json = STRBUF_INIT;
    struct kerr err = { 0 };

    if (kj_parse_yaml(yaml, strlen(yaml), 0, &doc, &err) < 0)
        fail_msg("%s: %s", yaml, err.text);
    kj_write(kj_root(doc), 0, &json);
    return fixture_object(&x->f, k, strbuf_str(&json));
}
/* spec: of a profile. */
static inline UNUSED const struct profile *webhook_fixture_profile(struct webhook_fixture *x,
                                                                   const char *name,
                                                                   const char *spec)
{
    const char *yaml = arena_printf(x->f.arena, "{metadata: {name: %s}, spec: {%s}}", name, spec);

    return profile_set_put(x->profiles, webhook_fixture_object(x, &kind_colocation_profile, yaml));
}

/* Sends an object through a webhook; old may be NULL. What comes back is in x->answer, and after a
 * mutation in x->after. */
static inline UNUSED void webhook_fixture_send(struct webhook_fixture *x, enum webhook_id id,
                                               enum webhook_op op, const char *json,
                                               const char *old)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL, *old_doc = NULL;
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    const struct webhook_info *i = &webhook_infos[id];
    struct kerr err = { 0 };

    if ((json && kj_parse_yaml(json, strlen(json), 0, &doc, &err) < 0) ||
        (old && kj_parse_yaml(old, strlen(old), 0, &old_doc, &err) < 0))
        fail_msg("%s", err.text);
    struct webhook_request r = {
        .op = op,
        .group = i->group,
        .resource = i->resource,
        .subresource = i->subresource,
        .ns = kj_str_or(kj_path(kj_root(doc), "metadata.namespace"), "default"),
        .name = kj_str_or(kj_path(kj_root(doc), "metadata.name"), ""),
        .user = "system:serviceaccount:kube-system:replicaset-controller",
        .old = kj_root(old_doc),
    };
    x->after = kj_doc_free(x->after);
    if (!i->mutating) {
        webhook_validate(x->w, id, &r, kj_root(doc), x->f.arena, &x->answer);
        return;
    }
    struct kj_mval *obj = kj_mcopy(d, kj_root(doc));
    webhook_mutate(x->w, id, &r, d, obj, x->f.arena, &x->answer);
    x->after = kj_freeze(obj);
    assert_int_equal(x->answer.changed, !kj_equal(kj_root(x->after), kj_root(doc)));
}

/* A text of the object after a mutation. */
static inline UNUSED const char *webhook_fixture_text(struct webhook_fixture *x, const char *path)
{
    return kj_str_or(kj_path(kj_root(x->after), path), "");
}
static inline UNUSED const char *webhook_fixture_meta(struct webhook_fixture *x, const char *field,
                                                      const char *key)
{
    return kj_str(kj_get(kj_get(kj_get(kj_root(x->after), "metadata"), field), key));
}
#endif
