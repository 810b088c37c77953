/* deploy_sets.c - ReplicaSets of a Deployment: the one of today's template, revisions, the past. */
#include <stdio.h>

#include "base/num.h"
#include "cluster/deploy.h"
#include "json/patch.h"

/* ---- which set is the new one -------------------------------------------------------------- */

static struct kj_mval *without_hash(struct kj_mdoc *d, const struct kj_val *template)
{
    struct kj_mval *copy = kj_mcopy(d, template), *meta = kj_mget(copy, "metadata");
    struct kj_mval *labels = meta ? kj_mget(meta, "labels") : NULL;

    if (labels)
        kj_mdel(labels, LABEL_HASH, strlen(LABEL_HASH));
    if (labels && kj_mlen(labels) == 0)
        kj_mdel(meta, "labels", strlen("labels"));
    if (meta)
        kj_mdel(meta, "creationTimestamp", strlen("creationTimestamp"));
    if (meta && kj_mlen(meta) == 0)
        kj_mdel(copy, "metadata", strlen("metadata"));
    return copy;
}

static bool same_template(const struct dview *v, const struct rs *rs)
{
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;

    if (!rs->spec.template_json ||
        kj_parse(rs->spec.template_json, strlen(rs->spec.template_json), 0, &doc, NULL) < 0)
        return false;
    return kj_mequal(without_hash(d, v->template), without_hash(d, kj_root(doc)));
}

void dview_find_fresh(struct dview *v)
{
    v->fresh = NULL;
    /* The oldest, should two have the same. */
    for (size_t i = 0; i < v->n && !v->fresh; i++)
        if (same_template(v, v->sets[i].rs))
            v->fresh = &v->sets[i];
}

static int64_t dview_max_old_revision(const struct dview *v)
{
    int64_t max = 0;
    for (size_t i = 0; i < v->n; i++)
        if (&v->sets[i] != v->fresh)
            max = MAX(max, v->sets[i].revision);
    return max;
}

/* ---- creating it --------------------------------------------------------------------------- */

/* Stable over processes: the same template always gets the same name. */
static void template_hash(const struct dview *v, char out[HASH_NAME_MAX])
{
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;

    kj_mwrite(without_hash(d, v->template), KJ_SORTED, &text);
    if (v->d->status.collisions.set)
        strbuf_append_i64(&text, v->d->status.collisions.v);
    hash_name(text.data, text.len, out);
}

static bool is_copied_down(const char *key)
{
    static const char *const not [] = { "kubectl.kubernetes.io/last-applied-configuration",
                                        ANNO_REVISION,
                                        ANNO_REVISION_HISTORY,
                                        ANNO_DESIRED,
                                        ANNO_MAX,
                                        "deprecated.deployment.rollback.to" };
    for (size_t i = 0; i < ARRAY_LEN(not ); i++)
        if (streq(key, not [i]))
            return false;
    return true;
}

static void set_number(struct kj_mdoc *d, struct kj_mval *obj, const char *key, int64_t n)
{
    char text[24];
    (void)snprintf(text, sizeof text, "%lld", (long long)n);
    kj_mset(d, obj, key, kj_mstr(d, text));
}

static struct kj_mval *fresh_annotations(struct kj_mdoc *d, const struct dview *v)
{
    struct kj_mval *out = kj_mobj(d);
    const kstrmap *from = &v->d->obj.meta.annotations;

    for (uint32_t i = 0; i < from->n; i++)
        if (is_copied_down(from->items[i].key))
            kj_mset(d, out, from->items[i].key, kj_mstr(d, from->items[i].value));
    set_number(d, out, ANNO_REVISION, dview_max_old_revision(v) + 1);
    set_number(d, out, ANNO_DESIRED, v->replicas);
    set_number(d, out, ANNO_MAX, v->replicas + v->surge);
    return out;
}

static struct kj_mval *fresh_template(struct kj_mdoc *d, const struct dview *v, const char *hash)
{
    struct kj_mval *t = kj_mcopy(d, v->template), *meta = kj_mget(t, "metadata"), *labels;

    if (!meta)
        kj_mset(d, t, "metadata", meta = kj_mobj(d));
    labels = kj_mget(meta, "labels");
    if (!labels)
        kj_mset(d, meta, "labels", labels = kj_mobj(d));
    kj_mset(d, labels, LABEL_HASH, kj_mstr(d, hash));
    return t;
}

static struct kj_mval *fresh_selector(struct kj_mdoc *d, const struct dview *v, const char *hash)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct kj_mval *s, *labels;

    kj_encode(&label_selector_schema, &v->d->spec.selector, &text);
    int r = kj_parse(text.data, text.len, 0, &doc, NULL);
    assert(r == 0);
    (void)r;
    s = kj_mcopy(d, kj_root(doc));
    labels = kj_mget(s, "matchLabels");
    if (!labels)
        kj_mset(d, s, "matchLabels", labels = kj_mobj(d));
    kj_mset(d, labels, LABEL_HASH, kj_mstr(d, hash));
    return s;
}

