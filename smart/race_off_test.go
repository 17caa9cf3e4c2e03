//go:build !race

package smart

// corpusStep takes every report of the corpus.
const corpusStep = 1
