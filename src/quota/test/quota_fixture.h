/* quota_fixture.h - quotas and pods made of a few numbers, for the tests of the forest. */
#ifndef KOORD_QUOTA_TEST_FIXTURE_H
#define KOORD_QUOTA_TEST_FIXTURE_H
#include <setjmp.h>
#include <stdio.h>

#include <cmocka.h>

#include "api/koord/quota.h"
#include "api/pod.h"
#include "api/protocol/quota.h"
#include "base/intern.h"
#include "base/strbuf.h"
#include "quota/admit.h"
#include "quota/forest.h"
#include "quota/revoke.h"
#include "json/kj.h"

struct quota_fixture {
    struct quota_forest *forest;
    struct intern *strings;
    struct kj_scratch *scratch;
    struct arena *arena;
};

static inline UNUSED void fixture_begin(struct quota_fixture *x, struct quota_options o)
{
    x->strings = intern_new();
    x->scratch = kj_scratch_new(x->strings);
    x->arena = arena_new();
    x->forest = forest_new(&o);
}

static inline UNUSED void fixture_end(struct quota_fixture *x)
{
    forest_free(x->forest);
    kj_scratch_free(x->scratch);
    intern_free(x->strings);
    arena_free(x->arena);
}

/* ' stands for ". */
static inline UNUSED struct kobj *fixture_object(struct quota_fixture *x, const struct kind *k,
                                                 const char *text)
{
    char *json = arena_strdup(x->arena, text);
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct kobj *o = NULL;
    struct kerr err = { 0 };

    for (char *p = json; *p; p++)
        if (*p == '\'')
            *p = '"';
    if (kj_parse(json, strlen(json), KJ_RAW_NUMBERS, &doc, &err) < 0 ||
        kobj_decode(k, kj_root(doc), x->scratch, &o, &err) < 0)
        fail_msg("%s: %s", json, err.text);
    return o;
}

/* The object of a quota; labels and annotations without their domain: "'parent':'a'". */
static inline UNUSED struct kobj *quota_object(struct quota_fixture *x, const char *name,
                                               const char *labels, const char *annotations,
                                               const char *max, const char *min)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    const char *parts[] = { labels, annotations };

    strbuf_appendf(&b, "{'metadata':{'name':'%s','namespace':'team'", name);
    for (int i = 0; i < 2; i++) {
        strbuf_appendf(&b, ",'%s':{", i ? "annotations" : "labels");
        for (const char *p = parts[i]; *p; p++) /* a key begins the text, or follows a comma */
            strbuf_appendf(&b, "%c%s", *p,
                           *p == '\'' && (p == parts[i] || p[-1] == ',') ? DOMAIN_QUOTA : "");
        strbuf_appendf(&b, "}");
    }
    strbuf_appendf(&b, "},'spec':{'max':{%s},'min':{%s}}}", max, min);
    return fixture_object(x, &kind_elasticquota, strbuf_str(&b));
}

static inline UNUSED int put_quota(struct quota_fixture *x, const char *name, const char *labels,
                                   const char *annotations, const char *max, const char *min,
                                   struct kerr *err)
{
    CLEANUP(kobj_unref) struct kobj *o = quota_object(x, name, labels, annotations, max, min);

    return forest_put(x->forest, elasticquota_of(o), err);
}

/* One that must be accepted; cpu and memory. */
static inline UNUSED void put(struct quota_fixture *x, const char *name, const char *labels,
                              int max, int min)
{
    struct kerr err = { 0 };
    const char *mx = arena_printf(x->arena, "'cpu':'%d','memory':'%d'", max, max);
    const char *mn = arena_printf(x->arena, "'cpu':'%d','memory':'%d'", min, min);

    if (put_quota(x, name, labels, "", mx, mn, &err) < 0)
        fail_msg("%s: %s", name, err.text);
}

static inline UNUSED struct kuid pod_uid(unsigned n)
{
    char uid[40];
    int len = snprintf(uid, sizeof uid, "00000000-0000-4000-8000-%012u", n);

    return kuid_parse(uid, (size_t)len);
}

/* A pod in namespace `ns` with this label (NULL: none) and so much cpu and memory. */
static inline UNUSED struct kobj *pod_object(struct quota_fixture *x, unsigned n, const char *ns,
                                             const char *quota, int cpu, int memory,
                                             bool preemptible)
{
    struct kobj *o = fixture_object(
        x, &kind_pod,
        arena_printf(x->arena,
                     "{'metadata':{'name':'p%u','namespace':'%s','labels':{%s%s%s%s}},"
                     "'spec':{'containers':[{'name':'c','resources':{'requests':"
                     "{'cpu':'%d','memory':'%d'}}}]}}",
                     n, ns, quota ? "'" LABEL_QUOTA_NAME "':'" : "", str_or(quota, ""),
                     quota ? "'" : "",
                     preemptible ? ""
                     : quota     ? ",'" LABEL_QUOTA_PREEMPTIBLE "':'false'"
                                 : "",
                     cpu, memory));

    o->meta.uid = pod_uid(n);
    return o;
}

static inline UNUSED void put_pod(struct quota_fixture *x, unsigned n, const char *quota, int cpu,
                                  bool assigned)
{
    CLEANUP(kobj_unref) struct kobj *o = pod_object(x, n, "work", quota, cpu, cpu, true);

    forest_put_pod(x->forest, pod_of(o), assigned);
}

static inline UNUSED void add_total(struct quota_fixture *x, int amount)
{
    struct qty q = qty_from_i64(amount, QTY_DECIMAL_SI);
    struct resqty items[] = { { "cpu", q }, { "memory", q } };
    reslist l = { .items = items, .n = 2 };

    forest_add_total(x->forest, &l, 1);
}

/* Whole units of memory: cpu would be in milli. */
static inline UNUSED int64_t amount(struct quota_fixture *x, const char *quota,
                                    enum quota_field field)
{
    struct quota *q = forest_find(x->forest, quota);
    int c = quota_columns_find(forest_columns(x->forest), "memory");
    uint64_t keys;

    assert_non_null(q);
    assert_true(c >= 0);
    return quota_at(quota_values(x->forest, q, field, &keys), (uint64_t)c);
}
#endif
