import { readFileSync } from 'node:fs';
import { parseDocument } from 'yaml';
import { shipped } from '../../plugins/index.ts';
import { decideFor, hypotheticalFacts } from '../../src/admin/use-cases/policy/hypothetical.ts';
import { USUAL_TIME } from '../../src/admin/use-cases/policy/reasons.ts';
import type { Decision, Refusal } from '../../src/core/decision/decision.ts';
import { OPERATOR } from '../../src/core/people/caller.ts';
import type { Facts } from '../../src/core/request/facts.ts';
import { countInput, decisiveTokenizers } from '../../src/gateway/request/exact-count.ts';
import { createRegistry } from '../../src/host/plugins/registry.ts';
import { buildRuntime, type Runtime } from '../../src/policy/runtime/runtime.ts';
import { createTokenCounter } from '../../src/providers/tokenizer/counter.ts';
import { isRefusal } from '../../src/routing/decide.ts';
import { withFirstTier } from '../../src/routing/tiers.ts';
import { loadShipped, loadShippedPolicy } from '../policy/shipped.ts';
import { shippedPolicy } from '../policy/support.ts';
import { textsOf } from '../support/chat-body.ts';
import { chatRequest } from '../support/model-request.ts';
import { type Choices, faultsOf, isTask, lawsBroken, type Selector } from './judge.ts';
import { WORTHS } from './kinds.ts';
import { type KeySet, MODELS, OWN_MODELS } from './offers.ts';
import type { Case } from './panel.ts';

/** The model that a selector chose for a request of the panel, and the faults of the choice. */
export interface Choice {
  /** The chosen model; null if the request was refused. */
  readonly model: string | null;
  /** The faults of the choice; empty if a sensible engineer accepts it. */
  readonly faults: readonly string[];
}

/** The result for a request of the panel with one set of keys. */
export interface Verdict {
  readonly id: string;
  /** The task as Signalbox read it. */
  readonly task: string;
  readonly isTaskRight: boolean;
  readonly choices: Readonly<Record<Selector, Choice>>;
  readonly lawsBroken: readonly string[];
}

type ShippedFile = ReturnType<typeof shippedPolicy>[number];

/** Returns the policy file of a user who keeps the entries of some models that `catalog update` prints. */
function fileOf(models: readonly string[]): ShippedFile {
  const document = parseDocument(readFileSync(OWN_MODELS, 'utf8'));
  for (const id of MODELS) if (!models.includes(id)) document.deleteIn(['models', id]);
  return { path: 'policies/mine.yaml', text: String(document) };
}

/** The variables of providers' keys, if they differ from the provider's name. */
const KEY_NAMES: Readonly<Record<string, string>> = { moonshotai: 'MOONSHOT_API_KEY' };
/** The variables of providers whose address is not in the policy. */
const ADDRESSES: Readonly<Record<string, string>> = {
  'azure-openai': 'https://azure.example/openai/v1',
  ollama: 'http://127.0.0.1:11434/v1',
};

function environmentOf({ providers }: KeySet): Readonly<Record<string, string>> {
  const variable = (provider: string, what: string) => `${provider.toUpperCase().replaceAll('-', '_')}_${what}`;
  return Object.fromEntries(
    providers.flatMap((provider) => [
      [KEY_NAMES[provider] ?? variable(provider, 'API_KEY'), 'x'] as const,
      ...(provider in ADDRESSES ? [[variable(provider, 'BASE_URL'), ADDRESSES[provider]!] as const] : []),
    ]),
  );
}

const runtimes = new WeakMap<KeySet, Runtime>();

/** Returns the shipped policy with only these keys set. */
export const runtimeWith = (keys: KeySet): Runtime => runtimes.getOrInsertComputed(keys, buildWith);

function buildWith(keys: KeySet): Runtime {
  const env = environmentOf(keys);
  const { only } = keys;
  const { snapshot, diagnostics } = only
    ? loadShipped([...shippedPolicy(), fileOf(only)], env)
    : loadShippedPolicy(env);
  if (!snapshot) throw new Error(JSON.stringify(diagnostics.slice(0, 3)));
  return buildRuntime(snapshot, createRegistry(shipped), { get: (name) => env[name] });
}

