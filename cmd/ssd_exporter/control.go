package main

import (
	"time"

	"ssd_exporter/monitor/control"
)

// openControl opens the door for commands such as baseline and pause, apart from everything else: the disk of the state folder may
// hang. Without it the service goes on, and says so. The result closes it again.
func (s *service) openControl(stateDir string) (closeDoor func()) {
	opened := make(chan *control.Server, 1)
	go func() {
		c, err := control.Start(stateDir, s.monitor, s.log)
		if err != nil {
			s.log.Warn("control socket", "err", err)
			s.notes.add("There is " + err.Error() + ".")
		}
		opened <- c
	}()
	return func() {
		select {
		case c := <-opened:
			if c == nil {
				return
			}
			if err := c.Close(); err != nil {
				s.log.Debug("control socket", "err", err)
			}
		case <-time.After(stopServer):
		}
	}
}

// controlled asks the service of the state folder.
func (a *app) controlled() *control.Client { return control.NewClient(a.stateDir) }
