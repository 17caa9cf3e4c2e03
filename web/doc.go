// Package web serves the status page, health and readiness, and lifecycle endpoints. Everything is rendered on the server, needs no
// JavaScript and asks nothing of other hosts; every string that a disk or a file supplied is escaped.
package web
