package main

// httpAskMutants are bugs in what is heard of a request: its key, its user, its body,
// and what it is for.
var httpAskMutants = []notice{
	{"interlockhttp.TestBody", []mutant{
		{"body-half-is-whole", "interlockhttp/body.go", "		case err == io.EOF: ", "		case errors.Is(err, io.EOF): ", "what unpacks it breaks off, and the handler runs on half an order"},
	}},
}
