package alertrelay

import (
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/interlock-go/interlock/cmd/interlock/internal/i18n"
)

const (
	maxAlerts = 20  // in one message; DingTalk accepts 20,000 bytes
	maxRunes  = 200 // of one text from an alert
)

// A payload is the part of Alertmanager's webhook (version 4) that a message shows.
type payload struct {
	ExternalURL string  `json:"externalURL"`
	Alerts      []alert `json:"alerts"`
}

type alert struct {
	Status      string            `json:"status"` // firing or resolved
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
	StartsAt    time.Time         `json:"startsAt"`
}

// A message is one of DingTalk's type markdown.
type message struct {
	Type     string `json:"msgtype"`
	Markdown struct {
		Title string `json:"title"`
		Text  string `json:"text"`
	} `json:"markdown"`
}

// compose makes one message of several notifications. Firing alerts come first.
func compose(lang i18n.Language, all []payload) message {
	var firing, resolved []alert
	link := ""
	for _, p := range all {
		for _, a := range p.Alerts {
			if a.Status == "resolved" {
				resolved = append(resolved, a)
			} else {
				firing = append(firing, a)
			}
		}
		if web(p.ExternalURL) {
			link = p.ExternalURL
		}
	}
	var m message
	m.Type = "markdown"
	m.Markdown.Title = lang.Say(i18n.RelayTitle, len(firing), len(resolved))
	var b strings.Builder
	fmt.Fprintf(&b, "### %s\n", m.Markdown.Title)
	alerts := append(firing, resolved...)
	for _, a := range alerts[:min(len(alerts), maxAlerts)] {
		a.write(&b, lang)
	}
	if more := len(alerts) - maxAlerts; more > 0 {
		fmt.Fprintf(&b, "\n%s\n", lang.Say(i18n.RelayMore, more))
	}
	if link != "" {
		fmt.Fprintf(&b, "\n[Alertmanager](%s)\n", link)
	}
	m.Markdown.Text = b.String()
	return m
}

// write appends the paragraph of an alert.
func (a *alert) write(b *strings.Builder, lang i18n.Language) {
	summary := a.Annotations["summary"]
	if zh := a.Annotations["summary_zh"]; lang == i18n.Chinese && zh != "" {
		summary = zh
	}
	if summary == "" {
		summary = a.Labels["alertname"]
	}
	state := lang.Say(i18n.RelayFiring)
	if a.Status == "resolved" {
		state = lang.Say(i18n.RelayResolved)
	}
	fmt.Fprintf(b, "\n**[%s] %s**\n\n", state, clean(summary))
	for _, name := range []string{"alertname", "severity", "job", "instance", "name", "node"} {
		if value := a.Labels[name]; value != "" {
			fmt.Fprintf(b, "- %s: %s\n", name, clean(value))
		}
	}
	if !a.StartsAt.IsZero() {
		fmt.Fprintf(b, "- %s: %s\n", lang.Say(i18n.RelaySince), a.StartsAt.UTC().Format(time.RFC3339))
	}
	switch runbook := a.Annotations["runbook_url"]; {
	case web(runbook):
		fmt.Fprintf(b, "- [%s](%s)\n", lang.Say(i18n.RelayRunbook), runbook)
	case runbook != "":
		fmt.Fprintf(b, "- %s: %s\n", lang.Say(i18n.RelayRunbook), clean(runbook))
	}
}

// clean keeps a text of an alert on one line, and free of links and mentions.
func clean(s string) string {
	s = strings.Map(func(c rune) rune {
		switch {
		case unicode.IsControl(c):
			return ' '
		case strings.ContainsRune("[]<>`@", c):
			return -1
		}
		return c
	}, strings.ToValidUTF8(s, "�"))
	if runes := []rune(s); len(runes) > maxRunes {
		return string(runes[:maxRunes]) + "…"
	}
	return s
}

// web reports whether s can be a link of a message.
func web(s string) bool {
	return (strings.HasPrefix(s, "http://") || strings.HasPrefix(s, "https://")) && len(s) < 500 && !strings.ContainsAny(s, " ()<>\n\r\t")
}
