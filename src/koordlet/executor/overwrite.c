/* overwrite.c - nobody overwrites an owned file unseen: fanotify tells who wrote, at once.
 *
 * Directories of cgroups with files that we own are marked; an event names the process. What
 * differs from the plan is written again in the same turn, audited and counted with the writer's
 * name. Who insists, five times within a minute, is let alone for a minute, and an event says so:
 * two writers that fight help nobody. Real loops only; without fanotify the forced update finds
 * such writes.
 */
#include <limits.h>
#include <stdio.h>
#include <sys/fanotify.h>
#include <unistd.h>

#include "base/klog.h"
#include "client/events.h"
#include "component/metrics.h"
#include "koordlet/audit/audit.h"
#include "koordlet/executor/executor_int.h"
#include "koordlet/kernel/sysfs.h"
#include "loop/loop.h"
#include "sys/file.h"

#define WINDOW (60 * NSEC_PER_SEC)
enum { PATIENCE = 5 };

struct overwrites {
    struct executor *e;
    int fd;
    struct fdwatch *watch;
    struct metric *counter;
    struct recorder *recorder; /* made when there is something to say */
};

static const struct metric_desc overwritten_desc = {
    "koordlet_kernel_file_overwritten_total",
    "Writes of others to kernel files that the agent owns.",
    METRIC_COUNTER,
    .labels = { "type", "writer" },
    .max_children = 200,
};

/* ---- what to do about one -------------------------------------------------------------------- */

static void writer_name(const struct executor *e, pid_t pid, char *buf, size_t size)
{
    struct str comm;

    if (pid <= 0 || sysfs_text(e->env.host, e->env.host->proc_fd, &comm, "%d/comm", (int)pid) < 0)
        snprintf(buf, size, "unknown");
    else
        snprintf(buf, size, "%.*s", (int)MIN(comm.n, (size_t)32), comm.p);
}

static void tell(struct overwrites *o, const struct target *t, const char *writer)
{
    struct executor *e = o->e;
    char message[512];

    if (o->counter)
        counter_inc(metric_counter(o->counter,
                                   METRIC_VALUES(plan_file_type((enum plan_file)t->file), writer)));
    KLOG_I(2, "Another program wrote to a kernel file that the agent owns",
           KV_S("file", target_path(e, t)), KV_S("writer", writer));
    snprintf(message, sizeof message, "%s of %s was written by %s",
             plan_file_type((enum plan_file)t->file), t->dir->path, writer);
    audit_log(e->env.audit, &(struct audit_event){ .type = "group",
                                                   .name = t->dir->path,
                                                   .reason = "Overwritten",
                                                   .message = message,
                                                   .verbosity = 3 });
}

static const struct kobj *target_pod(const struct target *t)
{
    for (const struct proposal *p = t->proposals; p; p = p->next)
        if (p->at.pod)
            return p->at.pod->obj;
    return NULL;
}

/* On the pod, or on the Node where a file is of a class or of a host application. */
static void tell_insisting(struct overwrites *o, const struct target *t, const char *writer)
{
    static const char text[] = "%s keeps writing to %s, which koordlet owns (%s): left alone for a "
                               "minute";
    struct executor *e = o->e;
    const struct kobj *pod = target_pod(t);
    struct event_about node = {
        .api_version = "v1", .kind = "Node", .name = e->env.node_name, .uid = e->env.node_name
    };
    const char *owner = target_writer(t).owner;

    KLOG_W("Another program keeps writing to a kernel file: left alone for a minute",
           KV_S("file", target_path(e, t)), KV_S("writer", writer));
    if (!e->env.kube)
        return;
    if (!o->recorder)
        o->recorder = recorder_new(e->env.kube, &(struct recorder_opts){ .component = "koordlet",
                                                                         .instance = node.name,
                                                                         .host = node.name,
                                                                         .queue_max = 32,
                                                                         .in_flight = 1 });
    if (pod)
        recorder_event_on(o->recorder, pod, true, "KernelFileOverwritten", "Write", text, writer,
                          target_path(e, t), owner);
    else
        recorder_event(o->recorder, &node, true, "KernelFileOverwritten", "Write", text, writer,
                       target_path(e, t), owner);
}

static void target_overwritten(struct executor *e, struct target *t, pid_t writer)
{
    nsec_t now = loop_mono(e->env.loop);
    char name[64];

    if (!t->want.known || t->busy || target_read(e, t) < 0 ||
        value_equal(t->file, &t->is, &t->want))
        return;
    writer_name(e, writer, name, sizeof name);
    tell(e->overwrites, t, name);
    if (t->others == 0 || now - t->others_since > WINDOW) {
        t->others = 0;
        t->others_since = now;
    }
    if (t->others >= PATIENCE) {
        if (t->others == PATIENCE)
            tell_insisting(e->overwrites, t, name);
        t->others = PATIENCE + 1;
        target_hold(e, t, now + WINDOW);
        return;
    }
    t->others++;
    target_list(e, t);
    pass_post(e);
}

