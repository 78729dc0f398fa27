package i18n

// The texts of exec.
var (
	AboutExec     = Text{"run a command under a lock", "在锁内运行一条命令"}
	AboutExecLong = Text{
		`Exec runs a command while it holds a lock, like flock, but across machines. It
exits with the command's code. If it cannot acquire the lock in time, it names the
holder. If the lock is lost, exec sends SIGTERM to the command's process group, and
SIGKILL after --grace. Signals are forwarded to the command. Its environment contains
the lock's fence in INTERLOCK_FENCE and its key in INTERLOCK_KEY. On Linux, killing
exec kills the command, too, but not the command's own children.

If OTEL_EXPORTER_OTLP_ENDPOINT is set, exec sends the spans of the lock there, and
the command gets its trace in TRACEPARENT.`,
		`exec 在持有锁期间运行一条命令：像 flock，但跨机器有效。退出码即命令的退出码。
等不到锁时会说明谁持有。锁一旦丢失，就让该命令及其启动的所有进程结束（SIGTERM），
过了 --grace 还没结束则强制结束。信号会转发给命令。
环境变量 INTERLOCK_FENCE 是锁的栅栏号，INTERLOCK_KEY 是锁的 key。
在 Linux 上，即使 exec 被杀掉，命令也随之结束；但命令自己启动的进程不会。

设置了 OTEL_EXPORTER_OTLP_ENDPOINT 时，把这把锁的 span 发到那里，
命令从环境变量 TRACEPARENT 得到所在的链路。`,
	}
	FlagEngine    = Text{"URL of the engine; default: INTERLOCK_ENGINE_URL", "引擎的地址，也可用 INTERLOCK_ENGINE_URL"}
	FlagWait      = Text{"how long to wait for the lock; 0: try once", "等锁的最长时间，0 表示只试一次"}
	FlagKind      = Text{"kind of lock: %s", "锁的种类：%s"}
	FlagExecLease = Text{"lease without renewal; default: the lock is renewed while the command runs", "锁的租期，到期不续；不给则在命令运行期间自动续期"}
	FlagMaxHold   = Text{"how long the lock is renewed at most", "最多续期这么久"}
	FlagGrace     = Text{"time between SIGTERM and SIGKILL after the lock was lost", "锁丢失后，SIGTERM 与 SIGKILL 之间的时间"}

	EngineMissing = Text{
		"no engine: set --engine or %s, such as redis://localhost:6379 or postgres://localhost:5432/shop; other processes cannot use the embedded engine",
		"缺少引擎：请给出 --engine 或设置 %s，例如 redis://localhost:6379 或 postgres://localhost:5432/shop；内嵌引擎对别的进程不起作用",
	}
	NeededHint     = Text{"start its server, or correct %s", "启动它的服务器，或改正 %s"}
	KeyMissing     = Text{"the key is missing", "缺少 key"}
	DashMissing    = Text{"-- is missing before the command, as in: interlock exec KEY -- ./report.sh", "请在命令前加 --，例如：interlock exec KEY -- ./report.sh"}
	CommandMissing = Text{"the command after -- is missing", "缺少命令，请写在 -- 之后"}
	CommandNotRun  = Text{"cannot run the command: %v", "命令无法运行：%v"}
	ExecLost       = Text{"the lock %s was lost, and the command was stopped: %v", "锁 %s 已丢失，命令已停止：%v"}
	ExecLostHint   = Text{
		"another process may hold the lock now: check what the command has left half done",
		"期间别人可能已拿到这把锁：请检查命令有没有做了一半的事",
	}
	HeldElsewhere = Text{"%s is held by another process", "%s 正被别人持有"}
	HeldBy        = Text{"%s is held by %s; its lease ends in %s unless it is renewed (fence %d)", "%s 正被 %s 持有，若不续期还剩 %s（栅栏号 %d）"}
	HeldByMore    = Text{"; %d more holders", "，另有 %d 个持有者"}
)

