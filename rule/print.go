package rule

import "strings"

// String returns r as it is written in a directive, in the one order there is:
// [ParseLine] makes the same Rule of it again.
func (r Rule) String() string {
	s := r.text(func(string) bool { return true })
	if s == "" {
		return string(r.Verb)
	}
	return string(r.Verb) + " " + s
}

// Settings returns the options of r but for its name and what is Go: what a woven
// program needs to know of it. [Load] reads it.
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
