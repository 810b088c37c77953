/* gates.h - feature gates: "--feature-gates=A=true,B=false", AllAlpha, AllBeta.
 *
 * The table belongs to the component, which asks by index: gates_on(&g, GATE_MULTI_QUOTA_TREE).
 * What is named wins over AllAlpha and AllBeta, in whatever order they are given. Names are case
 * sensitive. No globals: components in one process each have their own.
 */
#ifndef KOORD_COMPONENT_GATES_H
#define KOORD_COMPONENT_GATES_H
#include "base/base.h"

struct metrics;
struct strbuf;

enum gate_stage { GATE_ALPHA, GATE_BETA, GATE_GA, GATE_DEPRECATED };
struct gate {
    const char *name;
    bool def;
    uint8_t stage;
    bool locked; /* may be named, but only with its default */
};

enum { GATES_MAX = 256 };
struct gates {
    const struct gate *table;
    uint32_t n;
    int8_t all[2]; /* AllAlpha, AllBeta: -1 not given, else the value */
    uint64_t on[GATES_MAX / 64], given[GATES_MAX / 64], value[GATES_MAX / 64];
};

void gates_init(struct gates *g, const struct gate *table, size_t n);
/* Adds to what was given before. On failure nothing changes; the message names the gate. */
int gates_parse(struct gates *g, const char *text, struct kerr *err);
/* The same in the shape of a custom flag: { "feature-gates", FLAG_CUSTOM, .set = gates_set,
 * .lines = gates_usage }. */
int gates_set(void *gates, const char *text, struct kerr *err);

static inline bool gates_on(const struct gates *g, unsigned gate)
{
    return g->on[gate / 64] >> (gate % 64) & 1;
}
static inline bool gates_given(const struct gates *g, unsigned gate)
{
    return g->given[gate / 64] >> (gate % 64) & 1;
}
/* Warns about gates that were given and will go away (GA, deprecated). For main. */
void gates_log(const struct gates *g);
/* One line per gate, sorted: "Name=true|false (BETA - default=true)". For .lines of the flag. */
void gates_usage(const void *gates, struct strbuf *out);
/* kubernetes_feature_enabled{name, stage}. */
void gates_metrics(const struct gates *g, struct metrics *m);
#endif
