/* sim_cron.c - CronJobs against the embedded API server, on the virtual loop, with lost answers,
 * controllers that are killed, and clocks that jump: one Job at most for a scheduled time. */
#include "sim_cluster.h"

#include <stdio.h>

#include "api/event.h"
#include "api/workload.h"
#include "apiserver/registry/registry.h"
#include "apiserver/store/store.h"
#include "base/ktime.h"
#include "base/map.h"

static const struct kind kind_cron = { .group = "batch",
                                       .version = "v1",
                                       .kind = "CronJob",
                                       .plural = "cronjobs",
                                       .namespaced = true,
                                       .has_status = true,
                                       .schema = &kobj_schema };
#define MINUTE (60 * SEC)

static const struct sim_faults some_faults = {
    .refuse = 100, .lose = 200, .slow = 200, .too_many = 20, .slow_max = 5 * SEC
};

static void begin(struct sim *s, uint64_t seed)
{
    sim_begin(s, seed);
    /* On a whole minute: tests count from here. */
    loop_set_wall(s->loop, (loop_wall(s->loop) / MINUTE + 1) * MINUTE);
}

/* spec: members before jobTemplate; script: what the container does. */
static void cron_create(struct sim *s, const char *name, const char *spec, const char *script)
{
    char json[1024];

    (void)snprintf(
        json, sizeof json,
        "{\"apiVersion\":\"batch/v1\",\"kind\":\"CronJob\",\"metadata\":{\"name\":\"%s\"},\"spec\":"
        "{%s,\"jobTemplate\":{\"metadata\":{\"labels\":{\"cron\":\"%s\"},\"annotations\":{\"a\":"
        "\"b\"}},\"spec\":{\"template\":{\"spec\":{\"restartPolicy\":\"Never\",\"containers\":[{"
        "\"name\":\"c\",\"image\":\"a\",\"command\":[\"sh\",\"-c\",\"%s\"]}]}}}}}}",
        name, spec, name, script);
    struct kube_req r = { .verb = KUBE_CREATE,
                          .kind = &kind_cron,
                          .ns = "default",
                          .body = json,
                          .body_len = strlen(json) };
    assert_int_equal(sim_do(s, &r, NULL), 201);
}

static size_t count_jobs(struct sim *s, const char *cron)
{
    char selector[64];
    (void)snprintf(selector, sizeof selector, "cron=%s", cron);
    return sim_count(s, &kind_job, "default", selector);
}

/* How many events of this reason there were; with a text in their message, or NULL. */
static int64_t count_events(struct sim *s, const char *cron, const char *reason, const char *text)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = sim_list(s, &kind_core_event, "default", NULL);
    const struct kj_val *e;
    struct str key;
    int64_t n = 0;

    for (struct kj_iter it = kj_iter(kj_get(kj_root(doc), "items")); kj_next(&it, &key, &e);)
        if (streq(kj_str_or(kj_get(e, "reason"), ""), reason) &&
            streq(kj_str_or(kj_path(e, "involvedObject.name"), ""), cron) &&
            (!text || strstr(kj_str_or(kj_get(e, "message"), ""), text)))
            n += kj_i64_or(kj_get(e, "count"), 1);
    return n;
}

static size_t count_active(struct sim *s, const char *cron)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = sim_get(s, &kind_cron, "default", cron);
    return kj_len(kj_path(kj_root(doc), "status.active"));
}

static void check_time(struct sim *s, const char *cron, const char *path, nsec_t want)
{
    char text[64], expected[KTIME_TEXT_MAX];

    sim_text(s, &kind_cron, "default", cron, path, text, sizeof text);
    ktime_format(want, expected);
    assert_string_equal(text, expected);
}

/* ---- as it should go ------------------------------------------------------------------------ */

