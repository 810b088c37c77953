/* executor.h - the only writer of kernel files: composes proposals, orders writes, keeps values.
 *
 * Owners submit plans (plan.h). For each file the executor composes what is proposed into one
 * value, fits it to the rules of the kernel (a burst is not above its quota, a child not above its
 * parent), and writes what differs: parents before children where a limit grows, children first
 * where it shrinks. A file nobody proposes for any more gets back what the kubelet wrote, or the
 * kernel's default. Values are remembered: unless something changed, a round reads and writes
 * nothing until the forced update, which compares all of them with the kernel again.
 *
 * A refused write is told in one line a minute with pod, file and value, and tried again with
 * back-off; the others proceed. Writes that the kernel may hold (a memory limit below the usage)
 * run on a worker, one at a time for each directory. Loop thread only.
 */
#ifndef KOORD_KOORDLET_EXECUTOR_H
#define KOORD_KOORDLET_EXECUTOR_H
#include "base/strbuf.h"
#include "koordlet/executor/plan.h"

struct audit;
struct executor;
struct host;
struct kube;
struct loop;
struct metrics;

enum executor_root { EXECUTOR_CGROUP, EXECUTOR_RESCTRL, EXECUTOR_PROC, EXECUTOR_SYS };

/* How the kernel is reached; paths are relative to a root. Answers are 0 or a negative errno. */
struct executor_ops {
    /* Appends the text. */
    int (*read)(void *arg, enum executor_root r, const char *path, struct strbuf *out);
    int (*write)(void *arg, enum executor_root r, const char *path, const char *text, size_t n,
                 bool append); /* one write */
    /* The same in two steps: opens it, a number >= 0; then writes and closes it on any thread,
     * even when arg is gone. */
    int (*write_begin)(void *arg, enum executor_root r, const char *path);
    int (*write_end)(void *arg, int opened, const char *text, size_t n);
    bool (*exists)(void *arg, enum executor_root r, const char *path);
    int (*make_dir)(void *arg, enum executor_root r, const char *path);
    int (*remove_dir)(void *arg, enum executor_root r, const char *path);
    /* Calls fn for each directory in path, in any order. */
    void (*list)(void *arg, enum executor_root r, const char *path,
                 void (*fn)(void *to, const char *name), void *to);
};
/* The files of a host; arg is the struct host. */
extern const struct executor_ops executor_ops_host;

struct executor_env { /* borrowed */
    struct loop *loop;
    struct host *host; /* its version and driver; the driver may become known later */
    const struct executor_ops *ops;
    void *ops_arg;
    struct audit *audit;     /* NULL: off */
    struct metrics *metrics; /* NULL: none */
    nsec_t force_update;     /* resource-force-update-seconds */
    bool dry_run;            /* plan and audit, write nothing */
    bool watch;              /* writes of others are seen at once; real loops and host files only */
    struct kube *kube;       /* for events; NULL: none */
    const char *node_name;
};
struct executor *executor_new(const struct executor_env *env);
struct executor *executor_free(struct executor *e);
DEFINE_CLEANUP(executor_free, struct executor *)

/* Whether this kernel takes a cpu.cfs_burst_us above the quota, as Anolis' do; at first not. */
void executor_set_burst_above_quota(struct executor *e, bool takes);

/* An empty plan of this owner to be filled and submitted; the plan that was submitted last stands
 * meanwhile. */
struct plan *executor_plan(struct executor *e, enum plan_owner o, const struct snapshot *s);
/* This is what the owner wants from now on. Files are written in a later turn, together with what
 * others submit until then. Takes the plan back. */
void executor_submit(struct executor *e, struct plan *p);
/* Writes now what is to be written, without waiting for the turn. */
void executor_apply(struct executor *e);

/* What the files hold; reads those that are not known. */
struct plan_view executor_view(struct executor *e);

/* Every file that somebody besides the kubelet has a say in: its value, who decides, what others
 * propose and the terms behind it. */
void executor_json(struct executor *e, struct strbuf *out);
void executor_table(struct executor *e, struct strbuf *out); /* the same for people */

struct executor_stats {
    uint64_t reads, writes, refused; /* since the start; in a dry run writes that would have been */
    size_t files;                    /* that somebody proposes for */
    size_t busy;                     /* writes that a worker has */
};
struct executor_stats executor_stats(const struct executor *e);
#endif
