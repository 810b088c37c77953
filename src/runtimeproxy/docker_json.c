/* docker_json.c - Docker's words for pods, containers and their resources. */
#include "runtimeproxy/docker_json.h"

#include "base/num.h"

#define ANNOTATION_PREFIX "annotation."
#define TYPE_LABEL        "io.kubernetes.docker.type"
#define SANDBOX_LABEL     "io.kubernetes.sandbox.id"
#define SLICE             ".slice"

/* ---- names ----------------------------------------------------------------------------------- */

bool docker_name_split(const char *name, struct arena *a, struct docker_name *ret)
{
    struct str parts[7];
    size_t n = 0;

    for (const char *p = arena_strdup(a, name + (*name == '/')), *end; p;
         p = end ? end + 1 : NULL) {
        if (n == ARRAY_LEN(parts))
            return false;
        end = strchr(p, '_');
        parts[n++] = (struct str){ p, end ? (size_t)(end - p) : strlen(p) };
    }
    if (n < 6)
        return false;
    int64_t attempt = 0;
    if (i64_parse(parts[5].p, parts[5].n, &attempt) < 0 || attempt < 0)
        attempt = 0;
    *ret = (struct docker_name){ .container = parts[1],
                                 .pod = parts[2],
                                 .ns = parts[3],
                                 .uid = parts[4],
                                 .attempt = (uint64_t)attempt };
    return true;
}

static bool is_slice(struct str s)
{
    size_t n = strlen(SLICE);

    return s.n > n && memcmp(s.p + s.n - n, SLICE, n) == 0 && s.p[0] != '-' &&
           !memchr(s.p, '/', s.n) && !memmem(s.p, s.n, "--", 2);
}

struct str docker_parent_expand(struct str name, struct arena *a)
{
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;

    if (!is_slice(name))
        return name;
    for (size_t i = 0; i < name.n - strlen(SLICE); i++)
        if (name.p[i] == '-')
            strbuf_appendf(&out, "/%.*s" SLICE, (int)i, name.p);
    strbuf_appendf(&out, "/%.*s", (int)name.n, name.p);
    return (struct str){ arena_strndup(a, strbuf_str(&out), out.len), out.len };
}

static struct str base_name(struct str path)
{
    const char *slash = path.n > 0 ? memrchr(path.p, '/', path.n) : NULL;
    size_t at = slash ? (size_t)(slash - path.p) + 1 : 0;

    return (struct str){ path.p + at, path.n - at };
}

/* ---- values ---------------------------------------------------------------------------------- */

static struct str text_of(const struct kj_val *v, struct arena *a)
{
    const char *s = kj_str(v);

    return s ? (struct str){ arena_strndup(a, s, kj_len(v)), kj_len(v) } : (struct str){ NULL, 0 };
}

static struct str copy_of(struct str s, struct arena *a)
{
    return (struct str){ arena_strndup(a, s.n ? s.p : "", s.n), s.n };
}

static bool is_annotation(struct str key)
{
    size_t n = strlen(ANNOTATION_PREFIX);

    return key.n > n && memcmp(key.p, ANNOTATION_PREFIX, n) == 0;
}

static void read_labels(const struct kj_val *v, struct arena *a, wire_map *labels,
                        wire_map *annotations)
{
    size_t n = kj_len(v), skip = strlen(ANNOTATION_PREFIX);
    struct kj_iter it = kj_iter(v);
    const struct kj_val *value;
    struct str key;

    labels->items = arena_newn0(a, n + 1, struct wire_pair);
    annotations->items = arena_newn0(a, n + 1, struct wire_pair);
    while (kj_next(&it, &key, &value)) {
        if (!key.p || !kj_str(value))
            continue;
        key = copy_of(key, a);
        if (is_annotation(key))
            annotations->items[annotations->n++] =
                (struct wire_pair){ { key.p + skip, key.n - skip }, text_of(value, a) };
        else
            labels->items[labels->n++] = (struct wire_pair){ key, text_of(value, a) };
    }
}

bool docker_is_pod(const struct kj_val *labels)
{
    return streq(kj_str_or(kj_get(labels, TYPE_LABEL), ""), "podsandbox");
}

/* Those without a value stay what they are: they are no variables of ours to change. */
static void read_envs(const struct kj_val *v, struct arena *a, struct cri_container_config *c)
{
    struct kj_iter it = kj_iter(v);
    const struct kj_val *one;
    struct str key;

    c->envs.items = arena_newn0(a, kj_len(v) + 1, struct cri_env);
    while (kj_next(&it, &key, &one)) {
        struct str s = text_of(one, a);
        const char *eq = s.n > 0 ? memchr(s.p, '=', s.n) : NULL;
        if (!eq)
            continue;
        size_t n = (size_t)(eq - s.p);
        c->envs.items[c->envs.n++] =
            (struct cri_env){ .key = { s.p, n }, .value = { eq + 1, s.n - n - 1 } };
    }
}

/* ---- resources ------------------------------------------------------------------------------- */

