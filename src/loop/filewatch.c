/* filewatch.c - inotify on directories, with polling beside and behind it. */
#include "loop/filewatch.h"

#include <sys/inotify.h>
#include <unistd.h>

#include "base/klog.h"
#include "loop/loop.h"
#include "sys/file.h"

struct filewatch {
    struct loop *loop;
    char *paths[FILEWATCH_MAX];
    uint64_t stamps[FILEWATCH_MAX];
    size_t n;
    filewatch_fn fn;
    void *arg;
    int fd; /* inotify; -1: polling only */
    struct fdwatch *events;
    struct timer *poll, *settle;
};

static bool refresh(struct filewatch *w)
{
    bool changed = false;

    for (size_t i = 0; i < w->n; i++) {
        uint64_t now = file_stamp(AT_FDCWD, w->paths[i]);
        changed |= now != w->stamps[i];
        w->stamps[i] = now;
    }
    return changed;
}

static void on_poll(struct loop *l, void *arg);

static void arm_poll(struct filewatch *w)
{
    w->poll = loop_after(w->loop, w->fd >= 0 ? FILEWATCH_POLL_BESIDE : FILEWATCH_POLL, on_poll, w);
}

static void on_poll(struct loop *l, void *arg)
{
    struct filewatch *w = arg;

    (void)l;
    arm_poll(w);
    if (refresh(w))
        w->fn(w->arg); /* w may be gone */
}

static void on_settled(struct loop *l, void *arg)
{
    struct filewatch *w = arg;

    (void)l;
    w->settle = NULL;
    if (refresh(w))
        w->fn(w->arg); /* w may be gone */
}

static void notify_stop(struct filewatch *w)
{
    w->events = fdwatch_close(w->events);
    w->fd = fd_close(w->fd);
}

/* What happened does not matter, only that something did: the stamps tell. */
static void on_events(struct loop *l, int fd, int events, void *arg)
{
    struct filewatch *w = arg;
    _Alignas(struct inotify_event) char buf[4096];
    ssize_t n;

    (void)events;
    while ((n = read(fd, buf, sizeof buf)) > 0)
        ;
    if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
        KLOG_W("Watching files by inotify has ended; looking at them from time to time instead",
               KV_S("file", w->paths[0]));
        notify_stop(w);
        timer_cancel(w->poll);
        arm_poll(w);
    }
    if (!w->settle)
        w->settle = loop_after(l, FILEWATCH_SETTLE, on_settled, w);
}

static int watch_dir(int fd, const char *path)
{
    const char *slash = strrchr(path, '/');
    size_t n = !slash ? 0 : slash == path ? 1 : (size_t)(slash - path);
    CLEANUP(mem_free) char *dir = n ? xstrndup(path, n) : xstrdup(".");
    uint32_t mask = IN_CLOSE_WRITE | IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO |
                    IN_ATTRIB | IN_MODIFY;

    return inotify_add_watch(fd, dir, mask) < 0 ? -errno : 0;
}

static void notify_start(struct filewatch *w)
{
    int r = 0;

    if (loop_is_virtual(w->loop))
        return;
    w->fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    for (size_t i = 0; i < w->n && w->fd >= 0 && r == 0; i++)
        r = watch_dir(w->fd, w->paths[i]);
    if (w->fd < 0)
        r = -errno;
    if (r == 0) {
        w->events = loop_watch_fd(w->loop, w->fd, LOOP_READ, on_events, w);
        r = w->events ? 0 : -errno;
    }
    if (r < 0) {
        KLOG_W("Cannot watch files by inotify; looking at them every ten seconds instead",
               KV_S("file", w->paths[0]), KV_S("err", strerror(-r)));
        w->fd = fd_close(w->fd);
    }
}

struct filewatch *filewatch_new(struct loop *l, const char *const *paths, size_t n, filewatch_fn fn,
                                void *arg)
{
    struct filewatch *w = xnew0(struct filewatch);

    assert(n > 0 && n <= FILEWATCH_MAX);
    *w = (struct filewatch){ .loop = l, .n = n, .fn = fn, .arg = arg, .fd = -1 };
    for (size_t i = 0; i < n; i++)
        w->paths[i] = xstrdup(paths[i]);
    notify_start(w); /* before the stamps, so that nothing falls between */
    (void)refresh(w);
    arm_poll(w);
    return w;
}

struct filewatch *filewatch_free(struct filewatch *w)
{
    if (!w)
        return NULL;
    notify_stop(w);
    timer_cancel(w->poll);
    timer_cancel(w->settle);
    for (size_t i = 0; i < w->n; i++)
        free(w->paths[i]);
    free(w);
    return NULL;
}

bool filewatch_is_notified(const struct filewatch *w)
{
    return w->fd >= 0;
}
