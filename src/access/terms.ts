import { QUARTER_MS } from '../core/accounting/window.ts';
import type { RollingWindow } from '../core/money/budget.ts';
import { toCredits } from '../core/money/credits.ts';
import { ADDRESS_FORM, addressOf } from '../core/money/holder-address.ts';
import { CHILD_LABEL, type KeyBudget, type KeyLimits, limitsBody, SCOPES, type Scope } from '../core/people/caller.ts';
import type { HolderTerms } from '../core/people/people.ts';
import { snakeCase } from '../core/text/text.ts';
import { DAY_MS, iso } from '../core/time/clock.ts';
import { isTimeZone } from '../core/time/zoned-time.ts';
import { hasForeignKey } from '../host/telemetry/secrets.ts';
import { KEY_TERMS, type KeyTerms, NO_KEY_TERMS, type UserKeyCounts } from '../store/keys.ts';

/** The terms that the creator of a key states. All terms that the creator does not state come from `NO_KEY_TERMS`. */
export type KeyGrant = Pick<KeyTerms, 'name' | 'scopes'> & Partial<KeyTerms>;

/** Converts stated terms to the terms of a key: null removes a term. */
export function statedTerms(stated: { readonly [Term in keyof KeyTerms]?: KeyTerms[Term] | null }): Partial<KeyTerms> {
  const names = KEY_TERMS.filter((term) => stated[term] !== undefined);
  const terms: Partial<KeyTerms> = Object.fromEntries(names.map((term) => [term, stated[term] ?? NO_KEY_TERMS[term]]));
  const { scopes, holders } = terms;
  return {
    ...terms,
    ...(scopes && { scopes: inOrder(scopes) }),
    ...(holders && { holders: normalizedHolders(holders) }),
  };
}

/** Terms that a key cannot have. The message of a KeyTermsError is one sentence. `param` is the path of the field in `/admin/keys`. */
export class KeyTermsError extends Error {
  override readonly name = 'KeyTermsError';
  readonly param: string;

  constructor(param: string, message: string) {
    super(message);
    this.param = param;
  }
}

/** A hundred years, ms. */
export const EXPIRY_MAX_MS = 36_500 * DAY_MS;
export const OVERLAP_MAX_MS = 30 * DAY_MS;
export const OVERLAP_MS = DAY_MS;
export const LIMIT_MAX = 1_000_000_000;
/** The most characters of a text that is stored and shown. */
export const TEXT_MAX = 200;
/** Matches a text on one line, without control characters, direction marks, line breaks and lone surrogates. */
export const ONE_LINE = /^[^\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]*$/u;
export const LABELS_MAX = 64;
const MODELS_MAX = 1_000;
/** The most bytes of a list of models, as JSON in UTF-8. Lists that were stored before this limit existed stay valid. */
const MODELS_BYTES_MAX = 16_384;
const BUDGETS_MAX = 16;
const HOLDERS_MAX = 100;
/** The highest budget of a key, in Credits. Budgets of a policy have the same maximum. */
export const BUDGET_CREDITS_MAX = 1_000_000_000;

/** Checks a key's terms beyond their types, for both commands and HTTP. Throws KeyTermsError. */
export function checkTerms(grant: KeyGrant, isChild = false): void {
  const { scopes, labels = {}, models = null, limits = null, budgets = [], holders = null } = grant;
  for (const term of KEY_TERMS) {
    const value = grant[term];
    if (typeof value === 'string') checkText(snakeCase(term), value);
  }
  if (scopes.length === 0) refuse('scopes', `A key needs at least one scope: ${SCOPES.join(', ')}.`);
  if (scopes.length > 1 && scopes.includes('report')) {
    refuse(
      'scopes',
      'A key with the scope report must have no other scope, because it may only read. Create another key for the other scopes.',
    );
  }
  checkLabels(labels, isChild);
  checkHolderTerms({ models, limits, budgets });
  if (grant.notModels) checkModels('not_models', grant.notModels, 'deny no model');
  if (holders) checkHolders(holders);
}

/** Checks the terms that a key, a user, a team and the organization may have. Throws KeyTermsError. */
export function checkHolderTerms({ models, limits, budgets }: HolderTerms): void {
  if (models) checkModels('models', models, 'allow every model');
  for (const [field, figure] of Object.entries(limits ? limitsBody(limits) : {})) {
    const isPossible = figure === null || (Number.isSafeInteger(figure) && figure >= 1 && figure <= LIMIT_MAX);
    if (!isPossible) refuse(`limits.${field}`, `${field} must be a whole number from 1 to ${LIMIT_MAX}.`);
  }
  atMost('budgets', 'The list of budgets', budgets.length, BUDGETS_MAX, 'items');
  for (const [i, budget] of budgets.entries()) checkBudget(budget, i, budgets.slice(0, i));
}

