package interlockhttp_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/interlockhttp"
)

// TestDraft sends the examples of draft-ietf-httpapi-idempotency-key-header-07 and checks
// the responses that the draft requires.
func TestDraft(t *testing.T) {
	const key = `"8e03978e-40d5-43dd-bc93-6894a57f9324"`
	s := open(t, kept, nil)
	first := s.post(key, "x").is(201, "order 1 of x")
	s.post(key, "x").replays(first)
	s.post(strings.Trim(key, `"`), "x").replays(first)
	if got := s.post(key, "x").header.Get("Idempotency-Key"); got != key {
		t.Errorf("Idempotency-Key of the response is %s, want %s", got, key)
	}
	missing := s.post("", "x", without("Idempotency-Key"))
	missing.problem(400, interlockhttp.KeyMissing)
	reused := s.post(key, "y")
	reused.problem(422, interlockhttp.KeyReused)
	for _, a := range []response{missing, reused} {
		if link := a.header.Get("Link"); !strings.Contains(link, `rel="describedby"; type="text/html"`) {
			t.Errorf("the Link field is %q, want describedby with text/html", link)
		}
	}
}

func TestKeys(t *testing.T) {
	long := strings.Repeat("k", 255)
	for name, c := range map[string]struct {
		edit edit
		same string // the same key in another form; "" if the key is refused
	}{
		"bare":                             {with("Idempotency-Key", "abc"), "abc"},
		"quoted":                           {with("Idempotency-Key", `"abc"`), "abc"},
		"with an escaped quotation mark":   {with("Idempotency-Key", `"a\"c"`), `"a\"c"`},
		"with a space, quoted":             {with("Idempotency-Key", `"a c"`), `"a c"`},
		"with parameters":                  {with("Idempotency-Key", `"abc";v=1; x="y;z";q`), "abc"},
		"of 255 bytes":                     {with("Idempotency-Key", long), long},
		"of 255 bytes, quoted":             {with("Idempotency-Key", `"`+long+`"`), long},
		"in an alias":                      {combine(without("Idempotency-Key"), with("Idempotent-Token", "abc")), "abc"},
		"in the X- alias":                  {combine(without("Idempotency-Key"), with("X-Idempotency-Key", "abc")), "abc"},
		"in two aliases, alike":            {combine(with("Idempotency-Key", `"abc"`), with("X-Idempotency-Key", "abc")), "abc"},
		"in two aliases, unlike":           {combine(with("Idempotency-Key", "abc"), with("X-Idempotency-Key", "abd")), ""},
		"twice":                            {with("Idempotency-Key", "abc", "abc"), ""},
		"a list":                           {with("Idempotency-Key", `"abc", "abd"`), ""},
		"a bare list":                      {with("Idempotency-Key", `abc,abd`), ""},
		"empty":                            {with("Idempotency-Key", ""), ""},
		"empty, quoted":                    {with("Idempotency-Key", `""`), ""},
		"of 256 bytes":                     {with("Idempotency-Key", long+"k"), ""},
		"of 256 bytes, quoted":             {with("Idempotency-Key", `"`+long+`k"`), ""},
		"with a space":                     {with("Idempotency-Key", "a c"), ""},
		"not closed":                       {with("Idempotency-Key", `"abc`), ""},
		"closed too early":                 {with("Idempotency-Key", `"abc"d`), ""},
		"with another escape":              {with("Idempotency-Key", `"a\nc"`), ""},
		"that ends in an escape":           {with("Idempotency-Key", `"abc\`), ""},
		"with bad parameters":              {with("Idempotency-Key", `"abc";=1`), ""},
		"with a parameter that is missing": {with("Idempotency-Key", `"abc";`), ""},
		"bare, with parameters":            {with("Idempotency-Key", "abc;v=1"), ""},
		"with a quotation mark inside":     {with("Idempotency-Key", `a"c`), ""},
		"with \\xff":                       {with("Idempotency-Key", "k\xff\xfe"), ""},
		"with \\xff, quoted":               {with("Idempotency-Key", "\"k\xff\""), ""},
		"in Chinese":                       {with("Idempotency-Key", "订单"), ""},
		"that proxies are told to remove":  {combine(with("Idempotency-Key", "abc"), with("Connection", "close, idempotency-key")), ""},
		"with a control byte":              {with("Idempotency-Key", "a\x01c"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, kept, nil)
			a := s.serve("", "x", c.edit)
			if c.same == "" {
				a.problem(400, interlockhttp.KeyInvalid)
				s.ran(0)
				return
			}
			a.is(201, "order 1 of x")
			if a.header.Get("Idempotency-Key") == "" {
				t.Error("the response does not repeat the key")
			}
			s.serve(c.same, "x").replays(a)
		})
	}
}

// combine returns an edit that applies several edits in order.
func combine(edits ...edit) edit {
	return func(r *http.Request) {
		for _, e := range edits {
			e(r)
		}
	}
}

func TestQuoted(t *testing.T) {
	s := open(t, kept, nil, interlockhttp.Quoted())
	if p := s.serve("abc", "x").problem(400, interlockhttp.KeyInvalid); !strings.Contains(p.Detail, " 1 to 255 visible") {
		t.Errorf("the detail for a bare key is %q, want the allowed length in it", p.Detail)
	}
	s.serve(`"abc"`, "x").is(201, "order 1 of x")
}

// TestAnonymous checks that a key which all users share must be hard to guess.
func TestAnonymous(t *testing.T) {
	s := open(t, guard.Policy{Scope: guard.Global}, nil)
	short := s.serve("123456789012345", "x").problem(400, interlockhttp.KeyInvalid)
	if !strings.Contains(short.Detail, "guess") || !strings.Contains(short.Detail, "16 to 255 visible") {
		t.Errorf("the detail for a short key is %q, want the allowed length and the reason in it", short.Detail)
	}
	first := s.serve("1234567890123456", "x", without("X-User"))
	s.serve("1234567890123456", "x", as("bob")).replays(first)

	s = open(t, guard.Policy{Scope: guard.Global}, nil, interlockhttp.MinKey(3))
	s.serve("12", "x").problem(400, interlockhttp.KeyInvalid)
	s.serve("123", "x").is(201, "order 1 of x")

	s = open(t, guard.Policy{Scope: guard.Global}, nil, interlockhttp.Key(interlockhttp.Header("My-Key")))
	s.serve("", "x", with("My-Key", "123")).problem(400, interlockhttp.KeyInvalid)
	s = open(t, guard.Policy{Scope: guard.Global}, nil, interlockhttp.Key(interlockhttp.Cookie("key")))
	s.serve("", "x", with("Cookie", "key=123")).problem(400, interlockhttp.KeyInvalid)
	s = open(t, guard.Policy{Scope: guard.Global}, nil, interlockhttp.Key(interlockhttp.JSONField("order"))) // the client does not choose such a key
	s.serve("", `{"order":7}`).is(201, `order 1 of {"order":7}`)
}

func TestSources(t *testing.T) {
	form := func(fields ...string) edit {
		return func(r *http.Request) {
			var b bytes.Buffer
			m := multipart.NewWriter(&b)
			for i := 0; i < len(fields); i += 2 {
				_ = m.WriteField(fields[i], fields[i+1])
			}
			_ = m.Close()
			body(b.String(), m.FormDataContentType())(r)
		}
	}
	uploaded := func(name string) edit { // a file of that name, and no field
		return body("--b\r\nContent-Disposition: form-data; name="+name+"; filename=a.txt\r\n\r\n1\r\n--b--\r\n", "multipart/form-data; boundary=b")
	}
	cut := body("--b\r\nContent-Disposition: form-data; name=id\r\n\r\n1\r\n--b\r\nContent-Disp", "multipart/form-data; boundary=b")
	encoded := func(text string) edit { return body(text, "application/x-www-form-urlencoded") }
	object := func(text string) edit { return body(text, "application/json") }
	nested := func(begin, end string, deep int) string {
		return strings.Repeat(begin, deep) + "1" + strings.Repeat(end, deep)
	}
	const order = `"order": {"items": [1, {"id": "b"}]}}`
	at := func(path string) edit { return func(r *http.Request) { r.URL.Path = path } }
	query := func(q string) edit { return func(r *http.Request) { r.URL.RawQuery = q } }

	for name, c := range map[string]struct {
		source  interlockhttp.Source
		good    edit // has a key
		other   edit // has another
		invalid []edit
		missing []edit
	}{
		"a cookie": {
			interlockhttp.Cookie("once"), with("Cookie", "a=b; once=k1"), with("Cookie", "once=k2"),
			[]edit{with("Cookie", "once=k1; once=k2"), with("Cookie", "once=a,b")}, []edit{with("Cookie", "a=b")}},
		"the path": {interlockhttp.PathValue("id"), at("/orders/订单1"), at("/orders/2"), []edit{at("/orders/a\x01b")}, nil},
		"the query": {
			interlockhttp.Query("id"), query("id=1&x=y"), query("id=2&x=y"),
			[]edit{query("id=1&id=2"), query("id=%00"), query("id=%ff"), query("id=1&x=%zz"), query("id=%zz"), query("id=" + strings.Repeat("x", 256))}, []edit{query("x=y"), query("id=")}},
		"a form": {
			interlockhttp.FormField("id"), encoded("id=1&x=y"), encoded("id=2&x=y"),
			[]edit{encoded("id=1&id=2"), encoded("id=%zz"), encoded("id=1&x=%zz")}, []edit{encoded("x=y"), object(`{"id": 1}`)}},
		"a multipart form": {
			interlockhttp.FormField("id"), form("id", "1", "x", "y"), form("id", "2", "x", "y"),
			[]edit{form("id", "1", "id", "2"), form("id", strings.Repeat("x", 300)), cut}, []edit{form("x", "y"), uploaded("id")}},
		"JSON": {
			interlockhttp.JSONField("order.items.1.id"), object(`{"order": {"items": [{"id": 1}, {"id": "a"}]}}`), object(`{"order": {"items": [{"id": 1}, {"id": 9007199254740993}]}}`),
			[]edit{
				object(`{"order": {"items": [1, {"id": "a", "id": "b"}]}}`), object(`{"order": {}, "order": {"items": [1, {"id": "a"}]}}`),
				object(`{"order": {"items": [1, {"id": "a"}]}} {}`), object(`{"order"`), object(strings.Repeat("[", 200)), object(``),
				object(`{"order": {"items": [1, {"id": "\ud800"}]}}`), object("{\"order\": {\"items\": [1, {\"id\": \"\xff\"}]}}"),
				object(`{"deep": ` + nested("[", "]", 100) + `, ` + order), object(`{"deep": ` + nested(`{"a":`, "}", 100) + `, ` + order),
			},
			[]edit{object(`{}`), object(`{"order": {"items": [1, {"id": null}]}}`), object(`{"order": {"items": [1, {"id": {}}]}}`), object(`[]`), object(`"order"`), object(`{"order": {"items": [1, {"id": ""}]}}`)}},
		"a header, in small letters": {
			interlockhttp.Header("order-id"), with("Order-Id", "k1"), with("Order-Id", "k2"), []edit{with("Order-Id", "k1", "k2")}, []edit{with("A", "b")}},
		"JSON, nested and with other numbers": {
			interlockhttp.JSONField("order.items.1.id"), object(`{"deep": ` + nested("[", "]", 99) + `, ` + order), object(`{"n": 1e999, "order": {"items": [1, {"id": "c"}]}}`), nil, nil},
		"a function": {
			interlockhttp.Func(func(r *http.Request) (string, error) {
				if r.Header.Get("A") == "bad" {
					return "", fmt.Errorf("bad")
				}
				return r.Header.Get("A"), nil
			}), with("A", "1"), with("A", "2"), []edit{with("A", "bad")}, []edit{with("B", "1")}},
		"two together": {
			interlockhttp.Each(interlockhttp.Query("a"), interlockhttp.Query("b")), query("a=1:1&b=2"), query("a=1&b=1:2"),
			[]edit{query("a=1&a=1&b=2")}, []edit{query("a=1"), query("b=1")}},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, guard.Policy{After: guard.Window, Window: 5 * time.Minute}, nil, interlockhttp.Key(c.source))
			if a := s.serve("", "", c.good); a.status != 201 {
				t.Errorf("the first request gets %d %s, want 201", a.status, a.body)
			}
			s.serve("", "", c.good).problem(429, interlockhttp.Duplicate)
			if a := s.serve("", "", c.other); a.status != 201 {
				t.Errorf("a request with another key gets %d %s, want 201", a.status, a.body)
			}
			for _, e := range c.invalid {
				s.serve("", "", e).problem(400, interlockhttp.KeyInvalid)
			}
			for _, e := range c.missing {
				s.serve("", "", e).problem(400, interlockhttp.KeyMissing)
			}
			s.ran(2)
		})
	}
}

