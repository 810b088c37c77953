/* admithook_set.c - webhook configurations, read from the store when they changed. */
#include "apiserver/admission/admitexpr.h"
#include "apiserver/admission/admithook_int.h"
#include "apiserver/admission/hookcall.h"
#include "apiserver/store/store.h"
#include "base/klog.h"

static const char *const kinds[] = {
    "mutatingwebhookconfigurations.admissionregistration.k8s.io",
    "validatingwebhookconfigurations.admissionregistration.k8s.io"
};

static void hooks_fini(struct admithook_list *l)
{
    vec_foreach(l, i)
        conditions_free(l->items[i].conditions);
    vec_fini(l);
}

struct admithook_set *admithook_set_unref(struct admithook_set *set)
{
    if (!set || --set->refs)
        return NULL;
    vec_foreach(&set->docs, i)
        kj_doc_free(set->docs.items[i]);
    vec_fini(&set->docs);
    hooks_fini(&set->mutating);
    hooks_fini(&set->validating);
    free(set);
    return NULL;
}

/* ---- reading --------------------------------------------------------------------------------- */

static const char *review_version(const struct kj_val *spec)
{
    const struct kj_val *list = kj_get(spec, "admissionReviewVersions");

    for (size_t i = 0; i < kj_len(list); i++) {
        const char *v = kj_str_or(kj_at(list, i), "");
        if (streq(v, "v1") || streq(v, "v1beta1"))
            return v;
    }
    return NULL;
}

static bool is(const struct kj_val *spec, const char *key, const char *value)
{
    return streq(kj_str_or(kj_get(spec, key), ""), value);
}

struct reading {
    struct admithook_set *set;
    bool mutating;
};

static bool on_config(void *arg, const struct store_key *k, uint64_t rev, const char *text,
                      size_t n)
{
    struct reading *x = arg;
    struct kj_doc *doc = NULL;
    struct kerr err = { 0 };

    (void)rev;
    if (kj_parse(text, n, KJ_RAW_NUMBERS, &doc, &err) < 0) {
        KLOG_E(&err, "Cannot read a stored webhook configuration", KV_S("name", k->name));
        return true;
    }
    vec_push(&x->set->docs, doc);
    const struct kj_val *list = kj_get(kj_root(doc), "webhooks");
    for (size_t i = 0; i < kj_len(list); i++) {
        const struct kj_val *spec = kj_at(list, i);
        struct admithook h = {
            .config = kj_str_or(kj_path(kj_root(doc), "metadata.name"), ""),
            .name = kj_str_or(kj_get(spec, "name"), ""),
            .spec = spec,
            .mutating = x->mutating,
            .ignore_failure = is(spec, "failurePolicy", "Ignore"),
            .exact = is(spec, "matchPolicy", "Exact"),
            .reinvoke = is(spec, "reinvocationPolicy", "IfNeeded"),
            .dry_run_safe =
                is(spec, "sideEffects", "None") || is(spec, "sideEffects", "NoneOnDryRun"),
            .timeout_s = kj_i64_or(kj_get(spec, "timeoutSeconds"), 10),
            .conditions = conditions_new(kj_get(spec, "matchConditions"), false),
            .version = review_version(spec),
        };
        vec_push(x->mutating ? &x->set->mutating : &x->set->validating, h);
    }
    return true;
}

static struct admithook_set *read_all(struct admithooks *w)
{
    struct admithook_set *set = xnew0(struct admithook_set);

    set->refs = 1;
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        struct reading x = { set, i == 0 };
        (void)store_list(w->s->store, kinds[i], NULL, 0, NULL, on_config, &x, NULL);
    }
    return set;
}

/* ---- following ------------------------------------------------------------------------------- */

static bool on_event(void *arg, const struct store_event *e)
{
    struct admithooks *w = arg;

    (void)e;
    w->set = admithook_set_unref(w->set);
    return true;
}

/* Too far behind, which never happens to one who takes every event at once; or the store ends. */
static void mutating_ended(void *arg, const struct kerr *err)
{
    struct admithooks *w = arg;

    (void)err;
    w->watches[0] = NULL;
    w->set = admithook_set_unref(w->set);
}

static void validating_ended(void *arg, const struct kerr *err)
{
    struct admithooks *w = arg;

    (void)err;
    w->watches[1] = NULL;
    w->set = admithook_set_unref(w->set);
}

static void follow(struct admithooks *w)
{
    static const struct store_watch_handler handlers[] = { { on_event, NULL, mutating_ended },
                                                           { on_event, NULL, validating_ended } };
    struct store *st = w->s->store;

    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (!w->watches[i])
            (void)store_watch(st, kinds[i], NULL, store_revision(st), &handlers[i], w,
                              &w->watches[i], NULL);
}

struct admithook_set *admithook_set_get(struct admithooks *w)
{
    if (!w->set || !w->watches[0] || !w->watches[1]) {
        w->set = admithook_set_unref(w->set);
        follow(w);
        w->set = read_all(w);
    }
    w->set->refs++;
    return w->set;
}

/* ---- birth and end --------------------------------------------------------------------------- */

struct admithooks *admithooks_new(struct apiserver *s)
{
    struct admithooks *w = xnew0(struct admithooks);

    w->s = s;
    w->calls = hookcalls_new(s);
    vec_push(&s->last_steps, ((struct admission_entry){ &admithook_step, w }));
    return w;
}

struct admithooks *admithooks_free(struct admithooks *w)
{
    if (!w)
        return NULL;
    admithook_runs_fail(w);
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        w->watches[i] = store_unwatch(w->watches[i]);
    admithook_set_unref(w->set);
    hookcalls_free(w->calls);
    free(w);
    return NULL;
}

struct hookcalls *admithooks_calls(struct admithooks *w)
{
    return w->calls;
}
