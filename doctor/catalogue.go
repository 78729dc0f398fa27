package doctor

import "maps"

// A Code names a kind of finding. Codes do not change between versions.
type Code string

// The codes.
const (
	Eviction           Code = "eviction"
	MemoryFull         Code = "memory-full"
	Forgets            Code = "forgets"
	SnapshotsOnly      Code = "snapshots-only"
	NeverSynced        Code = "never-synced"
	EverySecond        Code = "every-second"
	SyncUnknown        Code = "sync-unknown"
	MinReplicas        Code = "min-replicas"
	TooFewReplicas     Code = "too-few-replicas"
	NoAcks             Code = "no-acks"
	AcksWithoutReplica Code = "acks-without-replica"
	NoReplica          Code = "no-replica"
	LinkDown           Code = "link-down"
	OnReplica          Code = "on-replica"
	Clock              Code = "clock"
	ClocksApart        Code = "clocks-apart"
	Latency            Code = "latency"
	Old                Code = "old"
	Unreachable        Code = "unreachable"
	Exposed            Code = "exposed"
	Denied             Code = "denied"
	DeniedChannel      Code = "denied-channel"
	Unread             Code = "unread"
	FewSentinels       Code = "few-sentinels"
	SentinelsAway      Code = "sentinels-away"
	SentinelsSplit     Code = "sentinels-split"
	Uncovered          Code = "uncovered-slots"
	QuorumFew          Code = "quorum-few"
	QuorumEven         Code = "quorum-even"
	QuorumAway         Code = "quorum-away"
	QuorumHost         Code = "quorum-host"
	QuorumSame         Code = "quorum-same"
	QuorumReplica      Code = "quorum-replica"
	Notice             Code = "notice"

	FsyncOff           Code = "fsync-off"
	AsyncCommit        Code = "async-commit"
	AsyncReplica       Code = "async-replica"
	SyncReplicaMissing Code = "sync-replica-missing"
	ReadOnly           Code = "read-only"
	SchemaVersion      Code = "schema"
	Connections        Code = "connections"
	Privileges         Code = "privileges"
	IdleTransaction    Code = "idle-transaction"
	Isolation          Code = "isolation"
	InnoDBFlush        Code = "innodb-flush"
	BinlogSync         Code = "binlog-sync"
	AsyncReplicas      Code = "async-replicas"
	ServerReadOnly     Code = "server-read-only"
	SeveralPrimaries   Code = "several-primaries"
	UserPrivileges     Code = "user-privileges"
	FewConnections     Code = "few-connections"
	RollbackOnTimeout  Code = "rollback-on-timeout"
	OneMember          Code = "one-member"
	OneAddress         Code = "one-address"
	NoSpace            Code = "no-space"
	AlmostNoSpace      Code = "almost-no-space"
	Alarm              Code = "alarm"
	FourLetterWords    Code = "four-letter-words"
	OldServer          Code = "old-server"
)

// An entry contains the texts of a kind of finding. Only seen takes arguments.
type entry struct {
	severity        Severity
	seen, means, do Text
	commands        []string
}

// catalogue contains all kinds of findings.
var catalogue = joined(general, databases, mysqls, ensembles)

// joined returns the union of several catalogues.
func joined(parts ...map[Code]entry) map[Code]entry {
	all := make(map[Code]entry)
	for _, part := range parts {
		maps.Copy(all, part)
	}
	return all
}

