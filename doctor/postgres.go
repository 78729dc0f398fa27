package doctor

import (
	"strconv"
	"strings"

	"github.com/interlock-go/interlock/engine"
)

// databases contains findings about PostgreSQL.
var databases = map[Code]entry{
	FsyncOff: {Warn,
		Text{"fsync is off", "fsync 为 off"},
		Text{"a power cut may damage the database, and lose locks and records", "断电可能损坏数据库，锁和执行记录随之丢失"},
		Text{"turn fsync on", "打开 fsync"},
		[]string{"ALTER SYSTEM SET fsync = on", "SELECT pg_reload_conf()"}},
	AsyncCommit: {Warn,
		Text{"synchronous_commit is off", "synchronous_commit 为 off"},
		Text{"a crash of the server loses the last grants, up to three times wal_writer_delay: they are granted again, and guarded work may run again",
			"服务器崩溃会丢掉最后的授予（最多三倍 wal_writer_delay）：锁会授给别人，已做过的事可能再做一遍"},
		Text{"turn it on, at least for the user of the engine", "打开它，至少为引擎的用户打开"},
		[]string{"ALTER ROLE <user> SET synchronous_commit = on"}},
	AsyncReplica: {Warn,
		Text{"replicas: %d, none of them synchronous", "有 %d 个副本，都是异步的"},
		Text{"a promoted replica may lack the last grants and grant them again", "被提升的副本可能没收到最后的授予，会再授一次"},
		Text{"make one replica synchronous, or use Fenced and check the fence in the store", "让一个副本同步，或使用 Fenced 并在写入处校验栅栏号"},
		[]string{"ALTER SYSTEM SET synchronous_standby_names = 'ANY 1 (*)'", "SELECT pg_reload_conf()"}},
	SyncReplicaMissing: {Fail,
		Text{"replicas that synchronous_standby_names requires: %d; connected: %d", "synchronous_standby_names 要求 %d 个副本，实际连着 %d 个"},
		Text{"every commit waits for a replica, so calls time out, and their outcomes are unknown", "每次提交都在等副本，调用会超时，结果无从得知"},
		Text{"restore the replica, or change synchronous_standby_names", "恢复副本，或修改 synchronous_standby_names"},
		[]string{"SELECT * FROM pg_stat_replication"}},
	ReadOnly: {Fail,
		Text{"this server is a replica", "这台服务器是副本"},
		Text{"a replica refuses writes, so no lock can be acquired here", "它不接受写入，在这里拿不到任何锁"},
		Text{"use the address of the primary, or name all servers, as in postgres://a,b/db, to find it after a failover, too",
			"改用主节点的地址，或写上所有服务器，如 postgres://a,b/db，切换后也能找到它"},
		[]string{"SELECT pg_is_in_recovery()"}},
	SchemaVersion: {Fail,
		Text{"%v", "%v"},
		Text{"locks and records on this server are unavailable to this program", "这个程序用不了这台服务器上的锁和执行记录"},
		Text{"migrate the schema as a user who may create it; if it is newer than the program, upgrade the program",
			"由有权限的用户迁移 schema；如果它比程序新，请升级程序"},
		[]string{"interlock engine migrate <url>"}},
	Connections: {Warn,
		Text{"connections in use: %d of %d", "连接数 %d，上限 %d"},
		Text{"when all are in use, calls that need a new connection fail, and processes cannot start", "连接用尽之后，需要新连接的调用会失败，进程也启动不了"},
		Text{"raise max_connections, lower pool_max_conns in the URL, or use a pooler", "调大 max_connections，调小 URL 里的 pool_max_conns，或使用连接池"},
		[]string{"SELECT usename, application_name, count(*) FROM pg_stat_activity GROUP BY 1, 2 ORDER BY 3 DESC"}},
	Privileges: {Fail,
		Text{"the user lacks: %s", "该用户缺少权限：%s"},
		Text{"locks or records that need this permission fail", "需要它们的锁或记录都会失败"},
		Text{"grant the permissions that docs/postgres.md lists", "按 docs/postgres.md 授权"},
		nil},
	IdleTransaction: {Note,
		Text{"idle_in_transaction_session_timeout is 0", "idle_in_transaction_session_timeout 为 0"},
		Text{"a process that hangs inside a transaction of DoTx keeps its key locked until its connection ends",
			"卡在 DoTx 事务里的进程会一直锁着它的 key，直到连接断开"},
		Text{"set it above the longest time that a transaction waits, if you use DoTx", "使用 DoTx 时，把它设为大于事务中最长的等待时间"},
		[]string{"ALTER ROLE <user> SET idle_in_transaction_session_timeout = '60s'"}},
	Isolation: {Note,
		Text{"default_transaction_isolation is %s", "default_transaction_isolation 为 %s"},
		Text{"each call of the engine begins a transaction of its own at read committed, which costs time but is correct",
			"引擎的每次调用都要自己开一个 read committed 事务：结果正确，只是慢一些"},
		Text{"let the engine's user have read committed", "让引擎的用户使用 read committed"},
		[]string{"ALTER ROLE <user> SET default_transaction_isolation = 'read committed'"}},
}

