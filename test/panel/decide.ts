import { parseDocument } from 'yaml';
import { shipped } from '../../plugins/index.ts';
import { countInput, decisiveTokenizers } from '../../src/gateway/exact-count.ts';
import { createRegistry } from '../../src/plugin-host/registry.ts';
import { loadPolicy } from '../../src/policy/load.ts';
import { isRefusal } from '../../src/routing/decide.ts';
import { chatFacts } from '../../src/routing/facts.ts';
import { textsOf } from '../../src/routing/texts.ts';
import { decideFor, USUAL_TIME } from '../../src/runtime/reasons.ts';
import { buildRuntime, type Runtime } from '../../src/runtime/runtime.ts';
import { suppose } from '../../src/runtime/suppose.ts';
import { createTokenCounter, type TokenCounter } from '../../src/tokenizer/counter.ts';
import { shippedPolicy } from '../policy/support.ts';
import { faultsOf, isTask, lawsBroken, SELECTORS, type Selector } from './judge.ts';
import { type KeySet, MODELS } from './offers.ts';
import type { Case } from './panel.ts';

/** What a selector chose for a request of the panel, and what is wrong with it. */
export interface Choice {
  /** Null where the request was refused. */
  readonly model: string | null;
  /** Empty where a sensible engineer accepts it. */
  readonly faults: readonly string[];
}

/** A request of the panel under one set of keys. */
export interface Verdict {
  readonly id: string;
  /** The task as it was read. */
  readonly task: string;
  readonly isTaskRight: boolean;
  readonly choices: Readonly<Record<Selector, Choice>>;
  readonly lawsBroken: readonly string[];
}

type ShippedFile = ReturnType<typeof shippedPolicy>[number];

/** As somebody leaves the shipped file who has pulled some of its models only: the others deleted, with their cases. */
function withOnly(file: ShippedFile, models: readonly string[]): ShippedFile {
  const document = parseDocument(file.text);
  for (const id of MODELS) if (!models.includes(id)) document.deleteIn(['models', id]);
  document.delete('cases');
  return { ...file, text: String(document) };
}

/** The variable of a provider's key, where it is not the provider's name. */
const KEY_NAMES: Readonly<Record<string, string>> = { moonshotai: 'MOONSHOT_API_KEY' };
/** Providers without an address of their own: a variable holds it. */
const ADDRESSES: Readonly<Record<string, string>> = {
  'azure-openai': 'https://azure.example/openai/v1',
  ollama: 'http://127.0.0.1:11434/v1',
};

function environmentOf({ providers }: KeySet): ReadonlyMap<string, string> {
  const variable = (provider: string, what: string) => `${provider.toUpperCase().replaceAll('-', '_')}_${what}`;
  return new Map(
    providers.flatMap((provider) => [
      [KEY_NAMES[provider] ?? variable(provider, 'API_KEY'), 'x'] as const,
      ...(provider in ADDRESSES ? [[variable(provider, 'BASE_URL'), ADDRESSES[provider]!] as const] : []),
    ]),
  );
}

/** The shipped policy where these keys are set, and no others. */
export function runtimeWith(keys: KeySet): Runtime {
  const env = environmentOf(keys);
  const { only } = keys;
  const isLocal = ({ path }: ShippedFile) => path.endsWith('/models-local.yaml');
  const files = shippedPolicy().map((file) => (only && isLocal(file) ? withOnly(file, only) : file));
  const registry = createRegistry(shipped);
  const get = (name: string) => env.get(name);
  const { snapshot, diagnostics } = loadPolicy(files, { env: { get }, ...registry, revisionOf: () => 'panel' });
  if (!snapshot) throw new Error(JSON.stringify(diagnostics.slice(0, 3)));
  return buildRuntime(snapshot, registry, get);
}

interface Decided {
  readonly task: string;
  readonly model: string | null;
}

/** Decides as the gateway does for the same chat, before anything was seen of an upstream and nothing is learnt. */
async function decideOne(one: Case, model: Selector, runtime: Runtime, counter: TokenCounter): Promise<Decided> {
  const request = { ...one.body, model };
  const key = { id: 'panel', labels: {}, models: null };
  const supposed = { key, metadata: {}, user: '', stream: false, timeMs: Date.parse(USUAL_TIME) };
  const facts = suppose((caller) => chatFacts(request, caller, runtime.snapshot), supposed, runtime);
  let outcome = decideFor(facts, runtime);
  const names = decisiveTokenizers(outcome, false, runtime.snapshot);
  if (names.length > 0) {
    const inputTokensCounted = await countInput(counter, names, facts, textsOf(request.messages));
    if (inputTokensCounted) outcome = decideFor({ ...facts, inputTokensCounted }, runtime);
  }
  if (isRefusal(outcome)) return { task: facts.task, model: null };
  return { task: facts.task, model: runtime.snapshot.models[outcome.ranked[0].model]!.id };
}

/** Puts every request to every selector of the shipped policy, with these keys. */
export async function decideAll(cases: readonly Case[], keys: KeySet): Promise<Verdict[]> {
  const runtime = runtimeWith(keys);
  const counter = createTokenCounter((error) => {
    throw new Error(error);
  });
  const verdicts: Verdict[] = [];
  for (const one of cases) {
    const decided = new Map<Selector, Decided>();
    for (const selector of SELECTORS) decided.set(selector, await decideOne(one, selector, runtime, counter));
    const modelOf = (selector: Selector) => decided.get(selector)?.model ?? null;
    const judged = (selector: Selector): Choice => {
      const model = modelOf(selector);
      return { model, faults: faultsOf(model, selector, one, keys) };
    };
    const task = decided.get('auto')?.task ?? '';
    verdicts.push({
      id: one.id,
      task,
      isTaskRight: isTask(task, one),
      choices: { auto: judged('auto'), 'auto-cheap': judged('auto-cheap'), 'auto-fast': judged('auto-fast') },
      lawsBroken: lawsBroken(
        { auto: modelOf('auto'), 'auto-cheap': modelOf('auto-cheap'), 'auto-fast': modelOf('auto-fast') },
        one,
        keys,
      ),
    });
  }
  return verdicts;
}
