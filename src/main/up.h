/* up.h - what the files of koordctl up share. */
#ifndef KOORD_MAIN_UP_H
#define KOORD_MAIN_UP_H
#include "base/base.h"

struct apiserver;
struct kube;
struct loop;
struct scheduler_stats;
struct webhooks;

/* From now on what is written passes the webhooks, which must outlive the server's requests. */
void up_add_webhooks(struct apiserver *s, struct webhooks *w);

/* The scheduler, at work. file: its configuration; NULL or "": that of Koordinator's chart. */
struct up_scheduler;
int up_scheduler_new(struct loop *l, struct kube *k, const char *file, struct up_scheduler **ret,
                     struct kerr *err);
struct up_scheduler *up_scheduler_free(struct up_scheduler *u); /* NULL is fine; returns NULL */
DEFINE_CLEANUP(up_scheduler_free, struct up_scheduler *)
struct scheduler_stats up_scheduler_stats(const struct up_scheduler *u);

/* The descheduler, at work; file as above. */
struct up_descheduler;
int up_descheduler_new(struct loop *l, struct kube *k, const char *file, const char *scheduler_file,
                       struct up_descheduler **ret, struct kerr *err);
struct up_descheduler *up_descheduler_free(struct up_descheduler *u); /* NULL is fine */
DEFINE_CLEANUP(up_descheduler_free, struct up_descheduler *)

/* This machine, as a node. */
struct up_host {
    char *name; /* on the heap */
    int64_t mcpu, memory_bytes;
};
struct up_host up_host_read(void);
/* koordlet on this machine, at work; its files are in dir. */
struct up_koordlet;
int up_koordlet_new(struct loop *l, struct kube *k, const char *dir, struct up_koordlet **ret,
                    struct kerr *err);
struct up_koordlet *up_koordlet_free(struct up_koordlet *u); /* NULL is fine; returns NULL */
DEFINE_CLEANUP(up_koordlet_free, struct up_koordlet *)
#endif
