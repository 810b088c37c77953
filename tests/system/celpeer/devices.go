// Device selectors, as the scheduler and the API server compile them: device, and cel.bind().
package main

import (
	"context"
	"math/rand"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/ext"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apiserver/pkg/cel/environment"
	dracel "k8s.io/dynamic-resource-allocation/cel"
)

type selectorCompiler interface {
	CompileCELExpression(expression string, options dracel.Options) dracel.CompilationResult
}

type devices struct {
	set     *setting
	parser  *cel.Env
	off, on selectorCompiler // the gate DRAConsumableCapacity
}

const attrs, amounts = "device.attributes['gpu.example.com']", "device.capacity['gpu.example.com']"

func newDevices() *devices {
	own := map[string][]string{
		"string": {"device.driver", attrs + ".model", attrs + ".uuid", "device.attributes['other.example.com'].zone", attrs + "['model']"},
		"int":    {attrs + ".index", attrs + ".cores", "device.attributes['one.example.com'].only", "size(" + attrs + ")"},
		"bool": {attrs + ".healthy", "('model' in " + attrs + ")", "has(" + attrs + ".model)", "('other.example.com' in device.attributes)",
			"device.allowMultipleAllocations", attrs + ".model.x", "has(" + attrs + ".model.x)", "(device.driver == 'gpu.example.com')", "has(device.attributes)"},
		"semver":    {attrs + ".driverVersion", "device.attributes['gpu.example.com'].firmware"},
		"quantity":  {amounts + ".memory", amounts + ".cores", "device.capacity['other.example.com'].slots", amounts + "['memory']"},
		"one":       {"device.attributes['one.example.com']", "device.attributes['nobody.example.com']"},
		"optint":    {attrs + ".?index", attrs + "[?'cores']", "device.attributes[?'one.example.com'].only"},
		"optstring": {attrs + ".?model", "device.attributes['nobody.example.com'].?x"},
		"domain":    {attrs, "device.attributes['other.example.com']", "device.attributes['nobody.example.com']", "device.attributes['one.example.com']"},
	}
	shapes := map[string][]string{
		"domain": {"cel.bind(~domain, {domain}, ^{domain})", "device.attributes[{string}]"},
		"bool": {"cel.bind(~domain, {domain}, ^{bool})", "cel.bind(~int, {int}, ^{bool})", "cel.bind(~string, {string}, ^{bool})",
			"cel.bind(~bool, {bool}, ^{bool})", "cel.bind(~quantity, {quantity}, ^{bool})", "cel.bind(~listint, {listint}, ^{bool})",
			"has({domain}.model)", "({string} in {domain})", "({domain} == {domain})", "({domain}.model == {string})",
			"({domain}.index > {int})", "({domain}[{string}] == {domain}[{string}])", "({domain}.driverVersion == {semver})"},
		"int":      {"{domain}.index", "{domain}.cores", "size({domain})", "cel.bind(~int, {int}, ^{int})"},
		"string":   {"{domain}.model", "{domain}[{string}]", "{domain}.?model.orValue({string})", "cel.bind(~string, {string}, ^{string})"},
		"quantity": {"cel.bind(~quantity, {quantity}, ^{quantity})", "device.capacity[{string}].memory"},
		"listint":  {"cel.bind(~listint, {listint}, ^{listint})"},
	}
	parser, err := baseEnv().Extend(ext.Bindings(ext.BindingsVersion(0)))
	must(err)
	return &devices{set: newSetting(own, shapes), parser: parser, off: dracel.GetCompiler(dracel.Features{}),
		on: dracel.GetCompiler(dracel.Features{EnableConsumableCapacity: true})}
}

