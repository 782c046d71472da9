import { Type } from '@sinclair/typebox';
import type { GuardPlugin, GuardSide, PreparedGuard } from '../../contract/guard.ts';
import { closed, flag, optional, text, whole, word } from '../../core/define/fields.ts';
import { expression, itemName, meaning, VARIABLE_NAME, writtenAs } from '../../core/define/policy-words.ts';
import { GUARD_SIDES } from '../../core/policy/guard-texts.ts';
import {
  type GuardRule,
  type GuardServiceRule,
  UNMASK_PLACES,
  UNREADABLE,
  type UnmaskPlace,
  type Unreadable,
} from '../../core/policy/guards.ts';
import { messageOf } from '../../core/thrown.ts';
import { guardViewOf } from '../cel/types.ts';
import { checkOptions } from '../check/check.ts';
import { expressionAt } from '../check/expression-drafts.ts';
import { emptyMap, type NamedItem } from '../check/section-checks.ts';
import { type Environment, PLACEHOLDER } from '../define/environment.ts';
import { defineList } from '../define/section.ts';
import {
  ADDRESS,
  normalUrl,
  OF_GUARD,
  refuseForbidden,
  reportNoAddress,
  reviewPrivateHost,
} from '../providers/addresses.ts';
import type { Report } from '../report/report.ts';
import { placeAt, valueAt } from '../yaml/tree.ts';

const words = <Word extends string>(
  all: readonly Word[],
  fallback: readonly Word[],
  example: readonly Word[],
  description: string,
) =>
  Type.Array(word(all, 'One of the words.'), {
    uniqueItems: true,
    default: [...fallback],
    examples: [[...example]],
    description,
  });

const ServiceText = closed('The service that the plugin calls.', {
  url: optional(
    text('The address of the service. Default: the address of the plugin, if it has one.', {
      minLength: 1,
      example: 'http://127.0.0.1:5002',
    }),
  ),
  url_env: optional(
    text('Name of the environment variable that holds the address, in place of `url`.', {
      ...VARIABLE_NAME,
      example: 'PRESIDIO_URL',
    }),
  ),
  api_key_env: optional(
    text('Name of the environment variable that holds the API key, never the key itself.', {
      ...VARIABLE_NAME,
      example: 'LAKERA_API_KEY',
    }),
  ),
  allow_private_network: flag(
    'Allows a service on this machine or in a private network. By default Signalbox calls only public addresses.',
    { default: false, example: true },
  ),
});

