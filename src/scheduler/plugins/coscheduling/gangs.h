/* gangs.h - gangs, groups of gangs, and the round in which the members of a group are tried one
 * after the other (sched-gang 1-4).
 *
 * One cache for all profiles: the service of Coscheduling. Members are known by UID, from the pods
 * that name a gang and from the placeholders of Reservations that do. It decides; what follows from
 * it for a pod is done through gang_ops: by the plugin, or by a test that stands in for the engine.
 *
 *     gang    one PodGroup, or one name that annotations of pods share; id "namespace/name"
 *     group   gangs that bind together; id: theirs, sorted, joined by ","
 *     round   from the first member that waits for the others to the last one that was tried
 *     series  rounds that follow each other at once, without the members that failed in them
 *
 * Loop thread. Holds a reference on the pod of each member.
 */
#ifndef KOORD_SCHEDULER_COSCHEDULING_GANGS_H
#define KOORD_SCHEDULER_COSCHEDULING_GANGS_H
#include "api/kobj.h"
#include "api/protocol/gang.h"
#include "base/map.h"
#include "base/vec.h"
#include "scheduler/framework/plugin.h"
#include "scheduler/model/objects.h"
#include "scheduler/model/uidmap.h"

struct gang_control;
struct gang_metrics;
struct gangs;
struct preemption;
struct timer;
struct topo_plan;

/* ---- what there is --------------------------------------------------------------------------- */

enum member_state {
    MEMBER_PENDING,
    MEMBER_WAITING, /* has a node in our mind, and waits for the others or is being bound */
    MEMBER_BOUND,
    MEMBER_STATES
};
struct gang_member {
    struct kuid uid; /* first: uidmap */
    struct kobj *pod;
    struct gang *gang;
    enum member_state state;
    bool able;        /* may be tried: no scheduling gates, and it is not being deleted */
    bool allowed;     /* waiting: it has its permit */
    bool held;        /* pending: a node is kept for it by nomination (hold.c) */
    bool untold;      /* kept out of the queue, and its condition does not say so yet */
    int32_t index;    /* its rank; -1: none */
    uint32_t at;      /* in gang->members */
    char *node;       /* waiting: where; bound: where it waited. NULL: nowhere */
    uint64_t tried;   /* the round in which it was tried last */
    uint64_t failed;  /* the series in which it did not fit */
    uint64_t binding; /* the bindings that it is one of: gang_group.binding */
};

struct gang {
    char *id;
    const char *name; /* within id; the namespace is what stands before it */
    size_t ns_len;
    struct arena *arena; /* of spec */
    struct gang_spec spec;
    nsec_t created;
    bool by_podgroup;    /* otherwise by annotations of a pod */
    bool ready;          /* somebody has said how many it needs */
    bool gone;           /* its PodGroup was deleted; the members are kept for the next one */
    bool problem_told;   /* people know what is wrong with its description */
    uint64_t group_told; /* hash of what people know to be wrong with its group; 0: nothing */
    bool topology_told;  /* people know that its network-topology-spec is ignored */
    struct vec_of(struct gang_member *) members;
    uint32_t count[MEMBER_STATES];
    uint32_t able;            /* members that are able, or have a node */
    struct gang_group *group; /* NULL as long as it is not ready */
};

struct gang_group {
    char *id;
    char **ids;  /* of its gangs, sorted; some may not exist */
    bool *waits; /* by ids: members of it wait */
    uint32_t n;
    struct gang *only; /* its only gang, which says so, too; NULL: there are several, or none */
    uint32_t refs;     /* gangs that say so, too */
    bool partial;      /* in gangs.partial: not all of them do */
    bool once_satisfied;
    struct gang_member *representative; /* the one that is let into the queue; NULL: none */
    struct gang_member *root;           /* did not fit, and waits for what may help; NULL: none */
    uint64_t binding;                   /* members that were permitted together; 0: none */
    uint32_t nbinding;
    uint64_t series;
    uint64_t round;       /* the last one */
    bool retries;         /* a round of the same series is about to begin */
    bool lean;            /* this series tries no more members than are needed, before the others */
    bool stuck;           /* all were tried and they are too few: only news of its members help */
    bool urgent;          /* the next try does not wait for a back-off */
    bool queued;          /* in gangs.due */
    bool plan_refused;    /* the network had no room for all: another tree may help */
    char *failure;        /* of the last round; NULL: it did not fail */
    nsec_t refused_since; /* monotonic; 0: it was not, since it is whole or held room last */
};