static void fresh_body(const struct dview *v, const char *name, const char *hash,
                       struct strbuf *out)
{
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    struct kj_mval *root = kj_mobj(d), *meta = kj_mobj(d), *spec = kj_mobj(d);
    struct kj_mval *template = fresh_template(d, v, hash);

    kj_mset(d, root, "apiVersion", kj_mstr(d, "apps/v1"));
    kj_mset(d, root, "kind", kj_mstr(d, "ReplicaSet"));
    kj_mset(d, meta, "name", kj_mstr(d, name));
    kj_mset(d, meta, "labels", kj_mclone(d, kj_mget(kj_mget(template, "metadata"), "labels")));
    kj_mset(d, meta, "annotations", fresh_annotations(d, v));
    kj_mset(d, meta, "ownerReferences", owner_value(d, &v->d->obj));
    kj_mset(d, root, "metadata", meta);
    kj_mset(d, spec, "replicas", kj_mi64(d, rollout_fresh_replicas(v, 0)));
    kj_mset(d, spec, "minReadySeconds", kj_mi64(d, v->d->spec.min_ready_seconds));
    kj_mset(d, spec, "selector", fresh_selector(d, v, hash));
    kj_mset(d, spec, "template", template);
    kj_mset(d, root, "spec", spec);
    kj_mwrite(root, 0, out);
}

struct creating {           /* in the arena */
    const struct deploy *d; /* held */
    const char *name;
};

static bool on_other(struct batch *b, struct kube_resp *r, const struct kerr *err, void *arg)
{
    const struct creating *x = arg;
    struct deploy_status now = x->d->status;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    char uid[KUID_TEXT_MAX];

    if (err || kj_parse(r->body, r->n, 0, &doc, NULL) < 0)
        return false;
    /* Ours, by a create whose answer was lost, or not in the cache yet: the news is coming. */
    const struct kj_val *ref = kj_at(kj_path(kj_root(doc), "metadata.ownerReferences"), 0);
    kuid_format(x->d->obj.meta.uid, uid, sizeof uid);
    if (streq(kj_str_or(kj_get(ref, "uid"), ""), uid))
        return true;
    now.collisions = (struct opt_i32){ true, now.collisions.set ? now.collisions.v + 1 : 1 };
    batch_patch_change(b, &x->d->obj,
                       &(struct change){ .member = "status",
                                         .schema = &deployment_status_schema,
                                         .from = &x->d->status,
                                         .to = &now },
                       NULL, NULL);
    return true;
}

static bool on_created(struct batch *b, struct kube_resp *r, const struct kerr *err, void *arg)
{
    struct creating *x = arg;

    (void)r;
    if (!err || err->reason != KR_ALREADY_EXISTS)
        return err && err->reason == KR_FORBIDDEN && strstr(err->text, "terminated");
    struct kube_req q = {
        .verb = KUBE_GET, .kind = &doc_replicaset, .ns = x->d->obj.meta.ns, .name = x->name
    };
    batch_call(b, &q, on_other, x);
    return true;
}

const char *sets_create_fresh(struct batch *b, const struct dview *v)
{
    struct creating *x = arena_new0(batch_arena(b), struct creating);
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    char hash[HASH_NAME_MAX];

    template_hash(v, hash);
    batch_hold(b, &v->d->obj);
    x->d = v->d;
    x->name = arena_printf(batch_arena(b), "%s-%s", v->d->obj.meta.name, hash);
    fresh_body(v, x->name, hash, &body);
    batch_create(b, &doc_replicaset, v->d->obj.meta.ns, &body, on_created, x);
    recorder_event_on(v->c->events, &v->d->obj, false, "ScalingReplicaSet", NULL,
                      "Scaled up replica set %s from 0 to %lld", x->name,
                      (long long)rollout_fresh_replicas(v, 0));
    return x->name;
}

/* ---- revisions ----------------------------------------------------------------------------- */

static void patch_annotations(struct batch *b, const struct kobj *o, struct kj_mdoc *d,
                              struct kj_mval *annotations)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    struct kj_mval *root = kj_mobj(d), *meta = kj_mobj(d);

    kj_mset(d, meta, "resourceVersion", kj_mstr(d, o->meta.resource_version));
    kj_mset(d, meta, "annotations", annotations);
    kj_mset(d, root, "metadata", meta);
    kj_mwrite(root, 0, &body);
    batch_patch(b, o, NULL, KUBE_PATCH_MERGE, &body, NULL, NULL);
}

