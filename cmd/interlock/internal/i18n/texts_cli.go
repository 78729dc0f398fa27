package i18n

// What exec, lock, key, storm and completion say.
var (
	AboutExec     = Text{"run a command under a lock", "在锁内运行一条命令"}
	AboutExecLong = Text{
		`Exec runs a command while it holds a lock, as flock does, but across machines. It
returns the command's code. If the lock is not to be had in time it says who has it.
If the lock is lost, the command and all it has started is told to end (SIGTERM), and
after --grace is ended. Signals are passed on. The command finds the lock's fence in
INTERLOCK_FENCE and its key in INTERLOCK_KEY. On Linux the command ends with exec,
even if that is killed; what the command itself has started does not.`,
		`exec 在持有锁期间运行一条命令：像 flock，但跨机器有效。退出码即命令的退出码。
等不到锁时会说明谁持有。锁一旦丢失，就让该命令及其启动的所有进程结束（SIGTERM），
过了 --grace 还没结束则强制结束。信号会转发给命令。
环境变量 INTERLOCK_FENCE 是锁的栅栏号，INTERLOCK_KEY 是锁的 key。
在 Linux 上，即使 exec 被杀掉，命令也随之结束；但命令自己启动的进程不会。`,
	}
	FlagTheRedis  = Text{"the Redis, or INTERLOCK_REDIS_URL", "所用的 Redis，也可用 INTERLOCK_REDIS_URL"}
	FlagWait      = Text{"how long to wait for the lock; 0 tries once", "等锁的最长时间，0 表示只试一次"}
	FlagKind      = Text{"the kind of lock: %s", "锁的种类：%s"}
	FlagExecLease = Text{"end the lock after so long; without it, it is renewed while the command runs", "锁的租期，到期不续；不给则在命令运行期间自动续期"}
	FlagMaxHold   = Text{"renew the lock for so long at most", "最多续期这么久"}
	FlagGrace     = Text{"between SIGTERM and SIGKILL once the lock is lost", "锁丢失后，SIGTERM 与 SIGKILL 之间的时间"}

	RedisLacks = Text{
		"which Redis? set --redis or %s, such as redis://localhost:6379: the embedded engine is of no use to other processes",
		"缺少 Redis：请给出 --redis 或设置 %s，例如 redis://localhost:6379；内嵌引擎对别的进程不起作用",
	}
	NeededHint   = Text{"start one (redis-server), or correct %s", "启动一个（redis-server），或改正 %s"}
	KeyLacks     = Text{"which key?", "缺少 key"}
	DashLacks    = Text{"put -- before the command, such as: interlock exec KEY -- ./report.sh", "请在命令前加 --，例如：interlock exec KEY -- ./report.sh"}
	CommandLacks = Text{"which command? it goes behind --", "缺少命令，请写在 -- 之后"}
	NoStart      = Text{"the command cannot be run: %v", "命令无法运行：%v"}
	ExecLost     = Text{"the lock %s was lost, and the command was stopped: %v", "锁 %s 已丢失，命令已停止：%v"}
	ExecLostHint = Text{
		"somebody else may have had the lock meanwhile: look at what the command has left half done",
		"期间别人可能已拿到这把锁：请检查命令有没有做了一半的事",
	}
	Busy      = Text{"%s is held by somebody else", "%s 正被别人持有"}
	BusyUntil = Text{"%s is held by %s for another %s, unless it is renewed (fence %d)", "%s 正被 %s 持有，若不续期还剩 %s（栅栏号 %d）"}
	BusyMore  = Text{", and by %d more", "，另有 %d 个持有者"}
)

