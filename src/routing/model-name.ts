import type { InsteadOf } from '../core/decision/decision.ts';
import { refuse, SignalboxError } from '../core/errors.ts';
import { type Caller, isOperator } from '../core/people/caller.ts';
import { levelName } from '../core/people/holder.ts';
import { AGENT_ALIASES, aliasNames, aliasTarget } from '../core/policy/alias-names.ts';
import { allOf } from '../core/policy/found-models.ts';
import { modelOf } from '../core/policy/model-of.ts';
import type { LeftOut, Model, PolicySnapshot } from '../core/policy/snapshot.ts';
import type { SentFallbacks } from '../core/request/conversation.ts';
import type { Facts } from '../core/request/facts.ts';
import {
  type FallbackLists,
  keptLists,
  listsFor,
  SENT_FALLBACKS_MAX,
  withFallbacks,
} from '../core/request/fallbacks.ts';
import { editDistance } from '../core/text/edit-distance.ts';
import { capital, didYouMean } from '../core/text/text.ts';
import { notFoundYet } from './silent-servers.ts';

/** The meaning of a request's `model` field. */
export interface NamedTarget {
  /** The name of a selector, or the ID of the first named model. */
  readonly model: string;
  /** The ID of the named model, then the IDs of its fallbacks; null for a selector. */
  readonly named: readonly string[] | null;
  /** The alias that the request used; null if the request used the name itself. */
  readonly alias: string | null;
  /** The models to try next, by reason; absent if neither the policy nor the request lists any that the caller may use. */
  readonly fallbacks?: FallbackLists;
}

/**
 * Returns the meaning of a request's `model` field.
 * @param sent the models to try after that model, as the request lists them; their list replaces the list of the policy
 * @throws SignalboxError if the field names neither a selector nor a model, if a fallback names no model, or if the key may not use a model
 */
export function targetOf(
  name: string,
  caller: Caller,
  snapshot: PolicySnapshot,
  sent: SentFallbacks | undefined = undefined,
): NamedTarget {
  const { model, alias } = meaningOf(name, snapshot);
  const selector = snapshot.selectors.get(model);
  if (!selector && !snapshot.modelIndex.has(model)) return standInFor(name, model, caller, snapshot, sent);
  const declared = selector ?? allowedModel(model, caller, snapshot);
  const fallbacks = sent || declared.fallbacks ? listsOf(declared, model, caller, snapshot, sent) : undefined;
  if (selector) return fallbacks ? { model, named: null, alias, fallbacks } : { model, named: null, alias };
  if (!fallbacks) return { model, named: [model], alias };
  return { model, named: withFallbacks(model, fallbacks), alias, fallbacks };
}

/**
 * Returns the meaning of the name of a model that cannot be served here, for example because its provider has no key: the first model that
 * is listed to follow its errors. The name then counts as an alias of that model.
 * @param id the meaning of `name`
 * @throws SignalboxError if there is no such model, no fallback for its errors, or the caller may not use the model
 */
function standInFor(
  name: string,
  id: string,
  caller: Caller,
  snapshot: PolicySnapshot,
  sent: SentFallbacks | undefined,
): NamedTarget {
  const absent = absentModel(id, snapshot)?.model;
  // The policy does not say which vectors could replace the vectors of another model.
  const isReplaceable = absent !== undefined && absent.embedding === null && mayUse(caller, absent);
  const fallbacks = isReplaceable ? listsOf(absent, id, caller, snapshot, sent) : undefined;
  const [first] = fallbacks?.error ?? [];
  if (!fallbacks || first === undefined) throw unknownName(name, id, caller, snapshot);
  return { model: first, named: withFallbacks(first, fallbacks), alias: name, fallbacks };
}

/** Returns the entry of a model of the policy that cannot be served here. */
const absentModel = (id: string, { leftOut }: PolicySnapshot): LeftOut | undefined =>
  leftOut.find(({ kind, name }) => kind === 'model' && name === id);

/** Returns the model that a request named with this name, if another model stands in for it, because it cannot be served here. */
export const absentNamed = (alias: string | null, snapshot: PolicySnapshot): LeftOut | undefined =>
  alias === null ? undefined : absentModel(meaningOf(alias, snapshot).model, snapshot);

