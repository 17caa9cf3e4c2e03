// Package ledger is the account of what this program wrote to each physical disk, and the brake on it.
//
// One small file per disk in <state>/ledger, shared by the service and by commands run by hand, guarded by flock and
// updated in place in two CRC'd slots, never renamed (rename under flock loses updates). It promises:
//
//   - A charge is on disk (fdatasync) before the bytes it pays for are written. A crash at any moment keeps it.
//   - The allowance is a bucket of bytes_per_day that refills evenly over 24 hours. A clock that went back refills
//     nothing, and no time that it goes through twice by jumps; a jump forward refills one day at most.
//   - A disk seen for the first time starts with a quarter of a day's allowance, so that an exporter restarted in a loop
//     on a throw-away state folder cannot spend a day's allowance at each start. A record that was lost (both slots
//     bad) restarts empty.
//   - The one-time fill has its own allowance: the file's size once per target and 30 days. A fill that was cut short
//     (its reservation settled below its size, or its process died) may be continued, but after three deaths no more;
//     every attempt is charged in full until it is settled.
//   - What is told as written never falls: a reservation counts once it is settled, or once its process is known to
//     be dead (then in full). Whoever opens the ledger while nobody else has it open books what the dead left: every
//     process holds <state>/ledger/users.lock, shared, for as long as it has the ledger open.
//   - Nothing waits longer than two seconds for another process's lock. What cannot be read or locked is an error, and
//     an error means: do not write.
//
// It knows nothing of workloads, targets' paths or configuration.
//
// # The file
//
// <state>/ledger/<disk id>.ledger holds two slots of 512 bytes, one sector each, at offsets 0 and 512. A change goes
// to the slot that is not in force, with the next sequence number; the valid slot with the higher number is in force. A
// write torn by a power cut therefore costs that write and never the record. All numbers are little endian:
//
//	  0  8  magic "ssdxlgr\n"
//	  8  4  format version, 1
//	 12  4  number of fills, 0 to 16
//	 16  8  sequence number
//	 24  8  bytes available (signed; below zero after an overrun)
//	 32  8  fraction of a byte earned beyond them, in units of 1/86,400,000,000,000
//	 40  8  when the bucket was last refilled, nanoseconds since 1970; 0: the bucket has not begun
//	 48  8  bytes per day that the bucket was last asked with; -1: never asked
//	 56 24  bytes written since the record began: probe, fill, sweep
//	 80 24× fills: key of the target (FNV-1a, 8 bytes), seconds since 1970 of the first attempt (4), attempts
//	        that were never settled (2), 1 while an attempt is not settled (2), size (4) and settled writes (4) in units of 4 KiB
//	464 24  bytes of those at 56 that are reserved and not settled yet: probe, fill, sweep
//	488  8  when the bucket was last refilled before the clock went back, nanoseconds since 1970; 0: the clock has come
//	        past that again, or never went back
//	496 12  zero
//	508  4  CRC-32C of bytes 0 to 507
package ledger