enum field_kind { NUMBER, TEXT, SCORE /* a number that updates do not have */ };
static const struct field {
    const char *name;
    enum field_kind kind;
    size_t off;
} fields[] = {
    { "CpuPeriod", NUMBER, offsetof(struct cri_resources, cpu_period) },
    { "CpuQuota", NUMBER, offsetof(struct cri_resources, cpu_quota) },
    { "CpuShares", NUMBER, offsetof(struct cri_resources, cpu_shares) },
    { "Memory", NUMBER, offsetof(struct cri_resources, memory_limit) },
    { "MemorySwap", NUMBER, offsetof(struct cri_resources, memory_swap_limit) },
    { "OomScoreAdj", SCORE, offsetof(struct cri_resources, oom_score_adj) },
    { "CpusetCpus", TEXT, offsetof(struct cri_resources, cpuset_cpus) },
    { "CpusetMems", TEXT, offsetof(struct cri_resources, cpuset_mems) },
};

static void read_resources(const struct kj_val *v, bool is_update, struct arena *a,
                           struct cri_resources *ret)
{
    *ret = (struct cri_resources){ 0 };
    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        void *at = (char *)ret + fields[i].off;
        const struct kj_val *one = kj_get(v, fields[i].name);
        if (fields[i].kind == TEXT)
            *(struct str *)at = text_of(one, a);
        else if (fields[i].kind == NUMBER || !is_update)
            *(int64_t *)at = kj_i64_or(one, 0);
    }
}

/* Fields that are the same are left as they were written. */
static void write_resources(struct kj_mdoc *d, struct kj_mval *to, const struct kj_val *was,
                            const struct cri_resources *now, bool is_update)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct cri_resources old;

    read_resources(was, is_update, a, &old);
    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        const void *is = (const char *)&old + fields[i].off;
        const void *at = (const char *)now + fields[i].off;
        if (fields[i].kind == TEXT) {
            struct str s = *(const struct str *)at;
            if (!str_eq(s, *(const struct str *)is))
                kj_mset(d, to, fields[i].name, kj_mstrn(d, s.n ? s.p : "", s.n));
        } else if ((fields[i].kind == NUMBER || !is_update) &&
                   *(const int64_t *)at != *(const int64_t *)is) {
            kj_mset(d, to, fields[i].name, kj_mi64(d, *(const int64_t *)at));
        }
    }
}

void docker_read_update(const struct kj_val *body, struct arena *a, struct cri_resources *ret)
{
    read_resources(body, true, a, ret);
}

void docker_write_update(const struct kj_val *body, const struct cri_resources *now,
                         struct strbuf *out)
{
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    struct kj_mval *root = kj_mcopy(d, body);

    write_resources(d, root, body, now, true);
    kj_mwrite(root, 0, out);
}

/* ---- creating -------------------------------------------------------------------------------- */

static struct cri_linux_pod *read_linux_pod(const struct kj_val *host, bool has_systemd,
                                            struct arena *a)
{
    struct cri_linux_pod *l = arena_new0(a, struct cri_linux_pod);
    struct str parent = text_of(kj_get(host, "CgroupParent"), a);

    l->cgroup_parent = has_systemd ? docker_parent_expand(parent, a) : parent;
    return l;
}

static void read_pod(const struct kj_val *config, const struct kj_val *host,
                     const struct docker_name *name, bool has_systemd, struct arena *a,
                     struct cri_run_pod_request *ret)
{
    struct cri_pod_config *c = arena_new0(a, struct cri_pod_config);

    c->metadata = arena_new0(a, struct cri_pod_metadata);
    *c->metadata = (struct cri_pod_metadata){ .name = name->pod, .ns = name->ns, .uid = name->uid };
    read_labels(kj_get(config, "Labels"), a, &c->labels, &c->annotations);
    c->linux_pod = read_linux_pod(host, has_systemd, a);
    c->linux_pod->resources = arena_new0(a, struct cri_resources);
    read_resources(host, false, a, c->linux_pod->resources);
    *ret = (struct cri_run_pod_request){ .config = c, .runtime_handler = STR("docker") };
}

static void read_container(const struct kj_val *config, const struct kj_val *host,
                           const struct docker_name *name, bool has_systemd, struct arena *a,
                           struct cri_create_request *ret)
{
    struct cri_container_config *c = arena_new0(a, struct cri_container_config);
    struct cri_pod_config *pod = arena_new0(a, struct cri_pod_config);

    c->metadata = arena_new0(a, struct cri_container_metadata);
    c->metadata->name = name->container;
    c->metadata->attempt = name->attempt;
    read_labels(kj_get(config, "Labels"), a, &c->labels, &c->annotations);
    read_envs(kj_get(config, "Env"), a, c);
    c->linux_container = arena_new0(a, struct cri_linux_container);
    c->linux_container->resources = arena_new0(a, struct cri_resources);
    read_resources(host, false, a, c->linux_container->resources);
    pod->linux_pod = read_linux_pod(host, has_systemd, a);
    *ret = (struct cri_create_request){
        .pod_id = text_of(kj_get(kj_get(config, "Labels"), SANDBOX_LABEL), a),
        .config = c,
        .pod_config = pod,
    };
}