const GuardText = closed(
  'A guard, which inspects the texts of requests and answers.',
  {
    name: itemName('Name of the guard, in records, metrics and messages.', 'personal-data'),
    guard: text('Name of the plugin: a guard that comes with Signalbox, or a plugin of your own.', {
      minLength: 1,
      maxLength: 64,
      example: 'personal-data',
    }),
    settings: Type.Record(Type.String(), Type.Unknown(), {
      default: {},
      examples: [{ kinds: ['email', 'card'] }],
      description: 'The settings of the plugin.',
    }),
    service: Type.Optional(ServiceText),
    model: optional(
      text(
        'The model or selector of the policy that the plugin `model` calls. The caller of the request pays for the call.',
        { minLength: 1, maxLength: 256, example: 'small' },
      ),
    ),
    when: optional(
      expression(
        'Condition for requests that the guard inspects: CEL over `request`, `key`, `team` and `user`. Default: all requests. If the condition fails, the guard inspects the request.',
        'key.labels.department == "support"',
        'request.headers["x-data-class"] != "public"',
      ),
    ),
    on: words(
      GUARD_SIDES,
      ['input'],
      ['input', 'output'],
      'What the guard inspects. `input`: messages, tools and all other texts of the request. `output`: the answer.',
    ),
    on_match: word(
      {
        block: 'Refuses the request, or ends the answer before the match.',
        mask: 'Replaces the match with a placeholder such as `[email:kdmfabclpgeh]`. A match that cannot be replaced blocks.',
        flag: 'Changes nothing, and counts the match in the record, the log and the metrics.',
      },
      'What happens with a match. `block`: the request is refused, or the answer ends before it. `mask`: a placeholder replaces it. `flag`: it is only counted.',
      {
        example: 'mask',
        hints: {
          ...meaning('mask', 'redact anonymize anonymise replace hash'),
          ...meaning('block', 'deny reject refuse stop error'),
          ...meaning('flag', 'log warn report monitor allow'),
        },
      },
    ),
    on_failure: word(
      {
        block: 'Refuses the request, or ends the answer.',
        flag: 'Continues as if the guard had found nothing, and counts the failure.',
      },
      'What happens if the guard fails or takes too long. `block`: the request is refused. `flag`: the failure is only counted.',
      { default: 'block', example: 'flag' },
    ),
    deadline_ms: whole('The longest time that the guard may take for a request, or for an answer, in milliseconds.', {
      minimum: 1,
      maximum: 60_000,
      default: 1_000,
    }),
    buffer: word(
      {
        window: 'A stream is delayed only by the characters that the guard needs to recognize a match.',
        whole: 'A stream shows nothing before the guard has inspected the whole answer.',
      },
      'How much of a stream is held back. `window`: the characters that the guard needs to recognize a match. `whole`: everything until the end of the answer.',
      { default: 'window', example: 'whole' },
    ),
    unmask: words(
      UNMASK_PLACES,
      [],
      ['text'],
      'Places of an answer in which placeholders become the values of the request again: `text` and `tool_arguments`. A prompt can make a model write a placeholder into a URL, which then contains the value.',
    ),
    refuse: words(
      UNREADABLE,
      [],
      ['images', 'files'],
      'Kinds of content that no guard can read, and for which this guard refuses a request: `images`, `audio`, `files`, `tokens` (inputs of embeddings that are not texts), `encrypted` (reasoning that only its model can read).',
    ),
  },
  writtenAs('name: {value}, guard: {value}, on_match: block'),
);

const WHY_GUARDED = 'it decides which texts leave for providers';

/** A guard whose plugin and expression are not checked yet. */
type GuardDraft = ReturnType<typeof draftGuard>;

/** The section `guards`. */
export const GUARDS = defineList({
  name: 'guards',
  description: 'Guards, which block, mask or flag texts of requests and answers, in this order.',
  item: GuardText,
  guard: WHY_GUARDED,
  page: ['Choose', 'guards.md'],
  draft: (items) => items.map(draftGuard),
  compile(draft, { check, env, plugins: { guards }, report }, earlier: readonly GuardRule[]): GuardRule | null {
    const when = check.condition(draft.when, 'guard');
    if (draft.model) check.sent(draft.model);
    const plugin = guards.get(draft.plugin);
    if (!draft.rule) return null;
    if (!plugin) {
      report.addUnknownPlugin('guard', draft.plugin, guards.keys(), draft.pluginPlace);
      return null;
    }
    const settings = checkOptions(plugin.settings, draft.settings, report);
    const service = serviceOf(plugin, draft, env, report);
    if (!settings || service === null) return null;
    const patternSteps = usableSteps(plugin, draft, settings, earlier, report);
    if (patternSteps === null) return null;
    if (!hasItsModel(plugin, draft, report)) return null;
    reviewMask(plugin, draft, report);
    const { pure: isPure, window } = plugin;
    return {
      ...draft.rule,
      settings,
      isPure,
      window,
      ...(service && { service }),
      ...(draft.model && { model: draft.model.name }),
      ...(patternSteps > 0 && { patternSteps }),
      when: draft.when && when && ((scope) => when.run(guardViewOf(scope))),
    };
  },
});

