import { whenReady } from '../../core/awaitable.ts';
import type { Decision } from '../../core/decision/decision.ts';
import { timeOfId } from '../../core/id.ts';
import { type Caller, rootOf } from '../../core/people/caller.ts';
import type { Constraint, Preference } from '../../core/policy/rules.ts';
import type { PolicySnapshot } from '../../core/policy/snapshot.ts';
import type { Thread } from '../../core/request/conversation.ts';
import { type Facts, isIntentRead } from '../../core/request/facts.ts';
import type { ModelRequest } from '../../core/request/model-request.ts';
import { NO_RUN } from '../../core/request/run-names.ts';
import type { Tokenizer } from '../../core/request/tokenizer.ts';
import { withoutRunsOf } from '../../core/text/runs.ts';
import { type Runtime, strategyOf } from '../../policy/runtime/runtime.ts';
import { type DecisionContext, isRefusal } from '../../routing/decide.ts';
import { type FactsReader, factsReaderOf } from '../../routing/facts.ts';
import { refusalError, rejectedModels } from '../../routing/refuse.ts';
import { hasRules, type OnRuleFailure, type RuleInputs, withRules } from '../../routing/rules.ts';
import { countableTexts } from '../../routing/texts.ts';
import type { DecisionTerms } from '../money/funding.ts';
import { mayGrow } from '../money/growth.ts';
import { shortageError } from '../money/shortage.ts';
import type { PromptHistory } from '../prompt/affinity.ts';
import { withLoopReaders } from '../prompt/loop-readers.ts';
import {
  type DecideAs,
  type DecisionResult,
  decideThread,
  type FactsFit,
  type RequestDecision,
} from './decide-thread.ts';
import { decideWithin, type FundedTrial } from './decide-within.ts';
import { countInput, decisiveTokenizers } from './exact-count.ts';
import type { Gateway } from './gateway.ts';
import type { RequestContext } from './request-context.ts';
import { isHeldBack, isRefused, ServiceCounter, standsInRequest } from './service-count.ts';

/** A request that is not yet decided. */
interface UndecidedRequest {
  readonly request: ModelRequest;
  readonly terms: DecisionTerms;
  readonly context: RequestContext;
  readonly history: PromptHistory;
  /** Computes the facts of the request. */
  readonly factsOf: FactsReader;
  /** Whether the request will be carried out, not only priced. */
  readonly isServed: boolean;
  /** Whether providers may be called to count its prompt. */
  readonly asksServices: boolean;
  /** Counts the prompt at providers; null before the first count. All decisions of a thread share it. */
  services: ServiceCounter | null;
}

/**
 * The step "decide" of a request for a model.
 * @param isServed whether the request will be carried out, not only priced. Then a provider may be called to count the prompt, if there are
 * funds for it.
 * @throws SignalboxError
 */
export function decideRequest(
  gateway: Gateway,
  request: ModelRequest,
  terms: DecisionTerms,
  isServed: boolean,
  context: RequestContext,
  factsOf = factsReaderOf(request),
): DecisionResult {
  const { caller } = terms;
  const { run } = request.headers;
  context.work.run = run === NO_RUN ? run : gateway.sessions.run(rootOf(caller), run);
  const history = gateway.affinity.history(rootOf(caller), request);
  const asksServices = isServed && !terms.windowsOnly;
  const undecided: UndecidedRequest = {
    request,
    terms,
    context,
    history,
    factsOf,
    isServed,
    asksServices,
    services: null,
  };
  const { thread } = request.conversation;
  return thread ? decideIn(thread, gateway, undecided) : decide(gateway, undecided, null);
}

function decideIn(thread: Thread, gateway: Gateway, undecided: UndecidedRequest): DecisionResult {
  const { runtime, caller } = undecided.terms;
  const decideAs: DecideAs = (fit) => decide(gateway, undecided, fit);
  return decideThread(gateway.threads, { thread, keyId: caller.keyId, runtime }, decideAs);
}

/**
 * Reads the facts of a request and decides it.
 * @param fit null if the request has no thread
 * @throws SignalboxError if no model is left, or the funds cover none
 */
function decide(gateway: Gateway, undecided: UndecidedRequest, fit: FactsFit | null): DecisionResult {
  const facts = readRequest(undecided, fit, false);
  return facts.tier === undefined
    ? decideRead(gateway, undecided, facts, fit)
    : decideTiered(gateway, undecided, facts, fit);
}

