/* hookconfig.c - reading and watching configurations of hook servers. */
#include "runtimeproxy/hookconfig.h"

#include <dirent.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/klog.h"
#include "base/vec.h"
#include "loop/loop.h"
#include "sys/file.h"
#include "json/kj.h"

#define RESCAN_EVERY (60 * NSEC_PER_SEC)
#define SETTLE       (20 * NSEC_PER_MSEC)

enum { FILE_SIZE_MAX = 64 << 10, FILES_MAX = 100 };

struct known { /* a file */
    struct hookconfig config;
    ino_t ino;
    struct timespec mtime;
    off_t size;
    bool seen;
};
struct hookconfigs {
    struct loop *loop;
    char *dir;
    struct vec_of(struct known *) files; /* sorted by name */
    int inotify;
    struct fdwatch *watch;
    struct timer *regular, *soon;
};

/* ---- one file -------------------------------------------------------------------------------- */

static const char *const point_names[HOOK_POINTS] = {
    [HOOK_PRE_RUN_POD] = "PreRunPodSandbox",
    [HOOK_PRE_CREATE] = "PreCreateContainer",
    [HOOK_PRE_START] = "PreStartContainer",
    [HOOK_POST_START] = "PostStartContainer",
    [HOOK_PRE_UPDATE] = "PreUpdateContainerResources",
    [HOOK_POST_STOP] = "PostStopContainer",
    [HOOK_POST_STOP_POD] = "PostStopPodSandbox",
};

void hookconfig_fini(struct hookconfig *c)
{
    free(c->name);
    free(c->endpoint);
    *c = (struct hookconfig){ 0 };
}

static void add_point(const char *name, struct hookconfig *c)
{
    for (int p = 0; p < HOOK_POINTS; p++)
        if (name && streq(name, point_names[p]))
            c->points[p] = true;
}

int hookconfig_parse(struct str text, struct hookconfig *ret, struct kerr *err)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct hookconfig c = { 0 };
    const struct kj_val *item;
    struct str key;

    if (kj_parse(text.n ? text.p : "", text.n, 0, &doc, err) < 0)
        return err->code;
    const struct kj_val *root = kj_root(doc);
    const char *endpoint = kj_str(kj_get(root, "remote-endpoint"));
    const char *policy = kj_str_or(kj_get(root, "failure-policy"), "");
    if (str_empty(endpoint))
        return kerr_set(err, -EINVAL, "no remote-endpoint");
    if (*policy && !streq(policy, "Fail") && !streq(policy, "Ignore"))
        return kerr_set(err, -EINVAL, "failure-policy '%.32s' is neither Fail nor Ignore", policy);
    struct kj_iter it = kj_iter(kj_get(root, "runtime-hooks"));
    while (kj_next(&it, &key, &item))
        add_point(kj_str(item), &c);
    static const char scheme[] = "unix://";
    c.endpoint = xstrdup(str_starts(endpoint, scheme) ? endpoint + strlen(scheme) : endpoint);
    c.fail = streq(policy, "Fail");
    *ret = c;
    return 0;
}

/* ---- the directory --------------------------------------------------------------------------- */

static void known_free(struct known *k)
{
    hookconfig_fini(&k->config);
    free(k);
}

static struct known *known_find(struct hookconfigs *c, const char *name)
{
    size_t at = 0;

    while (at < c->files.n && strcmp(c->files.items[at]->config.name, name) < 0)
        at++;
    if (at < c->files.n && streq(c->files.items[at]->config.name, name))
        return c->files.items[at];
    if (c->files.n >= FILES_MAX)
        return NULL;
    struct known *k = xnew0(struct known);
    k->config.name = xstrdup(name);
    vec_insert(&c->files, at, k);
    return k;
}

static bool is_same(const struct known *k, const struct stat *st)
{
    return k->ino == st->st_ino && k->mtime.tv_sec == st->st_mtim.tv_sec &&
           k->mtime.tv_nsec == st->st_mtim.tv_nsec && k->size == st->st_size;
}

