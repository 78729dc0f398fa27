package admin_test

import (
	"net/http"
	"testing"

	"github.com/interlock-go/interlock/gateway/admin"
)

func conforms(t *testing.T, api *admin.Server, method, path string, resp *http.Response, text []byte) {
}
