/* columns.h - the arrays behind struct ks_nodes. Internal to model/.
 *
 * Rows are dense. There is a column for every resource that some node has ever had: pods cannot
 * make columns, so a user who invents resource names costs nothing.
 */
#ifndef KOORD_SCHEDULER_MODEL_COLUMNS_H
#define KOORD_SCHEDULER_MODEL_COLUMNS_H
#include "scheduler/model/requests.h"

struct columns {
    struct ks_nodes view; /* points into the arrays below */
    uint32_t cap, res_cap;
    int64_t **alloc, **used;
    int64_t *mcpu_nz, *memory_nz;
    char **names;
    const struct node **nodes;
    uint8_t *flags;
    struct ks_podlist *pods;
    uint64_t *changed, *node_changed;
    bool silent; /* changes are part of an overlay: no new generations */
    uint32_t journal[KS_JOURNAL], node_journal[KS_JOURNAL];
};

void columns_init(struct columns *c);
void columns_fini(struct columns *c);
void columns_learn(struct columns *c, const reslist *allocatable);
uint32_t columns_push(struct columns *c);             /* a row of zeros; its number */
void columns_remove(struct columns *c, uint32_t row); /* the last row takes its place */
void columns_set_node(struct columns *c, uint32_t row, const struct node *n);
void columns_swap_node(struct columns *c, uint32_t row, const struct node *n); /* nothing changed */
void columns_touch(struct columns *c,
                   uint32_t row); /* something that belongs to the node changed */
void columns_clear_used(struct columns *c, uint32_t row);
void columns_set_pods(struct columns *c, uint32_t row, struct ks_podlist pods); /* borrowed */
/* KS_USED_MCPU_NZ and KS_USED_MEMORY_NZ are columns too. Exactly undone by the opposite. */
void columns_use(struct columns *c, uint32_t row, uint32_t column, int64_t delta);
void columns_add(struct columns *c, uint32_t row, const struct requests *r, int sign);
void columns_touch_pods(struct columns *c, uint32_t row); /* a new generation */
int columns_check_used(const struct columns *c, uint32_t row, const struct requests *all,
                       uint32_t n, struct kerr *err);
#endif
