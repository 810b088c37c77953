/* executor_int.h - the executor's body: directories and files, for the files of this folder. */
#ifndef KOORD_KOORDLET_EXECUTOR_INT_H
#define KOORD_KOORDLET_EXECUTOR_INT_H
#include "base/map.h"
#include "koordlet/executor/executor.h"
#include "koordlet/kernel/host.h"
#include "koordlet/states/complaint.h"

/* What only the executor looks at: the CPUs in force on cgroup v2. */
enum { FILE_CPUSET_EFFECTIVE = PLAN_FILES, FILE_KINDS };

enum value_kind {
    VALUE_NUMBER,
    VALUE_LIMIT, /* -1, or what the kernel says for it, is above all others */
    VALUE_CPUS,
    VALUE_TEXT,
    VALUE_LINE, /* one line of the file, by its first word or its name */
    VALUE_DIR,  /* a directory that exists */
};

struct file_rule {
    enum value_kind kind;
    enum executor_root root;
    uint8_t rank;     /* order of writes within a directory */
    bool leveled;     /* grows from the top down, shrinks from the bottom up */
    bool may_block;   /* when it shrinks */
    bool has_neutral; /* what is put back where the kubelet has no say */
    int64_t neutral;
};
extern const struct file_rule file_rules[FILE_KINDS];

struct value { /* a number, or a text that the target owns */
    bool known;
    int64_t number;
    char *text;
};

struct target_dir {
    char *path;
    struct target_dir *parent, *first_child, *next; /* next: of the same parent */
    struct target *targets;
    enum executor_root root;
    uint16_t depth;
    bool busy;  /* a worker writes here */
    char key[]; /* the root's number, then the path */
};

struct writer {                       /* for whom a file is written, for people */
    const char *owner, *reason;       /* "restore", "Restore": nobody any more, it is put back */
    const char *ns, *pod, *container; /* "": not of a pod; of a whole pod */
};

struct target { /* a file, or a part of one */
    struct target_dir *dir;
    struct target *next;        /* in the directory */
    struct proposal *proposals; /* by owner */
    const struct writer *once;  /* of a write that is not kept, while it is told of */
    char *item;
    uint8_t file;
    uint8_t failures;
    bool owned;  /* written by us, and not put back yet */
    bool listed; /* in the executor's list of what to look at */
    bool busy;
    bool waiting;   /* for a back-off, or for a worker in its directory */
    bool marked;    /* fanotify watches its directory */
    uint8_t others; /* writes of others within a minute */
    nsec_t others_since;
    bool read;          /* looked at since somebody asked */
    struct value want;  /* composed, fitted, in the file's own units; unknown: nothing to write */
    struct value is;    /* what the file holds, as far as known */
    struct value first; /* what it held before the first write; proc and sys only */
    nsec_t checked, retry; /* monotonic */
    struct complaint complaint;
};

struct targets vec_of(struct target *);

struct job; /* a write on a worker */

struct executor {
    struct executor_env env;
    struct plan *standing[PLAN_OWNERS], *spare[PLAN_OWNERS];
    struct map dirs;
    struct targets changed; /* to be looked at by the next pass */
    struct targets batch;   /* of the pass that runs */
    struct targets waiting;
    struct vec_of(struct proposal *) once;
    struct job *jobs;
    const struct cgroup_resource *resources[PLAN_CGROUP_FILES + 1]; /* + effective CPUs */
    int8_t support[PLAN_CGROUP_FILES + 1]; /* 1, 0: not; -1: not known yet */
    nsec_t support_asked[PLAN_CGROUP_FILES + 1];
    struct strbuf path, text, content;
    struct timer *verify, *again; /* the forced update; back-offs */
    struct timer *post;           /* the pass of the next turn */
    bool burst_above_quota;
    struct executor_stats stats;
    struct overwrites *overwrites; /* NULL: not watched */
    struct metric *duration;
    struct arena *scratch;
};

/* ---- dirs.c: directories and targets --------------------------------------------------------- */

struct target *target_find(struct executor *e, unsigned file, const char *dir, const char *item);
/* Made when it is new. NULL: the path is not one (empty components, ".."). */
struct target *target_get(struct executor *e, unsigned file, const char *dir, const char *item);
struct target *target_of(const struct target_dir *d, unsigned file, const char *item);
struct target *target_in(struct target_dir *d, unsigned file, const char *item);
/* Frees what nobody proposes for, or looked at since the last call. */
void targets_sweep(struct executor *e);
void targets_fini(struct executor *e);
/* The target is looked at by the next pass. */
void target_list(struct executor *e, struct target *t);

void value_set(struct value *v, int64_t number, const char *text);
void value_forget(struct value *v);
bool value_equal(unsigned file, const struct value *a, const struct value *b);
/* < 0, 0, > 0 for VALUE_LIMIT and VALUE_NUMBER. */
int value_compare(unsigned file, int64_t a, int64_t b);

/* ---- compose.c: from proposals to a value ---------------------------------------------------- */

/* Sets want, of parents before their children. */
void target_compose(struct executor *e, struct target *t);
/* Somebody besides the kubelet proposes a value. */
bool target_is_acting(const struct target *t);
/* Whoever decides; borrowed from its plan. */
struct writer target_writer(const struct target *t);
struct writer proposal_writer(const struct proposal *p);

/* ---- access.c: one file read or written ------------------------------------------------------ */

/* Whether the node has this kind of file. */
bool file_supported(struct executor *e, unsigned file);
/* Fills t->is. -ENOENT: no such cgroup. */
int target_read(struct executor *e, struct target *t);
/* The text to write for a value; borrowed until the next call. */
int target_text(struct executor *e, struct target *t, const struct value *v, struct str *ret,
                struct kerr *err);
const char *target_path(struct executor *e, const struct target *t); /* borrowed like that */
/* Writes v now and takes it for what is there. */
int target_write(struct executor *e, struct target *t, const struct value *v, struct kerr *err);
/* Tells log, audit, metrics of a write that took this long; code: its answer. */
void target_told(struct executor *e, struct target *t, const struct value *v, nsec_t took,
                 const struct kerr *err);
void once_write(struct executor *e, const struct proposal *p);

/* ---- worker.c -------------------------------------------------------------------------------- */

void job_start(struct executor *e, struct target *t, const struct value *v);
/* One that is not kept (PLAN_ONCE): left out while another one runs in its directory. */
void job_once(struct executor *e, struct target *t, const struct value *v, const struct writer *by);
void jobs_fini(struct executor *e);

/* ---- overwrite.c ----------------------------------------------------------------------------- */

struct overwrites *overwrites_new(struct executor *e); /* NULL: this kernel has no fanotify */
struct overwrites *overwrites_free(struct overwrites *o);
void overwrites_mark(struct overwrites *o, struct target *t); /* o may be NULL */

/* ---- apply.c --------------------------------------------------------------------------------- */

void pass_run(struct executor *e);
void pass_post(struct executor *e);
/* The kernel refused, or there is no such file: once more later. */
void target_refused(struct executor *e, struct target *t, const struct kerr *err);
void target_done(struct executor *e, struct target *t);
/* Not before then. */
void target_hold(struct executor *e, struct target *t, nsec_t until);
#endif
