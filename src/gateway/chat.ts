import type { Caller } from '../core/caller.ts';
import type { ChatRequest } from '../core/chat-request.ts';
import type { Decision } from '../core/decision.ts';
import { SignalboxError } from '../core/errors.ts';
import { idText } from '../core/id.ts';
import type { PolicySnapshot } from '../core/snapshot.ts';
import type { Hold } from '../ledger/hold.ts';
import { isShortage } from '../ledger/standing.ts';
import { listenTo } from '../records/contents.ts';
import type { Outcome } from '../records/record.ts';
import { chatFacts } from '../routing/facts.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { StoreError } from '../store/store.ts';
import { scrub } from '../telemetry/secrets.ts';
import type { Conversation } from './affinity.ts';
import { decide, type ForRules } from './decide.ts';
import { decisionWrites } from './decision-record.ts';
import { Exchange } from './exchange.ts';
import type { FailedAttempt } from './failure.ts';
import type { Gateway, Seat } from './gateway.ts';
import type { Platform } from './receipt.ts';
import { screen } from './screen.ts';
import { shortageError } from './shortage.ts';
import { expectedTokens, type Ticket, usedTokens } from './ticket.ts';
import { wordsForLog } from './words.ts';

/** Who must write something down before anything is sent upstream. */
export interface Notary {
  /** Called with the decision's ID before money is set aside, so that one commit can carry both. Rejects with StoreError. */
  begin(decision: number): Promise<void>;
}

/** Who goes along with a request. */
export interface Company {
  /** Its place among those who are worked on, and its rate limits. */
  readonly ticket?: Ticket | null;
  readonly notary?: Notary | null;
  /** Ends the wait for money when the caller is gone; left out, the request is carried out for nobody, too. */
  readonly signal?: AbortSignal;
}

/**
 * Steps 2 to 6 of a chat request: pins the runtime, decides, reserves. The exchange that comes back
 * is paid for and not yet begun; whoever asked for it must open it, and read it to its end or
 * abandon it. Throws SignalboxError, and then nothing is held.
 */
export async function beginChat(
  gateway: Gateway,
  request: ChatRequest,
  caller: Caller,
  { ticket = null, notary = null, signal }: Company = {},
): Promise<Exchange> {
  const startedAt = gateway.clock();
  if (gateway.draining()) throw drainingError();
  const runtime = gateway.lease();
  screen(request, runtime.snapshot.gateway);
  const conversation = gateway.affinity.conversation(caller.keyId, request);
  const facts = conversation.recall(chatFacts(request, caller, runtime.snapshot), runtime.snapshot);
  const question = { facts, forRules: forRules(request), messages: request.messages };
  const decision = await decide(gateway, question, caller, runtime);
  // It may have taken a while.
  if (gateway.draining()) throw drainingError();
  ticket?.begin(request.stream === true, expectedTokens(decision, runtime.snapshot));
  // Before money is waited for, so that a shutdown waits, too.
  const { seat, leave } = enter(gateway);
  let hold: Hold;
  try {
    const begun = notary?.begin(decision.id);
    // Looked at when there is money.
    begun?.catch(() => {});
    // The books keep it for good.
    const agentWallet = request.agent_wallet == null ? null : scrub(request.agent_wallet);
    const payer = { caller, agentWallet, signal };
    hold = await reserve(gateway, decision, payer, startedAt, runtime.snapshot);
    if (begun) await confirmed(hold, begun);
  } catch (cause) {
    leave();
    ticket?.end(0);
    throw cause;
  }
  const paid = { runtime, request, conversation, caller, decision, hold, startedAt, ticket, leave };
  seat.exchange = exchangeOf(gateway, paid);
  return seat.exchange;
}

/** A request that is paid for. */
interface Paid {
  readonly runtime: Runtime;
  readonly request: ChatRequest;
  readonly conversation: Conversation;
  readonly caller: Caller;
  readonly decision: Decision;
  readonly hold: Hold;
  readonly startedAt: number;
  readonly ticket: Ticket | null;
  leave(): void;
}

/** The exchange of a request, with what is to be told and written down of it. */
function exchangeOf(gateway: Gateway, paid: Paid): Exchange {
  const { runtime, request, conversation, caller, decision, hold, startedAt, ticket, leave } = paid;
  const { snapshot } = runtime;
  let tokens = 0;
  const listener = listenTo(snapshot.content, request, caller);
  return new Exchange({
    runtime,
    request,
    conversation,
    decision,
    hold,
    clock: gateway.clock,
    now: gateway.now,
    startedAt,
    created: Math.floor(gateway.now() / 1000),
    onSettle: (outcome, platform) => {
      tokens = usedTokens(outcome.usage, platform.routed_model, decision, snapshot);
      logOutcome(gateway, decision, caller, outcome, platform);
      const writes = decisionWrites(gateway, 'chat', decision, caller, snapshot, outcome);
      return listener ? [...writes, ...listener.writes(decision.id, gateway.now())] : writes;
    },
    onParts: listener ? (parts) => listener.hear(parts) : undefined,
    onFailure: (attempt) => logFailure(gateway, decision, attempt, request),
    written: () => gateway.ledger.written(),
    onEnd: () => {
      leave();
      ticket?.end(tokens);
    },
  });
}

