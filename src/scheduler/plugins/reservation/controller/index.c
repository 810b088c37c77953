/* index.c - pods by the Reservation that they use, Reservations by their node. */
#include "api/protocol/reservation.h"
#include "base/arena.h"
#include "scheduler/plugins/reservation/controller/control_int.h"

void index_pod_reservation(const struct kobj *pod, index_emit_fn emit, void *to)
{
    const char *text = kstrmap_get(&pod->meta.annotations, ANNO_RESERVATION_ALLOCATED);
    struct reservation_allocated used;
    struct kerr unread = { 0 };

    if (!text)
        return;
    CLEANUP(arena_free) struct arena *a = arena_new();
    if (reservation_allocated_decode(text, a, &used, &unread) >= 0 && !str_empty(used.uid))
        emit(to, used.uid);
}

void index_reservation_node(const struct kobj *reservation, index_emit_fn emit, void *to)
{
    const struct reservation *r = reservation_of(reservation);

    if (reservation_has_node(r))
        emit(to, r->status.node_name);
}
