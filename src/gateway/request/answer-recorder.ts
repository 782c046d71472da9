import type { StreamPart } from '../../contract/parts.ts';
import type { Platform } from '../../core/decision/answer.ts';
import type { DecisionOutcome } from '../../core/decision/outcome.ts';
import type { DecisionRecord } from '../../core/decision/record.ts';
import { idText, timeOfId } from '../../core/id.ts';
import { REDACTIONS } from '../../core/policy/content.ts';
import type { Upstream } from '../../policy/runtime/upstream.ts';
import type { Write } from '../../store/store.ts';
import { type FailedAttempt, failureText, withoutAddresses } from '../exchange/failure.ts';
import type { ExchangeRecorder, RunnableRequest } from '../exchange/runnable-request.ts';
import { loggableMessage } from '../exchange/upstream-message.ts';
import { AnswerId } from '../prompt/threads.ts';
import { recordContent } from '../records/contents.ts';
import { redact } from '../records/redact.ts';
import { recordDecision, recordedOf } from './decision-record.ts';
import type { Gateway } from './gateway.ts';
import type { RequestContext } from './request-context.ts';

const NO_WRITES: readonly Write[] = [];

/** The most characters of a provider's message in a record. */
const MESSAGE_MAX = 500;
/** Characters that are read beyond the limit and then discarded, so that redaction recognizes values that the limit would cut. */
const MARGIN = 512;

/** Stores what outlives an answer: its decision record, the answer's content if the policy keeps it, and the answer's thread. */
export class AnswerRecorder implements ExchangeRecorder {
  readonly #gateway: Gateway;
  readonly #runnable: RunnableRequest;
  readonly #context: RequestContext;
  readonly #content: ReturnType<typeof recordContent>;
  readonly #answerId: AnswerId | null;

  constructor(gateway: Gateway, runnable: RunnableRequest, context: RequestContext) {
    const { request, decision, caller, runtime, history } = runnable;
    const { content } = runtime.snapshot.records;
    this.#gateway = gateway;
    this.#runnable = runnable;
    this.#context = context;
    gateway.conversations.noteSent(decision.facts, history.keyId);
    this.#content = content && recordContent(gateway.records.contents, content, request, decision.facts.model, caller);
    this.#answerId = request.conversation.thread ? new AnswerId() : null;
  }

  /** Reads the parts of the answer before the caller receives them. */
  hear(parts: readonly StreamPart[]): void {
    // If guards inspect the answer, its content is recorded as they leave it.
    if (!this.#context.work.guards?.output.length) this.#content?.add(parts);
    this.#answerId?.hear(parts);
  }

  hearGuarded(parts: readonly StreamPart[]): void {
    this.#content?.add(parts);
  }

  /** Notes the end of the answer. Returns the writes to store together with the settlement. */
  settlementWrites(outcome: DecisionOutcome, platform: Platform, upstream: Upstream | null): readonly Write[] {
    const gateway = this.#gateway;
    const { request, decision, caller, runtime, history } = this.#runnable;
    const context = this.#context;
    const { recorded: ofSteps } = context.work;
    const judged = ofSteps ? { ...outcome, ...ofSteps } : outcome;
    context.exchange.result = { outcome: judged, platform };
    const recorded = recordedOf(request, caller, runtime.snapshot, context);
    const readings = recordDecision(gateway, request.operation, decision, recorded, runtime.snapshot, judged);
    if (outcome.status === 'completed') gateway.conversations.noteAnswer(decision.facts, history, runtime.snapshot);
    if (!this.#answerId && !this.#content) return readings;
    const writes = [...readings];
    if (this.#answerId) writes.push(...this.#threadWrites(this.#answerId.value, outcome, upstream));
    if (this.#content) writes.push(...this.#content.writes(decision.id, gateway.now()));
    return writes;
  }

  /** Makes the decision record in its current state. This method does not store the record. */
  running(): DecisionRecord {
    const { request, decision, caller, runtime } = this.#runnable;
    const { records, nextId } = this.#gateway;
    const { readings } = records;
    const made: DecisionRecord[] = [];
    const recorded = recordedOf(request, caller, runtime.snapshot, this.#context);
    const gateway = { records: { readings, add: made.push.bind(made) }, nextId, now: () => timeOfId(decision.id) };
    records.append(recordDecision(gateway, request.operation, decision, recorded, runtime.snapshot, null));
    return made[0]!;
  }

  /** Stores a complete answer, so that its thread can continue from it. */
  #threadWrites(id: string | null, { status, usage }: DecisionOutcome, upstream: Upstream | null): readonly Write[] {
    const { caller, decision } = this.#runnable;
    if (status !== 'completed' || id === null || !upstream || !usage) return NO_WRITES;
    return this.#gateway.threads.keep(caller.keyId, { id, upstream, usage, facts: decision.facts });
  }

  /**
   * Logs the status and message of the upstream for operators. The endpoint's health reports the effect on the endpoint.
   * @returns the message for the record, without personal data, secrets and addresses
   */
  logFailure(attempt: FailedAttempt): string {
    const { decision, request } = this.#runnable;
    const { model, provider, upstream, failure, requestId, key } = attempt;
    const message = loggableMessage(attempt, request);
    this.#gateway.log.warn('an attempt failed', {
      decision: idText('dec_', decision.id),
      provider,
      model,
      upstream,
      key,
      kind: failure.kind,
      detail: failureText(attempt, upstream),
      status: failure.status,
      upstream_request_id: requestId ?? undefined,
      upstream_message: message,
    });
    return redact(withoutAddresses(message.slice(0, MESSAGE_MAX + MARGIN)), REDACTIONS)
      .slice(0, MESSAGE_MAX)
      .toWellFormed();
  }
}
