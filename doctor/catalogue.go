package doctor

// A Code names a kind of finding. It stays the same from version to version.
type Code string

// The codes.
const (
	Eviction       Code = "eviction"
	MemoryFull     Code = "memory-full"
	Forgets        Code = "forgets"
	SnapshotsOnly  Code = "snapshots-only"
	NeverSynced    Code = "never-synced"
	EverySecond    Code = "every-second"
	SyncUnknown     Code = "sync-untold"
	MinReplicas    Code = "min-replicas"
	TooFewReplicas Code = "too-few-replicas"
	NoAcks         Code = "no-acks"
	AcksWithoutReplica   Code = "acks-of-nobody"
	NoReplica      Code = "no-replica"
	LinkDown       Code = "link-down"
	OnReplica      Code = "on-replica"
	Clock          Code = "clock"
	ClocksApart    Code = "clocks-apart"
	Latency        Code = "latency"
	Old            Code = "old"
	Unreachable    Code = "unreachable"
	Exposed        Code = "exposed"
	Denied         Code = "denied"
	Unread         Code = "unread"
	FewSentinels   Code = "few-sentinels"
	SentinelsAway  Code = "sentinels-away"
	SentinelsSplit Code = "sentinels-split"
	Uncovered      Code = "uncovered-slots"
	QuorumFew      Code = "quorum-few"
	QuorumEven     Code = "quorum-even"
	QuorumAway     Code = "quorum-away"
	QuorumHost     Code = "quorum-host"
	QuorumSame     Code = "quorum-same"
	QuorumReplica  Code = "quorum-replica"
	Notice         Code = "notice"
)

// An entry is what is said about a kind of finding. What was seen takes arguments.
type entry struct {
	severity        Severity
	seen, means, do Text
	commands        []string
}

