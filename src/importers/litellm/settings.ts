import { numberOf } from './amounts.ts';
import { type Context, mapOf, textOf } from './context.ts';
import { millisecondsOf } from './entries.ts';
import { type Settings, settingOf } from './fallbacks.ts';
import { LEFT_OUT_GENERAL, LEFT_OUT_ROUTER, LEFT_OUT_SECTIONS, LEFT_OUT_SETTINGS, NEARLY_ROUTER } from './left-out.ts';
import { type Node, valueAt } from './tree.ts';

/** What the policy says for all models. */
export interface Common {
  readonly retriesMax: number | null;
  readonly alternatives: number | null;
  readonly concurrencyMax: number | null;
  /** Milliseconds, for models that have no deadline of their own. */
  readonly totalMs: number | null;
  readonly firstTokenMs: number | null;
  /** How selectors choose among models that are alike to the configuration. */
  readonly strategy: 'auto' | 'auto-fast' | 'auto-cheap';
}

const STRATEGIES: ReadonlyMap<string, readonly [Common['strategy'], string]> = new Map([
  ['simple-shuffle', ['auto', 'the best balance of quality, cost and time; traffic is not divided by chance']],
  ['least-busy', ['auto-fast', 'the balance of `auto` with latency weighing more, by what is measured']],
  ['latency-based-routing', ['auto-fast', 'the balance of `auto` with latency weighing more, by what is measured']],
  ['usage-based-routing', ['auto', 'the best balance of quality, cost and time; a provider’s 429 moves on']],
  ['usage-based-routing-v2', ['auto', 'the best balance of quality, cost and time; a provider’s 429 moves on']],
  ['cost-based-routing', ['auto-cheap', 'the balance of `auto` with cost weighing more']],
]);

/** Reads what holds for all models, and says what becomes of the other settings. */
export function readCommon(settings: Settings, general: Node | undefined, context: Context): Common {
  const { account } = context;
  const setting = (key: string) => settingOf(settings, key, context);
  const whole = (node: Node | undefined, max: number, to: readonly string[], min = 0): number | null => {
    const value = numberOf(node, account, 'a whole number');
    if (value === null) return null;
    const kept = Math.max(min, Math.min(max, Math.trunc(value)));
    if (kept === value) account.mapped(node, to);
    else account.approximated(node, to, `from ${min} to ${max}`);
    return kept;
  };
  const retriesMax = whole(setting('num_retries'), 10, ['gateway', 'retries_max']);
  const alternatives = whole(setting('max_fallbacks'), 16, ['gateway', 'alternatives']);
  const global = valueAt(general, 'global_max_parallel_requests');
  const concurrencyMax = whole(global, 20_000, ['gateway', 'concurrency_max'], 1);
  const timeout = setting('timeout');
  const older = valueAt(settings.library ?? undefined, 'request_timeout');
  if (timeout) account.leftOut(older, 'router_settings.timeout says it for each model');
  const totalMs = millisecondsOf(
    timeout ?? older,
    ['models'],
    account,
    'deadlines.total_ms of each model: over all attempts, where LiteLLM counts each',
  );
  const firstTokenMs = millisecondsOf(
    setting('stream_timeout'),
    ['models'],
    account,
    'deadlines.first_token_ms of each model',
  );
  const strategy = strategyOf(setting('routing_strategy'), context);
  tellRest(settings, context);
  return { retriesMax, alternatives, concurrencyMax, totalMs, firstTokenMs, strategy };
}

function strategyOf(node: Node | undefined, { account }: Context): Common['strategy'] {
  if (!node) return 'auto';
  const [strategy, how] = STRATEGIES.get(textOf(node) ?? '') ?? [];
  if (strategy === undefined) {
    account.problem(node, `it is none of ${[...STRATEGIES.keys()].join(', ')}`);
    return 'auto';
  }
  account.approximated(
    node,
    ['selectors'],
    `where one name stands for different models: ${strategy}, ${how}; deployments of one model are asked in their order`,
  );
  return strategy;
}

function tellRest({ router, library }: Settings, { account }: Context): void {
  for (const section of [router, library]) {
    for (const { key, node } of section?.entries ?? []) {
      const nearly = NEARLY_ROUTER.get(key);
      const why =
        section === router ? LEFT_OUT_ROUTER.get(key) : (LEFT_OUT_SETTINGS.get(key) ?? LEFT_OUT_ROUTER.get(key));
      if (nearly !== undefined) tellNearly(node, key, nearly, account);
      else if (why !== undefined) account.leftOut(node, why);
    }
  }
}

function tellNearly(node: Node, key: string, how: string, account: Context['account']): void {
  const isNumber = key !== 'enable_pre_call_checks';
  if (isNumber && numberOf(node, account, 'a number, not below 0') === null) return;
  if (!isNumber && node.kind === 'scalar' && node.isQuoted)
    account.remark(node, 'true or false is meant; this is a text');
  account.approximated(node, [], how);
}

/** Says what becomes of the sections and settings that mean nothing here. */
export function tellSections(root: Node, general: Node | undefined, { account }: Context): void {
  const map = mapOf(general, account, 'a map of settings');
  for (const { key, node } of map?.entries ?? []) {
    if (account.isTold(node)) continue;
    const why = LEFT_OUT_GENERAL.get(key);
    if (key === 'master_key' && !isTextOfKey(node)) account.remark(node, 'keys are texts that begin with sk-');
    if (key === 'maximum_spend_logs_retention_period')
      account.leftOut(node, 'the ledger is kept; `records.retention_days` (30) is for records of decisions');
    else if (why !== undefined) account.leftOut(node, why);
  }
  for (const { key, node } of root.kind === 'map' ? root.entries : []) {
    const why = LEFT_OUT_SECTIONS.get(key);
    if (why !== undefined) account.leftOut(node, why);
    else if (key.startsWith('x-')) account.leftOut(node, 'a place for anchors; no entry that is imported uses it');
  }
}

const isTextOfKey = (node: Node): boolean => node.kind === 'scalar' && (node.isQuoted || !/^[\d.]+$/.test(node.text));
