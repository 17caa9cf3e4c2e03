// Package endtoend proves the main job with the real things: the built binary probes a real folder on a real disk and
// reads S.M.A.R.T. reports, Debian's prometheus scrapes it in every format, and PromQL finds the figures; it goes on
// over kill -9 and restarts. It has tests only.
package endtoend
