/* registry.c - the collectors, in running order: who needs another's numbers comes after it. */
#include "koordlet/collect/collect_int.h"

const struct collector *const collectors[] = {
    &collector_node_info, &collector_storage,
    &collector_node,      &collector_pod,
    &collector_throttled, &collector_page_cache,
    &collector_be,        &collector_host_app,
    &collector_system,    &collector_cold_page,
    &collector_psi,       &collector_cpi,
    &collector_resctrl,   NULL,
};
