package interop

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// TestMain is also the main function of processes of ours that are to be killed;
// see victim.
func TestMain(m *testing.M) {
	if text, ok := os.LookupEnv(victimVariable); ok {
		if err := suffer(text); err != nil {
			fmt.Fprintln(os.Stderr, "victim:", err)
			os.Exit(1)
		}
		return
	}
	code := m.Run()
	if err := tearDown(); err != nil {
		fmt.Fprintln(os.Stderr, "interop:", err)
		code = max(code, 1)
	}
	if code == 0 {
		fmt.Print(table.String())
	}
	os.Exit(code)
}

// tearDown ends what all tests share.
func tearDown() error {
	var err error
	if shared != nil {
		err = shared.end()
	}
	if built != "" {
		err = errors.Join(err, os.RemoveAll(built))
	}
	return err
}

// built is the directory in which the Java program is, once it has been built.
var built string

// build compiles the Java program outside of the source tree, once.
var build = sync.OnceValues(func() (dir string, err error) {
	for _, program := range []string{"javac", "mvn"} {
		if _, err := exec.LookPath(program); err != nil {
			return "", fmt.Errorf("%w: apt-get install default-jdk-headless maven", err)
		}
	}
	if built, err = os.MkdirTemp("", "interop"); err != nil {
		return "", err
	}
	pom, err := filepath.Abs(filepath.Join("java", "pom.xml"))
	if err != nil {
		return "", err
	}
	cmd := exec.Command("mvn", "--quiet", "--batch-mode", "--no-transfer-progress", "-Doutput="+built, "--file", pom, "package")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the Java program: %w\n%s", err, out)
	}
	return built, nil
})
