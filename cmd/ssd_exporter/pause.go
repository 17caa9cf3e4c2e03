package main

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/common/model"
)

// addPause adds "pause" and "resume", which ask the running service.
func (a *app) addPause() {
	var long string
	pause := a.kingpin.Command("pause", "Have the running service start no probe for a while, as for maintenance. It goes on reading S.M.A.R.T., and the pause holds over restarts.")
	pause.Flag("for", "How long, such as 30m, 2h or 7d; 30d at most.").Default("1h").StringVar(&long)
	a.add(pause, func(ctx context.Context) error { return a.pause(ctx, long) })

	resume := a.kingpin.Command("resume", "End a pause.")
	a.add(resume, a.resume)
}

func (a *app) pause(ctx context.Context, long string) error {
	d, err := model.ParseDuration(long)
	if err != nil {
		return exitf(exitUsage, "--for=%s is not a duration; accepted: numbers and units from large to small, such as 30m, 2h or 7d", long)
	}
	until, err := a.controlled().Pause(ctx, time.Duration(d))
	if err != nil {
		return fmt.Errorf("pause: %w", err)
	}
	_, err = fmt.Fprintf(a.stdout, "No probe starts before %s UTC; \"ssd_exporter resume\" ends that earlier.\n", until.UTC().Format(time.DateTime))
	return err
}

func (a *app) resume(ctx context.Context) error {
	was, err := a.controlled().Resume(ctx)
	if err != nil {
		return fmt.Errorf("resume: %w", err)
	}
	text := "Probing goes on."
	if !was {
		text = "Probing was not paused."
	}
	_, err = fmt.Fprintln(a.stdout, text)
	return err
}