// A device: for Kubernetes, and as the vectors write it.
func makeDevice(r *rand.Rand) (dracel.Device, object) {
	text := func(s string) (resourceapi.DeviceAttribute, object) {
		return resourceapi.DeviceAttribute{StringValue: &s}, object{"string": s}
	}
	number := func(n int64) (resourceapi.DeviceAttribute, object) {
		return resourceapi.DeviceAttribute{IntValue: &n}, object{"int": n}
	}
	version := func(s string) (resourceapi.DeviceAttribute, object) {
		return resourceapi.DeviceAttribute{VersionValue: &s}, object{"version": s}
	}
	driver := []string{"gpu.example.com", "gpu.example.com", "other.example.com"}[r.Intn(3)]
	d := dracel.Device{Driver: driver, Attributes: map[resourceapi.QualifiedName]resourceapi.DeviceAttribute{},
		Capacity: map[resourceapi.QualifiedName]resourceapi.DeviceCapacity{}}
	attributes, capacity := object{}, object{}
	put := func(name string, a resourceapi.DeviceAttribute, o object) {
		if r.Intn(5) > 0 {
			d.Attributes[resourceapi.QualifiedName(name)] = a
			attributes[name] = o
		}
	}
	add := func(name, amount string) {
		if r.Intn(5) > 0 {
			d.Capacity[resourceapi.QualifiedName(name)] = resourceapi.DeviceCapacity{Value: resource.MustParse(amount)}
			capacity[name] = object{"value": amount}
		}
	}
	both := func(name string, a resourceapi.DeviceAttribute, o object) { put(name, a, o) }
	a, o := text([]string{"a100", "abc", "", "é😀"}[r.Intn(4)])
	both("model", a, o)
	a, o = text("10.0.0.1")
	both("gpu.example.com/uuid", a, o)
	a, o = number([]int64{0, 3, -1, 1 << 62}[r.Intn(4)])
	both("index", a, o)
	a, o = number(12)
	both("gpu.example.com/cores", a, o)
	healthy := r.Intn(2) == 0
	both("healthy", resourceapi.DeviceAttribute{BoolValue: &healthy}, object{"bool": healthy})
	a, o = version([]string{"1.2.3", "0.1.0-alpha.1", "2.0.0+build"}[r.Intn(3)])
	both("driverVersion", a, o)
	a, o = version([]string{"10.0.0", "10.0.0", "10.0.0", "10.0.0", "10.0.0", "10.0.0", "10"}[r.Intn(7)])
	both("firmware", a, o)
	a, o = text("east")
	both("other.example.com/zone", a, o)
	a, o = number(7)
	both("one.example.com/only", a, o)
	add("memory", []string{"40Gi", "100m", "1500M", "0"}[r.Intn(4)])
	add("gpu.example.com/cores", "128")
	add("other.example.com/slots", "7")
	out := object{"driver": driver, "attributes": attributes, "capacity": capacity}
	if r.Intn(2) == 0 {
		many := r.Intn(2) == 0
		d.AllowMultipleAllocations = &many
		out["allowMultipleAllocations"] = many
	}
	return d, out
}

// As judge(): a panic is nothing to compare with.
func compileSelector(c selectorCompiler, expr string, gate bool) (result *dracel.CompilationResult) {
	defer func() {
		if recover() != nil {
			result = nil
		}
	}()
	mode := environment.NewExpressions
	if gate {
		mode = environment.StoredExpressions
	}
	r := c.CompileCELExpression(expr, dracel.Options{EnvType: &mode})
	return &r
}

func (d *devices) one(seed int64) (in, out object) {
	g := newGenerator(seed, d.set)
	typ := "bool"
	if g.r.Intn(10) == 0 {
		typ = g.pick(d.set.types)
	}
	expr := g.whole(typ)
	device, plain := makeDevice(g.r)
	in, out = object{"expr": expr, "device": plain}, object{}
	gate, compiler := g.r.Intn(2) == 0, d.off
	if gate {
		compiler = d.on
		in["gates"] = []string{"DRAConsumableCapacity"}
	}
	if _, issues := d.parser.Parse(expr); issues.Err() != nil {
		out["error"], out["message"] = "parse", "compilation failed: "+issues.Err().Error()
		return in, out
	}
	result := compileSelector(compiler, expr, gate)
	if result == nil {
		return in, nil
	}
	if result.Error != nil {
		out["error"] = "check"
		message(out, result.Error.Detail)
		return in, out
	}
	out["type"], out["maxCost"] = result.OutputType.String(), result.MaxCost
	matches, details, err := result.DeviceMatches(context.Background(), device)
	if err != nil && strings.Contains(err.Error(), "attribute ") && details == nil {
		out["error"] = "runtime"
		message(out, err.Error())
		return in, out
	}
	return in, outcome(out, types.Bool(matches), details, err)
}
