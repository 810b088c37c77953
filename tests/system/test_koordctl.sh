#!/usr/bin/env bash
# test_koordctl.sh - koordctl beside kubectl, against a real kube-apiserver
#
# usage: test_koordctl.sh      KOORDCTL=PROGRAM: another one than build/bin/koordctl
#
# Prints a line for each case and, at the end, "system/koordctl: N passed, M failed".

set -uo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cluster=$root/tests/system/cluster
koordctl=$(realpath -- "${KOORDCTL:-$root/build/bin/koordctl}")
kubectl=${KOORD_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/koord}/kube-1.35.4/bin/kubectl
dir=$(mktemp -d)
watcher=
passed=0
failed=0

finish() {
    [[ -z $watcher ]] || kill "$watcher" 2>/dev/null
    "$cluster" down "$dir"
    if ((failed == 0)); then
        rm -rf "$dir"
    else
        printf '# what was seen is in %s; the end of the server log:\n' "$dir"
        tail -n 5 "$dir/kube-apiserver.log" | sed 's/^/# /'
    fi
}

ok() {
    passed=$((passed + 1))
    printf 'ok: %s\n' "$1"
}

# not_ok NAME [WHY...]: with what the last command printed
not_ok() {
    failed=$((failed + 1))
    printf 'not ok: %s\n' "$1"
    shift
    printf '#   %s\n' "$@"
    sed 's/^/#   out: /' "$dir/out" 2>/dev/null | head -n 20
    sed 's/^/#   err: /' "$dir/err" 2>/dev/null | head -n 20
}

# run ARGUMENT...: koordctl, with its output in $dir/out and $dir/err and its status in $code
run() {
    timeout 120 "$koordctl" "$@" >"$dir/out" 2>"$dir/err"
    code=$?
}

# same_as_kubectl ARGUMENT...: the same words, the same bytes. Ages tick between the two calls: three tries.
same_as_kubectl() {
    local name="like kubectl: $*" try
    for try in 1 2 3; do
        "$kubectl" "$@" >"$dir/kubectl.out" 2>"$dir/kubectl.err"
        run "$@"
        if ((code == 0)) && cmp -s "$dir/kubectl.out" "$dir/out"; then
            ok "$name"
            return
        fi
    done
    not_ok "$name" "exit $code, try $try" "$(diff "$dir/kubectl.out" "$dir/out" | head -n 20)"
}

# refused NAME CODE PATTERN ARGUMENT...: one line on stderr that matches, nothing on stdout, this exit status
refused() {
    local name=$1 want=$2 pattern=$3
    shift 3
    run "$@"
    if ((code != want)); then
        not_ok "$name" "exit $code, not $want"
    elif (($(wc -l <"$dir/err") != 1)) || [[ -s $dir/out ]]; then
        not_ok "$name" "not one line on stderr alone"
    elif ! grep -Eq -- "$pattern" "$dir/err"; then
        not_ok "$name" "does not match: $pattern"
    else
        ok "$name"
    fi
}

# eventually NAME SECONDS PATTERN: a line of the watch matches
eventually() {
    local until=$((SECONDS + $2))
    until grep -Eq -- "$3" "$dir/watch"; do
        if ((SECONDS >= until)); then
            not_ok "$1" "no line like: $3" "$(cat "$dir/watch" "$dir/watch.err")"
            return
        fi
        sleep 0.1
    done
    ok "$1"
}

# node NAME LABEL: made with kubectl
node() {
    printf 'apiVersion: v1\nkind: Node\nmetadata: {name: %s, labels: {zone: %s}}\n' "$1" "$2" | "$kubectl" apply -f - \
        >"$dir/kubectl.out"
}

# kubeconfig_with FROM TO FILE: the admin's, with lines changed
kubeconfig_with() {
    sed "s#$1.*#$2#" "$dir/admin.kubeconfig" >"$3"
}

# ---- cases ----

tables() {
    same_as_kubectl get nodes
    same_as_kubectl get nodes -o wide
    same_as_kubectl get node n1
    same_as_kubectl get nodes -l zone=a
    same_as_kubectl get nodes --field-selector metadata.name=a-node-with-a-long-name
    same_as_kubectl get nodes --no-headers
    same_as_kubectl get namespaces
    same_as_kubectl get configmaps -A
    same_as_kubectl get cm -n kube-system
    same_as_kubectl get flowschemas # a kind that only discovery knows
    same_as_kubectl get nodes n1 a-node-with-a-long-name
}

