/* meter.c - the counters of a transport, found once and kept. */
#include "client/meter.h"

#include <stdio.h>

const char *rest_method(enum kube_verb verb)
{
    static const char *const methods[] = {
        [KUBE_GET] = "GET",       [KUBE_LIST] = "GET",
        [KUBE_WATCH] = "GET",     [KUBE_CREATE] = "POST",
        [KUBE_UPDATE] = "PUT",    [KUBE_PATCH] = "PATCH",
        [KUBE_DELETE] = "DELETE", [KUBE_DELETE_COLLECTION] = "DELETE",
    };
    return methods[verb];
}

void rest_meter_fini(struct rest_meter *m)
{
    vec_fini(&m->counters);
    free(m->host);
}

static struct counter *find(struct rest_meter *m, const struct rest_counter *want)
{
    struct meter *meter = m->kube->meter;
    char code[16] = "<error>"; /* client-go's word for a request without an answer */

    vec_foreach(&m->counters, i) {
        const struct rest_counter *c = &m->counters.items[i];
        if (c->status == want->status && c->verb == want->verb && c->which == want->which)
            return c->counter;
    }
    if (want->status)
        (void)snprintf(code, sizeof code, "%d", want->status);
    struct rest_counter c = *want;
    c.counter = meter->ops->counter(meter, c.which, code, rest_method(c.verb), str_or(m->host, ""));
    vec_push(&m->counters, c);
    return c.counter;
}

void rest_count(struct rest_meter *m, enum meter_counter which, enum kube_verb verb, int status)
{
    const struct rest_counter c = { .which = which, .verb = verb, .status = status };

    if (m->kube->meter)
        counter_inc(find(m, &c));
}

void rest_observe(struct rest_meter *m, enum meter_histogram which, enum kube_verb verb, double v)
{
    struct histogram **h = &m->histograms[verb][which];
    struct meter *meter = m->kube->meter;

    if (!meter)
        return;
    if (!*h)
        *h = meter->ops->histogram(meter, which, rest_method(verb), str_or(m->host, ""));
    histogram_observe(*h, v);
}
