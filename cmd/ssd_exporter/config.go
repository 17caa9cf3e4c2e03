package main

import (
	"context"
	"fmt"
)

// addConfig adds "config check", "config generate" and "config show".
func (a *app) addConfig() {
	c := a.kingpin.Command("config", "Look at the configuration, or begin one.")

	var file string
	check := c.Command("check", "Say what is wrong with a configuration file, by line; ends with 2 when something is.")
	check.Arg("FILE", "The file; --config.file when left out, the defaults when neither is given.").StringVar(&file)
	a.add(check, func(context.Context) error { return a.configCheck(file) })

	var output string
	var force bool
	generate := c.Command("generate", "Print a commented configuration for this host: a target for each mounted file system on an SSD.")
	generate.Flag("output", "Write it to this file, which must not exist yet.").PlaceHolder("FILE").StringVar(&output)
	generate.Flag("force", "Replace the file if it exists.").BoolVar(&force)
	a.add(generate, func(context.Context) error { return a.configGenerate(output, force) })

	show := c.Command("show", "Print the effective configuration, every default spelled out.")
	a.add(show, func(context.Context) error { return a.configShow() })
}

func (a *app) configCheck(file string) error {
	if file == "" {
		file = a.configFile
	}
	c, err := a.loadConfig(file)
	if err != nil {
		return err
	}
	if _, err := c.Options(a.stateDir); err != nil {
		return exitf(exitUsage, "%s: %w", orDefault(file), err)
	}
	_, err = fmt.Fprintf(a.stdout, "%s: good; targets: %d, S.M.A.R.T. files: %d, endurance ratings: %d\n",
		orDefault(file), len(c.Targets), len(c.Smart.Files), len(c.Endurance.Ratings))
	return err
}

func (a *app) configShow() error {
	c, err := a.loadConfig(a.configFile)
	if err != nil {
		return err
	}
	_, err = a.stdout.Write(c.YAML())
	return err
}

func orDefault(file string) string {
	if file == "" {
		return "the default configuration"
	}
	return file
}