// oldestPostgres is the oldest version of PostgreSQL that the engine supports.
const oldestPostgres = 13

// postgres examines a server that answers.
func (x *exam) postgres(n engine.Node) {
	if major, known := leadingNumber(n.Version); known && major < oldestPostgres {
		x.find(OldServer, n.Addr, n.Version, "PostgreSQL", oldestPostgres)
	}
	if n.Role == engine.Replica {
		x.find(ReadOnly, n.Addr)
		return // its settings do not matter here
	}
	x.commits(n)
	// 85 % leaves time to react before calls fail.
	if n.MaxConnections > 0 && n.Connections >= n.MaxConnections*85/100 {
		x.find(Connections, n.Addr, n.Connections, n.MaxConnections)
	}
	if len(n.Denied) > 0 {
		x.find(Privileges, n.Addr, strings.Join(n.Denied, ", "))
	}
	if n.Settings["idle_in_transaction_session_timeout"] == "0" {
		x.find(IdleTransaction, n.Addr)
	}
	if level := n.Settings["default_transaction_isolation"]; level != "" && level != "read committed" {
		x.find(Isolation, n.Addr, level)
	}
	x.clock(n)
}

// commits examines what a crash, a power cut or a failover loses. A restarted node of a
// quorum is on probation, so in a quorum a finding about its disk is only a note.
func (x *exam) commits(n engine.Node) {
	severity := Warn
	if x.inQuorum {
		severity = Note
	}
	switch n.AppendOnly {
	case "no-sync":
		x.findAs(severity, FsyncOff, n.Addr)
	case "everysec":
		x.findAs(severity, AsyncCommit, n.Addr)
	}
	switch {
	case n.MinReplicas > n.Replicas:
		x.find(SyncReplicaMissing, n.Addr, n.MinReplicas, n.Replicas)
	case n.Replicas > 0 && n.MinReplicas == 0:
		x.find(AsyncReplica, n.Addr, n.Replicas)
	}
}

// schemaProblem reports whether a database server answers, but its schema is missing or
// has another version.
func schemaProblem(n engine.Node) bool {
	return n.Err != nil && (strings.Contains(n.Err.Error(), "postgres: schema ") || strings.Contains(n.Err.Error(), "mysql: the tables with the prefix "))
}

// leadingNumber returns the number at the beginning of a version such as "15.8 (Debian)".
func leadingNumber(version string) (n int, ok bool) {
	end := strings.IndexFunc(version, func(r rune) bool { return r < '0' || r > '9' })
	if end >= 0 {
		version = version[:end]
	}
	n, err := strconv.Atoi(version)
	return n, err == nil
}
