/* gates.c - the table of feature gates. */
#include "descheduler/framework/gates.h"

const struct gate kd_gates[KD_GATES] = {
    [KD_GATE_DISABLE_PVC_RESERVATION] = { "DisablePVCReservation", false, GATE_BETA, false },
};
