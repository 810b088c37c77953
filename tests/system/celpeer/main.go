// celpeer is the witness of src/cel: Kubernetes' own CEL environments judge what it generates, and write cases in the
// form of the golden vectors, which tests/golden then puts to our code.
//
//	celpeer eval SEED COUNT            generated expressions: DIR/cel/eval.jsonl
//	celpeer broken SEED COUNT          texts that are nearly expressions, in the same form
//	celpeer bench FILE                 nanoseconds of compiling and evaluating what is in tests/bench/cel.json
//	celpeer one EXPR...                what it says about an expression without variables, messages and all
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
)

func number(i int) int64 {
	if i < len(os.Args) {
		if n, err := strconv.ParseInt(os.Args[i], 10, 64); err == nil {
			return n
		}
	}
	fmt.Fprintln(os.Stderr, "usage: celpeer eval SEED COUNT | broken SEED COUNT | bench FILE | one EXPR...")
	os.Exit(2)
	return 0
}

func main() {
	out := bufio.NewWriterSize(os.Stdout, 1<<20)
	defer out.Flush()
	switch {
	case len(os.Args) > 1 && os.Args[1] == "eval":
		writeExpressions(out, number(2), number(3))
	case len(os.Args) > 1 && os.Args[1] == "broken":
		writeBroken(out, number(2), number(3))
	case len(os.Args) == 3 && os.Args[1] == "bench":
		bench(out, os.Args[2])
	case len(os.Args) > 1 && os.Args[1] == "one":
		goWords = nil
		env, enc := baseEnv(), json.NewEncoder(out)
		for _, expr := range os.Args[2:] {
			_ = enc.Encode(judge(env, expr, map[string]any{}))
		}
	default:
		number(len(os.Args))
	}
}
