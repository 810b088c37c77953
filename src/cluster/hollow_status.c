/* hollow_status.c - what a kubelet would write into a pod's status, stage by stage. */
#include <stdio.h>

#include "cluster/hollow.h"

static void write_condition(struct kjw *w, const struct pod *p, nsec_t now, const char *type,
                            bool yes, const char *reason)
{
    const struct condition c = { .type = type,
                                 .status = yes ? COND_TRUE : COND_FALSE,
                                 .reason = yes ? NULL : reason };

    condition_begin(w, &c, &p->status.conditions, now);
    kjw_null(w, "lastProbeTime");
    kjw_end(w);
}

static void write_terminated(struct kjw *w, const struct hpod *hp, nsec_t from, nsec_t to,
                             int32_t code)
{
    char id[KUID_TEXT_MAX + 16];
    (void)snprintf(id, sizeof id, "hollow://%s", hp->uid_text);
    kjw_obj(w, "terminated");
    kjw_i64(w, "exitCode", code);
    kjw_str(w, "reason", code == 0 ? "Completed" : "Error");
    kjw_time(w, "startedAt", from);
    kjw_time(w, "finishedAt", to);
    kjw_str(w, "containerID", id);
    kjw_end(w);
}

static void write_waiting(struct kjw *w, const char *reason)
{
    kjw_obj(w, "waiting");
    kjw_str(w, "reason", reason);
    kjw_end(w);
}

static void write_running(struct kjw *w, nsec_t since)
{
    kjw_obj(w, "running");
    kjw_time(w, "startedAt", since);
    kjw_end(w);
}

/* Members that all container statuses have; leaves the object open. */
static void begin_container(struct kjw *w, const struct hpod *hp, const struct container *c,
                            bool ready, bool started, int32_t restarts)
{
    char id[224];

    kjw_obj(w, NULL);
    kjw_str(w, "name", c->name);
    kjw_str(w, "image", c->image);
    kjw_str(w, "imageID", started ? c->image : "");
    kjw_bool(w, "ready", ready);
    kjw_bool(w, "started", started);
    kjw_i64(w, "restartCount", restarts);
    if (started) {
        (void)snprintf(id, sizeof id, "hollow://%s-%.63s", hp->uid_text, c->name);
        kjw_str(w, "containerID", id);
    }
}

static void write_container(struct kjw *w, const struct hpod *hp, const struct pod *p,
                            const struct container *c, nsec_t now)
{
    bool started = hp->stage >= H_STARTED && hp->stage <= H_ENDED;

    begin_container(w, hp, c, hp->stage == H_READY, started && hp->stage < H_BACKOFF, hp->restarts);
    kjw_obj(w, "state");
    if (hp->stage == H_STARTED || hp->stage == H_READY)
        write_running(w, hp->started_at);
    else if (hp->stage == H_ENDED)
        write_terminated(w, hp, hp->started_at, now, hp->exit_code);
    else if (hp->stage == H_BACKOFF)
        write_waiting(w, "CrashLoopBackOff");
    else if (hscript_image_is_missing(c->image) && !p->spec->init_containers.n)
        write_waiting(w, "ImagePullBackOff");
    else
        write_waiting(w, p->spec->init_containers.n ? "PodInitializing" : "ContainerCreating");
    kjw_end(w);
    kjw_obj(w, "lastState");
    if (hp->stage == H_BACKOFF || (hp->restarts > 0 && hp->stage != H_ENDED))
        write_terminated(w, hp, hp->started_at, hp->started_at, hp->exit_code);
    kjw_end(w);
    kjw_end(w);
}

static void write_init(struct kjw *w, const struct hpod *hp, const struct container *c, nsec_t now)
{
    bool done = hp->stage >= H_STARTED, sidecar = container_is_sidecar(c);

    begin_container(w, hp, c, done, hp->stage >= H_INIT, 0);
    kjw_obj(w, "state");
    if (hp->stage < H_INIT)
        write_waiting(w, "PodInitializing");
    else if (!done || (sidecar && hp->stage != H_ENDED))
        write_running(w, hp->since);
    else
        write_terminated(w, hp, now, now, 0);
    kjw_end(w);
    kjw_obj(w, "lastState");
    kjw_end(w);
    kjw_end(w);
}

