/* server.h - the models at work: trained every minute, written to disk, read again at the start.
 *
 * Checkpoints are one file per model, named by its UID. They are written on a worker, a few in a
 * step; a disk that is full or slow delays nobody and is reported. Loop thread only.
 */
#ifndef KOORD_KOORDLET_PREDICT_SERVER_H
#define KOORD_KOORDLET_PREDICT_SERVER_H
#include "koordlet/options.h"
#include "koordlet/predict/models.h"
#include "koordlet/predict/reclaim.h"

struct loop;
struct metriccache;
struct metrics;
struct predict_server;
struct snapshots;

struct predict_env { /* borrowed */
    struct loop *loop;
    struct metriccache *mc;
    struct snapshots *snapshots;
    struct metrics *metrics;
    const struct predict_options *o;
};
struct predict_server *predict_server_new(const struct predict_env *env);
/* No more training; done is called once nothing is being written any more. */
void predict_server_stop(struct predict_server *s, void (*done)(void *arg), void *arg);
struct predict_server *predict_server_free(struct predict_server *s);
DEFINE_CLEANUP(predict_server_free, struct predict_server *)

/* Once pods are known (files of unknown ones are removed). Reads the checkpoints, then trains as
 * soon as there are samples of the node and of a pod, if it has any; after one training interval
 * with those there are. No model expires within an expiration of the start or of a clock's jump. */
void predict_server_start(struct predict_server *s);
bool predict_server_trained(const struct predict_server *s);
const struct models *predict_server_models(const struct predict_server *s);
struct reclaim_options predict_server_reclaim(const struct predict_server *s);
#endif