/* ---- events ---------------------------------------------------------------------------------- */

/* The target of "/sys/fs/cgroup/cpu/kubepods/.../cpu.shares"; NULL: none of ours. */
static struct target *target_of_path(struct executor *e, const char *path)
{
    const struct host *h = e->env.host;
    size_t root = strlen(h->roots.cgroup);
    char dir[PATH_MAX];

    if (strncmp(path, h->roots.cgroup, root) != 0)
        return NULL;
    const char *p = path + root, *file = strrchr(p, '/');
    for (unsigned f = 0; file && f < PLAN_CGROUP_FILES; f++) {
        const struct cgroup_file *c = e->resources[f] ? &e->resources[f]->files[h->version] : NULL;
        size_t skip = c && *c->subsystem ? strlen(c->subsystem) + 1 : 0;
        if (!c || !streq(c->name, file + 1) ||
            (skip && (strncmp(p, c->subsystem, skip - 1) != 0 || p[skip - 1] != '/')) ||
            p + skip > file)
            continue;
        snprintf(dir, sizeof dir, "%.*s", (int)(file - p - (ptrdiff_t)skip), p + skip);
        struct target *t = target_find(e, f, dir, NULL);
        if (t && (t->owned || target_is_acting(t)))
            return t;
    }
    return NULL;
}

static void on_event(struct overwrites *o, const struct fanotify_event_metadata *ev)
{
    char link[64], path[PATH_MAX];

    if (ev->fd < 0)
        return;
    snprintf(link, sizeof link, "/proc/self/fd/%d", ev->fd);
    ssize_t n = ev->pid == getpid() ? -1 : readlink(link, path, sizeof path - 1);
    fd_close(ev->fd);
    if (n < 0)
        return;
    path[n] = '\0';
    struct target *t = target_of_path(o->e, path);
    if (t)
        target_overwritten(o->e, t, ev->pid);
}

static void on_readable(struct loop *l, int fd, int events, void *arg)
{
    struct overwrites *o = arg;
    union {
        struct fanotify_event_metadata first;
        char bytes[8192];
    } buf;
    ssize_t n;

    (void)l, (void)events;
    while ((n = RETRY_EINTR(read(fd, &buf, sizeof buf))) > 0) {
        const struct fanotify_event_metadata *ev = &buf.first;
        for (; FAN_EVENT_OK(ev, n); ev = FAN_EVENT_NEXT(ev, n))
            on_event(o, ev);
    }
}

/* ---- life ------------------------------------------------------------------------------------ */

struct overwrites *overwrites_new(struct executor *e)
{
    int fd = fanotify_init(FAN_CLASS_NOTIF | FAN_CLOEXEC | FAN_NONBLOCK | FAN_UNLIMITED_MARKS,
                           O_RDONLY | O_CLOEXEC | O_LARGEFILE);

    if (fd < 0) {
        KLOG_I(0, "Writes of others to kernel files are found by the forced update only",
               KV_S("why", strerror(errno)));
        return NULL;
    }
    struct overwrites *o = xnew0(struct overwrites);
    o->e = e;
    o->fd = fd;
    o->watch = loop_watch_fd(e->env.loop, fd, LOOP_READ, on_readable, o);
    o->counter = e->env.metrics ? metrics_add(e->env.metrics, &overwritten_desc) : NULL;
    return o;
}

struct overwrites *overwrites_free(struct overwrites *o)
{
    if (!o)
        return NULL;
    fdwatch_close(o->watch);
    fd_close(o->fd);
    recorder_free(o->recorder);
    free(o);
    return NULL;
}

/* A directory that is marked already may be marked again. */
void overwrites_mark(struct overwrites *o, struct target *t)
{
    char dir[PATH_MAX];

    if (!o || t->marked || t->dir->root != EXECUTOR_CGROUP)
        return;
    snprintf(dir, sizeof dir, "%s", target_path(o->e, t));
    char *slash = strrchr(dir, '/');
    if (!slash)
        return;
    *slash = '\0';
    t->marked = fanotify_mark(o->fd, FAN_MARK_ADD | FAN_MARK_ONLYDIR,
                              FAN_MODIFY | FAN_EVENT_ON_CHILD, o->e->env.host->cgroup_fd, dir) == 0;
}
