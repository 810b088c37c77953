/* podset.c - pods of the kubelet, decoded, and sets of them. */
#include "koordlet/states/podset.h"

#include "base/vec.h"
#include "json/kj.h"

/* ---- one pod --------------------------------------------------------------------------------- */

/* Texts and containers of a pod while their number is not known; offsets into the text. */
struct draft_container {
    size_t name, id, path; /* path 0: none */
    bool running;
};
struct draft {
    struct strbuf text; /* begins with the pod's directory */
    size_t pod_dir;     /* its length */
    struct draft_list vec_of(struct draft_container) containers, init_containers;
    struct vec_of(size_t) ips;
};

static void draft_fini(struct draft *d)
{
    strbuf_fini(&d->text);
    vec_fini(&d->containers);
    vec_fini(&d->init_containers);
    vec_fini(&d->ips);
}
static void draft_fini_p(struct draft *d)
{
    draft_fini(d);
}

static size_t draft_text(struct draft *d, const char *s)
{
    size_t at = d->text.len;
    strbuf_appendn(&d->text, s, strlen(s) + 1);
    return at;
}

static void draft_container(struct draft *d, const struct cgroup_layout *driver,
                            const struct kj_val *status, struct draft_list *to)
{
    const char *id = kj_str_or(kj_get(status, "containerID"), "");
    struct kerr ignored = { 0 };

    if (!*id)
        return; /* it was not started yet */
    struct draft_container c = {
        .name = draft_text(d, kj_str_or(kj_get(status, "name"), "")),
        .id = draft_text(d, id),
        .running = kj_type(kj_path(status, "state.running")) == KJ_OBJ,
    };
    size_t at = d->text.len;
    strbuf_reserve(&d->text, d->pod_dir + 1); /* its own beginning is appended */
    strbuf_appendn(&d->text, d->text.data, d->pod_dir);
    strbuf_appendc(&d->text, '/');
    if (cgroup_container_name(driver, id, &d->text, &ignored) == 0) {
        strbuf_appendn(&d->text, "", 1);
        c.path = at;
    } else {
        strbuf_truncate(&d->text, at);
    }
    vec_push(to, c);
}

static void draft_statuses(struct draft *d, const struct cgroup_layout *driver,
                           const struct kj_val *list, struct draft_list *to)
{
    struct kj_iter it = kj_iter(list);
    const struct kj_val *status;
    struct str key;

    while (kj_next(&it, &key, &status))
        draft_container(d, driver, status, to);
}

static void draft_ips(struct draft *d, const struct kj_val *in)
{
    const struct kj_val *list = kj_path(in, "status.podIPs");

    for (size_t i = 0; i < kj_len(list); i++) {
        const char *ip = kj_str_or(kj_get(kj_at(list, i), "ip"), "");
        if (*ip)
            vec_push(&d->ips, draft_text(d, ip));
    }
    const char *only = kj_str_or(kj_path(in, "status.podIP"), "");
    if (d->ips.n == 0 && *only)
        vec_push(&d->ips, draft_text(d, only));
}

static void take_containers(const struct draft *d, const struct draft_list *from, const char *text,
                            struct npod_container *ret)
{
    vec_foreach(from, i) {
        const struct draft_container *c = &from->items[i];
        const char *path = c->path ? text + c->path : NULL;
        ret[i] = (struct npod_container){
            .name = text + c->name,
            .id = text + c->id,
            .dir = path ? path + d->pod_dir + 1 : NULL,
            .cgroup_dir = path,
            .running = c->running,
        };
    }
}

/* The pod in one block, with what the draft holds behind it. */
static struct npod *draft_take(const struct draft *d)
{
    size_t n = d->containers.n, ninit = d->init_containers.n;
    size_t head = sizeof(struct npod) + (n + ninit) * sizeof(struct npod_container) +
                  d->ips.n * sizeof(char *);
    struct npod *p = xcalloc(1, head + d->text.len);
    char *text = (char *)p + head;

