// Package checks is what the programs of all Go clients share: the servers' addresses and keys, and the line for each check.
package checks

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
)

var (
	URL          = os.Getenv("SIGNALBOX_URL")
	Key          = os.Getenv("SIGNALBOX_KEY")
	UncountedKey = os.Getenv("UNCOUNTED_KEY")
	EmptyKey     = os.Getenv("EMPTY_KEY")
	FaultyURL    = os.Getenv("FAULTY_URL")
	FaultyKey    = os.Getenv("FAULTY_KEY")
)

// Usage is the usage of one call with Key, as the client showed it. Credits is nil where the client does not show them.
type Usage struct {
	Input   int64    `json:"input"`
	Output  int64    `json:"output"`
	Credits *float64 `json:"credits,omitempty"`
}

// Platform is a part of the object `platform` of an answer.
type Platform struct {
	RoutedModel string   `json:"routed_model"`
	DecisionID  string   `json:"decision_id"`
	Credits     *float64 `json:"credits_consumed"`
}

// PlatformIn reads the object `platform`.
func PlatformIn(raw string) Platform {
	var platform Platform
	Must(0, json.Unmarshal([]byte(raw), &platform))
	Expect(platform.Credits != nil, "platform has no credits_consumed: ", raw)
	return platform
}

var failed = false

// Check runs a check at once, and prints its line.
func Check(name string, run func() []Usage) {
	defer func() {
		if reason := recover(); reason != nil {
			failed = true
			fmt.Fprintf(os.Stderr, "%s: %v\n%s\n", name, reason, debug.Stack())
		}
	}()
	usage := run()
	if usage == nil {
		usage = []Usage{}
	}
	line := Must(json.Marshal(struct {
		Check string  `json:"check"`
		Usage []Usage `json:"usage"`
	}{name, usage}))
	fmt.Println(string(line))
}

// Must returns the value of a call that may not fail.
func Must[T any](value T, err error) T {
	if err == nil {
		return value
	}
	// OpenAI's and Anthropic's errors do not show the body of the answer in their text.
	if answer, ok := err.(interface{ RawJSON() string }); ok {
		panic(fmt.Sprintf("%v: %s", err, answer.RawJSON()))
	}
	panic(err)
}

// Expect stops the check if a condition does not hold.
func Expect(holds bool, what ...any) {
	if !holds {
		panic(fmt.Sprint(what...))
	}
}

// ErrorIn is the error of the type T that a call must return.
func ErrorIn[T error](err error) T {
	var found T
	Expect(errors.As(err, &found), fmt.Sprintf("the error is %T: %v", err, err))
	return found
}

// Finish ends the program: with 1 if a check failed.
func Finish() {
	if failed {
		os.Exit(1)
	}
}