function enter({ exchanges }: Gateway): { seat: Seat; leave: () => void } {
  const seat: Seat = { exchange: null };
  exchanges.add(seat);
  const leave = () => {
    exchanges.delete(seat);
    seat.exchange = null;
  };
  return { seat, leave };
}

const forRules = ({ stream, user, metadata }: ChatRequest): ForRules => ({ stream: stream === true, user, metadata });

export function drainingError(): SignalboxError {
  return new SignalboxError('overloaded', 'This gateway is shutting down; try again.', { retryAfterMs: 1_000 });
}

/** An exchange ends at its deadline; a hold that is open so much later was forgotten, ms. */
const EXPIRY_SLACK_MS = 60_000;

/** Sets the worst case aside: whoever answers, it suffices or is raised. */
async function reserve(
  { ledger, clock, now, log }: Gateway,
  { id, facts, ranked }: Decision,
  { caller, agentWallet, signal }: { caller: Caller; agentWallet: string | null; signal: AbortSignal | undefined },
  startedAt: number,
  { models, ledger: terms }: PolicySnapshot,
): Promise<Hold> {
  const [choice, ...fallbacks] = ranked;
  const leftMs = models[choice.model]!.deadlines.totalMs - (clock() - startedAt);
  const reserved = await written(() =>
    ledger.reserve({
      id,
      caller,
      selector: facts.model,
      agentWallet,
      payer: null,
      amounts: [choice.bound, ...fallbacks.map(({ bound }) => bound)],
      limit: facts.budget,
      // Who waited must still have time for the answer.
      waitMs: Math.min(terms.contentionWaitMs, leftMs - choice.latencyMs),
      signal,
      expiresAt: now() + leftMs + EXPIRY_SLACK_MS,
    }),
  );
  if (isShortage(reserved)) throw shortageError(reserved, caller, log);
  return reserved;
}

/** Gives the money back when something cannot be written down. */
async function confirmed(hold: Hold, begun: Promise<void>): Promise<void> {
  try {
    await written(() => begun);
  } catch (cause) {
    hold.settle(null, () => []);
    throw cause;
  }
}

/** What cannot be written down may not be spent. */
async function written<T>(write: () => Promise<T>): Promise<T> {
  try {
    return await write();
  } catch (cause) {
    if (!(cause instanceof StoreError)) throw cause;
    throw new SignalboxError('overloaded', 'The ledger cannot be written, so nothing may be spent; try again.', {
      retryAfterMs: 1_000,
      cause,
    });
  }
}

/** An operator needs the status and the words of the upstream. What it means for the endpoint is told by its health. */
function logFailure({ log }: Gateway, decision: Decision, attempt: FailedAttempt, request: ChatRequest): void {
  const { model, provider, failure, requestId } = attempt;
  log.warn('an attempt failed', {
    decision: idText('dec_', decision.id),
    provider,
    model,
    kind: failure.kind,
    status: failure.status,
    upstream_request_id: requestId ?? undefined,
    upstream_message: wordsForLog(attempt, request),
  });
}

function logOutcome({ log }: Gateway, decision: Decision, caller: Caller, outcome: Outcome, platform: Platform): void {
  const write = outcome.status === 'completed' || outcome.status === 'abandoned' ? log.info : log.warn;
  write('chat', {
    decision: platform.decision_id,
    key: caller.keyId,
    selector: decision.facts.model,
    task: decision.facts.task,
    model: platform.routed_model,
    reason: platform.route_reason,
    status: outcome.status,
    error: outcome.error ?? undefined,
    failures: failuresOf(outcome),
    input_tokens: outcome.usage?.inputTokens ?? 0,
    output_tokens: outcome.usage?.outputTokens ?? 0,
    credits: platform.credits_consumed,
    ttft_ms: outcome.firstPartMs,
    total_ms: outcome.totalMs,
  });
}

/** `provider/model:kind`, a word an attempt that failed; undefined when none did. */
function failuresOf({ attempts }: Outcome): string | undefined {
  const failed = attempts.filter(({ failure }) => failure !== null);
  return failed.length === 0
    ? undefined
    : failed.map(({ provider, model, failure }) => `${provider}/${model}:${failure}`).join(' ');
}
