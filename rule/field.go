package rule

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/interlock-go/interlock/guard"
)

// A field is an option of a rule: its name, its verbs and its syntax.
type field struct {
	name  string
	verbs []Verb
	set   func(r *Rule, value string) error // fails on a syntax error
	get   func(r *Rule) string              // "" if unset
}

var (
	all    = []Verb{Lock, Once, Submit, Limit}
	leased = []Verb{Lock, Once, Submit}
	locks  = []Verb{Lock}
	guards = []Verb{Once, Submit}
	limits = []Verb{Limit}
)

// fields are in canonical order.
var fields = []field{
	text("name", all, func(r *Rule) *string { return &r.Name }),
	expression("key", all, func(r *Rule) *string { return &r.Key }),
	expression("when", all, func(r *Rule) *string { return &r.When }),
	expression("ctx", all, func(r *Rule) *string { return &r.Ctx }),
	word("kind", locks, func(r *Rule) *Kind { return &r.Kind }),
	span("wait", all, func(r *Rule) *time.Duration { return &r.Wait }),
	span("lease", leased, func(r *Rule) *time.Duration { return &r.Lease }),
	span("max-hold", leased, func(r *Rule) *time.Duration { return &r.MaxHold }),
	{"rate", limits, setRate, func(r *Rule) string { return r.Rate.String() }},
	text("zone", limits, func(r *Rule) *string { return &r.Zone }),
	refusal("on-timeout", Lock),
	refusal("on-limit", Limit),
	word("after", guards, func(r *Rule) *guard.After { return &r.After }),
	span("window", guards, func(r *Rule) *time.Duration { return &r.Window }),
	span("retain", guards, func(r *Rule) *time.Duration { return &r.Retain }),
	word("scope", guards, func(r *Rule) *guard.Scope { return &r.Scope }),
	word("on-duplicate", guards, func(r *Rule) *guard.OnDuplicate { return &r.OnDuplicate }),
	word("on-error", []Verb{Once, Submit, Limit}, func(r *Rule) *guard.After { return &r.OnError }),
	word("on-unknown", guards, func(r *Rule) *guard.OnUnknown { return &r.OnUnknown }),
	word("on-down", guards, func(r *Rule) *guard.OnDown { return &r.OnDown }),
	span("local-cache", guards, func(r *Rule) *time.Duration { return &r.LocalCache }),
	{"status", guards, setStatus, getStatus},
	text("message", all, func(r *Rule) *string { return &r.Message }),
	text("message.en", all, func(r *Rule) *string { return &r.MessageEN }),
	text("message.zh", all, func(r *Rule) *string { return &r.MessageZH }),
}

func find(name string) *field {
	i := slices.IndexFunc(fields, func(f field) bool { return f.name == name })
	if i < 0 {
		return nil
	}
	return &fields[i]
}

// Names returns the names of the options of a verb.
func (v Verb) Names() []string { return namesFor(v) }

// namesFor returns the names of the options of a verb.
func namesFor(v Verb) (names []string) {
	for _, f := range fields {
		if slices.Contains(f.verbs, v) {
			names = append(names, f.name)
		}
	}
	slices.Sort(names)
	return names
}

// expression is an option with a Go expression, which the compiler checks.
func expression(name string, verbs []Verb, ptr func(*Rule) *string) field {
	return field{name, verbs,
		func(r *Rule, value string) error { *ptr(r) = value; return nil },
		func(r *Rule) string { return *ptr(r) }}
}

// text is an option whose value may be quoted.
func text(name string, verbs []Verb, ptr func(*Rule) *string) field {
	return field{name, verbs,
		func(r *Rule, value string) error {
			if strings.IndexAny(value, "\"`") == 0 {
				plain, err := strconv.Unquote(value)
				if err != nil {
					return fmt.Errorf("%s=%s has invalid quotes: write it as a Go string", name, shorten(value))
				}
				value = plain
			}
			if value == "" {
				return fmt.Errorf("%s is empty: omit it for the default", name)
			}
			*ptr(r) = value
			return nil
		},
		func(r *Rule) string {
			value := *ptr(r)
			if n, open := extent(value); n < len(value) || open != 0 || strings.ContainsAny(value, "\"`") || !printable(value) {
				return strconv.Quote(value)
			}
			return value
		}}
}

