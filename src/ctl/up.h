/* up.h - koordctl up, down and status: the whole system on this machine, with no cluster.
 *
 * `up` runs the embedded API server, the small controllers with their hollow nodes, the scheduler,
 * the manager and the descheduler in this process; its state is one SQLite file. A token, a
 * kubeconfig and a note of what runs stand beside it, for `down`, `status`, the other commands and
 * any kubectl. The rooms that it runs are of this level, so main hands them in (struct up_system).
 */
#ifndef KOORD_CTL_UP_H
#define KOORD_CTL_UP_H
#include "base/strbuf.h"
#include "component/options.h"

struct ctl;
struct kube;
struct loop;
struct timer;
struct tls_ctx;

/* ---- what main hands in ---------------------------------------------------------------------- */

struct up_plan { /* what is to run */
    struct loop *loop;
    struct intern *strings;
    const char *data_dir, *data_file, *token, *listen;
    const char *token_file;                /* of users beside the administrator; NULL: none */
    bool rbac, always_allow;               /* modes of authorization */
    bool anonymous;                        /* who has no token is system:anonymous */
    bool alpha_apis;                       /* kinds of alpha versions are served */
    const char *const *disabled_admission; /* plugins of the server's admission, by their names */
    size_t ndisabled;
    struct tls_ctx *tls;
    const char *root_ca; /* PEM: what clients verify its certificate with */
    bool controllers, nodes, scheduler, manager, descheduler, koordlet;
    const char *scheduler_config;   /* file; "": the profile of Koordinator's chart */
    const char *descheduler_config; /* the same */
    unsigned node_count;            /* of hollow nodes, when there are no shapes */
    const char *const *shapes;      /* "10,cpu=32,memory=128Gi,zones=3" */
    size_t nshapes;
    uint64_t seed;
    /* For a clock on which nothing but minutes counts (demo.h). */
    bool no_metrics; /* hollow nodes publish no NodeMetric */
    nsec_t
        beat_interval; /* of the nodes' leases, and of looks at which kinds there are; 0: usual */
};
/* What has come of it so far, by the hollow nodes' model of contention. */
struct up_use {             /* in core-milliseconds */
    int64_t capacity, used; /* used: by pods and the system */
    int64_t work_done;      /* of pods that have ended with their work done */
    uint64_t slow_minutes;  /* in which a service got less CPU than it wanted */
};
struct up_stats {
    struct up_use use;
    uint64_t evicted; /* pods, to make room or because their node was lost */
    size_t pending;   /* pods without a node */
};
struct up_node {      /* a hollow node, as of its last reading */
    const char *name; /* lives as long as the system */
    int64_t mcpu, used_mcpu;
    unsigned services_short; /* get less CPU than they want */
};
struct up_system {
    /* Starts all of it, but nobody else can talk to it yet. *ret is set also when it fails
     * half-way. */
    int (*start)(const struct up_plan *p, void **ret, struct kerr *err);
    bool (*ready)(const void *self); /* what others write meets all that has a say in it */
    /* After that: listens, *ret_port is that of the API server. */
    int (*listen)(void *self, const struct up_plan *p, uint16_t *ret_port, struct kerr *err);
    /* A renewed certificate, for connections to come; root_ca as in the plan. */
    void (*set_tls)(void *self, struct tls_ctx *tls, const char *root_ca);
    struct kube *(*kube)(const void *self); /* its client; borrowed */
    struct up_stats (*stats)(const void *self);
    bool (*node)(const void *self, size_t i, struct up_node *ret); /* false behind the last */
    /* First those that write, then what they write to; done is called when all is stored. */
    void (*stop)(void *self, void (*done)(void *arg), void *arg);
    void (*free)(void *self); /* NULL is fine */
};

/* ---- the data directory ---------------------------------------------------------------------- */

struct up_dir {
    char *path;
    int fd;
};
/* --data, else $XDG_DATA_HOME/koord, else ~/.local/share/koord. make: mode 0700 when missing. */
int up_dir_open(const char *data, const struct client_env *env, bool make, struct up_dir *ret,
                struct kerr *err);
void up_dir_fini(struct up_dir *d);
static inline UNUSED void up_dir_fini_p(struct up_dir *d)
{
    up_dir_fini(d);
}
/* The administrator's token: made at the first start, the same ever after. */
int up_token(const struct up_dir *d, struct strbuf *ret, struct kerr *err);

/* What runs: written by `up` once it is ready, removed when it stops. */
struct up_note {
    int64_t pid;
    char url[128], kubeconfig[512];
};
int up_note_write(const struct up_dir *d, const struct up_note *n, struct kerr *err);
/* -ENOENT when nothing runs here (a note left behind by a dead process counts as nothing). */
int up_note_read(const struct up_dir *d, struct up_note *ret, struct kerr *err);
void up_note_remove(const struct up_dir *d);

/* ---- the clock: up_clock.c ------------------------------------------------------------------- */

struct up_clock {
    struct loop *loop;
    const struct up_dir *dir;
    unsigned pace;
    nsec_t wall0, began; /* of the system, at the start */
    struct timer *timer;
};
/* Sets the loop's clock, before it runs: where the last run left it, and `pace` times as fast as
 * the system's. */
void up_clock_start(struct up_clock *c, struct loop *l, const struct up_dir *dir, unsigned pace);
void up_clock_stop(struct up_clock *c); /* also one that never started */
/* A line for people, when it is not the system's clock. */
void up_clock_text(const struct up_clock *c, struct strbuf *out);
#endif
