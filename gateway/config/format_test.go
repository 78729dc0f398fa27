package config_test

import (
	"os"
	"strings"
	"testing"

	"github.com/interlock-go/interlock/gateway/config"
)

const untidy = `# The shop.

listen:   127.0.0.1:8080   # for now
to: http://127.0.0.1:9000


engine: memory
trusted-proxies:
    - 10.0.0.0/8
    # the other one
    - 192.168.0.0/16
principal:
      header: X-User
# what is guarded
rules:
# payments
-   wait: 3s   # patience
    # who is who
    lock: pay:{path.id}


    match: POST /orders/{id}/pay
-   match: POST /orders
    message:
        zh: 请稍候
        en: >
          one moment
          please
    once: order:{header.Idempotency-Key}
    # until tomorrow
    retain: 24h
    # the end
presets:
    mine: {retain: 5m}
    yours:
        retain: 5m   
        preset: charge
`

const tidy = `# The shop.

listen:   127.0.0.1:8080   # for now
to: http://127.0.0.1:9000

engine: memory
trusted-proxies:
  - 10.0.0.0/8
  # the other one
  - 192.168.0.0/16
principal:
  header: X-User
# what is guarded
rules:
  # payments
  - match: POST /orders/{id}/pay
    # who is who
    lock: pay:{path.id}
    wait: 3s   # patience
  - match: POST /orders
    once: order:{header.Idempotency-Key}
    # until tomorrow
    retain: 24h
    # the end
    message:
      zh: 请稍候
      en: >
        one moment
        please
presets:
  mine: {retain: 5m}
  yours:
    preset: charge
    retain: 5m
`

func TestFormat(t *testing.T) {
	got, errs := config.Format("interlock.yaml", []byte(untidy))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	if string(got) != tidy {
		t.Errorf("Format returned\n%s\nwant\n%s", got, tidy)
	}
	for name, text := range map[string]string{"tidy": tidy, "the starter": config.Init(), "windows": strings.ReplaceAll(tidy, "\n", "\r\n")} {
		got, errs := config.Format("interlock.yaml", []byte(text))
		if len(errs) > 0 || string(got) != strings.ReplaceAll(text, "\r\n", "\n") {
			t.Errorf("%s: Format changes a formatted file, or fails with %v:\n%s", name, errs, got)
		}
	}
	for _, bad := range []string{"", "a: &x 1\n", "a: 1\na: 2\n", "a: [\n"} {
		if _, errs := config.Format("x", []byte(bad)); len(errs) == 0 {
			t.Errorf("%q is formatted, want an error", bad)
		}
	}
}

// TestFormatKeepsMeaning formats every file of the tests, including those with mistakes.
func TestFormatKeepsMeaning(t *testing.T) {
	_, all := readMistakes(t)
	done := 0
	for _, w := range all {
		once, errs := config.Format("interlock.yaml", []byte(w.text))
		if len(errs) > 0 {
			continue // not YAML
		}
		done++
		if twice, _ := config.Format("interlock.yaml", once); string(twice) != string(once) {
			t.Errorf("%s: a second Format changes the file from\n%s\nto\n%s", w.title, once, twice)
		}
	}
	if done < 100 {
		t.Errorf("%d files were formatted, want at least 100", done)
	}
}

func TestInit(t *testing.T) {
	c := mustParse(t, config.Init())
	if len(c.Rules) != 3 || c.Admin == nil {
		t.Errorf("the starter has %d rules and the admin section %v, want 3 rules and a section", len(c.Rules), c.Admin)
	}
	onDisk, err := os.ReadFile("starter.yaml")
	if err != nil || string(onDisk) != config.Init() {
		t.Error("the starter differs from starter.yaml", err)
	}
}
