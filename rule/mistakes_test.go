package rule_test

import (
	"strings"
	"testing"

	"github.com/interlock-go/interlock/rule"
)

// mistakes are lines with one mistake each, and the error that names its position.
var mistakes = []struct{ line, want string }{
	// Verbs and names.
	{"lokc key=id", `1:1: unknown verb "lokc" (did you mean lock?)`},
	{"cache key=id", `1:1: unknown verb "cache" (there are lock, once, submit and limit)`},
	{"lock kye=id", `1:6: unknown option "kye" (did you mean key?)`},
	{"lock Wait=3s", `1:6: unknown option "Wait" (did you mean wait?)`},
	{"lock type=fair", `1:6: unknown option "type" (use kind)`},
	{"lock waitTime=3s", `1:6: unknown option "waitTime" (use wait)`},
	{"submit key=id interval=3s", `1:15: unknown option "interval" (use window)`},
	{"lock colour=red", `1:6: unknown option "colour" (lock has ctx, key, kind, lease, max-hold, message, message.en, message.zh, name, on-timeout, wait, when)`},
	{"lock key=id key=no", `1:13: key is set twice: keep one`},
	{"lock wait", `1:6: wait has no value: write wait=…`},
	{"lock wait= key=id", `1:11: wait has no value: write wait=…, without a space after the =`},
	{"lock fair", `1:6: "fair" is not an option: write name=value, without spaces around the =`},
	{"lock =3s", `1:6: an option has no name before its =: write name=value without spaces around the =`},

	// Options of other verbs.
	{"lock key=id window=5s", `1:13: window is for once and submit: a lock ends with the work; to refuse repeats, use submit`},
	{"lock key=id retain=5m", `1:13: retain is for once and submit: a lock stores nothing after the work`},
	{"lock key=id on-down=open", `1:13: on-down is for once and submit: a lock fails if its engine is down; package standby switches to a second engine`},
	{"once key=id kind=fair", `1:13: kind is for lock: once always runs one call at a time`},
	{"once key=id on-timeout=skip", `1:13: on-timeout is for lock: with once use on-duplicate=refuse, wait or skip`},

	// Limits.
	{"limt key=id rate=3/day", `1:1: unknown verb "limt" (did you mean limit?)`},
	{"limit rate=3/day", `1:1: limit needs a key that identifies the caller: write key=req.UserID`},
	{"limit key=id", `1:1: limit needs a rate: write rate=3/day or rate=5/10m`},
	{"limit key=id rate=3", `1:19: rate=3 is not a rate: write a number and a window, as in 3/day or 5/10m`},
	{"limit key=id rate=x/day", `1:19: rate=x/day is not a rate: write a number and a window, as in 3/day or 5/10m`},
	{"limit key=id rate=0/day", `1:19: rate=0/day: the number must be from 1 to 100000`},
	{"limit key=id rate=3/days", `1:19: rate=3/days: did you mean 3/day?`},
	{"limit key=id rate=3/fortnight", `1:19: rate=3/fortnight: the window is hour, day, week, month or a duration from 1ms to a year: write a number and a window, as in 3/day or 5/10m`},
	{"limit key=id rate=3/day zone=Mars/Base", `1:30: zone=Mars/Base is not a time zone: use a name such as Asia/Shanghai`},
	{"limit key=id rate=3/day zone=Local", `1:30: zone=Local is not a time zone: use a name such as Asia/Shanghai`},
	{"limit key=id rate=3/10m zone=Asia/Shanghai", `1:30: zone=Asia/Shanghai has no effect on a window of 10m, which slides: remove it, or use a rate such as 3/day`},
	{"limit key=id rate=3/day on-limit=proceed", `1:34: on-limit=proceed would run the work without its limit: use error, skip, panic or call:f`},
	{"limit key=id rate=3/day on-limit=call:", `1:34: on-limit=call: needs a function with the same parameters and results, as in on-limit=call:busy`},
	{"limit key=id rate=3/day on-limit=skip message=later", `1:47: the message is never shown with on-limit=skip: use on-limit=error`},
	{"limit key=id rate=3/day on-error=hold", `1:34: on-error=hold: choose one of free, keep`},
	{"limit key=id rate=3/day window=5s", `1:25: window is for once and submit: a limit has its window in the rate, as in rate=3/day or rate=5/10m`},
	{"limit key=id rate=3/day on-timeout=skip", `1:25: on-timeout is for lock: with limit use on-limit`},
	{"limit key=id rate=3/day on-down=open", `1:25: on-down is for once and submit: a limit refuses calls while its engine is down`},
	{"limit key=id rate=3/day lease=5s", `1:25: lease is not for limit, which counts calls: leave it out`},
	{"lock key=id rate=3/day", `1:13: rate is for limit: lock does not count calls`},
	{"once key=id on-limit=skip", `1:13: on-limit is for limit: once does not count calls`},
	{"lock key=id on-error=free", `1:13: on-error is for once, submit and limit: a lock stores nothing after the work`},

	// Durations.
	{"lock wait=3sec", `1:11: wait=3sec is not a duration: use 3s, 500ms, 2m`},
	{"lock wait=3", `1:11: wait=3 has no unit: use 3s or 3ms`},
	{"lock wait=-3s", `1:11: wait=-3s is negative: use 3s, 500ms, 2m`},
	{"lock lease=0", `1:12: lease=0 must be above zero: omit it for the default, or use 3s, 500ms, 2m`},
	{"lock lease=1ms", `1:12: lease=1ms is too short: use at least 10ms`},
	{"lock lease=9000h", `1:12: lease=9000h is more than a year: is the unit right?`},
	{"once key=id retain=2d", `1:20: retain=2d: days are not supported: use 48h`},

	// Words.
	{"lock kind=fiar", `1:11: kind=fiar: did you mean fair? (reentrant, plain, fair, read, write)`},
	{"lock kind=spin", `1:11: kind=spin: choose one of reentrant, plain, fair, read, write`},
	{"lock kind=mutex", `1:11: kind=mutex: use plain, or reentrant, which is the default`},
	{"lock kind=red", `1:11: kind=red: for a lock on several servers, open the client on the engine of package quorum`},
	{"lock on-timeout=ignore", `1:17: on-timeout=ignore: choose one of error, skip, panic, call:f`},
	{"lock on-timeout=proceed", `1:17: on-timeout=proceed would run the work without its lock: use error, skip, panic or call:f`},
	{"lock on-timeout=call:", `1:17: on-timeout=call: needs a function with the same parameters and results, as in on-timeout=call:busy`},
	{"lock on-timeout=call", `1:17: on-timeout=call needs a function with the same parameters and results, as in on-timeout=call:busy`},
	{"lock on-timeout=skip:f", `1:17: on-timeout=skip:f: only call takes a value, as in on-timeout=call:busy`},
	{"once key=id after=forever", `1:19: after=forever: choose one of free, window, keep`},
	{"once key=id scope=user", `1:19: scope=user: choose one of key, user+key, user+route+key`},
	{"once key=id on-duplicate=reply", `1:26: on-duplicate=reply: did you mean replay? (refuse, replay, wait, skip)`},
	{"once key=id on-error=window", `1:22: on-error=window: choose one of free, keep`},
	{"once key=id on-unknown=reruns", `1:24: on-unknown=reruns: did you mean rerun? (rerun, hold)`},
	{"once key=id on-unknown=resolve", `1:24: on-unknown=resolve needs a resolver function, which a rule cannot name: use hold, or guard.New in code`},
	{"once key=id on-down=close", `1:21: on-down=close: did you mean closed? (closed, open, local)`},
	{"once key=id status=ok", `1:20: status=ok is not an HTTP status: use 409 or 429`},
	{"once key=id status=200", `1:20: status=200 is not a refusal: choose a status from 400 to 599`},
	{`lock name="a`, `1:6: name="a: the " is not closed`},
	{`lock name=""`, `1:11: name is empty: omit it for the default`},
	{`lock name="a"b`, `1:11: name="a"b has invalid quotes: write it as a Go string`},
	{"lock name=pay:order", `1:11: name="pay:order": use letters, digits, dots and dashes; put values that vary into the key`},
	{"lock name=" + strings.Repeat("a", 65), `1:11: name=` + strings.Repeat("a", 40) + `… has 65 bytes: use at most 64`},

	// Keys.
	{"once key", `1:6: key has no value: write key=…`},
	{"once key=", `1:10: key has no value: write key=…, without a space after the =`},
	{"once retain=5m", `1:1: once needs a key that identifies duplicates: write key=req.ID`},
	{"lock key=f(a", `1:6: key=f(a: the ( is not closed`},
	{"lock key=a,,b", `1:10: key=a,,b: part 2 is empty: write an expression on either side of a comma, without spaces`},
	{"lock key=a,b,c,d,e", `1:10: key has 5 parts: use at most 4, or a function that joins them`},
	{"once key=id scope=user+key", `1:19: scope=user+key uses the first part of the key as the user, but the key has one part: write key=user,id, or use scope=key`},

	// Conflicting options.
	{"once key=id after=keep window=5s", `1:31: window=5s does not go with after=keep: remove window, or use after=window`},
	{"once key=id after=window", `1:19: after=window needs a duration: add window=5s`},
	{"once key=id after=free on-duplicate=replay", `1:37: on-duplicate=replay does not go with after=free, which keeps no result: use once with after=keep, or on-duplicate=refuse`},
	{"submit key=id on-duplicate=replay", `1:28: on-duplicate=replay does not go with after=window, which keeps no result: use once with after=keep, or on-duplicate=refuse`},
	{"submit key=id after=keep", `1:21: after=keep is for once: submit keeps no result; use once, or remove after`},
	{"submit key=id retain=5m", `1:22: retain=5m does not go with after=window, which keeps no result: remove retain, or use once with after=keep`},
	{"once key=id window=5s on-error=keep", `1:32: on-error=keep does not go with after=window, which keeps no result: remove one of them`},
	{"once key=id wait=3s", `1:18: wait=3s does not go with on-duplicate=replay: add on-duplicate=wait`},
	{"once key=id on-duplicate=wait wait=0", `1:36: wait=0 with once means that no duplicate waits: use on-duplicate=refuse`},
	{"once key=id max-hold=20s", `1:22: max-hold=20s is shorter than the lease of 30s: use a shorter lease, or a longer max-hold`},
	{"once key=id on-duplicate=skip message=later", `1:39: the message is never shown with on-duplicate=skip: use on-duplicate=refuse`},
	{"lock on-timeout=skip message=later", `1:30: the message is never shown with on-timeout=skip: use on-timeout=error`},
	{"lock on-timeout=call:busy message.zh=later", `1:38: the message is never shown with on-timeout=call: use on-timeout=error`},
	{"lock message=a message.en=b message.zh=c", `1:14: message=a is never shown, because message.en and message.zh are set: remove it`},
	{"lock wait=3s unit=SECONDS", `1:14: unknown option "unit" (write the unit with the duration: 3s, 500ms, 2m)`},
	{"lock wait=3s timeUnit=SECONDS", `1:14: unknown option "timeUnit" (write the unit with the duration: 3s, 500ms, 2m)`},
	{"lock message.cn=later", `1:6: unknown option "message.cn" (did you mean message.en?)`},
	{"lock message.zh=", `1:17: message.zh has no value: write message.zh=…, without a space after the =`},
	{"lock lease=5s max-hold=9s", `1:24: max-hold does not go with lease: a lock with a fixed lease is not renewed and ends with the lease; remove one of them`},
}

