# Sourced by the scripts that run named parts. A part that fails does not stop the next
# one, so that one run shows all failures.

cd "$(dirname "${BASH_SOURCE[0]}")/.."

rows=()
passed=0
failed=0
flaky=()
notrun=()
nothing=77 # exit status of a part that had nothing to run, or that lacks a program
second=78  # exit status of a part that passed at the second try

# part NAME COMMAND… runs one part and records its result and its seconds.
part() {
  local name=$1 began=$SECONDS code=0
  shift
  printf '\n== %s\n' "$name"
  set +e # not `if alone "$@"`, which would switch off -e inside of it
  (alone "$@")
  code=$?
  set -e
  record "$name" "$code" $((SECONDS - began))
}

# alone COMMAND… runs a command in a subshell, which stops at an error or at Ctrl-C.
alone() {
  set -e
  trap 'exit 130' INT # Ctrl-C ends the running child; the next child must not start
  "$@"
}

# twice COMMAND… runs a command again if it fails. It is for parts that work in real
# time against servers.
twice() {
  local code
  set +e
  (alone "$@")
  code=$?
  if [ "$code" -ne 0 ] && [ "$code" -ne "$nothing" ] && [ "$code" -ne 130 ]; then
    printf '\n-- failed with status %d: second try\n' "$code"
    (alone "$@")
    code=$?
    [ "$code" -ne 0 ] || code=$second
  fi
  return "$code"
}

# record NAME CODE SECONDS keeps the result of a part for the table.
record() {
  local verdict
  [ "$2" -ne "$nothing" ] || [ "${CI:-}" != true ] || set -- "$1" 1 "$3" # CI runs everything
  case $2 in
    0) verdict='passed'; passed=$((passed + 1)) ;;
    "$second") verdict='passed at the second try'; passed=$((passed + 1)); flaky+=("$1") ;;
    "$nothing") verdict='NOT RUN'; notrun+=("$1") ;;
    *) verdict='FAILED'; failed=$((failed + 1)) ;;
  esac
  rows+=("$(printf '%5d s  %-12s %s' "$3" "$1" "$verdict")")
}

# beside NAME COMMAND… starts a part in the background. It is for parts that mostly wait.
# join waits for these parts and records them.
declare -A aside=()
beside() {
  local name=$1 log
  shift
  log=$(mktemp)
  (
    began=$SECONDS
    set +e
    (alone "$@") >"$log" 2>&1
    echo "$? $((SECONDS - began))" >"$log.end"
  ) &
  aside[$name]="$! $log"
}

join() {
  local name pid log code took
  for name in "${!aside[@]}"; do
    read -r pid log <<<"${aside[$name]}"
    wait "$pid"
    read -r code took <"$log.end"
    printf '\n== %s\n' "$name"
    cat "$log"
    rm -f "$log" "$log.end"
    record "$name" "$code" "$took"
  done
  aside=()
}

