import { takenBy } from '../../access/idempotency/run.ts';
import type { StreamPart } from '../../contract/parts.ts';
import type { EntryLine, Tariff } from '../../core/accounting/entry.ts';
import type { Receipt } from '../../core/decision/answer.ts';
import type { DecisionOutcome } from '../../core/decision/outcome.ts';
import { type DecisionRecord, NO_SEED } from '../../core/decision/record.ts';
import type { SignalboxError } from '../../core/errors.ts';
import { idText } from '../../core/id.ts';
import type { Microcredits } from '../../core/money/credits.ts';
import type { Usage } from '../../core/money/usage.ts';
import type { GatewayPolicy } from '../../core/policy/snapshot.ts';
import type { Facts } from '../../core/request/facts.ts';
import type { HoldRequest } from '../../ledger/hold-request.ts';
import type { NextParts } from '../../providers/upstream-call.ts';
import { factsReaderOf } from '../../routing/facts.ts';
import { overloadedBy } from '../../store/unwritten.ts';
import type { RunningAnswer } from '../exchange/answer-source.ts';
import { withAnswerId } from '../exchange/edited-parts.ts';
import type { FundedHold } from '../money/funding.ts';
import { platformOf } from '../money/receipt.ts';
import { withGuards } from './decide.ts';
import { recordedOf } from './decision-record.ts';
import type { ServedRequest } from './served.ts';

/** An answer that a step gives without calling a model, for example from a cache. */
export interface OwnAnswer {
  /** The reason in the record and in `platform.route_reason`, such as `cache:exact`. */
  readonly reason: string;
  /** The model that the answer names. */
  readonly model: string;
  /**
   * The parts, or a function that returns the next ones, like `read` of an answer source. Events that are passed on get the ID of this answer.
   */
  readonly parts: readonly StreamPart[] | (() => NextParts);
  readonly usage: Usage;
  /** The price, microcredits. */
  readonly price: Microcredits;
  /** The tariff of the ledger entry. Create each tariff once, because the ledger compares tariffs by identity. */
  readonly tariff: Tariff;
  /** The facts of the request, if the step has read them. */
  readonly facts?: Facts;
  /** The ID of the decision whose answer is repeated; absent for none. */
  readonly repeats?: number;
  /** Fields of the request that the answer does not use, or uses in another form, as in `platform`. */
  readonly dropped?: readonly string[];
  readonly adapted?: readonly string[] | undefined;
  /** Further headers of the answer, by their lower-case names. */
  readonly headers?: Readonly<Record<string, string>>;
}

const UNWRITTEN = 'The answer cannot be recorded, so it is not given; try again.';

/** After this time, a hold that was not settled was forgotten, ms. */
const EXPIRES_AFTER_MS = 60_000;

/**
 * Answers a request without a model. The answer has a record, a ledger entry, a log line and metrics like the answer of a model. The price
 * is reserved first and then settled. An answer at price 0 needs no money, so an exhausted budget does not refuse it; its record, its entry
 * and the claim of its name are written in one commit; if guards inspect the answer, its record follows when they have read it. Its tokens
 * count under the rate limits.
 * @throws SignalboxError, by rejecting, if a rate limit refuses it, if the funds do not cover the price, or if the answer cannot be recorded
 */
export async function answerHere(served: ServedRequest, own: OwnAnswer): Promise<RunningAnswer> {
  const { gateway, context, prepared } = served;
  const { request, runtime } = prepared;
  const facts = own.facts ?? factsOf(served);
  const tokens = own.usage.inputTokens + own.usage.outputTokens;
  await context.life.beginWork(request.stream, tokens);
  context.work.routing = { facts, snapshot: runtime.snapshot, rejections: NO_REJECTIONS };
  context.work.startedAt = served.startedAt;
  context.enterFlight(gateway.inFlight);
  try {
    const id = gateway.nextId();
    const answer = own.price === 0 ? await free(served, own, id, facts) : await paid(served, own, id, facts);
    context.work.decisionId = idText('dec_', id);
    return answer;
  } finally {
    context.endWork(tokens);
  }
}

function factsOf({ context, prepared, terms }: ServedRequest): Facts {
  const { request, runtime } = prepared;
  const read = factsReaderOf(request);
  const reading = { reader: runtime.reader, cap: terms.cap, readings: runtime.readings() };
  return withGuards(read(request, terms.caller, runtime.snapshot, reading), context);
}

const NO_REJECTIONS: ArrayLike<number> = [];
const NO_FUNDS: RunningAnswer['funded'] = { headers: {}, errorOf: (error) => error };

async function free(served: ServedRequest, own: OwnAnswer, id: number, facts: Facts): Promise<RunningAnswer> {
  const { gateway, funded } = served;
  const claim = funded.named?.claim;
  const receipt = record(served, own, id, facts, 0, null);
  try {
    await gateway.ledger.enterFree(holdRequest(served, own, id, facts), lineOf(own), claim ? [claim.claim(id)] : []);
  } catch (cause) {
    throw overloadedBy(claim ? takenBy(cause) : cause, UNWRITTEN);
  }
  return new WrittenAnswer(served, own, id, receipt, NO_FUNDS);
}

