/* gangs_int.h - what the files of the gang cache share. */
#ifndef KOORD_SCHEDULER_COSCHEDULING_GANGS_INT_H
#define KOORD_SCHEDULER_COSCHEDULING_GANGS_INT_H
#include "scheduler/plugins/coscheduling/gangs.h"

/* gangs.c */
void group_set_waits(struct gangs *s, struct gang_group *g, uint32_t i, bool waits);
void group_waits_for_all(struct gangs *s, struct gang_group *g);
void group_due(struct gangs *s, struct gang_group *g); /* is there still somebody to be tried? */
bool gang_is_whole(const struct gang *g);              /* it has as many members as it needs */
/* node: where it waits; NULL: it does not. */
void member_set(struct gangs *s, struct gang_member *m, enum member_state state, const char *node);
#endif
