/* files.c - reading, writing and removing the files of models. */
#include "koordlet/predict/files.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/klog.h"
#include "base/map.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "component/metrics.h"
#include "koordlet/predict/models.h"
#include "koordlet/states/complaint.h"
#include "loop/loop.h"
#include "sys/file.h"

enum { FILE_MAX = 1 << 20, DEPTH_MAX = 4 };
#define SLOW_AFTER (60 * NSEC_PER_SEC)

struct job { /* text NULL: the file goes */
    char *uid, *text;
    size_t n;
};
struct batch {                      /* on its way to the disk; the worker owns it until done */
    struct checkpoint_files *files; /* NULL: they are gone, nobody wants to hear of it */
    char *dir;
    struct vec_of(struct job *) jobs;
    struct map by_uid; /* of jobs: one each, the newest, or a disk that hangs would fill memory */
    size_t written, failed;
    struct kerr err; /* of the last that failed */
};

struct checkpoint_files {
    struct loop *loop;
    char *dir;
    struct batch *next;  /* being filled; NULL: empty */
    struct batch *under; /* being written */
    nsec_t under_since;
    struct counter *failures;
    struct complaint complaint;
    void (*stopped)(void *arg);
    void *stopped_arg;
};

static const struct metric_desc failures_desc = {
    "koordlet_checkpoint_failures_total", "Checkpoints of predictions that could not be written.",
    METRIC_COUNTER
};

static void complain(struct checkpoint_files *f, const struct kerr *err, size_t n)
{
    f->failures->v += (double)n;
    if (complaint_due(&f->complaint, loop_mono(f->loop)))
        KLOG_E(err, "Predictions will not survive a restart", KV_S("directory", f->dir),
               KV_I("files", n));
}

/* ---- life ------------------------------------------------------------------------------------ */

struct checkpoint_files *checkpoint_files_new(struct loop *l, const char *dir, struct metrics *m)
{
    struct checkpoint_files *f = xnew0(struct checkpoint_files);

    f->loop = l;
    f->dir = xstrdup(dir);
    f->failures = metric_counter(metrics_add(m, &failures_desc), NULL);
    return f;
}

static void batch_free(struct batch *b)
{
    if (!b)
        return;
    vec_foreach(&b->jobs, i) {
        free(b->jobs.items[i]->uid);
        free(b->jobs.items[i]->text);
        free(b->jobs.items[i]);
    }
    vec_fini(&b->jobs);
    map_fini(&b->by_uid);
    free(b->dir);
    free(b);
}

struct checkpoint_files *checkpoint_files_free(struct checkpoint_files *f)
{
    if (!f)
        return NULL;
    if (f->under) /* frees itself when it is written; if the loop ends first, the process does */
        f->under->files = NULL;
    batch_free(f->next);
    free(f->dir);
    free(f);
    return NULL;
}

/* ---- writing --------------------------------------------------------------------------------- */

static void write_batch(void *arg)
{
    struct batch *b = arg;
    /* Made if it is missing: somebody may have tidied up. */
    CLEANUP(fd_close) int dirfd = dir_make_open(AT_FDCWD, b->dir, 0755, &b->err);

    vec_foreach(&b->jobs, i) {
        const struct job *j = b->jobs.items[i];
        if (dirfd < 0)
            b->failed++;
        else if (!j->text)
            unlinkat(dirfd, j->uid, 0);
        else if (file_write_atomic(dirfd, j->uid, j->text, j->n, 0644, &b->err) < 0)
            b->failed++;
        else
            b->written++;
    }
}

static void look_at_result(struct checkpoint_files *f, const struct batch *b)
{
    if (b->failed)
        complain(f, &b->err, b->failed);
    else if (b->written && complaint_over(&f->complaint))
        KLOG_I(0, "Predictions are written again", KV_S("directory", f->dir));
}

static void on_written(struct loop *l, void *arg)
{
    struct batch *b = arg;
    struct checkpoint_files *f = b->files;

    (void)l;
    if (f)
        look_at_result(f, b);
    batch_free(b);
    if (!f)
        return;
    f->under = NULL;
    checkpoint_files_flush(f);
    if (f->stopped && !f->under)
        f->stopped(f->stopped_arg);
}

/* Says so as long as it lasts. Its own error is the worker's until it is done. */
static void look_at_slow(struct checkpoint_files *f)
{
    nsec_t took = loop_mono(f->loop) - f->under_since;
    struct kerr err;

    if (took < SLOW_AFTER)
        return;
    kerr_set(&err, -ETIMEDOUT, "not written after %lld s", (long long)(took / NSEC_PER_SEC));
    complain(f, &err, f->under->jobs.n);
}

