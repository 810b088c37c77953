/* lib.c - the functions of all libraries by name. */
#include "cel/lib.h"

#define UNSIZED .size_max = CEL_SIZE_UNKNOWN
const struct cel_type
    cel_A = { .kind = CT_PARAM, .name = "A", .param = 0, UNSIZED },
    cel_B = { .kind = CT_PARAM, .name = "B", .param = 1, UNSIZED },
    cel_list_A = { .kind = CT_LIST, .name = "list", .elem = &cel_A, UNSIZED },
    cel_list_list_A = { .kind = CT_LIST, .name = "list", .elem = &cel_list_A, UNSIZED },
    cel_map_AB = { .kind = CT_MAP, .name = "map", .key = &cel_A, .elem = &cel_B, UNSIZED },
    cel_opt_A = { .kind = CT_OPTIONAL, .name = "optional_type", .elem = &cel_A, UNSIZED },
    cel_opt_B = { .kind = CT_OPTIONAL, .name = "optional_type", .elem = &cel_B, UNSIZED },
    cel_type_A = { .kind = CT_TYPE, .name = "type", .elem = &cel_A, UNSIZED },
    cel_list_opt_A = { .kind = CT_LIST, .name = "list", .elem = &cel_opt_A, UNSIZED },
    cel_list_string = { .kind = CT_LIST, .name = "list", .elem = &cel_string, UNSIZED },
    cel_list_int = { .kind = CT_LIST, .name = "list", .elem = &cel_int, UNSIZED };

static const struct cel_library *const libraries[] = {
    &cel_lib_operators,  &cel_lib_convert, &cel_lib_time,    &cel_lib_strings,  &cel_lib_lists,
    &cel_lib_aggregates, &cel_lib_sets,    &cel_lib_regex,   &cel_lib_url,      &cel_lib_net,
    &cel_lib_quantity,   &cel_lib_semver,  &cel_lib_formats, &cel_lib_optional, &cel_lib_authz,
};

const struct cel_function *cel_function_find(struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(libraries); i++) {
        for (size_t j = 0; j < libraries[i]->n; j++) {
            const struct cel_function *f = &libraries[i]->functions[j];
            if (f->name[0] == name.p[0] && strncmp(f->name, name.p, name.n) == 0 &&
                f->name[name.n] == '\0')
                return f;
        }
    }
    return NULL;
}
