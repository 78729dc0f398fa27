// Package woven tests a program whose locks and guards are directives only. It contains
// tests only; the program is in directory shop.
package woven
