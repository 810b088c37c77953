/* up.h - what the files of koordctl up share. */
#ifndef KOORD_MAIN_UP_H
#define KOORD_MAIN_UP_H
#include "base/base.h"

struct apiserver;
struct kube;
struct loop;
struct webhooks;

/* From now on what is written passes the webhooks, which must outlive the server's requests. */
void up_add_webhooks(struct apiserver *s, struct webhooks *w);

/* The scheduler, at work. file: its configuration; NULL or "": that of Koordinator's chart. */
struct up_scheduler;
int up_scheduler_new(struct loop *l, struct kube *k, const char *file, struct up_scheduler **ret,
                     struct kerr *err);
struct up_scheduler *up_scheduler_free(struct up_scheduler *u); /* NULL is fine; returns NULL */
DEFINE_CLEANUP(up_scheduler_free, struct up_scheduler *)
#endif