function draftGuard(named: NamedItem<typeof GuardText.static>) {
  const { name, tree, data, path } = named;
  const place = placeAt(tree, 'name');
  return {
    name,
    place,
    when: expressionAt(named, 'when'),
    plugin: data?.guard ?? '',
    pluginPlace: placeAt(tree, 'guard'),
    onPlace: placeAt(tree, 'on'),
    matchPlace: placeAt(tree, 'on_match'),
    maskPlace: placeAt(tree, 'unmask'),
    path,
    service: data?.service,
    /** The model or selector that the guard sends its chats to; null for none. */
    model: data?.model === undefined ? null : { name: data.model, place: placeAt(tree, 'model') },
    servicePlace: placeAt(tree, 'service'),
    settings: { path: `${path}.settings`, tree: valueAt(tree, 'settings') ?? emptyMap(place), place },
    rule: data && {
      name,
      place,
      plugin: data.guard,
      on: data.on as readonly GuardSide[],
      onMatch: data.on_match,
      onFailure: data.on_failure,
      deadlineMs: data.deadline_ms,
      buffersWhole: data.buffer === 'whole',
      unmask: data.unmask as readonly UnmaskPlace[],
      refuse: data.refuse as readonly Unreadable[],
    },
  };
}

/** The most steps of the patterns of all guards of a policy together. Each takes some hundred bytes. */
const PATTERN_STEPS_MAX = 65_536;

/** Returns the steps of a guard's patterns; null if its plugin cannot do what the policy wants, which was reported. */
function usableSteps(
  { name, sides, prepare }: GuardPlugin,
  { rule, onPlace, maskPlace, settings: subject }: GuardDraft,
  settings: Readonly<Record<string, unknown>>,
  earlier: readonly GuardRule[],
  report: Report,
): number | null {
  if (!rule) return null;
  const before = report.found.length;
  for (const side of rule.on) {
    if (!sides.includes(side)) {
      report.add('guard-side', onPlace, `the guard plugin \`${name}\` cannot inspect the ${side}`, {
        expected: `\`on: [${sides.join(', ')}]\``,
      });
    }
  }
  if (rule.unmask.length > 0 && (rule.onMatch !== 'mask' || !rule.on.includes('input'))) {
    report.add('guard-unmask', maskPlace, `\`${rule.name}\` masks no input, so there is nothing to unmask`, {
      expected: '`unmask` together with `on: [input]` and `on_match: mask`',
    });
  }
  const used = earlier.reduce((sum, { patternSteps = 0 }) => sum + patternSteps, 0);
  const steps = preparedSteps(prepare, settings, PATTERN_STEPS_MAX - used);
  if (typeof steps === 'string') {
    report.add('plugin-failed', subject.tree.place, `guard \`${name}\` does not accept its settings: ${steps}`);
    return null;
  }
  return report.found.length === before ? steps : null;
}

/** Warns about a guard that is to mask matches whose places its plugin does not report. */
function reviewMask({ name, locates }: GuardPlugin, { rule, path, matchPlace }: GuardDraft, report: Report): void {
  if (locates !== false || rule?.onMatch !== 'mask') return;
  const message = `the guard plugin \`${name}\` does not say where a match is, so \`${path}\` masks nothing and blocks`;
  report.add('guard-cannot-mask', matchPlace, message, { hint: 'write `on_match: block`' });
}

/** Whether the policy names a model exactly if the plugin calls one. `hasItsModel` reports a mistake. */
function hasItsModel({ name, model: calls }: GuardPlugin, { path, model, place }: GuardDraft, report: Report): boolean {
  if (calls && model === null) {
    report.add('missing-key', place, `\`${path}\` needs the key \`model\``, {
      hint: `the guard plugin \`${name}\` calls a model of the policy`,
    });
    return false;
  }
  if (calls || model === null) return true;
  report.add('conflicting-keys', model.place, `the guard plugin \`${name}\` calls no model`, {
    expected: 'no key `model`',
  });
  return false;
}

