/* migrate.h - koordctl migrate: PodMigrationJobs for people. */
#ifndef KOORD_CTL_MIGRATE_H
#define KOORD_CTL_MIGRATE_H
#include "api/koord/podmigrationjob.h"
#include "base/strbuf.h"

struct kjw;

/* Paused, Waiting, Running, Succeeded, Failed, Aborted. */
const char *migrate_state(const struct podmigrationjob *j);
/* What a person wants to know of it now: what it waits for, how it ended, why it was made. */
void migrate_tell(const struct podmigrationjob *j, struct strbuf *out);
/* A line of `migrate list` for each, under a header; nothing when there are none. */
void migrate_table(const struct podmigrationjob *const *jobs, size_t n, nsec_t now,
                   struct strbuf *out);
/* The same for programs. */
void migrate_json(const struct podmigrationjob *const *jobs, size_t n, struct strbuf *out);
#endif