void docker_read_create(const struct kj_val *config, const struct kj_val *host,
                        const struct docker_name *name, bool has_systemd, struct arena *a,
                        struct docker_created *ret)
{
    *ret = (struct docker_created){ .is_pod = docker_is_pod(kj_get(config, "Labels")) };
    if (ret->is_pod)
        read_pod(config, host, name, has_systemd, a, &ret->run);
    else
        read_container(config, host, name, has_systemd, a, &ret->create);
}

/* The object at this key, made when it is not there. */
static struct kj_mval *object_at(struct kj_mdoc *d, struct kj_mval *of, const char *key)
{
    struct kj_mval *v = kj_mget(of, key);

    if (kj_mtype(v) != KJ_OBJ) {
        v = kj_mobj(d);
        kj_mset(d, of, key, v);
    }
    return v;
}

static void write_map(struct kj_mdoc *d, struct kj_mval *root, const char *prefix,
                      const wire_map *now)
{
    for (uint32_t i = 0; i < now->n; i++) {
        CLEANUP(strbuf_fini) struct strbuf key = STRBUF_INIT;
        struct str value = now->items[i].value;

        strbuf_append(&key, prefix);
        strbuf_appendn(&key, now->items[i].key.n ? now->items[i].key.p : "", now->items[i].key.n);
        struct kj_mval *is = kj_mgetn(kj_mget(root, "Labels"), key.data, key.len);
        if (is && str_eqz(value, str_or(kj_mstr_get(is), "")))
            continue;
        kj_msetn(d, object_at(d, root, "Labels"), key.data, key.len,
                 kj_mstrn(d, value.n ? value.p : "", value.n));
    }
}

static bool same_envs(const struct cri_container_config *a, const struct cri_container_config *b)
{
    if (a->envs.n != b->envs.n)
        return false;
    for (uint32_t i = 0; i < a->envs.n; i++)
        if (!str_eq(a->envs.items[i].key, b->envs.items[i].key) ||
            !str_eq(a->envs.items[i].value, b->envs.items[i].value))
            return false;
    return true;
}

static void write_envs(struct kj_mdoc *d, struct kj_mval *root, const struct kj_val *was,
                       const struct cri_container_config *c)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct cri_container_config old = { 0 };
    struct kj_mval *list = kj_marr(d);
    struct kj_iter it = kj_iter(was);
    const struct kj_val *one;
    struct str key;

    read_envs(was, a, &old);
    if (same_envs(&old, c))
        return;
    while (kj_next(&it, &key, &one))
        if (!strchr(kj_str_or(one, ""), '='))
            kj_mpush(list, kj_mcopy(d, one));
    for (uint32_t i = 0; i < c->envs.n; i++) {
        CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
        const struct cri_env *e = &c->envs.items[i];
        strbuf_appendn(&text, e->key.n ? e->key.p : "", e->key.n);
        strbuf_appendc(&text, '=');
        strbuf_appendn(&text, e->value.n ? e->value.p : "", e->value.n);
        kj_mpush(list, kj_mstrn(d, text.data, text.len));
    }
    kj_mset(d, root, "Env", list);
}

static void write_parent(struct kj_mdoc *d, struct kj_mval *to, const struct kj_val *was,
                         struct str now, bool has_systemd)
{
    CLEANUP(arena_free) struct arena *a = arena_new();

    if (str_eq(read_linux_pod(was, has_systemd, a)->cgroup_parent, now))
        return;
    if (has_systemd)
        now = base_name(now);
    kj_mset(d, to, "CgroupParent", kj_mstrn(d, now.n ? now.p : "", now.n));
}

void docker_write_create(const struct kj_val *body, const struct docker_created *now,
                         bool has_systemd, struct strbuf *out)
{
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    struct kj_mval *root = kj_mcopy(d, body), *host = object_at(d, root, "HostConfig");
    const struct kj_val *was = kj_get(body, "HostConfig");
    const struct cri_linux_pod *l = NULL;
    const struct cri_resources *r = NULL;

    if (now->is_pod && now->run.config) {
        write_map(d, root, "", &now->run.config->labels);
        write_map(d, root, ANNOTATION_PREFIX, &now->run.config->annotations);
        l = now->run.config->linux_pod;
        r = l ? l->resources : NULL;
    } else if (now->create.config) {
        write_map(d, root, ANNOTATION_PREFIX, &now->create.config->annotations);
        write_envs(d, root, kj_get(body, "Env"), now->create.config);
        l = now->create.pod_config ? now->create.pod_config->linux_pod : NULL;
        r = now->create.config->linux_container ? now->create.config->linux_container->resources
                                                : NULL;
    }
    if (r)
        write_resources(d, host, was, r, false);
    if (l)
        write_parent(d, host, was, l->cgroup_parent, has_systemd);
    kj_mwrite(root, 0, out);
}
