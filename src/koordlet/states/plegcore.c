/* plegcore.c - from directories that come and go to pods and containers. */
#include "base/klog.h"
#include "base/map.h"
#include "base/vec.h"
#include "koordlet/kernel/naming.h"
#include "koordlet/states/pleg.h"

enum level { LEVEL_ROOT, LEVEL_KUBEPODS, LEVEL_QOS, LEVEL_POD };

struct dir {
    enum level level;
    const struct cgroup_layout *driver;        /* whose names it has; nothing at the root */
    int wd;                                    /* -1: not watched */
    bool seen;                                 /* in the scan that runs */
    char *path, *pod_id;                       /* pod_id: of a pod only */
    struct hashes vec_of(uint64_t) containers; /* their names */
};

struct plegcore {
    const struct pleg_ops *ops;
    void *ops_arg;
    struct pleg_handler on;
    void *arg;
    struct dirs vec_of(struct dir *) dirs;
    bool quiet;     /* the first scan: nothing of it is news */
    bool scanning;  /* all of it is looked at again */
    bool exhausted; /* a watch was refused; it has been logged */
};

static void dir_free(struct dir *d)
{
    vec_fini(&d->containers);
    free(d->path);
    free(d->pod_id);
    free(d);
}

static struct dir *dir_by_wd(const struct plegcore *c, int wd)
{
    vec_foreach(&c->dirs, i)
        if (c->dirs.items[i]->wd == wd)
            return c->dirs.items[i];
    return NULL;
}

static struct dir *dir_by_path(const struct plegcore *c, const char *path)
{
    vec_foreach(&c->dirs, i)
        if (streq(c->dirs.items[i]->path, path))
            return c->dirs.items[i];
    return NULL;
}

static char *path_join(const char *dir, const char *name)
{
    return *dir ? xasprintf("%s/%s", dir, name) : xstrdup(name);
}

/* ---- what a name in a directory means -------------------------------------------------------- */