func TestMistakes(t *testing.T) {
	for _, m := range mistakes {
		_, errs := rule.ParseLine(m.line)
		if len(errs) == 0 {
			t.Errorf("%s: got no error, want\n\t%s", m.line, m.want)
			continue
		}
		if n := len(errs); n > 1 {
			t.Errorf("%s: got %d errors, want 1:\n%v", m.line, n, errs)
		}
		if got := errs[0].Error(); got != m.want {
			t.Errorf("%s: got\n\t%s\nwant\n\t%s", m.line, got, m.want)
		}
	}
}

func TestAllMistakesAreReportedInOrder(t *testing.T) {
	_, errs := rule.ParseLine("once kye=id wait=3sec status=200")
	want := `1:1: once needs a key that identifies duplicates: write key=req.ID
1:6: unknown option "kye" (did you mean key?)
1:18: wait=3sec is not a duration: use 3s, 500ms, 2m
1:30: status=200 is not a refusal: choose a status from 400 to 599`
	if errs.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", errs, want)
	}
}

func TestPositionsCountFromTheStartOfTheFile(t *testing.T) {
	options, errs := rule.Split("  key=id wait=x", rule.Pos{Line: 26, Col: 17})
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	_, errs = rule.Parse(rule.Word{Text: "lock", At: rule.Pos{Line: 26, Col: 13}}, options)
	if len(errs) != 1 || errs[0].At != (rule.Pos{Line: 26, Col: 31}) {
		t.Errorf("Parse: got %v, want the mistake at 26:31", errs)
	}
}

func TestAValidRuleHasNoError(t *testing.T) {
	_, errs := rule.ParseLine("lock name=pay key=req.OrderNo")
	if errs.Err() != nil {
		t.Errorf("ParseLine: got %v, want no error", errs.Err())
	}
}