objects() {
    same_as_kubectl get nodes -o name
    same_as_kubectl get node n1 -o json
    same_as_kubectl get nodes -o json
    same_as_kubectl get node n1 -o yaml
    same_as_kubectl get nodes -o yaml
    same_as_kubectl get clusterroles -o json
    same_as_kubectl get clusterroles -o yaml
}

pages() {
    run get clusterroles --chunk-size 7 --no-headers
    if ((code == 0)) && (($(wc -l <"$dir/out") == $("$kubectl" get clusterroles --no-headers | wc -l))); then
        ok 'pages make one table'
    else
        not_ok 'pages make one table' "exit $code"
    fi
}

watches() {
    "$koordctl" get nodes -w --output-watch-events >"$dir/watch" 2>"$dir/watch.err" &
    watcher=$!
    eventually 'watch: starts with the list' 120 '^ADDED +n1 '
    node n2 b
    eventually 'watch: sees a node that was added' 120 '^ADDED +n2 '
    "$kubectl" label node n2 more=yes >"$dir/kubectl.out"
    eventually 'watch: sees a change' 120 '^MODIFIED +n2 '
    "$kubectl" delete node n2 >"$dir/kubectl.out"
    eventually 'watch: sees a node that was deleted' 120 '^DELETED +n2 '
    "$cluster" stop-apiserver "$dir" --kill
    "$cluster" start-apiserver "$dir"
    node n3 c
    eventually 'watch: goes on after the server was killed' 120 '^ADDED +n3 '
    # While koordctl stands still, its connection goes, then the node, then what it would resume from.
    kill -STOP "$watcher"
    "$cluster" stop-apiserver "$dir" --kill
    "$cluster" start-apiserver "$dir"
    "$kubectl" delete node n3 >"$dir/kubectl.out"
    "$cluster" compact "$dir" >"$dir/kubectl.out"
    kill -CONT "$watcher"
    eventually 'watch: shows what was deleted while the server forgot' 120 '^DELETED +n3 '
    if (($(grep -Ec '^ADDED +n1 ' "$dir/watch") == 1)) && kill -0 "$watcher" 2>/dev/null; then
        ok 'watch: repeats nothing'
    else
        not_ok 'watch: repeats nothing' "$(cat "$dir/watch" "$dir/watch.err")"
    fi
    kill "$watcher"
    wait "$watcher" 2>/dev/null
    watcher=
}

bad_input() {
    refused 'no such object' 1 'NotFound.*nodes "nope" not found' get node nope
    refused 'no such kind' 1 "no resource type 'foos'" get foos
    refused 'a kind with a typo' 1 'did you mean nodes' get nodess
    refused 'a kind whose CRD is missing' 1 'reservations.scheduling.koordinator.sh.*koordctl crds' get reservations
    refused 'unknown flag' 2 'unknown flag --wacth .*--watch' get nodes --wacth
    refused 'unknown command' 2 "unknown command 'gte' .*get" gte nodes
    refused 'bad output form' 2 'invalid value "xml" for flag --output' get nodes -o xml
    refused 'no kind' 2 'which kind' get
    refused 'bad label selector' 1 'BadRequest.*unable to parse' get nodes -l 'a in ('
    refused 'bad field selector' 1 'BadRequest.*field label not supported' get nodes --field-selector spec.foo=1
    refused 'kubeconfig that does not exist' 1 'kubeconfig /none/such: .*No such file' get nodes --kubeconfig /none/such
    refused 'context that does not exist' 1 "context 'nope' does not exist" get nodes --context nope

    printf 'apiVersion: v1\nclusters: [\n' >"$dir/bad.yaml"
    refused 'malformed YAML' 1 'bad.yaml: line 3' get nodes --kubeconfig "$dir/bad.yaml"
    printf '{"apiVersion": "v1",\n "kind": "Config' >"$dir/bad.json"
    refused 'malformed JSON' 1 'bad.json: line 2' get nodes --kubeconfig "$dir/bad.json"
    kubeconfig_with 'server: ' 'server: https://127.0.0.1:1' "$dir/refused"
    refused 'nobody at the address' 1 'https://127.0.0.1:1 .*refused.*is the server running' get nodes --kubeconfig "$dir/refused"
    kubeconfig_with 'server: ' 'server: https://no-such-host.invalid' "$dir/host"
    refused 'a host that does not exist' 1 'no-such-host.invalid.*check' get nodes --kubeconfig "$dir/host"
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout "$dir/other.key" -out "$dir/other.crt" \
        -subj /CN=other -days 10 2>/dev/null
    kubeconfig_with 'certificate-authority-data: ' "certificate-authority: $dir/other.crt" "$dir/ca"
    refused 'a CA that is not the server'\''s' 1 'certificate verify failed.*certificate-authority' get nodes --kubeconfig "$dir/ca"
    kubeconfig_with 'certificate-authority-data: ' 'certificate-authority: /none/ca.crt' "$dir/noca"
    refused 'a CA file that is missing' 1 'certificate-authority: .*/none/ca.crt' get nodes --kubeconfig "$dir/noca"
    kubeconfig_with 'certificate-authority-data: ' "certificate-authority: $dir/bad.yaml" "$dir/badca"
    refused 'a CA file that is none' 1 'certificate-authority .*/bad.yaml' get nodes --kubeconfig "$dir/badca"
    kubeconfig_with 'token: ' 'token: wrong' "$dir/token"
    refused 'a wrong token' 1 'Unauthorized.*log in again' get nodes --kubeconfig "$dir/token"
    refused 'limited credentials' 1 'Forbidden.*"limited" cannot list resource "nodes".*ask for a role' \
        get nodes --kubeconfig "$dir/limited.kubeconfig"
    refused 'limited credentials, watching' 1 'Forbidden' get nodes -w --kubeconfig "$dir/limited.kubeconfig"
}

