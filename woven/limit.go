package woven

import (
	"context"

	"github.com/interlock-go/interlock"
)

// take takes a unit of the site's quota.
func (st *state) take(ctx context.Context, key Key) (*interlock.QuotaUnit, error) {
	text, err := st.key(key)
	if err != nil {
		return nil, err
	}
	c := interlock.From(ctx)
	st.calledWith(c)
	return st.rule.Quota(c, text, st.window).Take(ctx)
}