void checkpoint_files_flush(struct checkpoint_files *f)
{
    if (f->under)
        look_at_slow(f);
    if (!f->next || f->under)
        return;
    f->under = take(f->next);
    f->under->files = f;
    f->under->dir = xstrdup(f->dir);
    f->under_since = loop_mono(f->loop);
    loop_work(f->loop, write_batch, on_written, f->under);
}

static void on_idle(struct loop *l, void *arg)
{
    struct checkpoint_files *f = arg;

    (void)l;
    f->stopped(f->stopped_arg);
}

void checkpoint_files_stop(struct checkpoint_files *f, void (*done)(void *arg), void *arg)
{
    checkpoint_files_flush(f);
    f->stopped = done;
    f->stopped_arg = arg;
    if (!f->under)
        loop_post(f->loop, on_idle, f);
}

/* ---- what to write --------------------------------------------------------------------------- */

/* Hidden names (ours) and ".tmp" (of koordlet in Go) are those of writes under way. */
static bool is_write_under_way(const char *name)
{
    size_t n = strlen(name);

    return name[0] == '.' || (n > 4 && streq(name + n - 4, ".tmp"));
}

static bool is_file_name(const char *uid)
{
    size_t n = strlen(uid);

    return n > 0 && n < MODEL_UID_MAX && !strchr(uid, '/') && !is_write_under_way(uid);
}

static struct job *job_of(struct batch *b, const char *uid)
{
    struct job *j = map_getz(&b->by_uid, uid);

    if (j)
        return j;
    j = xnew0(struct job);
    j->uid = xstrdup(uid);
    vec_push(&b->jobs, j);
    map_putz(&b->by_uid, j->uid, j);
    return j;
}

static void add_job(struct checkpoint_files *f, const char *uid, const char *text, size_t n)
{
    if (!f->next)
        f->next = xnew0(struct batch);
    struct job *j = job_of(f->next, uid);
    j->text = mem_free(j->text);
    j->n = n;
    if (text) {
        j->text = xmalloc(n + 1);
        memcpy(j->text, text, n);
    }
}

void checkpoint_files_save(struct checkpoint_files *f, const char *uid, const char *text, size_t n)
{
    if (is_file_name(uid))
        add_job(f, uid, text, n);
}

void checkpoint_files_remove(struct checkpoint_files *f, const char *uid)
{
    if (is_file_name(uid))
        add_job(f, uid, NULL, 0);
}

/* ---- reading --------------------------------------------------------------------------------- */

struct reading {
    checkpoint_fn fn;
    void *arg;
    int depth;
    size_t loaded, removed;
};

static int read_file(struct reading *r, int dirfd, const char *name)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    struct kerr err = { 0 };

    if (is_write_under_way(name)) {
        /* A life that was cut off left it. What it was to replace is still there, so nothing is
         * lost and it does not count as removed. */
        unlinkat(dirfd, name, 0);
        return 0;
    }
    if (!is_file_name(name) || file_read_all(dirfd, name, FILE_MAX, &text, &err) < 0 ||
        r->fn(r->arg, name, strbuf_str(&text), text.len, &err) < 0) {
        KLOG_I(2, "Removed an unusable checkpoint", KV_S("file", name), KV_S("why", err.text));
        unlinkat(dirfd, name, 0);
        r->removed++;
        return 0;
    }
    r->loaded++;
    return 0;
}

static int on_entry(int dirfd, const char *name, unsigned char type, void *arg, struct kerr *err)
{
    struct reading *r = arg;
    struct stat st;

    if (type == DT_UNKNOWN && fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
        type = S_ISDIR(st.st_mode) ? DT_DIR : S_ISREG(st.st_mode) ? DT_REG : DT_LNK;
    if (type == DT_REG)
        return read_file(r, dirfd, name);
    if (type != DT_DIR || r->depth >= DEPTH_MAX)
        return 0;
    r->depth++;
    dir_each(dirfd, name, on_entry, r, err);
    r->depth--;
    return 0;
}

void checkpoint_files_restore(struct checkpoint_files *f, checkpoint_fn fn, void *arg)
{
    struct reading r = { .fn = fn, .arg = arg };
    struct kerr err;
    CLEANUP(fd_close) int dirfd = dir_make_open(AT_FDCWD, f->dir, 0755, &err);

    if (dirfd < 0) {
        complain(f, &err, 0);
        return;
    }
    if (dir_each(dirfd, ".", on_entry, &r, &err) < 0)
        complain(f, &err, 0);
    KLOG_I(0, "Read the checkpoints of predictions", KV_S("directory", f->dir),
           KV_I("loaded", r.loaded), KV_I("removed", r.removed));
}
