/* reporter.h - what the reporters have in common: a timer, one request at a time, back-off. */
#ifndef KOORD_KOORDLET_REPORTER_H
#define KOORD_KOORDLET_REPORTER_H
#include "client/backoff.h"
#include "client/kube.h"
#include "koordlet/report/report.h"
#include "koordlet/states/complaint.h"

struct metric;

struct reporter_ops {
    const char *what; /* "NodeMetric" */
    /* It is time; no request is under way. Sends one, or calls reporter_rest(). */
    void (*run)(void *arg);
    /* The answer: true when all is well, also with an err that is as it should be. */
    bool (*done)(void *arg, struct kube_resp *resp, const struct kerr *err);
};
struct reporter {
    const struct report_env *env;
    const struct reporter_ops *ops;
    void *arg;
    nsec_t rest; /* from one run to the next; set by run() or before */
    struct timer *timer;
    struct kube_call *call;
    struct backoff backoff;
    struct complaint complaint;
    struct metric *reports;
    char missing[256]; /* "": nothing is */
};
void reporter_init(struct reporter *r, const struct report_env *env, const struct reporter_ops *ops,
                   void *arg);
void reporter_fini(struct reporter *r);
/* Runs after a while; an earlier wish is forgotten. Nothing happens while a request is under way:
 * its end decides. */
void reporter_after(struct reporter *r, nsec_t delay);
void reporter_rest(struct reporter *r);
/* kind, name, time-out and the rest are filled in. */
void reporter_send(struct reporter *r, struct kube_req req, const struct strbuf *body);
/* Why there is no report. Not logged: it is the usual thing after a start. */
void reporter_miss(struct reporter *r, const char *fmt, ...) PRINTF(2, 3);
/* The same for what is wrong: logged now and then. */
void reporter_complain(struct reporter *r, const struct kerr *err);
/* Nothing is missing, and what is stored is right. The end of a request does this itself. */
void reporter_well(struct reporter *r);
#endif