static void write_addresses(struct kjw *w, const struct hpod *hp, const struct pod *p)
{
    unsigned node = hp->node->index;
    char host[32], ip[32];

    (void)snprintf(host, sizeof host, "172.%u.%u.%u", 16 + (node >> 16), (node >> 8) & 255,
                   node & 255);
    kjw_str(w, "hostIP", host);
    kjw_arr(w, "hostIPs");
    kjw_obj(w, NULL);
    kjw_str(w, "ip", host);
    kjw_end(w);
    kjw_end(w);
    if (hp->stage < H_INIT)
        return;
    unsigned number = (node & 4095) << 12 | hp->ip;
    (void)snprintf(ip, sizeof ip, "10.%u.%u.%u", number >> 16, (number >> 8) & 255, number & 255);
    kjw_str(w, "podIP", p->spec->host_network ? host : ip);
    kjw_arr(w, "podIPs");
    kjw_obj(w, NULL);
    kjw_str(w, "ip", p->spec->host_network ? host : ip);
    kjw_end(w);
    kjw_end(w);
}

static void write_conditions(struct kjw *w, const struct hpod *hp, const struct pod *p, nsec_t now)
{
    const char *why = hp->stage == H_ENDED ? (hp->exit_code ? "PodFailed" : "PodCompleted")
                                           : "ContainersNotReady";
    bool runs = hp->stage == H_READY;

    kjw_arr(w, "conditions");
    write_condition(w, p, now, "PodReadyToStartContainers",
                    hp->stage >= H_INIT && hp->stage != H_ENDED, NULL);
    write_condition(w, p, now, "Initialized",
                    hp->stage >= H_STARTED || p->spec->init_containers.n == 0,
                    "ContainersNotInitialized");
    write_condition(w, p, now, "Ready", runs, why);
    write_condition(w, p, now, "ContainersReady", runs, why);
    write_condition(w, p, now, "PodScheduled", true, NULL);
    kjw_end(w);
}

static const char *phase_of(const struct hpod *hp)
{
    switch (hp->stage) {
    case H_REJECTED: return "Failed";
    case H_STARTED:
    case H_READY:
    case H_BACKOFF: return "Running";
    case H_ENDED: return hp->exit_code ? "Failed" : "Succeeded";
    default: return "Pending";
    }
}

void hpod_write_status(const struct hpod *hp, const struct pod *p, nsec_t now, struct strbuf *out)
{
    struct kjw w = kjw_to(out);

    kjw_obj(&w, NULL);
    kjw_obj(&w, "metadata");
    kjw_str(&w, "uid", hp->uid_text);
    /* What an earlier life of this process sent may arrive only now: a pod that it has ended does
     * not begin again. */
    kjw_str(&w, "resourceVersion", p->obj.meta.resource_version);
    kjw_end(&w);
    kjw_obj(&w, "status");
    kjw_str(&w, "phase", phase_of(hp));
    kjw_time(&w, "startTime", p->status.start_time ? p->status.start_time : now);
    if (hp->stage == H_REJECTED) {
        kjw_str(&w, "reason", hp->reject_reason);
        kjw_str(&w, "message", hp->reject_message);
    } else {
        if (hp->past_deadline) {
            kjw_str(&w, "reason", "DeadlineExceeded");
            kjw_str(&w, "message", "Pod was active on the node longer than the specified deadline");
        }
        write_addresses(&w, hp, p);
        write_conditions(&w, hp, p, now);
        if (p->spec->init_containers.n) {
            kjw_arr(&w, "initContainerStatuses");
            for (uint32_t i = 0; i < p->spec->init_containers.n; i++)
                write_init(&w, hp, &p->spec->init_containers.items[i], now);
            kjw_end(&w);
        }
        kjw_arr(&w, "containerStatuses");
        for (uint32_t i = 0; i < p->spec->containers.n; i++)
            write_container(&w, hp, p, &p->spec->containers.items[i], now);
        kjw_end(&w);
    }
    kjw_end(&w);
    kjw_end(&w);
}

/* Killed by SIGTERM: 143, unless the containers had never begun. */
void hpod_write_stopped(const struct hpod *hp, const struct pod *p, nsec_t now, struct strbuf *out)
{
    struct hpod as_ended = *hp;

    as_ended.exit_code = 143;
    as_ended.started_at = hp->started_at ? hp->started_at : now;
    as_ended.stage = H_ENDED;
    hpod_write_status(&as_ended, p, now, out);
}
