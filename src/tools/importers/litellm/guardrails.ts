import { type Decimal, plainText, toNumber } from '../../../core/money/decimal.ts';
import { block, exact, type FieldBlock, field, flow, type PolicyValue, some } from '../../../policy/yaml/emit.ts';
import { booleanOf, decimalOf } from './amounts.ts';
import { contentFilter } from './content-filter.ts';
import { asName, type ImportContext, isName, itemsOf, mapOf, textsOf } from './context.ts';
import { guardService } from './guard-service.ts';
import type { Guardrail, ImportedGuard } from './guardrail.ts';
import { LEFT_OUT_GUARDRAIL, LEFT_OUT_GUARDRAILS } from './left-out.ts';
import { TakenNames } from './names.ts';
import { type ConfigNode, scalarText, valueAt } from './tree.ts';

type GuardReader = (guardrail: Guardrail, context: ImportContext) => readonly ImportedGuard[];

/** The guardrails that have a guard, by `guardrail` of their parameters. */
const READERS: ReadonlyMap<string, GuardReader> = new Map([
  ['hide-secrets', secrets],
  ['presidio', presidio],
  ['lakera', lakera],
  ['lakera_v2', lakera],
  ['litellm_content_filter', contentFilter],
]);

/** Reads the section `guardrails`. */
export function readGuardrails(root: ConfigNode, context: ImportContext): readonly FieldBlock[] {
  const taken = new TakenNames();
  const expected = 'it must be a list of maps, each with guardrail_name and litellm_params';
  return itemsOf(valueAt(root, 'guardrails'), context.outcomes, expected).flatMap((item) => {
    return guardrailOf(item, taken, context);
  });
}

function guardrailOf(item: ConfigNode, taken: TakenNames, context: ImportContext): readonly FieldBlock[] {
  const { outcomes } = context;
  const params = mapOf(valueAt(item, 'litellm_params'), outcomes, 'a map of parameters');
  const kind = valueAt(params, 'guardrail');
  const read = READERS.get(scalarText(kind) ?? '');
  if (!read) {
    if (!scalarText(kind)) outcomes.problem(kind ?? item, 'it must have litellm_params with guardrail');
    const note = LEFT_OUT_GUARDRAILS.get(scalarText(kind) ?? '') ?? NO_GUARD;
    outcomes.leftOut(item, note);
    return [];
  }
  const owner = valueAt(item, 'guardrail_name');
  const stated = scalarText(owner) ?? '';
  const wanted = isName(stated) ? stated : asName(stated).slice(0, 100) || 'guard';
  const name = taken.take([wanted], wanted);
  const to = ['guards', name];
  const guards = read({ params, name, to }, context);
  if (guards.length === 0) {
    outcomes.leftOut(item, 'it finds nothing that a guard of Signalbox finds');
    return [];
  }
  outcomes.mapped(owner, [...to, 'name']);
  outcomes.mapped(kind, [...to, 'guard']);
  outcomes.leftOut(valueAt(item, 'guardrail_info'), 'it is only a note');
  const on = sidesOf(params, to, context);
  const when = whenOf(params, name, to, context);
  outcomes.leaveRest(params, (key, node) => (outcomes.has(node) ? undefined : LEFT_OUT_GUARDRAIL.get(key)));
  return guards.map(({ suffix, guard, service, settings, onMatch, unmask }) =>
    block(
      field('name', suffix === '' ? name : taken.take([`${name}-${suffix}`], `${name}-${suffix}`)),
      field('guard', guard),
      field('service', service),
      field('settings', settings),
      field('when', when),
      field('on', on.sides),
      field('on_match', on.isLogged ? 'flag' : onMatch),
      // A guard that only counts must not refuse a request when its service is down.
      field('on_failure', on.isLogged || onMatch === 'flag' ? 'flag' : null),
      field('unmask', on.isLogged ? null : unmask),
    ),
  );
}