static void test_a_job_each_minute(void **state)
{
    CLEANUP(sim_fini) struct sim s;
    char name[64], text[64];

    (void)state;
    begin(&s, 1);
    nsec_t start = loop_wall(s.loop);
    cron_create(&s, "tick", "\"schedule\":\"* * * * *\",\"timeZone\":\"Etc/UTC\"", "sleep 20");
    sim_run(&s, MINUTE + 10 * SEC);
    (void)snprintf(name, sizeof name, "tick-%lld", (long long)(start / MINUTE + 1));
    CLEANUP(kj_doc_free) struct kj_doc *doc = sim_get(&s, &kind_job, "default", name);
    const struct kj_val *meta = kj_get(kj_root(doc), "metadata");
    const struct kj_val *notes = kj_get(meta, "annotations");
    ktime_format(start + MINUTE, text);
    assert_string_equal(
        kj_str_or(kj_get(notes, "batch.kubernetes.io/cronjob-scheduled-timestamp"), ""), text);
    assert_string_equal(kj_str_or(kj_get(notes, "a"), ""), "b");
    const struct kj_val *owner = kj_at(kj_get(meta, "ownerReferences"), 0);
    assert_string_equal(kj_str_or(kj_get(owner, "kind"), ""), "CronJob");
    assert_true(kj_bool(kj_get(owner, "controller"), false));
    assert_int_equal(count_active(&s, "tick"), 1);
    check_time(&s, "tick", "status.lastScheduleTime", start + MINUTE);
    sim_run(&s, 30 * SEC);
    assert_int_equal(count_active(&s, "tick"), 0);
    sim_text(&s, &kind_job, "default", name, "status.completionTime", name, sizeof name);
    sim_text(&s, &kind_cron, "default", "tick", "status.lastSuccessfulTime", text, sizeof text);
    assert_string_equal(text, name);
    sim_run(&s, 5 * MINUTE);
    assert_int_equal(count_jobs(&s, "tick"), 3); /* successfulJobsHistoryLimit's default */
    assert_int_equal(count_events(&s, "tick", "SuccessfulCreate", "Created job tick-"), 6);
    assert_int_equal(count_events(&s, "tick", "SawCompletedJob", "condition: Complete"), 6);
    assert_int_equal(count_events(&s, "tick", "SuccessfulDelete", "Deleted job tick-"), 3);
    assert_int_equal(count_events(&s, "tick", "MissingJob", NULL), 0);
    assert_int_equal(count_events(&s, "tick", "UnexpectedJob", NULL), 0);
    assert_int_equal(sim_delete(&s, &kind_cron, "default", "tick", NULL), 200);
    sim_run(&s, 2 * MINUTE);
    assert_int_equal(count_jobs(&s, "tick"), 0);
}

static void test_concurrency(void **state)
{
    CLEANUP(sim_fini) struct sim s;

    (void)state;
    begin(&s, 2);
    cron_create(&s, "allow", "\"schedule\":\"* * * * *\"", "sleep 600");
    cron_create(&s, "forbid", "\"schedule\":\"* * * * *\",\"concurrencyPolicy\":\"Forbid\"",
                "sleep 150");
    cron_create(&s, "replace", "\"schedule\":\"* * * * *\",\"concurrencyPolicy\":\"Replace\"",
                "sleep 600");
    sim_run(&s, 3 * MINUTE + 20 * SEC);
    assert_int_equal(count_active(&s, "allow"), 3);
    assert_int_equal(count_jobs(&s, "forbid"), 1);
    assert_int_equal(count_events(&s, "forbid", "JobAlreadyActive", "policy is Forbid"), 2);
    assert_int_equal(count_active(&s, "replace"), 1);
    assert_int_equal(count_jobs(&s, "replace"), 1);
    assert_int_equal(count_events(&s, "replace", "SuccessfulCreate", NULL), 3);
    assert_int_equal(count_events(&s, "replace", "SuccessfulDelete", NULL), 2);
    assert_int_equal(count_events(&s, "replace", "MissingJob", NULL), 0);
    sim_run(&s, MINUTE); /* the first has ended: the time that is due has its Job at once */
    assert_int_equal(count_jobs(&s, "forbid"), 2);
}

static void test_suspend_and_edits(void **state)
{
    CLEANUP(sim_fini) struct sim s;

    (void)state;
    begin(&s, 3);
    cron_create(&s, "off", "\"schedule\":\"* * * * *\",\"suspend\":true", "exit 0");
    cron_create(&s, "edit", "\"schedule\":\"0 0 1 1 *\"", "exit 0");
    sim_run(&s, 5 * MINUTE + 5 * SEC);
    assert_int_equal(count_jobs(&s, "off"), 0);
    assert_int_equal(count_jobs(&s, "edit"), 0);
    assert_int_equal(sim_patch(&s, &kind_cron, "default", "edit", NULL,
                               "{\"spec\":{\"schedule\":\"* * * * *\"}}"),
                     200);
    sim_run(&s, 50 * SEC);
    assert_int_equal(count_jobs(&s, "edit"), 0); /* times before the edit are not made up for */
    assert_int_equal(
        sim_patch(&s, &kind_cron, "default", "off", NULL, "{\"spec\":{\"suspend\":false}}"), 200);
    sim_run(&s, 15 * SEC);
    assert_int_equal(count_jobs(&s, "edit"), 1);
    assert_true(count_jobs(&s, "off") >= 1);
}