/** @param omitted the meaning of no list: "allow every model" */
function checkModels(field: ModelsField, models: readonly string[], omitted: string): void {
  if (models.length === 0) refuse(field, `A list of models must not be empty. Omit it to ${omitted}.`);
  atMost(field, 'The list of models', models.length, MODELS_MAX, 'items');
  for (const [i, model] of models.entries()) {
    if (model === '') refuse(`${field}[${i}]`, 'The ID of a model must not be empty.');
    checkText(`${field}[${i}]`, model);
  }
}

type ModelsField = 'models' | 'not_models';

/**
 * Checks the size of a new list of models. A list that was too large before this limit existed may stay, or become smaller.
 * @param before the list that is replaced; null for none
 * @throws KeyTermsError
 */
export function checkModelBytes(
  of: 'key' | 'user' | 'team',
  models: readonly string[] | null,
  before: readonly string[] | null = null,
  field: ModelsField = 'models',
): void {
  const [text, old] = [models, before].map((list) => JSON.stringify(list ?? []));
  const bytes = Buffer.byteLength(text!);
  if (bytes <= MODELS_BYTES_MAX || text === old || bytes < Buffer.byteLength(old!)) return;
  refuse(
    field,
    `The list of models of a ${of} may have at most ${MODELS_BYTES_MAX} bytes as JSON, but this list has ${bytes}. List fewer models${field === 'models' ? ', or leave the list out to allow all models' : ''}.`,
  );
}

function checkHolders(holders: readonly string[]): void {
  if (holders.length === 0) refuse('wallets', 'A list of wallets must not be empty. Omit it to allow every wallet.');
  atMost('wallets', 'The list of wallets', holders.length, HOLDERS_MAX, 'items');
  // The error does not repeat the value, because the caller may have sent a wallet's secret by mistake.
  for (const [i, holder] of holders.entries()) if (addressOf(holder) === null) refuse(`wallets[${i}]`, NO_HOLDER);
}

const NO_HOLDER = `A wallet must be given by its address: ${ADDRESS_FORM}.`;

/** Returns checked addresses in lower case, without duplicates. */
export const normalizedHolders = (holders: readonly string[]): string[] => [
  ...new Set(holders.map((holder) => holder.toLowerCase())),
];

/** Returns a wallet's address in lower case. Throws KeyTermsError. */
export const checkHolder = (wallet: string): string => addressOf(wallet) ?? refuse('wallet', NO_HOLDER);

/**
 * The most valid keys of one wallet, and the most new keys within 24 hours. They are limited because keys stay in memory, and their audit
 * entries are stored forever.
 */
export const HOLDER_LIMITS = { unrevoked: 20, aDay: 50 };

/**
 * The most unrevoked keys of one user, and the most keys that a user creates within 24 hours. Operators and child keys have no such limit.
 */
export const USER_LIMITS = { unrevoked: 200, aDay: 200 };

/** @param had the user's keys when the new key was refused */
export function tooManyOfUser({ unrevoked, aDay }: UserKeyCounts, isOwn: boolean): KeyTermsError {
  if (unrevoked >= USER_LIMITS.unrevoked) {
    const who = isOwn ? 'You have' : 'This user has';
    const message = `${who} ${unrevoked} keys that are not revoked, and a user can have at most ${USER_LIMITS.unrevoked}. Revoke keys that are no longer needed, expired keys included.`;
    return new KeyTermsError('user', message);
  }
  return new KeyTermsError(
    'user',
    `You have created ${aDay} keys within 24 hours, and a user can create at most ${USER_LIMITS.aDay}. Wait, rotate a key that you have, or ask an operator to create the key.`,
  );
}

export const noMember = () =>
  new KeyTermsError(
    'team',
    'The team or the user of the key does not exist, or the user does not belong to that team. A key of a user always belongs to the team of the user.',
  );

export const tooManyKeys = () =>
  new KeyTermsError(
    'wallet',
    `A wallet has at most ${HOLDER_LIMITS.unrevoked} valid keys, and creates at most ${HOLDER_LIMITS.aDay} within 24 hours. Revoke a key, or wait.`,
  );

const KEY = /sb_live_[0-9a-z]{1,32}_[\w-]/;

