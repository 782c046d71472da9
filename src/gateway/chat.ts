import type { Caller } from '../core/caller.ts';
import type { ChatRequest } from '../core/chat-request.ts';
import type { Decision } from '../core/decision.ts';
import { SignalboxError } from '../core/errors.ts';
import { idText } from '../core/id.ts';
import type { PolicySnapshot } from '../core/snapshot.ts';
import type { Hold } from '../ledger/hold.ts';
import { isShortage } from '../ledger/standing.ts';
import type { Outcome } from '../records/record.ts';
import { recordWrite } from '../records/records.ts';
import { chatFacts } from '../routing/facts.ts';
import { StoreError } from '../store/store.ts';
import { decide, type ForRules } from './decide.ts';
import { Exchange } from './exchange.ts';
import type { FailedAttempt } from './failure.ts';
import type { Gateway, Place } from './gateway.ts';
import type { Platform } from './receipt.ts';
import { decisionRecord } from './record.ts';
import { screen } from './screen.ts';
import { shortageError } from './shortage.ts';

/**
 * Steps 2 to 6 of a chat request: pins the runtime, decides, reserves. The exchange that comes back
 * is paid for and not yet begun; whoever asked for it must open it, and read it to its end or
 * abandon it. Throws SignalboxError, and then nothing is held.
 */
export async function beginChat(gateway: Gateway, request: ChatRequest, caller: Caller): Promise<Exchange> {
  const startedAt = gateway.clock();
  if (gateway.draining()) throw drainingError();
  const runtime = gateway.lease();
  screen(request, runtime.snapshot.gateway);
  const decision = decide(gateway, chatFacts(request, caller, runtime.snapshot), forRules(request), caller, runtime);
  // Before money is waited for, so that a shutdown waits, too.
  const { place, leave } = enter(gateway);
  let hold: Hold;
  try {
    hold = await reserve(gateway, decision, caller, request.agent_wallet ?? null, startedAt, runtime.snapshot);
  } catch (cause) {
    leave();
    throw cause;
  }
  const exchange = new Exchange({
    runtime,
    request,
    decision,
    hold,
    clock: gateway.clock,
    startedAt,
    created: Math.floor(gateway.now() / 1000),
    onSettle: (outcome, platform) => {
      logOutcome(gateway, decision, caller, outcome, platform);
      return recordWrite(decisionRecord('chat', decision, caller, runtime.snapshot, gateway.now(), outcome));
    },
    onFailure: (attempt) => logFailure(gateway, decision, attempt),
    written: () => gateway.ledger.written(),
    onEnd: leave,
  });
  place.exchange = exchange;
  return exchange;
}

function enter({ exchanges }: Gateway): { place: Place; leave: () => void } {
  const place: Place = { exchange: null };
  exchanges.add(place);
  const leave = () => {
    exchanges.delete(place);
    place.exchange = null;
  };
  return { place, leave };
}

const forRules = ({ stream, user, metadata }: ChatRequest): ForRules => ({ stream: stream === true, user, metadata });

export function drainingError(): SignalboxError {
  return new SignalboxError('overloaded', 'This gateway is shutting down; try again.', { retryAfterMs: 1_000 });
}

/** An exchange ends at its deadline; a hold that is open so much later was forgotten, ms. */
const EXPIRY_SLACK_MS = 60_000;

/** Sets the worst case aside: whoever answers, it suffices or is raised. */
async function reserve(
  { ledger, clock, now }: Gateway,
  { id, facts, ranked }: Decision,
  caller: Caller,
  agentWallet: string | null,
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
      amounts: [choice.bound, ...fallbacks.map(({ bound }) => bound)],
      limit: facts.budget,
      // Who waited must still have time for the answer.
      waitMs: Math.min(terms.contentionWaitMs, leftMs - choice.latencyMs),
      expiresAt: now() + leftMs + EXPIRY_SLACK_MS,
    }),
  );
  if (isShortage(reserved)) throw shortageError(reserved);
  return reserved;
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

/** An operator needs the status and the words of the upstream; a refused key is theirs to mend. */
function logFailure({ log }: Gateway, decision: Decision, { model, provider, failure }: FailedAttempt): void {
  const write = failure.kind === 'auth' ? log.error : log.warn;
  write(failure.kind === 'auth' ? 'a provider refuses its key' : 'an attempt failed', {
    decision: idText('dec_', decision.id),
    provider,
    model,
    kind: failure.kind,
    status: failure.status,
    upstream_message: failure.message,
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
