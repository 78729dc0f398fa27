package postgres

import (
	"context"
	"encoding/hex"
	"errors"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// readEscaped lets a connection read both text formats of bytea. Package pgx reads only that
// of bytea_output=hex, the default of the server, and gets text if no statement is prepared.
func readEscaped(_ context.Context, conn *pgx.Conn) error {
	one := &pgtype.Type{Name: "bytea", OID: pgtype.ByteaOID, Codec: byteaCodec{}}
	conn.TypeMap().RegisterType(one)
	conn.TypeMap().RegisterType(&pgtype.Type{Name: "_bytea", OID: pgtype.ByteaArrayOID, Codec: &pgtype.ArrayCodec{ElementType: one}})
	return nil
}

// byteaCodec is the codec of package pgx, except for texts.
type byteaCodec struct{ pgtype.ByteaCodec }

// PlanScan implements [pgtype.Codec].
func (c byteaCodec) PlanScan(m *pgtype.Map, oid uint32, format int16, target any) pgtype.ScanPlan {
	if _, ok := target.(*[]byte); ok && format == pgtype.TextFormatCode {
		return scanText{}
	}
	return c.ByteaCodec.PlanScan(m, oid, format, target)
}

// scanText reads a bytea from text.
type scanText struct{}

// Scan implements [pgtype.ScanPlan].
func (scanText) Scan(src []byte, target any) error {
	into := target.(*[]byte) // see PlanScan
	if src == nil {
		*into = nil
		return nil
	}
	var err error
	if digits, ok := strings.CutPrefix(string(src), `\x`); ok {
		*into, err = hex.DecodeString(digits)
	} else {
		*into, err = unescapeBytes(src)
	}
	return err
}

var errEscape = errors.New("postgres: a bytea has an incomplete escape")

// unescapeBytes reads the format of bytea_output=escape: a backslash is doubled, and other
// bytes may be a backslash with three octal digits.
func unescapeBytes(src []byte) ([]byte, error) {
	b := make([]byte, 0, len(src))
	for i := 0; i < len(src); i++ {
		switch rest := src[i+1:]; {
		case src[i] != '\\':
			b = append(b, src[i])
		case len(rest) > 0 && rest[0] == '\\':
			b = append(b, '\\')
			i++
		case len(rest) < 3:
			return nil, errEscape
		default:
			b = append(b, (rest[0]-'0')<<6|(rest[1]-'0')<<3|(rest[2]-'0'))
			i += 3
		}
	}
	return b, nil
}
