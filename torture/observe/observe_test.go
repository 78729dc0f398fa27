package observe

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/testing/redistest"
)

var record = flag.String("record", "", "directory for the answers to the queries of all panels, and pictures of the dashboards")

// quiet has the expressions that are empty while all is well, with the reason.
var quiet = map[string]string{
	"absent(interlock_build_info)": "no process is missing",
}

func TestObserve(t *testing.T) {
	for _, program := range []string{"prometheus", "promtool", "prometheus-alertmanager"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is not installed: apt-get install prometheus prometheus-alertmanager", program)
		}
	}
	command := filepath.Join(t.TempDir(), "interlock")
	if out, err := exec.Command("go", "build", "-o", command, "github.com/interlock-go/interlock/cmd/interlock").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	redis := redistest.Start(t)
	targets := []string{
		runProgram(t, redis.URL()),
		gateway(t, command, redis.URL()),
		demo(t, command),
	}
	mails, robot := mailServer(t), dingTalk(t)
	manager := startAlertmanager(t, command, mails, robot)
	p := startPrometheus(t, manager, targets...)

	t.Run("promtool accepts the metrics", func(t *testing.T) { checkMetrics(t, targets) })
	p.await(`sum(rate(interlock_lock_acquire_total{result="acquired"}[15s])) > 0`)
	p.await(`interlock_lock_renewal_total{name="batch",result="ok"} > 0`) // the lock batch is held; it will be lost
	p.await(`count(sum by (instance) (interlock_guard_calls_total{verdict=~"granted|refused|replayed"}) > 0) == ` + fmt.Sprint(len(targets)))

	if *record != "" {
		time.Sleep(time.Minute) // so that the panels show a time without faults
	}
	t.Run("T12 an alert reaches e-mail and DingTalk", func(t *testing.T) {
		redis.Stop()
		p := &prometheus{t, p.url, p.started}
		p.await(`ALERTS{alertname="InterlockEngineDown",alertstate="firing"}`)
		p.await(`ALERTS{alertname="InterlockFailOpenActive",alertstate="firing"}`)
		p.await(`ALERTS{alertname="InterlockLockLost",alertstate="firing"}`)
		await(t, "the e-mail", func() (string, bool) { return mails.String(), mails.has("InterlockEngineDown") })
		await(t, "the message to DingTalk", func() (string, bool) {
			return robot.String(), robot.has("InterlockEngineDown", "没有回应", "docs/runbooks/InterlockEngineDown.md")
		})
		if robot.refusals() > 0 {
			t.Errorf("DingTalk refused a message: %s", robot)
		}
		await(t, "the inhibition of the other alerts", func() (string, bool) {
			inhibited := get(t, "http://"+manager+"/api/v2/alerts?active=false&silenced=false&inhibited=true")
			return inhibited, strings.Contains(inhibited, `"InterlockLockFailures"`)
		})
	})
	if *record != "" {
		time.Sleep(20 * time.Second)
	}
	redis.Cont()
	await(t, "the engine to answer again", func() (string, bool) {
		var now matrix
		raw := p.get("query_range", instant(`min(interlock_engine_up) == 1`), &now)
		return string(raw), now.any()
	})

	if *record != "" {
		time.Sleep(time.Minute)
	}
	if m, raw := p.history(`interlock_engine_errors_total{error="other"} > 0`); m.any() {
		t.Errorf("a silent server shows as errors of scripts: %s", raw)
	}
	exported := names(p)
	t.Run("T12 every panel finds data", func(t *testing.T) {
		queries := panels(t)
		if len(queries) < 60 {
			t.Errorf("found %d queries of panels, want at least 60", len(queries))
		}
		for i := range queries {
			t.Run(queries[i].Name, func(t *testing.T) { find(t, p, exported, &queries[i]) })
		}
		if *record != "" {
			draw(t, *record, queries)
		}
	})
	t.Run("every rule finds data", func(t *testing.T) {
		for _, q := range rules(p) {
			t.Run(q.Name, func(t *testing.T) { find(t, p, exported, &q) })
		}
	})
}

// startAlertmanager runs Alertmanager and the relay with the routes of deploy.
func startAlertmanager(t *testing.T, command string, mails, robot *inbox) (address string) {
	t.Helper()
	relay := freeAddress(t)
	start(t, "http://"+relay+"/healthz", []string{
		"INTERLOCK_DINGTALK_WEBHOOK=" + robot.address + "/robot/send?access_token=" + robotToken, "INTERLOCK_DINGTALK_SECRET=" + robotSecret,
	}, command, "alert-relay", "--listen", relay)
	dir, address := t.TempDir(), freeAddress(t)
	config := edited(t, dir, "alertmanager/alertmanager.yml", "127.0.0.1:25", mails.address, "127.0.0.1:9095", relay, "group_wait: 30s", "group_wait: 1s")
	start(t, "http://"+address+"/-/ready", nil, "prometheus-alertmanager", "--config.file="+config, "--web.listen-address="+address,
		"--cluster.listen-address=", "--storage.path="+filepath.Join(dir, "data"), "--log.level=warn")
	return address
}

