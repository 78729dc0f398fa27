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
func (s *Server) withToken(cfg *config.Admin) *config.Admin {
	if len(cfg.Tokens) > 0 || cfg.Insecure || cfg.Open {
		return cfg
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
	return &with
}

// tokenFile returns the name of the file with the token of the admin API at a URL.
func tokenFile(api string) (string, error) {
	u, err := url.Parse(api)
	if err != nil {
		return "", err
	}
	dir, err := os.UserCacheDir()
	if err == nil {
		dir = filepath.Join(dir, "interlock")
	} else { // a service often has no home directory
		dir = filepath.Join(os.TempDir(), fmt.Sprintf("interlock-%d", os.Getuid()))
	}
	return filepath.Join(dir, fmt.Sprintf("admin-%s.token", u.Port())), nil
}

// writeToken writes the token to its file.
func writeToken(api, token string) (string, error) {
	file, err := tokenFile(api)
	if err != nil {
		return "", err
	}
	dir := filepath.Dir(file)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	// Another user may have made a directory of this name in the temporary one.
	if info, err := os.Lstat(dir); err != nil {
		return "", err
	} else if !info.IsDir() || info.Mode().Perm()&0o022 != 0 {
		return "", fmt.Errorf("%s is not a directory that only this user can change", dir)
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
