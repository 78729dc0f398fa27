package i18n

// The texts of the doctor command. Package doctor contains those of its report.
var (
	AboutDoctor = Text{
		"report what an engine's deployment guarantees, and its problems",
		"检查引擎的部署：它能保证什么，哪里有问题",
	}
	AboutDoctorLong = Text{
		`Doctor reads the version, settings and clock of every server behind a URL, including
replicas, sentinels and the members of a cluster. It reports what locks on them guarantee, the problems, and the
commands that fix them. It changes no lock and no record. Several --engine are examined as a quorum of
independent servers.`,
		`doctor 向 URL 指向的每台服务器（包括副本、哨兵和集群成员）询问版本、配置和时钟，
说明在上面的锁能保证什么、哪里不对、该输入什么命令。它不改动任何锁和记录。
给出多个 --engine 时，按互相独立的服务器组成的仲裁来检查。`,
	}
	DoctorCodes = Text{
		"Exit codes: 0 no failed finding, 1 error, 2 usage, 5 no server reachable,\n6 a failed finding, 130 interrupted.",
		"退出码：0 没有 ✗，1 出错，2 用法错误，5 连不上任何服务器，6 有 ✗，130 被中断。",
	}
	FlagDoctorEngine = Text{
		"URL of an engine to examine; repeat it for a quorum; default: INTERLOCK_ENGINE_URL",
		"要检查的引擎地址，也可用 INTERLOCK_ENGINE_URL；给多个则为仲裁",
	}
	FlagLease = Text{"shortest lease of your locks", "锁的最短租期"}
	FlagJSON  = Text{"print the report as JSON; the same as -o json", "输出 JSON"}

	Nodes               = Text{"nodes", "节点"}
	ColumnNode          = Text{"NODE", "节点"}
	ColumnRole          = Text{"ROLE", "角色"}
	ColumnVersion       = Text{"VERSION", "版本"}
	ColumnAnswer        = Text{"LATENCY", "应答"}
	ColumnClock         = Text{"CLOCK", "时钟"}
	ColumnDisk          = Text{"DISK", "落盘"}
	ColumnMemory        = Text{"MEMORY", "内存"}
	ColumnReplicas      = Text{"REPLICAS", "副本"}
	NoAnswer            = Text{"no answer", "无应答"}
	Guarantees          = Text{"guarantees", "它能保证什么"}
	NotGuaranteed       = Text{"not guaranteed", "不保证"}
	RowGrants           = Text{"one grant", "唯一授予"}
	RowWorkers          = Text{"one worker", "唯一执行"}
	RowFences           = Text{"fences", "栅栏号"}
	RowFreedWithin      = Text{"free again", "宕机释放"}
	RowSurvives         = Text{"survives", "能承受"}
	RowGuard            = Text{"guards", "只做一次"}
	Found               = Text{"findings: failed %d, warnings %d, notes %d", "检查结果：%d 个 ✗，%d 个警告，%d 个提示"}
	FoundNone           = Text{"findings: none", "检查结果：没有问题"}
	Means               = Text{"means", "后果"}
	Do                  = Text{"do", "建议"}
	DoctorFailed        = Text{"doctor found problems that must be fixed", "检查发现了必须修正的问题"}
	DoctorUnreachable   = Text{"no server is reachable", "连不上任何服务器"}
	DoctorEngineMissing = Text{"no engine: set --engine, such as redis://localhost:6379", "请指明引擎：--engine redis://localhost:6379"}
	NotEngineURL        = Text{
		"%s must be a URL such as redis://localhost:6379, redis+sentinel://host1,host2,host3/mymaster, redis+cluster://host1,host2, postgres://user@localhost:5432/db, mysql://user@localhost:3306/db, etcd://host1:2379,host2:2379 or zk://host1:2181,host2:2181",
		"%s 应为 redis://localhost:6379、redis+sentinel://host1,host2,host3/mymaster、redis+cluster://host1,host2、postgres://user@localhost:5432/db、mysql://user@localhost:3306/db、etcd://host1:2379,host2:2379 或 zk://host1:2181,host2:2181 这样的地址",
	}
)

// Topologies and roles.
var (
	Topologies = map[string]Text{
		"embedded":   {"the embedded engine", "内嵌引擎"},
		"standalone": {"one Redis server", "单台 Redis"},
		"sentinel":   {"Redis behind sentinels", "哨兵模式的 Redis"},
		"cluster":    {"Redis Cluster", "Redis 集群"},
		"quorum":     {"a quorum", "仲裁"},
		"standby":    {"a primary and a standby engine", "两个引擎加切换开关"},
	}
	// Products are the topologies of other products than Redis.
	Products = map[string]Text{
		"postgresql/standalone": {"PostgreSQL", "PostgreSQL"},
		"mysql/standalone":      {"MySQL or MariaDB", "MySQL 或 MariaDB"},
		"etcd/standalone":       {"one etcd server", "单台 etcd"},
		"etcd/ensemble":         {"an etcd cluster", "etcd 集群"},
		"zookeeper/standalone":  {"one ZooKeeper server", "单台 ZooKeeper"},
		"zookeeper/ensemble":    {"a ZooKeeper ensemble", "ZooKeeper 集群"},
	}
	Roles = map[string]Text{
		"primary":  {"primary", "主"},
		"replica":  {"replica", "副本"},
		"sentinel": {"sentinel", "哨兵"},
	}
)