// The texts of lock and key.
var (
	AboutLock        = Text{"list, inspect and force-release locks", "查看锁，或强制释放"}
	AboutLockLs      = Text{"list held locks", "列出被持有的锁"}
	AboutLockGet     = Text{"show the holders and waiters of a lock", "查看谁持有、谁在等一把锁"}
	AboutRelease     = Text{"force-release a lock", "强制释放一把锁"}
	AboutReleaseLong = Text{
		`Release revokes a lock from all its holders. Their contexts are cancelled within half
a second. Release asks you to type the key. Scripts must set --yes instead.`,
		`release 把锁从所有持有者手中拿走。正在锁内工作的进程半秒内会得知。
执行前要求输入 key 确认，除非给出 --yes；脚本必须给出 --yes。`,
	}
	AboutKeys           = Text{"list the records of guards, and resolve unknown outcomes", "查看防重记录，并处理结果未知的"}
	AboutKeyLs          = Text{"list records", "列出防重记录"}
	AboutKeyGet         = Text{"show the record of a key", "查看一个 key 的记录"}
	AboutKeyResolve     = Text{"decide an unknown outcome", "为结果未知的工作给出结论"}
	AboutKeyResolveLong = Text{
		`Resolve records the outcome of work that began, but whose outcome is unknown. Find out
first what happened, for example at the bank or in the database. Resolve asks you to
type the key. Scripts must set --yes instead. It never changes a known outcome.`,
		`resolve 为已经开始、但没人知道是否完成的工作给出结论。请先查证：问银行、查数据库。
执行前要求输入 key 确认，除非给出 --yes；脚本必须给出 --yes。结果已知的不会被改动。`,
	}
	AboutKeyExpire     = Text{"delete the record of a key, so that the work may run again", "删除一个 key 的记录，让工作可以再次执行"}
	AboutKeyExpireLong = Text{
		`Expire deletes the record of a key. Work that was done once may then run again. It
refuses while the work is running. Expire asks you to type the key. Scripts must set
--yes instead.`,
		`expire 删除一个 key 的记录，已经做过的事之后可能会再做一次。正在运行的不会被删除。
执行前要求输入 key 确认，除非给出 --yes；脚本必须给出 --yes。`,
	}

	FlagOutput    = Text{"table or json", "table 或 json"}
	FlagLimit     = Text{"maximum number of entries, from 1 to %d", "最多列出多少，1 到 %d"}
	FlagReason    = Text{"reason for the change; required", "原因，必填"}
	FlagYes       = Text{"do not ask for confirmation", "不再询问"}
	FlagDryRun    = Text{"only print what would be done", "只说明会做什么"}
	FlagState     = Text{"only records in this state: %s", "只列出这种状态：%s"}
	FlagGuard     = Text{"only records of this guard", "只列出这个 guard 的"}
	FlagNamespace = Text{"namespace of the gateway whose records are meant", "网关的 namespace"}
	FlagClientKey = Text{"find the record of this key of a client; the argument is then the rule's name", "按客户端的 key 查找；此时参数是规则的名字"}
	FlagUser      = Text{"with --key: the user, unless all users share keys", "配合 --key：用户；所有用户共用 key 时不写"}
	FlagRoute     = Text{"with --key and --user: the route, if the rule's scope includes it", "配合 --key 和 --user：路由，如果规则的 scope 包含它"}
	KeyNotFound   = Text{"rule %s has no record of this key; it may have expired: check rule, user, key and namespace", "规则 %s 没有这个 key 的记录：请检查规则、用户、key 和 namespace，也可能已经过期"}
	FlagOutcome   = Text{"done, failed, or free (it did not run and may be retried)", "done（已完成）、failed（失败）或 free（没有发生，可以重试）"}
	FlagResult    = Text{"with done: the result for callers of a guard in a Go program, as JSON", "配合 done：Go 程序里 guard 的调用者得到的结果，JSON"}
	FlagResponse  = Text{"with done: the response for clients of the gateway, as {\"status\": 201, \"content_type\": …, \"body\": …}", "配合 done：网关的调用者得到的应答，形如 {\"status\": 201, \"content_type\": …, \"body\": …}"}
	FlagError     = Text{"with failed: the error for callers; default: --reason", "配合 failed：告诉调用者的话，缺省为 --reason"}

	ColumnKey       = Text{"KEY", "KEY"}
	ColumnKind      = Text{"KIND", "种类"}
	ColumnHolder    = Text{"HOLDER", "持有者"}
	ColumnFence     = Text{"FENCE", "栅栏号"}
	ColumnHeld      = Text{"HELD", "已持有"}
	ColumnLeaseLeft = Text{"LEASE LEFT", "剩余租期"}
	ColumnExpiresIn = Text{"EXPIRES IN", "剩余时间"}
	ColumnWaiter    = Text{"WAITER", "等待者"}
	ColumnWaiters   = Text{"WAITERS", "等待"}
	ColumnGuard     = Text{"GUARD", "GUARD"}
	ColumnState     = Text{"STATE", "状态"}
	ColumnBegan     = Text{"BEGAN", "开始"}
	ColumnStored    = Text{"STORED", "保存"}

	LocksListed     = Text{"locks: %d, waiting: %d · engine %s · %v", "锁 %d 把，等待 %d 个 · 引擎 %s · %v"}
	KeysListed      = Text{"keys: %d · engine %s · %v", "记录 %d 条 · 引擎 %s · %v"}
	ListedMore      = Text{"there are more; the list ends at --limit %d", "还有更多，超过了 --limit %d"}
	LockFree        = Text{"%s has no holders and no waiters", "没有谁持有或等待 %s"}
	KeyAbsent       = Text{"%s has no record", "没有 %s 的记录"}
	KeyKnown        = Text{"nothing to resolve: %s is %s", "无需处理：%s 的状态是 %s"}
	KeyRuns         = Text{"%s is running: wait until it has ended", "%s 正在运行：请等它结束"}
	HolderLine      = Text{"%s (%s), fence %d, acquired %d times, held for %s, lease left %s", "%s（%s），栅栏号 %d，进入 %d 次，已持有 %s，还剩 %s"}
	Listening       = Text{"%d processes wait for its release", "%d 个进程在等它释放"}
	StoredBytes     = Text{"%s, %d bytes", "%s，%d 字节"}
	StoredEncrypted = Text{", encrypted", "，已加密"}

	ConfirmKey      = Text{"Type the key to confirm: ", "请输入 key 以继续："}
	NeedsYes        = Text{"cannot ask for confirmation without a terminal: add --yes to confirm", "不在终端上，无法询问：确认要做请加 --yes"}
	Unconfirmed     = Text{"the key does not match; nothing was changed", "输入的不是这个 key，什么也没做"}
	ReleaseHeld     = Text{"%s is held by %s (fence %d, waiting: %d)", "%s 正被 %s 持有（栅栏号 %d，等待 %d 个）"}
	ReleaseQueued   = Text{"%s has no holder; waiters in the queue: %d", "没有谁持有 %s，有 %d 个在排队"}
	Released        = Text{"released %s (holders: %d, queue: %d)", "已释放 %s（持有者 %d 个，排队 %d 个）"}
	WouldRelease    = Text{"would release %s (holders: %d, queue: %d)", "将会释放 %s（持有者 %d 个，排队 %d 个）"}
	Resolved        = Text{"%s is now %s", "%s 现在是 %s"}
	WouldResolve    = Text{"%s would be %s", "%s 将会是 %s"}
	Expired         = Text{"deleted the record of %s, which was %s", "已删除 %s 的记录，原状态 %s"}
	WouldExpire     = Text{"would delete the record of %s, which is %s", "将会删除 %s 的记录，现状态 %s"}
	AResponse       = Text{"JSON with a status from 100 to 599 and, optionally, content_type and body", "带有 status（100 到 599）的 JSON，可另有 content_type 和 body"}
	OutcomeMismatch = Text{
		"--result and --response require --outcome done; --error requires --outcome failed",
		"--result 或 --response 只能配合 --outcome done，--error 只能配合 --outcome failed",
	}
	AJSON = Text{"JSON", "JSON"}
)

