// Package consumers kills consumers of messages and counts the effect of each message. The
// brokers are Redis Streams, through Watermill, and a NATS server in a process of its own.
package consumers