// checkMetrics lints what each target exports.
func checkMetrics(t *testing.T, targets []string) {
	for _, target := range targets {
		check := exec.Command("promtool", "check", "metrics")
		check.Stdin = strings.NewReader(get(t, "http://"+target+"/metrics"))
		if out, err := check.CombinedOutput(); err != nil || bytes.Contains(out, []byte("interlock_")) {
			t.Errorf("%s: %v\n%s", target, err, out)
		}
	}
}

// find fails unless a query has found a number since the start. Queries of alerts have no
// thresholds here, so that they find data while all is well.
func find(t *testing.T, p *prometheus, exported map[string]bool, q *query) {
	p = &prometheus{t, p.url, p.started}
	for part, why := range quiet {
		if strings.Contains(q.Expr, part) {
			t.Skipf("empty while all is well: %s", why)
		}
	}
	for _, metric := range regexp.MustCompile(`\binterlock_[a-z_]+`).FindAllString(q.Expr, -1) {
		if !exported[metric] && !strings.Contains(q.Expr, ":"+metric) { // the name of a recording rule contains a metric
			t.Errorf("no target exports %s", metric)
		}
	}
	p.await(q.Expr)
	if *record != "" && q.Title != "" {
		q.write(t, p)
	}
}

// write records the answer to a query.
func (q *query) write(t *testing.T, p *prometheus) {
	_, q.Answer = p.history(q.Expr)
	text, err := json.Marshal(q)
	if err == nil {
		err = os.MkdirAll(*record, 0o755)
	}
	file := regexp.MustCompile(`[^A-Za-z0-9]+`).ReplaceAllString(q.Name, "-") + ".json"
	if err == nil {
		err = os.WriteFile(filepath.Join(*record, file), text, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// names returns the names of all series.
func names(p *prometheus) map[string]bool {
	var list []string
	p.get("label/__name__/values", nil, &list)
	all := map[string]bool{}
	for _, name := range list {
		all[name] = true
	}
	return all
}

// A query is an expression of a rule or a panel. A panel has a title.
type query struct {
	Name, Dashboard, Title, Unit, Legend, Expr string

	Answer json.RawMessage // to the query over the whole run
}

// panels returns the queries of all dashboards, with their variables replaced.
func panels(t *testing.T) []query {
	files, err := filepath.Glob(filepath.Join(deploy, "grafana/dashboards/*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no dashboards: %v", err)
	}
	variables := strings.NewReplacer("$__rate_interval", "15s", "$__range", "5m", "$job", ".*", "$instance", ".*", "$name", ".*")
	var all []query
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var d struct {
			UID           string
			SchemaVersion int
			Panels        []struct {
				ID      int
				Title   string
				Targets []struct{ RefID, Expr, LegendFormat string }
				Links   []struct{ URL string }

				FieldConfig struct{ Defaults struct{ Unit string } }
			}
			Annotations struct{ List []struct{ Name, Expr string } }
		}
		if err := json.Unmarshal(text, &d); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if d.UID+".json" != filepath.Base(file) || d.SchemaVersion != 36 {
			t.Errorf("%s has uid %s and schema version %d, want the name of the file and 36", file, d.UID, d.SchemaVersion)
		}
		for _, a := range d.Annotations.List {
			all = append(all, query{Name: d.UID + " annotation " + a.Name, Expr: variables.Replace(a.Expr)})
		}
		for _, panel := range d.Panels {
			for _, target := range panel.Targets {
				all = append(all, query{
					Name: fmt.Sprintf("%s %02d %s %s", d.UID, panel.ID, panel.Title, target.RefID), Dashboard: d.UID, Title: panel.Title,
					Unit: panel.FieldConfig.Defaults.Unit, Legend: target.LegendFormat, Expr: variables.Replace(target.Expr),
				})
			}
			for _, link := range panel.Links {
				runbook := strings.Replace(link.URL, "${runbooks}", "../../docs/runbooks", 1)
				if _, err := os.Stat(runbook); err != nil {
					t.Errorf("%s, %s: %v", d.UID, panel.Title, err)
				}
			}
		}
	}
	return all
}

// comparison is a threshold of an alert.
var comparison = regexp.MustCompile(`\s*(>|==|<)\s*[0-9.]+`)

// rules returns the expressions of all loaded rules. It removes the thresholds of alerts.
func rules(p *prometheus) []query {
	var loaded struct {
		Groups []struct {
			Rules []struct{ Name, Query, Type, Health, LastError string }
		}
	}
	p.get("rules", nil, &loaded)
	var all []query
	for _, g := range loaded.Groups {
		for _, r := range g.Rules {
			if r.Health != "ok" {
				p.t.Errorf("rule %s is %s: %s", r.Name, r.Health, r.LastError)
			}
			all = append(all, query{Name: r.Name, Expr: comparison.ReplaceAllString(r.Query, "")})
		}
	}
	if len(all) < 40 {
		p.t.Errorf("Prometheus has loaded %d rules, want at least 40", len(all))
	}
	return all
}