static void replace(struct strbuf *text, const char *from, const char *to)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    const char *all = strbuf_str(text), *p = strstr(all, from);

    assert_non_null(p);
    strbuf_appendn(&b, all, (size_t)(p - all));
    strbuf_append(&b, to);
    strbuf_append(&b, p + strlen(from));
    strbuf_reset(text);
    strbuf_appendn(text, b.data, b.len);
}

/* The server refuses such a spec; one that was stored by another version, or before a time zone
 * went away, is there all the same. */
static void cron_stored(struct sim *s, const char *name, const char *spec)
{
    static const char harmless[] = "\"schedule\":\"0 0 1 1 *\"";
    CLEANUP(strbuf_fini) struct strbuf doc = STRBUF_INIT;
    const struct store_key k = { "cronjobs.batch", "default", name };
    struct store *st = apiserver_store(s->server);
    struct kerr err = { 0 };
    char old[64], next[64];
    uint64_t rev;

    cron_create(s, name, harmless, "exit 0");
    assert_int_equal(store_get_latest(st, &k, &doc, &rev, &err), 0);
    replace(&doc, harmless, spec);
    (void)snprintf(old, sizeof old, "\"resourceVersion\":\"%llu\"", (unsigned long long)rev);
    (void)snprintf(next, sizeof next, "\"resourceVersion\":\"%llu\"",
                   (unsigned long long)store_next_revision(st));
    replace(&doc, old, next);
    assert_int_equal(store_put(st, &k, rev, doc.data, doc.len, NULL, NULL, &err), 0);
}

static void test_what_cannot_run(void **state)
{
    CLEANUP(sim_fini) struct sim s;

    (void)state;
    begin(&s, 4);
    cron_create(&s, "feb31", "\"schedule\":\"59 23 31 2 *\"", "exit 0");
    cron_stored(&s, "bad", "\"schedule\":\"99 * * * *\"");
    cron_stored(&s, "moon", "\"schedule\":\"* * * * *\",\"timeZone\":\"Moon/Crater\"");
    cron_create(&s, "fails",
                "\"schedule\":\"* * * * *\",\"failedJobsHistoryLimit\":0,"
                "\"successfulJobsHistoryLimit\":0",
                "exit 0");
    sim_run(&s, 3 * MINUTE);
    assert_true(count_events(&s, "feb31", "InvalidSchedule", "invalid schedule: 59 23 31 2 *") > 0);
    assert_true(count_events(&s, "bad", "UnparseableSchedule", "unparseable schedule: \"99") > 0);
    assert_true(count_events(&s, "moon", "UnknownTimeZone", "unknown time zone Moon/Crater") > 0);
    assert_int_equal(count_jobs(&s, "feb31") + count_jobs(&s, "bad") + count_jobs(&s, "moon"), 0);
    sim_run(&s, 30 * SEC);
    assert_int_equal(count_jobs(&s, "fails"), 0); /* each is history as soon as it ends */
    assert_int_equal(count_events(&s, "fails", "SuccessfulCreate", NULL), 3);
}

static void test_missed_times(void **state)
{
    CLEANUP(sim_fini) struct sim s;

    (void)state;
    begin(&s, 5);
    cron_create(&s, "late", "\"schedule\":\"*/10 * * * *\",\"startingDeadlineSeconds\":30",
                "exit 0");
    cron_create(&s, "many", "\"schedule\":\"* * * * *\"", "exit 0");
    sim_run(&s, 5 * SEC);
    sim_stop_cluster(&s);
    loop_set_wall(s.loop, (loop_wall(s.loop) / (10 * MINUTE) + 20) * 10 * MINUTE + 2 * MINUTE);
    sim_start(&s, NULL);
    sim_run(&s, 20 * SEC);
    assert_int_equal(count_jobs(&s, "late"), 0);
    assert_int_equal(count_jobs(&s, "many"), 1); /* only the latest of two hundred */
    assert_int_equal(count_events(&s, "many", "TooManyMissedTimes", "too many missed"), 1);
    sim_run(&s, 5 * MINUTE);
    assert_int_equal(
        count_events(&s, "late", "MissSchedule", "Missed scheduled time to start a job: "), 1);
    sim_run(&s, 5 * MINUTE);
    assert_int_equal(count_jobs(&s, "late"), 1);
}

