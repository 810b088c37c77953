/* migrate_text.c - PodMigrationJobs in lines. */
#include "ctl/migrate.h"

#include "api/protocol/keys.h"
#include "json/kj.h"

/* The condition in which the descheduler says why a job waits. */
#define ARBITRATION "Arbitration"

const char *migrate_state(const struct podmigrationjob *j)
{
    switch (j->status.phase) {
    case MIGRATION_PHASE_NONE:
    case MIGRATION_PENDING: return j->spec.paused ? "Paused" : "Waiting";
    case MIGRATION_RUNNING: return j->spec.paused ? "Paused" : "Running";
    default: return migration_phase_names[j->status.phase];
    }
}

static const struct timed_condition *condition(const struct podmigrationjob *j, const char *type)
{
    for (uint32_t i = 0; i < j->status.conditions.n; i++)
        if (streq(j->status.conditions.items[i].type, type))
            return &j->status.conditions.items[i];
    return NULL;
}

static const char *annotation(const struct podmigrationjob *j, const char *key)
{
    return str_or(kstrmap_get(&j->obj.meta.annotations, key), "");
}

void migrate_tell(const struct podmigrationjob *j, struct strbuf *out)
{
    const struct timed_condition *waits = condition(j, ARBITRATION);
    const char *why = annotation(j, ANNO_EVICT_REASON), *by = annotation(j, ANNO_EVICT_TRIGGER);

    if (j->spec.paused && j->status.phase < MIGRATION_SUCCEEDED) {
        strbuf_append(out, "waits for approval");
        if (*why || *by)
            strbuf_appendf(out, ": %s%s%s", by, *why && *by ? ": " : "", why);
    } else if (waits && waits->status == COND_FALSE && j->status.phase < MIGRATION_SUCCEEDED) {
        strbuf_appendf(out, "%s: %s", waits->reason, waits->message);
    } else if (*j->status.reason || *j->status.message) {
        strbuf_appendf(out, "%s%s%s", j->status.reason,
                       *j->status.reason && *j->status.message ? ": " : "", j->status.message);
    } else {
        strbuf_append(out, j->status.status);
    }
}

/* "90s", "12m", "3h", "5d", as kubectl's tables have it. */
static void age(nsec_t d, struct strbuf *out)
{
    int64_t s = MAX(d, (nsec_t)0) / NSEC_PER_SEC;

    if (s < 120)
        strbuf_appendf(out, "%llds", (long long)s);
    else if (s < 120 * 60)
        strbuf_appendf(out, "%lldm", (long long)(s / 60));
    else if (s < 48 * 3600)
        strbuf_appendf(out, "%lldh", (long long)(s / 3600));
    else
        strbuf_appendf(out, "%lldd", (long long)(s / 86400));
}

static void pod_of_job(const struct podmigrationjob *j, struct strbuf *out)
{
    const struct object_ref *r = j->spec.pod_ref;
    strbuf_appendf(out, "%s/%s", r ? r->ns : "", r ? r->name : "");
}

enum { COLUMNS = 5 };

static void cell(const struct podmigrationjob *j, int column, nsec_t now, struct strbuf *out)
{
    switch (column) {
    case 0: strbuf_append(out, j->obj.meta.name); break;
    case 1: strbuf_append(out, migrate_state(j)); break;
    case 2: age(now - j->obj.meta.created, out); break;
    case 3: pod_of_job(j, out); break;
    default: strbuf_append(out, *j->status.node_name ? j->status.node_name : "-"); break;
    }
}

void migrate_table(const struct podmigrationjob *const *jobs, size_t n, nsec_t now,
                   struct strbuf *out)
{
    static const char *const names[COLUMNS] = { "NAME", "STATE", "AGE", "POD", "TO" };
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    size_t widths[COLUMNS];

    if (n == 0)
        return;
    for (int c = 0; c < COLUMNS; c++) {
        widths[c] = strlen(names[c]);
        for (size_t i = 0; i < n; i++) {
            strbuf_reset(&text);
            cell(jobs[i], c, now, &text);
            widths[c] = MAX(widths[c], text.len);
        }
        strbuf_appendf(out, "%-*s   ", (int)widths[c], names[c]);
    }
    strbuf_append(out, "MESSAGE\n");
    for (size_t i = 0; i < n; i++) {
        for (int c = 0; c < COLUMNS; c++) {
            strbuf_reset(&text);
            cell(jobs[i], c, now, &text);
            strbuf_appendf(out, "%-*s   ", (int)widths[c], strbuf_str(&text));
        }
        migrate_tell(jobs[i], out);
        strbuf_appendc(out, '\n');
    }
}

static void write_job(struct kjw *w, const struct podmigrationjob *j)
{
    CLEANUP(strbuf_fini) struct strbuf pod = STRBUF_INIT, text = STRBUF_INIT;

    pod_of_job(j, &pod);
    migrate_tell(j, &text);
    kjw_obj(w, NULL);
    kjw_str(w, "name", j->obj.meta.name);
    kjw_str(w, "state", migrate_state(j));
    kjw_str(w, "pod", strbuf_str(&pod));
    kjw_str(w, "mode", j->spec.mode);
    kjw_str(w, "toNode", j->status.node_name);
    if (j->status.pod_ref)
        kjw_str(w, "newPod", j->status.pod_ref->name);
    kjw_str(w, "trigger", annotation(j, ANNO_EVICT_TRIGGER));
    kjw_str(w, "reason", annotation(j, ANNO_EVICT_REASON));
    kjw_str(w, "message", strbuf_str(&text));
    kjw_end(w);
}

void migrate_json(const struct podmigrationjob *const *jobs, size_t n, struct strbuf *out)
{
    struct kjw w = kjw_to(out);

    kjw_arr(&w, NULL);
    for (size_t i = 0; i < n; i++)
        write_job(&w, jobs[i]);
    kjw_end(&w);
    strbuf_appendc(out, '\n');
}
