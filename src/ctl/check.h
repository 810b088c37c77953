/* check.h - what the parts of "koordctl check" share: findings, and what is known of the cluster.
 *
 * Each part asks the server, adds what it found, and notes what the table of features goes by.
 * Nothing here changes anything. Loop thread only; texts live in the arena.
 */
#ifndef KOORD_CTL_CHECK_H
#define KOORD_CTL_CHECK_H
#include "base/arena.h"
#include "base/vec.h"
#include "ctl/ctl.h"
#include "ctl/installation.h"
#include "json/kj.h"

enum finding_level {
    FINDING_OK,
    FINDING_NOTE,
    FINDING_WARN, /* something does not work as it could */
    FINDING_FAIL  /* koord does not work, or could not be installed */
};
struct finding {
    const char *section, *text;
    enum finding_level level;
};
enum feature_state { FEATURE_ON, FEATURE_PART, FEATURE_OFF, FEATURE_UNKNOWN };
struct feature_row {
    const char *name, *needs, *why;
    enum feature_state state;
};
struct check_part {
    bool there, ready;
    int64_t want, have; /* pods */
};
struct node_feature { /* one feature of koordlet, over all nodes that were asked */
    const char *name, *needs, *why, *example;
    unsigned on, reduced, blocked, off, other;
};
struct check_options {
    bool nodes;
};

struct check {
    struct ctl *c;
    const struct check_options *o;
    const char *ns;
    struct arena *arena;
    struct vec_of(struct finding) findings;
    struct vec_of(struct feature_row) features;
    struct check_part parts[PARTS];
    bool installed;        /* one of its programs is there */
    const char *release;   /* Helm\'s name for it; NULL: Helm has not installed it */
    bool webhooks;         /* pods are sent to koord-manager */
    bool crds_complete;    /* all are there */
    struct kj_doc *pods;   /* of the installation; NULL: they could not be read */
    unsigned nodes, asked; /* nodes; those whose koordlet has answered */
    struct vec_of(struct node_feature) node_features;
};

void check_add(struct check *k, const char *section, enum finding_level level, const char *fmt, ...)
    PRINTF(4, 5);
/* The cause of a failed call in a few words. */
const char *check_cause(const struct check *k, const struct kerr *err);

/* ---- check_server.c -------------------------------------------------------------------------- */

/* The version of the API server; false: it cannot be asked at all, which has been told. */
bool check_version(struct check *k, struct kerr *err);
void check_crds(struct check *k);

/* ---- check_rights.c -------------------------------------------------------------------------- */

void check_rights(struct check *k);

/* ---- check_programs.c ------------------------------------------------------------------------ */

void check_programs(struct check *k);
void check_leases(struct check *k);
void check_webhooks(struct check *k);

/* ---- check_nodes.c, check_features.c --------------------------------------------------------- */

void check_nodes(struct check *k);
void check_features(struct check *k);
#endif
