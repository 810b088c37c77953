/* podsecrets.c - which Secrets a pod uses, and whether its service account lets it. */
#include "apiserver/admission/podsecrets.h"

#include "base/map.h"

static const char *text_of(const struct kj_val *v, const char *key)
{
    return kj_str_or(kj_get(v, key), "");
}

/* ---- any ------------------------------------------------------------------------------------- */

static bool container_uses_any(const struct kj_val *container)
{
    struct kj_iter env = kj_iter(kj_get(container, "env")),
                   from = kj_iter(kj_get(container, "envFrom"));
    const struct kj_val *v;

    while (kj_next(&env, NULL, &v))
        if (*text_of(kj_path(v, "valueFrom.secretKeyRef"), "name"))
            return true;
    while (kj_next(&from, NULL, &v))
        if (*text_of(kj_get(v, "secretRef"), "name"))
            return true;
    return false;
}

static bool volume_uses_any(const struct kj_val *volume)
{
    static const char *const paths[] = {
        "azureFile.secretName",      "cephfs.secretRef.name",
        "cinder.secretRef.name",     "csi.nodePublishSecretRef.name",
        "flexVolume.secretRef.name", "iscsi.secretRef.name",
        "rbd.secretRef.name",        "scaleIO.secretRef.name",
        "secret.secretName",         "storageos.secretRef.name"
    };
    struct kj_iter it = kj_iter(kj_path(volume, "projected.sources"));
    const struct kj_val *v;

    for (size_t i = 0; i < ARRAY_LEN(paths); i++)
        if (*kj_str_or(kj_path(volume, paths[i]), ""))
            return true;
    while (kj_next(&it, NULL, &v))
        if (*text_of(kj_get(v, "secret"), "name"))
            return true;
    return false;
}

static bool is_named(const struct kj_val *reference)
{
    return *text_of(reference, "name") != '\0';
}

bool podsecrets_any(const struct kj_val *pod)
{
    static const struct {
        const char *list;
        bool (*uses)(const struct kj_val *item);
    } where[] = {
        { "imagePullSecrets", is_named },     { "initContainers", container_uses_any },
        { "containers", container_uses_any }, { "ephemeralContainers", container_uses_any },
        { "volumes", volume_uses_any },
    };
    const struct kj_val *spec = kj_get(pod, "spec"), *v;

    for (size_t i = 0; i < ARRAY_LEN(where); i++)
        for (struct kj_iter it = kj_iter(kj_get(spec, where[i].list)); kj_next(&it, NULL, &v);)
            if (where[i].uses(v))
                return true;
    return false;
}

/* ---- foreign --------------------------------------------------------------------------------- */

bool podsecrets_are_limited(const struct kj_val *account)
{
    static const char *const yes[] = { "1", "t", "T", "TRUE", "true", "True" };
    const char *note = kj_str_or(
        kj_get(kj_path(account, "metadata.annotations"), "kubernetes.io/enforce-mountable-secrets"),
        "");

    for (size_t i = 0; i < ARRAY_LEN(yes); i++)
        if (streq(note, yes[i]))
            return true;
    return false;
}

struct judging {
    const char *account;
    struct map listed; /* keys belong to the account's document */
    struct strbuf *why;
};

static void judging_fini_p(struct judging *x)
{
    map_fini(&x->listed);
}

static struct judging judging_of(const struct kj_val *account, const char *list, struct strbuf *why)
{
    static char present;
    struct judging x = { text_of(kj_get(account, "metadata"), "name"), { 0 }, why };
    struct kj_iter it = kj_iter(kj_get(account, list));
    const struct kj_val *v;

    while (kj_next(&it, NULL, &v))
        map_putz(&x.listed, text_of(v, "name"), &present);
    return x;
}

/* `where`: the words before the name. */
static bool is_foreign(const struct judging *x, const char *secret, const char *where)
{
    if (map_getz(&x->listed, secret))
        return false;
    strbuf_appendf(x->why,
                   "%s secret.secretName=\"%s\" is not allowed because service account %s does not "
                   "reference that secret",
                   where, secret, x->account);
    return true;
}

static bool container_is_foreign(const struct judging *x, const struct kj_val *container,
                                 const char *word)
{
    CLEANUP(strbuf_fini) struct strbuf where = STRBUF_INIT;
    struct kj_iter env = kj_iter(kj_get(container, "env")),
                   from = kj_iter(kj_get(container, "envFrom"));
    const char *name = text_of(container, "name");
    const struct kj_val *v, *ref;

    while (kj_next(&env, NULL, &v)) {
        ref = kj_path(v, "valueFrom.secretKeyRef");
        if (kj_type(ref) != KJ_OBJ)
            continue;
        strbuf_reset(&where);
        strbuf_appendf(&where, "%s %s with envVar %s referencing", word, name, text_of(v, "name"));
        if (is_foreign(x, text_of(ref, "name"), where.data))
            return true;
    }
    strbuf_reset(&where);
    strbuf_appendf(&where, "%s %s with envFrom referencing", word, name);
    while (kj_next(&from, NULL, &v)) {
        ref = kj_get(v, "secretRef");
        if (kj_type(ref) == KJ_OBJ && is_foreign(x, text_of(ref, "name"), where.data))
            return true;
    }
    return false;
}

static bool containers_are_foreign(const struct judging *x, const struct kj_val *pod,
                                   const char *list, const char *word)
{
    struct kj_iter it = kj_iter(kj_get(kj_get(pod, "spec"), list));
    const struct kj_val *v;

    while (kj_next(&it, NULL, &v))
        if (container_is_foreign(x, v, word))
            return true;
    return false;
}

static bool volumes_are_foreign(const struct judging *x, const struct kj_val *pod)
{
    struct kj_iter it = kj_iter(kj_path(pod, "spec.volumes"));
    const struct kj_val *v;

    while (kj_next(&it, NULL, &v)) {
        const struct kj_val *secret = kj_get(v, "secret");
        if (kj_type(secret) == KJ_OBJ &&
            is_foreign(x, text_of(secret, "secretName"), "volume with"))
            return true;
    }
    return false;
}

static bool pulls_are_foreign(const struct judging *x, const struct kj_val *pod)
{
    const struct kj_val *list = kj_path(pod, "spec.imagePullSecrets");

    for (size_t i = 0; i < kj_len(list); i++) {
        const char *name = text_of(kj_at(list, i), "name");
        if (map_getz(&x->listed, name))
            continue;
        strbuf_appendf(x->why,
                       "imagePullSecrets[%zu].name=\"%s\" is not allowed because service account "
                       "%s does not reference that imagePullSecret",
                       i, name, x->account);
        return true;
    }
    return false;
}

bool podsecrets_foreign(const struct kj_val *account, const struct kj_val *pod, struct strbuf *why)
{
    CLEANUP(judging_fini)
    struct judging secrets = judging_of(account, "secrets", why),
                   pulls = judging_of(account, "imagePullSecrets", why);

    return volumes_are_foreign(&secrets, pod) ||
           containers_are_foreign(&secrets, pod, "initContainers", "init container") ||
           containers_are_foreign(&secrets, pod, "containers", "container") ||
           pulls_are_foreign(&pulls, pod);
}

bool podsecrets_foreign_ephemeral(const struct kj_val *account, const struct kj_val *pod,
                                  struct strbuf *why)
{
    CLEANUP(judging_fini) struct judging secrets = judging_of(account, "secrets", why);

    return containers_are_foreign(&secrets, pod, "ephemeralContainers", "ephemeral container");
}