const NO_GUARD =
  'no guard calls this service; `webhook` calls a service of your own, and `model` asks a model: see /docs/guide/policies/guards.md of your server';

const INPUT: ReadonlySet<string> = new Set(['pre_call', 'during_call']);
const SIDES = ['input', 'output'] as const;

/** Reads when a guardrail runs, and on what. */
function sidesOf(params: ConfigNode, to: readonly string[], { outcomes }: ImportContext) {
  const node = valueAt(params, 'mode');
  const ofTags = [valueAt(node, 'default'), ...(valueAt(node, 'tags')?.entries.values() ?? [])];
  const modes = (node?.kind === 'map' ? ofTags : [node]).flatMap(textsOf);
  const scope = valueAt(params, 'presidio_filter_scope') ?? valueAt(params, 'presidio_run_on');
  const only = scalarText(scope);
  const isOn = { input: modes.some((mode) => INPUT.has(mode)), output: modes.includes('post_call') };
  const isLogged = modes.length > 0 && modes.every((mode) => mode === 'logging_only');
  const stated = SIDES.filter((side) => isLogged || isOn[side]);
  const sides = (stated.length === 0 ? ['input'] : stated).filter(
    (side) => only === null || only === 'both' || side === only,
  );
  const notes = [
    node?.kind === 'map' &&
      'the guard runs for all tags; write a condition on `key.labels` or `request.metadata` into `when`',
    modes.includes('during_call') && 'it runs before the call, not while the call runs',
    isLogged && 'it only counts matches: `on_match: flag`',
    modes.some((mode) => mode.includes('mcp')) && 'MCP is not served',
  ].filter((note) => note !== false);
  if (notes.length > 0) outcomes.approximated(node, [...to, 'on'], notes.join('; '));
  else outcomes.mapped(node, [...to, 'on']);
  outcomes.mapped(scope, [...to, 'on']);
  return { sides: sides.length === 0 ? ['input'] : sides, isLogged };
}

/** The condition of a guardrail that is not on by default: LiteLLM runs it if the request or the key names it. */
function whenOf(params: ConfigNode, name: string, to: readonly string[], { outcomes }: ImportContext): string | null {
  const node = valueAt(params, 'default_on');
  if (booleanOf(node) === true) {
    outcomes.mapped(node, to);
    return null;
  }
  outcomes.approximated(
    node ?? valueAt(params, 'guardrail'),
    [...to, 'when'],
    `it is off by default: it runs for keys with the label \`guardrail=${name}\`, and requests cannot name it`,
  );
  return `key.labels.guardrail == ${JSON.stringify(name)}`;
}

function secrets({ params, to }: Guardrail, { outcomes }: ImportContext): readonly ImportedGuard[] {
  const detectors = valueAt(params, 'detect_secrets_config');
  outcomes.approximated(detectors, [...to, 'guard'], 'the guard `secrets` knows its own shapes of secrets');
  return [{ suffix: '', guard: 'secrets', onMatch: 'mask' }];
}

function presidio({ params, to }: Guardrail, context: ImportContext): readonly ImportedGuard[] {
  const { outcomes } = context;
  const service = guardService(
    {
      base: valueAt(params, 'presidio_analyzer_api_base'),
      key: undefined,
      baseEnv: 'PRESIDIO_ANALYZER_API_BASE',
      keyEnv: null,
      what: 'Presidio’s analyzer',
      isPrivate: true,
    },
    to,
    context,
  );
  outcomes.leftOut(
    valueAt(params, 'presidio_anonymizer_api_base'),
    'Signalbox masks by itself; only the analyzer is called',
  );
  const language = valueAt(params, 'presidio_language');
  outcomes.mapped(language, [...to, 'settings', 'language']);
  const restore = valueAt(params, 'output_parse_pii');
  const unmask = booleanOf(restore) === true ? ['text'] : null;
  outcomes.mapped(restore, [...to, 'unmask']);
  const score = scoreOf(valueAt(params, 'presidio_score_thresholds'), to, context);
  const config = valueAt(params, 'pii_entities_config');
  const byAction = entitiesByAction(config, to, context);
  return byAction.map(({ onMatch, entities }, at) => ({
    suffix: at === 0 ? '' : onMatch,
    guard: 'presidio',
    service,
    settings: config || language || score ? flow({ entities, language: scalarText(language), score }) : null,
    onMatch,
    unmask: onMatch === 'mask' ? unmask : null,
  }));
}