others() {
    run get nodes --kubeconfig "$dir/cert.kubeconfig"
    if ((code == 0)) && grep -q '^n1 ' "$dir/out"; then
        ok 'client certificates'
    else
        not_ok 'client certificates' "exit $code"
    fi
    run get node nope --ignore-not-found
    if ((code == 0)) && [[ ! -s $dir/out && ! -s $dir/err ]]; then
        ok 'a missing object may be ignored'
    else
        not_ok 'a missing object may be ignored' "exit $code"
    fi
    run version
    if ((code == 0)) && grep -q '^Client Version: v' "$dir/out" && grep -q '^Server Version: v1' "$dir/out"; then
        ok 'versions'
    else
        not_ok 'versions' "exit $code"
    fi
    ln -s "$koordctl" "$dir/kubectl-koord"
    if PATH=$dir:$PATH "$kubectl" koord get nodes >"$dir/out" 2>"$dir/err" && grep -q '^n1 ' "$dir/out" &&
        "$dir/kubectl-koord" help | grep -q '^  kubectl koord \[flags\]'; then
        ok 'a plugin of kubectl'
    else
        not_ok 'a plugin of kubectl'
    fi
    # The shell itself completes: commands, flags of one, values, kinds.
    # shellcheck disable=SC2016 # for the other shell
    if bash -c 'source <("$1" completion bash)
        ask() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); _koordctl; echo "${COMPREPLY[*]}"; }
        [[ $(ask koordctl ap) == apply && $(ask koordctl get nodes --field) == --field-selector &&
           $(ask koordctl -o y) == yaml && $(ask koordctl delete deploy) == deployments && " $(ask koordctl "") " == *" top "* ]]' \
        - "$koordctl" >"$dir/out" 2>"$dir/err"; then
        ok 'bash completes'
    else
        not_ok 'bash completes'
    fi
    # Its exit status then depends on who was faster, as that of any program; what it says must not.
    if (set +o pipefail; "$koordctl" get clusterroles -o yaml 2>"$dir/err" | head -n 1 | grep -q apiVersion) &&
        [[ ! -s $dir/err ]]; then
        ok 'a reader that goes away is no failure worth a word'
    else
        not_ok 'a reader that goes away is no failure worth a word'
    fi
}

# kubectl wait ends with an error at a CRD that has no conditions yet.
established() {
    local i
    for ((i = 0; i < 100; i++)); do
        "$kubectl" wait --for=condition=Established crd --all --timeout=20s >"$dir/kubectl.out" 2>"$dir/err" && return 0
        grep -q 'accessor error' "$dir/err" || return 1
        sleep 0.1
    done
    return 1
}

crds() {
    run crds --priority-classes
    if ((code == 0)) && "$kubectl" apply --server-side -f "$dir/out" >"$dir/kubectl.out" 2>"$dir/err" &&
        established; then
        ok 'the CRDs are accepted by the server'
    else
        not_ok 'the CRDs are accepted by the server' "exit $code"
    fi
    same_as_kubectl get reservations
    same_as_kubectl get nodeslos -o yaml
    same_as_kubectl get priorityclasses
}

