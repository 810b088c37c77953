/* probe.h - what the verbs of kube_probe share: a loop, a client, and lines from standard input.
 *
 * kube_probe is a test program: it drives the client room against a real API server and prints one
 * line for everything that happens, for a script to judge. Loop thread only.
 */
#ifndef KOORD_TESTS_SYSTEM_PROBE_H
#define KOORD_TESTS_SYSTEM_PROBE_H
#include "base/base.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "client/kube.h"

struct fdwatch;

struct probe_opts {
    const char *kubeconfig;
    struct words vec_of(const char *) kinds;
    const char *ns, *selector;       /* NULL: all */
    const char *name, *id, *action;  /* lead, event */
    nsec_t lease, deadline, retry;   /* lead; 0: the default */
    int64_t page, count, parallel;   /* 0: the default */
    bool series, warning, different; /* event */
    bool print;                      /* do: the answer too */
    const char *const *words;        /* what follows the flags; NULL-terminated */
};

/* One line of standard input, without its end; NULL: no more will come. */
typedef void (*probe_line_fn)(void *arg, char *line);

struct probe {
    struct probe_opts o;
    const char *config_ns; /* of the kubeconfig's context */
    struct loop *loop;
    struct intern *strings;
    struct kube *kube;
    int status; /* of the process */
    struct fdwatch *input;
    struct strbuf text;
    probe_line_fn on_line;
    void *line_arg;
};

/* Reads lines from now on. Standard input must be a pipe, a socket or a terminal. */
int probe_read_lines(struct probe *p, probe_line_fn fn, void *arg, struct kerr *err);
/* A word of the table of kinds, or "group/version/Kind". */
int probe_find_kind(const char *word, const struct kind **ret, struct kerr *err);
/* "pods", "deployments.v1.apps" into buf: one name for each kind of the table. */
const char *probe_kind_label(const struct kind *k, char *buf, size_t size);
enum { PROBE_LABEL_MAX = 200 };

/* The verbs. Each sets up its work; the caller then runs the loop, and frees with the other. */
struct probe_verb {
    const char *name;
    int (*start)(struct probe *p, void **ret_state, struct kerr *err);
    void (*end)(void *state); /* NULL state is fine; before the client goes */
};
extern const struct probe_verb probe_informer, probe_lead, probe_do, probe_event;
#endif
