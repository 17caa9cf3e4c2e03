package main

import (
	"context"
	"errors"
	"io"
)

func runScrape(context.Context, []string, io.Writer) error { return errors.New("not yet") }
