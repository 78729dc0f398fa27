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
	"slices"
	"time"

	"github.com/interlock-go/interlock/gateway/config"
	"github.com/interlock-go/interlock/guard"
)

// settings are what all rules of a snapshot share.
type settings struct {
	limits      config.Limits
	timeouts    config.Timeouts
	secrets     [][]byte // the file's secrets, newest first
	tokens      *guard.Tokens
	tokenSecret []byte // a random secret, if the file has none or had none before a reload
	secretsHash string // changes with the secrets and the tokens section
}

// errNoUpstream can occur only in a configuration that a program built: config.Parse
// requires the field to:.
var errNoUpstream = errors.New("gateway: no upstream: write to: with a URL")

// newSettings reads the secrets of a configuration. before is nil at the start; its
// random token secret is carried over.
func newSettings(cfg *config.Config, log *slog.Logger, before *snapshot) (*settings, error) {
	s := &settings{limits: cfg.Limits, timeouts: cfg.Timeouts}
	// Defaults for configurations that a program built without config.Default.
	s.limits.Body = cmp.Or(s.limits.Body, 1<<20)
	s.limits.Bodies = cmp.Or(s.limits.Bodies, 256<<20)
	s.limits.Response = cmp.Or(s.limits.Response, 256<<10)
	s.timeouts.Body = cmp.Or(s.timeouts.Body, 30*time.Second)
	for _, from := range cfg.Secrets {
		secret, err := readSecret(from)
		if err != nil {
			return nil, err
		}
		s.secrets = append(s.secrets, secret)
	}
	if cfg.Tokens != nil {
		if err := s.setTokens(cfg.Tokens, log, before); err != nil {
			return nil, err
		}
	}
	// Reuse keys contain this hash, and never a secret. The lengths distinguish the
	// secrets "ab", "c" from "a", "bc".
	h := sha256.New()
	for _, secret := range append(slices.Clone(s.secrets), s.tokenSecret) {
		fmt.Fprintf(h, "%d:%s", len(secret), secret)
	}
	s.secretsHash = fmt.Sprintf("%x %v", h.Sum(nil), cfg.Tokens)
	return s, nil
}

// setTokens makes the signer of tokens. Without a secret in the file it uses a random
// one, so that tokens are valid in this process only. Fingerprints never use the random
// secret: records outlive the process.
func (s *settings) setTokens(t *config.Tokens, log *slog.Logger, before *snapshot) (err error) {
	switch {
	case before != nil && before.settings.tokenSecret != nil:
		s.tokenSecret = before.settings.tokenSecret // tokens survive a reload, even one that adds the first secret
	case len(s.secrets) == 0:
		s.tokenSecret = make([]byte, sha256.Size)
		if _, err := rand.Read(s.tokenSecret); err != nil {
			return err
		}
		log.Warn("tokens are signed with a random secret: other processes do not accept them, nor does this one after a restart; add secrets: to the file")
	}
	secrets := slices.Clone(s.secrets)
	if s.tokenSecret != nil {
		secrets = append(secrets, s.tokenSecret)
	}
	s.tokens, err = guard.NewTokens(cmp.Or(t.Life, 10*time.Minute), secrets[0], secrets[1:]...)
	return err
}

// minSecret is the length of the shortest secret, in bytes: that of a SHA-256 key.
const minSecret = 32

// readSecret reads a secret, and trims line ends around it.
func readSecret(from config.Secret) ([]byte, error) {
	text, where := []byte(os.Getenv(from.Env)), "the environment variable "+from.Env
	if from.File != "" {
		var err error
		if text, err = os.ReadFile(from.File); err != nil {
			return nil, fmt.Errorf("gateway: secrets: %w", err)
		}
		where = from.File
	}
	if text = bytes.Trim(text, "\r\n"); len(text) < minSecret {
		return nil, fmt.Errorf("gateway: the secret in %s has %d bytes and could be guessed: use at least %d random ones", where, len(text), minSecret)
	}
	return text, nil
}
