/* sts_claims.c - PersistentVolumeClaims of a StatefulSet's pods: made with the pod, kept when it
 * goes, unless persistentVolumeClaimRetentionPolicy gives them an owner that takes them along.
 */
#include "api/storage.h"
#include "cluster/sts.h"

static struct kj_doc *parse_claims(const struct sts *s)
{
    struct kj_doc *doc = NULL;

    if (s->spec.claims_json)
        (void)kj_parse(s->spec.claims_json, strlen(s->spec.claims_json), 0, &doc, NULL);
    return doc;
}

static const char *claim_name(const struct sts *s, const struct kj_val *claim, int64_t ordinal,
                              struct arena *a)
{
    return arena_printf(a, "%s-%s-%lld", kj_str_or(kj_path(claim, "metadata.name"), ""),
                        s->obj.meta.name, (long long)ordinal);
}

const char **sts_claim_names(const struct sts *s, int64_t ordinal, struct arena *a)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = parse_claims(s);
    size_t n = doc ? kj_len(kj_root(doc)) : 0;
    const char **names = arena_newn0(a, n + 1, const char *);

    for (size_t i = 0; i < n; i++)
        names[i] = claim_name(s, kj_at(kj_root(doc), i), ordinal, a);
    return names;
}

void sts_claim_write(const struct sts *s, size_t i, const char *name, struct strbuf *out)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = parse_claims(s);
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    const struct kj_val *claim = doc ? kj_at(kj_root(doc), i) : NULL;
    struct kj_mval *obj = kj_mobj(d), *meta = kj_mobj(d), *labels;
    const struct kj_val *have = kj_path(claim, "metadata.labels");
    const struct kj_val *annotations = kj_path(claim, "metadata.annotations");

    labels = have ? kj_mcopy(d, have) : kj_mobj(d);
    for (uint32_t k = 0; k < s->spec.selector.match_labels.n; k++)
        kj_mset(d, labels, s->spec.selector.match_labels.items[k].key,
                kj_mstr(d, s->spec.selector.match_labels.items[k].value));
    kj_mset(d, meta, "name", kj_mstr(d, name));
    kj_mset(d, meta, "labels", labels);
    if (annotations)
        kj_mset(d, meta, "annotations", kj_mcopy(d, annotations));
    kj_mset(d, obj, "apiVersion", kj_mstr(d, "v1"));
    kj_mset(d, obj, "kind", kj_mstr(d, "PersistentVolumeClaim"));
    kj_mset(d, obj, "metadata", meta);
    kj_mset(d, obj, "spec", kj_mcopy(d, kj_get(claim, "spec")));
    kj_mwrite(obj, 0, out);
}

/* ---- volumes of a pod ---------------------------------------------------------------------- */

static bool is_claimed(const struct kj_val *claims, const char *volume)
{
    for (size_t i = 0; i < kj_len(claims); i++)
        if (streq(kj_str_or(kj_path(kj_at(claims, i), "metadata.name"), ""), volume))
            return true;
    return false;
}

void sts_claim_volumes(const struct sts *s, int64_t ordinal, struct kj_mdoc *d, struct kj_mval *pod)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = parse_claims(s);
    CLEANUP(arena_free) struct arena *a = arena_new();
    const struct kj_val *claims = doc ? kj_root(doc) : NULL;
    struct kj_mval *spec = kj_mget(pod, "spec"), *had = kj_mget(spec, "volumes");
    struct kj_mval *volumes = kj_marr(d), *v;

    if (kj_len(claims) == 0)
        return;
    for (size_t i = 0; i < kj_len(claims); i++) {
        struct kj_mval *source = kj_mobj(d);
        v = kj_mobj(d);
        kj_mset(d, source, "claimName", kj_mstr(d, claim_name(s, kj_at(claims, i), ordinal, a)));
        kj_mset(d, v, "name",
                kj_mstr(d, kj_str_or(kj_path(kj_at(claims, i), "metadata.name"), "")));
        kj_mset(d, v, "persistentVolumeClaim", source);
        kj_mpush(volumes, v);
    }
    for (size_t i = 0; had && i < kj_mlen(had); i++)
        if (!is_claimed(claims, str_or(kj_mstr_get(kj_mget(kj_mat(had, i), "name")), "")))
            kj_mpush(volumes, kj_mclone(d, kj_mat(had, i)));
    kj_mset(d, spec, "volumes", volumes);
}

