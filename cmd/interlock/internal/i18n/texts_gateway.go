package i18n

// The texts of proxy and serve.
var (
	AboutProxy     = Text{"protect a service in any language with a reverse proxy, without a file", "保护任何语言写的服务：反向代理，一行命令，不用配置文件"}
	AboutProxyLong = Text{
		"Proxy forwards requests to a service, and each guarded request only once.\n" +
			"By default, POST and PATCH requests that carry an Idempotency-Key are guarded: a\n" +
			"repeated request gets the first response, and the service is called once. Other\n" +
			"requests pass. For production, use interlock serve.\n\n" +
			"The admin API needs a token. The proxy makes one at start, prints a login link and\n" +
			"leaves the token in a file that only its user can read.\n\n" +
			"On SIGTERM or Ctrl-C, the proxy answers pending requests and exits with 0; a second\n" +
			"signal kills it. It reloads --rules on SIGHUP and when the file changes.\n\n" +
			"If OTEL_EXPORTER_OTLP_ENDPOINT is set, proxy sends spans there by OTLP over HTTP.",
		"放在服务前面，每个请求只发给服务一次。\n" +
			"没有 --once 和 --rules 时，带 Idempotency-Key 的 POST 和 PATCH 请求受到保护：\n" +
			"重复发送的人得到第一次的答复，服务只被调用一次。其他请求直接通过。\n" +
			"长期使用请看：interlock serve。\n\n" +
			"管理接口需要令牌：启动时生成一个，打印登录链接，并写进只有当前用户能读的文件。\n\n" +
			"SIGTERM 和 Ctrl-C：先答完在场的请求，再以 0 退出；再来一次则立即退出。\n" +
			"SIGHUP 或文件有改动时，重新读取 --rules。\n\n" +
			"设置了 OTEL_EXPORTER_OTLP_ENDPOINT 时，用 OTLP/HTTP 把链路追踪的 span 发到那里。",
	}
	AboutServe     = Text{"run the gateway that a file describes", "按配置文件运行网关"}
	AboutServeLong = Text{
		"Serve runs the gateway of a file: rules, a reverse proxy, the admin API and health\n" +
			"checks. It reloads the file on SIGHUP, on a change and on POST /api/v1/reload. A file\n" +
			"with a mistake changes nothing. On SIGTERM or Ctrl-C, /readyz fails, the gateway\n" +
			"waits for shutdown.delay, answers pending requests and exits with 0; a second signal\n" +
			"kills it.\n\n" +
			"The admin API needs a token. If the file has none, serve makes one at start, prints a\n" +
			"login link and leaves the token in a file that only its user can read.\n\n" +
			"If OTEL_EXPORTER_OTLP_ENDPOINT is set, serve sends spans there by OTLP over HTTP.\n" +
			"OTEL_TRACES_EXPORTER=none turns that off.",
		"按文件行事：反向代理加规则、管理接口、健康检查。\n" +
			"SIGHUP、文件改动和 POST /api/v1/reload 会重新读取：要么全部生效，\n" +
			"有错则什么都不变。SIGTERM 和 Ctrl-C：/readyz 先转为不可用，等待 shutdown.delay，\n" +
			"答完在场的请求，再以 0 退出；再来一次则立即退出。\n\n" +
			"管理接口需要令牌：文件里没有时，启动时生成一个，打印登录链接，\n" +
			"并写进只有当前用户能读的文件。\n\n" +
			"设置了 OTEL_EXPORTER_OTLP_ENDPOINT 时，用 OTLP/HTTP 把链路追踪的 span 发到那里；\n" +
			"OTEL_TRACES_EXPORTER=none 关闭。",
	}

	AboutExtProc     = Text{"guard the requests of Envoy by the rules of a file, without another hop", "按配置文件为 Envoy 把关（ext_proc），不多一跳"}
	AboutExtProcLong = Text{
		"Ext-proc serves Envoy's HTTP filter ext_proc over gRPC. It runs the rules of a file, as\n" +
			"serve does, and Envoy sends the requests to its own upstreams, so to: has no effect. The\n" +
			"admin API, health checks, metrics, reloads and the shutdown are those of serve; tls: is\n" +
			"the certificate of the gRPC server. A gRPC health service is on the same address.\n\n" +
			"Envoy's filter must have failure_mode_allow: false and the processing mode of\n" +
			"docs/envoy.md. List the address of Envoy in trusted-proxies if it sets the principal.",
		"为 Envoy 的 HTTP 过滤器 ext_proc 提供 gRPC 服务。规则与 serve 相同；\n" +
			"请求由 Envoy 发往它自己的上游，因此 to: 不起作用。管理接口、健康检查、指标、\n" +
			"重新读取和关闭都与 serve 一样；tls: 是这个 gRPC 服务的证书。\n" +
			"同一地址上还有 gRPC 健康检查服务。\n\n" +
			"Envoy 的过滤器必须写 failure_mode_allow: false，处理模式见 docs/envoy.md。\n" +
			"如果由 Envoy 设置用户，请把它的地址写进 trusted-proxies。",
	}
	FlagExtProcListen = Text{"address for the streams of Envoy; without it, listen: of the file", "接收 Envoy 连接的地址；不写则用文件里的 listen:"}

	FlagProxyTo     = Text{"URL of the service; repeat it for several upstreams in turn", "真正干活的服务；可给多个，轮流转发"}
	FlagProxyListen = Text{"address to listen on", "在哪里接收请求"}
	FlagProxyEngine = Text{"store records in the engine at this URL, shared by processes and kept across restarts", "把记录放在这个地址的引擎上，可供多个进程共享，重启不丢"}
	FlagOnce        = Text{"guard a request by a key, such as 'POST /orders=header.Idempotency-Key'", "请求及其键，例如 'POST /orders=header.Idempotency-Key'"}
	FlagRules       = Text{"a file with rules, in the format of interlock serve", "含 rules: 的文件，写法同 interlock serve"}
	FlagPrincipal   = Text{"the user of a request: none, header:NAME (see --trust) or jwks:FILE", "请求是谁发的：none、header:名称（配合 --trust）或 jwks:文件"}
	FlagTrust       = Text{"trusted proxies, such as 10.0.0.0/8", "信任的代理，例如 10.0.0.0/8"}
	FlagAdmin       = Text{"address of the admin API and /readyz, or off", "管理接口与 /readyz 的地址，或 off"}
	FlagPrintProxy  = Text{"only print the equivalent file for interlock serve", "只打印等效的 interlock serve 配置文件"}
	FlagConfigFile  = Text{"configuration file; - is standard input", "配置文件；- 表示标准输入"}
	FlagHealth      = Text{"address that serves only /livez, /readyz and /healthz", "只提供 /livez、/readyz、/healthz 的地址"}
	FlagMetrics     = Text{"address that serves only /metrics, without authentication", "只提供 /metrics 的地址，不做身份验证"}
	FlagWaitEngine  = Text{"start although the engine is unreachable; until it is reachable, on-down of each rule decides", "即使引擎不可用也启动；在它恢复前按规则的 on-down 处理"}
	FlagLog         = Text{"text or json", "text 或 json"}
	FlagVerbose     = Text{"log every request", "记录每个请求"}

	AnAddressOrOff = Text{"an address such as 127.0.0.1:7070, or off", "地址，例如 127.0.0.1:7070，或 off"}
	AnOnce         = Text{"MATCH=KEY, such as 'POST /orders=header.Idempotency-Key'", "形如 'POST /orders=header.Idempotency-Key'"}
	NotHTTP        = Text{"--to %s is not an http:// or https:// URL", "--to %s 不是 http:// 或 https:// 地址"}
	RulesHint      = Text{"the file contains rules, as interlock config init writes them", "文件内写 rules:，格式见 interlock config init"}

	GatewayEngineHint = Text{
		"start it, correct its address, or start without it: --wait-for-engine",
		"请启动它，或改正地址，或先不等它：--wait-for-engine",
	}
	GatewayPortHint = Text{
		"stop the process that uses it, or choose another address with --%[1]s or in the file",
		"停掉占用者，或用 --%[1]s（或在文件里）换一个地址",
	}
	GatewayAddressHint = Text{
		"choose another address with --%[1]s or in the file",
		"用 --%[1]s（或在文件里）换一个地址",
	}
	GatewayAdminHint = Text{
		"choose another address for the admin API with --%[1]s or in the file, or disable it: --%[1]s off",
		"用 --%[1]s（或在文件里）给管理接口换一个地址，或不要它：--%[1]s off",
	}

	RowRule       = Text{"rule", "规则"}
	RowEngine     = Text{"engine", "引擎"}
	RowAdmin      = Text{"admin", "管理"}
	RowToken      = Text{"token", "令牌"}
	TokenIn       = Text{"for scripts, in %s", "供脚本使用，保存在 %s"}
	RowHealth     = Text{"health", "健康"}
	RowMetrics    = Text{"metrics", "指标"}
	NoRules       = Text{"none: all requests pass", "无：所有请求直接通过"}
	RuleOptional  = Text{"requests without a key pass unguarded", "没有键的请求不受保护"}
	RuleShadow    = Text{"shadow: only observed", "只观察"}
	WarningPrefix = Text{"warning: ", "警告："}
	WarningsTitle = Text{"before production:", "正式使用之前："}
	WarningMemory = Text{
		"records are stored in this process: they are lost on a restart and not shared with other processes; use an engine with a server, such as Redis or PostgreSQL",
		"记录只在本进程内：别的进程、或重启后的本进程都不知道；请使用带服务器的引擎，如 Redis 或 PostgreSQL",
	}
	WarningNoPrincipal = Text{
		"all users share one key space: a client that sends another user's key gets that user's response; configure a principal",
		"不区分发送者：谁用了别人的键，就得到别人的答复；请说明发送者是谁（principal）",
	}
	WarningOptionalKey = Text{"requests without a key are not guarded: remove optional where a key is required", "不带键的请求不受保护：必须带键的地方请去掉 optional"}
	WarningRerun       = Text{"a rule has on-unknown: rerun: after a broken connection or a crash the request runs again, and may happen twice", "有规则写了 on-unknown: rerun：连接中断或进程崩溃之后，请求会再执行一次，可能重复"}
	WarningShortRetain = Text{"a rule forgets responses within the hour: a later retry runs again; use retain: 24h", "有规则在一小时内就忘记响应：更晚的重试会再执行一次；请写 retain: 24h"}
	WarningNoRules     = Text{"there are no rules: no request is guarded", "没有规则：什么都没有保护"}
	GatewayEnd         = Text{"Ctrl-C answers pending requests and stops the gateway", "按 Ctrl-C：答完在场的请求后结束"}
)