/** Decides a request of a selector with tiers, whose conversation may be escalated. The call throws like `decide`. */
function decideTiered(
  gateway: Gateway,
  undecided: UndecidedRequest,
  facts: Facts,
  fit: FactsFit | null,
): DecisionResult {
  const { terms, history, isServed } = undecided;
  const { snapshot } = terms.runtime;
  const followed = gateway.conversations.read(facts, history, snapshot);
  const admitted = gateway.conversations.admit(followed, history.keyId, snapshot, isServed);
  return whenReady(admitted, (facts) => decideRead(gateway, undecided, facts, fit));
}

/**
 * Decides a request whose facts are read, and repeats the decision in two cases. If the available money makes the outcome depend on the
 * intent, the intent is read first. If the upper bound of the prompt's tokens excludes every model or limits the answer, the prompt is
 * counted first. The call throws like `decide`.
 */
function decideRead(gateway: Gateway, undecided: UndecidedRequest, first: Facts, fit: FactsFit | null): DecisionResult {
  const { request, terms, context, history } = undecided;
  const { snapshot } = terms.runtime;
  let facts = first;
  let trial = tryDecision(gateway, facts, request, terms, context);
  if (!isIntentRead(facts) && request.inputs === null && dependsOnLength(trial, snapshot)) {
    facts = readRequest(undecided, fit, true);
    trial = tryDecision(gateway, facts, request, terms, context);
  }
  const tokenizers = isRefused(trial)
    ? decisiveTokenizers(trial.outcome, true, snapshot, countableTexts(request))
    : NO_TOKENIZERS;
  if (tokenizers.length > 0 || mayAskServices(undecided, facts, trial))
    return decideCounted(gateway, undecided, facts, trial, tokenizers);
  return { history, decision: decisionOf(gateway, trial, request, terms) };
}

/** Whether providers may be called for a count that may change the outcome. */
const mayAskServices = ({ request, terms, asksServices }: UndecidedRequest, { pdfs }: Facts, trial: FundedTrial) =>
  asksServices && pdfs > 0 && standsInRequest(request) && isHeldBack(trial, request, terms.runtime);

const NO_TOKENIZERS: readonly Tokenizer[] = [];

/**
 * Counts the prompt with tokenizers, then at providers, and decides again with the counts. Without any count, the earlier decision is the
 * result.
 */
async function decideCounted(
  gateway: Gateway,
  undecided: UndecidedRequest,
  facts: Facts,
  trial: FundedTrial,
  tokenizers: readonly Tokenizer[],
): Promise<RequestDecision> {
  const { request, terms, context, history } = undecided;
  const tryBy = (facts: Facts) => tryDecision(gateway, facts, request, terms, context);
  let counted = facts;
  let last = trial;
  const inputTokensCounted = await countInput(gateway.counter, tokenizers, facts, countableTexts(request));
  if (inputTokensCounted) {
    counted = { ...facts, inputTokensCounted };
    last = tryBy(counted);
  }
  if (mayAskServices(undecided, counted, last)) {
    const prompt = { request, history, runtime: terms.runtime, places: gateway.countPlaces };
    undecided.services ??= new ServiceCounter(prompt, context);
    const { services } = undecided;
    const tryUnseen = (facts: Facts) => tryDecision(gateway, facts, request, terms);
    const byServices = await services.factsFor(counted, tryUnseen);
    if (byServices !== counted) last = tryBy(byServices);
    if (services.failure && isRefused(last)) throw services.failure;
  }
  return { history, decision: decisionOf(gateway, last, request, terms) };
}

/**
 * Reads the facts of a request.
 * @param isWhole whether to read the request's intent in any case
 */
function readRequest(
  { request, terms, history, factsOf, context }: UndecidedRequest,
  fit: FactsFit | null,
  isWhole: boolean,
): Facts {
  const { runtime, caller, cap } = terms;
  const { snapshot, reader } = runtime;
  const asked = factsOf(request, caller, snapshot, { reader, cap, isWhole, readings: runtime.readings() });
  const recalled = withGuards(history.recall(asked, snapshot), context);
  const read = history.bearsState ? withLoopReaders(recalled, request, history, snapshot) : recalled;
  return fit ? fit(read) : read;
}

/** Adds what guards found in the request to its facts. */
export function withGuards(facts: Facts, { work: { guards } }: Pick<RequestContext, 'work'>): Facts {
  const counts = guards?.verdicts.inputCounts;
  return counts ? { ...facts, guards: counts } : facts;
}

/**
 * Finds the rules that apply, and decides under these rules within the caller's funds.
 * @param context receives the routing attempt; absent for a decision that belongs to no request
 */