// word is an option with a word from a list, which Check validates.
func word[W ~string](name string, verbs []Verb, ptr func(*Rule) *W) field {
	return field{name, verbs,
		func(r *Rule, value string) error { *ptr(r) = W(value); return nil },
		func(r *Rule) string { return string(*ptr(r)) }}
}

// span is an option with a duration.
func span(name string, verbs []Verb, ptr func(*Rule) *time.Duration) field {
	return field{name, verbs,
		func(r *Rule, value string) error {
			d, err := duration(name, value)
			if err != nil {
				return err
			}
			*ptr(r) = d
			return nil
		},
		func(r *Rule) string {
			switch d := *ptr(r); d {
			case 0:
				return ""
			case Try:
				return "0"
			default:
				return formatDuration(d)
			}
		}}
}

// duration parses a duration. Its errors suggest a correction.
func duration(name, value string) (time.Duration, error) {
	d, err := time.ParseDuration(value)
	switch _, number := strconv.ParseFloat(value, 64); {
	case err == nil && d > 0:
		return d, nil
	case err == nil && d < 0:
		return 0, fmt.Errorf("%s=%s is negative: use 3s, 500ms, 2m", name, value)
	case err == nil && name == "wait":
		return Try, nil
	case err == nil:
		return 0, fmt.Errorf("%s=%s must be above zero: omit it for the default, or use 3s, 500ms, 2m", name, value)
	case number == nil:
		return 0, fmt.Errorf("%s=%s has no unit: use %ss or %sms", name, value, value, value)
	}
	if days, ok := strings.CutSuffix(value, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && n > 0 && n <= 365 {
			return 0, fmt.Errorf("%s=%s: days are not supported: use %dh", name, value, 24*n)
		}
	}
	return 0, fmt.Errorf("%s=%s is not a duration: use 3s, 500ms, 2m", name, shorten(value))
}

// formatDuration prints a duration without trailing zero units.
func formatDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// refusal is the option that says what happens if the verb refuses a call.
func refusal(name string, v Verb) field {
	return field{name, []Verb{v},
		func(r *Rule, value string) error {
			what, expr, called := strings.Cut(value, ":")
			if called && OnTimeout(what) != Call {
				return fmt.Errorf("%s=%s: only call takes a value, as in %[1]s=call:busy", name, shorten(value))
			}
			if called && expr == "" {
				return fmt.Errorf("%s=call: needs a function with the same parameters and results, as in %[1]s=call:busy", name)
			}
			r.OnTimeout, r.Fallback = OnTimeout(what), expr
			return nil
		},
		func(r *Rule) string {
			switch {
			case r.Verb == Limit && v != Limit || r.Verb != Limit && v == Limit:
				return "" // the option of another verb
			case r.Fallback != "":
				return string(r.OnTimeout) + ":" + r.Fallback
			}
			return string(r.OnTimeout)
		}}
}

func setRate(r *Rule, value string) (err error) {
	r.Rate, err = ParseRate(value)
	return err
}

func setStatus(r *Rule, value string) error {
	n, err := strconv.Atoi(value)
	if err != nil || n == 0 {
		return fmt.Errorf("status=%s is not an HTTP status: use 409 or 429", shorten(value))
	}
	r.Status = n
	return nil
}

func getStatus(r *Rule) string {
	if r.Status == 0 {
		return ""
	}
	return strconv.Itoa(r.Status)
}

func printable(s string) bool {
	return !strings.ContainsFunc(s, func(c rune) bool { return !strconv.IsPrint(c) || c == '\uFFFD' })
}
