/* resourceclaim_pods.c - the claims of pods: made from templates, named in the pod's status,
 * reserved. */
#include <stdio.h>

#include "cluster/resourceclaim.h"

enum {
    BASE_MAX = 57,   /* of a name, without its hashed end */
    ATTEMPTS_MAX = 8 /* names that strangers have taken */
};

struct making { /* of one sync, in the arena of its batch */
    struct claimctl *k;
    const struct pod *pod;
    uint32_t left; /* creates under way */
    uint32_t n;
    struct resource_claim_status *found; /* entries to tell the pod of */
    bool failed;
};
struct create {
    struct making *m;
    const struct pod_resource_claim *entry;
    const struct resource_claim_template *template;
    const char *name;
    unsigned attempt;
};

static void key_of(const struct pod *p, const char *name, char key[KOBJ_KEY_MAX])
{
    (void)snprintf(key, KOBJ_KEY_MAX, "%s/%s", p->obj.meta.ns, name);
}

const char *pod_claim_name(const struct pod *p, const struct pod_resource_claim *entry)
{
    if (!str_empty(entry->claim_name))
        return entry->claim_name;
    for (uint32_t i = 0; i < p->status.resource_claim_statuses.n; i++) {
        const struct resource_claim_status *s = &p->status.resource_claim_statuses.items[i];
        if (streq(s->name, entry->name))
            return str_or(s->claim_name, "");
    }
    return NULL;
}

static bool claim_is_of(const struct kobj *claim, struct kuid pod)
{
    const struct owner_ref *ref = kobj_controller(claim);
    return ref && kuid_equal(ref->uid, pod);
}

/* ---- failures ------------------------------------------------------------------------------ */

static void tell_failure(struct batch *b, struct making *m, const struct pod_resource_claim *entry,
                         const struct kerr *why)
{
    struct kerr err = *why;

    if (!m->failed)
        recorder_event_on(m->k->c->events, &m->pod->obj, true, "FailedResourceClaimCreation", NULL,
                          "PodResourceClaim %s: %s", entry->name, why->text);
    m->failed = true;
    (void)kerr_wrap(&err, "PodResourceClaim %s", entry->name);
    batch_fail(b, &err);
}

/* ---- the pod's status ---------------------------------------------------------------------- */

static void tell_pod(struct batch *b, const struct making *m)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    char uid[KUID_TEXT_MAX];
    struct kjw w = kjw_to(&body);

    kuid_format(m->pod->obj.meta.uid, uid, sizeof uid);
    kjw_obj(&w, NULL);
    kjw_obj(&w, "metadata");
    kjw_str(&w, "uid", uid); /* not another pod of that name */
    kjw_end(&w);
    kjw_obj(&w, "status");
    kjw_arr(&w, "resourceClaimStatuses");
    for (uint32_t i = 0; i < m->n; i++) {
        kjw_obj(&w, NULL);
        kjw_str(&w, "name", m->found[i].name);
        kjw_str(&w, "resourceClaimName", m->found[i].claim_name);
        kjw_end(&w);
    }
    kjw_end(&w);
    kjw_end(&w);
    kjw_end(&w);
    batch_patch(b, &m->pod->obj, "status", KUBE_PATCH_STRATEGIC, &body, NULL, NULL);
}

static void note_found(struct making *m, const struct pod_resource_claim *entry, const char *name)
{
    m->found[m->n++] = (struct resource_claim_status){ entry->name, name };
}

static void created_one(struct batch *b, struct making *m)
{
    if (--m->left == 0 && m->n > 0)
        tell_pod(b, m);
}

/* ---- making claims ------------------------------------------------------------------------- */