// Operators.
var (
	AboutLock        = Text{"look at locks, and take them away", "查看锁，或强制释放"}
	AboutLockLs      = Text{"list the locks that are held", "列出被持有的锁"}
	AboutLockGet     = Text{"tell who holds a lock, and who waits for it", "查看谁持有、谁在等一把锁"}
	AboutRelease     = Text{"take a lock away from who holds it", "强制释放一把锁"}
	AboutReleaseLong = Text{
		`Release takes a lock away from all who hold it. Whoever works under it learns of that
within half a second. It asks for the key to be typed, unless it is told --yes; a
script has to.`,
		`release 把锁从所有持有者手中拿走。正在锁内工作的进程半秒内会得知。
执行前要求输入 key 确认，除非给出 --yes；脚本必须给出 --yes。`,
	}
	AboutKeys           = Text{"look at what guards remember, and decide what nobody knows", "查看防重记录，并处理结果未知的"}
	AboutKeyLs          = Text{"list what guards remember", "列出防重记录"}
	AboutKeyGet         = Text{"tell what is known of a key", "查看一个 key 的记录"}
	AboutKeyResolve     = Text{"say what became of work whose outcome nobody knows", "为结果未知的工作给出结论"}
	AboutKeyResolveLong = Text{
		`Resolve says what became of work that began and of which nobody knows whether it was
done. Look first: at the bank, in the database. It asks for the key to be typed, unless
it is told --yes; a script has to. Of what is known already it changes nothing.`,
		`resolve 为已经开始、但没人知道是否完成的工作给出结论。请先查证：问银行、查数据库。
执行前要求输入 key 确认，除非给出 --yes；脚本必须给出 --yes。结果已知的不会被改动。`,
	}
	AboutKeyExpire     = Text{"forget what is known of a key, so that the work may happen again", "删除一个 key 的记录，让工作可以再次执行"}
	AboutKeyExpireLong = Text{
		`Expire forgets what is known of a key. What was done once may then be done again. Of
work that runs now it forgets nothing. It asks for the key to be typed, unless it is
told --yes; a script has to.`,
		`expire 删除一个 key 的记录，已经做过的事之后可能会再做一次。正在运行的不会被删除。
执行前要求输入 key 确认，除非给出 --yes；脚本必须给出 --yes。`,
	}

	FlagOutput   = Text{"table or json", "table 或 json"}
	FlagLimit    = Text{"how many to list, from 1 to %d", "最多列出多少，1 到 %d"}
	FlagReason   = Text{"why; it is needed", "原因，必填"}
	FlagYes      = Text{"do not ask", "不再询问"}
	FlagDryRun   = Text{"only say what would be done", "只说明会做什么"}
	FlagState    = Text{"only those that are %s", "只列出这种状态：%s"}
	FlagGuard    = Text{"only those of this guard", "只列出这个 guard 的"}
	FlagOutcome  = Text{"done, failed, or free: it did not happen, and may be tried", "done（已完成）、failed（失败）或 free（没有发生，可以重试）"}
	FlagResult   = Text{"with done: what callers of a guard in a Go program get, in JSON", "配合 done：Go 程序里 guard 的调用者得到的结果，JSON"}
	FlagResponse = Text{"with done: what callers of the gateway get, as {\"status\": 201, \"content_type\": …, \"body\": …}", "配合 done：网关的调用者得到的应答，形如 {\"status\": 201, \"content_type\": …, \"body\": …}"}
	FlagError    = Text{"with failed: what callers are told; the reason if it is missing", "配合 failed：告诉调用者的话，缺省为 --reason"}

	ColumnKey     = Text{"KEY", "KEY"}
	ColumnKind    = Text{"KIND", "种类"}
	ColumnHolder  = Text{"HOLDER", "持有者"}
	ColumnFence   = Text{"FENCE", "栅栏号"}
	ColumnLeft    = Text{"TTL", "剩余"}
	ColumnWaiter  = Text{"WAITER", "等待者"}
	ColumnWaiters = Text{"WAITERS", "等待"}
	ColumnGuard   = Text{"GUARD", "GUARD"}
	ColumnState   = Text{"STATE", "状态"}
	ColumnBegan   = Text{"BEGAN", "开始"}
	ColumnKept    = Text{"KEPT", "保存"}

	LocksListed = Text{"locks: %d, waiting: %d · redis %s · %v", "锁 %d 把，等待 %d 个 · redis %s · %v"}
	KeysListed  = Text{"keys: %d · redis %s · %v", "记录 %d 条 · redis %s · %v"}
	ListedMore  = Text{"there are more than --limit %d", "还有更多，超过了 --limit %d"}
	LockFree    = Text{"nobody holds %s or waits for it", "没有谁持有或等待 %s"}
	KeyAbsent   = Text{"nothing is known of %s", "没有 %s 的记录"}
	KeyKnown    = Text{"there is nothing to resolve: %s is %s", "无需处理：%s 的状态是 %s"}
	KeyRuns     = Text{"%s is at work: wait until it has ended", "%s 正在运行：请等它结束"}
	HolderLine  = Text{"%s (%s), fence %d, entered %d times, for another %s", "%s（%s），栅栏号 %d，进入 %d 次，还剩 %s"}
	Listening   = Text{"%d processes listen for its release", "%d 个进程在等它释放"}
	KeptBytes   = Text{"%s, %d bytes", "%s，%d 字节"}
	KeptSealed  = Text{", encrypted", "，已加密"}

	TypeKey      = Text{"Type the key to go on: ", "请输入 key 以继续："}
	NeedsYes     = Text{"this is no terminal to ask at: add --yes if you mean it", "不在终端上，无法询问：确认要做请加 --yes"}
	Unconfirmed  = Text{"that is not the key; nothing was done", "输入的不是这个 key，什么也没做"}
	ReleaseHeld  = Text{"%s is held by %s (fence %d, waiting: %d)", "%s 正被 %s 持有（栅栏号 %d，等待 %d 个）"}
	ReleaseLine  = Text{"nobody holds %s; %d stand in line", "没有谁持有 %s，有 %d 个在排队"}
	Released     = Text{"released %s (holders: %d, in line: %d)", "已释放 %s（持有者 %d 个，排队 %d 个）"}
	WouldRelease = Text{"would release %s (holders: %d, in line: %d)", "将会释放 %s（持有者 %d 个，排队 %d 个）"}
	Resolved     = Text{"%s is %s now", "%s 现在是 %s"}
	WouldResolve = Text{"%s would be %s", "%s 将会是 %s"}
	Expired      = Text{"forgot %s, which was %s", "已删除 %s 的记录，原状态 %s"}
	WouldExpire  = Text{"would forget %s, which is %s", "将会删除 %s 的记录，现状态 %s"}
	AResponse    = Text{"JSON with a status from 100 to 599, and maybe content_type and body", "带有 status（100 到 599）的 JSON，可另有 content_type 和 body"}
	VerdictMix   = Text{
		"--result or --response go with --outcome done, and --error with --outcome failed",
		"--result 或 --response 只能配合 --outcome done，--error 只能配合 --outcome failed",
	}
	AJSON = Text{"JSON", "JSON"}
)

