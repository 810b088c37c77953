/* koord_descheduler_flags.c - the flags of koord-descheduler. */
#include "descheduler/framework/gates.h"
#include "main/koord_descheduler.h"

#define O(member) .off = offsetof(struct desched_options, member)
static const struct flag served[] = {
    { "config", FLAG_STR, O(config),
      .help = "configuration `file` (DeschedulerConfiguration descheduler/v1alpha2), read again "
              "when it changes; without it nothing is ever evicted" },
    { "write-config-to", FLAG_STR, O(write_config_to),
      .help = "write the configuration in force to this `file`, and exit" },
    { "scheduler-config", FLAG_STR, O(scheduler_config),
      .help =
          "configuration `file` of the cluster's scheduler, for jobs that evict directly: nobody "
          "goes whom its profiles can place nowhere else; without it the ones that are shipped" },
    { "address", FLAG_STR, O(address), .def = "0.0.0.0",
      .help = "`address` of the plain port; without --config only" },
    { "port", FLAG_INT, O(port), .def = "10251", .max = 65535,
      .help = "plain HTTP port for health and metrics; 0: none; without --config only" },
    { "feature-gates", FLAG_CUSTOM, O(gates), .set = gates_set, .lines = gates_usage,
      .help = "`Name=true,...` switches features:" },
};
#undef O

#define LATER(name, type, value, text)                     \
    {                                                      \
        name, type, FLAG_LATER, .def = value, .help = text \
    }
static const struct flag later[] = {
    LATER("allow-metric-labels", FLAG_MAP, NULL, "limit label values"),
    LATER("allow-metric-labels-manifest", FLAG_STR, "", "file with such limits"),
    LATER("disabled-metrics", FLAG_LIST, NULL, "leave metrics out"),
    LATER("show-hidden-metrics-for-version", FLAG_STR, "", "show metrics that were hidden"),
};

void desched_options_add(struct flags *f, void *options)
{
    struct desched_options *o = options;

    gates_init(&o->gates, kd_gates, KD_GATES);
    flags_add(f, "Descheduler flags", served, ARRAY_LEN(served), o);
    client_options_add(f, &o->client);
    election_options_add(f, &o->election, "koord-descheduler");
    debug_options_add(f, &o->debug);
    secure_options_add(f, &o->secure, "10258");
    flags_add(f, "Metrics flags", later, ARRAY_LEN(later), o);
}