/* "<pod>-<entry>-" and five letters. When that is too long both parts lose in proportion. */
static const char *choose_name(struct batch *b, const struct create *x)
{
    struct arena *a = batch_arena(b);
    const struct objmeta *pod = &x->m->pod->obj.meta;
    size_t p = strlen(pod->name), e = strlen(x->entry->name), all = p + e + 2;
    char uid[KUID_TEXT_MAX], hash[HASH_NAME_MAX];
    const char *base = arena_printf(a, "%s-%s-", pod->name, x->entry->name);

    if (all > BASE_MAX)
        base = arena_printf(a, "%.*s-%.*s", (int)(p * BASE_MAX / all), pod->name,
                            (int)(e * BASE_MAX / all), x->entry->name);
    kuid_format(pod->uid, uid, sizeof uid);
    const char *seed = arena_printf(a, "%u/%s/%s", x->attempt, x->entry->name, uid);
    hash_name(seed, strlen(seed), hash);
    return arena_printf(a, "%s%.5s", base, hash);
}

static void write_texts(struct kj_mdoc *d, struct kj_mval *meta, const char *key,
                        const kstrmap *texts)
{
    struct kj_mval *to = kj_mobj(d);

    for (uint32_t i = 0; i < texts->n; i++)
        kj_mset(d, to, texts->items[i].key, kj_mstr(d, texts->items[i].value));
    kj_mset(d, meta, key, to);
}

static void write_claim(const struct create *x, struct strbuf *out)
{
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    CLEANUP(kj_doc_free) struct kj_doc *spec = NULL;
    struct kj_mval *claim = kj_mobj(d), *meta = kj_mobj(d);
    const char *text = str_or(x->template->spec, "{}");

    kj_mset(d, claim, "apiVersion", kj_mstr(d, "resource.k8s.io/v1"));
    kj_mset(d, claim, "kind", kj_mstr(d, "ResourceClaim"));
    kj_mset(d, meta, "name", kj_mstr(d, x->name));
    kj_mset(d, meta, "generateName", kj_mstrn(d, x->name, strlen(x->name) - 5));
    if (x->template->labels.n)
        write_texts(d, meta, "labels", &x->template->labels);
    write_texts(d, meta, "annotations", &x->template->annotations);
    kj_mset(d, kj_mget(meta, "annotations"), CLAIM_POD_ENTRY_ANNOTATION,
            kj_mstr(d, x->entry->name));
    kj_mset(d, meta, "ownerReferences", owner_value(d, &x->m->pod->obj));
    kj_mset(d, claim, "metadata", meta);
    if (kj_parse(text, strlen(text), KJ_RAW_NUMBERS, &spec, NULL) == 0)
        kj_mset(d, claim, "spec", kj_mcopy(d, kj_root(spec)));
    kj_mwrite(claim, 0, out);
}

static void try_create(struct batch *b, struct create *x);

/* A claim of that name is there: ours, from a create whose answer was lost, or a stranger's. */
static bool on_there(struct batch *b, struct kube_resp *r, const struct kerr *err, void *arg)
{
    struct create *x = arg;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    char uid[KUID_TEXT_MAX];
    bool ours = false;

    if (err && err->reason == KR_NOT_FOUND) { /* it has gone meanwhile */
        try_create(b, x);
        return true;
    }
    if (err || kj_parse(r->body, r->n, 0, &doc, NULL) < 0)
        return false;
    kuid_format(x->m->pod->obj.meta.uid, uid, sizeof uid);
    const struct kj_val *meta = kj_get(kj_root(doc), "metadata"), *ref;
    struct kj_iter it = kj_iter(kj_get(meta, "ownerReferences"));
    while (kj_next(&it, NULL, &ref))
        ours |= streq(kj_str_or(kj_get(ref, "uid"), ""), uid);
    if (ours && kj_type(kj_get(meta, "deletionTimestamp")) > KJ_NULL) {
        batch_again(b, NSEC_PER_SEC); /* somebody deletes it: another is made afterwards */
        created_one(b, x->m);
    } else if (ours) {
        note_found(x->m, x->entry, x->name);
        created_one(b, x->m);
    } else {
        x->attempt++;
        try_create(b, x);
    }
    return true;
}

