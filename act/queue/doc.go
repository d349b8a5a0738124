// Package queue keeps jobs in a tenant's store until they are done: work that outlives the process, in order
// of priority, by any number of workers, in one process or in several that share the store.
// [AgentHandler] has an arc.Agent work on them.
//
// # Life of a job
//
// A [Job] is Pending until it is claimed, Active while a holder has it, then Completed or Failed. Blocked and
// Parked ones wait for [Queue.Update]. What a handler leaves in Job.State, or returns, decides:
//
//	State as it was claimed     Completed; the follow-ups are added in the same commit
//	Failed                      Failed: tried, and given up
//	Blocked                     waits for a person; Parked likewise. No attempt is spent
//	Pending                     again at Job.At, or in 30 s, but not within 1 s. No attempt is spent
//	error                       Pending again, after 30 s, then 2 min; Failed after MaxAttempts (3)
//	*reason.Error, RateLimited  Pending again, after 1 min. For a week from its time no attempt is spent
//	Permission, Permanent       likewise the class of one: Failed at once
//
// A longer Wait in it holds, up to a day. Words decide nothing: of a model's error take [reason.Classify].
//
// A job with Cron is one job that comes again: once it has ended, or is Blocked, it is Pending for its next
// time, and [Queue.Cycles] has what came of each. The run of a round that was blocked goes on by
// arc.View.Retry. A permission error of the handler, or an Update that ends it, ends the job for good.
//
// # Order
//
// The job with the lowest priority number, 1 to 10, comes first, then the one that has been ready for
// longest; where several processes claim at once, about so. A job with an At that is over a minute late moves
// up by 2, to 1 at most. Nothing else ages, and scopes take no turns: a steady flow of others goes first.
//
// # Leases
//
// Who claims a job has a lease of 30 s, which [Queue.Heartbeat] renews, and its Token, which grows with each
// claim. Another that has seen no renewal for 30 s from its Open on (a clock that jumps ahead ends it) may
// claim the job, and an attempt is spent; from then on the former holder gets [ErrLost]. So each job runs at
// least once and ends once. A handler whose effects must not be repeated makes them in steps (act.Step),
// which the job's journal keeps over attempts, or passes Token on to what it changes.
package queue
