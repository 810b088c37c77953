/* adopt.c - what our programs take of Koordinator's arguments and files, for koordctl adopt. */
#include "ctl/adopt.h"
#include "base/arena.h"
#include "base/strbuf.h"
#include "component/config.h"
#include "descheduler/config/config.h"
#include "koordlet/options.h"
#include "main/koord_descheduler.h"
#include "main/koord_manager.h"
#include "main/koord_scheduler.h"
#include "main/koordctl.h"
#include "manager/sloconfig/sloconfig.h"
#include "scheduler/config/config.h"

static const struct {
    const char *program;
    void (*add)(struct flags *f, void *options);
    size_t size;
} programs[] = {
    { "koord-manager", manager_options_add, sizeof(struct manager_options) },
    { "koord-scheduler", sched_options_add, sizeof(struct sched_options) },
    { "koord-descheduler", desched_options_add, sizeof(struct desched_options) },
    { "koordlet", koordlet_options_add, sizeof(struct koordlet_options) },
};

/* By the flags of the program itself. */
static int try_arg(const char *program, const char *arg, struct kerr *err)
{
    for (size_t i = 0; i < ARRAY_LEN(programs); i++) {
        if (!streq(programs[i].program, program))
            continue;
        CLEANUP(flags_free) struct flags *f = flags_new();
        CLEANUP(mem_free) void *options = xcalloc(1, programs[i].size);
        struct log_options log = { 0 };
        char *const argv[] = { (char *)(uintptr_t)arg, NULL };
        log_options_add(f, &log);
        programs[i].add(f, options);
        int r = flags_parse(f, 1, argv, 0, err);
        return r < 0 ? r : flags_later(f, 0) || flags_warning(f, 0);
    }
    return 0;
}

static int try_scheduler(const char *text, struct strbuf *notes, struct kerr *err)
{
    CLEANUP(config_unref) struct config *c = NULL;

    if (config_parse(&sched_config_spec, text, strlen(text), "koord-scheduler-config", &c, err) < 0)
        return err->code;
    const struct sched_config *s = c->value;
    for (size_t i = 0; s->not_yet && s->not_yet[i]; i++)
        strbuf_appendf(notes, "%s%s", i ? ", " : "plugins that are not there yet: ", s->not_yet[i]);
    return 0;
}

static int try_config(const char *what, const char *text, struct strbuf *notes, struct kerr *err)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    CLEANUP(config_unref) struct config *c = NULL;
    struct slo_section section = { 0 };

    if (streq(what, "koord-scheduler"))
        return try_scheduler(text, notes, err);
    if (streq(what, "koord-descheduler"))
        return config_parse(&desched_config_spec, text, strlen(text), "koord-descheduler-config",
                            &c, err);
    for (enum slo_key k = 0; k < SLO_KEYS; k++)
        if (streq(slo_keys[k].key, what))
            return slo_section_decode(k, text, a, &section, err);
    return kerr_set(err, -ENOENT, "a key that nothing reads");
}

const struct adopt_programs main_adopt = { .try_arg = try_arg, .try_config = try_config };
