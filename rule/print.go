package rule

import "strings"

// String returns r as a directive in canonical order. [ParseLine] parses it back to the
// same Rule.
func (r Rule) String() string {
	s := r.text(func(string) bool { return true })
	if s == "" {
		return string(r.Verb)
	}
	return string(r.Verb) + " " + s
}

// Settings returns the options of r without its name and Go expressions. A woven program
// contains it, and [Load] reads it.
func (r Rule) Settings() string {
	r.Fallback = ""
	return r.text(func(option string) bool {
		return option != "name" && option != "key" && option != "when" && option != "ctx"
	})
}

func (r *Rule) text(which func(option string) bool) string {
	var b strings.Builder
	for _, f := range fields {
		value := f.get(r)
		if value == "" || !which(f.name) {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(f.name + "=" + value)
	}
	return b.String()
}
