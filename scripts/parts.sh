# Sourced by the scripts that run a row of named parts. A part that fails does
# not stop the next one: who runs this wants to see everything that is wrong.

cd "$(dirname "${BASH_SOURCE[0]}")/.."

rows=()
passed=0
failed=0
nothing=77 # what a part exits with when it has nothing to run, or nothing to run it with

# part NAME COMMAND… runs one part and notes how it went and for how long.
part() {
  local name=$1 began=$SECONDS code=0
  shift
  printf '\n== %s\n' "$name"
  set +e # not `if "$@"`, which would switch off -e inside of it
  (set -e; "$@")
  code=$?
  set -e
  noted "$name" "$code" $((SECONDS - began))
}

# noted NAME CODE SECONDS keeps how a part went, for the table.
noted() {
  local verdict
  case $2 in
    0) verdict='passed'; passed=$((passed + 1)) ;;
    "$nothing") verdict='NOT RUN' ;;
    *) verdict='FAILED'; failed=$((failed + 1)) ;;
  esac
  rows+=("$(printf '%5d s  %-14s %s' "$3" "$1" "$verdict")")
}

# beside NAME COMMAND… starts a part that waits more than it works, beside the
# ones that follow; met waits for all of these, and says how they went.
declare -A aside=()
beside() {
  local name=$1 log
  shift
  log=$(mktemp)
  (
    began=$SECONDS code=0
    set +e
    (set -e; "$@") >"$log" 2>&1
    code=$?
    echo "$code $((SECONDS - began))" >"$log.end"
  ) &
  aside[$name]="$! $log"
}

met() {
  local name pid log code took
  for name in "${!aside[@]}"; do
    read -r pid log <<<"${aside[$name]}"
    wait "$pid"
    read -r code took <"$log.end"
    printf '\n== %s\n' "$name"
    cat "$log"
    rm -f "$log" "$log.end"
    noted "$name" "$code" "$took"
  done
  aside=()
}

# closing prints the table and the count, and fails if a part did.
closing() {
  printf '\n'
  printf '%s\n' "${rows[@]}"
  printf '%5d s  in all\n\n' "$SECONDS"
  if [ -n "${INTERLOCK_TALLY:-}" ]; then # part of a larger run, which prints the sum
    printf '%d %d\n' "$passed" "$failed" >>"$INTERLOCK_TALLY"
  else
    printf '%d passed, %d failed\n' "$passed" "$failed"
  fi
  [ "$failed" -eq 0 ]
}

# sources lists the files of this repository that match the patterns, committed
# or not, without the ignored and the deleted ones.
sources() {
  git ls-files --cached --others --exclude-standard --deduplicate -- "$@" |
    while IFS= read -r file; do [ ! -e "$file" ] || printf '%s\n' "$file"; done
}

# modules lists the directories of the Go modules, the root as a dot.
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
