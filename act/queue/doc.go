// Package queue keeps jobs in a store until they are done: work that outlives the
// process, in order of priority, by a number of workers.
//
//	q, err := queue.Open(ctx, st, &queue.Options{Scope: "acme"})
//	job, added, err := q.Enqueue(ctx, queue.Draft{Subject: "mend the build", Priority: 2, Key: "ci/main"})
//	d, err := q.Dispatch(handler, &queue.DispatchOptions{Workers: 8})   // calls handler for each job
//	err = d.Close(ctx)                                                  // lets the jobs under way end
//
// # States
//
// A [Job] is Pending until it is claimed, Active while a worker has it, and then
// Completed, Failed or Blocked, each of which ends it; Parked is set aside. A handler
// says which by its [Result] or error:
//
//	error                       Pending again, later each time; Failed after MaxAttempts (3)
//	error, permission denied    Failed at once: act.ErrDenied, 401, 403, also in words (act.Class)
//	error, rate limit           Pending again when it says, within an hour; spends no attempt
//	Result                      Completed, with its Followups enqueued in the same commit,
//	                            as those of Failed and Blocked are
//	Result{State: Blocked}      cannot go on, and says why; Requeue has it tried again
//	Result{State: Parked}       waits for Requeue, or Wake; spends no attempt
//	Result{State: Pending}      again at Result.At; spends no attempt
//
// # What holds
//
// A job that Enqueue has acknowledged runs at least once, and ends in one record. Who
// claims it holds a lease, which heartbeats renew, and a token, one higher with each
// claim. When a lease is not renewed for its TTL, by the clock of who looks and not by
// the holder's, the job is given back, and whatever the holder does later is [ErrLost]:
// of two who believe to have a job, one commits. Since the first may have done
// something before it was lost, a handler whose effects must not happen twice passes
// Job.Token on to what it changes. A clock that jumps costs an attempt at most: what waits
// for another since a time to come waits as long from when that is seen. A time that was
// given stands, and so does the next one of a series.
//
// # Sensors
//
// A [Sensor] looks at something from time to time, such as a folder or an inbox, and
// has jobs enqueued for what it finds. Queue.Watch reads each at its own cadence,
// Queue.Sense those that are due; [LoadSensors] has those that skills bring:
//
//	err := q.Watch(ctx, log, queue.Sensor{Name: "inbox", Every: time.Minute, Read: look})
//
// # Order
//
// The lowest number of a priority, 1 to 10, comes first, and of equals the one that is
// ready for longest. A job with a time gains 2, up to priority 1, once it is late by more
// than 60 s. With Options.Ageing one gains 1 each time it has waited so long, so that none
// starves.
//
// DispatchOptions.Route names a kind of model by a job's priority; [ByModel] has the
// reasoner and the executors behind a handler use it.
//
// # Keys
//
// Pending jobs lie in 20 lists, one for each priority with a time and one without, each
// ordered as it is to be taken. A Queue has the next few of each list in memory, so that
// a claim is a comparison of 20 heads, a read and a commit, however many are pending,
// and boost and ageing move nothing. A Queue that finds another process faster has the
// store say which of the next jobs is free, if it has CommitFirst, as contrib/postgres
// does: a claim then passes over what others are claiming, and fights for nothing. All
// lies below the tenant's prefix. A Queue starts
// no goroutine of its own; Watch has one for each sensor, and a [Dispatcher] one for each
// worker and one for the heartbeats of each job under way.
package queue
