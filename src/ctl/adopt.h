/* adopt.h - koordctl adopt: a running Koordinator 1.8 as values of our chart.
 *
 * Read are Helm's record of the release, the workloads and their arguments, the ConfigMaps and the
 * webhook configurations. Everything found has a row that says what becomes of it; what the chart
 * has a value for is written to a values file. Nothing is changed in the cluster. Loop thread only.
 */
#ifndef KOORD_CTL_ADOPT_H
#define KOORD_CTL_ADOPT_H
#include "base/arena.h"
#include "base/vec.h"
#include "ctl/ctl.h"
#include "ctl/installation.h"
#include "json/kj.h"

/* What main hands in: whether our programs take what Koordinator's are given. */
struct adopt_programs {
    /* One argument of a program: 0: taken, 1: taken without effect, negative: refused, and why. */
    int (*try_arg)(const char *program, const char *arg, struct kerr *err);
    /* The configuration file of a program, or a key of slo-controller-config. notes: what has no
     * effect here, comma separated. */
    int (*try_config)(const char *what, const char *text, struct strbuf *notes, struct kerr *err);
};

enum adopt_fate {
    ADOPT_KEPT,
    ADOPT_CHANGED, /* works on in another way */
    ADOPT_UNUSED,  /* accepted, and without effect */
    ADOPT_MISSING  /* not there yet, or not ours */
};
struct adopt_row {
    enum adopt_fate fate;
    const char *what, *note;
};
struct adopt_options {
    const char *release, *out;
};
struct adoption {
    struct ctl *c;
    const struct adopt_options *o;
    const struct adopt_programs *programs; /* may be NULL: then everything is taken */
    const char *ns;
    struct arena *arena;
    struct kj_doc *release; /* Helm's record; NULL: Helm has not installed it */
    const char *release_ns;
    struct kj_mdoc *d;
    struct kj_mval *values; /* for the file */
    struct vec_of(struct adopt_row) rows;
    unsigned parts; /* that are installed */
};

void adopt_add(struct adoption *x, enum adopt_fate fate, const char *note, const char *fmt, ...)
    PRINTF(4, 5);
/* "manager.log.level" among the values for the file; objects on the way are made. */
void adopt_set(struct adoption *x, const char *path, struct kj_mval *v);

/* ---- adopt_release.c ------------------------------------------------------------------------- */

/* Finds the release of the chart "koordinator"; none is no failure. An exit code. */
int adopt_read_release(struct adoption *x);
/* What the release has for a value: of its user, else its chart's default; NULL: neither. */
const struct kj_val *adopt_release_value(const struct adoption *x, const char *path);
/* A ConfigMap's data as the release installed it; NULL: not known. The document is the caller's. */
struct kj_doc *adopt_installed_configmap(const struct adoption *x, const char *name);

/* ---- adopt_values.c -------------------------------------------------------------------------- */

/* The user's values of the release: each kept, left out or without effect. */
void adopt_values(struct adoption *x);
/* Gates that our programs do not know are taken out of the values. */
void adopt_gates(struct adoption *x);

/* ---- adopt_live.c: what runs ----------------------------------------------------------------- */

/* An exit code. */
int adopt_workloads(struct adoption *x);
void adopt_configmaps(struct adoption *x);
void adopt_webhooks(struct adoption *x);
#endif
