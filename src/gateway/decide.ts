import type { Caller } from '../core/caller.ts';
import type { Decision } from '../core/decision.ts';
import { type Facts, isIntentRead } from '../core/facts.ts';
import { timeOfId } from '../core/id.ts';
import { explorationOf } from '../core/learning-policy.ts';
import type { ModelRequest } from '../core/model-request.ts';
import type { Constraint, Preference } from '../core/rules.ts';
import { piecesIn, piecesOf, replaceRuns } from '../core/runs.ts';
import type { PolicySnapshot } from '../core/snapshot.ts';
import { type DecisionContext, isRefusal } from '../routing/decide.ts';
import { chatFacts, embeddingFacts, routeFacts } from '../routing/facts.ts';
import { refusalError } from '../routing/refuse.ts';
import type { RefusalNames } from '../routing/rejections.ts';
import { withRules } from '../routing/rules.ts';
import { countableTexts, questionOf } from '../routing/texts.ts';
import { type Runtime, strategyOf } from '../runtime/runtime.ts';
import { checkRequest } from './check-request.ts';
import { type DecideAs, type DecidedRequest, decideThread } from './decide-thread.ts';
import { decideWithin, type FundedTrial } from './decide-within.ts';
import { countInput, decisiveTokenizers } from './exact-count.ts';
import type { FundingTerms } from './funding.ts';
import { type Gateway, newSeed } from './gateway.ts';
import { mayGrow } from './growth.ts';
import { withLoopReaders } from './loop-readers.ts';
import { pagesOf } from './pdf-pages.ts';
import type { RequestContext } from './request-context.ts';
import { shortageError } from './shortage.ts';

/** The fields of a request that rules see beside the facts. */
export interface RuleFields {
  readonly stream: boolean;
  readonly user: string | null | undefined;
  readonly metadata: Readonly<Record<string, string>> | null | undefined;
}

/** The input of a decision. */
interface DecisionInput {
  readonly facts: Facts;
  readonly fields: RuleFields;
  /** Returns the texts whose size the facts state; none where the caller stated a figure instead. */
  readonly texts: () => readonly string[];
  /** The features of its last question; null without text. */
  readonly features: Uint8Array | null;
  /** Whether an answer will be made, so that another model than the best may be tried. */
  readonly isMade: boolean;
  /** Whether the caller's balance is left out, because it is yet to be paid in. */
  readonly windowsOnly?: boolean;
  /** The fields that a refusal names; absent for a decision of no request. */
  readonly names?: RefusalNames;
  /** Reads the request for its intent, too; null where it is read. */
  readonly reread?: (() => Pick<DecisionInput, 'facts' | 'features'>) | null;
  /** Gets the routing attempt; absent for a decision of no request. */
  readonly context?: RequestContext;
}

/** The terms of the funding that a decision keeps to. */
type DecisionTerms = Pick<FundingTerms, 'runtime' | 'caller' | 'cap' | 'windowsOnly'>;

/**
 * The step decide of a request for a model.
 * @param isMade whether it will be carried out, not only priced
 * @throws SignalboxError
 */
export function decideRequest(
  gateway: Gateway,
  request: ModelRequest,
  terms: DecisionTerms,
  isMade: boolean,
  context: RequestContext,
): DecidedRequest | Promise<DecidedRequest> {
  const factsOf = request.operation === 'embed' ? embeddingFacts : chatFacts;
  const texts = () => countableTexts(request);
  return decideByFacts(gateway, request, terms, context, factsOf, { isMade, texts, names: request.names });
}

/**
 * The step decide of a route request: the decision that a chat of the same facts would get, without a draw.
 * @throws SignalboxError
 */
export function decideRoute(
  gateway: Gateway,
  request: ModelRequest,
  terms: Omit<DecisionTerms, 'cap'>,
  context: RequestContext,
): DecidedRequest | Promise<DecidedRequest> {
  const { turns } = request.conversation;
  return decideByFacts(gateway, request, { ...terms, cap: null }, context, routeFacts, {
    isMade: false,
    texts: () => (request.routing.inputTokens === undefined ? countableTexts(request) : []),
    names:
      turns.length > 0 || request.embedding?.inputs.length
        ? request.names
        : { ...request.names, turns: 'estimated_input_tokens' },
  });
}

/** Checks a request, reads its facts and decides. */
function decideByFacts(
  gateway: Gateway,
  request: ModelRequest,
  { runtime, caller, cap, windowsOnly }: DecisionTerms,
  context: RequestContext,
  factsOf: typeof chatFacts,
  given: Pick<DecisionInput, 'isMade' | 'texts' | 'names'>,
): DecidedRequest | Promise<DecidedRequest> {
  context.step('profile');
  context.run = gateway.sessions.run(caller.keyId, request.headers.run);
  const { snapshot } = runtime;
  checkRequest(request, snapshot.gateway);
  const history = gateway.affinity.history(caller.keyId, request);
  const fields = { stream: request.stream, user: request.settings.user, metadata: request.routing.metadata };
  const decideAs: DecideAs = (fit, isMade = given.isMade) => {
    const read = (isWhole: boolean) => {
      const recalled = history.recall(factsOf(request, caller, snapshot, { cap, isWhole, pagesOf }), snapshot);
      const facts = fit(withLoopReaders(recalled, request, history, snapshot));
      // An estimate only ranks models.
      const isAsked = isIntentRead(facts);
      const features = isAsked ? gateway.learner.memories.read(runtime, questionOf(request.conversation.turns)) : null;
      return { facts, features };
    };
    let asRead = read(false);
    const reread =
      isIntentRead(asRead.facts) || request.embedding !== null
        ? null
        : () => {
            asRead = read(true);
            return asRead;
          };
    const input = { ...given, ...asRead, isMade, fields, reread, windowsOnly, context };
    const made = decide(gateway, input, caller, runtime);
    if (!(made instanceof Promise)) return { history, features: asRead.features, decision: made };
    return made.then((decision) => ({ history, features: asRead.features, decision }));
  };
  return decideThread(gateway.affinity.threads, { request, keyId: caller.keyId, runtime }, decideAs);
}