// TestParametersThatProgramsReadDifferently checks that a request is refused if a handler
// could read another value than the key's. Such a request would lock one order and pay
// another.
func TestParametersThatProgramsReadDifferently(t *testing.T) {
	const form, parts = "application/x-www-form-urlencoded", "multipart/form-data; boundary=b"
	query := func(q string) edit { return func(r *http.Request) { r.URL.RawQuery = q } }
	part := func(header, value string) string {
		return "--b\r\nContent-Disposition: form-data; " + header + "\r\n\r\n" + value + "\r\n"
	}
	compressed := func(r *http.Request) {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		z.Comment = "&order=1&" // the header of gzip is not compressed
		_, _ = z.Write([]byte("order=2"))
		_ = z.Close()
		body(b.String(), form)(r)
		r.Header.Set("Content-Encoding", "gzip")
	}
	for name, c := range map[string]struct {
		source interlockhttp.Source
		edit   edit
		ok     bool
	}{
		"ASP.NET reads Order in the query":           {interlockhttp.Query("order"), query("Order=2&order=1"), false},
		"PHP removes a space before a name":          {interlockhttp.Query("order"), query("order=1&+order=2"), false},
		"PHP ends a name at a NUL":                   {interlockhttp.Query("order"), query("order=1&order%00x=2"), false},
		"PHP reads a dot as an underscore":           {interlockhttp.Query("order_id"), query("order_id=1&order.id=2"), false},
		"PHP reads order[] as order":                 {interlockhttp.Query("order"), query("order=1&order[]=2"), false},
		"only a name in another case":                {interlockhttp.Query("order"), query("ORDER=1"), false},
		"other names in a query":                     {interlockhttp.Query("order"), query("order=1&orders=2&order_id=3"), true},
		"other fields of the same array":             {interlockhttp.Query("order[id]"), query("order[id]=1&order[note]=2&order=3"), true},
		"ASP.NET reads Order in a form":              {interlockhttp.FormField("order"), body("Order=2&order=1", form), false},
		"PHP removes a space in a form":              {interlockhttp.BodyField("order"), body("order=1&+order=2", form), false},
		"a part with a name in another case":         {interlockhttp.FormField("order"), body(part("name=order", "1")+part("name=ORDER", "2")+"--b--\r\n", parts), false},
		"a part whose name Go cannot read":           {interlockhttp.FormField("order"), body(part("name=order", "1")+part("name=order x", "2")+"--b--\r\n", parts), false},
		"a part that only Go decodes":                {interlockhttp.FormField("order"), body(part("name=order\r\nContent-Transfer-Encoding: quoted-printable", "4=\r\n2")+"--b--\r\n", parts), false},
		"a part that is marked as not encoded":       {interlockhttp.FormField("order"), body(part("name=order\r\nContent-Transfer-Encoding: 8bit", "42")+"--b--\r\n", parts), true},
		"an encoded part that is not the key":        {interlockhttp.FormField("order"), body(part("name=order", "1")+part("name=note\r\nContent-Transfer-Encoding: base64", "eA==")+"--b--\r\n", parts), true},
		"a file whose name is in another case":       {interlockhttp.FormField("order"), body(part("name=order", "1")+part("name=Order; filename=a.txt", "2")+"--b--\r\n", parts), true},
		"a compressed form that is also a plain one": {interlockhttp.BodyField("order"), compressed, false},
		"a form in UTF-16":                           {interlockhttp.BodyField("order"), body("order=1&%00o%00r%00d%00e%00r=%002", form+"; charset=UTF-16BE"), false},
		"a form in UTF-7":                            {interlockhttp.FormField("order"), body("order=1&%2BAG8-rder=2", form+"; charset=utf-7"), false},
		"JSON in UTF-7":                              {interlockhttp.JSONField("order"), body(`{"order":1,"+AG8-rder":2}`, "application/json; charset=utf-7"), false},
		"JSON in UTF-8":                              {interlockhttp.JSONField("order"), body(`{"order":1}`, "application/json; charset=UTF-8"), true},
		"a form in ISO 8859-1":                       {interlockhttp.FormField("order"), body("order=1", form+"; charset=ISO-8859-1"), true},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, kept, nil, interlockhttp.Key(c.source))
			a := s.serve("", "", c.edit)
			if !c.ok {
				a.problem(400, interlockhttp.KeyInvalid)
				s.ran(0)
			} else if a.status != 201 {
				t.Errorf("the response is %d %s, want 201", a.status, a.body)
			}
		})
	}
}

