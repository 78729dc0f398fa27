package serve

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	"github.com/interlock-go/interlock/gateway/admin"
	"github.com/interlock-go/interlock/gateway/config"
)

// withToken returns the configuration of the admin API with at least one token. If the
// file has none, a random token is valid until the process ends. It is in the login link,
// and in a file that only this user can read.
func (s *Server) withToken(cfg *config.Admin) (*config.Admin, error) {
	if len(cfg.Tokens) > 0 || cfg.Insecure || cfg.Open {
		return cfg, nil
	}
	token, entry := admin.NewToken("local", config.Operate)
	s.Login = s.Admin + admin.LoginPath + "?token=" + token
	file, err := writeToken(s.Admin, token)
	if err != nil {
		// The link still works.
		s.warn("the token of the admin API is in the login link only", err)
	}
	s.TokenFile = file
	with := *cfg
	with.Tokens = []config.AdminToken{entry}
	return &with, nil
}

// TokenFile returns the name of the file with the token of the admin API at a URL.
func TokenFile(api string) (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	u, err := url.Parse(api)
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "interlock", fmt.Sprintf("admin-%s.token", u.Port())), nil
}

// writeToken writes the token to its file.
func writeToken(api, token string) (string, error) {
	file, err := TokenFile(api)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return "", err
	}
	// A file of an earlier process may be readable for others; its mode would stay.
	if err := os.Remove(file); err != nil && !os.IsNotExist(err) {
		return "", err
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	_, err = f.WriteString(token + "\n")
	if bad := f.Close(); err == nil {
		err = bad
	}
	return file, err
}

// removeToken removes the file when the process ends.
func (s *Server) removeToken() {
	if s.TokenFile != "" {
		if err := os.Remove(s.TokenFile); !os.IsNotExist(err) {
			s.warn("the file with the token of the admin API was not removed", err)
		}
	}
}
