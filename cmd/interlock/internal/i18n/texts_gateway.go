package i18n

// What proxy and serve say.
var (
	AboutProxy     = Text{"protect a service in any language: a reverse proxy, and no file", "保护任何语言写的服务：反向代理，一行命令，不用配置文件"}
	AboutProxyLong = Text{
		"Stands in front of a service and sends each request to it once.\n" +
			"Without --once and --rules, POST and PATCH requests with an Idempotency-Key are\n" +
			"guarded: who sends one again gets the first answer, and the service is asked once.\n" +
			"Everything else passes. For more than a first day, see: interlock serve.\n\n" +
			"SIGTERM and Ctrl-C answer those who are there and end it with 0; a second one\n" +
			"ends it at once. SIGHUP, and a change of the file, read --rules again.",
		"放在服务前面，每个请求只发给服务一次。\n" +
			"没有 --once 和 --rules 时，带 Idempotency-Key 的 POST 和 PATCH 请求受到保护：\n" +
			"重复发送的人得到第一次的答复，服务只被调用一次。其他请求直接通过。\n" +
			"长期使用请看：interlock serve。\n\n" +
			"SIGTERM 和 Ctrl-C：先答完在场的请求，再以 0 退出；再来一次则立即退出。\n" +
			"SIGHUP 或文件有改动时，重新读取 --rules。",
	}
	AboutServe     = Text{"run the gateway that a file describes", "按配置文件运行网关"}
	AboutServeLong = Text{
		"Does what the file says: rules in front of a reverse proxy, the admin API, health.\n" +
			"SIGHUP, a change of the file and POST /api/v1/reload read it again: all of it, or,\n" +
			"with a mistake in it, nothing. SIGTERM and Ctrl-C make /readyz say no, wait for\n" +
			"shutdown.delay, answer those who are there and end it with 0; a second one ends it\n" +
			"at once.",
		"按文件行事：反向代理加规则、管理接口、健康检查。\n" +
			"SIGHUP、文件改动和 POST /api/v1/reload 会重新读取：要么全部生效，\n" +
			"有错则什么都不变。SIGTERM 和 Ctrl-C：/readyz 先转为不可用，等待 shutdown.delay，\n" +
			"答完在场的请求，再以 0 退出；再来一次则立即退出。",
	}

	FlagProxyTo     = Text{"who does the work; more than one take turns", "真正干活的服务；可给多个，轮流转发"}
	FlagProxyListen = Text{"where requests come in", "在哪里接收请求"}
	FlagProxyRedis  = Text{"keep records on this Redis, for several processes and across restarts", "把记录放在这个 Redis 上，可供多个进程共享，重启不丢"}
	FlagOnce        = Text{"a request and its key, such as 'POST /orders=header.Idempotency-Key'", "请求及其键，例如 'POST /orders=header.Idempotency-Key'"}
	FlagRules       = Text{"a file with rules:, as interlock serve reads them", "含 rules: 的文件，写法同 interlock serve"}
	FlagPrincipal   = Text{"who sent a request: none, header:NAME (see --trust) or jwks:FILE", "请求是谁发的：none、header:名称（配合 --trust）或 jwks:文件"}
	FlagTrust       = Text{"proxies that are believed, such as 10.0.0.0/8", "信任的代理，例如 10.0.0.0/8"}
	FlagAdmin       = Text{"where the admin API and /readyz are, or off", "管理接口与 /readyz 的地址，或 off"}
	FlagPrintProxy  = Text{"only print the file that does the same with interlock serve", "只打印等效的 interlock serve 配置文件"}
	FlagConfigFile  = Text{"the file; - for standard input", "配置文件；- 表示标准输入"}
	FlagHealth      = Text{"an address for /livez, /readyz and /healthz alone", "只提供 /livez、/readyz、/healthz 的地址"}
	FlagWaitEngine  = Text{"begin although the engine is away; rules say what happens until it is there", "即使引擎不可用也启动；在它恢复前按规则的 on-down 处理"}
	FlagLog         = Text{"text or json", "text 或 json"}
	FlagVerbose     = Text{"log every request", "记录每个请求"}

	AnAddressOrOff = Text{"an address such as 127.0.0.1:7070, or off", "地址，例如 127.0.0.1:7070，或 off"}
	AnOnce         = Text{"like 'POST /orders=header.Idempotency-Key'", "形如 'POST /orders=header.Idempotency-Key'"}
	NotHTTP        = Text{"--to %s is no http:// or https:// URL", "--to %s 不是 http:// 或 https:// 地址"}
	RulesHint      = Text{"it holds rules: as interlock config init writes them", "文件内写 rules:，格式见 interlock config init"}

	GatewayAwayHint = Text{
		"start it, correct its address, or begin without it: --wait-for-engine",
		"请启动它，或改正地址，或先不等它：--wait-for-engine",
	}
	GatewayPortHint = Text{
		"stop who has it, or choose another address with --%[1]s or in the file",
		"停掉占用者，或用 --%[1]s（或在文件里）换一个地址",
	}
	GatewayAdminHint = Text{
		"choose another address for the admin API with --%[1]s or in the file, or none: --%[1]s off",
		"用 --%[1]s（或在文件里）给管理接口换一个地址，或不要它：--%[1]s off",
	}

	RowRule      = Text{"rule", "规则"}
	RowEngine    = Text{"engine", "引擎"}
	RowAdmin     = Text{"admin", "管理"}
	RowHealth    = Text{"health", "健康"}
	NoRules      = Text{"none: everything passes", "无：所有请求直接通过"}
	RuleOptional = Text{"requests without a key pass unguarded", "没有键的请求不受保护"}
	RuleShadow   = Text{"only watched", "只观察"}
	LacksTitle   = Text{"before others depend on it:", "正式使用之前："}
	LackMemory   = Text{
		"records are in this process: another one, or this one after a restart, knows nothing of them; use Redis",
		"记录只在本进程内：别的进程、或重启后的本进程都不知道；请用 Redis",
	}
	LackNobody = Text{
		"senders are not told apart: who sends somebody else's key gets somebody else's answer; say who they are (principal)",
		"不区分发送者：谁用了别人的键，就得到别人的答复；请说明发送者是谁（principal）",
	}
	LackVoluntary = Text{"who sends no key is not guarded: leave optional out where a key is needed", "不带键的请求不受保护：必须带键的地方请去掉 optional"}
	LackRules     = Text{"there are no rules: nothing is guarded", "没有规则：什么都没有保护"}
	GatewayEnd    = Text{"Ctrl-C answers those who are there, and ends it", "按 Ctrl-C：答完在场的请求后结束"}
)