// TestSourcesThatReadTheBody checks that sources leave the body to the handler, and use a
// form that an outer middleware parsed.
func TestSourcesThatReadTheBody(t *testing.T) {
	const form = "application/x-www-form-urlencoded"
	read := interlockhttp.Func(func(r *http.Request) (string, error) {
		text, err := io.ReadAll(r.Body)
		return string(text), err
	})
	t.Run("a function", func(t *testing.T) {
		s := open(t, kept, nil, interlockhttp.Key(read))
		s.serve("", "x").is(201, "order 1 of x")
		s.serve("", "y").is(201, "order 2 of y")
	})
	t.Run("two functions", func(t *testing.T) {
		s := open(t, kept, nil, interlockhttp.Key(interlockhttp.Each(read, read)))
		s.serve("", "x").is(201, "order 1 of x")
	})
	t.Run("a function that fails", func(t *testing.T) {
		fails := interlockhttp.Func(func(*http.Request) (string, error) { return "half", io.ErrUnexpectedEOF })
		s := open(t, kept, nil, interlockhttp.Key(fails))
		s.serve("", "x").problem(400, interlockhttp.KeyInvalid)
		s.ran(0)
	})
	t.Run("a form that an outer middleware parsed", func(t *testing.T) {
		s := open(t, kept, nil, interlockhttp.Key(interlockhttp.FormField("id")))
		r := s.request("", "", body("id=1&n=2", form))
		if err := r.ParseForm(); err != nil {
			t.Fatal(err)
		}
		w := httptest.NewRecorder()
		if s.mux.ServeHTTP(w, r); w.Code != 201 {
			t.Errorf("the response is %d %s, want 201", w.Code, w.Body)
		}
	})
}

