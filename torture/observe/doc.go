// Package observe tests the files in deploy with real programs: Prometheus scrapes a program
// under load while its Redis stops, and Alertmanager sends the alerts by e-mail and DingTalk.
package observe
