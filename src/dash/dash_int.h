/* dash_int.h - rows and lists of the dash, for its views. Internal to the room. */
#ifndef KOORD_DASH_DASH_INT_H
#define KOORD_DASH_DASH_INT_H
#include "base/map.h"
#include "base/vec.h"
#include "client/informer.h"
#include "dash/dash.h"
#include "dash/objects.h"
#include "dash/series.h"

struct loop;
struct timer;

typedef struct vec_of(struct dash_pod *) dash_podvec; /* each knows its slot; order is nothing */

struct row { /* a node, or what is said of one that is not there (yet) */
    struct dash_node n;
    struct kobj *node, *metric; /* references; NULL: there is none */
    dash_podvec pods;
    uint64_t changed; /* generation of n */
    bool is_dirty;
    char name[];
};

enum { SOURCE_NODES, SOURCE_METRICS, SOURCE_PODS, SOURCE_RESERVATIONS, SOURCE_MIGRATIONS, SOURCES };

struct dash {
    struct kube *kube;
    struct loop *loop;
    struct informer *source[SOURCES]; /* NULL: not asked for */
    struct map rows;                  /* name -> struct row */
    dash_podvec waiting;              /* pods without a node */
    uint32_t placed;                  /* pods with one */
    struct series series;
    struct dash_sums sums;
    struct timer *minute;
    uint64_t generation;  /* grows with each change of a row */
    uint64_t waiting_gen; /* the same of the pods that wait */
    uint64_t moves_gen;   /* of Reservations and PodMigrationJobs */
    uint64_t members_gen; /* nodes that came or went */
    nsec_t settled_at;    /* rows and sums are those of this moment, unless is_dirty */
    bool is_dirty;
};

/* Brings rows and sums up to date. */
void dash_settle(struct dash *d);
/* NULL: no such node. Rows are settled. */
struct row *dash_row(struct dash *d, const char *name);
struct dash_pod_use dash_pod_use(const struct dash_pod *p, const struct row *r);
struct dash_source dash_source_of(const struct informer *inf);
#endif
