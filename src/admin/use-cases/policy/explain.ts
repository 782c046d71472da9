import { commandName } from '../../../core/command-name.ts';
import type { Estimate } from '../../../core/estimate.ts';
import type { Facts } from '../../../core/facts.ts';
import type { ModelRequest } from '../../../core/model-request.ts';
import type { Readings } from '../../../core/readings.ts';
import { UsageError } from '../../../core/usage-error.ts';
import { type DecidedRequest, firstTrancheOf } from '../../../gateway/money/growth.ts';
import { choiceWithin, holdTermsOf } from '../../../gateway/money/hold-terms.ts';
import { shortageErrorOf } from '../../../gateway/money/shortage.ts';
import { QuestionLengths } from '../../../gateway/prompt/question-lengths.ts';
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
import { questionLengthOf } from '../../../routing/question-length.ts';
import type { OnRuleFailure } from '../../../routing/rules.ts';
import { readStore, storeExists } from '../../../store/open.ts';
import { caseNamed, runCase } from './cases.ts';
import { exactFacts, type HypotheticalRequest, tryFor, UNNAMED } from './hypothetical.ts';
import { factsOf } from './reasons.ts';
import { settingsOf } from './settings.ts';
import { type JudgeTools, readPolicy } from './tools.ts';

/** The decision for a hypothetical request, with its reasons. */
export type HypotheticalExplanation = ReturnType<typeof explained>;

/** The same for a request that is not of a case, with what its text and the rules showed. */
export type RequestExplanation = Awaited<ReturnType<typeof explainRequest>>;

/** A hold, and the output that it pays for. */
interface ExplainedHold extends FirstHold {
  /** What lowers the cap, by `outputCappedBy`, and the cap in tokens; null for nothing. */
  readonly capped: { readonly by: string; readonly outputCap: number } | null;
}

/** Explains a request by the policy's figures and the questions' lengths of a database, which need not exist. Throws as `explainRequest` does. */
export async function explainStored(hypothetical: HypotheticalRequest, whole: Runtime, database: string) {
  using reader = (await storeExists(database)) ? await readStore(database, ['learning']) : null;
  const lengths = new QuestionLengths(await reader?.learning.lengths.find());
  return await explainRequest(hypothetical, whole, { lengths });
}

/** The knowledge beside the policy that a hypothetical request is decided by. */
export interface ExplanationSources {
  /** The usual lengths of questions. */
  readonly lengths: Pick<QuestionLengths, 'estimate'>;
  /** The measurements of endpoints. Default: the policy's figures. */
  readonly readings?: (runtime: Runtime) => Readings | undefined;
  /** Adds what is remembered of earlier answers to the same prompt. Default: nothing. */
  readonly recall?: (facts: Facts, runtime: Runtime) => Facts;
  readonly counter?: TokenCounter;
}

/**
 * Explains the decision for a request that was never sent.
 * @throws SignalboxError as the API would.
 */
export async function explainRequest(
  hypothetical: HypotheticalRequest,
  whole: Runtime,
  { lengths, readings, recall, counter }: ExplanationSources,
) {
  const { request } = hypothetical;
  const { turns } = request.conversation;
  const { task } = request.routing;
  const failedRules = new Map<string, unknown>();
  const runtime = runtimeFor(whole, hypothetical.request.model);
  const measured = readings?.(runtime);
  const onFailure: OnRuleFailure = (rule, error) => failedRules.set(rule.name, error);
  const read = await exactFacts({ ...hypothetical, readings: measured }, runtime, onFailure, counter);
  const facts = recall?.(read, runtime) ?? read;
  const length = runtime.snapshot.isOfWildcard ? null : questionLengthOf(turns);
  const estimate = lengths.estimate(runtime.snapshot, facts, length);
  return {
    ...explained(facts, estimate, runtime, { ...hypothetical, readings: measured }),
    // A sentence about a stated task type that the policy does not know; null for none.
    taskNote: taskNote(task, facts.task)?.trim() || null,
    // Null where the caller states the task, or without messages.
    taskReasons: turns.length > 0 && task === undefined ? await taskReasons(request, facts) : null,
    // Rules whose condition failed and counts as true, with the error.
    failedRules,
  };
}

type ExplainedRequest = Partial<Pick<HypotheticalRequest, 'funds' | 'key' | 'readings'>> & {
  readonly request?: ModelRequest | null;
};

function explained(
  asked: Facts,
  estimate: Estimate | null,
  runtime: Runtime,
  { request = null, funds = null, key, readings }: ExplainedRequest,
) {
  const { snapshot } = runtime;
  const { outcome, shortage } = tryFor(asked, runtime, { funds, estimate, readings });
  // With the money that it was decided on.
  const { facts } = outcome;
  const certificate = certify(snapshot, facts, { ...UNNAMED, ...strategyOf(facts, runtime), estimate, readings });
  const decided = isRefusal(outcome) || shortage ? null : { runtime, decision: outcome, request };
  const firstHold = decided && (funds ? heldOf(funds.firstHold(holdTermsOf(decided)), decided) : trancheOf(decided));
  return {
    runtime,
    facts,
    certificate,
    // The hold with which its answer begins: of the money of its key, or where that is not considered, the first tranche of one that
    // grows. Null where the whole worst case is held, or where the request would wait or be refused.
    firstHold,
    // Whether the money of its key is considered.
    isFunded: funds !== null,
    // The error with which it is refused because its key has too little money; null for none.
    shortage: shortage && shortageErrorOf(shortage, { keyId: key?.id ?? '' }),
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

/** Returns the words that decided the likeliest task of a request. */
async function taskReasons(request: ProfileInput, { task, mix }: Facts) {
  const likeliest = mix[0]?.task ?? task;
  const words = await inSlices(influentialWords(request, likeliest), () => false);
  // With the probability of the task, 0..1. No word counts, for example, for an image.
  return { task: likeliest, share: mix[0]?.share ?? 1, words };
}

/**
 * Explains the request of a case as it is decided when the case runs: with every variable set, unless only the variables
 * that are set here let it run, or with `onlyHere`.
 * @param name the case's name, or a part of it that no other case has.
 * @returns the explanation, or the parts for whose lack the case cannot run.
 * @throws UsageError, or SignalboxError as the API would.
 */
export async function explainCase(name: string, folder: string, onlyHere: boolean, judge: JudgeTools) {
  const { settings, problems, missing } = await settingsOf(folder, await readPolicy(folder), judge, onlyHere);
  if (problems.length > 0)
    throw new UsageError(`${folder}: the policy has errors. Run ${commandName()} policy check to list them.`);
  const cases = settings[0]?.runtime.snapshot.cases ?? [];
  const found = caseNamed(name, cases);
  const at = cases.indexOf(found);
  const runs = settings.map((setting) => ({
    setting,
    run: runCase(setting.runtime.snapshot.cases[at]!, setting.runtime),
  }));
  const ran = runs.find(({ run }) => run.outcome !== null);
  if (!ran) return { case: found, unserved: runs[0]!.run.missing };
  const { runtime: whole, names } = ran.setting;
  const runtime = runtimeFor(whole, found.given.model);
  return {
    ...explained(factsOf(found, runtime), null, runtime, {}),
    case: found,
    failures: ran.run.failures,
    // The environments in which it was decided.
    settings: names,
    // Providers that the variables set here leave out, with the reason; empty where they do not matter.
    missing: names.includes('here') ? missing : [],
  };
}
