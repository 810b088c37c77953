/* docs_cron.c - the table of CronJob. */
#include "cluster/docs_int.h"

#define F(member, json, type, ...) KF(struct cron_spec, member, json, type, __VA_ARGS__)
static const struct kfield cronjob_spec[] = {
    F(schedule, "schedule", KF_STR),
    F(time_zone, "timeZone", KF_OPT_STR, OMIT),
    F(concurrency_policy, "concurrencyPolicy", KF_STR, .flags = KF_INTERN | KF_OMITEMPTY),
    F(suspend, "suspend", KF_BOOL, OMIT),
    F(starting_deadline_seconds, "startingDeadlineSeconds", KF_OPT_I64, OMIT),
    F(successful_limit, "successfulJobsHistoryLimit", KF_OPT_I32, OMIT),
    F(failed_limit, "failedJobsHistoryLimit", KF_OPT_I32, OMIT),
    F(template_json, "jobTemplate", KF_RAW, OMIT),
};
#undef F
#define F(member, json, type, ...) KF(struct cron_status, member, json, type, __VA_ARGS__)
static const struct kfield cronjob_status[] = {
    KF_LIST_OF(struct cron_status, active, "active", KF_OBJ, OMIT, .sub = &object_ref_schema),
    F(last_schedule_time, "lastScheduleTime", KF_TIME, OMIT),
    F(last_successful_time, "lastSuccessfulTime", KF_TIME, OMIT),
};
#undef F
DOC(cronjob, struct cronjob, "CronJob", "cronjobs", "batch");
