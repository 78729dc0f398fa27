package mysql

// BeforeCommit calls f before the engine sends each transaction's second request; nil ends
// that.
func BeforeCommit(e *Engine, f func()) {
	if f == nil {
		e.beforeCommit.Store(nil)
		return
	}
	e.beforeCommit.Store(&f)
}

// Sweep deletes rows that have expired, and returns how many.
func Sweep(e *Engine) (int, error) { return e.sweep() }

// InUse returns how many connections of the pool are in use.
func InUse(e *Engine) int { return e.db.Stats().InUse }
