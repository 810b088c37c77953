/* control.c - controllers of plugins run where the scheduler leads (scheduler-core 9.1, 10). */
#include "client/events.h"
#include "controllers/controller.h"
#include "scheduler/engine/internal.h"

/* The first mention decides, "Name" or "-Name"; then "*". */
static bool enabled(const struct scheduler *s, const char *plugin)
{
    bool all = !s->controller_plugins;

    for (size_t i = 0; i < s->ncontroller_plugins; i++) {
        const char *item = s->controller_plugins[i];
        bool minus = *item == '-';
        if (streq(item + minus, plugin))
            return !minus;
        all = all || streq(item, "*");
    }
    return all;
}

/* Services of one key that differ in their args share one. */
static bool has_controller(const struct scheduler *s, const struct ks_service *key)
{
    const struct service_instance *i = service_table_first(s->services);

    while (i && !(i->key == key && i->controllers))
        i = i->next;
    return i;
}

static void start_one(struct scheduler *s, struct service_instance *i)
{
    if (!s->controller_events)
        s->controller_events = recorder_new(
            s->kube, &(struct recorder_opts){
                         .component = "koord-scheduler", .instance = s->instance, .series = true });
    const struct controller_env env = { s->loop, s->kube, s->caches, s->controller_events };
    i->controllers = controllers_new(&env);
    i->controller = i->key->controller->start(i->self, i->controllers, &env);
    controllers_start(i->controllers);
}

void control_start(struct scheduler *s)
{
    if (!s->leading || !s->synced)
        return;
    for (struct service_instance *i = service_table_first(s->services); i; i = i->next)
        if (i->key->controller && enabled(s, i->key->name) && !has_controller(s, i->key))
            start_one(s, i);
}

static void stop_one(struct service_instance *i)
{
    if (!i->controllers)
        return;
    controllers_stop(i->controllers);
    if (i->key->controller->stop)
        i->key->controller->stop(i->controller);
    i->controllers = controllers_free(i->controllers);
    i->controller = NULL;
}

/* Another service of its key may take over. */
static void on_end(void *arg, struct service_instance *i)
{
    stop_one(i);
    placeholder_service_ends(arg, i);
}

void control_init(struct scheduler *s)
{
    service_table_on_end(s->services, on_end, s);
}

void control_stop(struct scheduler *s)
{
    for (struct service_instance *i = service_table_first(s->services); i; i = i->next)
        stop_one(i);
    s->controller_events = recorder_free(s->controller_events);
}
