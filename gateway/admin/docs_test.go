package admin_test

import (
	"log/slog"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/interlock-go/interlock/gateway/admin"
	"github.com/interlock-go/interlock/gateway/config"
	"github.com/interlock-go/interlock/observe/logs"
)

// codes are all codes.
var codes = []admin.Code{
	admin.Invalid, admin.KeyInvalid, admin.Unauthenticated, admin.Forbidden, admin.ReadOnly, admin.CrossOrigin, admin.NotFound,
	admin.MethodNotAllowed, admin.Conflict, admin.NotALock, admin.NotSupported, admin.TooLarge, admin.HostRefused, admin.TooMany,
	admin.Unavailable, admin.OutcomeUnknown, admin.AuditUnavailable, admin.TooManyStreams, admin.Failed,
}

var block = regexp.MustCompile("(?s)```(sh|yaml)\n(.*?)```")

func TestDocs(t *testing.T) {
	var shell [2][]string
	for i, file := range []string{"../../docs/admin.md", "../../docs/admin.zh-CN.md"} {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		page := string(raw)
		for path, operations := range documentOf(t, open(t).api).Paths {
			for method := range operations {
				if row := "| `" + strings.ToUpper(method) + " " + strings.TrimPrefix(path, "/api/v1") + "` |"; !strings.Contains(page, row) {
					t.Errorf("%s lacks %s", file, row)
				}
			}
		}
		for _, c := range codes {
			if !strings.Contains(page, `<a id="`+string(c)+`"></a>`) {
				t.Errorf("%s lacks the code %s", file, c)
			}
		}
		for _, b := range block.FindAllStringSubmatch(page, -1) {
			if b[1] == "sh" {
				shell[i] = append(shell[i], b[2])
				continue
			}
			text := "engine: memory\nto: http://127.0.0.1:9000\nprincipal: none\nrules: []\n" + b[2]
			if cfg, errs := config.Parse("x.yaml", []byte(text)); cfg == nil || len(errs) > 0 {
				t.Errorf("%s has an example that is refused with %v:\n%s", file, errs, b[2])
			}
		}
	}
	if !slices.Equal(shell[0], shell[1]) || len(shell[0]) != 5 {
		t.Fatalf("the two pages have different commands: %q and %q", shell[0], shell[1])
	}
	runCommands(t, strings.Join(shell[0][1:], ""))
}

// runCommands checks that the commands of a page work.
func runCommands(t *testing.T, script string) {
	for _, tool := range []string{"bash", "curl"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed: the commands of the page were not run", tool)
		}
	}
	w := open(t, withTokens, func(o *admin.Options) { o.Levels = logs.NewLevels(slog.LevelInfo) })
	w.lock(w.client.Mutex("order:42"))
	abandonClaim(t, w.orders(), "a")
	const address = "http://127.0.0.1:7070"
	if !strings.Contains(script, address) {
		t.Fatalf("the address %s is not in\n%s", address, script)
	}
	c := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", strings.ReplaceAll(script, address, w.server.URL))
	c.Env = append(os.Environ(), "TOKEN="+operator, "no_proxy=127.0.0.1")
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("the commands failed with %v:\n%s\ntheir output is\n%s", err, script, out)
	}
	for _, want := range []string{`"key":"order:42"`, `"state":"absent"`, `"action":"release"`, `"action":"resolve:free"`, `"locks":"debug"`, ": welcome"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("%s is not in the output of the commands:\n%s", want, out)
		}
	}
}
