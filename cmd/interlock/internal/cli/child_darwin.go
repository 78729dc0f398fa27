package cli

import "syscall"

// killWithParent does nothing on macOS: a command survives if exec is killed.
func killWithParent(*syscall.SysProcAttr) {}