    memcpy(text, d->text.data, d->text.len);
    p->refs = 1;
    p->cgroup_dir = text;
    p->ncontainers = (uint32_t)n;
    p->containers = (struct npod_container *)(void *)(p + 1);
    p->ninit_containers = (uint32_t)ninit;
    p->init_containers = p->containers + n;
    p->nips = (uint32_t)d->ips.n;
    p->ips = (const char **)(void *)(p->init_containers + ninit);
    take_containers(d, &d->containers, text, p->containers);
    take_containers(d, &d->init_containers, text, p->init_containers);
    vec_foreach(&d->ips, i)
        p->ips[i] = text + d->ips.items[i];
    return p;
}

/* UIDs become names of directories: a pod must not choose another place. */
static bool uid_is_usable(const char *uid)
{
    return *uid && *uid != '.' && strlen(uid) < sizeof((struct npod *)0)->uid && !strchr(uid, '/');
}

int npod_decode(const struct kj_val *in, uint64_t stamp, const struct cgroup_layout *driver,
                struct kj_scratch *scratch, struct npod **ret, struct kerr *err)
{
    CLEANUP(kobj_unref) struct kobj *obj = NULL;
    CLEANUP(draft_fini) struct draft d = { 0 };
    char uid[KUID_TEXT_MAX];

    int r = kobj_decode(&kind_pod, in, scratch, &obj, err);
    if (r < 0)
        return r;
    kuid_format(obj->meta.uid, uid, sizeof uid);
    if (!uid_is_usable(uid))
        return kerr_set(err, -EINVAL, "pod %s/%s: its UID '%.80s' is not usable",
                        str_or(obj->meta.ns, ""), obj->meta.name, uid);
    struct pod_identity who = pod_identity(pod_of(obj));
    cgroup_pod_dir(driver, who.kube_qos, uid, &d.text);
    d.pod_dir = d.text.len;
    strbuf_appendn(&d.text, "", 1);
    draft_statuses(&d, driver, kj_path(in, "status.containerStatuses"), &d.containers);
    draft_statuses(&d, driver, kj_path(in, "status.initContainerStatuses"), &d.init_containers);
    draft_ips(&d, in);

    struct npod *p = draft_take(&d);
    memcpy(p->uid, uid, strlen(uid) + 1);
    p->stamp = stamp;
    p->kube_qos = who.kube_qos;
    p->qos = pod_qos_class(pod_of(obj));
    p->priority = pod_priority_class(pod_of(obj));
    p->obj = take(obj);
    *ret = p;
    return 0;
}

struct npod *npod_ref(struct npod *p)
{
    p->refs++;
    return p;
}

struct npod *npod_unref(struct npod *p)
{
    if (p && --p->refs == 0) {
        kobj_unref(p->obj);
        free(p);
    }
    return NULL;
}

/* ---- sets ------------------------------------------------------------------------------------ */

static int by_uid(const void *a, const void *b)
{
    const struct npod *const *x = a, *const *y = b;
    return strcmp((*x)->uid, (*y)->uid);
}

struct podset *podset_new(struct npod **pods, size_t n)
{
    struct podset *s = xnew0(struct podset);

    if (n > 0)
        qsort(pods, n, sizeof *pods, by_uid);
    s->refs = 1;
    s->pods = pods;
    for (size_t i = 0; i < n; i++) {
        if (s->n > 0 && streq(pods[s->n - 1]->uid, pods[i]->uid))
            npod_unref(pods[i]);
        else
            pods[s->n++] = pods[i];
    }
    return s;
}

struct podset *podset_ref(struct podset *s)
{
    s->refs++;
    return s;
}

struct podset *podset_unref(struct podset *s)
{
    if (!s || --s->refs > 0)
        return NULL;
    for (uint32_t i = 0; i < s->n; i++)
        npod_unref(s->pods[i]);
    free(s->pods);
    free(s);
    return NULL;
}

const struct npod *podset_find(const struct podset *s, const char *uid)
{
    size_t lo = 0, hi = s ? s->n : 0;

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        int c = strcmp(s->pods[mid]->uid, uid);
        if (c == 0)
            return s->pods[mid];
        if (c < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return NULL;
}
