// Expressions over objects of structural schemas, as rules of CustomResourceDefinitions are: self and oldSelf.
package main

import (
	"encoding/json"
	"math/rand"
	"regexp"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	rulecel "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apimachinery/pkg/util/version"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"
)

// A property that a schema may have.
type property struct {
	name   string
	typ    string // of the generator; "": no leaf
	schema func(r *rand.Rand) object
	value  func(r *rand.Rand) any
}

var wordsOfObjects = []string{"", "a", "abc", "b", "é😀", "10.0.0.1", "1Gi", "1.2.3", "a,b", "12", "1h", "k", "web", "Ready"}

func aWord(r *rand.Rand) any { return wordsOfObjects[r.Intn(len(wordsOfObjects))] }
func anInt(r *rand.Rand) any {
	return []int64{0, 1, -1, 2, 3, 5, 42, 1 << 40}[r.Intn(8)]
}

func aDouble(r *rand.Rand) any { return []any{0.5, -2.25, int64(3), 1e20}[r.Intn(4)] }
func aTime(r *rand.Rand) any {
	return []string{"2024-02-29T12:30:00Z", "2021-06-01T10:00:00.123+05:30", "1969-12-31T23:59:59Z", "2020-02-03t00:00:00z"}[r.Intn(4)]
}
func aDate(r *rand.Rand) any { return []string{"2024-02-29", "0000-01-01"}[r.Intn(2)] }
func aDuration(r *rand.Rand) any {
	return []string{"1h", "90s", "-1.5h", "100ms", "1d", "2 weeks", "-1 day", "5 \u00b5s"}[r.Intn(8)]
}
func aBase64(r *rand.Rand) any { return []string{"", "YWJj", "4pyT"}[r.Intn(3)] } // docs/cel.md: no + and / upstream
func someBytes(r *rand.Rand) object {
	return limited(r, object{"type": "string", "format": "byte"}, "maxLength")
}

// The schema with a limit, most of the time.
func limited(r *rand.Rand, s object, key string) object {
	if limit := []int{0, 1, 5, 20, 63, 300, 5000}[r.Intn(7)]; limit > 0 {
		s[key] = limit
	}
	return s
}

func text(r *rand.Rand) object { return limited(r, object{"type": "string"}, "maxLength") }
func plain(s object) func(*rand.Rand) object {
	return func(*rand.Rand) object {
		copied := object{}
		for k, v := range s {
			copied[k] = v
		}
		return copied
	}
}
func listSchema(items func(*rand.Rand) object, more object) func(*rand.Rand) object {
	return func(r *rand.Rand) object {
		s := limited(r, object{"type": "array", "items": items(r)}, "maxItems")
		for k, v := range more {
			s[k] = v
		}
		return s
	}
}
func mapSchema(values func(*rand.Rand) object) func(*rand.Rand) object {
	return func(r *rand.Rand) object {
		return limited(r, object{"type": "object", "additionalProperties": values(r)}, "maxProperties")
	}
}
func listOf(item func(*rand.Rand) any, distinct bool) func(*rand.Rand) any {
	return func(r *rand.Rand) any {
		list, seen := []any{}, map[any]bool{}
		for i := r.Intn(6); i > 0; i-- {
			v := item(r)
			if distinct && seen[v] {
				continue
			}
			if distinct {
				seen[v] = true
			}
			list = append(list, v)
		}
		return list[:len(list):len(list)] // upstream appends in place where there is room
	}
}
func condition(r *rand.Rand, i int) any {
	c := object{"type": []string{"Ready", "a", "b", "Synced"}[i], "port": int64(i)}
	if r.Intn(4) > 0 {
		c["status"] = aWord(r)
	}
	if r.Intn(3) == 0 {
		c["count"] = anInt(r)
	}
	if r.Intn(4) == 0 {
		c["raw"] = []any{int64(1), "x", object{"y": true}}[r.Intn(3)]
	}
	return c
}
func conditions(r *rand.Rand) any {
	list := []any{}
	for _, i := range r.Perm(4)[:r.Intn(4)] {
		list = append(list, condition(r, i))
	}
	return list[:len(list):len(list)]
}
func conditionSchema(r *rand.Rand) object {
	required := [][]string{{"type"}, {"type", "port"}, {"type", "raw"}}[r.Intn(3)]
	return object{"type": "object", "required": required, "properties": object{"type": text(r), "status": text(r),
		"count": object{"type": "integer"}, "port": object{"type": "integer"}, "raw": object{"x-kubernetes-preserve-unknown-fields": true}}}
}

