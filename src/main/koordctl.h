/* koordctl.h - what koordctl's commands need of the rooms that only main knows. */
#ifndef KOORD_MAIN_KOORDCTL_H
#define KOORD_MAIN_KOORDCTL_H

struct adopt_programs;
struct cpus_want;
struct explain_manager;
struct explain_profile_objects;
struct explain_scheduler;
struct kerr;
struct rebalance_planner;
struct strbuf;
struct up_system;
struct whatif;

extern const struct explain_scheduler main_explain;       /* explain.c */
extern const struct explain_manager main_explain_manager; /* explain_node.c */
/* explain_profile.c: a member of the former. */
void main_explain_profile(const struct explain_profile_objects *o, struct strbuf *json);
/* The cluster of objects behind what main_explain.open() made. */
struct whatif *main_explain_whatif(void *self);
/* cpus.c: cpus_fn of ctl/cpus.h */
int main_cpus(void *self, const char *node, const struct cpus_want *want, struct strbuf *json,
              struct kerr *err);
/* gpus.c: gpus_fn of ctl/gpus.h */
int main_gpus(void *self, const char *node, struct strbuf *json, struct kerr *err);
extern const struct adopt_programs main_adopt; /* adopt.c */
/* What `up` and `demo` run; NULL in koordctl_cluster.c: the program of the image has none. */
extern const struct up_system *const main_system;     /* up.c */
extern const struct rebalance_planner main_rebalance; /* rebalance.c */
#endif
