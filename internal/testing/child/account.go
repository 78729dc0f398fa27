package child

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// RunAs runs a program to its end as the user of [StartAs]. The program's working directory is
// dir, which RunAs gives to that user.
func RunAs(name, dir, program string, args ...string) error {
	account, err := accountOf(name)
	if err != nil {
		return err
	}
	if account != nil {
		if err := os.Chown(dir, int(account.Uid), int(account.Gid)); err != nil {
			return err
		}
	}
	cmd := exec.Command(program, args...)
	cmd.Dir, cmd.SysProcAttr = dir, &syscall.SysProcAttr{Credential: account}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", filepath.Base(program), err, out)
	}
	return nil
}

// accountOf returns the account of a user, or of nobody if there is no such user. It returns nil
// unless root runs the tests.
func accountOf(name string) (*syscall.Credential, error) {
	if os.Getuid() != 0 {
		return nil, nil //nolint:nilnil // no other account
	}
	for _, name := range []string{name, "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, errUID := strconv.ParseUint(u.Uid, 10, 32)
		gid, errGID := strconv.ParseUint(u.Gid, 10, 32)
		if err := errors.Join(errUID, errGID); err != nil {
			return nil, err
		}
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
	}
	return nil, fmt.Errorf("the server does not run as root, and there is neither a user %s nor nobody", name)
}
