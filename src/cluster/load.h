/* load.h - what a simulated pod uses, as a function of time. No state, no clock of its own.
 *
 *   constant:500m,1Gi                          cpu, memory (memory may be left out)
 *   constant:cpu=500m,memory=1Gi,noise=0.1
 *   wave:low=100m,high=2,period=24h,phase=6h,memory=1Gi
 *                                              a sine between low and high, lowest at 00:00 UTC
 * plus phase; period 24h and phase 0 when left out
 *   spikes:base=100m,peak=2,every=10m,for=30s,memory=1Gi
 *                                              peak for a while, once in every window, at a place
 * in the window that differs from pod to pod memory, memory-high (wave and spikes: follows the cpu
 * between memory and memory-high) and noise (share of the value, default 0.05) fit all. Noise is
 * seeded: the same at every reading of a time.
 */
#ifndef KOORD_CLUSTER_LOAD_H
#define KOORD_CLUSTER_LOAD_H
#include "base/base.h"

enum load_kind { LOAD_CONSTANT, LOAD_WAVE, LOAD_SPIKES };
struct load {
    enum load_kind kind;
    int64_t low_mcpu, high_mcpu;     /* constant: low */
    int64_t low_bytes, high_bytes;   /* memory; high 0: stays at low */
    nsec_t period, phase, spike_for; /* spikes: period is the window */
    double noise;
};
struct load_usage {
    int64_t mcpu, bytes;
};

int load_parse(const char *text, struct load *ret, struct kerr *err);
/* seed: of the run and the pod together. */
struct load_usage load_at(const struct load *l, uint64_t seed, nsec_t wall);
/* A number in [0, 1) that depends on nothing but its arguments. */
double load_noise(uint64_t seed, uint64_t salt);
#endif