/* A set that becomes the new one again (a rollback) gets the next number and keeps its old ones. */
static bool sync_fresh(struct batch *b, const struct dview *v)
{
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    const struct kobj *o = &v->fresh->rs->obj;
    struct kj_mval *want = fresh_annotations(d, v), *change = kj_mobj(d), *val;
    int64_t next = dview_max_old_revision(v) + 1;
    struct str key;

    if (v->fresh->revision >= next)
        kj_mdel(want, ANNO_REVISION, strlen(ANNO_REVISION));
    kj_mdel(want, ANNO_DESIRED, strlen(ANNO_DESIRED)); /* these go with the replicas */
    kj_mdel(want, ANNO_MAX, strlen(ANNO_MAX));
    for (struct kj_miter it = kj_miter(want); kj_mnext(&it, &key, &val);) {
        char name[512];
        (void)snprintf(name, sizeof name, "%.*s", (int)key.n, key.p);
        if (!streq(str_or(kstrmap_get(&o->meta.annotations, name), "\x01"), kj_mstr_get(val)))
            kj_mset(d, change, name, kj_mclone(d, val));
    }
    if (kj_mlen(change) == 0)
        return false;
    if (kj_mget(change, ANNO_REVISION) && v->fresh->revision > 0) {
        const char *history = meta_annotation(o, ANNO_REVISION_HISTORY);
        char *text =
            xasprintf("%s%s%lld", history, *history ? "," : "", (long long)v->fresh->revision);
        kj_mset(d, change, ANNO_REVISION_HISTORY, kj_mstr(d, text));
        free(text);
    }
    patch_annotations(b, o, d, change);
    return true;
}

bool sets_sync_revision(struct batch *b, const struct dview *v)
{
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    struct kj_mval *change;
    char text[24];

    if (!v->fresh)
        return false;
    if (sync_fresh(b, v))
        return true;
    (void)snprintf(text, sizeof text, "%lld", (long long)MAX(v->fresh->revision, (int64_t)1));
    if (streq(meta_annotation(&v->d->obj, ANNO_REVISION), text))
        return false;
    change = kj_mobj(d);
    kj_mset(d, change, ANNO_REVISION, kj_mstr(d, text));
    patch_annotations(b, &v->d->obj, d, change);
    return true;
}

/* ---- replicas, history --------------------------------------------------------------------- */

static bool annotations_fit(const struct dview *v, const struct dset *s)
{
    return s->annotated_desired == v->replicas && s->annotated_max == v->replicas + v->surge;
}

void sets_apply(struct batch *b, const struct dview *v)
{
    for (size_t i = 0; i < v->n; i++) {
        const struct dset *s = &v->sets[i];
        CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
        if (s->want == s->replicas && (s->replicas == 0 || annotations_fit(v, s)))
            continue;
        /* Only the version we looked at: arithmetic on a stale size would break the limits. */
        strbuf_appendf(&body,
                       "{\"metadata\":{\"resourceVersion\":\"%s\",\"annotations\":{\"" ANNO_DESIRED
                       "\":\"%lld\",\"" ANNO_MAX "\":\"%lld\"}},\"spec\":{\"replicas\":%lld}}",
                       s->rs->obj.meta.resource_version, (long long)v->replicas,
                       (long long)(v->replicas + v->surge), (long long)s->want);
        batch_patch(b, &s->rs->obj, NULL, KUBE_PATCH_MERGE, &body, NULL, NULL);
        if (s->want != s->replicas)
            recorder_event_on(v->c->events, &v->d->obj, false, "ScalingReplicaSet", NULL,
                              "Scaled %s replica set %s from %lld to %lld",
                              s->want > s->replicas ? "up" : "down", s->rs->obj.meta.name,
                              (long long)s->replicas, (long long)s->want);
    }
}

static int by_revision(const void *a, const void *b)
{
    const struct dset *x = *(struct dset *const *)a, *y = *(struct dset *const *)b;
    return x->revision < y->revision ? -1 : x->revision > y->revision;
}

void sets_cleanup(struct batch *b, const struct dview *v)
{
    int64_t limit =
        v->d->spec.revision_history_limit.set ? v->d->spec.revision_history_limit.v : 10;
    struct vec_of(struct dset *) old = { 0 };

    for (size_t i = 0; i < v->n; i++)
        if (&v->sets[i] != v->fresh && v->sets[i].rs->obj.meta.deleted == 0)
            vec_push(&old, &v->sets[i]);
    if (old.n)
        qsort(old.items, old.n, sizeof *old.items, by_revision);
    for (size_t i = 0; (int64_t)(old.n - i) > limit; i++) {
        const struct rs *rs = old.items[i]->rs;
        if (old.items[i]->replicas != 0 || old.items[i]->actual != 0 ||
            rs->obj.meta.generation > rs->status.observed_generation)
            continue;
        batch_delete(b, &rs->obj, &(struct delete_opts){ .grace = -1 }, NULL, NULL);
    }
    vec_fini(&old);
}
