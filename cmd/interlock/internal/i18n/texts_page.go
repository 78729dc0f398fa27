package i18n

// The cases of the demo's page.
var (
	CaseFast      = Text{"Fast task", "快任务"}
	CaseFastAbout = Text{
		"/lock-release-fast: the lease is 10 s, the work takes 1 s. Repeats are refused while the work runs. As soon as it is done the next request is accepted, not after ten seconds.",
		"/lock-release-fast：租期 10 秒，处理 1 秒。处理期间重复提交被拒绝；一处理完，下一次立刻放行，不必等满 10 秒。",
	}
	CaseSlow      = Text{"Slow task", "慢任务"}
	CaseSlowAbout = Text{
		"/lock-release-slow: the lease is 5 s, the work takes 3 s. Repeats are refused for these three seconds, and accepted afterwards.",
		"/lock-release-slow：租期 5 秒，处理 3 秒。这 3 秒内的重复提交全部被拒绝，之后放行。",
	}
	CaseTimeout      = Text{"Lease timeout", "处理超时"}
	CaseTimeoutAbout = Text{
		"/lock-timeout-test: the lease is 2 s, the work takes 3 s. With a plain expiry, the repeat at 2.3 s would run at the same time as the first. The lease is renewed, so the repeat is refused.",
		"/lock-timeout-test：租期 2 秒，处理 3 秒。若只靠过期时间，2.3 秒时的重复提交会和第一个同时执行；这里租约会续期，所以被拒绝。",
	}
	CaseConcurrent      = Text{"100 at once", "100 并发"}
	CaseConcurrentAbout = Text{
		"/concurrent-test: one hundred submissions of the same order at the same instant, with a window of 2 s. One runs; ninety-nine are refused with the time to wait.",
		"/concurrent-test：同一笔订单在同一瞬间提交一百次，窗口 2 秒。只有一个执行，另外九十九个得知还要等多久。",
	}
	CaseSetNX      = Text{"Atomicity", "原子性"}
	CaseSetNXAbout = Text{
		"/setnx-test: directly, the shop checks the key and sets it a moment later, so every request finds the key free. Behind Interlock, check and set are one step (SET NX).",
		"/setnx-test：直接调用时，商店先查 key 是否存在、过一会儿才写入，于是人人都看到 key 空着。在 Interlock 之后，检查和写入是同一步（SET NX）。",
	}
	CaseClick      = Text{"Double click", "双击提交"}
	CaseClickAbout = Text{
		"A cart is ordered twice within 30 ms. The shop checks for duplicates, but both clicks pass the check before either order is placed.",
		"同一个购物车在 30 毫秒内下单两次。商店做了检查，但两次点击都在对方下单之前通过了检查。",
	}
	CaseOther      = Text{"Same key, another body", "同 key 不同内容"}
	CaseOtherAbout = Text{
		"An Idempotency-Key is used again. With the same payment, the request gets the same receipt. With another payment, it is refused (422) before it runs.",
		"同一个 Idempotency-Key 再次出现：付款内容相同，返回同一张收据；内容不同，还没执行就被拒绝（422）。",
	}
	CasePayment      = Text{"Payment ×5", "支付连点五次"}
	CasePaymentAbout = Text{
		"“Pay” is clicked five times: five requests with one key. The first charges, the next three arrive while it runs and get 409, and the last gets the same receipt.",
		"“支付”连点五次：五个请求，同一个 key。一个扣款；三个在处理期间到来，被告知正在处理（409）；最后一个拿到同一张收据。",
	}
	CaseImport      = Text{"Batch import", "批量导入"}
	CaseImportAbout = Text{
		"Four people start the import of one day. It runs once; the other three requests wait and get its result.",
		"四个人先后启动同一天的导入。只执行一次，另外三个等它完成并得到它的结果。",
	}
	CaseFair      = Text{"Fair queue", "公平排队"}
	CaseFairAbout = Text{
		"Eight customers arrive at one desk. With a fair lock they are served one at a time, in order of arrival.",
		"八位顾客先后来到同一个柜台。有了公平锁，一次只服务一位，先来先服务。",
	}
	CaseReaders      = Text{"Readers and writers", "读写锁"}
	CaseReadersAbout = Text{
		"Some requests count the stock while others move it. Readers share the lock; a writer holds it alone, so no count sees pieces that are being moved.",
		"有人在盘点库存，有人在搬货。读者共享锁，写者独占锁：没有人会数到正在搬运途中的货。",
	}
	CaseRegister      = Text{"Registration", "用户注册"}
	CaseRegisterAbout = Text{
		"The same phone number registers ten times at once, and the table has no unique index. One row is written; the other requests learn that the user exists.",
		"同一个手机号同时注册十次，表里没有唯一索引。只写入一行，其余得知用户已存在。",
	}
	CaseSale      = Text{"Flash sale", "秒杀"}
	CaseSaleAbout = Text{
		"Ten pieces and 24 buyers. With a fair lock, the ten buyers who clicked first get them.",
		"10 件商品，24 位买家。有了公平锁，正好卖出 10 件，而且卖给最先点击的 10 位。",
	}
	CaseStock      = Text{"Stock", "扣减库存"}
	CaseStockAbout = Text{
		"Twelve requests take a piece at once. Each reads the count and writes it back minus one. Without a lock, eleven of these writes are lost.",
		"十二个人同时各取一件。各自读出数量、减一写回：不加锁的话，其中十一次写入会丢失。",
	}
	CaseBalance      = Text{"Balance", "余额扣款"}
	CaseBalanceAbout = Text{
		"The account has 100, and fifteen requests deduct 10 each. Ten succeed; the others are refused, because the balance is too low.",
		"账户余额 100，十五个请求各扣 10。十个成功，其余得知余额不足。",
	}
	CasePaid      = Text{"Paid against cancelled", "支付与取消"}
	CasePaidAbout = Text{
		"One order is paid and cancelled at the same instant. The first request wins, and the second sees its result.",
		"同一笔订单在同一瞬间被支付和取消。先到者生效，后到者看得到结果。",
	}
)

