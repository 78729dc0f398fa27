package main

// httpAnswerMutants are bugs in what is heard of an answer, kept of it and told again.
var httpAnswerMutants = []notice{}