/** Says why the model that a request names is not used, if another model stands in for it, because it cannot be served here. */
export function absentInstead(
  { named, alias }: Pick<Facts, 'named' | 'alias'>,
  snapshot: PolicySnapshot,
): InsteadOf | undefined {
  const absent = named === null ? undefined : absentNamed(alias, snapshot);
  if (!absent) return undefined;
  const text = `it cannot be served: ${absent.toCallers ?? 'it is left out'}`;
  return { model: absent.name, reason: 'not_set_up', text };
}

/** Returns the lists of the request, or else of its model or selector, without models that the caller may not use. */
function listsOf(
  declared: Pick<Model, 'fallbacks'>,
  model: string,
  caller: Caller,
  snapshot: PolicySnapshot,
  sent: SentFallbacks | undefined,
): FallbackLists | undefined {
  const names = sent && snapshot.gateway.requestFallbacks ? namesIn(sent) : NO_NAMES;
  return sent && names.length > 0
    ? sentLists(sent.field, names, model, caller, snapshot)
    : declared.fallbacks && usableLists(declared.fallbacks, caller, snapshot);
}

/** @throws SignalboxError if there is no such model, or the caller may not use it */
function usableModel(name: string, id: string, caller: Caller, snapshot: PolicySnapshot): Model {
  if (!snapshot.modelIndex.has(id)) throw unknownName(name, id, caller, snapshot);
  return allowedModel(id, caller, snapshot);
}

/** @throws SignalboxError if the caller may not use the model */
function allowedModel(id: string, caller: Caller, snapshot: PolicySnapshot): Model {
  const model = modelOf(id, snapshot);
  if (mayUse(caller, model)) return model;
  const message = `${capital(excluderName(caller, model))} may not use the model \`${id}\`.`;
  return refuse('model', message, 'insufficient_permissions');
}

/** Returns the policy's lists without models that cannot be served here, and without models that the caller may not use. */
const usableLists = (lists: FallbackLists, caller: Caller, snapshot: PolicySnapshot): FallbackLists | undefined =>
  keptLists(lists, (id) => snapshot.modelIndex.has(id) && mayUse(caller, modelOf(id, snapshot)));

const NO_NAMES: readonly string[] = [];

/** @throws SignalboxError if the value is no list of names */
function namesIn({ field, value }: SentFallbacks): readonly string[] {
  if (!Array.isArray(value)) return refuse(field, `\`${field}\` must be a list of model names.`);
  const list: readonly unknown[] = value;
  if (list.length > SENT_FALLBACKS_MAX)
    refuse(field, `\`${field}\` may have at most ${SENT_FALLBACKS_MAX} items.`, 'out_of_range');
  return list.map((name, at) =>
    typeof name === 'string' ? name : refuse(`${field}[${at}]`, `\`${field}[${at}]\` must be the name of a model.`),
  );
}

/** @throws SignalboxError that names the entry of the list that is wrong */
function sentLists(
  field: SentFallbacks['field'],
  names: readonly string[],
  model: string,
  caller: Caller,
  snapshot: PolicySnapshot,
): FallbackLists | undefined {
  const ids = names.map((name, at) => {
    const param = `${field}[${at}]`;
    const { model: id } = meaningOf(name, snapshot);
    if (id === model) return id;
    if (snapshot.selectors.has(id)) refuse(param, `\`${name}\` is a selector. A fallback is the name of a model.`);
    if (snapshot.isOfWildcard || snapshot.wildcards?.find(id)) refuse(param, OF_WILDCARD);
    try {
      return usableModel(name, id, caller, snapshot).id;
    } catch (cause) {
      if (!(cause instanceof SignalboxError)) throw cause;
      throw new SignalboxError(cause.code, cause.message, { ...cause.info, param });
    }
  });
  const others = [...new Set(ids)].filter((id) => id !== model);
  return others.length > 0 ? listsFor(others, 'request') : undefined;
}

const OF_WILDCARD =
  'Models of a wildcard neither have fallbacks nor are fallbacks. The policy needs an entry for the model in `models`.';