// TestProblemsNameTheKeyLocation checks that a problem names the place where the route
// looks for the key.
func TestProblemsNameTheKeyLocation(t *testing.T) {
	tokens, err := guard.NewTokens(time.Hour, []byte("0123456789abcdef"))
	if err != nil {
		t.Fatal(err)
	}
	first := func(_ *http.Request, parts []string) (string, error) { return parts[0], nil }
	for name, c := range map[string]struct {
		opt    interlockhttp.Option
		en, zh string
	}{
		"the header":     {interlockhttp.Key(interlockhttp.Header()), "an Idempotency-Key header: a new key", "请求头 Idempotency-Key 中"},
		"another header": {interlockhttp.Key(interlockhttp.Header("Pay-Key")), "a Pay-Key header: a new key", "请求头 Pay-Key 中"},
		"a joined key": {interlockhttp.Key(interlockhttp.Join(first, interlockhttp.Header("Pay-Key"))),
			"a Pay-Key header: a new key", "请求头 Pay-Key 中"},
		"a cookie":  {interlockhttp.Key(interlockhttp.Cookie("once")), "it lacks the cookie once", "缺少 Cookie once"},
		"the path":  {interlockhttp.Key(interlockhttp.PathValue("id")), "it lacks {id} in the path", "缺少路径中的 {id}"},
		"the query": {interlockhttp.Key(interlockhttp.Query("id")), "it lacks id in the query", "缺少查询串中的 id"},
		"a form":    {interlockhttp.Key(interlockhttp.FormField("id")), "it lacks id in the form", "缺少表单中的 id"},
		"JSON":      {interlockhttp.Key(interlockhttp.JSONField("order.id")), "it lacks order.id in the body", "缺少请求体中的 order.id"},
		"a function": {interlockhttp.Key(interlockhttp.Func(func(*http.Request) (string, error) { return "", nil })),
			"it lacks a key", "缺少键"},
		"two": {interlockhttp.Key(interlockhttp.Each(interlockhttp.Header("Shop"), interlockhttp.Query("id"))),
			"it lacks the header Shop and id in the query", "缺少请求头 Shop 和查询串中的 id"},
		"a token": {interlockhttp.WithTokens(tokens, "pay"), "to get a token, then submit again", "刷新页面获取令牌"},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, kept, nil, c.opt)
			for language, want := range map[string]string{"en": c.en, "zh-CN": c.zh} {
				p := s.serve("", "{}", without("Idempotency-Key"), with("Accept-Language", language)).problem(400, interlockhttp.KeyMissing)
				if !strings.Contains(p.Detail, want) {
					t.Errorf("the detail is %q, want %q in it", p.Detail, want)
				}
			}
			s.ran(0)
		})
	}
	t.Run("a malformed key", func(t *testing.T) {
		s := open(t, kept, nil, interlockhttp.Key(interlockhttp.JSONField("order.id")))
		for language, want := range map[string]string{"en": "order.id in the body is malformed", "zh": "请求体中的 order.id 无法解析"} {
			p := s.serve("", "{", without("Idempotency-Key"), with("Accept-Language", language)).problem(400, interlockhttp.KeyInvalid)
			if !strings.Contains(p.Detail, want) {
				t.Errorf("the detail is %q, want %q in it", p.Detail, want)
			}
		}
	})
	t.Run("a lock", func(t *testing.T) {
		wrap, err := interlockhttp.Lock(interlock.New(nil), "pay", interlockhttp.Query("id"))
		if err != nil {
			t.Fatal(err)
		}
		w := httptest.NewRecorder()
		wrap(http.NotFoundHandler()).ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", http.NoBody))
		p := read(t, w.Result()).problem(400, interlockhttp.KeyMissing)
		if !strings.Contains(p.Detail, "it lacks id in the query") {
			t.Errorf("the detail is %q", p.Detail)
		}
	})
	t.Run("the service's own message takes precedence", func(t *testing.T) {
		s := open(t, kept, nil, interlockhttp.Key(interlockhttp.Query("id")), interlockhttp.Message(interlockhttp.KeyMissing, guard.Message{"en": "which?"}))
		if p := s.serve("", "", without("Idempotency-Key")).problem(400, interlockhttp.KeyMissing); p.Detail != "which?" {
			t.Errorf("the detail is %q", p.Detail)
		}
	})
}

// body replaces the body of a request.
func body(text, kind string) edit {
	return func(r *http.Request) {
		fresh, _ := http.NewRequest(r.Method, r.URL.String(), strings.NewReader(text)) //nolint:noctx // only its body is used
		r.Body, r.ContentLength, r.GetBody = fresh.Body, fresh.ContentLength, fresh.GetBody
		r.Header.Set("Content-Type", kind)
	}
}
