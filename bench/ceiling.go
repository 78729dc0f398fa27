package main

import (
	"context"
	"encoding/csv"
	"fmt"
	"net"
	"os/exec"
	"strconv"
	"strings"
)

// A ceiling is the server's highest rate for our two scripts, measured by redis-benchmark
// with 64 calls in each pipeline.
type ceiling struct {
	server  *server
	scripts *scripts // for a key that ends in redis-benchmark's random number

	acquires, releases, rate []float64 // per second
	ratio                    []float64 // to redsync, round by round
	hits                     []float64 // the share of releases that found a lock
}

const (
	// randPlaceholder is the text that redis-benchmark replaces with twelve digits.
	randPlaceholder = "__rand_int__"

	// A release chooses its key at random, so some keys are chosen twice. prepare creates
	// eight locks for each release, so that 94 % of the releases find a lock.
	keysPerRelease = 8
)

// measure runs each script n times.
func (c *ceiling) measure(ctx context.Context, n int) error {
	defer c.server.control.FlushAll(ctx)
	acquires, err := c.run(ctx, c.scripts.acquire, n, 1_000_000_000) // so many that no key repeats
	if err != nil {
		return err
	}
	keys := n * keysPerRelease
	if err := c.prepare(ctx, keys); err != nil {
		return err
	}
	before, err := c.server.readUsage(ctx)
	if err != nil {
		return err
	}
	releases, err := c.run(ctx, c.scripts.release, n, keys)
	if err != nil {
		return err
	}
	after, err := c.server.readUsage(ctx)
	if err != nil {
		return err
	}
	hits := after.commands["del"] - before.commands["del"]
	c.hits = append(c.hits, float64(hits)/float64(n))
	c.acquires = append(c.acquires, acquires)
	c.releases = append(c.releases, releases)
	c.rate = append(c.rate, 1/(1/acquires+1/releases))
	return nil
}

// prepare creates the locks for the releases.
func (c *ceiling) prepare(ctx context.Context, keys int) error {
	const text = `
		for i = tonumber(ARGV[1]), tonumber(ARGV[2]) do
			redis.call('HSET', string.gsub(KEYS[1], '__rand_int__', string.format('%012d', i)), ARGV[3], 1, 'fence:' .. ARGV[4], 1)
		end
		return 1`
	control := c.server.control
	if err := control.FlushAll(ctx).Err(); err != nil {
		return err
	}
	const chunk = 10_000 // keys per call: a longer script would block the server
	for first := 0; first < keys; first += chunk {
		err := control.Eval(ctx, text, c.scripts.acquire.keys[:1], first, min(first+chunk, keys)-1,
			c.scripts.holder, c.scripts.attempt).Err()
		if err != nil {
			return err
		}
	}
	return nil
}

// run lets redis-benchmark make n calls on random keys.
func (c *ceiling) run(ctx context.Context, call capturedCall, n, keys int) (perSecond float64, err error) {
	if err := c.server.control.ScriptLoad(ctx, call.text).Err(); err != nil {
		return 0, err
	}
	host, port, err := net.SplitHostPort(c.server.addr)
	if err != nil {
		return 0, err
	}
	args := []string{
		"-h", host, "-p", port, "-c", "50", "-P", "64", "--csv",
		"-n", strconv.Itoa(n), "-r", strconv.Itoa(keys),
		"EVALSHA", call.sha, strconv.Itoa(len(call.keys)),
	}
	args = append(append(args, call.keys...), call.args...)
	out, err := exec.CommandContext(ctx, "redis-benchmark", args...).Output()
	if err != nil {
		return 0, fmt.Errorf("redis-benchmark: %w", err)
	}
	records, err := csv.NewReader(strings.NewReader(string(out))).ReadAll()
	if err != nil || len(records) < 2 || len(records[1]) < 2 {
		return 0, fmt.Errorf("redis-benchmark printed %q: %w", out, err)
	}
	return strconv.ParseFloat(records[1][1], 64)
}
