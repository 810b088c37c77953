/* koordlet_plan.h - koordlet --plan: what the running agent writes, and why. */
#ifndef KOORD_MAIN_KOORDLET_PLAN_H
#define KOORD_MAIN_KOORDLET_PLAN_H
#include "base/base.h"

struct loop;

/* Asks the agent at addr (":9316": of this machine) and prints its answer, then calls done with an
 * exit code. -EINVAL: addr has no port. */
int koordlet_plan(struct loop *l, const char *addr, void (*done)(void *arg, int exit_code),
                  void *arg, struct kerr *err);
#endif
