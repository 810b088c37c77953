/* koordctl.h - what koordctl's commands need of the rooms that only main knows. */
#ifndef KOORD_MAIN_KOORDCTL_H
#define KOORD_MAIN_KOORDCTL_H

struct explain_manager;
struct explain_profile_objects;
struct explain_scheduler;
struct strbuf;
struct up_system;

extern const struct explain_scheduler main_explain;       /* explain.c */
extern const struct explain_manager main_explain_manager; /* explain_node.c */
/* explain_profile.c: a member of the former. */
void main_explain_profile(const struct explain_profile_objects *o, struct strbuf *json);
extern const struct up_system main_up; /* up.c */
#endif