struct gang_round {
    uint64_t number;
    struct gang_group *group;
    struct gang *first; /* gang of the first member; NULL: it is gone */
    nsec_t began;
    uint32_t tried;
    struct gang_member *last;   /* that next() named; NULL: none, or gone */
    bool again;                 /* not the first of its series: who failed comes last */
    bool lost;                  /* a member that waited does not any more */
    struct gang_member **order; /* members to try */
    uint32_t n, at;
    uint64_t changes;       /* gangs.changes when order was made */
    struct topo_plan *plan; /* which node each member goes to; NULL: any */
    char *failure;          /* why the rest is not tried; NULL: nobody has failed */
};

/* ---- what follows ---------------------------------------------------------------------------- */

enum gang_rejection {              /* by which of upstream's names a waiting member is rejected */
                      GANG_REJECT, /* JobRejectPlugin and the rest: nominations stay */
                      GANG_PREEMPTION_WORKED, /* JobPreemptionSuccessPlugin: it is nominated where
                                                 it waits */
                      GANG_PREEMPTION_FAILED  /* JobPreemptionFailurePlugin, or it cannot be whole:
                                                 they go */
};
struct gang_ops { /* members may be NULL */
    void (*allow)(void *arg, const struct gang_member *m);
    void (*reject)(void *arg, const struct gang_member *m, enum gang_rejection how,
                   const char *why);
    void (*activate)(void *arg, const struct gang_member *m);              /* it is tried now */
    void (*tell)(void *arg, const struct gang_member *m, const char *why); /* its condition */
    /* What upstream lacks. */
    void (*retry)(void *arg, const struct gang_member *m); /* tried when its back-off is over */
    void (*let_in)(void *arg, const struct gang_group *g); /* gates may open */
    void (*left)(void *arg, const struct gang_member *m);  /* it has ended, or was deleted */
    void (*touched)(void *arg, const struct gang *g);      /* counts for its status changed */
    bool (*unnominate)(void *arg, const struct gang_member *m); /* false: nothing was nominated */
    bool (*is_nominated)(void *arg, const struct gang_member *m);
    void (*refused)(void *arg, const struct gang_group *g, const char *why); /* one event */
    void (*holds)(void *arg, const struct gang_group *g, const char *why);   /* it begins to */
    void (*round_over)(void *arg, const struct gang_round *r, const char *reason);
};

struct gang_hold {            /* room that is kept by nomination (hold.c) */
    nsec_t after;             /* a group that was refused for so long may keep it; 0: none may */
    nsec_t lasts;             /* for so long */
    int64_t percentage;       /* of what the nodes have of each resource, at most */
    struct gang_group *group; /* that keeps it; NULL: none */
    struct timer *end, *again;
    nsec_t tried; /* the last try that it got because pods left */
    bool due;     /* it shall be tried next */
};

struct gangs {
    struct ks_env env;
    const struct gang_ops *ops;
    void *arg;
    struct gang_defaults defaults;
    struct map by_id;  /* struct gang */
    struct map groups; /* struct gang_group by id */
    struct uidmap members;
    struct gang_round *round;      /* NULL: none is open */
    struct topo_plan *plan;        /* for the round that this member begins; NULL: none */
    struct topo_plan *plan_before; /* the one before it */
    const struct gang_member *planned_for;
    uint64_t rounds, serial; /* numbers given so far */
    uint64_t changes;        /* of members */
    uint32_t waiting_groups;
    enum gang_rejection outcome;            /* what came of making room in this attempt */
    uint32_t nodes;                         /* without env: how many there are */
    struct vec_of(struct gang_group *) due; /* to be looked at */
    /* Groups that name gangs which are missing or do not name them back: few, and not for long. */
    struct vec_of(struct gang_group *) partial;
    struct vec_of(struct gang_member *) untold;
    struct objects_listener listener;
    struct timer *settle, *tell;
    struct gang_control *control; /* NULL: the scheduler does not lead here */
    struct gang_metrics *metrics; /* NULL: nobody counts */
    int64_t workers;              /* of the controller */
    struct gang_hold hold;
    bool patches; /* gate GangPendingPodsConditionPatch */
};
KS_SERVICE(gangs, struct gangs)

void gangs_init(struct gangs *s, const struct gang_ops *ops, void *arg);
void gangs_fini(struct gangs *s);
/* New defaults: PodGroups are read again. */
void gangs_set_defaults(struct gangs *s, const struct gang_defaults *d);

void gangs_set_hold(struct gangs *s, nsec_t after, nsec_t lasts, int64_t percentage);

/* ---- news ------------------------------------------------------------------------------------ */

