package gateway

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/interlock-go/interlock/gateway/config"
	"github.com/interlock-go/interlock/guard"
)

// settings are what all rules of a plan have in common.
type settings struct {
	limits   config.Limits
	timeouts config.Timeouts
	secrets  [][]byte
	tokens   *guard.Tokens
	signs    []byte // tokens, if the file has no secret
	mark     string // stands for the secrets and tokens
}

var errNowhere = errors.New("gateway: there is nowhere to send requests to: say to: with a URL")

func newSettings(cfg *config.Config, log *slog.Logger, before *plan) (*settings, error) {
	s := &settings{limits: cfg.Limits, timeouts: cfg.Timeouts}
	s.limits.Body = cmp.Or(s.limits.Body, 1<<20)
	s.limits.Response = cmp.Or(s.limits.Response, 256<<10)
	s.timeouts.Body = cmp.Or(s.timeouts.Body, 30*time.Second)
	for _, from := range cfg.Secrets {
		secret, err := read(from)
		if err != nil {
			return nil, err
		}
		s.secrets = append(s.secrets, secret)
	}
	if cfg.Tokens != nil {
		if err := s.sign(cfg.Tokens, log, before); err != nil {
			return nil, err
		}
	}
	h := sha256.New()
	for _, secret := range append(s.secrets, s.signs) {
		fmt.Fprintf(h, "%d:%s", len(secret), secret)
	}
	s.mark = fmt.Sprintf("%x %v", h.Sum(nil), cfg.Tokens)
	return s, nil
}

// sign makes the tokens. Without a secret in the file they are good for as long as
// this process lives. Fingerprints are not keyed then: they outlive it.
func (s *settings) sign(t *config.Tokens, log *slog.Logger, before *plan) (err error) {
	secrets := s.secrets
	if len(secrets) == 0 {
		switch {
		case before != nil && before.settings.signs != nil:
			s.signs = before.settings.signs
		default:
			s.signs = make([]byte, sha256.Size)
			if _, err := rand.Read(s.signs); err != nil {
				return err
			}
			log.Warn("tokens are signed with a secret of this process, and unknown to others and after a restart; say secrets: in the file")
		}
		secrets = [][]byte{s.signs}
	}
	s.tokens, err = guard.NewTokens(cmp.Or(t.Life, 10*time.Minute), secrets[0], secrets[1:]...)
	return err
}

// leastSecret is how long a secret has to be, in bytes.
const leastSecret = 32

// read returns a secret. Line ends around it are not part of it.
func read(from config.Secret) ([]byte, error) {
	text, where := []byte(os.Getenv(from.Env)), "the environment variable "+from.Env
	if from.File != "" {
		var err error
		if text, err = os.ReadFile(from.File); err != nil {
			return nil, fmt.Errorf("gateway: a secret cannot be read: %w", err)
		}
		where = from.File
	}
	if text = bytes.Trim(text, "\r\n"); len(text) < leastSecret {
		return nil, fmt.Errorf("gateway: the secret in %s has %d bytes, and could be guessed: use 32 random ones", where, len(text))
	}
	return text, nil
}
