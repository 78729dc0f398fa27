// Package woven holds what is tested of a program whose locks and guards are
// directives, and nothing else. It is never imported; the program is in shop.
package woven