// general contains findings about Redis, and about every engine. CONFIG REWRITE follows
// CONFIG SET, which alone would not survive a restart.
var general = map[Code]entry{
	Eviction: {Fail,
		Text{"maxmemory-policy is %s, with maxmemory %s", "maxmemory-policy 为 %s，maxmemory 为 %s"},
		Text{"when memory is full, the server evicts held locks and grants them again",
			"内存写满时，服务器会丢掉仍被持有的锁，再把它授给别人"},
		Text{"let the server refuse new writes instead, or use a separate server for locks", "改为拒绝新的写入，或让锁独占一台服务器"},
		[]string{"CONFIG SET maxmemory-policy noeviction", "CONFIG REWRITE"}},
	MemoryFull: {Warn,
		Text{"memory in use: %s of %s", "已用 %s，上限 %s"},
		Text{"when the memory is full, no lock is granted and no guarded work begins; held locks can be renewed and released",
			"内存写满之后不再授予新锁，也不再开始新的工作；已持有的锁仍可续期和释放"},
		Text{"raise maxmemory, or find out what uses the memory", "调大 maxmemory，或查出是什么占满了内存"},
		[]string{"MEMORY STATS", "CONFIG SET maxmemory <bytes>", "CONFIG REWRITE"}},

	Forgets: {Warn,
		Text{"appendonly is no, and there are no snapshots", "appendonly 为 no，也没有快照"},
		Text{"a restart loses every lock and record: held locks are granted again, and guarded work may run again",
			"一次重启就会忘掉所有的锁和执行记录：仍被持有的锁会授给别人，已做过的事可能再做一遍"},
		Text{"enable the append-only file; with appendfsync always, no grant is lost",
			"打开 AOF；appendfsync 设为 always 时，授出去的锁不会被忘记"},
		[]string{"CONFIG SET appendonly yes", "CONFIG SET appendfsync always", "CONFIG REWRITE"}},
	SnapshotsOnly: {Warn,
		Text{"appendonly is no; only snapshots are written to disk", "appendonly 为 no，磁盘上只有快照"},
		Text{"a restart loses all grants since the last snapshot, often several minutes of grants",
			"一次重启会忘掉上次快照之后授出的一切，往往是好几分钟的量"},
		Text{"enable the append-only file; with appendfsync always, no grant is lost",
			"打开 AOF；appendfsync 设为 always 时，授出去的锁不会被忘记"},
		[]string{"CONFIG SET appendonly yes", "CONFIG SET appendfsync always", "CONFIG REWRITE"}},
	NeverSynced: {Warn,
		Text{"appendfsync is no: the operating system decides when to write to disk", "appendfsync 为 no，何时落盘由操作系统决定"},
		Text{"a crash of the process loses nothing; a power cut loses about half a minute of grants",
			"进程崩溃不丢数据，但断电可能丢掉约半分钟内的授予"},
		Text{"sync every second, or at every write", "改为每秒或每次写入都落盘"},
		[]string{"CONFIG SET appendfsync always", "CONFIG REWRITE"}},
	EverySecond: {Note,
		Text{"appendfsync is everysec", "appendfsync 为 everysec"},
		Text{"a crash of the process loses nothing; a power cut may lose the last second of grants",
			"进程崩溃不丢数据；断电可能丢掉最后一秒内的授予"},
		Text{"change it only if that second matters more than the latency of writes",
			"如果这一秒不比写入速度更要紧，不必改动"},
		[]string{"CONFIG SET appendfsync always", "CONFIG REWRITE"}},
	SyncUnknown: {Note,
		Text{"the append-only file is enabled, but the server does not reveal how often it syncs",
			"AOF 已打开，但服务器不肯透露多久落盘一次"},
		Text{"every second is assumed, the usual setting", "按最常见的每秒一次看待"},
		Text{"look it up at your provider, or allow the user to read it", "到云服务商处查看，或允许该用户查询"},
		[]string{"ACL SETUSER <user> +config|get"}},

	MinReplicas: {Warn,
		Text{"replicas: %d, and min-replicas-to-write is 0", "有 %d 个副本，而 min-replicas-to-write 为 0"},
		Text{"an isolated primary keeps granting locks, and the promoted replica grants them, too",
			"被隔离的主节点会继续授锁，而接替它的主节点也会授出同样的锁"},
		Text{"let the primary refuse writes when it has lost its replicas", "失去副本后让它停止写入"},
		[]string{"CONFIG SET min-replicas-to-write 1", "CONFIG SET min-replicas-max-lag 10", "CONFIG REWRITE"}},
	TooFewReplicas: {Fail,
		Text{"min-replicas-to-write is %d; replicas connected: %d", "min-replicas-to-write 要求 %d 个副本，实际连着 %d 个"},
		Text{"the server refuses every write: no lock is granted, renewed or released", "一切写入都被拒绝：锁无法授予、续期或释放"},
		Text{"restore the replicas, or lower min-replicas-to-write", "恢复副本，或降低要求"},
		[]string{"INFO replication"}},
	NoAcks: {Note,
		Text{"acks are off; replicas connected: %d", "未启用 acks，副本数 %d"},
		Text{"a grant is valid before a replica has it, so a failover may lose it",
			"副本还没收到，授予就已生效，故障切换时可能丢失"},
		Text{"add acks=any to the URL: a failover then loses fewer grants, and each grant takes one more round trip",
			"在 URL 里加上 acks=any：切换时丢得更少，但每次授予多一次往返"},
		nil},
	AcksWithoutReplica: {Fail,
		Text{"acks are %s, but no replica is connected", "acks 为 %s，但没有副本连着"},
		Text{"every grant is released again, because no replica acknowledges it", "没有人确认，每次授予都会被收回"},
		Text{"restore a replica, or remove acks from the URL", "恢复副本，或从 URL 中去掉 acks"},
		[]string{"INFO replication"}},
	NoReplica: {Warn,
		Text{"this primary has no replica", "这个主节点没有副本"},
		Text{"no server can replace it: if it fails, its locks are unavailable until it is back",
			"没有人能接替它：它一旦宕机，在恢复之前它上面的锁都拿不到"},
		Text{"add a replica", "加一个副本"},
		[]string{"REPLICAOF <primary-host> <primary-port>"}},
	LinkDown: {Warn,
		Text{"this replica has lost the connection to its primary %s", "这个副本与主节点 %s 失去联系"},
		Text{"the replica falls behind; if it is promoted, the grants that it missed are lost", "副本会越落越远；一旦被提升，它没收到的锁和记录就丢了"},
		Text{"check its log, the network to the primary, and masterauth", "查看它的日志、两者之间的网络以及 masterauth"},
		[]string{"INFO replication", "CONFIG GET masteruser"}},
	OnReplica: {Fail,
		Text{"this is a replica of %s", "这是 %s 的副本"},
		Text{"a replica refuses writes, so no lock can be acquired here", "它不接受写入，在这里拿不到任何锁"},
		Text{"use the address of the primary, or redis+sentinel://, which finds it after a failover, too",
			"改用主节点的地址，或用 redis+sentinel:// 在切换后也能找到它"},
		[]string{"INFO replication"}},

	Clock: {Warn,
		Text{"its clock differs from ours by %s, more than %v, which is 1 %% of the lease of %v", "它的时钟与本机相差 %s，而租期 %[3]v 的百分之一是 %[2]v"},
		Text{"harmless while both run at the same rate; when one is corrected, leases end early or late",
			"只要两边走得一样快就没有害处，但总有一边会被校正，那时租期会提前或推迟结束"},
		Text{"synchronize both with NTP, slewing instead of stepping", "两边都用 NTP 校时，且用渐进而非跳变方式"},
		[]string{"chronyc tracking"}},
	ClocksApart: {Warn,
		Text{"the servers' clocks differ by %v (%s and %s), more than %v, which is 1 %% of the lease",
			"各服务器时钟最多相差 %v（%s 与 %s），租期的百分之一是 %v"},
		Text{"when one server replaces the other, leases end early or late by as much, and a new fence may be lower than an earlier one",
			"一台接替另一台时，租期会相应地提前或推迟，普通的栅栏号可能变小"},
		Text{"synchronize all servers with NTP; use Fenced where fences are checked", "所有服务器都用 NTP 校时；校验栅栏号的地方使用 Fenced"},
		[]string{"chronyc tracking"}},
	Latency: {Warn,
		Text{"the latency is %v; the timeout is %v", "一次应答要 %v，而超时为 %v"},
		Text{"under load, calls time out, and their outcomes are unknown", "一有负载调用就会超时，结果无从得知"},
		Text{"run closer to the server, or raise timeout in the URL", "离服务器近一些，或在 URL 里调大 timeout"},
		[]string{"LATENCY DOCTOR", "SLOWLOG GET 10"}},

	Old: {Fail,
		Text{"the version is %s", "版本为 %s"},
		Text{"locks need commands of Redis 6.2", "锁要用到 6.2 才有的命令"},
		Text{"use Redis 6.2 or later, or Valkey", "请使用 Redis 6.2 以上版本或 Valkey"},
		nil},
	Unreachable: {Fail,
		Text{"the probe failed: %v", "没有应答：%v"},
		Text{"locks that need this server are unavailable", "需要这台服务器的锁都不可用"},
		Text{"start it, or correct its address, user and password", "启动它，或改正地址、用户和密码"},
		nil},
	Exposed: {Warn,
		Text{"the server accepts connections from other machines without a password", "不用密码谁都能进，而且不限于本机"},
		Text{"any client that reaches the server can delete locks and read stored results", "能连上服务器的人都可以删除锁、读取执行结果"},
		Text{"set a password, and add it to the URL", "设置密码，并写进 URL"},
		[]string{"CONFIG SET requirepass <password>", "CONFIG REWRITE"}},
	Denied: {Fail,
		Text{"the user has no permission for %s", "该用户无权使用 %s"},
		Text{"locks or records that need this permission fail", "需要它们的锁或记录都会失败"},
		Text{"grant the permissions that docs/redis.md lists", "按 docs/redis.md 的 Permissions 一节授权"},
		nil},
	DeniedChannel: {Warn,
		Text{"the user has no permission for the channels %s", "该用户无权使用频道 %s"},
		Text{"a holder learns of a forced release only at its next renewal", "锁被强制释放后，持有者要到下次续期才知道"},
		Text{"grant the permission", "授予该权限"},
		[]string{"ACL SETUSER <user> &interlock_client:*"}},
	Unread: {Note,
		Text{"the user has no permission for %s, so some checks were skipped", "该用户无权使用 %s，有些项目没能检查"},
		Text{"locks do not need this", "锁本身不需要它"},
		Text{"grant it during the examination, or check the settings yourself", "检查时临时授权，或自行查看配置"},
		[]string{"ACL SETUSER <user> +info +config|get"}},

	FewSentinels: {Warn,
		Text{"sentinels: %d", "只有 %d 个哨兵"},
		Text{"if one of them fails together with the primary, there is no failover", "主节点与其中一个同时失联，就不会发生切换"},
		Text{"run three or more, on machines that do not fail together", "至少部署三个，放在不会同时出故障的机器上"},
		nil},
	SentinelsAway: {Fail,
		Text{"%d of %d sentinels are reachable; %d must agree", "%[2]d 个哨兵中有 %[1]d 个应答，需要 %[3]d 个同意"},
		Text{"if the primary fails, no replica is promoted", "主节点宕机后没有人接替"},
		Text{"start the others, or reset the remaining ones", "启动其余哨兵，或让剩下的忘掉它们"},
		[]string{"SENTINEL CKQUORUM <name>", "SENTINEL RESET <name>"}},
	SentinelsSplit: {Fail,
		Text{"the sentinels name different primaries: %s", "哨兵给出的主节点不一致：%s"},
		Text{"some processes acquire locks on one primary, others on another", "有的进程在这台上拿锁，有的在那台上"},
		Text{"wait until the failover ends; if it does not, check the network between the sentinels",
			"等切换结束；若迟迟不结束，检查哨兵之间的网络"},
		[]string{"SENTINEL MASTERS"}},
	Uncovered: {Fail,
		Text{"slots without a node: %d of %d", "%[2]d 个槽中有 %[1]d 个没有节点负责"},
		Text{"locks with keys in these slots cannot be acquired", "落在这些槽里的锁拿不到"},
		Text{"start the primary of these slots, or assign them to another", "启动原来的主节点，或把槽分给别的节点"},
		[]string{"CLUSTER SLOTS", "redis-cli --cluster fix <host>:<port>"}},

	QuorumFew: {Fail,
		Text{"nodes: %d", "只有 %d 个节点"},
		Text{"with fewer than three nodes, no node may fail", "少于三个节点时，一个都不能少"},
		Text{"use three or five independent nodes", "使用三个或五个相互独立的节点"},
		nil},
	QuorumEven: {Note,
		Text{"nodes: %d, of which %d may fail", "共 %d 个节点，可以失去 %d 个"},
		Text{"one node fewer tolerates as many failures, and locks are faster", "少一个也能承受同样多的故障，而且更快"},
		Text{"use an odd number of nodes", "使用奇数个节点"},
		nil},
	QuorumAway: {Fail,
		Text{"%d of %d nodes are reachable; %d are needed", "%[2]d 个节点中有 %[1]d 个应答，需要 %[3]d 个"},
		Text{"no lock is granted, and held locks are lost when their leases end", "不再授予新锁，已持有的锁到期即丢失"},
		Text{"start the others", "启动其余节点"},
		nil},
	QuorumHost: {Fail,
		Text{"%d nodes are on the host %s", "%d 个节点在同一台主机 %s 上"},
		Text{"nodes on one host fail together, so they count as one node", "同一台主机上的节点会一起出故障，合起来只算一个节点"},
		Text{"run each node on its own machine", "每个节点各用一台机器"},
		nil},
	QuorumSame: {Fail,
		Text{"this is the same server as %s", "它与 %s 是同一台服务器"},
		Text{"one server is counted twice, so a minority may pass for a majority", "同一台服务器被算了两次，少数会被当成多数"},
		Text{"list every server once", "每台服务器只写一次"},
		nil},
	QuorumReplica: {Fail,
		Text{"this is a replica of %s", "它是 %s 的副本"},
		Text{"nodes of a quorum must be independent; a replica refuses writes and copies its primary",
			"仲裁的各节点必须互不相干；副本不接受写入，只会重复主节点的话"},
		Text{"make it an independent primary", "让它独立成为主节点"},
		[]string{"REPLICAOF NO ONE"}},

	Notice: {Note,
		Text{"%s", "%s"},
		Text{"reported by the engine", "引擎自己这样说"},
		Text{"find out the cause", "请查明缘由"},
		nil},
}