// Storms.
var (
	AboutStorm     = Text{"let many contend for a lock or send a request, and judge", "让许多竞争者抢一把锁或发同一个请求，并给出结论"}
	AboutStormLong = Text{
		`Storm lets many goroutines want one lock at once: on the embedded engine, or on a Redis.
It draws who waited and held, and judges with the checker that the tests use. With
--url it sends many requests at once instead, and counts which were executed, replayed
and refused. Only this machine may be stormed. What --threshold asks for has to hold,
or the exit code is 6: figures are n, executed, refused, lost, max-holders, violations,
p50, p99 and elapsed; with --url replayed, errors and answers (how many different ones)
instead of lost, max-holders and violations.`,
		`storm 让许多 goroutine 同时抢一把锁：用内嵌引擎，或用 Redis。
它画出谁在等、谁持有，并由测试所用的检查器给出结论。给出 --url 则改为同时发出许多请求，
统计执行、重放和拒绝各多少。只允许对本机使用。--threshold 的条件必须成立，否则退出码为 6：
指标有 n、executed、refused、lost、max-holders、violations、p50、p99、elapsed；
用 --url 时没有 lost、max-holders、violations，而有 replayed、errors、answers（不同应答的个数）。`,
	}
	FlagStormN         = Text{"how many, from 1 to %d; with --url to %d", "数量，1 到 %d；用 --url 时到 %d"}
	FlagStormWait      = Text{"how long each waits for the lock; without it, until its turn", "每个等锁的最长时间；不给则一直等到轮到自己"}
	FlagStormRedis     = Text{"a Redis instead of the embedded engine, or INTERLOCK_REDIS_URL", "用 Redis 代替内嵌引擎，也可用 INTERLOCK_REDIS_URL"}
	FlagURL            = Text{"send requests to this URL on this machine", "改为向本机的这个 URL 发请求"}
	FlagMethod         = Text{"the method of the requests", "请求方法"}
	FlagBody           = Text{"the body of the requests, JSON", "请求体，JSON"}
	FlagIdempotencyKey = Text{"the Idempotency-Key of all, or each: a new one for each", "所有请求共用的 Idempotency-Key；each 表示各用各的"}
	FlagTimeout        = Text{"give up after so long, %s at most", "超过这么久就放弃，最多 %s"}
	FlagThreshold      = Text{"what has to hold, such as executed==1,p99<50ms", "必须成立的条件，例如 executed==1,p99<50ms"}
	GoesWith           = Text{"%s goes with %s only", "%s 只能和 %s 一起用"}
	GoesWithout        = Text{"%s does not go with %s", "%s 不能和 %s 一起用"}
	Elsewhere          = Text{
		"only this machine may be stormed: --url must be on localhost, 127.0.0.1 or [::1]",
		"只允许对本机使用：--url 必须是 localhost、127.0.0.1 或 [::1]",
	}
	ThresholdMissed = Text{"a threshold was not met", "有条件不成立"}
	StormLong       = Text{"it was not over in time", "没有在规定时间内结束"}
	StormLongHint   = Text{"give it a longer --timeout, fewer --n or a shorter --hold", "请加长 --timeout，或减少 --n、缩短 --hold"}
)

// Completion.
var (
	AboutCompletion     = Text{"print a script that completes commands in a shell", "打印 shell 自动补全脚本"}
	AboutCompletionLong = Text{
		`Completion prints a script for a shell: %s. With INTERLOCK_REDIS_URL set it
completes the names of locks that are held, too.`,
		`completion 打印某个 shell 的自动补全脚本：%s。
设置了 INTERLOCK_REDIS_URL 时，还能补全正被持有的锁的名字。`,
	}
	ShellLacks   = Text{"which shell? one of %s", "缺少 shell，应为以下之一：%s"}
	ShellUnknown = Text{"%q is no shell that is known here: one of %s", "不认识 shell %q，应为以下之一：%s"}
)
