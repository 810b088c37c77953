/* config_fixture.h - configurations from texts, and what came of them. */
#ifndef KOORD_SCHEDULER_CONFIG_TEST_CONFIG_FIXTURE_H
#define KOORD_SCHEDULER_CONFIG_TEST_CONFIG_FIXTURE_H
#include <setjmp.h>
#include <stdio.h>

#include <cmocka.h>

#include "scheduler/config/config.h"

#define HEAD             "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
#define PLUGINS(sets)    HEAD "profiles:\n- plugins: {" sets "}\n"
#define ARGS(name, args) HEAD "profiles:\n- pluginConfig:\n  - name: " name "\n    args: " args "\n"

static inline UNUSED struct config *load(const char *text)
{
    struct config *c = NULL;
    struct kerr err = { 0 };

    int r = config_parse(&sched_config_spec, text, strlen(text), "conf.yaml", &c, &err);
    if (r < 0)
        fail_msg("%s", err.text);
    return c;
}

static inline const struct sched_config *of(const struct config *c)
{
    return c->value;
}

/* The names of a list, with blanks between. */
static inline const char *names_of(const struct profile_set *s)
{
    static char text[1024];
    size_t n = 0;

    text[0] = '\0';
    for (uint32_t i = 0; i < s->n; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%s", i ? " " : "", s->items[i].plugin);
    return text;
}

static inline UNUSED const char *order_of(const struct config *c, enum ks_point point)
{
    return names_of(&of(c)->profiles.items[0].order[point]);
}

/* NULL: the plugin has none. */
static inline UNUSED const char *args_of(const struct config *c, const char *plugin)
{
    const struct sched_profile *p = &of(c)->profiles.items[0];

    for (uint32_t i = 0; i < p->plugin_config.n; i++)
        if (streq(p->plugin_config.items[i].name, plugin))
            return p->plugin_config.items[i].args;
    return NULL;
}
#endif
