// Expressions judged by Kubernetes' base environment.
package main

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/version"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/cel/library"
)

type object = map[string]any

var varTypes = []struct {
	name, typ string
	cel       *cel.Type
}{
	{"vi", "int", cel.IntType}, {"vu", "uint", cel.UintType}, {"vd", "double", cel.DoubleType}, {"vb", "bool", cel.BoolType},
	{"vs", "string", cel.StringType}, {"vy", "bytes", cel.BytesType}, {"vt", "timestamp", cel.TimestampType},
	{"vr", "duration", cel.DurationType}, {"vl", "list(int)", cel.ListType(cel.IntType)},
	{"vt2", "list(string)", cel.ListType(cel.StringType)}, {"vm", "map(string, int)", cel.MapType(cel.StringType, cel.IntType)},
	{"vo", "map(string, int)", cel.MapType(cel.StringType, cel.IntType)}, {"vx", "dyn", cel.DynType},
}

func baseEnv() *cel.Env {
	var options []cel.EnvOption
	for _, v := range varTypes {
		options = append(options, cel.Variable(v.name, v.cel))
	}
	set, err := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()).Extend(environment.VersionedOptions{
		IntroducedVersion: version.MajorMinor(1, 0), EnvOptions: options})
	if err != nil {
		panic(err)
	}
	env, err := set.Env(environment.NewExpressions)
	if err != nil {
		panic(err)
	}
	return env
}

// A value of a variable: for cel-go, and as the vectors write it.
func (g *generator) value(name string) (any, any) {
	ints := []int64{0, 1, -1, 5, 42, math.MaxInt64, math.MinInt64}
	texts := []string{"", "a", "abc", "é😀", "10.0.0.1", "1Gi", "1.2.3", "a,b", "12", "1h", "k"}
	i, s := ints[g.r.Intn(len(ints))], g.pick(texts)
	switch name {
	case "vi":
		return i, i
	case "vu":
		return uint64(g.r.Intn(9)), nil
	case "vd":
		f := []float64{0, 1.5, -3, 1e20, math.NaN(), math.Inf(1)}[g.r.Intn(6)]
		return f, nil
	case "vb":
		b := g.r.Intn(2) == 0
		return b, b
	case "vs":
		return s, s
	case "vy":
		return []byte(s)[:len(s):len(s)], nil // cel-go appends in place where there is room
	case "vt":
		return time.Unix(int64(g.r.Intn(2000000000)), 0).UTC(), nil
	case "vr":
		return time.Duration(g.r.Intn(200000)-100000) * time.Millisecond, nil
	case "vl":
		return []int64{i, 3, int64(g.r.Intn(4))}[:g.r.Intn(4)], nil
	case "vt2":
		return []string{s, "b", g.pick(texts)}[:g.r.Intn(4)], nil
	case "vm":
		return map[string]int64{"a": i, "b": 2}, nil
	case "vo":
		return map[string]int64{s: i}, nil
	}
	return []any{int64(7), "x", 2.5, map[string]any{"a": int64(1)}, []any{int64(1), "y"}, true}[g.r.Intn(6)], nil
}

func tagMap(m traits.Mapper) any {
	var entries [][2]any
	for it := m.Iterator(); it.HasNext() == types.True; {
		k := it.Next()
		// A property that is null has a key, but no value, and one without a type has a value that nobody can see.
		if v := m.Get(k); !types.IsUnknownOrError(v) && v.Type() != types.UnknownType {
			entries = append(entries, [2]any{tag(k), tag(v)})
		}
	}
	text := func(i int) string { b, _ := json.Marshal(entries[i]); return string(b) }
	sort.Slice(entries, func(i, j int) bool {
		a, aIsInt := entries[i][0].(int64)
		b, bIsInt := entries[j][0].(int64)
		if aIsInt && bIsInt {
			return a < b
		}
		return text(i) < text(j)
	})
	if entries == nil {
		return object{"map": []any{}}
	}
	return object{"map": entries}
}

func tagDouble(f float64) string {
	switch {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 1):
		return "Infinity"
	case math.IsInf(f, -1):
		return "-Infinity"
	}
	return fmt.Sprintf("%.17g", f)
}

