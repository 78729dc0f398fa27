package holds

import (
	"context"
	"errors"
	"testing"

	"github.com/interlock-go/interlock"
)

func refused(ctx context.Context, t *testing.T, m *interlock.Mutex) {
	if _, _, err := m.TryLock(ctx); !errors.Is(err, interlock.ErrContended) {
		t.Errorf("TryLock = %v", err)
	}
}