// The findings about a run of a case.
var (
	PlayRan       = Text{"ran", "执行"}
	PlayRanOf     = Text{"%d of %d reached the shop", "%[2]d 个请求，%[1]d 个到达商店"}
	PlayRanWant   = Text{"%d of %d reached the shop; expected %d", "%[2]d 个请求，%[1]d 个到达商店，应为 %[3]d 个"}
	PlayRefused   = Text{"refused", "拒绝"}
	PlayRefusedN  = Text{"%d, each with a reason and the time to wait", "%d 个，都得知原因和何时可以重试"}
	PlayReplayed  = Text{"replayed", "重放"}
	PlayReplayedN = Text{"%d got the first response", "%d 个得到第一次的结果"}
	PlayFailed    = Text{"errors", "错误"}
	PlayFailedN   = Text{"%d requests got an error or no response", "%d 个请求没有得到正常应答"}
	PlayCount     = Text{"%d; expected %d", "%d 个，应为 %d 个"}
	PlayOverlap   = Text{"at once", "同时在内"}
	PlayOverlapN  = Text{"up to %[2]d at once; %[1]d forbidden overlaps", "最多 %[2]d 个同时在内，%[1]d 次是不该同时在内的"}
	PlayAlone     = Text{"never two at once", "任何时刻最多一个"}
	PlayReaders   = Text{"only readers overlap, up to %d; writers are alone", "只有读者同时在内，最多 %d 个；写者总是独占"}
	PlayOrder     = Text{"order", "顺序"}
	PlayInOrder   = Text{"first come, first served", "先来先服务"}
	PlayUnordered = Text{"%d times a later request was served first", "%d 次后来的先被服务"}
	PlayFences    = Text{"fences", "栅栏号"}
	PlayRise      = Text{"%d, rising with every grant", "共 %d 个，每次授予都递增"}
	PlayFell      = Text{"%d times a fence did not rise", "%d 次没有递增"}
	PlayWaits     = Text{"waits", "等待"}
	PlayWaitsN    = Text{"median %s, longest %s", "一半在 %s 以内，最长 %s"}
	PlayRight     = Text{"Verdict: correct", "结论：正确"}
	PlayBroken    = Text{"Verdict: broken", "结论：出错了"}

	EffectRuns      = Text{"result", "结果"}
	EffectRunsN     = Text{"the work ran %d times; expected %d", "处理了 %d 次，应为 %d 次"}
	EffectOrders    = Text{"orders", "订单"}
	EffectOrdersN   = Text{"orders placed for this cart: %d", "这个购物车下了 %d 笔订单"}
	EffectCharges   = Text{"charges", "扣款"}
	EffectChargesN  = Text{"charged %d times", "扣款 %d 次"}
	EffectImports   = Text{"import", "导入"}
	EffectImportsN  = Text{"the day was imported %d times", "这一天被导入了 %d 次"}
	EffectServed    = Text{"served", "服务"}
	EffectServedN   = Text{"in the order %s", "次序为 %s"}
	EffectTorn      = Text{"counts", "盘点"}
	EffectTornN     = Text{"%d counts were wrong", "%d 次盘点看到的数量不对"}
	EffectUsers     = Text{"rows", "用户行"}
	EffectUsersN    = Text{"%d for this phone number", "这个手机号有 %d 行"}
	EffectSold      = Text{"sold", "售出"}
	EffectSoldN     = Text{"%d of %d pieces", "共 %[2]d 件，售出 %[1]d 件"}
	EffectTaken     = Text{"stock", "库存"}
	EffectTakenN    = Text{"%d taken; the stock fell by %d", "取走 %d 件，账上少了 %d 件"}
	EffectPaidOut   = Text{"account", "账户"}
	EffectPaidOutN  = Text{"paid out %d of %d; the balance is %d", "余额 %[2]d，付出 %[1]d，账上还剩 %[3]d"}
	EffectOrder     = Text{"the order", "订单"}
	EffectNeither   = Text{"is neither paid nor cancelled", "既没有支付也没有取消"}
	EffectBoth      = Text{"is paid AND cancelled", "既支付了又取消了"}
	EffectPaid      = Text{"is paid; cancelling it was refused", "已支付，取消被拒绝"}
	EffectCancelled = Text{"is cancelled; paying it was refused", "已取消，支付被拒绝"}
)