// Some quantities remember the text they were read from; expressions never see it.
func canonical(q *resource.Quantity) string {
	c := q.DeepCopy()
	c.Add(resource.Quantity{})
	return c.String()
}

// A value in the tagged form of the vectors.
func tag(v ref.Val) any {
	switch x := v.(type) {
	case types.Null:
		return nil
	case types.Bool:
		return bool(x)
	case types.String:
		return string(x)
	case types.Int:
		return int64(x)
	case types.Uint:
		return object{"uint": strconv.FormatUint(uint64(x), 10)}
	case types.Double:
		return object{"double": tagDouble(float64(x))}
	case types.Bytes:
		return object{"bytes": base64.StdEncoding.EncodeToString(x)}
	case types.Timestamp:
		return object{"timestamp": x.Time.UTC().Format(time.RFC3339Nano)}
	case types.Duration:
		return object{"duration": fmt.Sprintf("%dns", x.Duration.Nanoseconds())}
	case *types.Optional:
		if !x.HasValue() {
			return object{"optional": nil}
		}
		return object{"optional": object{"some": tag(x.GetValue())}}
	case traits.Mapper:
		return tagMap(x)
	case traits.Lister:
		list := []any{}
		for it := x.Iterator(); it.HasNext() == types.True; {
			list = append(list, tag(it.Next()))
		}
		return list
	case *types.Type:
		return object{"type": x.TypeName()}
	case apiservercel.Quantity:
		return object{"quantity": canonical(x.Quantity)}
	case apiservercel.IP:
		return object{"ip": x.Addr.String()}
	case apiservercel.CIDR:
		return object{"cidr": x.Prefix.String()}
	case apiservercel.Semver:
		return object{"semver": x.Version.String()}
	case apiservercel.URL:
		return object{"url": x.URL.String()}
	}
	if q, ok := v.Value().(*resource.Quantity); ok {
		return object{"quantity": canonical(q)}
	}
	return object{"other": v.Type().TypeName()}
}

// Words of Go's own parsers are not compared.
var goWords = regexp.MustCompile(`ParseAddr|ParsePrefix|netip|error parsing regexp|parse "|URL|IP Address|CIDR|strconv|` +
	`qualifier type|index type|is not optional|unable to parse|quantities must|semver|Semver|version|Invalid character|duration|timestamp|Syntax error|format`)

func message(out object, text string) {
	if strings.Count(text, "ERROR: ") > 1 {
		return // macros that use a part twice have its error twice
	}
	if goWords == nil || !goWords.MatchString(text) {
		out["message"] = text
	}
}

// What docs/cel.md tells of: quantities of more digits than ours have, cel-go's own slips with optionals in optMap(), lists
// and maps as keys of maps. And the smallest quantity, whose text upstream does not shorten; expressions never see it.
func beyondUs(out object) bool {
	if q, ok := out["value"].(object); ok && (len(fmt.Sprint(q["quantity"])) > 28 || q["quantity"] == "-9223372036854775808") {
		return true
	}
	// has() of what an optional does not hold is that optional in a branch of a ?:, though its type is bool.
	if _, ok := out["value"].(object); ok && out["type"] == "bool" {
		return true
	}
	text, _ := json.Marshal(out["value"])
	return strings.Contains(fmt.Sprint(out["type"]), "optional_type(optional_type(") || strings.Contains(string(text), `{"other":"error"}`) ||
		strings.Contains(string(text), `"map":[[[`) || strings.Contains(string(text), `"map":[[{"map"`)
}