function tryDecision(
  gateway: Gateway,
  facts: Facts,
  request: ModelRequest,
  { runtime, caller, windowsOnly }: Omit<DecisionTerms, 'cap'>,
  context?: RequestContext,
): FundedTrial {
  context?.step('shortlist');
  const { snapshot, decider } = runtime;
  const { faults } = decider;
  const ruled = ruledFacts(gateway, facts, request, caller, runtime);
  const { strategy, reason } = strategyOf(ruled, runtime);
  const given: DecisionContext = {
    id: gateway.nextId(),
    seed: newSeed(),
    readings: runtime.readings(),
    strategy,
    reason,
    onShortlist: context?.trace ? stepOf(context) : undefined,
  };
  const session = context?.work.run.session ?? undefined;
  const funds = gateway.ledger.availableFunds(caller, facts.model, timeOfId(given.id), windowsOnly, session);
  const trial = funds
    ? decideWithin(funds, ruled, given, runtime)
    : { outcome: decider.decide(ruled, given), shortage: null, funds };
  if (context) context.work.routing = { facts: trial.outcome.facts, snapshot, rejections: decider.rejections };
  if (decider.faults > faults) {
    reportOnce(gateway, runtime, strategy, `the strategy of \`${facts.model}\` returned no usable scores`, null);
  }
  return trial;
}

const stepOf = (context: RequestContext) => () => context.step('decide');

/** @throws SignalboxError if the trial found no model, or the funds cover none */
function decisionOf(
  gateway: Gateway,
  { outcome, shortage }: FundedTrial,
  request: ModelRequest,
  { runtime, caller }: DecisionTerms,
): Decision {
  if (shortage) {
    const isOfSeveral = isRefusal(outcome) && outcome.facts.fallbacks !== undefined && outcome.facts.named !== null;
    const rejected = isOfSeveral ? rejectedModels(outcome, runtime.snapshot, { request, caller }) : [];
    throw shortageError(shortage, caller, gateway, rejected);
  }
  if (isRefusal(outcome)) throw refusalError(outcome, runtime.snapshot, { request, now: gateway.now(), caller });
  return outcome;
}

/** Adds the rules that apply to a request to its facts. */
export function ruledFacts(
  gateway: Gateway,
  facts: Facts,
  { stream, settings, routing }: Pick<ModelRequest, 'stream' | 'settings' | 'routing'>,
  caller: Caller,
  runtime: Runtime,
): Facts {
  if (!hasRules(runtime.snapshot)) return facts;
  const { user = '' } = settings;
  const { metadata } = routing;
  const time = runtime.localTime(gateway.now());
  const inputs = { stream, user, metadata, caller, time, readings: runtime.readings() };
  return withRules(facts, runtime.snapshot, inputs, failureReport(gateway, runtime, inputs));
}

const failureReport =
  (gateway: Gateway, runtime: Runtime, inputs: RuleInputs): OnRuleFailure =>
  (rule, error) => {
    const reason = () => withoutValues(String(error), inputs);
    reportOnce(gateway, runtime, rule, `the condition of rule \`${rule.name}\` failed and counts as true`, reason);
  };

/**
 * Whether the outcome depends on the expected length of the answer, because money is short. That length depends on the task, so the intent
 * must be read.
 */
function dependsOnLength({ outcome, shortage }: FundedTrial, snapshot: PolicySnapshot): boolean {
  if (shortage !== null || isRefusal(outcome)) return true;
  return outcome.facts.funds !== null && (outcome.ranked[0].cappedBy !== null || mayGrow(snapshot, outcome));
}

/** CEL quotes values that it cannot read, and callers wrote these values. Shorter values disclose nothing. */
const VALUE_MIN = 4;

function withoutValues(text: string, { user, metadata }: Pick<RuleInputs, 'user' | 'metadata'>): string {
  const values = [user, ...Object.values(metadata ?? {})].filter(({ length }) => length >= VALUE_MIN);
  const left = values.reduce((rest, value) => rest.replaceAll(value, '[value]'), text);
  // An error may also repeat only a part of a value.
  return withoutRunsOf(left, values, '[value]');
}

function reportOnce(
  { log }: Gateway,
  { reported }: Runtime,
  about: Constraint | Preference | object,
  message: string,
  error: (() => string) | null,
): void {
  if (reported.has(about)) return;
  reported.add(about);
  log.warn(message, error === null ? {} : { error: error() });
}

/** @returns 64 random bits in hexadecimal */
export function newSeed(): string {
  // Only the first and last digits of a UUID are random; the version digit is between them.
  const uuid = crypto.randomUUID();
  return uuid.slice(0, 8) + uuid.slice(-8);
}
