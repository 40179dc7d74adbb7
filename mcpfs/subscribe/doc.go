// Package subscribe tells clients what changes in the resources they subscribed to, in both protocol eras.
//
// Legacy sessions subscribe with resources/subscribe and hear notifications/resources/updated on their session. Requests
// of 2026-07-28 do it with subscriptions/listen, each of which is answered by an acknowledgement, by what it asked for, and
// by a result when the server ends it. A subscription to a directory is told of what is below it, by that object's own
// URI.
//
// Nothing is told on the strength of an earlier permission. What a watch reports is a name to look at: the guard resolves
// and judges it again from the root, under the generation that is in force then, right before the notification is handed
// over. A name that cannot be seen is not told; a name that is gone is told as a change of the directory it was in. What
// was judged under a generation that has ended is judged again, and what is being written when a generation ends is
// written before the next one is visible. A client that does not read delays that by a quarter of a second, once for each
// notification that it does not take, and not for longer: it must not hold up a switch.
//
// A workspace switch (contract §4.6): when a generation ends, the subscriptions of its authority are suspended. What they
// hear meanwhile is remembered and judged later. Before the next generation is visible each one is kept, if its project is
// granted on as the same directory and its object lies inside what is granted, or dropped for good: a later switch back
// does not bring it to life again. Then notifications/resources/list_changed follows to all who want it.
//
// Requests of 2026-07-28 that declare roots cannot listen to resources: roots are asked in three other methods only, and
// without them there is nothing to judge by (authority_unavailable). They can listen to changes of lists.
//
// The handlers here stand in front of the SDK's, whose registry is by session: there, a listen that ends takes the others
// of its pipe with it, and an update reaches whoever subscribed to its URI. traps_test.go shows both.
package subscribe