# closing prints the table and the counts, and fails if a part failed.
closing() {
  local name
  printf '\n'
  printf '%s\n' "${rows[@]}"
  printf '%5d s  in all\n\n' "$SECONDS"
  [ ${#notrun[@]} -eq 0 ] || printf 'not run: %s\n' "${notrun[*]}"
  for name in "${flaky[@]}"; do printf 'flaky: %s, passed at the second try\n' "$name"; done
  if [ -n "${INTERLOCK_TALLY:-}" ]; then # .ci/run prints the sum
    printf '%d %d %s\n' "$passed" "$failed" "${flaky[*]}" >>"$INTERLOCK_TALLY"
  else
    printf '%d flaky\n' "${#flaky[@]}"
    printf '%d passed, %d failed\n' "$passed" "$failed"
  fi
  [ "$failed" -eq 0 ]
}

# session gives the run a temporary directory and marks its processes with an environment
# variable, so that the run can find and kill processes that its tests do not end. Redis
# overwrites its environment, so a Redis server is found by its working directory.
session() {
  mark=$(date +%s)-$$
  stay=$(mktemp -d /tmp/il.XXXXXX) # short: a Unix socket's path has 108 characters
  chmod 711 "$stay"                # PostgreSQL runs as another user than root
  export INTERLOCK_RUN=$mark TMPDIR=$stay
  trap leave EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM HUP
}

# processes lists the processes of this run.
processes() {
  local dir pid
  for dir in /proc/[0-9]*; do
    pid=${dir#/proc/}
    case $(readlink "$dir/cwd" 2>/dev/null) in
      "$stay" | "$stay"/*) echo "$pid" ;;
      *) ! grep -qsz "^INTERLOCK_RUN=$mark\$" "$dir/environ" 2>/dev/null || echo "$pid" ;;
    esac
  done
}

# leave ends every process of this run and removes the temporary directory.
leave() {
  local pids try
  trap '' INT TERM HUP
  pids=$(jobs -p)
  [ -z "$pids" ] || kill -KILL $pids 2>/dev/null || true
  for try in 1 2 3 4 5; do # a process may start another before it ends
    pids=$(processes)
    [ -n "$pids" ] || break
    kill -KILL $pids 2>/dev/null || true
    sleep 0.1
  done
  chmod -R u+w "$stay" 2>/dev/null || true
  rm -rf "$stay"
}

# leftovers fails if a process of a test is still running.
leftovers() {
  local try pid
  [ -d /proc/self ] || { echo "no /proc: cannot look for processes that tests did not end"; return "$nothing"; }
  for try in 1 2 3 4 5; do # the go command's own children take a moment
    [ -n "$(processes)" ] || { echo "no process of a test is still running"; return 0; }
    sleep 1
  done
  for pid in $(processes); do
    echo "still running: $pid $(tr '\0' ' ' <"/proc/$pid/cmdline")" >&2
  done
  return 1
}

# packages is the first part of a run: without the programs that all tests need, the
# run ends here.
packages() {
  part packages scripts/packages
  [ "$failed" -eq 0 ] || { closing; exit 1; }
}

# gotest DIR FLAG… PATTERN… tests packages in DIR, and prints the tests that -short leaves to
# make verify. A run without any test fails.
gotest() {
  local dir=$1 log code=0
  shift
  written "$dir"
  log=$(mktemp "$stay/log.XXXXXX")
  set +e
  (cd "$dir" && go test -race -count=1 -timeout 15m -v "$@") 2>&1 | tee "$log" | grep --line-buffered '^ok '
  code=${PIPESTATUS[0]}
  set -e
  [ "$code" -eq 0 ] || { failures "$log"; return 1; }
  grep -q '^ *--- PASS' "$log" || { echo "no test ran in $dir" >&2; return 1; }
  awk '/^=== / { test = $3 } /make verify runs it/ { print "left to make verify: " test }' "$log"
}

# failures LOG prints the output of the failed tests of a verbose run, and of a crash.
failures() {
  awk '
    NR == FNR { if ($2 == "FAIL:") broken[$3]; next }
    /^=== / { test = $3; next }
    /^ *--- / { if ($2 == "FAIL:") print; next }
    /^(ok|\?|PASS)([ \t]|$)/ { test = ""; next }
    /^(panic|fatal error|SIG[A-Z]+): / { test = "" }
    test == "" || test in broken' "$1" "$1"
}

# sources lists the files of this repository that match the patterns, committed or
# not, without ignored and deleted files.
sources() {
  git ls-files --cached --others --exclude-standard --deduplicate -- "$@" |
    while IFS= read -r file; do [ ! -e "$file" ] || printf '%s\n' "$file"; done
}

# modules lists the directories of the Go modules; the root is a dot.
modules() {
  sources go.mod '*/go.mod' | grep -v '/testdata/' | xargs -n 1 dirname
}

# written DIR… fails with $nothing unless there is Go code in each directory.
written() {
  local dir
  for dir; do
    [ -d "$dir" ] && [ -n "$(sources "$dir/*.go")" ] || return "$nothing"
  done
}