# manifest LABELS IMAGE ENV PROFILE_LABELS: a Deployment and an object of a CRD, as a person would write them
manifest() {
    cat <<EOF
apiVersion: apps/v1
kind: Deployment
metadata: {name: turns, labels: {ours: "1"$1}}
spec:
  selector: {matchLabels: {app: turns}}
  template:
    metadata: {labels: {app: turns}}
    spec:
      containers:
      - {name: main, image: "example/main:$2", env: [$3]}
      - {name: side, image: "example/side:1", ports: [{containerPort: 80}]}
---
apiVersion: config.koordinator.sh/v1alpha1
kind: ClusterColocationProfile
metadata: {name: turns}
spec: {selector: {matchLabels: {x: "1"}}, qosClass: BE, labels: {$4}}
EOF
}

# spec_of KIND: what is stored, without what every write changes
spec_of() {
    "$kubectl" get "$1" turns -o yaml | sed '/^status:/,$d' |
        grep -v -e ' uid:' -e ' resourceVersion:' -e ' generation:' -e ' creationTimestamp:'
}

# after PROGRAM...: each applies the next version, while others change the objects; then what is stored
after() {
    local n=0 tool
    "$kubectl" delete deployment,clustercolocationprofile turns --ignore-not-found >/dev/null 2>&1
    for tool in "$@"; do
        n=$((n + 1))
        "$tool" apply -f "$dir/turn$n.yaml" >"$dir/out" 2>"$dir/err" || return 1
        "$kubectl" label --overwrite deployment turns theirs="$n" >/dev/null || return 1
        "$kubectl" scale deployment turns --replicas="$n" >/dev/null || return 1
        "$kubectl" annotate --overwrite clustercolocationprofile turns theirs="$n" >/dev/null || return 1
    done
    spec_of deployment && spec_of clustercolocationprofile
}

# One applies, then the other, and back: the same objects as from kubectl alone, nothing lost, no conflict.
turns() {
    local order
    manifest ', gone: "1"' 1 '{name: A, value: x}, {name: B, value: b}' 'l1: a, l2: b' >"$dir/turn1.yaml"
    manifest '' 2 '{name: B, value: c}, {name: C, value: d}' 'l2: c' >"$dir/turn2.yaml"
    manifest '' 2 '{name: C, value: d}' 'l2: c, l3: d' >"$dir/turn3.yaml"
    if ! after "$kubectl" "$kubectl" "$kubectl" >"$dir/expected"; then
        not_ok 'kubectl apply alone'
        return
    fi
    for order in "$koordctl $kubectl $koordctl" "$kubectl $koordctl $kubectl" "$koordctl $koordctl $koordctl"; do
        # shellcheck disable=SC2086 # words
        if after $order >"$dir/seen" && diff "$dir/expected" "$dir/seen" >"$dir/out"; then
            ok "apply in turns: $(basename -a $order | xargs)"
        else
            not_ok "apply in turns: $order"
        fi
    done
    run apply -f "$dir/turn3.yaml"
    if ((code == 0)) && [[ $(cut -d' ' -f2 "$dir/out" | sort -u) == unchanged ]]; then
        ok 'what is applied already is unchanged'
    else
        not_ok 'what is applied already is unchanged'
    fi
    run apply --dry-run=server -f "$dir/turn1.yaml"
    if ((code == 0)) && diff "$dir/expected" <(spec_of deployment && spec_of clustercolocationprofile) >"$dir/out"; then
        ok 'a dry run stores nothing'
    else
        not_ok 'a dry run stores nothing'
    fi
    run delete -f "$dir/turn3.yaml"
    if ((code == 0)) && ! "$kubectl" get deployment turns >/dev/null 2>&1; then
        ok 'delete by file'
    else
        not_ok 'delete by file'
    fi
}

if [[ ! -x $koordctl ]]; then
    printf 'test_koordctl.sh: %s is not there: make build\n' "$koordctl" >&2
    exit 1
fi
"$root/scripts/kube-build" kube-apiserver etcd kubectl >&2
case $? in
0) ;;
3)
    printf 'system/koordctl: 0 passed, 0 failed, 1 skipped\n'
    exit 0
    ;;
*) exit 1 ;;
esac
trap finish EXIT
"$cluster" up "$dir" -- --disable-admission-plugins=TaintNodesByCondition >"$dir.up" || exit 1
mv "$dir.up" "$dir/up"
export KUBECONFIG=$dir/admin.kubeconfig
node n1 a
node a-node-with-a-long-name b

tables
objects
pages
bad_input
others
crds
turns
watches

printf 'system/koordctl: %d passed, %d failed\n' "$passed" "$failed"
((failed == 0))
