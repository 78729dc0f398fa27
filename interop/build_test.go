package interop

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// newest selects the version of Redisson. The file java/pom.xml has both.
var newest = flag.Bool("newest", false, "run with the newest Redisson instead of the last of version 3")

// TestMain runs the tests. In a child process it runs a victim instead.
func TestMain(m *testing.M) {
	if text, ok := os.LookupEnv(victimVariable); ok {
		if err := runVictim(text); err != nil {
			fmt.Fprintln(os.Stderr, "victim:", err)
			os.Exit(1)
		}
		return
	}
	code := m.Run()
	if code == 0 {
		fmt.Print(table.String())
	}
	if err := tearDown(); err != nil {
		fmt.Fprintln(os.Stderr, "interop:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// tearDown stops the shared Java process and removes the build.
func tearDown() error {
	var err error
	if sharedJVM != nil {
		err = sharedJVM.end()
	}
	if buildDir != "" {
		err = errors.Join(err, os.RemoveAll(buildDir))
	}
	return err
}

// buildDir is the directory of the built Java program. It is empty before the build.
var buildDir string

// build builds the Java program once, outside of the source tree.
var build = sync.OnceValues(func() (dir string, err error) {
	for _, program := range []string{"javac", "mvn"} {
		if _, err := exec.LookPath(program); err != nil {
			return "", fmt.Errorf("%w: apt-get install default-jdk-headless maven", err)
		}
	}
	if buildDir, err = os.MkdirTemp("", "interop"); err != nil {
		return "", err
	}
	pom, err := filepath.Abs(filepath.Join("java", "pom.xml"))
	if err != nil {
		return "", err
	}
	cmd := exec.Command("mvn", "--quiet", "--batch-mode", "--no-transfer-progress", "-Doutput="+buildDir, "--file", pom, "package")
	if *newest {
		cmd.Args = append(cmd.Args, "--activate-profiles", "newest")
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the Java program: %w\n%s", err, out)
	}
	return buildDir, nil
})

// version returns the version of Redisson in the build, such as "Redisson 4.7.0".
func version() string {
	libs, _ := filepath.Glob(filepath.Join(buildDir, "lib", "redisson-*.jar"))
	if len(libs) == 0 {
		return "no Redisson"
	}
	number := strings.TrimPrefix(filepath.Base(libs[0]), "redisson-")
	return "Redisson " + strings.TrimSuffix(number, ".jar")
}
