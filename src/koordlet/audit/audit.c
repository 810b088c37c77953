/* audit.c - writing the audit log. */
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/klog.h"
#include "base/ktime.h"
#include "component/metrics.h"
#include "koordlet/audit/audit_int.h"
#include "loop/loop.h"
#include "sys/file.h"
#include "json/kj.h"

#define FLUSH_EVERY (5 * NSEC_PER_SEC)
enum { FILE_SIZE = 2 << 20, PENDING_MAX = 32 << 10, SAME_SECOND = 9 };

static const struct metric_desc lost_desc = { "koordlet_audit_lost_bytes_total",
                                              "Bytes of audit events that could not be written.",
                                              METRIC_COUNTER };

/* ---- files ----------------------------------------------------------------------------------- */

static bool is_rotated(const char *name)
{
    size_t n = strlen(name);
    return n > 10 && strncmp(name, "audit-", 6) == 0 && streq(name + n - 4, ".log");
}

static int collect_name(int dirfd, const char *name, unsigned char type, void *arg,
                        struct kerr *err)
{
    struct audit_names *out = arg;

    (void)dirfd, (void)type, (void)err;
    if (is_rotated(name))
        vec_insert(out, 0, xstrdup(name)); /* names come in order; the newest is the last */
    return 0;
}

void audit_rotated(const struct audit *a, struct audit_names *out)
{
    struct kerr err;
    dir_each(a->dirfd, ".", collect_name, out, &err);
}

void audit_names_fini(struct audit_names *n)
{
    vec_foreach(n, i)
        free(n->items[i]);
    vec_fini(n);
}

static int open_dir(struct audit *a, struct kerr *err)
{
    int fd = dir_make_open(AT_FDCWD, a->dir, 0755, err);

    a->dirfd = fd < 0 ? -1 : fd; /* an errno could be taken for AT_FDCWD */
    return fd < 0 ? fd : 0;
}

/* What a life that was cut off wrote last may lack its end. */
static bool ends_torn(int fd, off_t size)
{
    char last = '\n';
    return size > 0 && RETRY_EINTR(pread(fd, &last, 1, size - 1)) == 1 && last != '\n';
}