// The texts of storm.
var (
	AboutStorm     = Text{"run a load test on a lock or a URL, and check the result", "让许多竞争者抢一把锁或发同一个请求，并给出结论"}
	AboutStormLong = Text{
		`Storm runs many goroutines that contend for one lock, on the embedded engine or on
another one. It draws a chart of waits and holds, and checks the history with the checker of
the tests. With --url it sends many requests at once instead, and counts executed,
replayed and refused ones. The URL must be on this machine. The exit code is 6 if a
condition of --threshold is not met. Figures: n, executed, refused, lost, max-holders,
violations, p50, p99, elapsed. With --url, replayed, errors and answers (the number of
different responses) replace lost, max-holders and violations.`,
		`storm 让许多 goroutine 同时抢一把锁：用内嵌引擎，或用别的引擎。
它画出谁在等、谁持有，并由测试所用的检查器给出结论。给出 --url 则改为同时发出许多请求，
统计执行、重放和拒绝各多少。只允许对本机使用。--threshold 的条件必须成立，否则退出码为 6：
指标有 n、executed、refused、lost、max-holders、violations、p50、p99、elapsed；
用 --url 时没有 lost、max-holders、violations，而有 replayed、errors、answers（不同应答的个数）。`,
	}
	FlagStormN         = Text{"number of goroutines, from 1 to %d; with --url up to %d requests", "数量，1 到 %d；用 --url 时到 %d"}
	FlagStormWait      = Text{"how long each goroutine waits for the lock; default: until --timeout", "每个等锁的最长时间；不给则一直等到轮到自己"}
	FlagStormEngine    = Text{"URL of an engine, instead of the embedded one; default: INTERLOCK_ENGINE_URL", "用这个地址的引擎代替内嵌引擎，也可用 INTERLOCK_ENGINE_URL"}
	FlagURL            = Text{"send requests to this URL on this machine", "改为向本机的这个 URL 发请求"}
	FlagHeader         = Text{"header field of the requests, such as 'Authorization: Bearer x'; repeatable", "请求头，例如 'Authorization: Bearer x'；可重复"}
	AHeader            = Text{"a field such as 'Name: value'", "形如 'Name: value' 的请求头"}
	FlagMethod         = Text{"method of the requests", "请求方法"}
	FlagBody           = Text{"body of the requests, as JSON", "请求体，JSON"}
	FlagIdempotencyKey = Text{"Idempotency-Key of all requests, or each: a new key per request", "所有请求共用的 Idempotency-Key；each 表示各用各的"}
	FlagTimeout        = Text{"time limit of the storm, at most %s", "超过这么久就放弃，最多 %s"}
	FlagThreshold      = Text{"conditions to meet, such as executed==1,p99<50ms", "必须成立的条件，例如 executed==1,p99<50ms"}
	GoesWith           = Text{"%s requires %s", "%s 只能和 %s 一起用"}
	GoesWithout        = Text{"%s cannot be combined with %s", "%s 不能和 %s 一起用"}
	StormNotLocal      = Text{
		"storm only tests this machine: --url must be on localhost, 127.0.0.1 or [::1]",
		"只允许对本机使用：--url 必须是 localhost、127.0.0.1 或 [::1]",
	}
	ThresholdMissed  = Text{"a threshold was not met", "有条件不成立"}
	StormTimeout     = Text{"the storm did not end within --timeout", "没有在规定时间内结束"}
	StormTimeoutHint = Text{"use a longer --timeout, a smaller --n or a shorter --hold", "请加长 --timeout，或减少 --n、缩短 --hold"}
)

// The texts of completion.
var (
	AboutCompletion     = Text{"print the completion script of a shell", "打印 shell 自动补全脚本"}
	AboutCompletionLong = Text{
		`Completion prints the completion script of a shell: %s. If
INTERLOCK_ENGINE_URL is set, the script also completes the keys of held locks.`,
		`completion 打印某个 shell 的自动补全脚本：%s。
设置了 INTERLOCK_ENGINE_URL 时，还能补全正被持有的锁的名字。`,
	}
	ShellMissing = Text{"the shell is missing: one of %s", "缺少 shell，应为以下之一：%s"}
	ShellUnknown = Text{"unknown shell %q: use one of %s", "不认识 shell %q，应为以下之一：%s"}
)
