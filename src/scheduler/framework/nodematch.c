/* nodematch.c - where a pod may go by its own will. */
#include "scheduler/framework/nodematch.h"

#include "api/node.h"
#include "api/pod.h"
#include "api/selector/selector.h"

struct nodematch nodematch_of(const struct pod *p, struct arena *a)
{
    const struct affinity *affinity = p->spec->affinity;
    struct nodematch m = { NULL, NULL };

    if (p->spec->node_selector.n > 0)
        m.labels = labelsel_from_map(&p->spec->node_selector, a);
    if (affinity && affinity->node && affinity->node->required)
        m.terms = nodesel_from(affinity->node->required, a);
    return m;
}

bool nodematch_terms(const struct nodesel *terms, const struct node *n)
{
    return nodesel_match(terms, &n->obj.meta.labels, n->obj.meta.name) == 1;
}

bool nodematch_node(const struct nodematch *m, const struct node *n)
{
    return (!m->labels || labelsel_matches(m->labels, &n->obj.meta.labels)) &&
           (!m->terms || nodematch_terms(m->terms, n));
}