/**
 * Resolves the name in a request's `model` field. `meaningOf` tries, in order: an ID, an alias, a known model of a wildcard, the longest
 * matching alias pattern, any other name that a wildcard covers, and, if the result cannot be served here, a default alias.
 * @returns the selector or model that the name stands for; the name itself if nothing matches
 */
export function meaningOf(sent: string, snapshot: PolicySnapshot): Pick<NamedTarget, 'model' | 'alias'> {
  const { selectors, modelIndex, aliases, defaultAliases } = snapshot;
  const name = sent.replace(MILLION_SUFFIX_IN_CAPITALS, MILLION_SUFFIX);
  if (selectors.has(name) || modelIndex.has(name)) return { model: name, alias: null };
  const stated = aliases.get(name) ?? coveredBy(name, snapshot);
  const meant = isLeftOut(stated, snapshot) ? (aliasTarget(defaultAliases, name) ?? stated) : stated;
  return meant === null || meant === name ? { model: name, alias: null } : { model: meant, alias: name };
}

/** Whether the policy states a name, also of a model that is not served here. */
export const isStated = (name: string, { selectors, modelIndex, aliases, leftOut }: PolicySnapshot): boolean =>
  selectors.has(name) || modelIndex.has(name) || aliases.has(name) || leftOut.some((one) => one.name === name);

/**
 * Claude Code adds the suffix `[1m]` to request a window of a million tokens. Claude Code sends the name without the suffix; other clients
 * send the whole name.
 */
const MILLION_SUFFIX = '[1m]';

/** Decisions contain the suffix in lower case. */
const MILLION_SUFFIX_IN_CAPITALS = /\[1M\]$/;

/**
 * Returns the window in tokens that a request demands with the suffix of its model name; 0 for none. No name in a policy ends with the
 * suffix `[1m]`.
 */
export const windowAsked = ({ alias }: Pick<Facts, 'alias'>): number =>
  alias?.endsWith(MILLION_SUFFIX) ? 1_000_000 : 0;

/** Whether a name has no meaning in the policy, or means a model that cannot be served here. */
const isLeftOut = (meant: string | null, { leftOut }: PolicySnapshot): boolean =>
  meant === null || leftOut.some((one) => one.kind === 'model' && one.name === meant);

/** Returns the meaning of a name that is neither a name nor an alias in the policy; null if the name has no meaning. */
function coveredBy(name: string, snapshot: PolicySnapshot): string | null {
  const { aliasPatterns, patternsCoverKnown, modelIndex, wildcards } = snapshot;
  if (isLeftOut(name, snapshot)) return null;
  if (name.endsWith(MILLION_SUFFIX)) return meaningOf(name.slice(0, -MILLION_SUFFIX.length), snapshot).model;
  const pattern = aliasPatterns.find(([start]) => name.startsWith(start));
  const model = wildcards?.meaning(name) ?? null;
  if (!pattern || !wildcards || model === null) return pattern?.[1] ?? model;
  return !patternsCoverKnown && (modelIndex.has(model) || wildcards.isKnown(model)) ? model : pattern[1];
}

/** Returns the aliases that a list of models shows, without patterns, each with the selector or model that it stands for. */
export function listedAliases(snapshot: PolicySnapshot): readonly (readonly [alias: string, name: string])[] {
  const isDefault = ([name, selector]: readonly [string, string]) =>
    !snapshot.aliases.has(name) && meaningOf(name, snapshot).model === selector;
  return [...snapshot.aliases, ...[...snapshot.defaultAliases.names].filter(isDefault)];
}

/**
 * Returns whether a caller may use a model. The caller's list, and the list of each level above it, must name the model or its wildcard,
 * and the caller's list of denied models must name neither.
 */
export const mayUse = (caller: ModelLists, model: ListedModel): boolean =>
  isListed(caller.models, model) &&
  (caller.levels === undefined || caller.levels.every((level) => isListed(level.models, model))) &&
  !isDenied(caller, model);

/** Names the first level whose list of models excludes a model that the caller may not use: `the team \`search\``, or `this API key`. */
export function excluderName(caller: ModelLists, model: ListedModel): string {
  const isOfKey = isDenied(caller, model) || !isListed(caller.models, model);
  const level = isOfKey ? undefined : caller.levels?.find((one) => !isListed(one.models, model));
  return level ? levelName(level) : 'this API key';
}