// catalogue is everything that can be found. Commands that set something last until
// the next restart, so each is followed by CONFIG REWRITE.
var catalogue = map[Code]entry{
	Eviction: {Fail,
		Text{"maxmemory-policy is %s, with maxmemory %s", "maxmemory-policy 为 %s，maxmemory 为 %s"},
		Text{"when memory is full the server throws locks away that somebody holds, and grants them again",
			"内存写满时，服务器会丢掉仍被持有的锁，再把它授给别人"},
		Text{"let it refuse new writes instead, or give locks a server of their own", "改为拒绝新的写入，或让锁独占一台服务器"},
		[]string{"CONFIG SET maxmemory-policy noeviction", "CONFIG REWRITE"}},
	MemoryFull: {Warn,
		Text{"%s of %s are used", "已用 %s，上限 %s"},
		Text{"once it is full, no lock is granted and no work is begun; those that are held can be renewed and released",
			"写满之后不再授予新锁，也不再开始新的工作；已持有的锁仍可续期和释放"},
		Text{"raise maxmemory, or find out what fills it", "调大 maxmemory，或查出是什么占满了内存"},
		[]string{"MEMORY STATS", "CONFIG SET maxmemory <bytes>", "CONFIG REWRITE"}},

	Forgets: {Warn,
		Text{"appendonly is no, and there are no snapshots", "appendonly 为 no，也没有快照"},
		Text{"a restart forgets every lock and every record of work: others are granted what somebody still holds, and work may happen again",
			"一次重启就会忘掉所有的锁和执行记录：仍被持有的锁会授给别人，已做过的事可能再做一遍"},
		Text{"switch the append-only file on; with always, nothing that was granted is ever forgotten",
			"打开 AOF；appendfsync 设为 always 时，授出去的锁不会被忘记"},
		[]string{"CONFIG SET appendonly yes", "CONFIG SET appendfsync always", "CONFIG REWRITE"}},
	SnapshotsOnly: {Warn,
		Text{"appendonly is no; only snapshots are written to disk", "appendonly 为 no，磁盘上只有快照"},
		Text{"a restart forgets whatever was granted since the last snapshot, often minutes of it",
			"一次重启会忘掉上次快照之后授出的一切，往往是好几分钟的量"},
		Text{"switch the append-only file on; with always, nothing that was granted is ever forgotten",
			"打开 AOF；appendfsync 设为 always 时，授出去的锁不会被忘记"},
		[]string{"CONFIG SET appendonly yes", "CONFIG SET appendfsync always", "CONFIG REWRITE"}},
	NeverSynced: {Warn,
		Text{"appendfsync is no: the system decides when to write to disk", "appendfsync 为 no，何时落盘由操作系统决定"},
		Text{"a crash of the process loses nothing, but a power cut loses about half a minute of grants",
			"进程崩溃不丢数据，但断电可能丢掉约半分钟内的授予"},
		Text{"sync every second, or at every write", "改为每秒或每次写入都落盘"},
		[]string{"CONFIG SET appendfsync always", "CONFIG REWRITE"}},
	EverySecond: {Note,
		Text{"appendfsync is everysec", "appendfsync 为 everysec"},
		Text{"a crash of the process loses nothing; a power cut may lose the last second of grants",
			"进程崩溃不丢数据；断电可能丢掉最后一秒内的授予"},
		Text{"leave it so, unless that second matters more than the time each write takes",
			"如果这一秒不比写入速度更要紧，不必改动"},
		[]string{"CONFIG SET appendfsync always", "CONFIG REWRITE"}},
	SyncUnknown: {Note,
		Text{"there is an append-only file, but the server does not tell how often it is written to disk",
			"AOF 已打开，但服务器不肯透露多久落盘一次"},
		Text{"it is taken for every second, as most are", "按最常见的每秒一次看待"},
		Text{"look it up where you rent the server, or let the user ask", "到云服务商处查看，或允许该用户查询"},
		[]string{"ACL SETUSER <user> +config|get"}},

	MinReplicas: {Warn,
		Text{"replicas: %d, and min-replicas-to-write is 0", "有 %d 个副本，而 min-replicas-to-write 为 0"},
		Text{"a primary that is cut off goes on granting locks, which the one that takes its place grants as well",
			"被隔离的主节点会继续授锁，而接替它的主节点也会授出同样的锁"},
		Text{"let it stop writing when it has lost its replicas", "失去副本后让它停止写入"},
		[]string{"CONFIG SET min-replicas-to-write 1", "CONFIG SET min-replicas-max-lag 10", "CONFIG REWRITE"}},
	TooFewReplicas: {Fail,
		Text{"min-replicas-to-write is %d, and replicas connected: %d", "min-replicas-to-write 要求 %d 个副本，实际连着 %d 个"},
		Text{"it refuses every write: no lock is granted, renewed or released", "一切写入都被拒绝：锁无法授予、续期或释放"},
		Text{"bring the replicas back, or ask for fewer", "恢复副本，或降低要求"},
		[]string{"INFO replication"}},
	NoAcks: {Note,
		Text{"acks are off, and replicas connected: %d", "未启用 acks，副本数 %d"},
		Text{"a grant counts before any replica has heard of it, so a failover may forget it",
			"副本还没收到，授予就已生效，故障切换时可能丢失"},
		Text{"put acks=any into the URL: a failover then forgets less, and each grant takes one more trip",
			"在 URL 里加上 acks=any：切换时丢得更少，但每次授予多一次往返"},
		nil},
	AcksWithoutReplica: {Fail,
		Text{"acks are %s, and no replica is connected", "acks 为 %s，但没有副本连着"},
		Text{"every grant is given back, since nobody acknowledges it", "没有人确认，每次授予都会被收回"},
		Text{"bring a replica back, or leave acks out of the URL", "恢复副本，或从 URL 中去掉 acks"},
		[]string{"INFO replication"}},
	NoReplica: {Warn,
		Text{"this primary has no replica", "这个主节点没有副本"},
		Text{"nobody can take its place: if it dies, its locks cannot be had until it is back",
			"没有人能接替它：它一旦宕机，在恢复之前它上面的锁都拿不到"},
		Text{"add a replica", "加一个副本"},
		[]string{"REPLICAOF <primary-host> <primary-port>"}},
	LinkDown: {Warn,
		Text{"this replica does not hear from its primary %s", "这个副本与主节点 %s 失去联系"},
		Text{"it falls behind, and forgets what it has missed if it is made the primary", "它会越落越远，一旦被提升，错过的内容就丢了"},
		Text{"look at its log, the network between them, and masterauth", "查看它的日志、两者之间的网络以及 masterauth"},
		[]string{"INFO replication", "CONFIG GET masteruser"}},
	OnReplica: {Fail,
		Text{"this is a replica of %s", "这是 %s 的副本"},
		Text{"it takes no writes, so no lock can be had here", "它不接受写入，在这里拿不到任何锁"},
		Text{"use the address of the primary, or redis+sentinel:// so that it is found after a failover",
			"改用主节点的地址，或用 redis+sentinel:// 在切换后也能找到它"},
		[]string{"INFO replication"}},

	Clock: {Warn,
		Text{"its clock is off ours by %s; %v is a hundredth of the lease of %v", "它的时钟与本机相差 %s，而租期 %[3]v 的百分之一是 %[2]v"},
		Text{"while both run evenly that does no harm, but one of them will be set, and then leases end early or late",
			"只要两边走得一样快就没有害处，但总有一边会被校正，那时租期会提前或推迟结束"},
		Text{"let both keep time by NTP, which slews instead of stepping", "两边都用 NTP 校时，且用渐进而非跳变方式"},
		[]string{"chronyc tracking"}},
	ClocksApart: {Warn,
		Text{"clocks of the servers differ by %v (%s and %s); %v is a hundredth of the lease",
			"各服务器时钟最多相差 %v（%s 与 %s），租期的百分之一是 %v"},
		Text{"when one takes the place of the other, leases end early or late by as much, and plain fences may fall",
			"一台接替另一台时，租期会相应地提前或推迟，普通的栅栏号可能变小"},
		Text{"let all servers keep time by NTP; use Fenced where a fence is checked", "所有服务器都用 NTP 校时；校验栅栏号的地方使用 Fenced"},
		[]string{"chronyc tracking"}},
	Latency: {Warn,
		Text{"an answer takes %v, and the timeout is %v", "一次应答要 %v，而超时为 %v"},
		Text{"under load calls will time out, and nobody will know what became of them", "一有负载调用就会超时，结果无从得知"},
		Text{"move closer to the server, or raise timeout in the URL", "离服务器近一些，或在 URL 里调大 timeout"},
		[]string{"LATENCY DOCTOR", "SLOWLOG GET 10"}},

	Old: {Fail,
		Text{"it is version %s", "版本为 %s"},
		Text{"locks need commands that came with 6.2", "锁要用到 6.2 才有的命令"},
		Text{"use Redis 6.2 or later, or Valkey", "请使用 Redis 6.2 以上版本或 Valkey"},
		nil},
	Unreachable: {Fail,
		Text{"it does not answer: %v", "没有应答：%v"},
		Text{"what it should do for locks it does not do", "它该为锁做的事都做不了"},
		Text{"start it, or correct its address, user and password", "启动它，或改正地址、用户和密码"},
		nil},
	Exposed: {Warn,
		Text{"it lets everybody in without a password, and not only from its own machine", "不用密码谁都能进，而且不限于本机"},
		Text{"whoever reaches it can delete locks, or read what work has returned", "能连上它的人都可以删除锁、读取执行结果"},
		Text{"set a password, and put it into the URL", "设置密码，并写进 URL"},
		[]string{"CONFIG SET requirepass <password>", "CONFIG REWRITE"}},
	Denied: {Fail,
		Text{"the user may not use %s", "该用户无权使用 %s"},
		Text{"locks or records that need it fail", "需要它们的锁或记录都会失败"},
		Text{"grant the user what docs/redis.md lists under Permissions", "按 docs/redis.md 的 Permissions 一节授权"},
		nil},
	Unread: {Note,
		Text{"the user may not use %s, so not all was looked at", "该用户无权使用 %s，有些项目没能检查"},
		Text{"locks do not need it", "锁本身不需要它"},
		Text{"grant it for the time of an examination, or look at the settings yourself", "检查时临时授权，或自行查看配置"},
		[]string{"ACL SETUSER <user> +info +config|get"}},

	FewSentinels: {Warn,
		Text{"sentinels: %d", "只有 %d 个哨兵"},
		Text{"when one of them is lost together with the primary, there is no failover", "主节点与其中一个同时失联，就不会发生切换"},
		Text{"have three or more, on machines that do not fail together", "至少部署三个，放在不会同时出故障的机器上"},
		nil},
	SentinelsAway: {Fail,
		Text{"%d of %d sentinels answer, and %d have to agree", "%[2]d 个哨兵中有 %[1]d 个应答，需要 %[3]d 个同意"},
		Text{"when the primary dies, nobody takes its place", "主节点宕机后没有人接替"},
		Text{"start the others, or make the remaining ones forget them", "启动其余哨兵，或让剩下的忘掉它们"},
		[]string{"SENTINEL CKQUORUM <name>", "SENTINEL RESET <name>"}},
	SentinelsSplit: {Fail,
		Text{"the sentinels name different primaries: %s", "哨兵给出的主节点不一致：%s"},
		Text{"some processes take locks on one, some on the other", "有的进程在这台上拿锁，有的在那台上"},
		Text{"wait for the failover to end; if it does not, look at the network between the sentinels",
			"等切换结束；若迟迟不结束，检查哨兵之间的网络"},
		[]string{"SENTINEL MASTERS"}},
	Uncovered: {Fail,
		Text{"slots that nobody serves: %d of %d", "%[2]d 个槽中有 %[1]d 个没有节点负责"},
		Text{"locks whose keys lie there cannot be had", "落在这些槽里的锁拿不到"},
		Text{"start the primary that had them, or give them to another", "启动原来的主节点，或把槽分给别的节点"},
		[]string{"CLUSTER SLOTS", "redis-cli --cluster fix <host>:<port>"}},

	QuorumFew: {Fail,
		Text{"nodes: %d", "只有 %d 个节点"},
		Text{"a majority of fewer than three survives the loss of none", "少于三个节点时，一个都不能少"},
		Text{"have three or five, independent of each other", "使用三个或五个相互独立的节点"},
		nil},
	QuorumEven: {Note,
		Text{"there are %d nodes, of which %d may be lost", "共 %d 个节点，可以失去 %d 个"},
		Text{"one fewer would survive as much, and be faster", "少一个也能承受同样多的故障，而且更快"},
		Text{"have an odd number", "使用奇数个节点"},
		nil},
	QuorumAway: {Fail,
		Text{"%d of %d nodes answer, and %d are needed", "%[2]d 个节点中有 %[1]d 个应答，需要 %[3]d 个"},
		Text{"no lock is granted, and those that are held are lost when their leases end", "不再授予新锁，已持有的锁到期即丢失"},
		Text{"start the others", "启动其余节点"},
		nil},
	QuorumHost: {Fail,
		Text{"%d nodes are on the host %s", "%d 个节点在同一台主机 %s 上"},
		Text{"they fail together, so they are not worth more than one", "它们会一起出故障，合起来只顶一个"},
		Text{"have each node on a machine of its own", "每个节点各用一台机器"},
		nil},
	QuorumSame: {Fail,
		Text{"it is the same server as %s", "它与 %s 是同一台服务器"},
		Text{"it is counted twice, so a minority can be taken for a majority", "它被算了两次，少数会被当成多数"},
		Text{"name every server once", "每台服务器只写一次"},
		nil},
	QuorumReplica: {Fail,
		Text{"it is a replica of %s", "它是 %s 的副本"},
		Text{"nodes of a quorum must know nothing of each other; a replica takes no writes, and repeats what its primary says",
			"仲裁的各节点必须互不相干；副本不接受写入，只会重复主节点的话"},
		Text{"let it be a primary by itself", "让它独立成为主节点"},
		[]string{"REPLICAOF NO ONE"}},

	Notice: {Note,
		Text{"%s", "%s"},
		Text{"the engine says so itself", "引擎自己这样说"},
		Text{"see what it is about", "请查明缘由"},
		nil},
}
