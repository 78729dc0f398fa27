package admin

import (
	"encoding/base64"
	"reflect"
)

// problemType is for the schemas of error responses.
var problemType = reflect.TypeFor[Problem]()

// A KeyPath is the path of one lock.
type KeyPath struct {
	Key      string `path:"key" doc:"The lock's key, percent-encoded." example:"order:42"`
	Encoding string `query:"encoding" enum:"percent,base64url" default:"percent" doc:"How the key in the path is encoded."`
}

// key returns the decoded key.
func (k *KeyPath) key() (string, error) { return decoded(k.Key, k.Encoding) }

// An IDPath is the path of one record.
type IDPath struct {
	ID       string `path:"id" doc:"The record's id from a list, percent-encoded." example:"order:9f86d081…"`
	Encoding string `query:"encoding" enum:"percent,base64url" default:"percent" doc:"How the id in the path is encoded."`
}

// id returns the decoded id.
func (i *IDPath) id() (string, error) { return decoded(i.ID, i.Encoding) }

// decoded returns a key from a path. The router has removed the percent-encoding already.
func decoded(text, encoding string) (string, error) {
	if encoding != "base64url" {
		return text, nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return "", problem(KeyInvalid, "the path is not base64url without padding: %v", err)
	}
	return string(raw), nil
}

// A ReasonBody is in the body of every change: the audit log records the reason.
type ReasonBody struct {
	Reason string `json:"reason" minLength:"1" maxLength:"500" doc:"The reason, for the audit log." example:"the host is gone"`
}
