/* gangs_int.h - what the files of the gang cache share. */
#ifndef KOORD_SCHEDULER_COSCHEDULING_GANGS_INT_H
#define KOORD_SCHEDULER_COSCHEDULING_GANGS_INT_H
#include "scheduler/plugins/coscheduling/gangs.h"

/* gangs.c */
void group_set_waits(struct gangs *s, struct gang_group *g, uint32_t i, bool waits);
void group_waits_for_all(struct gangs *s, struct gang_group *g);
/* The group names the gang, and that one names nobody but itself: it goes its own way. */
bool gang_is_apart(const struct gang *gang, const struct gang_group *g);
void group_due(struct gangs *s, struct gang_group *g); /* is there still somebody to be tried? */
/* As group_gang(), though its PodGroup may be gone: its members are still to be dealt with. */
struct gang *group_gang_or_gone(const struct gangs *s, const struct gang_group *g, uint32_t i);
bool gang_is_whole(const struct gang *g); /* it has as many members as it needs */
/* node: where it waits; NULL: it does not. */
void member_set(struct gangs *s, struct gang_member *m, enum member_state state, const char *node);

/* hold.c */
/* A round of it has failed. From now on it may keep room. */
void hold_refused(struct gangs *s, struct gang_group *g);
/* It is not refused any more: it is satisfied, not whole, or gone. Room that it keeps is free. */
void hold_drop(struct gangs *s, struct gang_group *g);     /* NULL is fine */
void hold_release(struct gangs *s, struct gang_member *m); /* the same of one member */
struct hold_share {                                        /* what the group may still keep */
    struct arena *arena;
    int64_t *left; /* by resource; NULL: nothing */
};
void hold_share_open(struct gangs *s, const struct gang_group *g, struct hold_share *ret);
void hold_share_close(struct hold_share *h);
/* May the member, which is being rejected, keep its node? */
bool hold_share_take(struct gangs *s, struct hold_share *h, struct gang_member *m);
#endif
