/* volume_warn.c - volumes that nothing serves any more, and files of a volume that hide others. */
#include "apiserver/kinds/internal.h"
#include "apiserver/registry/registry.h"
#include "base/vec.h"

/* ---- sources --------------------------------------------------------------------------------- */

static void warn_of_source(struct api_call *call, const char *at, size_t i, struct str source)
{
    static const struct {
        struct str source;
        const char *words;
    } old[] = {
        { STR("photonPersistentDisk"), "deprecated in v1.11, non-functional in v1.16+" },
        { STR("gitRepo"), "deprecated in v1.11, and disabled by default in v1.33+" },
        { STR("scaleIO"), "deprecated in v1.16, non-functional in v1.22+" },
        { STR("flocker"), "deprecated in v1.22, non-functional in v1.25+" },
        { STR("storageos"), "deprecated in v1.22, non-functional in v1.25+" },
        { STR("quobyte"), "deprecated in v1.22, non-functional in v1.25+" },
        { STR("glusterfs"), "deprecated in v1.25, non-functional in v1.26+" },
        { STR("cephfs"), "deprecated in v1.28, non-functional in v1.31+" },
        { STR("rbd"), "deprecated in v1.28, non-functional in v1.31+" },
    };

    for (size_t k = 0; k < ARRAY_LEN(old); k++)
        if (str_eq(old[k].source, source))
            api_warn(call, "%sspec.volumes[%zu].%s: %s", at, i,
                     streq(source.p, "storageos") ? "storageOS" : source.p, old[k].words);
}

static void warn_of_ephemeral(struct api_call *call, const char *at, size_t i,
                              const struct kj_val *ephemeral)
{
    const struct kj_val *template = kj_get(ephemeral, "volumeClaimTemplate");

    if (kj_type(template) == KJ_OBJ)
        warn_of_claim_spec(call, kj_get(template, "spec"),
                           "%sspec.volumes[%zu].ephemeral.volumeClaimTemplate.spec", at, i);
}

static void warn_of_sources(struct api_call *call, const char *at, size_t i,
                            const struct kj_val *volume)
{
    struct kj_iter it = kj_iter(volume);
    const struct kj_val *v;
    struct str key;

    while (kj_next(&it, &key, &v)) {
        if (kj_type(v) != KJ_OBJ)
            continue;
        warn_of_source(call, at, i, key);
        if (str_eq(key, STR("ephemeral")))
            warn_of_ephemeral(call, at, i, v);
    }
}

/* ---- files that hide others ------------------------------------------------------------------- */

/* Pairs that are looked at, which is every one of 1400 files; who writes more is not told all. */
enum { PAIRS_MAX = 1 << 20 };

/* A file of a volume: where, and in a projected volume from what. */
struct file {
    const char *path;
    size_t n;
    const char *kind, *name; /* "ConfigMap", "its-name"; NULL: not said, no name */
};
struct files {
    struct api_call *call;
    struct file volume; /* path: its name; kind, name: what it shows */
    struct vec_of(struct file) list;
    size_t pairs;
};

/* a is b, or a directory on the way to it. */
static bool covers(const struct file *a, const struct file *b)
{
    return a->n <= b->n && memcmp(a->path, b->path, a->n) == 0 &&
           (a->n == b->n || b->path[a->n] == '/');
}

static const char *file_text(struct api_call *call, const struct file *f)
{
    const char *path = text_quoted(call->arena, arena_strndup(call->arena, f->path, f->n));

    if (!f->kind)
        return path;
    if (!f->name)
        return arena_printf(call->arena, "%s (%s)", path, f->kind);
    return arena_printf(call->arena, "%s (%s %s)", path, f->kind,
                        text_quoted(call->arena, f->name));
}

static void add_file(struct files *x, const char *path, const char *kind, const char *name)
{
    struct file f = { path, strlen(path), kind, name };

    while (f.n && path[f.n - 1] == '/')
        f.n--;
    for (size_t i = 0; f.n && i < x->list.n && x->pairs < PAIRS_MAX; i++, x->pairs++) {
        const struct file *other = &x->list.items[i];
        if (other->n && (covers(&f, other) || covers(other, &f)))
            api_warn(x->call, "volume %s: overlapping paths: %s with %s",
                     file_text(x->call, &x->volume), file_text(x->call, &f),
                     file_text(x->call, other));
    }
    vec_push(&x->list, f);
}

