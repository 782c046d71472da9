import type { SpreadMode } from '../../../core/policy/spread.ts';
import { numberOf } from './amounts.ts';
import { type ImportContext, mapOf } from './context.ts';
import { millisecondsOf } from './entries.ts';
import { type LitellmSettings, settingOf } from './fallbacks.ts';
import {
  APPROXIMATED_ROUTER,
  LEFT_OUT_GENERAL,
  LEFT_OUT_ROUTER,
  LEFT_OUT_SECTIONS,
  LEFT_OUT_SETTINGS,
} from './left-out.ts';
import type { OutcomeRecorder } from './outcomes.ts';
import { type ConfigNode, scalarText, valueAt } from './tree.ts';

/** Settings of the policy that apply to all models. */
export interface CommonSettings {
  readonly retriesMax: number | null;
  readonly alternatives: number | null;
  readonly concurrencyMax: number | null;
  /** The timeout in ms, for models without a deadline of their own. */
  readonly totalMs: number | null;
  readonly firstTokenMs: number | null;
  /** How the requests for a model are spread over its endpoints. */
  readonly spread: SpreadMode;
  /** The most parallel requests at each endpoint without a limit of its own; null for no limit. */
  readonly parallelMax: number | null;
  /** The strategy that chooses among models of one name. */
  readonly strategy: 'auto' | 'auto-fast' | 'auto-cheap';
}

/** The meaning of a `routing_strategy`: how a model's requests are spread, and how a selector chooses among different models. */
type RoutingMeaning = Pick<CommonSettings, 'spread' | 'strategy'> & { readonly note: string };

/** LiteLLM's default. */
const SHUFFLE: RoutingMeaning = {
  spread: 'weighted',
  strategy: 'auto',
  note: 'the turns of a conversation stay at one endpoint, whose cache has it',
};
const BY_USAGE: RoutingMeaning = {
  spread: 'least_busy',
  strategy: 'auto',
  note: 'of two endpoints that are drawn at random, the one with the lower used share of its limits',
};

const STRATEGIES: ReadonlyMap<string, RoutingMeaning> = new Map([
  ['simple-shuffle', SHUFFLE],
  [
    'least-busy',
    {
      spread: 'least_busy',
      strategy: 'auto-fast',
      note: 'of two endpoints that are drawn at random, the less busy one',
    },
  ],
  [
    'latency-based-routing',
    { spread: 'fastest', strategy: 'auto-fast', note: 'by the expected time until the answer ends' },
  ],
  ['usage-based-routing', BY_USAGE],
  ['usage-based-routing-v2', BY_USAGE],
  ['cost-based-routing', { spread: 'cheapest', strategy: 'auto-cheap', note: 'by the expected cost of the request' }],
]);

/** Reads the settings that apply to all models, and records the outcome of all other settings. */
export function readCommonSettings(
  settings: LitellmSettings,
  general: ConfigNode | undefined,
  context: ImportContext,
): CommonSettings {
  const { outcomes } = context;
  const setting = (key: string) => settingOf(settings, key, context);
  const whole = (node: ConfigNode | undefined, max: number, to: readonly string[], min = 0): number | null => {
    const value = numberOf(node, outcomes, 'a whole number');
    if (value === null) return null;
    const limited = Math.max(min, Math.min(max, Math.trunc(value)));
    if (limited === value) outcomes.mapped(node, to);
    else outcomes.approximated(node, to, `from ${min} to ${max}`);
    return limited;
  };
  const retriesMax = whole(setting('num_retries'), 10, ['gateway', 'retries_max']);
  const alternatives = whole(setting('max_fallbacks'), 16, ['gateway', 'alternatives']);
  const global = valueAt(general, 'global_max_parallel_requests');
  const concurrencyMax = whole(global, 20_000, ['gateway', 'concurrency_max'], 1);
  const timeout = setting('timeout');
  const older = valueAt(settings.library, 'request_timeout');
  if (timeout) outcomes.leftOut(older, 'router_settings.timeout is used instead');
  const totalMs = millisecondsOf(
    timeout ?? older,
    ['models'],
    outcomes,
    'deadlines.total_ms of each model, for all attempts together; LiteLLM counts each attempt',
  );
  const firstTokenMs = millisecondsOf(
    setting('stream_timeout'),
    ['models'],
    outcomes,
    'deadlines.first_token_ms of each model',
  );
  const { spread, strategy } = routingOf(setting('routing_strategy'), context);
  const parallelMax = whole(setting('default_max_parallel_requests'), 1_000_000, ['models'], 1);
  reportRest(settings, context);
  return { retriesMax, alternatives, concurrencyMax, totalMs, firstTokenMs, spread, parallelMax, strategy };
}

function routingOf(node: ConfigNode | undefined, { outcomes }: ImportContext): RoutingMeaning {
  if (!node) return SHUFFLE;
  const meaning = STRATEGIES.get(scalarText(node) ?? '');
  if (meaning === undefined) {
    outcomes.problem(node, `it must be one of ${[...STRATEGIES.keys()].join(', ')}`);
    return SHUFFLE;
  }
  const { spread, strategy, note } = meaning;
  outcomes.approximated(
    node,
    ['models'],
    `\`spread: ${spread}\` for a model with several endpoints: ${note}; \`strategy: ${strategy}\` for a name with different models`,
  );
  return meaning;
}

function reportRest({ router, library }: LitellmSettings, { outcomes }: ImportContext): void {
  for (const section of [router, library]) {
    for (const [key, how] of APPROXIMATED_ROUTER) reportApproximated(valueAt(section, key), key, how, outcomes);
    outcomes.leaveRest(
      section,
      (key) => (section === library ? LEFT_OUT_SETTINGS.get(key) : undefined) ?? LEFT_OUT_ROUTER.get(key),
    );
  }
}

function reportApproximated(node: ConfigNode | undefined, key: string, how: string, outcomes: OutcomeRecorder): void {
  const isNumber = key !== 'enable_pre_call_checks';
  if (isNumber && numberOf(node, outcomes, 'a number, not below 0') === null) return;
  if (!isNumber && node?.isQuoted) outcomes.remark(node, 'the value must be true or false; this is a text');
  outcomes.approximated(node, [], how);
}

/** Records the outcome of sections and settings without an equivalent. */
export function reportSections(root: ConfigNode, general: ConfigNode | undefined, { outcomes }: ImportContext): void {
  outcomes.leaveRest(mapOf(general, outcomes, 'a map of settings'), (key, node) => {
    if (outcomes.has(node)) return undefined;
    if (key === 'master_key' && !isTextOfKey(node)) outcomes.remark(node, 'keys are texts that begin with sk-');
    return LEFT_OUT_GENERAL.get(key);
  });
  const anchors = 'it has only anchors, which no imported entry uses';
  outcomes.leaveRest(root, (key) => LEFT_OUT_SECTIONS.get(key) ?? (key.startsWith('x-') ? anchors : undefined));
}

const isTextOfKey = (node: ConfigNode): boolean =>
  node.kind === 'scalar' && (node.isQuoted || !/^[\d.]+$/.test(node.text));
