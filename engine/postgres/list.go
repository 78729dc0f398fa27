package postgres

import (
	"encoding/hex"
	"fmt"

	"github.com/interlock-go/interlock/engine"
)

// scanPage is how many rows one call of List looks at: few enough that it answers within
// milliseconds, whatever the pattern.
const scanPage = 2000

// pageSQL returns the statement that looks at one page of a table, in the order of its IDs.
// Its first columns are the last ID of the page and whether the page was full; the rest are
// null if no row of the page matches.
func (e *Engine) pageSQL(table, columns string) string {
	return fmt.Sprintf(`WITH page AS MATERIALIZED (SELECT * FROM %[1]s.%[2]s WHERE id > $1 ORDER BY id LIMIT $3),
last AS (SELECT (SELECT id FROM page ORDER BY id DESC LIMIT 1) AS id, (SELECT count(*) FROM page) = $3 AS full),
now AS MATERIALIZED (SELECT %[1]s.clock() AS t)
SELECT coalesce(last.id, ''), last.full, %[3]s FROM last CROSS JOIN now LEFT JOIN page x ON x.expires > now.t AND x.key LIKE $2`,
		e.schema, table, columns)
}

// A page is the position in a list.
type page struct {
	last []byte
	full bool
}

// next returns the cursor after the page, or "" after the last one.
func (p *page) next() string {
	if !p.full {
		return ""
	}
	return hex.EncodeToString(p.last)
}

// after returns the ID that a cursor stands for.
func after(cursor string) ([]byte, error) {
	id, err := hex.DecodeString(cursor)
	if err != nil {
		return nil, fmt.Errorf("postgres: unknown cursor %q: begin with an empty one", cursor)
	}
	return append([]byte{}, id...), nil // not nil, which would be NULL
}

// like translates a pattern of package engine to LIKE, byte by byte.
func like(pattern string) []byte {
	b := make([]byte, 0, len(pattern)+8)
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case c == '*':
			b = append(b, '%')
		case c == '?':
			b = append(b, '_')
		case c == '\\' && i+1 < len(pattern):
			i++
			b = append(b, '\\', pattern[i])
		case c == '\\' || c == '%' || c == '_':
			b = append(b, '\\', c)
		default:
			b = append(b, c)
		}
	}
	return b
}

// matches repeats the comparison of the server by the rules of package engine.
func matches(pattern string, key []byte) bool { return engine.Match(pattern, string(key)) }
