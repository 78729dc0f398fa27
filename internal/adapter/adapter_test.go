package adapter

import "testing"

func TestPattern(t *testing.T) {
	for route, want := range map[string]string{
		"/orders":                    "/orders",
		"/orders/:id":                "/orders/{id}",
		"/orders/:user-id/pay":       "/orders/{user-id}/pay",
		"/orders/:id?":               "/orders/{id}",
		"/orders/:id<int>/pay":       "/orders/{id}/pay",
		"/files/*path":               "/files/{path...}",
		"/files/+":                   "/files/{path...}",
		"/flights/:from-:to":         "/flights/:from-:to",
		`/orders/:id\:cancel`:        `/orders/:id\:cancel`,
		`/orders/:id\:refund`:        `/orders/:id\:refund`,
		"/users/:user/orders/:order": "/users/{user}/orders/{order}",
	} {
		if got := Pattern(route); got != want {
			t.Errorf("%s: got %s, want %s", route, got, want)
		}
	}
}