void gangs_podgroup(struct gangs *s, const struct kobj *before, const struct kobj *now);
void gangs_pod(struct gangs *s, const struct pod *now); /* new or changed */
void gangs_pod_gone(struct gangs *s, const struct pod *last);
void gangs_bound(struct gangs *s, const struct pod *p);
/* Room has become free, of a pod that left or by a new node: who keeps room is tried first. */
void gangs_room_freed(struct gangs *s);

/* ---- questions ------------------------------------------------------------------------------- */

/* NULL: no such gang, or its PodGroup is gone. */
struct gang *gangs_find(const struct gangs *s, const char *id);
struct gang_member *gangs_member(const struct gangs *s, struct kuid uid); /* NULL: none */
/* Number i of the group's gangs; NULL: it does not exist. */
struct gang *group_gang(const struct gangs *s, const struct gang_group *g, uint32_t i);
/* Is it the gang's turn, with those that wait? */
bool gang_is_satisfied(const struct gang *g);
/* Its members need no others any more (the free pass of sched-gang 3). */
bool gang_is_free(const struct gang *g);
/* So many more members does it need, when those that have their permits are bound. */
int64_t gang_lacks(const struct gang *g);
uint32_t group_count(const struct gangs *s, const struct gang_group *g, enum member_state state);
/* Members that may be tried, in the order of the group's gangs, then by rank and name; in the
 * arena. */
struct gang_member **group_pending(const struct gangs *s, const struct gang_group *g,
                                   struct arena *a, uint32_t *ret_n);
/* The same, those first without whom a gang would not have what it needs: *ret_required of them.
 * UINT32_MAX: all of them are not enough. */
struct gang_member **group_wanted(const struct gangs *s, const struct gang_group *g,
                                  struct arena *a, uint32_t *ret_n, uint32_t *ret_required);
/* What is wrong with the annotations of the PodGroup or pod that describe it, and what counts
 * instead; NULL: nothing is. */
const char *gang_problem(const struct objmeta *m, const struct gang *g, struct arena *a);
/* The same of what its group's other gangs are: one is missing, or says something else. */
const char *gang_group_problem(const struct gangs *s, const struct gang *g, struct arena *a);
/* Why a pod does not say how many its gang needs, by annotations or their old labels; NULL: it
 * does, or a PodGroup has to. */
const char *gang_no_minimum(const struct objmeta *m, struct arena *a);
/* Does it stand for a Reservation? */
bool gangs_is_placeholder(const struct gang_member *m);
const char *member_key(const struct gang_member *m, struct arena *a); /* "namespace/name" */

/* ---- the round ------------------------------------------------------------------------------- */

/* May the pod enter the queue (4.2)? The first of a group that may represents it. */
enum ks_code gangs_enqueue(struct gangs *s, const struct pod *p, struct ks_texts *why);
/* May it be tried (4.4)? */
enum ks_code gangs_check(const struct gangs *s, const struct pod *p, struct ks_texts *why);
/* It has a node (3). */
enum ks_code gangs_permit(struct gangs *s, const struct pod *p, const char *node, nsec_t *ret_wait,
                          struct ks_texts *why);
/* A member waits: the others are tried, if they are not already. */
void round_begin(struct gangs *s, const struct pod *p);
void gangs_unreserve(struct gangs *s, const struct pod *p);
/* It fits nowhere (4.5), or went wrong: fit NULL. */
void gangs_failed(struct gangs *s, const struct pod *p, const char *fit);
/* The member that goes next (4.3); NULL: the round is over. */
struct gang_member *round_next(struct gangs *s);
/* Without a round: the member that goes next because its group keeps room and more may be free;
 * NULL: none. */
struct gang_member *hold_next(struct gangs *s);
/* The plan of the round that the member is about to begin. Takes it. */
void gangs_set_plan(struct gangs *s, struct topo_plan *plan, const struct gang_member *first);
/* The members that will not be tried in this round are told why. */
void round_tell_rest(struct gangs *s);
/* A member has failed: the rest is not tried. Whoever waits is rejected, and when the others
 * suffice the next round begins at once, without it; unless room is being made by this plan. */
void round_give_up(struct gangs *s, const struct preemption *plan);
/* Room is made for the pod's group by this plan, before gangs_failed(). */
void gangs_planned(struct gangs *s, const struct pod *p, const struct preemption *plan);
void round_close(struct gangs *s, const char *reason);
/* Groups that nobody would try any more get another try. */
void gangs_settle(struct gangs *s);
/* What goes with the binding of a member (4.6): the id of its group, and how many were permitted
 * together; NULL: nothing does. */
const char *gangs_binding(const struct gangs *s, struct kuid uid, uint32_t *ret_n);
#endif
