/* render.h - the NodeSLO of one node, from slo-controller-config.
 *
 * A pure function (manager 6).
 */
#ifndef KOORD_MANAGER_NODESLO_RENDER_H
#define KOORD_MANAGER_NODESLO_RENDER_H
#include "manager/sloconfig/sloconfig.h"

/* Fills *ret, which borrows from the configuration and the arena. extensions: of the NodeSLO that
 * exists, kept as they are; NULL: none. A network bandwidth annotation that cannot be read leaves
 * the system strategy out, as upstream, and why tells (0 when all is well). */
void nodeslo_render(const struct sloconfig *c, const kstrmap *labels, const kstrmap *annotations,
                    const char *extensions, struct arena *a, struct nodeslo_spec *ret,
                    struct kerr *why);
#endif