const counter = createTokenCounter((error) => {
  throw new Error(error);
});

/** Returns the facts of a chat as the gateway reads them. */
export function factsFor(one: Case, model: Selector, runtime: Runtime, reading?: Reading): Facts {
  const request = { ...one.body, model };
  const facts = hypotheticalFacts(
    { request: chatRequest(request), caller: OPERATOR, timeMs: Date.parse(USUAL_TIME) },
    runtime,
  );
  return reading ? withReading(facts, reading(one), runtime) : facts;
}

/** Replaces what Signalbox read in the prompt of a request. Sizes, languages and needs stay as Signalbox read them. */
export type Reading = (one: Case) => Pick<Facts, 'task' | 'difficulty'>;

/** Returns the facts of the same request after a signal of failure. */
export const escalated = (facts: Facts): Facts => ({ ...facts, escalation: { signal: 'correction', turnsAgo: 0 } });

/** Reads every request as a usual request of the task `general`. */
export const constantReading: Reading = () => ({ task: 'general', difficulty: 'usual' });

/** Reads the task and difficulty that the panel states. */
export const rightReading: Reading = ({ task, worth }) => ({ task, difficulty: WORTHS[worth].difficulty });

function withReading(facts: Facts, read: ReturnType<Reading>, { snapshot }: Runtime): Facts {
  const { difficulty, task } = read;
  return withFirstTier({ ...facts, mix: [], task, difficulty }, snapshot, () => (difficulty === 'hard' ? 1 : 0));
}

/** Decides as the gateway does for the same chat before it has measured any upstream, and without learning. */
export async function decideOne(
  one: Case,
  model: Selector,
  runtime: Runtime,
  reading?: Reading,
): Promise<Decision | Refusal> {
  const facts = factsFor(one, model, runtime, reading);
  const outcome = decideFor(facts, runtime);
  const texts = textsOf(one.body.messages);
  const names = decisiveTokenizers(outcome, false, runtime.snapshot, texts);
  if (names.length === 0) return outcome;
  const inputTokensCounted = await countInput(counter, names, facts, texts);
  return inputTokensCounted ? decideFor({ ...facts, inputTokensCounted }, runtime) : outcome;
}

/** Returns the choice of every selector of the shipped policy for every request, with these keys. */
export async function chooseAll(cases: readonly Case[], runtime: Runtime, reading?: Reading): Promise<Choices[]> {
  const choices: Choices[] = [];
  for (const one of cases) {
    const choose = async (selector: Selector) => modelOf(await decideOne(one, selector, runtime, reading), runtime);
    choices.push({
      auto: await choose('auto'),
      'auto-cheap': await choose('auto-cheap'),
      'auto-fast': await choose('auto-fast'),
    });
  }
  return choices;
}

/** Decides every request for every selector of the shipped policy, with these keys. */
export async function decideAll(cases: readonly Case[], keys: KeySet): Promise<Verdict[]> {
  const runtime = runtimeWith(keys);
  const chosen = await chooseAll(cases, runtime);
  return cases.map((one, at) => {
    const models = chosen[at]!;
    const judged = (selector: Selector): Choice => ({
      model: models[selector],
      faults: faultsOf(models[selector], selector, one, keys),
    });
    const { task } = factsFor(one, 'auto', runtime);
    return {
      id: one.id,
      task,
      isTaskRight: isTask(task, one),
      choices: { auto: judged('auto'), 'auto-cheap': judged('auto-cheap'), 'auto-fast': judged('auto-fast') },
      lawsBroken: lawsBroken(models, one, keys),
    };
  });
}

/** Returns the model that a decision for these facts chooses, without counting tokens; null if the request is refused. */
export const decideFacts = (facts: Facts, runtime: Runtime): string | null =>
  modelOf(decideFor(facts, runtime), runtime);

const modelOf = (outcome: Decision | Refusal, { snapshot }: Runtime): string | null =>
  isRefusal(outcome) ? null : snapshot.models[outcome.ranked[0].model]!.id;