/** Reads the entities of each action. Without entities, Presidio masks those of the guard's default. */
function entitiesByAction(config: ConfigNode | undefined, to: readonly string[], { outcomes }: ImportContext) {
  const actions = { mask: [] as string[], block: [] as string[] };
  for (const [entity, action] of config?.entries ?? []) {
    const isBlock = /^block$/i.test(action.text);
    if (!/^[A-Z][A-Z0-9_]{0,39}$/.test(entity))
      outcomes.problem(action, 'its key must be an entity such as EMAIL_ADDRESS');
    else if (!isBlock && !/^mask$/i.test(action.text)) outcomes.problem(action, 'it must be MASK or BLOCK');
    else {
      actions[isBlock ? 'block' : 'mask'].push(entity);
      outcomes.mapped(action, [...to, 'settings', 'entities']);
    }
  }
  const found = (['mask', 'block'] as const).flatMap((onMatch) => {
    const entities = some(actions[onMatch]);
    return entities ? [{ onMatch, entities }] : [];
  });
  return found.length > 0 ? found : [{ onMatch: 'mask' as const, entities: null }];
}

/** Reads the least score: that of `ALL`, or the lowest. A guard has one score for all entities. */
function scoreOf(node: ConfigNode | undefined, to: readonly string[], { outcomes }: ImportContext): PolicyValue | null {
  const scores = [...(node?.entries ?? [])].flatMap(([entity, value]): [string, Decimal][] => {
    const score = decimalOf(value);
    if (score && toNumber(score) >= 0 && toNumber(score) <= 1) return [[entity, score]];
    outcomes.problem(value, 'it must be a number from 0 to 1');
    return [];
  });
  const [lowest] = scores.toSorted(([, a], [, b]) => toNumber(a) - toNumber(b));
  if (!node || !lowest) return null;
  const isCommon = scores.length === 1;
  const path = [...to, 'settings', 'score'];
  if (isCommon) outcomes.mapped(node, path);
  else outcomes.approximated(node, path, 'a guard has one score for all entities: the lowest');
  return exact(plainText(lowest[1]));
}

function lakera({ params, to }: Guardrail, context: ImportContext): readonly ImportedGuard[] {
  const { outcomes } = context;
  const service = guardService(
    {
      base: valueAt(params, 'api_base'),
      key: valueAt(params, 'api_key'),
      baseEnv: null,
      keyEnv: 'LAKERA_API_KEY',
      what: 'Lakera Guard',
      isPrivate: false,
    },
    to,
    context,
  );
  const project = valueAt(params, 'project_id');
  outcomes.mapped(project, [...to, 'settings', 'project']);
  const flagged = valueAt(params, 'on_flagged');
  const action = scalarText(flagged) ?? 'block';
  const onMatch = action === 'monitor' ? 'flag' : action === 'mask' ? 'mask' : 'block';
  if (action === 'inject_system_message')
    outcomes.approximated(flagged, [...to, 'on_match'], 'a guard adds no message: it blocks');
  else outcomes.mapped(flagged, [...to, 'on_match']);
  for (const key of ['payload', 'breakdown']) outcomes.mapped(valueAt(params, key), to, 'always requested');
  const settings = scalarText(project) === null ? null : flow({ project: scalarText(project) });
  return [{ suffix: '', guard: 'lakera', service, settings, onMatch }];
}
