/* ctl.h - koordctl: a person's tool for clusters, real or embedded; also "kubectl koord".
 *
 * A command is one entry of the table in ctl.c and one file. Commands are written straight down:
 * ctl_call() runs the loop until the answer is there. Results go to stdout, complaints to stderr as
 * one line that says what failed, where, and what to do. Exit 1 on failure, 2 on wrong usage.
 */
#ifndef KOORD_CTL_CTL_H
#define KOORD_CTL_CTL_H
#include <stdio.h>

#include "base/base.h"
#include "base/strbuf.h"
#include "client/kubeconfig.h"
#include "component/flags.h"
#include "component/options.h"
#include "ctl/cpus.h"
#include "ctl/gpus.h"

struct adopt_programs;
struct ctl_parts;
struct discovery;
struct explain_manager;
struct explain_scheduler;
struct kind;
struct kmerge;
struct kube;
struct kube_req;
struct loop;
struct intern;
struct rebalance_planner;
struct up_system;

enum { CTL_OK = 0, CTL_FAILED = 1, CTL_USAGE = 2 };

struct ctl_options { /* flags that every command takes */
    struct client_options client;
    const char *context, *ns, *output;
    nsec_t request_timeout;
    int v;
};

struct ctl {
    const char *program; /* "koordctl", or "kubectl koord" when started as a plugin */
    const char *typed;   /* how a person starts it from here: "build/bin/koordctl" */
    FILE *out, *err;
    struct flags *flags;
    struct ctl_options o;
    struct client_env env;
    struct loop *loop;
    struct intern *strings;
    struct kube_config config;     /* of ctl_connect() */
    struct kube *kube;             /* NULL until then; a test puts its own here */
    struct discovery *discovery;   /* NULL: not asked for yet (resource.c) */
    bool no_color;                 /* $NO_COLOR: also not on terminals */
    bool out_broken;               /* whoever reads us has gone */
    bool progress_shown;           /* a line of ctl_progress() stands on stderr */
    const struct ctl_parts *parts; /* may be NULL */
};

/* What some commands need of rooms that this one may not include: main hands it in. */
struct ctl_parts {
    const struct explain_scheduler *explain;       /* explain.h */
    const struct explain_manager *explain_manager; /* the same */
    cpus_fn cpus;                                  /* cpus.h */
    gpus_fn gpus;                                  /* gpus.h */
    const struct up_system *up;                    /* up.h; NULL: CTL_NO_SYSTEM */
    const struct rebalance_planner *rebalance;     /* rebalance.h */
    const struct adopt_programs *adopt;            /* adopt.h */
    /* How lists of a built-in kind merge; NULL for others: apply sends a merge patch then. */
    const struct kmerge *(*merge_of)(const struct kind *k);
};

/* Of `up` and `demo` in the program of the container image. */
#define CTL_NO_SYSTEM                                                                           \
    "the koordctl of the container image has no system to run: take that of the package or of " \
    "`make build`"

struct ctl_command {
    const char *name, *args, *help; /* "get", "KIND [NAME...]", one line */
    const char *about;        /* more lines for its own help, each with its newline; or NULL */
    const struct flag *flags; /* into the options given to run */
    size_t nflags, options_size;
    int (*run)(struct ctl *c, const void *options); /* the exit code; arguments: flags_arg() */
    const char *dashes; /* what to do about an argument that is taken for a flag; or NULL */
};
extern const struct ctl_command ctl_command_get, ctl_command_crds, ctl_command_version,
    ctl_command_completion, ctl_command_up, ctl_command_down, ctl_command_status,
    ctl_command_explain, ctl_command_demo, ctl_command_top, ctl_command_dashboard,
    ctl_command_reserve, ctl_command_quota, ctl_command_apply, ctl_command_delete, ctl_command_man,
    ctl_command_cpus, ctl_command_gpus, ctl_command_devices, ctl_command_migrate,
    ctl_command_rebalance, ctl_command_cel, ctl_command_check, ctl_command_uninstall,
    ctl_command_adopt;

/* Command number i; NULL behind the last. */
const struct ctl_command *ctl_command_at(size_t i);
/* Flags that every command takes, into struct ctl_options. */
const struct flag *ctl_global_flags(size_t *ret_n);

/* argv as main got it. What c needs is filled in where it is NULL; everything is released. */
int ctl_main(struct ctl *c, int argc, char *const *argv);

/* ---- for commands ---------------------------------------------------------------------------- */

/* Reads the configuration and gets ready to talk. Complains and returns an exit code. */
int ctl_connect(struct ctl *c);
/* The namespace to use: -n, else the context's. */
const char *ctl_namespace(const struct ctl *c);
/* One call, waited for. The answer is NUL-terminated in *ret (emptied first). */
int ctl_call(struct ctl *c, const struct kube_req *r, struct strbuf *ret, struct kerr *err);
void ctl_wait(struct ctl *c, nsec_t d);
/* To stdout, at once. false when nobody reads any more: end quietly. */
bool ctl_print(struct ctl *c, const struct strbuf *text);
/* Whatever a server put into its objects, lines stay lines: for text that has some of it. */
void ctl_clean(struct strbuf *text);

/* What a long piece of work is at: one line on stderr that is written over, on terminals only. */
void ctl_progress(struct ctl *c, const char *fmt, ...) PRINTF(2, 3);
void ctl_progress_end(struct ctl *c); /* the line goes away; before anything else is written */

/* "error: ..." as one line; returns CTL_FAILED. */
int ctl_fail(struct ctl *c, const char *fmt, ...) PRINTF(2, 3);
/* The same with a hint at the help; returns CTL_USAGE. */
int ctl_usage(struct ctl *c, const char *fmt, ...) PRINTF(2, 3);
/* What a call came back with, in words a person can act on; returns CTL_FAILED. */
int ctl_complain(struct ctl *c, const struct kerr *err);
/* The text without the "GET /path: " that the client puts first: nobody asked for a path. */
const char *ctl_cause(const struct kerr *err);
#endif
