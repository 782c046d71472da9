import type { Readings } from '../../../core/decision/readings.ts';
import type { Facts } from '../../../core/request/facts.ts';
import type { ModelRequest } from '../../../core/request/model-request.ts';
import { UsageError } from '../../../core/usage-error.ts';
import { type DecidedRequest, firstTrancheOf } from '../../../gateway/money/growth.ts';
import { choiceWithin, holdTermsOf } from '../../../gateway/money/hold-terms.ts';
import { shortageErrorOf } from '../../../gateway/money/shortage.ts';
import type { FirstHold } from '../../../ledger/first-hold.ts';
import { type Runtime, strategyOf } from '../../../policy/runtime/runtime.ts';
import { inSlices } from '../../../policy/runtime/slices.ts';
import { runtimeFor } from '../../../policy/runtime/wildcard-runtime.ts';
import type { TokenCounter } from '../../../providers/tokenizer/counter.ts';
import { taskNote } from '../../../routing/advise.ts';
import { certify } from '../../../routing/certify.ts';
import { isRefusal } from '../../../routing/decide.ts';
import { outputCappedBy } from '../../../routing/output-maximum.ts';
import { influentialWords } from '../../../routing/profile/influential-words.ts';
import type { ProfileInput } from '../../../routing/profile/input.ts';
import type { PromptReader } from '../../../routing/profile/prompt-reader.ts';
import type { OnRuleFailure } from '../../../routing/rules.ts';
import { type CaseRun, caseNamed, runCase } from './cases.ts';
import { checkCommand, policyName } from './folder-words.ts';
import { exactFacts, guarded, type HypotheticalRequest, isCachedFor, tryFor, UNNAMED } from './hypothetical.ts';
import { factsOf, guardedCase, isCachedCase } from './reasons.ts';
import { settingsOf } from './settings.ts';
import { type JudgeTools, readPolicy } from './tools.ts';

/** The decision for a hypothetical request, with its reasons. */
export type HypotheticalExplanation = ReturnType<typeof explained>;

/** The explanation of a request that is not from a case, with details about its text and the rules. */
export type RequestExplanation = Awaited<ReturnType<typeof explainRequest>>;

/** A hold, and the output that the hold pays for. */
interface ExplainedHold extends FirstHold {
  /** The cap on the output in tokens, and its cause in the words of `outputCappedBy`; null if nothing lowers the cap. */
  readonly capped: { readonly by: string; readonly outputCap: number } | null;
}

/** The inputs of a decision about a hypothetical request, in addition to the policy. */
export interface ExplanationSources {
  /** The measurements of endpoints. Without this function, an explanation uses the figures of the policy. */
  readonly readings?: (runtime: Runtime) => Readings | undefined;
  /**
   * Adds what is remembered of earlier answers to the same prompt. Without this function, an explanation uses nothing from earlier answers.
   */
  readonly recall?: (facts: Facts, runtime: Runtime) => Facts;
  readonly counter?: TokenCounter;
}

/**
 * Explains the decision for a request without sending it.
 * @throws SignalboxError like the API
 */
export async function explainRequest(
  given: HypotheticalRequest,
  whole: Runtime,
  { readings, recall, counter }: ExplanationSources = {},
) {
  const runtime = runtimeFor(whole, given.request.model);
  const { hypothetical, verdicts, refusal } = await guarded(given, runtime);
  if (refusal) throw refusal;
  const { request } = hypothetical;
  const { turns } = request.conversation;
  const { task } = request.routing;
  const failedRules = new Map<string, unknown>();
  const measured = readings?.(runtime);
  const onFailure: OnRuleFailure = (rule, error) => failedRules.set(rule.name, error);
  const read = await exactFacts({ ...hypothetical, readings: measured }, runtime, onFailure, counter);
  const facts = recall?.(read, runtime) ?? read;
  return {
    ...explained(facts, runtime, { ...hypothetical, readings: measured }),
    // A sentence about a stated task type that the policy does not know; null if there is nothing to say.
    taskNote: taskNote(task, facts.task)?.trim() || null,
    // The estimate of the task is null if the caller states the task, or if the request has no messages.
    taskReasons: turns.length > 0 && task === undefined ? taskReasons(request, facts, runtime.reader) : null,
    // Rules whose condition failed and therefore counts as true, with the error.
    failedRules,
    // The verdicts of the policy's guards on the request.
    verdicts,
    // Whether an equal request would get the same answer from the cache.
    isCached: isCachedFor(hypothetical, runtime),
  };
}