/**
 * Finds the rules that apply, and decides under them. Where only the bound of the prompt leaves no model, the prompt is
 * counted exactly, if it can be, and all is decided anew.
 * @throws SignalboxError when no model is left, or no money for it
 */
export function decide(
  gateway: Gateway,
  input: DecisionInput,
  caller: Caller,
  runtime: Runtime,
): Decision | Promise<Decision> {
  const trial = tryDecision(gateway, input, caller, runtime);
  if (input.reread && dependsOnLength(trial, runtime.snapshot)) {
    return decide(gateway, { ...input, ...input.reread(), reread: null }, caller, runtime);
  }
  const made = ({ outcome, shortage }: FundedTrial): Decision => {
    if (shortage) throw shortageError(shortage, caller, gateway);
    if (isRefusal(outcome)) throw refusalError(outcome, runtime.snapshot, input.names, gateway.now());
    return outcome;
  };
  const names = decisiveTokenizers(trial.outcome, trial.shortage !== null, runtime.snapshot);
  if (names.length === 0) return made(trial);
  const { facts, texts } = input;
  return countInput(gateway.counter, names, facts, texts()).then((inputTokensCounted) => {
    if (!inputTokensCounted) return made(trial);
    return made(tryDecision(gateway, { ...input, facts: { ...facts, inputTokensCounted } }, caller, runtime));
  });
}

function tryDecision(
  gateway: Gateway,
  { facts, fields, features, isMade, windowsOnly = false, context }: DecisionInput,
  caller: Caller,
  runtime: Runtime,
): FundedTrial {
  context?.step('shortlist');
  const ruled = ruledFacts(gateway, { facts, fields, caller, runtime });
  const { decider } = runtime;
  const { faults } = decider;
  const chosen = strategyOf(ruled, runtime);
  const given: DecisionContext = {
    id: gateway.nextId(),
    seed: newSeed(),
    readings: runtime.readings(),
    estimate: isIntentRead(ruled) ? gateway.learner.memories.estimate(runtime, ruled, features) : null,
    explore: isMade ? explorationOf(runtime.snapshot.learning, ruled) : null,
    ...chosen,
    onShortlist: context?.trace ? () => context.step('decide') : undefined,
  };
  const standing = gateway.ledger.standing(
    caller,
    facts.model,
    timeOfId(given.id),
    windowsOnly,
    context?.run.session ?? undefined,
  );
  const trial = standing
    ? decideWithin(standing, ruled, given, runtime)
    : { outcome: decider.decide(ruled, given), shortage: null };
  if (context) context.routing = { facts: ruled, snapshot: runtime.snapshot, rejections: decider.rejections };
  if (decider.faults > faults) {
    reportOnce(gateway, chosen.strategy, `the strategy of \`${facts.model}\` gave no usable scores`, null);
  }
  return trial;
}

/** The facts of a request and all else that the policy's rules go by. */
interface RuledRequest extends Pick<DecisionInput, 'facts' | 'fields'> {
  readonly caller: Caller;
  readonly runtime: Runtime;
}

/** Adds the rules that apply to the facts of a request. */
export function ruledFacts(gateway: Gateway, { facts, fields, caller, runtime }: RuledRequest): Facts {
  const { stream, user, metadata } = fields;
  return withRules(
    facts,
    runtime.snapshot,
    () => ({ stream, user: user ?? '', metadata: metadata ?? {}, caller, time: runtime.localTime(gateway.now()) }),
    (rule, error) => {
      const reason = () => withoutValues(String(error), fields);
      reportOnce(gateway, rule, `the condition of rule \`${rule.name}\` failed and counts as true`, reason);
    },
  );
}

/** Whether money makes the outcome depend on the least useful or the usual length of an answer, which go by its task. */
function dependsOnLength({ outcome, shortage }: FundedTrial, snapshot: PolicySnapshot): boolean {
  if (shortage !== null || isRefusal(outcome)) return true;
  return outcome.facts.funds !== null && (outcome.ranked[0].cappedBy !== null || mayGrow(snapshot, outcome));
}

/** CEL quotes values that it cannot read, which a caller wrote. Shorter ones disclose nothing. */
const VALUE_MIN = 4;

function withoutValues(text: string, { user, metadata }: RuleFields): string {
  const values = [user ?? '', ...Object.values(metadata ?? {})].filter(({ length }) => length >= VALUE_MIN);
  const left = values.reduce((rest, value) => rest.replaceAll(value, '[value]'), text);
  // An error may repeat a part of a value.
  const pieces = piecesOf([left]);
  return replaceRuns(left, new Set(values.flatMap((value) => [...piecesIn(value, pieces)])), () => '[value]');
}

/** Rules and strategies whose fault was logged: it would be the same with every request. */
const reported = new WeakSet<object>();

function reportOnce(
  { log }: Gateway,
  about: Constraint | Preference | object,
  message: string,
  error: (() => string) | null,
): void {
  if (reported.has(about)) return;
  reported.add(about);
  log.warn(message, error === null ? {} : { error: error() });
}
