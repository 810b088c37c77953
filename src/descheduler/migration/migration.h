/* migration.h - MigrationController: moves pods by PodMigrationJobs, a place secured first
 * (descheduler 4).
 *
 * As a plugin it is filter and evict plugin of a profile: a pod that may go gets a job. As a
 * controller it carries out these jobs, and those that people make, under its limits. Loop thread
 * only.
 */
#ifndef KOORD_DESCHEDULER_MIGRATION_MIGRATION_H
#define KOORD_DESCHEDULER_MIGRATION_MIGRATION_H

struct kd_plugin;

extern const struct kd_plugin plugin_migrationcontroller;
#endif
