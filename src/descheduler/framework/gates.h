/* gates.h - the feature gates of koord-descheduler (descheduler 1.1). */
#ifndef KOORD_DESCHEDULER_GATES_H
#define KOORD_DESCHEDULER_GATES_H
#include "component/gates.h"

enum kd_gate_name { KD_GATE_DISABLE_PVC_RESERVATION, KD_GATES };
extern const struct gate kd_gates[KD_GATES];

/* NULL: as by default. */
static inline UNUSED bool kd_gate(const struct gates *g, enum kd_gate_name gate)
{
    return g ? gates_on(g, gate) : kd_gates[gate].def;
}
#endif