type ListedModel = Pick<Model, 'id' | 'pattern' | 'found'>;

/** The lists of models that a caller is restricted to. */
export type ModelLists = Pick<Caller, 'models' | 'notModels' | 'levels'>;

const isListed = (models: Caller['models'], model: ListedModel): boolean => models === null || names(models, model);

export const isDenied = ({ notModels }: Pick<Caller, 'notModels'>, model: ListedModel): boolean =>
  notModels !== undefined && names(notModels, model);

/** Whether a list names a model, its wildcard or all found models of its provider. */
function names(list: ReadonlySet<string>, { id, pattern, found }: ListedModel): boolean {
  if (list.has(id)) return true;
  const all = found ? allOf(found.provider) : pattern;
  return all !== undefined && list.has(all);
}

/**
 * Returns the IDs that appear on the lists of a caller and of all levels above it, without denied IDs; null if there is no list of allowed
 * models.
 */
export function listedFor({ models, notModels, levels = [] }: ModelLists): readonly string[] | null {
  if (models === null && levels.length === 0) return null;
  const [first, ...others] = [models, ...levels.map((level) => level.models)].filter((list) => list !== null);
  return first ? [...first].filter((id) => others.every((list) => list.has(id)) && !notModels?.has(id)) : null;
}

/** Whether the lists of the sender, as the facts of a request have them, allow a model. @param id of the model */
export const allowsModel = (
  { allowedModels, deniedModels }: Pick<Facts, 'allowedModels' | 'deniedModels'>,
  id: string,
): boolean => (allowedModels?.includes(id) ?? true) && deniedModels?.includes(id) !== true;

/** @param model the meaning of `name` */
function unknownName(name: string, model: string, caller: Caller, snapshot: PolicySnapshot): SignalboxError {
  const { leftOut, wildcards } = snapshot;
  const pattern = wildcards?.leftOut(model);
  const absent = leftOut.find(({ kind, name: one }) => kind !== 'provider' && (one === model || one === pattern));
  if (absent) {
    const why = (isOperator(caller) ? absent.reason : absent.toCallers) ?? 'the policy does not include it';
    const state = absent.kind === 'found' ? 'was found, but is not served' : 'is in the policy but cannot be served';
    const message = `The model \`${model}\` ${state}: ${why}.`;
    return new SignalboxError('model_not_found', message, { param: 'model' });
  }
  const later = notFoundYet(name, model, snapshot);
  if (later) return later;
  const selectors = [...snapshot.selectors.keys()];
  const usable = (models: readonly Model[] = []) => models.filter((one) => mayUse(caller, one)).map(({ id }) => id);
  const models = usable(snapshot.models);
  const meant = new Set([...selectors, ...models]);
  const aliases = listedAliases(snapshot).flatMap(([alias, of]) => (meant.has(of) ? [alias] : []));
  // The shortest name comes first, because several providers can offer a model and its maker usually has a shorter name than a reseller.
  const listed = usable(wildcards?.listed()).sort((a, b) => a.length - b.length);
  const hint = agentHint(name) ?? nameHint(name, [...meant, ...aliases, ...listed]);
  const message = `There is no model or selector \`${name}\`.${hint} Selectors are ${selectors.join(', ')}; GET /v1/models lists all models. ${HOW_TO_SERVE}`;
  return new SignalboxError('model_not_found', message, { param: 'model' });
}

const AGENT_NAMES = aliasNames(AGENT_ALIASES);

/** Says how a policy can serve the name of a coding agent that it does not serve; null for another name. */
function agentHint(name: string): string | null {
  const selector = aliasTarget(AGENT_NAMES, name);
  if (selector === null) return null;
  return ` Coding agents send this name, but the policy has \`default_aliases: none\`. With \`default_aliases: agents\`, it stands for \`${selector}\`.`;
}

/**
 * Returns a warning for each entry of a list of models that allows no model, such as a misspelt ID.
 * @param caller who states the list; the warnings suggest only models that the caller may use
 */
