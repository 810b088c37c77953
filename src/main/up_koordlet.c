/* up_koordlet.c - this machine as one more node of koordctl up: its true load, reported by
 * koordlet.
 *
 * There is no kubelet. The controllers' hollow kubelet registers the node and plays its pods; what
 * koordlet measures is the machine itself. It writes no kernel files: no pod of this cluster has
 * processes here, and pods of another cluster are none of its business.
 */
#include <ctype.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "component/flags.h"
#include "component/metrics.h"
#include "koordlet/agent.h"
#include "main/up.h"

struct up_koordlet {
    struct flags *flags; /* owns the defaults' texts */
    struct koordlet_options o;
    struct metrics *metrics;
    struct agent *agent;
    char *node, *checkpoints;
};

/* A node's name is a DNS subdomain; a host's may have capitals and underscores. */
static char *node_name(void)
{
    struct utsname u = { 0 };
    size_t n = 0;

    (void)uname(&u);
    for (const char *p = u.nodename; *p; p++) {
        char c = (char)tolower((unsigned char)*p);
        bool edge = n == 0 || p[1] == '\0';
        u.nodename[n] = isalnum((unsigned char)c) || (!edge && (c == '.' || c == '-')) ? c : '-';
        n += !(edge && u.nodename[n] == '-');
    }
    return n ? xstrndup(u.nodename, n) : xstrdup("this-machine");
}

struct up_host up_host_read(void)
{
    return (struct up_host){
        .name = node_name(),
        .mcpu = (int64_t)sysconf(_SC_NPROCESSORS_ONLN) * 1000,
        .memory_bytes = (int64_t)sysconf(_SC_PHYS_PAGES) * (int64_t)sysconf(_SC_PAGESIZE),
    };
}

int up_koordlet_new(struct loop *l, struct kube *k, const char *dir, struct up_koordlet **ret,
                    struct kerr *err)
{
    CLEANUP(up_koordlet_free) struct up_koordlet *u = xnew0(struct up_koordlet);
    struct koordlet_options *o = &u->o;

    u->flags = flags_new();
    koordlet_options_add(u->flags, o);
    u->node = node_name();
    u->checkpoints = xasprintf("%s/koordlet", dir);
    o->node_name = u->node;
    o->roots = host_roots_default("hostMode");
    o->predict.checkpoint_dir = u->checkpoints;
    o->no_kubelet = true;
    o->topology_interval = 0; /* the kubelet's settings are part of it */
    o->executor.dry_run = true;
    u->metrics = metrics_new();
    const struct agent_env env = { .loop = l, .kube = k, .internal = u->metrics, .o = o };
    if (agent_new(&env, &u->agent, err) < 0)
        return kerr_wrap(err, "koordlet");
    agent_start(u->agent);
    *ret = take(u);
    return 0;
}

struct up_koordlet *up_koordlet_free(struct up_koordlet *u)
{
    if (!u)
        return NULL;
    agent_free(u->agent);
    metrics_free(u->metrics);
    flags_free(u->flags);
    free(u->node);
    free(u->checkpoints);
    free(u);
    return NULL;
}