/** Checks a text that will be stored and shown: it must contain no API key and no control characters. Throws KeyTermsError. */
export function checkText(param: string, text: string): void {
  atMost(param, param, text.length, TEXT_MAX, 'characters');
  if (KEY.test(text) || hasForeignKey(text))
    refuse(param, `\`${param}\` is stored and shown, so it must not contain an API key.`);
  if (!ONE_LINE.test(text)) refuse(param, `\`${param}\` must be one line, without control characters.`);
}

function checkLabels(labels: Readonly<Record<string, string>>, isChild: boolean): void {
  atMost('labels', 'The labels', Object.keys(labels).length, LABELS_MAX, 'names');
  for (const [name, value] of Object.entries(labels)) {
    if (name === '') refuse('labels', 'A label needs a name.');
    if (!isChild && name.startsWith(CHILD_LABEL)) {
      refuse(
        'labels',
        `Labels whose names begin with ${CHILD_LABEL} are reserved for child keys. Choose another name than ${name}.`,
      );
    }
    checkText('labels', name);
    checkText(`labels.${name}`, value);
  }
}

function checkBudget(
  { limit, window, every, timeZone, onExhausted, until }: KeyBudget,
  at: number,
  before: readonly KeyBudget[],
) {
  const param = `budgets[${at}]`;
  if (!Number.isSafeInteger(limit) || limit < 0 || toCredits(limit) > BUDGET_CREDITS_MAX) {
    refuse(
      `${param}.limit_credits`,
      `A budget must be from 0 to ${BUDGET_CREDITS_MAX} Credits, with at most 6 decimals.`,
    );
  }
  if ((window === 'every') !== (every !== undefined)) {
    refuse(`${param}.every`, 'Set `every` for the window `every`, and for no other window.');
  }
  if (every) checkEvery(every, timeZone, param);
  if (!isTimeZone(timeZone)) {
    refuse(
      `${param}.time_zone`,
      `The time zone "${timeZone}" is unknown. Use an IANA name such as UTC or Europe/Berlin.`,
    );
  }
  const isSame = (other: KeyBudget) =>
    (other.until === undefined) === (until === undefined) &&
    other.window === window &&
    other.every?.seconds === every?.seconds &&
    other.every?.from === every?.from &&
    other.timeZone === timeZone &&
    other.onExhausted === onExhausted;
  if (before.some(isSame))
    refuse(param, `Two budgets have the same window, ${window} in ${timeZone}. Keep one of them.`);
}

/** The bounds of the length of a window, in seconds. */
const QUARTER_S = QUARTER_MS / 1_000;
export const EVERY_MAX_S = 366 * 86_400;

function checkEvery({ seconds, from }: RollingWindow, timeZone: string, param: string): void {
  if (!(seconds >= QUARTER_S && seconds <= EVERY_MAX_S && seconds % QUARTER_S === 0)) {
    refuse(`${param}.every.seconds`, 'A window must be from 15 minutes to 366 days, in whole quarters of an hour.');
  }
  if (!Number.isSafeInteger(from) || from % QUARTER_MS !== 0) {
    refuse(`${param}.every.from`, 'A window must begin on a quarter of an hour, such as 2026-11-12T08:15Z.');
  }
  if (timeZone !== 'UTC') refuse(`${param}.time_zone`, 'A window of a length has no time zone. Leave it out.');
}

function atMost(param: string, what: string, size: number, most: number, unit: string): void {
  if (size > most) refuse(param, `${what} may have at most ${most} ${unit}.`);
}

/** Scopes in the order in which they are stored, without duplicates. */
const inOrder = (scopes: readonly Scope[]): Scope[] => SCOPES.filter((scope) => scopes.includes(scope));

/** Limits that leave everything to the policy. */
export const NO_LIMITS: KeyLimits = { requestsPerMinute: null, tokensPerMinute: null, concurrentStreams: null };

/** Limits of a key in the form in which they are stored: null if none is stated. */
export const statedLimits = (limits: KeyLimits): KeyLimits | null =>
  Object.values(limits).every((limit) => limit === null) ? null : limits;

/** @throws KeyTermsError */
export function refuse(param: string, message: string): never {
  throw new KeyTermsError(param, message);
}

export function budgetBody({ limit, window, every, timeZone, onExhausted, until, opening }: KeyBudget) {
  return {
    limit_credits: toCredits(limit),
    window,
    time_zone: timeZone,
    on_exhausted: onExhausted,
    ...(every && { every: { seconds: every.seconds, from: iso(every.from) } }),
    ...(until !== undefined && { until: iso(until) }),
    ...(opening && {
      opening: {
        spent_credits: toCredits(opening.spent),
        until: opening.until === null ? null : iso(opening.until),
      },
    }),
  };
}