export function listWarnings(list: readonly string[], caller: ModelLists, snapshot: PolicySnapshot): string[] {
  const { models, wildcards, selectors, providers, leftOut } = snapshot;
  /** Models that cannot be served here may serve later, so a list can name them. */
  const absent = leftOut.flatMap(({ kind, name }) => (kind === 'model' ? [{ id: name }] : []));
  const entries = new Set([
    ...[...models, ...(wildcards?.patterns ?? [])].map(({ id }) => id),
    ...[...providers.values()].flatMap(({ name, discover }) => (discover ? [allOf(name)] : [])),
  ]);
  const usable = () => [...models, ...(wildcards?.listed() ?? []), ...absent].filter((one) => mayUse(caller, one));
  return list.flatMap((entry) => {
    if (entries.has(entry) || isLeftOut(entry, snapshot)) return [];
    if (wildcards && (wildcards.meaning(entry) === entry || wildcards.leftOut(entry) !== null)) return [];
    const { model } = meaningOf(entry, snapshot);
    if (selectors.has(model))
      return [
        `\`${entry}\` is no model but the name of a selector. A list of models names the models that selectors may choose.`,
      ];
    if (model !== entry)
      return [`\`${entry}\` is another name of \`${model}\`. A list of models needs the ID \`${model}\`.`];
    return [
      `The policy has no model \`${entry}\`.${nameHint(
        entry,
        usable().map(({ id }) => id),
      )}`,
    ];
  });
}

const HOW_TO_SERVE =
  'A policy serves the names listed in `models` and in the `aliases` of a model or selector. See /docs/guide/policies/guide.md, “Add a model”.';

/** The maximum number of similar names that an error shows. */
const NAMES_SHOWN = 3;

/**
 * Returns a sentence, with a space before it, that suggests the name that was probably meant or the nearest names; '' if no name is
 * similar.
 */
export function nameHint(name: string, known: readonly string[]): string {
  const similar = similarName(name, known);
  if (similar !== null) return ` ${capital(didYouMean(similar))}`;
  const near = nearestNames(name, known).map((one) => `\`${one}\``);
  if (near.length === 0) return '';
  return near.length === 1 ? ` The nearest name is ${near[0]}.` : ` The nearest names are ${near.join(', ')}.`;
}

/** Returns the known names that share words or a beginning with a name, most similar first. */
function nearestNames(name: string, known: readonly string[]): string[] {
  const written = plainName(name);
  const words = new Set(written.split('-').filter((word) => /[a-z]/.test(word)));
  const scored = known.map((candidate) => {
    const other = plainName(candidate);
    const shared = other.split('-').filter((word) => words.has(word)).length;
    return { candidate, shared, start: sharedStart(written, other) };
  });
  return scored
    .filter(({ shared, start }) => shared > 0 || start >= START_MIN)
    .sort((a, b) => b.shared - a.shared || b.start - a.start)
    .slice(0, NAMES_SHOWN)
    .map(({ candidate }) => candidate);
}

/** The minimum length of a common beginning, in characters. */
const START_MIN = 3;

function sharedStart(a: string, b: string): number {
  let at = 0;
  while (at < a.length && a[at] === b[at]) at++;
  return at;
}

/** The maximum number of edits in a mistyped name. */
const EDITS_MAX = 2;

/**
 * Returns the known name that a mistyped name probably stands for. The comparison of names ignores the provider's name in front, case and
 * separators.
 */
export function similarName(name: string, known: Iterable<string>): string | null {
  const written = plainName(name);
  let best: string | null = null;
  let bestDistance = EDITS_MAX + 1;
  for (const candidate of known) {
    const other = plainName(candidate);
    // A different version number means a different model, not a typing error.
    if (Math.abs(other.length - written.length) >= bestDistance || digitsOf(other) !== digitsOf(written)) continue;
    const distance = editDistance(written, other, bestDistance - 1);
    if (distance < bestDistance && distance < other.length / 2) [best, bestDistance] = [candidate, distance];
  }
  return best;
}

const plainName = (name: string): string =>
  name
    .slice(name.lastIndexOf('/') + 1)
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-');

const digitsOf = (name: string): string => name.replace(/\D/g, '');
