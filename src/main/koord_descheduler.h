/* koord_descheduler.h - the flags of koord-descheduler (descheduler 1.1, api-config 7). */
#ifndef KOORD_MAIN_KOORD_DESCHEDULER_H
#define KOORD_MAIN_KOORD_DESCHEDULER_H
#include "component/election.h"
#include "component/gates.h"
#include "component/options.h"
#include "component/secure.h"

struct desched_options {
    const char *config, *write_config_to, *scheduler_config;
    const char *address;
    int port;
    struct client_options client;
    struct election_options election;
    struct debug_options debug;
    struct secure_options secure;
    struct gates gates;
};
void desched_options_add(struct flags *f, void *options);
#endif