static bool on_created(struct batch *b, struct kube_resp *r, const struct kerr *err, void *arg)
{
    struct create *x = arg;
    const char *ns = x->m->pod->obj.meta.ns;

    (void)r;
    claim_metrics_created(x->m->k->metrics, x->template->spec, !err);
    if (!err) {
        note_found(x->m, x->entry, x->name);
        created_one(b, x->m);
        return true;
    }
    if (err->reason == KR_ALREADY_EXISTS && x->attempt < ATTEMPTS_MAX) {
        batch_call(b,
                   &(struct kube_req){
                       .verb = KUBE_GET, .kind = &kind_resource_claim, .ns = ns, .name = x->name },
                   on_there, x);
        return true;
    }
    struct kerr why = *err;
    (void)kerr_wrap(&why, "create ResourceClaim %s", x->name);
    tell_failure(b, x->m, x->entry, &why);
    created_one(b, x->m);
    return true;
}

static void try_create(struct batch *b, struct create *x)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;

    x->name = choose_name(b, x);
    write_claim(x, &body);
    batch_create(b, &kind_resource_claim, x->m->pod->obj.meta.ns, &body, on_created, x);
}

static void make_claim(struct batch *b, struct making *m, const struct pod_resource_claim *entry)
{
    struct create *x = arena_new0(batch_arena(b), struct create);
    char key[KOBJ_KEY_MAX];
    struct kerr err = { 0 };

    key_of(m->pod, entry->template_name, key);
    struct kobj *template = informer_get(m->k->templates, key);
    if (!template) {
        (void)kerr_set(&err, -ENOENT,
                       "resource claim template \"%s\": resourceclaimtemplate.resource.k8s.io "
                       "\"%s\" not found",
                       entry->template_name, entry->template_name);
        tell_failure(b, m, entry, &err);
        return;
    }
    (void)batch_hold(b, template);
    *x = (struct create){ .m = m, .entry = entry, .template = claim_template_of(template) };
    m->left++;
    try_create(b, x);
}

/* The claim that was made for this entry and that the pod was not told of. */
static const struct kobj *find_made(const struct making *m, const char *entry)
{
    kobjvec mine = { 0 };
    const struct kobj *found = NULL;

    objects_by_owner(m->k->claims, m->pod->obj.meta.uid, &mine);
    vec_foreach(&mine, i) {
        const struct kobj *o = mine.items[i];
        if (!found && o->meta.deleted == 0 && claim_is_of(o, m->pod->obj.meta.uid) &&
            streq(meta_annotation(o, CLAIM_POD_ENTRY_ANNOTATION), entry))
            found = o;
    }
    vec_fini(&mine);
    return found;
}

static void see_to_entry(struct batch *b, struct making *m, const struct pod_resource_claim *entry)
{
    const char *told = pod_claim_name(m->pod, entry);
    char key[KOBJ_KEY_MAX];

    if (str_empty(entry->template_name) || (told && !*told))
        return;
    if (told) {
        key_of(m->pod, told, key);
        struct kobj *claim = informer_get(m->k->claims, key);
        if (claim && claim_is_of(claim, m->pod->obj.meta.uid))
            return;
    }
    const struct kobj *made = find_made(m, entry->name);
    if (made)
        note_found(m, entry, arena_strdup(batch_arena(b), made->meta.name));
    else
        make_claim(b, m, entry);
}

/* ---- pods that somebody else bound --------------------------------------------------------- */

static void reserve(struct batch *b, const struct pod *p, const struct kobj *claim)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    char uid[KUID_TEXT_MAX];
    struct kjw w = kjw_to(&body);

    kuid_format(p->obj.meta.uid, uid, sizeof uid);
    kjw_obj(&w, NULL);
    meta_write_version(&w, claim);
    kjw_obj(&w, "status");
    kjw_arr(&w, "reservedFor");
    kjw_obj(&w, NULL);
    kjw_str(&w, "resource", "pods");
    kjw_str(&w, "name", p->obj.meta.name);
    kjw_str(&w, "uid", uid);
    kjw_end(&w);
    kjw_end(&w);
    kjw_end(&w);
    kjw_end(&w);
    batch_patch(b, claim, "status", KUBE_PATCH_STRATEGIC, &body, NULL, NULL);
}