type ExplainedRequest = Partial<Pick<HypotheticalRequest, 'funds' | 'caller' | 'readings'>> & {
  readonly request?: ModelRequest | null;
};

function explained(
  asked: Facts,
  runtime: Runtime,
  { request = null, funds = null, caller, readings }: ExplainedRequest,
) {
  const { snapshot } = runtime;
  const { outcome, shortage } = tryFor(asked, runtime, { funds, readings });
  // The facts of the outcome contain the money that the decision was based on.
  const { facts } = outcome;
  const given = { ...UNNAMED, ...strategyOf(facts, runtime), readings, caller, request };
  const certificate = certify(snapshot, facts, given);
  const decided = isRefusal(outcome) || shortage ? null : { runtime, decision: outcome, request };
  const firstHold = decided && (funds ? heldOf(funds.firstHold(holdTermsOf(decided)), decided) : trancheOf(decided));
  return {
    runtime,
    facts,
    certificate,
    // The first hold, taken from the money of the key. If the explanation does not consider the money, the member has only the first part
    // of a hold that grows. The member is null if the whole worst case is held, or if the request would wait or be refused.
    firstHold,
    // Whether the money of the key is considered.
    isFunded: funds !== null,
    // The error with which the request is refused because its key has too little money; null for none.
    shortage: shortage && shortageErrorOf(shortage, { keyId: caller?.keyId ?? '' }, snapshot.usdPerCredit),
  };
}

function trancheOf(decided: DecidedRequest): ExplainedHold | null {
  const first = firstTrancheOf(decided);
  return first && { amount: first.wanted, grows: true, capped: null };
}

function heldOf(hold: FirstHold | null, { decision, runtime }: DecidedRequest): ExplainedHold | null {
  if (!hold) return null;
  const { snapshot } = runtime;
  const choice = choiceWithin(hold, decision, snapshot);
  const by = outputCappedBy(choice, snapshot.models[choice.model]!, decision.facts);
  return { ...hold, capped: by === null ? null : { by, outputCap: choice.outputCap } };
}

/** Returns the words that decided which task is most likely. */
function taskReasons(request: ProfileInput, { task, mix }: Facts, reader: PromptReader) {
  const likeliest = mix[0]?.task ?? task;
  const words = influentialWords(request, likeliest, reader);
  // `share` is the probability of the task, 0..1. For some prompts, such as an image, there are no words.
  return { task: likeliest, share: mix[0]?.share ?? 1, words };
}

/**
 * Explains the request of a case as it is decided when the case runs. Every variable counts as set, unless the case can run only with the
 * variables that are set here, or with `onlyHere`.
 * @param name of the case, or a part of the name that no other case has
 * @returns the explanation, or the models and providers that the case lacks
 * @throws UsageError, or SignalboxError like the API
 */
export async function explainCase(name: string, folder: string, onlyHere: boolean, judge: JudgeTools) {
  const { settings, problems, missing } = await settingsOf(folder, await readPolicy(folder), judge, onlyHere);
  if (problems.length > 0)
    throw new UsageError(`${policyName(folder)}: the policy has errors. To list them, run ${checkCommand(folder)}.`);
  const cases = settings[0]?.runtime.snapshot.cases ?? [];
  const found = caseNamed(name, cases);
  const at = cases.indexOf(found);
  const never = () => false;
  const runs: { readonly setting: (typeof settings)[number]; readonly run: CaseRun }[] = [];
  for (const setting of settings) {
    const run = await inSlices(runCase(setting.runtime.snapshot.cases[at]!, setting.runtime), never);
    runs.push({ setting, run });
  }
  const ran = runs.find(({ run }) => run.outcome !== null);
  if (!ran) return { case: found, unserved: runs[0]!.run.missing };
  const { runtime: whole, names } = ran.setting;
  const runtime = runtimeFor(whole, found.given.model);
  const guards = await inSlices(guardedCase(found, runtime), never);
  return {
    ...explained(factsOf(found, guards, runtime), runtime, {}),
    isCached: isCachedCase(guards, runtime),
    case: found,
    failures: ran.run.failures,
    // The settings of variables in which the case was decided.
    settings: names,
    // Providers that cannot serve with the variables set here, each with the reason; empty if the setting does not depend on these
    // variables.
    missing: names.includes('here') ? missing : [],
  };
}