static const char *last_component(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool is_qos_dir(const struct cgroup_layout *d, const char *name)
{
    return streq(name, last_component(cgroup_qos_dir(d, KUBE_QOS_BURSTABLE))) ||
           streq(name, last_component(cgroup_qos_dir(d, KUBE_QOS_BEST_EFFORT)));
}

/* The root of all pods, or a directory on the way to one. */
static bool classify_root(const struct dir *in, const char *name, enum level *level,
                          const struct cgroup_layout **driver)
{
    CLEANUP(mem_free) char *path = path_join(in->path, name);
    size_t n = strlen(path);

    *level = LEVEL_KUBEPODS;
    for (size_t i = 0; i < CGROUP_LAYOUTS; i++) {
        const char *kubepods = cgroup_kubepods(&cgroup_layouts[i]);
        *driver = &cgroup_layouts[i];
        if (streq(path, kubepods))
            return true;
        if (strncmp(path, kubepods, n) == 0 && kubepods[n] == '/') {
            *level = LEVEL_ROOT;
            return true;
        }
    }
    return false;
}

/* false: nothing of ours. id: of a pod. */
static bool classify(const struct dir *in, const char *name, enum level *level,
                     const struct cgroup_layout **driver, struct str *id)
{
    struct kerr ignored = { 0 };

    *driver = in->driver;
    *id = (struct str){ NULL, 0 };
    switch (in->level) {
    case LEVEL_ROOT: return classify_root(in, name, level, driver);
    case LEVEL_KUBEPODS:
        *level = LEVEL_QOS;
        if (is_qos_dir(in->driver, name))
            return true;
        break;
    case LEVEL_QOS: break;
    case LEVEL_POD: return false;
    }
    *level = LEVEL_POD;
    return cgroup_pod_id(in->driver, name, id, &ignored) == 0 && id->n > 0;
}

/* ---- coming ---------------------------------------------------------------------------------- */

struct listing {
    struct plegcore *c;
    struct dir *in;
};
static void entered(struct plegcore *c, struct dir *in, const char *name);

static void listed(void *to, const char *name)
{
    struct listing *l = to;
    entered(l->c, l->in, name);
}

static void dir_watch(struct plegcore *c, struct dir *d)
{
    if (d->level == LEVEL_POD && !c->on.container_added && !c->on.container_deleted)
        return;
    d->wd = c->ops->watch(c->ops_arg, d->path);
    /* Gone again is fine: its parent will tell. */
    if (d->wd < 0 && d->wd != -ENOENT && !c->exhausted) {
        KLOG_W("Cannot watch a cgroup, its pods are found by polling only", KV_S("cgroup", d->path),
               KV_S("err", strerror(-d->wd)));
        c->exhausted = true;
    }
    if (d->wd < 0)
        d->wd = -1;
    struct listing l = { c, d };
    c->ops->list(c->ops_arg, d->path, listed, &l);
}

static void container_entered(struct plegcore *c, struct dir *pod, const char *name)
{
    uint64_t hash = hash_bytes(name, strlen(name));
    struct kerr ignored = { 0 };
    struct str id;

    vec_foreach(&pod->containers, i)
        if (pod->containers.items[i] == hash)
            return;
    if (cgroup_container_id(pod->driver, name, &id, &ignored) < 0)
        return;
    vec_push(&pod->containers, hash);
    CLEANUP(mem_free) char *text = xstrndup(id.p, id.n);
    if (c->on.container_added && !c->quiet)
        c->on.container_added(c->arg, pod->pod_id, text);
}

static void dir_add(struct plegcore *c, struct dir *d)
{
    d->wd = -1;
    d->seen = true;
    vec_push(&c->dirs, d);
    if (d->pod_id && c->on.pod_added && !c->quiet)
        c->on.pod_added(c->arg, d->pod_id);
    dir_watch(c, d);
}

static void entered(struct plegcore *c, struct dir *in, const char *name)
{
    CLEANUP(mem_free) char *path = path_join(in->path, name);
    const struct cgroup_layout *driver;
    enum level level;
    struct str id;

    if (in->level == LEVEL_POD) {
        container_entered(c, in, name);
        return;
    }
    struct dir *known = dir_by_path(c, path);
    if (known) {
        bool again = c->scanning && !known->seen;
        known->seen = true;
        if (again)
            dir_watch(c, known); /* a new directory of an old name has no watch */
        return;
    }
    if (!classify(in, name, &level, &driver, &id))
        return;
    struct dir *d = xnew0(struct dir);
    *d = (struct dir){ .level = level,
                       .driver = driver,
                       .path = take(path),
                       .pod_id = id.n ? xstrndup(id.p, id.n) : NULL };
    dir_add(c, d);
}

/* ---- going ----------------------------------------------------------------------------------- */

static void dir_drop(struct plegcore *c, size_t i)
{
    struct dir *d = c->dirs.items[i];

    vec_swap_remove(&c->dirs, i);
    if (d->wd >= 0)
        c->ops->unwatch(c->ops_arg, d->wd);
    if (d->pod_id && c->on.pod_deleted)
        c->on.pod_deleted(c->arg, d->pod_id);
    dir_free(d);
}

static bool is_below(const char *path, const char *top)
{
    size_t n = strlen(top);
    return strncmp(path, top, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

static void container_left(struct plegcore *c, struct dir *pod, const char *name)
{
    uint64_t hash = hash_bytes(name, strlen(name));
    struct kerr ignored = { 0 };
    struct str id;

    vec_foreach(&pod->containers, i) {
        if (pod->containers.items[i] != hash)
            continue;
        vec_swap_remove(&pod->containers, i);
        if (cgroup_container_id(pod->driver, name, &id, &ignored) == 0 && c->on.container_deleted) {
            CLEANUP(mem_free) char *text = xstrndup(id.p, id.n);
            c->on.container_deleted(c->arg, pod->pod_id, text);
        }
        return;
    }
}

static void left(struct plegcore *c, struct dir *in, const char *name)
{
    if (in->level == LEVEL_POD) {
        container_left(c, in, name);
        return;
    }
    CLEANUP(mem_free) char *path = path_join(in->path, name);
    for (size_t i = c->dirs.n; i-- > 0;)
        if (is_below(c->dirs.items[i]->path, path))
            dir_drop(c, i);
}

/* ---- from outside ---------------------------------------------------------------------------- */

struct plegcore *plegcore_new(const struct pleg_ops *ops, void *ops_arg,
                              const struct pleg_handler *on, void *arg)
{
    struct plegcore *c = xnew0(struct plegcore);
    *c = (struct plegcore){ .ops = ops, .ops_arg = ops_arg, .on = *on, .arg = arg };
    return c;
}

struct plegcore *plegcore_free(struct plegcore *c)
{
    if (!c)
        return NULL;
    vec_foreach(&c->dirs, i)
        dir_free(c->dirs.items[i]);
    vec_fini(&c->dirs);
    free(c);
    return NULL;
}

int plegcore_start(struct plegcore *c)
{
    struct dir *root = xnew0(struct dir);

    root->path = xstrdup("");
    c->quiet = true;
    dir_add(c, root);
    c->quiet = false;
    return root->wd < 0 ? -ENOENT : 0;
}

void plegcore_event(struct plegcore *c, int wd, bool created, const char *name)
{
    struct dir *in = dir_by_wd(c, wd);

    if (!in)
        return;
    if (created)
        entered(c, in, name);
    else
        left(c, in, name);
}

void plegcore_gone(struct plegcore *c, int wd)
{
    struct dir *d = dir_by_wd(c, wd);
    if (d)
        d->wd = -1;
}

void plegcore_rescan(struct plegcore *c)
{
    vec_foreach(&c->dirs, i)
        c->dirs.items[i]->seen = false;
    c->scanning = true;
    struct dir *root = c->dirs.items[0];
    root->seen = true;
    dir_watch(c, root);
    c->scanning = false;
    for (size_t i = c->dirs.n; i-- > 0;)
        if (!c->dirs.items[i]->seen)
            dir_drop(c, i);
}