/* ---- who owns them ------------------------------------------------------------------------- */

static bool owns(const struct kobj *claim, struct kuid uid)
{
    for (uint32_t i = 0; i < claim->meta.owners.n; i++)
        if (kuid_equal(claim->meta.owners.items[i].uid, uid))
            return true;
    return false;
}

static void write_ref(struct kjw *w, const struct kobj *o)
{
    char version[64], uid[KUID_TEXT_MAX];

    kind_api_version(o->kind, version, sizeof version);
    kuid_format(o->meta.uid, uid, sizeof uid);
    kjw_obj(w, NULL);
    kjw_str(w, "apiVersion", version);
    kjw_str(w, "kind", o->kind->kind);
    kjw_str(w, "name", o->meta.name);
    kjw_str(w, "uid", uid);
    kjw_bool(w, "controller", true);
    kjw_bool(w, "blockOwnerDeletion", true);
    kjw_end(w);
}

/* A strategic merge patch: owner is added (if any), the other one removed. */
static void set_owner(struct batch *b, const struct kobj *claim, const struct kobj *owner,
                      const struct kobj *const drop[2])
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    struct kjw w = kjw_to(&body);
    char uid[KUID_TEXT_MAX];

    kjw_obj(&w, NULL);
    kjw_obj(&w, "metadata");
    kjw_str(&w, "resourceVersion", claim->meta.resource_version);
    kjw_arr(&w, "ownerReferences");
    if (owner && !owns(claim, owner->meta.uid))
        write_ref(&w, owner);
    for (int i = 0; i < 2; i++) {
        if (!drop[i] || !owns(claim, drop[i]->meta.uid))
            continue;
        kuid_format(drop[i]->meta.uid, uid, sizeof uid);
        kjw_obj(&w, NULL);
        kjw_str(&w, "$patch", "delete");
        kjw_str(&w, "uid", uid);
        kjw_end(&w);
    }
    kjw_end(&w);
    kjw_end(&w);
    kjw_end(&w);
    batch_patch(b, claim, NULL, KUBE_PATCH_STRATEGIC, &body, NULL, NULL);
}

bool sts_claims_own(struct stsctl *sc, struct batch *b, const struct stsview *v, int64_t ordinal,
                    const struct kobj *pod)
{
    struct arena *a = batch_arena(b);
    const struct sts *s = v->s;
    const char **names = s->spec.claims_json ? sts_claim_names(s, ordinal, a) : NULL;
    bool with_set = streq(str_or(s->spec.retention.when_deleted, ""), "Delete");
    bool with_pod = streq(str_or(s->spec.retention.when_scaled, ""), "Delete") &&
                    stsview_is_condemned(v, ordinal);
    const struct kobj *owner = with_pod ? pod : with_set ? &s->obj : NULL;
    const struct kobj *const drop[2] = { owner == pod ? NULL : pod,
                                         owner == &s->obj ? NULL : &s->obj };
    bool settled = true;

    for (size_t i = 0; names && names[i]; i++) {
        const struct kobj *claim =
            informer_get(sc->claims, arena_printf(a, "%s/%s", s->obj.meta.ns, names[i]));
        if (!claim || claim->meta.deleted)
            continue;
        bool right = !owner || owns(claim, owner->meta.uid);
        for (int k = 0; k < 2; k++)
            right = right && !(drop[k] && owns(claim, drop[k]->meta.uid));
        if (right)
            continue;
        set_owner(b, claim, owner, drop);
        settled = false;
    }
    return settled;
}
