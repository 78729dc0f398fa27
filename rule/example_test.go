package rule_test

import (
	"fmt"

	"github.com/interlock-go/interlock/rule"
)

func Example() {
	r, errs := rule.ParseLine("lock name=pay wait=180s key=req.OrderNo")
	fmt.Println(r, errs.Err())

	_, errs = rule.ParseLine("lock kye=req.OrderNo wait=3sec")
	fmt.Println(errs)
	// Output:
	// lock name=pay key=req.OrderNo wait=3m <nil>
	// 1:6: unknown option "kye" (did you mean key?)
	// 1:27: wait=3sec is not a duration: use 3s, 500ms, 2m
}

func ExampleTemplate() {
	key, err := rule.ParseTemplate("pay:{path.id}", rule.Pos{Line: 1, Col: 1})
	if err != nil {
		panic(err)
	}
	fmt.Println(key.Key(request{"path.id": "42"}))
	fmt.Println(key.Key(request{"path.id": ""}))
	// Output:
	// pay:42 <nil>
	//  rule: the key needs the path "id", exactly once and not empty; correct the request
}