static void test_zone(void **state)
{
    CLEANUP(sim_fini) struct sim s;
    char name[64], text[64];

    (void)state;
    begin(&s, 6);
    /* WALL0 is 2025-11-15 09:46:40 UTC, which is 10:46:40 in Berlin. */
    cron_create(&s, "noon", "\"schedule\":\"0 12 * * *\",\"timeZone\":\"Europe/Berlin\"", "exit 0");
    sim_run(&s, 10 * SEC);
    if (count_events(&s, "noon", "UnknownTimeZone", NULL))
        return; /* a machine without tzdata */
    sim_run(&s, 2 * 60 * MINUTE);
    nsec_t noon = WALL0 / NSEC_PER_SEC / 86400 * 86400 + INT64_C(11) * 3600;
    (void)snprintf(name, sizeof name, "noon-%lld", (long long)(noon / 60));
    CLEANUP(kj_doc_free) struct kj_doc *doc = sim_get(&s, &kind_job, "default", name);
    (void)snprintf(text, sizeof text, "%s",
                   kj_str_or(kj_get(kj_path(kj_root(doc), "metadata.annotations"),
                                    "batch.kubernetes.io/cronjob-scheduled-timestamp"),
                             ""));
    assert_string_equal(text, "2025-11-15T12:00:00+01:00");
}

/* ---- faults ---------------------------------------------------------------------------------- */

struct census {
    struct map seen; /* names of all Jobs that there ever were */
    unsigned twice;
};

static void on_job(void *arg, struct kobj *o)
{
    struct census *c = arg;

    if (map_getz(&c->seen, o->meta.name)) {
        c->twice++;
        return;
    }
    char *name = xstrdup(o->meta.name);
    map_putz(&c->seen, name, name);
}

static void check_census(struct sim *s, uint64_t seed)
{
    static const struct informer_handler jobs = { .on_add = on_job };
    struct census c = { 0 };

    begin(s, seed);
    struct informer *inf = informer_new(s->kube, &(struct informer_opts){ .kind = &kind_job });
    informer_add_handler(inf, &jobs, &c);
    informer_start(inf);
    s->faults = some_faults;
    cron_create(s, "none",
                "\"schedule\":\"* * * * *\",\"successfulJobsHistoryLimit\":0,"
                "\"failedJobsHistoryLimit\":0",
                "exit 0");
    cron_create(s, "long", "\"schedule\":\"*/2 * * * *\",\"concurrencyPolicy\":\"Replace\"",
                "sleep 200");
    cron_create(s, "every", "\"schedule\":\"@every 90s\",\"concurrencyPolicy\":\"Forbid\"",
                "sleep 30");
    for (int i = 0; i < 60; i++) {
        sim_run(s, (nsec_t)(seed * 7919 + (uint64_t)i * 104729) % 97 * SEC);
        if (i % 3 == 0)
            sim_drop_watches(s);
        if (i % 4 == 1) { /* killed, with calls under way */
            sim_stop_cluster(s);
            sim_run(s, i % 8 * 3 * SEC);
            sim_start(s, NULL);
        }
        if (i % 10 == 7) /* forth, and back */
            loop_set_wall(s->loop, loop_wall(s->loop) + (i % 20 == 7 ? 10 : -7) * MINUTE);
    }
    s->faults = (struct sim_faults){ 0 };
    size_t before = c.seen.n;
    sim_run(s, 20 * MINUTE); /* the clock may be behind the last scheduled time by seven */
    assert_int_equal(c.twice, 0);
    assert_true(before > 20);
    assert_true(c.seen.n >= before + 15); /* and all of them go on */
    assert_true(count_active(s, "long") <= 1);
    informer_free(inf);
    map_foreach(&c.seen, e)
        free(e->value);
    map_fini(&c.seen);
}

static void test_one_job_for_a_time(void **state)
{
    (void)state;
    for (uint64_t seed = 10; seed < 13; seed++) {
        CLEANUP(sim_fini) struct sim s;
        check_census(&s, seed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_job_each_minute),  cmocka_unit_test(test_concurrency),
        cmocka_unit_test(test_suspend_and_edits),  cmocka_unit_test(test_what_cannot_run),
        cmocka_unit_test(test_missed_times),       cmocka_unit_test(test_zone),
        cmocka_unit_test(test_one_job_for_a_time),
    };
    return cmocka_run_group_tests_name("sim_cron", tests, NULL, NULL);
}
