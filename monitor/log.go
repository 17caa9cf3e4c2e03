package monitor

import (
	"context"
	"log/slog"
	"strings"

	"ssd_exporter/engine"
	"ssd_exporter/monitor/history"
	"ssd_exporter/smart"
)

// What is logged: at WARN only what somebody should act on, once when it comes and not again while it stays the same; what is
// normal life on a host that works (a busy disk, a contended run, a skipped one) at INFO once per change, or at DEBUG when it comes
// and goes by the minute. The metrics count it all.

// note says something about the host, or takes it back with "". Monitor.mu is held.
func (m *Monitor) note(about, text string) { m.noteAt(slog.LevelWarn, about, text) }

// remark is a note that nobody needs to act on.
func (m *Monitor) remark(about, text string) { m.noteAt(slog.LevelInfo, about, text) }

func (m *Monitor) noteAt(level slog.Level, about, text string) {
	m.logChange(level, "note", about, withoutFigures(m.notes[about]), withoutFigures(text), text)
	m.notes[about] = text
}

// withoutFigures is what stays of a text whose ages and counts move: a change of these alone is not worth a line in the log.
func withoutFigures(text string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r == '.' {
			return -1
		}
		return r
	}, text)
}

// logChange logs a problem that came, changed its kind, or went (""), which is worth INFO at most.
func (m *Monitor) logChange(level slog.Level, doing, what, before, now, text string) {
	switch {
	case before == now:
	case now == "":
		m.log.Log(context.Background(), min(level, slog.LevelInfo), doing+": works again", "what", what)
	default:
		m.log.Log(context.Background(), level, doing, "what", what, "problem", text)
	}
}

// level is how much a reason to skip matters to people.
func (s Skip) level() slog.Level {
	switch s {
	case SkipBusy:
		return slog.LevelDebug
	case SkipRebuilding, SkipAsleep, SkipBattery, SkipBudget, SkipQuiet, SkipPaused:
		return slog.LevelInfo
	default:
		return slog.LevelWarn
	}
}

// readLevel is how much a failed read matters: nobody can teach a disk what it does not support.
func readLevel(r smart.Reason) slog.Level {
	if r == smart.Unsupported {
		return slog.LevelInfo
	}
	return slog.LevelWarn
}

// runLevel is how much it matters how a run ended.
func runLevel(r *history.Run) slog.Level {
	normal := map[history.Outcome]map[string]bool{
		history.Aborted: {string(AbortForeignIO): true, string(AbortShutdown): true, string(AbortOther): true},
		history.Invalid: {string(engine.InvalidIssueLag): true, string(engine.InvalidFewSamples): true},
	}
	if r.Measured() || normal[r.Outcome][r.Reason] || r.Outcome == history.Stuck { // child has logged what hangs
		return slog.LevelDebug
	}
	return slog.LevelWarn
}

// logRun logs a run, and at WARN only when a workload begins to fail in a way that somebody should look at. Monitor.mu is held.
func (w *workload) logRun(m *Monitor, r *history.Run) {
	level, trouble := runLevel(r), ""
	if level == slog.LevelWarn {
		trouble = string(r.Outcome) + " " + r.Reason
	}
	about := []any{"target", r.Target, "workload", r.Workload, "outcome", r.Outcome, "reason", r.Reason, "detail", r.Detail, "took", r.Duration}
	switch {
	case trouble != "" && trouble != w.trouble:
		m.log.Warn("probe", about...)
	case trouble == "" && w.trouble != "" && r.Measured():
		m.log.Info("probe: works again", "target", r.Target, "workload", r.Workload)
	default:
		m.log.Debug("probe", about...)
	}
	if trouble != "" || r.Measured() {
		w.trouble = trouble
	}
}

// cronLogger sends cron's words to slog; what it says of every entry is for debugging only.
type cronLogger struct{ log *slog.Logger }

func (l cronLogger) Info(msg string, kv ...any) { l.log.Debug("schedule: "+msg, kv...) }

func (l cronLogger) Error(err error, msg string, kv ...any) {
	l.log.Error("schedule: "+msg, append([]any{"err", err}, kv...)...)
}