var properties = []property{
	{"name", "string", text, aWord}, {"a-b", "string", text, aWord}, {"a.b", "string", text, aWord},
	{"a/b", "string", text, aWord}, {"a__b", "string", text, aWord}, {"if", "string", text, aWord},
	{"namespace", "string", text, aWord}, {"_x-__y./", "string", text, aWord},
	{"mode", "string", plain(object{"type": "string", "enum": []string{"a", "abc", "12"}}), func(r *rand.Rand) any { return "abc" }},
	{"replicas", "int", plain(object{"type": "integer"}), anInt}, {"int", "int", plain(object{"type": "integer", "format": "int32"}), anInt},
	{"ratio", "double", plain(object{"type": "number"}), aDouble},
	{"on", "bool", plain(object{"type": "boolean"}), func(r *rand.Rand) any { return r.Intn(2) == 0 }},
	{"port", "int", plain(object{"x-kubernetes-int-or-string": true}), func(r *rand.Rand) any { return []any{int64(80), "http", "12"}[r.Intn(3)] }},
	{"ports", "listint", listSchema(plain(object{"x-kubernetes-int-or-string": true}), nil), listOf(func(r *rand.Rand) any {
		return []any{int64(80), int64(1), "http"}[r.Intn(3)]
	}, false)},
	{"time", "ts", plain(object{"type": "string", "format": "date-time"}), aTime},
	{"date", "ts", plain(object{"type": "string", "format": "date"}), aDate},
	{"dur", "dur", plain(object{"type": "string", "format": "duration"}), aDuration},
	{"bin", "bytes", someBytes, aBase64},
	{"email", "string", plain(object{"type": "string", "format": "email", "maxLength": 40}), func(r *rand.Rand) any { return "a@b.example.com" }},
	{"tags", "liststring", listSchema(text, nil), listOf(aWord, false)},
	{"set", "liststring", listSchema(text, object{"x-kubernetes-list-type": "set"}), listOf(aWord, true)},
	{"more", "liststring", listSchema(text, object{"x-kubernetes-list-type": "set"}), listOf(aWord, true)},
	{"ints", "listint", listSchema(plain(object{"type": "integer"}), object{"x-kubernetes-list-type": "set"}), listOf(anInt, true)},
	{"nums", "listint", listSchema(plain(object{"type": "integer"}), nil), listOf(anInt, false)},
	{"mat", "listlist", listSchema(listSchema(plain(object{"type": "integer"}), nil), nil), listOf(listOf(anInt, false), false)},
	{"ratios", "listdouble", listSchema(plain(object{"type": "number"}), nil), listOf(aDouble, false)},
	{"waits", "listdur", listSchema(plain(object{"type": "string", "format": "duration"}), nil), listOf(aDuration, false)},
	{"times", "listts", listSchema(plain(object{"type": "string", "format": "date-time"}), nil), listOf(aTime, false)},
	{"bins", "listbytes", listSchema(someBytes, nil), listOf(aBase64, false)},
	{"conds", "listobj", listSchema(conditionSchema, object{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": []string{"type"}}), conditions},
	{"pairs", "listobj", listSchema(conditionSchema, object{"x-kubernetes-list-type": "map",
		"x-kubernetes-list-map-keys": []string{"type", "port"}}), conditions},
	{"items", "listobj", listSchema(conditionSchema, object{"x-kubernetes-list-type": "atomic"}), conditions},
	{"labels", "one", mapSchema(plain(object{"type": "integer"})), func(r *rand.Rand) any { return object{aWord(r).(string): anInt(r)} }},
	{"limits", "map", mapSchema(plain(object{"type": "integer"})), func(r *rand.Rand) any { return object{"a": anInt(r), "b": int64(2)} }},
	{"nul", "string", plain(object{"type": "string", "nullable": true, "maxLength": 9}), func(r *rand.Rand) any { return []any{nil, "abc"}[r.Intn(2)] }},
	{"nullist", "liststring", listSchema(plain(object{"type": "string", "nullable": true}), nil), listOf(func(r *rand.Rand) any {
		return []any{nil, "a", "b"}[r.Intn(3)]
	}, false)},
	{"nulmap", "one", mapSchema(plain(object{"type": "integer", "nullable": true})), func(r *rand.Rand) any {
		return object{"k": []any{nil, int64(4)}[r.Intn(2)]}
	}},
	{"blob", "", plain(object{"type": "object", "x-kubernetes-preserve-unknown-fields": true}), func(r *rand.Rand) any { return object{"x": anInt(r)} }},
	{"short", "int", plain(object{"x-kubernetes-int-or-string": true, "maxLength": 7}), func(r *rand.Rand) any { return []any{int64(1), "a"}[r.Intn(2)] }},
	{"emb", "", plain(object{"type": "object", "x-kubernetes-embedded-resource": true, "properties": object{"x": object{"type": "integer"}}}),
		func(r *rand.Rand) any {
			return object{"apiVersion": "v1", "kind": "Pod", "metadata": object{"name": aWord(r)}, "x": anInt(r)}
		}},
	{"free", "", plain(object{"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": object{"known": object{"type": "string"}}}),
		func(r *rand.Rand) any { return object{"known": aWord(r), "other": anInt(r)} }},
}

// A random schema, with the values that objects of it may have.
type objects struct {
	schema   object
	set      *setting
	chosen   []property
	inner    []property // of self.nested
	optional bool       // oldSelf may be absent, as with optionalOldSelf
	equality bool       // docs/cel.md: upstream's takes no account of names with two underscores
	env      *cel.Env
	compiled *structuralschema.Structural
	decl     *apiservercel.DeclType
}

func pickProperties(r *rand.Rand, n int) (chosen []property, schemas object) {
	schemas = object{}
	for _, i := range r.Perm(len(properties))[:n] {
		chosen = append(chosen, properties[i])
		schemas[properties[i].name] = properties[i].schema(r)
	}
	return chosen, schemas
}

func structural(schema object) *structuralschema.Structural {
	text, err := json.Marshal(schema)
	must(err)
	var external apiextensionsv1.JSONSchemaProps
	must(json.Unmarshal(text, &external))
	var internal apiextensions.JSONSchemaProps
	must(apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(&external, &internal, nil))
	s, err := structuralschema.NewStructural(&internal)
	must(err)
	return s
}

// What expressions may say about the properties of an object.
func addLeaves(own, shapes map[string][]string, object string, list []property) {
	for _, p := range list {
		name, _ := apiservercel.Escape(p.name)
		path := object + "." + name
		shapes["bool"] = append(shapes["bool"], "has("+path+")")
		switch p.typ {
		case "":
			own["bool"] = append(own["bool"], "has("+path+")", "("+path+" == "+path+")")
		case "int":
			shapes["optint"] = append(shapes["optint"], object+".?"+name)
		case "string":
			shapes["optstring"] = append(shapes["optstring"], object+".?"+name)
		}
		if p.name == "emb" {
			own["string"] = append(own["string"], path+".metadata.name", path+".kind", path+".metadata.generateName")
			own["int"] = append(own["int"], path+".x")
		}
		if p.name == "free" {
			own["string"] = append(own["string"], path+".known", path+".other")
		}
		if p.typ != "" {
			own[p.typ] = append(own[p.typ], path)
		}
	}
}

func hasUnderscores(list []property) bool {
	for _, p := range list {
		if strings.Contains(p.name, "__") {
			return true
		}
	}
	return false
}

// Those that are the same without a schema: docs/cel.md tells that upstream's optional oldSelf has lost it.
func schemaless(list []property) (kept []property) {
	plain := map[string]bool{"name": true, "mode": true, "email": true, "replicas": true, "int": true, "on": true, "port": true, "ports": true,
		"tags": true, "nums": true, "mat": true, "labels": true, "limits": true}
	for _, p := range list {
		if plain[p.name] {
			kept = append(kept, p)
		}
	}
	return kept
}

func newObjects(seed int64) *objects {
	r := rand.New(rand.NewSource(seed))
	o := &objects{optional: r.Intn(4) == 0}
	var schemas, nested object
	o.chosen, schemas = pickProperties(r, 9)
	o.inner, nested = pickProperties(r, 3)
	o.equality = !hasUnderscores(o.chosen) && !hasUnderscores(o.inner)
	schemas["nested"] = object{"type": "object", "nullable": r.Intn(2) == 0, "properties": nested}
	o.schema = object{"type": "object", "properties": schemas}
	o.compiled = structural(o.schema)
	o.decl = model.SchemaDeclType(o.compiled, false).MaybeAssignTypeName("type_self")
	old := o.decl.CelType()
	if o.optional {
		old = types.NewOptionalType(old)
	}
	set, err := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()).Extend(environment.VersionedOptions{
		IntroducedVersion: version.MajorMinor(1, 0),
		EnvOptions:        []cel.EnvOption{cel.Variable("self", o.decl.CelType()), cel.Variable("oldSelf", old)},
		DeclTypes:         []*apiservercel.DeclType{o.decl}})
	must(err)
	o.env, err = set.Env(environment.NewExpressions)
	must(err)

	own := map[string][]string{"listobj": {"self.conds", "self.items"}, "obj": {"self.conds[0]", "self.pairs[1]"}}
	shapes := map[string][]string{
		"obj":     {"{listobj}[$n]", "{listobj}.first().value()"},
		"listobj": {"({listobj} + {listobj})", "{listobj}.filter(@obj, {bool})", "{listobj}.map(@obj, {obj})", "({bool} ? {listobj} : {listobj})"},
		"bool": {"({listobj} == {listobj})", "{listobj}.all(@obj, {bool})", "{listobj}.exists(@obj, {bool})", "{listobj}.exists_one(@obj, {bool})",
			"({obj} == {obj})", "({obj} in {listobj})", "has({obj}.status)", "has({obj}.count)", "({liststring} == {liststring})"},
		"int":        {"{listobj}.size()", "{obj}.count", "{obj}.port", "{obj}.?count.orValue({int})"},
		"string":     {"{obj}.type", "{obj}.status", "{obj}.?status.orValue({string})"},
		"liststring": {"{listobj}.map(@obj, {string})"},
	}
	addLeaves(own, shapes, "self", o.chosen)
	addLeaves(own, shapes, "self.nested", o.inner)
	if o.equality {
		shapes["bool"] = append(shapes["bool"], "(self == self)", "(self.nested == self.nested)")
	}
	if o.equality && !o.optional {
		shapes["bool"] = append(shapes["bool"], "(self == oldSelf)", "(self.nested == oldSelf.nested)")
	}
	if o.optional {
		shapes["bool"] = append(shapes["bool"], "oldSelf.hasValue()")
		addLeaves(own, map[string][]string{}, "oldSelf.value()", schemaless(o.chosen))
	} else {
		addLeaves(own, shapes, "oldSelf", o.chosen)
		addLeaves(own, shapes, "oldSelf.nested", o.inner)
	}
	o.set = newSetting(own, shapes)
	return o
}

func makeObject(r *rand.Rand, list []property) object {
	out := object{}
	for _, p := range list {
		if r.Intn(6) > 0 {
			out[p.name] = p.value(r)
		}
	}
	return out
}

func (o *objects) object(r *rand.Rand) object {
	out := makeObject(r, o.chosen)
	if r.Intn(8) > 0 {
		out["nested"] = makeObject(r, o.inner)
	} else if o.compiled.Properties["nested"].Nullable {
		out["nested"] = nil
	}
	return out
}

// The bound that decides whether a definition with this rule is taken.
func (o *objects) bound(expr string) (uint64, bool) {
	s := *o.compiled
	s.XValidations = apiextensionsv1.ValidationRules{{Rule: expr, OptionalOldSelf: &o.optional}}
	results, err := rulecel.Compile(&s, o.decl, celconfig.PerCallLimit, environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()),
		rulecel.NewExpressionsEnvLoader())
	must(err)
	return results[0].MaxCost, results[0].Error == nil
}

var usesOld = regexp.MustCompile(`\boldSelf\b`)

// With optionalOldSelf a list of oldSelf has lost its schema there, and so becomes part of a message; docs/cel.md has it.
var messageOfOld = regexp.MustCompile(`google\.protobuf\..*oldSelf\.value\(\)`)

// There what is added to a list of int-or-string must be one of the two; docs/cel.md has it.
var addedToPorts = regexp.MustCompile(`\.ports \+ [\[(]`)

func (o *objects) one(seed int64) (in, out object) {
	g := newGenerator(seed, o.set)
	typ := "bool"
	if g.r.Intn(3) == 0 {
		typ = g.pick(o.set.types)
	}
	expr := g.whole(typ)
	if o.optional && messageOfOld.MatchString(expr) || addedToPorts.MatchString(expr) {
		return nil, nil
	}
	activation, vars := map[string]any{}, object{}
	v := o.object(g.r)
	activation["self"] = rulecel.UnstructuredToVal(v, o.compiled)
	vars["self"] = object{"schema": o.schema, "value": v}
	if usesOld.MatchString(expr) {
		v := o.object(g.r)
		val := rulecel.UnstructuredToVal(v, o.compiled)
		vars["oldSelf"] = object{"schema": o.schema, "value": v}
		activation["oldSelf"] = val
		if o.optional && g.r.Intn(2) == 0 {
			activation["oldSelf"] = types.OptionalNone
			vars["oldSelf"] = object{"schema": o.schema, "optional": true}
		} else if o.optional {
			activation["oldSelf"] = types.OptionalOf(val)
			vars["oldSelf"] = object{"schema": o.schema, "optional": true, "value": v}
		}
	}
	in, out = object{"expr": expr, "vars": vars}, judge(o.env, expr, activation)
	if out == nil {
		return in, nil
	}
	delete(out, "minCost")
	delete(out, "maxCost")
	if out["type"] == "bool" {
		if most, ok := o.bound(expr); ok {
			out["maxCost"] = most
		}
	}
	return in, out
}
