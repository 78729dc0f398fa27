package telemetry_test

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	api "go.opentelemetry.io/otel"

	"github.com/interlock-go/interlock/cmd/interlock/internal/telemetry"
)

func started(t *testing.T) *telemetry.Telemetry {
	t.Helper()
	tel, err := telemetry.Start(t.Context(), "v1", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return tel
}

func TestWithoutVariablesNothingChanges(t *testing.T) {
	for _, name := range []string{"OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_TRACES_EXPORTER"} {
		t.Setenv(name, "")
	}
	tel := started(t)
	h := http.NewServeMux()
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	tel.Sending(r)
	if tel.Options() != nil || tel.Handler(h) != http.Handler(h) || len(r.Header) != 0 || tel.Environ(tel.Continue(t.Context())) != nil {
		t.Error("telemetry has an effect, want none")
	}
	if err := tel.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

// The gateway bounds slow bodies by deadlines, and passes upgrades and streams on.
func TestTheHandlerKeepsTheAbilitiesOfAConnection(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
	tel := started(t)
	defer tel.Shutdown(t.Context())
	server := httptest.NewServer(tel.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		c := http.NewResponseController(w)
		for name, err := range map[string]error{
			"SetReadDeadline":  c.SetReadDeadline(time.Time{}),
			"SetWriteDeadline": c.SetWriteDeadline(time.Time{}),
			"EnableFullDuplex": c.EnableFullDuplex(),
			"Flush":            c.Flush(),
		} {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		conn, _, err := c.Hijack()
		if err != nil {
			t.Fatalf("Hijack: %v", err)
		}
		conn.Close()
	})))
	defer server.Close()
	resp, err := http.Post(server.URL, "text/plain", strings.NewReader("x")) //nolint:noctx // a test
	if err == nil {
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
}

func TestProblemsOfTheExporterAreLoggedOncePerMinute(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
	var out bytes.Buffer
	tel, err := telemetry.Start(t.Context(), "v1", slog.New(slog.NewTextHandler(&out, nil)))
	if err != nil {
		t.Fatal(err)
	}
	defer tel.Shutdown(t.Context())
	synctest.Test(t, func(*testing.T) {
		for range 180 { // three minutes
			api.Handle(errors.New("no collector"))
			time.Sleep(time.Second)
		}
	})
	if n := strings.Count(out.String(), "\n"); n != 3 || !strings.Contains(out.String(), "skipped=59") {
		t.Errorf("%d lines in three minutes, want 3, with the number of problems left out:\n%s", n, &out)
	}
}