/** Returns the service of a guard; undefined if its plugin calls none, null after an error, which was reported. */
function serviceOf(
  { name, service: called }: GuardPlugin,
  { path, service: stated, servicePlace: place }: GuardDraft,
  env: Environment,
  report: Report,
): GuardServiceRule | null | undefined {
  if (!called) {
    if (stated === undefined) return undefined;
    report.add('conflicting-keys', place, `the guard plugin \`${name}\` calls no service`, {
      expected: 'no key `service`',
    });
    return null;
  }
  const {
    url,
    url_env: urlEnv,
    api_key_env: apiKeyEnv = null,
    allow_private_network: allowPrivate = false,
  } = stated ?? {};
  if (url !== undefined && urlEnv !== undefined) {
    report.add('conflicting-keys', place, `\`${path}.service\` has both \`url\` and \`url_env\``, {
      expected: 'one of the two',
    });
    return null;
  }
  const variable = urlEnv && env.get(urlEnv)?.trim();
  const unset = [
    ...(urlEnv && !variable ? [urlEnv] : []),
    ...(apiKeyEnv && !env.get(apiKeyEnv)?.trim() ? [apiKeyEnv] : []),
  ];
  if (unset.length > 0) {
    // A guard without its service would fail for every request, or let every request pass.
    report.add('bad-environment', place, `the environment variable ${unset[0]} of \`${path}.service\` is not set`, {
      hint: `set it, or \`${unset[0]}_FILE\` to the path of a file with the value`,
    });
    return null;
  }
  const written = urlEnv ? variable : (url ?? called.url);
  if (!written) {
    report.add('missing-key', place, `\`${path}.service\` needs the key \`url\` or \`url_env\``, {
      hint: `the guard plugin \`${name}\` calls a service: write \`service: { url: "http://127.0.0.1:5002", allow_private_network: true }\` with its address`,
    });
    return null;
  }
  const address = normalUrl(written);
  const what = `\`${path}.service.${urlEnv ? 'url_env' : 'url'}\``;
  if (address === null) {
    if (urlEnv) report.add('bad-environment', place, `the environment variable ${urlEnv} does not hold a URL`, ADDRESS);
    else reportNoAddress(written, what, place, report);
    return null;
  }
  refuseForbidden(address, what, place, report);
  if (!allowPrivate && written !== PLACEHOLDER) reviewPrivateHost(address, what, place, OF_GUARD, report);
  return { url: address, apiKeyEnv, allowPrivate };
}

const KIND = /^[a-z][a-z0-9-]{0,39}$/;

/** The most kinds of matches of one guard, each of which is a series of a metric. */
const KINDS_MAX = 64;

/** Returns the steps of the patterns of a guard, or why it cannot be used. @param stepsMax that are left for the guard */
function preparedSteps(
  prepare: GuardPlugin['prepare'],
  settings: Readonly<Record<string, unknown>>,
  stepsMax: number,
): number | string {
  try {
    // The compiler does not check the types of JavaScript plugins.
    const { kinds, reach, check, patternSteps = 0 }: Partial<PreparedGuard> = prepare({ ...settings });
    if (typeof check !== 'function') return '`prepare` returns no `check` function';
    if (
      !Array.isArray(kinds) ||
      kinds.length === 0 ||
      kinds.length > KINDS_MAX ||
      !kinds.every((kind) => KIND.test(kind))
    )
      return `\`kinds\` must be 1 to ${KINDS_MAX} names of lower-case letters, digits and dashes`;
    if (reach !== undefined && !(Number.isSafeInteger(reach) && reach > 0))
      return '`reach` must be a whole number above 0';
    if (!(Number.isSafeInteger(patternSteps) && patternSteps >= 0))
      return '`patternSteps` must be a whole number, 0 or above';
    if (patternSteps > stepsMax)
      return `its patterns have ${patternSteps} steps, and with those of the guards before it at most ${PATTERN_STEPS_MAX.toLocaleString('en')} are possible`;
    return patternSteps;
  } catch (error) {
    return messageOf(error);
  }
}