static void reserve_all(struct claimctl *k, struct batch *b, const struct pod *p)
{
    for (uint32_t i = 0; i < p->spec->resource_claims.n; i++) {
        const struct pod_resource_claim *entry = &p->spec->resource_claims.items[i];
        const char *name = pod_claim_name(p, entry);
        char key[KOBJ_KEY_MAX];
        if (str_empty(name))
            continue;
        key_of(p, name, key);
        struct kobj *claim = informer_get(k->claims, key);
        if (!claim || claim->meta.deleted != 0 || !resource_claim_of(claim)->status.allocation ||
            claim_is_reserved_for(resource_claim_of(claim), p->obj.meta.uid))
            continue;
        if (str_empty(entry->template_name) || claim_is_of(claim, p->obj.meta.uid))
            reserve(b, p, claim);
    }
}

/* ---- sync, news ---------------------------------------------------------------------------- */

static void sync(void *arg, struct batch *b, const char *key, struct kobj *o)
{
    struct claimctl *k = arg;
    const struct pod *p = o ? pod_of(o) : NULL;

    (void)key;
    if (!p || p->spec->resource_claims.n == 0 || !pod_is_active(p))
        return;
    struct making *m = arena_new0(batch_arena(b), struct making);
    *m = (struct making){ .k = k, .pod = p };
    m->found =
        arena_newn0(batch_arena(b), p->spec->resource_claims.n, struct resource_claim_status);
    m->left = 1; /* until all entries were looked at */
    for (uint32_t i = 0; i < p->spec->resource_claims.n; i++)
        see_to_entry(b, m, &p->spec->resource_claims.items[i]);
    created_one(b, m);
    if (!str_empty(p->node_name))
        reserve_all(k, b, p);
}

static void on_pod(void *arg, struct kobj *o)
{
    struct claimctl *k = arg;
    if (pod_of(o)->spec->resource_claims.n > 0)
        controller_add_object(k->of_pods, o);
}

static void on_pod_update(void *arg, struct kobj *old, struct kobj *o)
{
    (void)old;
    on_pod(arg, o);
}

/* Allocated: a pod that is bound already needs it. Gone: its pod needs another. */
static void on_claim(void *arg, struct kobj *o)
{
    struct claimctl *k = arg;
    char key[KOBJ_KEY_MAX];

    (void)snprintf(key, sizeof key, "%s/%s", o->meta.ns, o->meta.name);
    controller_add_by(k->of_pods, k->pods, index_claims, key);
}

static void on_claim_update(void *arg, struct kobj *old, struct kobj *o)
{
    if (!resource_claim_of(old)->status.allocation && resource_claim_of(o)->status.allocation)
        on_claim(arg, o);
}

/* Index of pods: templates of entries for which no claim was made yet. */
static void index_templates(const struct kobj *o, index_emit_fn emit, void *to)
{
    const struct pod *p = pod_of(o);
    char key[KOBJ_KEY_MAX];

    for (uint32_t i = 0; i < p->spec->resource_claims.n; i++) {
        const struct pod_resource_claim *entry = &p->spec->resource_claims.items[i];
        if (str_empty(entry->template_name) || pod_claim_name(p, entry))
            continue;
        key_of(p, entry->template_name, key);
        emit(to, key);
    }
}

static void on_template(void *arg, struct kobj *o)
{
    struct claimctl *k = arg;
    char key[KOBJ_KEY_MAX];

    (void)snprintf(key, sizeof key, "%s/%s", o->meta.ns, o->meta.name);
    controller_add_by(k->of_pods, k->pods, index_templates, key);
}

void claimctl_init_pods(struct claimctl *k)
{
    static const struct informer_handler pods = { .on_add = on_pod, .on_update = on_pod_update };
    static const struct informer_handler claims = { .on_update = on_claim_update,
                                                    .on_delete = on_claim };
    static const struct informer_handler templates = { .on_add = on_template };

    k->of_pods =
        controller_new(k->c->controllers, &(struct controller_opts){ .name = "resourceclaim-pods",
                                                                     .of = k->pods,
                                                                     .sync = sync,
                                                                     .self = k,
                                                                     .queue.concurrency = 16 });
    controller_watch(k->of_pods, k->pods, &pods, k);
    controller_watch(k->of_pods, k->claims, &claims, k);
    controller_watch(k->of_pods, k->templates, &templates, k);
}