/* Without kind the files are all of the one source that the volume is. */
static void add_items(struct files *x, const struct kj_val *source, const char *kind,
                      const char *name)
{
    struct kj_iter it = kj_iter(kj_get(source, "items"));
    const struct kj_val *v;

    while (kj_next(&it, NULL, &v))
        add_file(x, v_str(v, "path"), kind, name);
}

static void add_certificate(struct files *x, const struct kj_val *certificate)
{
    static const char *const paths[][2] = {
        { "certificateChainPath", "PodCertificate chain" },
        { "keyPath", "PodCertificate key" },
        { "credentialBundlePath", "PodCertificate credential bundle" },
    };

    for (size_t i = 0; i < ARRAY_LEN(paths); i++)
        if (*v_str(certificate, paths[i][0]))
            add_file(x, v_str(certificate, paths[i][0]), paths[i][1], NULL);
}

static void add_source(struct files *x, struct str source, const struct kj_val *v)
{
    const char *name;

    if (str_eq(source, STR("configMap")))
        add_items(x, v, "ConfigMap", v_str(v, "name"));
    else if (str_eq(source, STR("secret")))
        add_items(x, v, "Secret", v_str(v, "name"));
    else if (str_eq(source, STR("downwardAPI")))
        add_items(x, v, "DownwardAPI", NULL);
    else if (str_eq(source, STR("serviceAccountToken")))
        add_file(x, v_str(v, "path"), "ServiceAccountToken", NULL);
    else if (str_eq(source, STR("podCertificate")))
        add_certificate(x, v);
    else if (str_eq(source, STR("clusterTrustBundle")))
        add_file(x, v_str(v, "path"), "ClusterTrustBundle",
                 (name = kj_str(kj_get(v, "name"))) ? name : v_str(v, "signerName"));
}

static void add_projected(struct files *x, const struct kj_val *source)
{
    struct kj_iter it = kj_iter(source);
    const struct kj_val *v;
    struct str key;

    while (kj_next(&it, &key, &v))
        if (kj_type(v) == KJ_OBJ)
            add_source(x, key, v);
}

static void warn_of_projected(struct files *x, const struct kj_val *projected)
{
    struct kj_iter it = kj_iter(kj_get(projected, "sources"));
    const struct kj_val *v;

    while (kj_next(&it, NULL, &v))
        if (kj_len(v) == 0)
            api_warn(x->call, "volume %s (Projected) has no sources provided",
                     text_quoted(x->call->arena, x->volume.path));
        else
            add_projected(x, v);
}

/* volume: what holds the source v, of this kind. name: of what it shows, "" when it has none. */
static void warn_of_files_of(struct api_call *call, const struct kj_val *volume, const char *kind,
                             const char *name, const struct kj_val *v)
{
    const char *own = v_str(volume, "name");
    struct files x = { .call = call,
                       .volume = { own, strlen(own), kind, *name ? v_str(v, name) : NULL } };

    if (streq(kind, "Projected"))
        warn_of_projected(&x, v);
    else
        add_items(&x, v, NULL, NULL);
    vec_fini(&x.list);
}

static void warn_of_files(struct api_call *call, const struct kj_val *volume)
{
    static const struct {
        struct str source;
        const char *kind, *name;
    } kinds[] = { { STR("configMap"), "ConfigMap", "name" },
                  { STR("secret"), "Secret", "secretName" },
                  { STR("downwardAPI"), "DownwardAPI", "" },
                  { STR("projected"), "Projected", "" } };
    struct kj_iter it = kj_iter(volume);
    const struct kj_val *v;
    struct str key;

    while (kj_next(&it, &key, &v))
        for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
            if (str_eq(kinds[i].source, key) && kj_type(v) == KJ_OBJ)
                warn_of_files_of(call, volume, kinds[i].kind, kinds[i].name, v);
}

void warn_of_volumes(struct api_call *call, const char *at, const struct kj_val *volumes)
{
    struct kj_iter it = kj_iter(volumes);
    const struct kj_val *v;

    for (size_t i = 0; kj_next(&it, NULL, &v); i++)
        warn_of_sources(call, at, i, v);
    it = kj_iter(volumes);
    while (kj_next(&it, NULL, &v))
        warn_of_files(call, v);
}
