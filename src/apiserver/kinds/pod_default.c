/* pod_default.c - defaults of pod specs that depend on other fields; the rest is in the tables. */
#include "apiserver/kinds/internal.h"
#include "base/vec.h"

/* ":latest", or no tag and no digest. */
static bool is_latest(const char *image)
{
    const char *slash = strrchr(image, '/'), *name = slash ? slash + 1 : image;
    const char *digest = strchr(name, '@'), *colon = strchr(name, ':');

    if (!*image)
        return false; /* cannot be parsed: no tag */
    if (colon && (!digest || colon < digest)) {
        size_t n = digest ? (size_t)(digest - colon - 1) : strlen(colon + 1);
        return n == 6 && memcmp(colon + 1, "latest", 6) == 0;
    }
    return !digest;
}

static void default_pull_policy(struct kj_mdoc *d, struct kj_mval *c, const char *image_key,
                                const char *policy_key)
{
    const char *image = m_str(c, image_key);
    m_default_str(d, c, policy_key, is_latest(image) ? "Always" : "IfNotPresent");
}

static void default_containers(struct kj_mdoc *d, struct kj_mval *list)
{
    struct kj_miter it = kj_miter(list);
    struct kj_mval *c;

    while (kj_mnext(&it, NULL, &c))
        default_pull_policy(d, c, "image", "imagePullPolicy");
}

static void default_volume(struct kj_mdoc *d, struct kj_mval *v)
{
    if (kj_mtype(v) == KJ_OBJ && kj_mlen(v) == (m_has(v, "name") ? 1 : 0))
        kj_mset(d, v, "emptyDir", kj_mobj(d));
    if (m_has(v, "image"))
        default_pull_policy(d, kj_mget(v, "image"), "reference", "pullPolicy");
}

void podspec_default(struct kj_mdoc *d, struct kj_mval *spec)
{
    struct kj_miter it = kj_miter(kj_mget(spec, "volumes"));
    struct kj_mval *v;

    while (kj_mnext(&it, NULL, &v))
        default_volume(d, v);
    default_containers(d, kj_mget(spec, "containers"));
    default_containers(d, kj_mget(spec, "initContainers"));
    default_containers(d, kj_mget(spec, "ephemeralContainers"));
    /* The old name and the new one are the same field. */
    if (m_has(spec, "serviceAccountName"))
        kj_mset(d, spec, "serviceAccount", kj_mclone(d, kj_mget(spec, "serviceAccountName")));
    else if (m_has(spec, "serviceAccount"))
        kj_mset(d, spec, "serviceAccountName", kj_mclone(d, kj_mget(spec, "serviceAccount")));
}

void template_default(struct kj_mdoc *d, struct kj_mval *obj)
{
    podspec_default(d, m_path(obj, "spec.template.spec"));
}
