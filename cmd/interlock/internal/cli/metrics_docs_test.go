package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/interlock-go/interlock/gateway/metrics"
	"github.com/interlock-go/interlock/observe/prom"
)

// metricsReference marks the start of the generated part of the page.
const metricsReference = "<!-- from the code: go test ./cmd/interlock/internal/cli -run Metrics -update -->\n"

// A metricNote says which requirement a metric serves, and its meaning in Chinese.
type metricNote struct{ requirement, chinese string }

var metricNotes = map[string]metricNote{
	"interlock_lock_acquire_total":                   {"L8, T12", "取锁的次数，按结果：acquired 成功、busy 被占用、timeout 等待超时、cancelled 被取消、error 引擎出错。"},
	"interlock_lock_handed_over_total":               {"", "由本进程另一个持有者直接移交、没有访问引擎的锁。"},
	"interlock_lock_wait_seconds":                    {"T12", "取得锁之前等待的时间。"},
	"interlock_lock_hold_seconds":                    {"L8, T12", "锁被持有的时间。"},
	"interlock_lock_held":                            {"L2, L8", "本进程现在持有的锁。"},
	"interlock_lock_waiters":                         {"", "本进程里正在等锁的 goroutine。"},
	"interlock_lock_renewal_total":                   {"", "续期次数，按结果：ok 成功，error 失败并会重试。"},
	"interlock_lock_lost_total":                      {"", "释放之前就失去的锁，按原因：expired、max-hold、revoked、closed、switched 或 not-holder。"},
	"interlock_lock_release_total":                   {"L8", "释放次数，按结果：ok 成功，error 失败、只能等租约到期。"},
	"interlock_lock_clean_up_total":                  {"L2, L8", "没有收到答复、因而被撤销的取锁请求。"},
	"interlock_lock_dropped_total":                   {"L2", "被 ReleaseAll 或 Close 结束的持有。"},
	"interlock_guard_calls_total":                    {"S7", "防重检查的次数，按裁决：granted、replayed、refused、mismatch、unknown、failed、no-result、unguarded、down 或 gave-up。"},
	"interlock_guard_coalesced_total":                {"T10", "在本进程内就得到答复、没有访问引擎的调用。"},
	"interlock_guard_claims_total":                   {"T10", "发给引擎的占用请求。"},
	"interlock_guard_settled_total":                  {"", "结束的占用，按结局：completed、tombstoned、kept-error、freed、unknown、late、not-stored 或 stored-late。"},
	"interlock_guard_execution_seconds":              {"S7", "从占用到结束的时间。"},
	"interlock_guard_wait_seconds":                   {"S7", "调用等待裁决的时间。"},
	"interlock_guard_running":                        {"", "本进程现在持有的占用。"},
	"interlock_guard_waiters":                        {"", "本进程里正在等第一个调用的重复调用。"},
	"interlock_guard_renewal_total":                  {"", "占用的续期次数，按结果：ok 成功，error 失败并会重试。"},
	"interlock_guard_lost_total":                     {"", "工作进行中失去的占用。"},
	"interlock_guard_clean_up_total":                 {"", "没有收到答复、因而被撤销的占用。"},
	"interlock_guard_degraded_total":                 {"", "因引擎不可用而在较弱保护下执行的次数：unguarded 没有保护，local 只有本进程保护。"},
	"interlock_token_issued_total":                   {"", "发出的令牌，按表单名称。"},
	"interlock_token_redeemed_total":                 {"", "客户端交回的令牌，按结果：ok、used 已用过、expired 已过期或 unknown 不认识。"},
	"interlock_engine_request_seconds":               {"S7, T12", "服务器请求的耗时，按操作（例如脚本名）和节点。"},
	"interlock_engine_errors_total":                  {"S7", "没有得到有效答复的服务器请求，按错误：unavailable、timeout、overloaded、full、refused 或 other。"},
	"interlock_engine_up":                            {"", "最近一次请求或探测，服务器是否答复。"},
	"interlock_engine_clock_skew_seconds":            {"", "最近一次探测时，服务器时钟减去本机时钟，误差不超过往返时间的一半。"},
	"interlock_weave_sites":                          {"", "用这个客户端调用过的注解，按动词和状态：valid 有效，invalid 写错、调用会被拒绝。"},
	"interlock_build_info":                           {"", "恒为 1，标签里是版本。"},
	"interlock_gateway_requests_total":               {"", "各规则处理的请求，按结果：ran、replayed、refused、waited、unguarded、local、shadowed、unknown 或 failed。没有匹配规则的：unmatched、refused 或 token。"},
	"interlock_gateway_in_flight":                    {"", "正在处理的请求。"},
	"interlock_gateway_upstream_seconds":             {"", "上游服务器返回响应头（或失败）之前的时间。"},
	"interlock_gateway_upstream_errors_total":        {"", "没有得到完整响应的上游请求，按错误：unreachable、timeout、broken 或 cancelled。"},
	"interlock_config_last_reload_successful":        {"", "最近一次重新加载配置是否成功；第一次之前为 1。"},
	"interlock_config_last_reload_timestamp_seconds": {"", "最近一次加载（或加载失败）配置的时间。"},
}

// The pages list every metric that the command exports.
func TestMetricsPages(t *testing.T) {
	for name, chinese := range map[string]bool{"observability.md": false, "observability.zh-CN.md": true} {
		path := filepath.Join("..", "..", "..", "..", "docs", name)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		before, got, found := strings.Cut(string(text), metricsReference)
		if !found {
			t.Fatalf("docs/%s does not contain the line %s", name, metricsReference)
		}
		want := metricsTable(t, chinese)
		if *update {
			if err := os.WriteFile(path, []byte(before+metricsReference+want), 0o644); err != nil {
				t.Fatal(err)
			}
		} else if got != want {
			t.Errorf("docs/%s is out of date; run go test ./cmd/interlock/internal/cli -update", name)
		}
	}
}

func metricsTable(t *testing.T, chinese bool) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("\n| metric | type | labels | meaning | [requirement](requirements.md) |\n|---|---|---|---|---|\n")
	if chinese {
		b.Reset()
		b.WriteString("\n| 指标 | 类型 | 标签 | 含义 | [需求](requirements.md) |\n|---|---|---|---|---|\n")
	}
	for _, m := range append(prom.Metrics(), metrics.Metrics()...) {
		note, ok := metricNotes[m.Name]
		if !ok {
			t.Errorf("%s has no Chinese text in metricNotes", m.Name)
		}
		help := m.Help
		if chinese {
			help = note.chinese
		}
		labels := strings.Join(m.Labels, "`, `")
		if labels != "" {
			labels = "`" + labels + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", m.Name, m.Type, labels, help, note.requirement)
	}
	return b.String()
}
