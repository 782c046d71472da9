import { type KeyFunds, keyStatusBody } from '../../access/key-body.ts';
import type { Forecast } from '../../core/budget.ts';
import type { BudgetUse } from '../../core/caller.ts';
import { addressOf } from '../../core/holder-address.ts';
import { creditsText } from '../../core/text.ts';
import { usdText } from '../../core/usd.ts';
import { storedKeyFunds } from '../../operate/key-funds.ts';
import { findKey } from '../../operate/keys.ts';
import type { KeyInfo } from '../../store/keys.ts';
import type { StoredBalance } from '../../store/ledger-table.ts';
import { needed, parseArguments, parseFlags, SWITCH, TEXT } from '../arguments.ts';
import { fieldLines, jsonText, labelTexts, minute } from '../text.ts';
import { listed } from '../trail.ts';
import { operator } from '../user.ts';
import { idOf, type KeysCommand, memberTexts, stateText } from './command.ts';

/** `keys show ID [--json]`. */
export async function show(args: readonly string[], { keys, people, file, now }: KeysCommand): Promise<string> {
  const { values, positionals } = parseArguments(args, { json: SWITCH });
  const id = idOf(positionals, 'show');
  const info = needed(await findKey(operator(), keys, id), `There is no key with the ID ${id}.`);
  const time = now();
  const funds = await storedKeyFunds(file, info, time);
  if (values.json) return jsonText(keyStatusBody(info, time, funds));
  return showText(info, memberTexts(people, info), await keys.above(id), time, funds);
}

/**
 * @param team and user, as they are called
 * @param above the IDs of the keys above it, the nearest first
 */
function showText(
  info: KeyInfo,
  [team, user]: readonly [team: string, user: string],
  above: readonly string[],
  now: number,
  { uses, balance, usdPerCredit }: KeyFunds,
): string {
  const parents: [string, string][] = above.length === 0 ? [] : [['child of', above.join(', below ')]];
  const lines: [string, string][] = [
    ['ID', info.id],
    ['name', info.name || '-'],
    ['state', stateText(info, now)],
    ['scopes', info.scopes.join(', ')],
    ['labels', labelTexts(info.labels).join(', ') || '-'],
    ['team', team],
    ['user', user],
    ['models', info.models?.join(', ') ?? 'all'],
    // One that shows a wallet speaks for no other.
    info.holder === null ? ['wallets', info.holders?.join(', ') ?? 'all'] : ['wallet', info.holder],
    ...parents,
    ['created', utc(info.createdAt)],
    ['last used', info.lastUsedAt === null ? 'never' : utc(info.lastUsedAt)],
    ['rotated', rotatedText(info, now)],
    ['limits', limitsText(info)],
    ...uses.map((use): [string, string] => ['budget', budgetText(use, usdPerCredit)]),
    ['balance', balance ? balanceText(balance, usdPerCredit) : 'none: the key is not prepaid'],
  ];
  return fieldLines(lines, 11);
}

const utc = (time: number): string => `${minute(time)} UTC`;

function rotatedText({ rotatedAt, overlapEndsAt }: KeyInfo, now: number): string {
  if (rotatedAt === null) return 'never';
  const isOver = overlapEndsAt === null || overlapEndsAt <= now;
  return isOver ? utc(rotatedAt) : `${utc(rotatedAt)}; the old secret works until ${utc(overlapEndsAt)}`;
}

function limitsText({ limits }: KeyInfo): string {
  const parts = [
    [limits?.requestsPerMinute, 'requests a minute'],
    [limits?.tokensPerMinute, 'tokens a minute'],
    [limits?.concurrentStreams, 'streams at once'],
  ] as const;
  const stated = parts.flatMap(([limit, unit]) => (limit == null ? [] : [`${limit.toLocaleString('en')} ${unit}`]));
  return stated.join(', ') || 'as in the policy';
}

function budgetText({ budget, spent, forecast, renewsAt }: BudgetUse, usdPerCredit: string | null): string {
  const { limit, window, timeZone, onExhausted } = budget;
  const per = window === 'total' ? 'in total' : `a ${window} (${timeZone})`;
  const renews = Number.isFinite(renewsAt) ? `; renews ${utc(renewsAt)}; ${forecastText(forecast)}` : '';
  const left = `${creditsText(spent)} (${usdText(spent, usdPerCredit)}) spent, ${creditsText(limit - spent)} left${renews}`;
  return `${creditsText(limit)} ${per}, then ${onExhausted}: ${left}`;
}

function forecastText({ expected, knownFrom }: Forecast): string {
  if (expected !== null) return `${creditsText(expected)} expected by then`;
  return knownFrom === null ? 'no forecast' : `too early for a forecast until ${utc(knownFrom)}`;
}

const balanceText = ({ granted, spent }: StoredBalance, usdPerCredit: string | null): string =>
  `${creditsText(granted)} granted, ${creditsText(spent)} (${usdText(spent, usdPerCredit)}) spent, ${creditsText(granted - spent)} left`;

/** `keys log [--key ID] [--limit 100] [--before ID] [--json]`: changes of keys, newest first. A wallet is named by its address. */
export async function log(args: readonly string[], { store }: KeysCommand): Promise<string> {
  const { key, ...flags } = parseFlags(args, { key: TEXT, limit: TEXT, before: TEXT, json: SWITCH });
  const keyId = key === undefined ? null : (addressOf(key) ?? idOf([key], 'log --key'));
  return listed(store, keyId, flags);
}
