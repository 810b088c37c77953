/* pleg.c - inotify for plegcore. */
#include "koordlet/states/pleg.h"

#include <dirent.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/klog.h"
#include "loop/loop.h"
#include "sys/file.h"

struct pleg {
    char *root; /* ends with "/" */
    int fd;
    struct fdwatch *events;
    struct plegcore *core;
};

static int watch(void *arg, const char *path)
{
    struct pleg *p = arg;
    CLEANUP(mem_free) char *full = xasprintf("%s%s", p->root, path);
    int wd = inotify_add_watch(p->fd, full, IN_CREATE | IN_DELETE | IN_ONLYDIR);

    return wd < 0 ? -errno : wd;
}

static void unwatch(void *arg, int wd)
{
    const struct pleg *p = arg;
    (void)inotify_rm_watch(p->fd, wd); /* mostly the kernel was faster */
}

struct lister {
    void (*fn)(void *to, const char *name);
    void *to;
};

static int on_entry(int dirfd, const char *name, unsigned char type, void *arg, struct kerr *err)
{
    const struct lister *l = arg;

    (void)dirfd, (void)err;
    if (type == DT_DIR)
        l->fn(l->to, name);
    return 0;
}

static void list(void *arg, const char *path, void (*fn)(void *to, const char *name), void *to)
{
    const struct pleg *p = arg;
    CLEANUP(mem_free) char *full = xasprintf("%s%s", p->root, path);
    struct lister l = { fn, to };
    struct kerr ignored = { 0 };

    (void)dir_each(AT_FDCWD, full, on_entry, &l, &ignored); /* gone: nothing to list */
}

static const struct pleg_ops ops = { watch, unwatch, list };

static void on_event(struct pleg *p, const struct inotify_event *e)
{
    if (e->mask & IN_Q_OVERFLOW)
        plegcore_rescan(p->core);
    else if (e->mask & IN_IGNORED)
        plegcore_gone(p->core, e->wd);
    else if (e->mask & IN_ISDIR && e->len > 0)
        plegcore_event(p->core, e->wd, e->mask & IN_CREATE, e->name);
}

static void on_readable(struct loop *l, int fd, int events, void *arg)
{
    _Alignas(struct inotify_event) char buf[8192];
    struct pleg *p = arg;
    ssize_t n;

    (void)l, (void)events;
    while ((n = read(fd, buf, sizeof buf)) > 0) {
        for (const char *at = buf; at < buf + n;) {
            const struct inotify_event *e = (const void *)at;
            on_event(p, e);
            at += sizeof *e + e->len;
        }
    }
    if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
        KLOG_W("Watching cgroups by inotify has ended, new pods are found by polling only");
        p->events = fdwatch_close(p->events);
    }
}

struct pleg *pleg_new(struct loop *l, const struct host *h, const struct pleg_handler *on,
                      void *arg)
{
    struct pleg *p = xnew0(struct pleg);

    p->root = xasprintf("%s%s", h->roots.cgroup, h->version == CGROUP_V1 ? "cpu/" : "");
    p->core = plegcore_new(&ops, p, on, arg);
    p->fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    int r = p->fd < 0 ? -errno : plegcore_start(p->core);
    if (r == 0) {
        p->events = loop_watch_fd(l, p->fd, LOOP_READ, on_readable, p);
        r = p->events ? 0 : -errno;
    }
    if (r == 0)
        return p;
    KLOG_W("Cannot watch cgroups by inotify, new pods are found by polling only",
           KV_S("cgroup", p->root), KV_S("err", strerror(-r)));
    return pleg_free(p);
}

struct pleg *pleg_free(struct pleg *p)
{
    if (!p)
        return NULL;
    fdwatch_close(p->events);
    plegcore_free(p->core);
    fd_close(p->fd);
    free(p->root);
    free(p);
    return NULL;
}
