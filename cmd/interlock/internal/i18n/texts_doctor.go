package i18n

// What the doctor says around a report, whose own words are in package doctor.
var (
	AboutDoctor = Text{
		"say what a Redis set-up promises, and what is wrong with it",
		"检查 Redis 的部署：它能保证什么，哪里有问题",
	}
	AboutDoctorLong = Text{
		`Doctor asks every server that a URL leads to, replicas and sentinels included, for
its version, settings and clock. It says what locks on them promise, what is wrong,
and what to type. It changes nothing. Several --redis are a quorum of servers that
know nothing of each other.`,
		`doctor 向 URL 指向的每台服务器（包括副本和哨兵）询问版本、配置和时钟，
说明在上面的锁能保证什么、哪里不对、该输入什么命令。它不改动任何东西。
给出多个 --redis 时，按互相独立的服务器组成的仲裁来检查。`,
	}
	DoctorCodes = Text{
		"Exit codes: 0 nothing failed, 1 error, 2 usage, 5 no server reachable,\n6 something failed, 130 interrupted.",
		"退出码：0 没有 ✗，1 出错，2 用法错误，5 连不上任何服务器，6 有 ✗，130 被中断。",
	}
	FlagDoctorRedis = Text{
		"a Redis to examine, or INTERLOCK_REDIS_URL; several are a quorum",
		"要检查的 Redis，也可用 INTERLOCK_REDIS_URL；给多个则为仲裁",
	}
	FlagLease = Text{"the shortest lease of your locks", "锁的最短租期"}
	FlagJSON  = Text{"write the report for programs", "输出 JSON"}

	Nodes        = Text{"nodes", "节点"}
	ColumnNode   = Text{"NODE", "节点"}
	ColumnRole   = Text{"ROLE", "角色"}
	ColumnIs     = Text{"VERSION", "版本"}
	ColumnAnswer = Text{"ANSWERS IN", "应答"}
	ColumnClock  = Text{"CLOCK", "时钟"}
	ColumnDisk   = Text{"DISK", "落盘"}
	ColumnMemory = Text{"MEMORY", "内存"}
	ColumnCopies = Text{"REPLICAS", "副本"}
	NoAnswer     = Text{"no answer", "无应答"}
	Promised     = Text{"what it promises", "它能保证什么"}
	NotPromised  = Text{"not promised", "不保证"}
	RowGrants    = Text{"one holder", "唯一持有"}
	RowBelief    = Text{"one believes", "自认持有"}
	RowFences    = Text{"fences", "栅栏号"}
	RowDead      = Text{"free again", "宕机释放"}
	RowSurvives  = Text{"survives", "能承受"}
	RowGuard     = Text{"guards", "只做一次"}
	Found        = Text{"findings: failed %d, warnings %d, notes %d", "检查结果：%d 个 ✗，%d 个警告，%d 个提示"}
	FoundNone    = Text{"findings: none", "检查结果：没有问题"}
	Means        = Text{"means", "后果"}
	Do           = Text{"do", "建议"}
	DoctorFailed = Text{"the examination has found what must be changed", "检查发现了必须修正的问题"}
	DoctorAway   = Text{"no server can be reached", "连不上任何服务器"}
	DoctorLacks  = Text{"say which Redis: --redis redis://localhost:6379", "请指明 Redis：--redis redis://localhost:6379"}
	NotRedisURL  = Text{
		"%s must be a URL such as redis://localhost:6379, redis+sentinel://host1,host2,host3/mymaster or redis+cluster://host1,host2",
		"%s 应为 redis://localhost:6379、redis+sentinel://host1,host2,host3/mymaster 或 redis+cluster://host1,host2 这样的地址",
	}
)

// What an engine is made of.
var (
	Topologies = map[string]Text{
		"embedded":   {"the embedded engine", "内嵌引擎"},
		"standalone": {"one Redis server", "单台 Redis"},
		"sentinel":   {"Redis behind sentinels", "哨兵模式的 Redis"},
		"cluster":    {"Redis Cluster", "Redis 集群"},
		"quorum":     {"a quorum", "仲裁"},
		"standby":    {"two engines with a switch", "两个引擎加切换开关"},
	}
	Roles = map[string]Text{
		"primary":  {"primary", "主"},
		"replica":  {"replica", "副本"},
		"sentinel": {"sentinel", "哨兵"},
	}
)