/* What it said before stands, unless another file took its place. */
static void reread(struct known *k, int dirfd, const struct stat *st)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    struct hookconfig fresh = { 0 };
    struct kerr err = { 0 };

    k->ino = st->st_ino;
    k->mtime = st->st_mtim;
    k->size = st->st_size;
    if (file_read_all(dirfd, k->config.name, FILE_SIZE_MAX, &text, &err) < 0 ||
        hookconfig_parse((struct str){ strbuf_str(&text), text.len }, &fresh, &err) < 0) {
        KLOG_E(&err,
               k->config.endpoint
                   ? "Failed to read the configuration of a hook server, the last one stays"
                   : "Failed to read the configuration of a hook server, it does not count",
               KV_S("file", k->config.name));
        return;
    }
    fresh.name = take(k->config.name);
    hookconfig_fini(&k->config);
    k->config = fresh;
    KLOG_I(0, "Read the configuration of a hook server", KV_S("file", k->config.name),
           KV_S("endpoint", k->config.endpoint),
           KV_S("failurePolicy", k->config.fail ? "Fail" : "Ignore"));
}

static int on_entry(int dirfd, const char *name, unsigned char type, void *arg, struct kerr *err)
{
    struct hookconfigs *c = arg;
    struct stat st;

    (void)type, (void)err;
    if (!str_ends(name, "json") || fstatat(dirfd, name, &st, 0) < 0 || S_ISDIR(st.st_mode))
        return 0;
    struct known *k = known_find(c, name);
    if (!k)
        return 0;
    k->seen = true;
    if (!is_same(k, &st))
        reread(k, dirfd, &st);
    return 0;
}

static void rescan(struct hookconfigs *c)
{
    struct kerr err = { 0 };

    vec_foreach(&c->files, i)
        c->files.items[i]->seen = false;
    if (dir_each(AT_FDCWD, c->dir, on_entry, c, &err) < 0)
        KLOG_E(&err, "Failed to look for hook servers", KV_S("directory", c->dir));
    for (size_t i = 0; i < c->files.n;) {
        if (c->files.items[i]->seen) {
            i++;
            continue;
        }
        KLOG_I(0, "The configuration of a hook server is gone",
               KV_S("file", c->files.items[i]->config.name));
        known_free(c->files.items[i]);
        vec_remove(&c->files, i);
    }
}

const struct hookconfig *hookconfigs_find(const struct hookconfigs *c, enum hook_point p)
{
    vec_foreach(&c->files, i)
        if (c->files.items[i]->config.endpoint && c->files.items[i]->config.points[p])
            return &c->files.items[i]->config;
    return NULL;
}

/* ---- watching -------------------------------------------------------------------------------- */

static void on_soon(struct loop *l, void *arg)
{
    struct hookconfigs *c = arg;

    (void)l;
    c->soon = NULL;
    rescan(c);
}

static void on_inotify(struct loop *l, int fd, int events, void *arg)
{
    struct hookconfigs *c = arg;
    char buf[4096];

    (void)events;
    while (read(fd, buf, sizeof buf) > 0)
        ;
    if (!c->soon)
        c->soon = loop_after(l, SETTLE, on_soon, c);
}

static void on_regular(struct loop *l, void *arg)
{
    struct hookconfigs *c = arg;

    c->regular = loop_after(l, RESCAN_EVERY, on_regular, c);
    rescan(c);
}

/* Without inotify there is the look once a minute. */
static void watch_dir(struct hookconfigs *c)
{
    if (loop_is_virtual(c->loop))
        return;
    c->inotify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (c->inotify < 0 || inotify_add_watch(c->inotify, c->dir,
                                            IN_CREATE | IN_MODIFY | IN_CLOSE_WRITE | IN_DELETE |
                                                IN_MOVED_FROM | IN_MOVED_TO) < 0) {
        KLOG_W("No inotify: changes of hook servers are seen once a minute");
        return;
    }
    c->watch = loop_watch_fd(c->loop, c->inotify, LOOP_READ, on_inotify, c);
}

int hookconfigs_start(struct hookconfigs *c, struct kerr *err)
{
    if (dir_make(AT_FDCWD, c->dir, 0755, err) < 0)
        return kerr_wrap(err, "directory of hook servers %s", c->dir);
    watch_dir(c);
    on_regular(c->loop, c);
    return 0;
}

struct hookconfigs *hookconfigs_new(struct loop *l, const char *dir)
{
    struct hookconfigs *c = xnew0(struct hookconfigs);

    c->loop = l;
    c->dir = xstrdup(dir);
    c->inotify = -1;
    return c;
}

struct hookconfigs *hookconfigs_free(struct hookconfigs *c)
{
    if (!c)
        return NULL;
    timer_cancel(c->regular);
    timer_cancel(c->soon);
    fdwatch_close(c->watch);
    fd_close(c->inotify);
    vec_foreach(&c->files, i)
        known_free(c->files.items[i]);
    vec_fini(&c->files);
    free(c->dir);
    free(c);
    return NULL;
}
