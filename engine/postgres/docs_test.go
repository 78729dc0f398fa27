package postgres_test

import (
	"os"
	"strings"
	"testing"
)

// documentedGrants returns the statements that docs/postgres.md lists for the user app.
func documentedGrants(t testing.TB) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/postgres.md")
	if err != nil {
		t.Fatal(err)
	}
	_, after, found := strings.Cut(string(page), "```sql\n")
	statements, _, closed := strings.Cut(after, "```")
	if !found || !closed || !strings.Contains(statements, "GRANT") {
		t.Fatal("docs/postgres.md has no block of grants")
	}
	return statements
}