// cel-go ends with a panic where a constant map has a key that no map may have, and where an optional element of a literal
// is dyn: nobody can rely on that. nil then.
func judge(env *cel.Env, expr string, activation map[string]any) (out object) {
	defer func() {
		if recover() != nil {
			out = nil
		}
	}()
	out = object{}
	ast, issues := env.Parse(expr)
	if issues.Err() != nil {
		out["error"], out["message"] = "parse", issues.Err().Error()
		return out
	}
	ast, issues = env.Check(ast)
	if issues.Err() != nil {
		out["error"] = "check"
		message(out, issues.Err().Error())
		return out
	}
	cost, err := env.EstimateCost(ast, &library.CostEstimator{})
	must(err)
	prog, err := env.Program(ast)
	if err != nil && strings.HasPrefix(err.Error(), "reference to undefined type") { // docs/cel.md: a macro's variable is a type
		return nil
	}
	if err != nil {
		out["error"] = "check"
		message(out, "program instantiation failed: "+err.Error())
		return out
	}
	out["type"], out["minCost"], out["maxCost"] = ast.OutputType().String(), cost.Min, cost.Max
	val, details, err := prog.ContextEval(context.Background(), activation)
	return outcome(out, val, details, err)
}

// What came of an evaluation. nil: nothing that ours could be compared with.
func outcome(out object, val ref.Val, details *cel.EvalDetails, err error) object {
	if err != nil && strings.HasPrefix(err.Error(), "operation cancelled: actual cost limit") {
		out["error"] = "cost"
		out["message"] = err.Error()
		return out
	}
	// cel-go stumbles over errors in arguments of sort() and its like: nothing that anybody relies on.
	if err != nil && strings.HasPrefix(err.Error(), "internal error") {
		return nil
	}
	if details != nil && details.ActualCost() != nil {
		out["cost"] = *details.ActualCost()
	}
	if err != nil {
		out["error"] = "runtime"
		message(out, err.Error())
		return out
	}
	out["value"] = tag(val)
	if beyondUs(out) {
		return nil
	}
	return out
}

var varName = regexp.MustCompile(`\bv[a-z]2?\b`)

// Hexadecimal digits read as a quantity: 10E64203168, which ours refuses. And what docs/cel.md tells of functions of a list
// of dyn, whose result upstream gives the type that its first use has, and of nulls that are added to a list of a document.
var hugeExponent, undecided = regexp.MustCompile(`quantity\(.*%X`),
	regexp.MustCompile(`\.(first|last|flatten|sort|sortBy|reverse|distinct|slice|unwrapOpt)\(`)

func beyondText(expr string, out object) bool {
	text, _ := out["message"].(string)
	return hugeExponent.MatchString(expr) || strings.Contains(text, "structpb.NullValue") || (undecided.MatchString(expr) && strings.HasPrefix(text, "no such overload"))
}

// One expression over the base variables.
func baseCase(env *cel.Env, set *setting, seed int64) (in, out object) {
	g := newGenerator(seed, set)
	return g.judged(env, g.whole(g.pick(set.types)))
}

func (g *generator) judged(env *cel.Env, expr string) (in, out object) {
	activation, vars := map[string]any{}, object{}
	for _, name := range varName.FindAllString(expr, -1) {
		for _, v := range varTypes {
			if v.name == name && vars[name] == nil {
				native, plain := g.value(name)
				activation[name] = native
				if plain == nil {
					plain = tag(types.DefaultTypeAdapter.NativeToValue(native))
				}
				vars[name] = object{"type": v.typ, "value": plain}
			}
		}
	}
	return object{"expr": expr, "vars": vars}, judge(env, expr, activation)
}

// Of ten expressions six are about the base environment, two about objects of a schema, one about a device and one about
// a request.
func writeExpressions(w *bufio.Writer, seed, count int64) {
	env, set := baseEnv(), newSetting(nil, nil)
	devices, requests := newDevices(), newRequests()
	var objects *objects
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	for n := int64(0); n < count; n++ {
		var in, out object
		switch n % 10 {
		case 6, 7:
			if objects == nil || n%250 == 6 {
				objects = newObjects(seed + n)
			}
			in, out = objects.one(seed + n)
		case 8:
			in, out = devices.one(seed + n)
		case 9:
			in, out = requests.one(seed + n)
		default:
			in, out = baseCase(env, set, seed+n)
		}
		if out == nil || beyondText(in["expr"].(string), out) {
			continue
		}
		_ = enc.Encode(object{"name": fmt.Sprintf("generated-%d", seed+n), "in": in, "out": out})
	}
}
