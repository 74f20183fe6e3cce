// Package wire is the language of the link between a deploying program, the coordinator, and the nodes that host regions
// of its graph. This comment is the specification, version 1: what both sides keep, what they say and when, what holds
// when one of them dies, and the bytes. [Append] and [Decode] are the bytes; the rules are kept by internal/link, by the
// stage that stands for a region in the coordinator, and by the node.
//
// # The decision: the coordinator is the hub
//
// Every link runs between the coordinator and one node. A region that feeds another one does so through the coordinator,
// which relays encoded payloads, or references into an arena, without decoding them.
//
// Why: the coordinator never dies before its run does. What it has accepted is safe until the run ends, so custody moves
// to it at acceptance and not when a consumer acknowledges. That leaves nothing on a node that could not be given to
// another node, and nothing on the wire of what direct links need: vectors of origins, chains of acknowledgements,
// retention and resending on nodes, rewinding of regions that live, an order in which regions recover. A region is a
// stage whose workers live elsewhere; its ledger, order, credit and custody are those of any stage.
//
// The price is one more hop between two regions. Bytes below the arena's threshold are copied once more, larger ones on
// the same machine are not touched, and between machines a payload crosses the coordinator's network card twice.
//
// # Modes
//
//	Keyed    every stage works item by item (map, filter, flatMap, Tee, Route, and what joins again inside the region).
//	         Fed by the coordinator, in one copy or many. The unit of commit is one input: all that came of it.
//	Stream   the region holds a source, an aggregate, or a stage that works on its items one after the other. One copy.
//	         The unit of commit is one frame: outputs, and the set of inputs that are done with them.
//
// Refused when a graph is placed: a Stream region in a pool of more than one copy; a stage that is both Streaming and
// Ordered in such a pool, where a stream that is not at the head occupies the worker that the head needs; in a Stream region,
// an aggregate behind a stage that makes several of what another aggregate has made, and a merge that ends epochs by itself.
//
// # Words
//
//	session      one stream of the transport, and with it one incarnation of one copy of a region. A message belongs to the
//	             session that carried it; nothing else says so.
//	id           the number of an input of a region, given by the coordinator in order of arrival. Never used again, not by a
//	             retry either. What a Stream region is fed counts as one more source of it: source is the stage that feeds
//	             it, epoch is 0, index is the id.
//	group        everything that came of one input in the region, at all ports. It may be empty.
//	accepted     applied to the coordinator's ledger.
//	finished     an output whose consumer has returned, or that was filtered behind the region, or that failed there.
//	terminal     an index of a source of which nothing is alive any more.
//	leaf         what came of one item of a source and of nothing else, last on its way: the item itself, or one of several that
//	             were made of it. Its path has a number for each stage that made several of one: which of them, or which branch.
//
// # State
//
// Of the coordinator, for each region, owned by the stage that stands for it:
//
//	slots      id -> input, identity, waiting | out | done, deaths, suspect, outputs got (Streaming), group     at most M
//	sessions   copy -> the set of ids that are out there, and whether it is isolated
//	head       the lowest id whose slot is not free                                           for ordered release
//	Stream     the next frame's number; what is done, and done in part; where drained sources end
//
// Of a node, for each session: its tasks, its workers, the groups that are being gathered, what its aggregates hold. All
// of it is dropped with the session. Nothing is on disk but the token and the dead letters, which are the coordinator's.
//
// # Messages
//
// From the coordinator to a node:
//
//	Open      first; answered within 5 s
//	Task      inputs; only while fewer than the window are out
//	End       behind the last Task, and again to every later incarnation
//	Limit     Stream: how many frames may be sent by now
//	Drain     Stream with a source: yield no more
//	Skip      Stream with a source: end this epoch, go on with the next
//	Cancel    stop now; nothing is answered
//
// From a node to the coordinator:
//
//	Ready     accepts an Open
//	Refuse    declines it. Another build is no reason; another version or fingerprint is
//	Result    Keyed: entries, one for each task, in any order
//	Part      reserved: Keyed, Streaming: some outputs of an input ahead of its entry
//	Frame     Stream: outputs, what is done, failures, ends of epochs
//	Stopped   reserved: answers Drain, before End
//	End       Stream: all is done, and the aggregates are flushed
//	Abort     the run fails
//	Event, Stats, Log   may be dropped, and never go before data; the last Stats of a session are not dropped
//
// What is reserved has its bytes and its rules, and is not sent by this version: an input of a Keyed region is told at once, in its
// entry (so Item.Skip is 0, and rule 4 rests); where a drained source stops is told by Yielded and Done; what a child prints comes
// by pipes (Log).
//
// In both directions:
//
//	Profile      reserved: a request, and its answer in parts; data goes first
//	Release      the receiver may use blocks of its arena again
//	Ping, Pong   fill silences of 2 s
//
// Several items or entries in a message save messages; they are no unit. Each entry is applied alone and completely. No rule
// compares identities, attempts or paths of items: they are for user code and for people. Any byte from the connection is
// life; Ping and Pong only fill silences. (The keepalive of gRPC is no substitute: a client cannot ask for less than 10 s, and
// servers cut idle links for it.) A node of which nothing is heard for 10 s is lost.
//
// # Rules of the coordinator
//
//  1. Take. An item is taken from upstream only into a free slot: free slots are the credit upstream. It is waiting.
//  2. Dispatch. The lowest waiting id goes to the session with the fewest ids out, if that is below its window. A suspect goes
//     only to a session that has nothing out, and is alone there (Task.Isolated). While a suspect waits and no session is
//     isolated, no other id is dispatched.
//  3. Result. An entry is accepted if its id is out at the session that carried it, and otherwise dropped and counted.
//     Accepting takes the id out of that set, ends isolation, keeps the whole group and drops the input; the failure records of
//     the entry are applied together with its outputs, in one step. Nothing else is compared: an id is out at one session at
//     most, and a session's set is emptied when it ends, so this one look-up is fence, duplicate check and authorisation.
//     A result needs no credit, for its slot is its place. A session is never left unread for lack of room: that deadlocks.
//  4. Part. It is accepted if the id is out there and From is what was got so far, which grows by the outputs. A task that is
//     dispatched again says in Skip how many were got, and the entry at last has those behind the parts. A node sends a part when
//     the coordinator has handed on all but a window of those before (one part by default). Streaming is its author's promise that
//     outputs come again in the same order.
//  5. Frame. Seq must be the next one; anything else is a fault in the program, for the session is the fence. In one step:
//     the slots of what is done are freed, outputs are appended, failures and ends of epochs applied. Leaves that are members
//     of an output, one that has failed among them, are noted as settled until the input is done: a set of paths, for
//     neither a count nor the highest path says what was filtered or overtaken. What has become of an input is put together
//     over incarnations: failed before delivered before what the span says, since a node does not know what was settled before
//     it.
//  6. Release. Ordered: outputs of the head only, in their order, then the head moves. Otherwise: of any slot that is done.
//     Outputs leave one by one as credit downstream allows; with the last one the slot is free, an empty group's at once.
//  7. Tee, Route and ports. Each branch is handed its outputs independently; the slot is free when all have theirs. A merge
//     takes from whatever branch has something.
//
// # Rules of the node
//
//  8. Keyed. Descendants of a task are gathered where the region ends. When none is left inside, one entry is sent: outputs and
//     failure records, since an input of which one descendant has failed still delivers the others, as it does in the
//     coordinator's own process. Retries are made in the node; it knows no other policy, and no budget.
//  9. Stream. Done is the set, not a prefix, of inputs of which no output will come in any later frame, and which nothing holds.
//     What is filtered is in it even where an older input is still held by a batch: a prefix deadlocks a strict batch behind
//     a filter. An input in an aggregate is not done before the outputs that contain it have left,
//     with all that came of the input. Whatever has come of one leaf leaves in one frame, failures included: so outputs of which
//     the leaves are their own leave at once, while more is made of the same input, and of a group that has become several
//     items all, or none. In order: nothing leaves ahead of its place.
//  10. A frame without outputs is sent when there is something done and no frame is due: at once if the region is idle, else with
//     the next frame, at the latest after half a window of inputs. The end of an epoch is a reason for one, too.
//  11. Start of a Stream region. Inputs in Open.Done are not yielded again. Those of Open.Partial are, and what is named there is
//     dropped where it is made, or where its branch parts: that is exact if a stage that makes several items of one is a function of
//     its input and its identity. Frames are counted from Open.Next, ends of epochs from Open.Epochs.
//  12. Loss of the session. Workers are cancelled; every task, group and aggregate is dropped. Opened stages (models,
//     connections) are kept for the next session if the process lives. A child process exits.
//
// # Epochs
//
// To a Keyed region epochs mean nothing: the coordinator holds back what is ready of a later one, and no end travels. A Stream
// region sends ends in its frames, each when everything of the epoch has left, what was filtered included. One that is fed is
// told of them in Task, in the order of the items: they cannot be told from the items, since a source may wait with the next
// epoch until the consumer has this one, and an epoch may be empty. Ends that were accepted are counted (Open.Epochs), for what is
// done does not tell them either.
//
// # Faults and ends
//
//	a copy is killed     Coordinator: read what the socket still holds, close the session, reap the process. Then every id that
//	                     was out is waiting, deaths + 1, suspect. Back-off, and a new session, or other copies take over.
//	the link drops       The coordinator looks who is there, at the same address, before anything is dispatched again. The same
//	                     Ready.Boot: nobody is charged. Another one, or a machine on which nobody listens: the process has died,
//	                     deaths + 1. Nobody can be asked for 15 s, a session that was refused, or one that the node has ended
//	                     itself: nobody is charged.
//	partition            The node ends its work 10 s after the last byte (its lease). The coordinator calls it lost after 10 s and
//	                     dispatches again after 15 s. The old stream is closed before: nothing can be read from it.
//	panic, error         None of the coordinator's concern: the node replaces the worker; the task keeps its place.
//	restart              Open with what is next, done, done in part and where sources end; all waiting tasks, ascending; End again.
//	several regions die  Each recovers alone, in any order.
//	coordinator dies     Its child processes end. A new run begins from a token.
//	end of stream        Keyed: when all slots are free, End goes to the sessions, and they close. Stream: the region's End is
//	                     accepted after its last frame.
//	drain                The source is here: it stops. It is in a node: Drain, and it stops behind what it has yielded. A node that is
//	                     not the first does not know what that was: its session ends, and Open.Stop says it to the next one, the
//	                     highest index that was told as yielded; what is missing below is yielded again; End.
//	cancel, abort        Cancel to all, close after the grace, then kill. Slots are dropped, and counted as not consumed.
//
// Who has sent the last message waits for the other's end of the stream before it closes: closing loses what is still queued.
// The old stream is closed before anything is dispatched again: that is the fence. Without it a copy has more than its
// window, and outputs of a Stream region come twice.
//
// # Poison
//
// Deaths are counted in the slot. An item that was there at three of them has failed; the cause is the exit status and the
// end of the standard error. In a Keyed region everything that was out is charged. A Stream region has no slots: a child process
// has a black box (Open.Box), one inherited piece of memory in which each worker notes the stage that it works for and the
// inputs that its items are made of: what was executed is charged. Nothing that is found there is trusted. The next Open names the
// suspects, until their inputs are done: by stage and inputs, and where an item was executed alone by its path, too. The node
// executes each of them alone in the region. One of three deaths is poison: the node fails it at that stage without executing it, and
// Failure.Poison has the coordinator put the cause in, which it has kept. Without a black box, as on a remote node, nothing is
// charged in a Stream region, and the limit of restarts is what ends the run. Deaths are not in the token, and a link that drops
// charges nobody. Kills from outside look like poison: three of them while the same item executes fail it.
//
// # Arenas
//
// Large byte slices go through shared memory where both ends are on one machine. A [Block] names a place in the arena of the
// sender of its message, by offset, length and generation. An arena belongs to a session, and a new session gets a new one; only
// Release frees a place. What was accepted must outlive the node: the coordinator keeps its mapping until the last block is
// released. One that was relayed is released when the region that got it has completed the input. A full arena is no
// reason to wait: the bytes go inline. Blocks of an arena that does not exist, outside it, or of a generation that is over end
// the session. Nothing is validated in shared memory, to which the sender can still write.
//
// # What is terminal, and the token
//
//	count[i] = 1 while i is in flight as an input, + 1 for each unfinished output that has i among its members
//	accept   adds the outputs that contain i, and takes 1 if i is done        in one step
//	finish   takes 1 for each finished output that contains i
//	i is terminal when its count returns to 0: what is filtered at once, what has failed when its record is durable
//
// Nothing else changes counts: no Tee, merge, batch, retry or second dispatch. A token is a high-water mark and what is not
// terminal below it, in ranges: it is bounded by what is in flight, without a rule for the source. After a node's death the
// node goes on behind what was accepted; after the program's, a run goes on behind what was finished. Confusing them loses
// items or repeats them. Of an input that is finished in part the token has what is settled of it, delivered or failed, and
// what has become of it so far; rule 11 holds. So it is for Keyed regions when a new program runs: in one life the look-up
// of rule 3 is enough. The token has the number of ends of epochs, too.
//
// # Failures
//
// A [Failure] travels in the entry of its input, or in a frame, and is accepted when that is: nowhere else is it told. It
// names the stage of the region that has failed, the item's identity there, and, where that stage has dead letters, holds
// the item itself, encoded. Policies, budgets and sinks are the coordinator's: to skip is to count, in one step with
// acceptance; a dead letter is appended and made durable, and only then counted, settled, and in the token. A region that
// dies between the failure and its acceptance has reported nothing, and the item runs again. On resume a sink is cut to the
// token's length, or must replace by identity, and budgets come from the token.
//
// A policy that is a fraction is one of the items that the stage itself has finished, which only the node counts: behind a filter
// they are fewer than the inputs of the region. So Results carry these counts, and a Failure the count at its time. What is worked
// on again after a death is counted again.
//
// # Credit and bounds
//
//	Task       fewer ids out than the window w of the session; an entry gives one back. w = workers of the first stage, and as
//	           much again as the flow needs, up to 1024, bounded in bytes
//	Result     none: its slot is its place
//	Frame      with outputs: Limit, absolute; frames taken + V. Without outputs: free, at most one for each input
//	dropped    a message that is dropped gives its credit back as one that is accepted does
//
//	Keyed      slots M = N*w + r for N copies; r >= 0 is slack for order (N*w if ordered, else 0). No M or w deadlocks.
//	           Coordinator: inputs + groups <= M. A copy: w tasks and w groups. Outputs of a group are bounded in bytes only.
//	Stream     M = w + P + H + 1; P = waiting rooms of its stages, H = inputs that its aggregates may hold (sizes in a row
//	           multiply). M < H deadlocks, so M is computed when the graph is placed. Coordinator: V + 1 frames.
//	graph      the sum over regions and branches. Nothing multiplies along it.
//
// # What comes later
//
// Direct links between regions. They need: a frame for every input, empty ones included, so that outputs have the numbers of
// inputs; from a fresh sender that learns a higher base an empty frame below it, or its receiver waits for ever; sets, not
// prefixes, in acknowledgements; duplicates that give credit back; and a region that makes several items of one without being
// a function of its input must not feed a batch. They pay when relaying takes more than 5 % of a core, or bytes from
// region to region more than half of a network card.
//
// # The bytes
//
// A message has no length of its own: the transport frames it. It is a kind (a byte, in the order in which the messages are
// listed in kind.go) and its fields in the order of the struct, unless something else is said:
//
//	number        unsigned LEB128, in the shortest form. Integers are not negative; what may be smaller than the one before, a
//	              step, is zigzag: 0, -1, 1, -2 are 0, 1, 2, 3
//	bytes, text   a number, and as many bytes. Text need not be UTF-8
//	array         its bytes; Mode and Code are a byte
//	list          a number, and as many elements
//	bits          a byte that says which fields follow; what is usual has no bit and takes no byte
//	path          text: "" or numbers in decimal, with a dot before each
//
// Elements have a byte of bits. ids and identities count up by themselves from 0: "next" is one above the element before in
// the same message, with its source and epoch, at first 0 and 0.
//
//	Open         ... Mode, Window, Grace, Arena; then, if Stream: Next, Epochs, the lengths of Done, Partial and Stop, then the
//	             elements; Box, list of suspects
//	  Suspect    bits (1 exact, 2 poison; only with 1: 4 path); stage, source, epoch, From, To - From - 1, deaths; 4 the path
//	Task         bits (1 isolated), items, ends, blocks, then the items and the ends
//	  Item       bits; 1 step of the id to the next; 4 source, epoch; 2 step of the index; 8 path; 16 skip; 32 attempt;
//	             always bytes; 64 list of blocks
//	Result       entries, outputs, failures, blocks, then the entries, and the list Finished
//	  Entry      bits; 1 step of the id; nothing: one plain output, its bytes only; 2 no output; 4 list of outputs;
//	             8 list of failures
//	  Output     bits; 1 port; 2 path; always bytes; 4 list of blocks
//	  Failure    bits (1 fatal, 16 hung, 128 poison); 4, 2 and 8 as of an item; always stage, attempts, finished, error; 32 bytes of the
//	             letter, 64 its blocks. The next identity goes on from failure to failure through the whole message
//	Part         ID, From, outputs, blocks, then the outputs
//	Frame        Seq; the lengths of Yielded, Done, Outputs, of all Members, of Failed, Epochs and of all blocks; then the elements, and the
//	             list Finished
//	  FrameOutput  bits (16 sibling, 32 failed: no path, no bytes); 1 epoch (else that of the one before); nothing: one next member;
//	             2 list of members; 4 path; always bytes; 8 list of blocks
//	  Member     bits; 2 source, epoch; 1 step of the index; 4 number of items, minus 2 (else 1); 8 path. Next is behind the last item of the member before; behind one with a path it is the
//	             same input
//	  Span       bits (2, 4: the fate); 1 source, epoch; always From, counted from where the span before ends (from 0 in
//	             another source or epoch), and To - From - 1
//	Profile      bits (1 last), and the other fields
//	Block, Position, EpochEnd   their fields
//
// The numbers that stand before elements (items, blocks and so on) are those of the whole message, so that a receiver makes
// room once, and before it does knows that the bytes for them are there. Spans, positions, partials (by input), versions and
// ends of epochs are in ascending order. There is one form of each message and no other is accepted: what is usual is not
// said, and nothing is left behind the end. So a message that was decoded and encoded again is the same bytes. The limits
// are the constants Max....
//
// The kind and the versions of Open, and all of Refuse, stay as they are in every later version: [Versions] reads what is
// needed to decline an Open that is otherwise not understood. Anything else of another version is not understood.
//
// # Usage
//
// A sender calls Append with a buffer that it uses again. A receiver calls Decode with a buffer that it gives away, for payloads
// are parts of it.
//
// # Concurrency
//
// Functions may be called from several goroutines. A message has one owner.
//
// # Failure
//
// Append cannot fail: what breaks a limit is refused by the receiver, so its sender looks before. Decode returns an [*Error] for
// anything that Append could not have written, whoever sent it, without a panic and with memory in proportion to the bytes.
// The session is over then.
//
// # Testing
//
// Random messages of every kind make the round trip; every bit of a message of every kind is flipped, and each is cut at every
// byte; a fuzz target looks for two forms of one message and for memory out of proportion; testdata has the bytes of version 1.
package wire