async function paid(served: ServedRequest, own: OwnAnswer, id: number, facts: Facts): Promise<RunningAnswer> {
  const { funding, funded } = served;
  const money = await funding.reserve(holdRequest(served, own, id, facts), funded.named?.claim ?? null);
  let receipt: Receipt | null = null;
  await money.hold.settle(lineOf(own), ({ charged }) => {
    receipt = record(served, own, id, facts, charged, money);
    return money.settlementWrites(charged);
  });
  if (!receipt) throw new Error('an answer was settled without a receipt');
  return new WrittenAnswer(served, own, id, receipt, money);
}

const lineOf = ({ tariff, usage, price }: OwnAnswer): EntryLine => ({ tariff, usage, estimated: false, cost: price });

function holdRequest(served: ServedRequest, own: OwnAnswer, id: number, facts: Facts): HoldRequest {
  const { gateway, context, terms, prepared, funded } = served;
  const { session, agent } = context.work.run;
  return {
    id,
    caller: terms.caller,
    selector: facts.model,
    session: session ?? undefined,
    agent: agent ?? undefined,
    agentWallet: terms.agentWallet,
    holder: terms.holder,
    amounts: [own.price],
    least: null,
    limit: facts.budget,
    waitMs: prepared.runtime.snapshot.ledger.contentionWaitMs,
    signal: funded.named?.toTheEnd ? undefined : context.signal,
    expiresAt: gateway.now() + EXPIRES_AFTER_MS,
  };
}

/** Records the answer with the next commit, or, if guards inspect it, once they have read it. Returns its receipt. */
function record(
  { gateway, context, prepared, terms, startedAt }: ServedRequest,
  { reason, model, usage, repeats, dropped, adapted }: OwnAnswer,
  id: number,
  facts: Facts,
  charged: Microcredits,
  money: FundedHold | null,
): Receipt {
  const { request, runtime } = prepared;
  const { snapshot } = runtime;
  const totalMs = Math.round(gateway.clock() - startedAt);
  const outcome: DecisionOutcome = {
    status: 'completed',
    error: null,
    attempts: [],
    usage,
    estimated: false,
    charged,
    saved: 0,
    firstPartMs: totalMs,
    totalMs,
    cappedBy: null,
    usageReplaced: false,
    ...(adapted && { adapted }),
    ...(repeats !== undefined && { repeats }),
    ...context.work.recorded,
  };
  const platform = platformOf(
    outcome,
    { id, revision: snapshot.revision, reason, facts },
    model,
    model,
    dropped ?? prepared.dropped,
    money?.shown(charged) ?? null,
  );
  const made: DecisionRecord = {
    id,
    time: gateway.now(),
    ...recordedOf(request, terms.caller, snapshot, context),
    kind: request.operation,
    revision: snapshot.revision,
    readingsNumber: 0,
    seed: NO_SEED,
    facts,
    reason,
    choice: model,
    fallbacks: [],
    lastResorts: [],
    expectedLength: null,
    outcome,
  };
  context.exchange.result = { outcome, platform };
  const { work } = context;
  if (!work.guards?.output.length) gateway.records.add(made);
  else {
    // The guards have not read the answer yet.
    work.guards.whenAnswerRead = (error) => {
      const ended = error && ({ status: 'broken', error: error.code } as const);
      const judged = { ...outcome, ...work.recorded, ...ended };
      gateway.records.add({ ...made, outcome: judged });
      context.exchange.result = { outcome: judged, platform };
    };
  }
  return { usage, platform, saved: 0 };
}

const withHeaders = (
  funded: RunningAnswer['funded'],
  more: Readonly<Record<string, string>>,
): RunningAnswer['funded'] => ({
  headers: { ...funded.headers, ...more },
  errorOf: (error, isKept) => funded.errorOf(error, isKept),
});

/** An answer that is complete before it is read. */
class WrittenAnswer implements RunningAnswer {
  readonly decision: number;
  readonly created: number;
  readonly model: string;
  readonly inputTokens: number;
  readonly dropped: readonly string[];
  readonly receipt: Receipt;
  readonly error = null;
  readonly funded: RunningAnswer['funded'];
  readonly policy: GatewayPolicy;
  isDeserted = false;
  #left: OwnAnswer['parts'] | null;

  constructor(
    { gateway, prepared }: ServedRequest,
    own: OwnAnswer,
    id: number,
    receipt: Receipt,
    funded: RunningAnswer['funded'],
  ) {
    this.decision = id;
    this.created = Math.floor(gateway.now() / 1_000);
    this.model = own.model;
    this.inputTokens = own.usage.inputTokens;
    this.dropped = own.dropped ?? prepared.dropped;
    this.receipt = receipt;
    this.funded = own.headers ? withHeaders(funded, own.headers) : funded;
    this.policy = prepared.runtime.snapshot.gateway;
    this.#left = own.parts;
  }

  async open(): Promise<void> {}

  read(): NextParts {
    const left = this.#left;
    if (typeof left !== 'function') this.#left = null;
    const next = typeof left === 'function' ? left() : left;
    return next === null || next instanceof Promise ? next : withAnswerId(next, this.decision);
  }

  abandon(reason: SignalboxError | 'caller-gone'): void {
    this.isDeserted ||= reason === 'caller-gone';
    this.#left = null;
  }
}