static int open_file(struct audit *a, struct kerr *err)
{
    struct stat st;

    a->size = 0;
    if (a->dirfd < 0 && open_dir(a, err) < 0)
        return err->code;
    a->fd =
        openat(a->dirfd, AUDIT_FILE, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (a->fd < 0 || fstat(a->fd, &st) < 0) {
        kerr_set(err, -errno, "open %s/%s: %s", a->dir, AUDIT_FILE, strerror(errno));
        a->fd = fd_close(a->fd);
        a->dirfd = fd_close(a->dirfd); /* somebody may have removed it */
        return err->code;
    }
    a->size = (uint64_t)st.st_size;
    a->torn = ends_torn(a->fd, st.st_size);
    return 0;
}

static void drop_oldest(struct audit *a)
{
    struct audit_names names = { 0 };
    size_t keep = (size_t)(a->o.max_disk_mb * (1 << 20) / FILE_SIZE);

    audit_rotated(a, &names);
    for (size_t i = keep > 1 ? keep - 1 : 1; i < names.n; i++)
        unlinkat(a->dirfd, names.items[i], 0);
    audit_names_fini(&names);
}

static void cannot_rotate(struct audit *a, const char *name, const char *why)
{
    nsec_t now = loop_mono(a->loop);

    a->next_rotate = now + FLUSH_EVERY;
    if (complaint_due(&a->growing, now))
        KLOG_W("Cannot rotate the audit log", KV_S("to", name), KV_S("why", why));
}

static void rotate(struct audit *a)
{
    struct ktime_civil t = ktime_civil(loop_wall(a->loop));
    char name[64];
    struct kerr err;

    for (int i = 0; i < SAME_SECOND; i++) {
        snprintf(name, sizeof name, "audit-%04d-%02d-%02d-%02d-%02d-%02d-%d.log", t.year, t.month,
                 t.day, t.hour, t.minute, t.second, i);
        if (faccessat(a->dirfd, name, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
            break;
    }
    if (renameat(a->dirfd, AUDIT_FILE, a->dirfd, name) == 0)
        complaint_over(&a->growing);
    else
        cannot_rotate(a, name, strerror(errno));
    drop_oldest(a);
    a->fd = fd_close(a->fd);
    (void)open_file(a, &err); /* if not now, then before the next events are written */
}

/* ---- life ------------------------------------------------------------------------------------ */

int audit_new(struct loop *l, const struct audit_options *o, struct metrics *m, struct audit **ret,
              struct kerr *err)
{
    CLEANUP(audit_free) struct audit *a = xnew0(struct audit);

    a->loop = l;
    a->o = *o;
    a->dir = xstrdup(o->dir);
    a->dirfd = a->fd = -1;
    a->flushed = loop_mono(l);
    a->lost = metric_counter(metrics_add(m, &lost_desc), NULL);
    if (open_file(a, err) < 0)
        return kerr_wrap(err, "audit log");
    *ret = take(a);
    return 0;
}

struct audit *audit_free(struct audit *a)
{
    if (!a)
        return NULL;
    audit_flush(a);
    audit_readers_free(a);
    fd_close(a->fd);
    fd_close(a->dirfd);
    strbuf_fini(&a->pending);
    free(a->dir);
    free(a);
    return NULL;
}

/* ---- events ---------------------------------------------------------------------------------- */

static void complain_lost(struct audit *a, size_t n, const char *why)
{
    a->lost->v += (double)n;
    if (complaint_due(&a->losing, loop_mono(a->loop)))
        KLOG_W("Audit events are lost", KV_S("directory", a->dir), KV_S("why", why));
}

/* What is written to a file that has no name any more, nobody will read. One that was renamed is
 * somebody's. */
static void close_removed(struct audit *a)
{
    struct stat st;

    if (a->fd < 0 || fstat(a->fd, &st) < 0 || st.st_nlink > 0)
        return;
    if (complaint_due(&a->removed, loop_mono(a->loop)))
        KLOG_W("The audit log was removed, starting a new one", KV_S("directory", a->dir));
    a->fd = fd_close(a->fd);
    a->dirfd = fd_close(a->dirfd); /* it may be gone too */
}

void audit_flush(struct audit *a)
{
    size_t done = 0;
    struct kerr err = { 0 };

    a->flushed = loop_mono(a->loop);
    if (a->pending.len == 0)
        return;
    close_removed(a);
    if (a->fd < 0)
        (void)open_file(a, &err); /* what it says is told below */
    while (a->fd >= 0 && done < a->pending.len) {
        ssize_t n = RETRY_EINTR(write(a->fd, a->pending.data + done, a->pending.len - done));
        if (n <= 0)
            break;
        done += (size_t)n;
    }
    a->size += done;
    if (done < a->pending.len)
        complain_lost(a, a->pending.len - done, err.code < 0 ? err.text : strerror(errno));
    else if (complaint_over(&a->losing))
        KLOG_I(0, "Writing audit events works again", KV_S("directory", a->dir));
    if (done > 0)
        a->torn = a->pending.data[done - 1] != '\n';
    strbuf_reset(&a->pending);
}

static void append_text(struct kjw *w, const char *key, const char *value)
{
    if (value && *value)
        kjw_str(w, key, value);
}

void audit_log(struct audit *a, const struct audit_event *e)
{
    char when[KTIME_TEXT_MAX];

    if (!a || (a->o.verbose > 0 && e->verbosity > a->o.verbose))
        return;
    if (a->torn && a->pending.len == 0)
        strbuf_appendc(&a->pending, '\n');
    struct kjw w = kjw_to(&a->pending);
    ktime_format_nano(loop_wall(a->loop), when);
    kjw_obj(&w, NULL);
    kjw_str(&w, "createdAt", when);
    append_text(&w, "type", e->type);
    append_text(&w, "namespace", e->ns);
    append_text(&w, "name", e->name);
    append_text(&w, "container", e->container);
    append_text(&w, "reason", e->reason);
    append_text(&w, "message", e->message);
    kjw_end(&w);
    strbuf_appendc(&a->pending, '\n');
    nsec_t now = loop_mono(a->loop);
    bool full = a->size + a->pending.len >= FILE_SIZE && now >= a->next_rotate;
    if (full || a->pending.len >= PENDING_MAX || now - a->flushed >= FLUSH_EVERY)
        audit_flush(a);
    if (full && a->size >= FILE_SIZE) /* events that were lost do not fill it */
        rotate(a);
}
