/* profile_steps.h - profiles on the object of a call (inside this folder only). */
#ifndef KOORD_MANAGER_WEBHOOK_PROFILE_STEPS_H
#define KOORD_MANAGER_WEBHOOK_PROFILE_STEPS_H
#include "manager/profile/apply.h"

struct webhook_call;

struct profiles_done {
    size_t matched;       /* profiles, also those that chance left out */
    bool skips_resources; /* one of them says so */
};
/* 0, or -1: the request was refused. */
int profiles_run(struct webhook_call *c, bool is_reservation, struct profiles_done *ret);
#endif
