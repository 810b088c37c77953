/* files.h - checkpoints on disk: one file per model in one directory, written on a worker.
 *
 * A directory that cannot be made or written is reported once a minute at most and counted in
 * koordlet_checkpoint_failures_total; models then simply start anew after a restart. So is a disk
 * that takes longer than a minute, at each flush while it does.
 */
#ifndef KOORD_KOORDLET_PREDICT_FILES_H
#define KOORD_KOORDLET_PREDICT_FILES_H
#include "base/base.h"

struct checkpoint_files;
struct loop;
struct metrics;

struct checkpoint_files *checkpoint_files_new(struct loop *l, const char *dir, struct metrics *m);
/* Writes what waits, then calls done, from a later turn. */
void checkpoint_files_stop(struct checkpoint_files *f, void (*done)(void *arg), void *arg);
/* Does not wait for what is being written: that ends by itself. Not between a stop and its done,
 * unless the disk hangs. */
struct checkpoint_files *checkpoint_files_free(struct checkpoint_files *f);
DEFINE_CLEANUP(checkpoint_files_free, struct checkpoint_files *)

/* Reads every file there is, also in directories below, and gives it to fn with its name. Files
 * that fn refuses, that are too large and what an interrupted write left behind are removed. */
typedef int (*checkpoint_fn)(void *arg, const char *uid, const char *text, size_t n,
                             struct kerr *err);
void checkpoint_files_restore(struct checkpoint_files *f, checkpoint_fn fn, void *arg);

/* Both wait for checkpoint_files_flush(), and that for the one before to be written; what waits for
 * a UID gives way to what comes later. The text is copied. A UID that is no file name is refused
 * silently: such models are not kept. */
void checkpoint_files_save(struct checkpoint_files *f, const char *uid, const char *text, size_t n);
void checkpoint_files_remove(struct checkpoint_files *f, const char *uid);
void checkpoint_files_flush(struct checkpoint_files *f);
#endif
