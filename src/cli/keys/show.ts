import { type KeyFunds, keyStatusBody, trailBody } from '../../access/key-body.ts';
import type { BudgetUse } from '../../core/caller.ts';
import { addressOf } from '../../core/holder-address.ts';
import { isEmpty } from '../../core/object.ts';
import { creditsText } from '../../core/text.ts';
import { usdText } from '../../core/usd.ts';
import { storedKeyFunds } from '../../operate/keys.ts';
import type { KeyInfo } from '../../store/keys.ts';
import type { StoredBalance } from '../../store/ledger-table.ts';
import { TRAIL_LIMIT, TRAIL_LIMIT_MAX, type TrailEntry } from '../../store/trail.ts';
import { needed, parseArguments, parseFlags, SWITCH, TEXT, wholeOf } from '../arguments.ts';
import { table } from '../terminal.ts';
import { fieldLines, jsonText, labelTexts, minute } from '../text.ts';
import { idOf, type KeysCommand, stateText } from './command.ts';

/** `keys show ID [--json]`. */
export async function show(args: readonly string[], { keys, file, now }: KeysCommand): Promise<string> {
  const { values, positionals } = parseArguments(args, { json: SWITCH });
  const id = idOf(positionals, 'show');
  const info = needed(await keys.get(id), `There is no key with the ID ${id}.`);
  const time = now();
  const funds = await storedKeyFunds(file, info, time);
  if (values.json) return jsonText(keyStatusBody(info, time, funds));
  return showText(info, time, funds);
}

function showText(info: KeyInfo, now: number, { uses, balance, usdPerCredit }: KeyFunds): string {
  const lines: [string, string][] = [
    ['ID', info.id],
    ['name', info.name || '-'],
    ['state', stateText(info, now)],
    ['scopes', info.scopes.join(', ')],
    ['labels', labelTexts(info.labels).join(', ') || '-'],
    ['models', info.models?.join(', ') ?? 'all'],
    // One that shows a wallet speaks for no other.
    info.holder === null ? ['wallets', info.holders?.join(', ') ?? 'all'] : ['wallet', info.holder],
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

function budgetText({ budget, spent, renewsAt }: BudgetUse, usdPerCredit: string | null): string {
  const { limit, window, timeZone, onExhausted } = budget;
  const per = window === 'total' ? 'in total' : `a ${window} (${timeZone})`;
  const renews = Number.isFinite(renewsAt) ? `; renews ${utc(renewsAt)}` : '';
  const left = `${creditsText(spent)} (${usdText(spent, usdPerCredit)}) spent, ${creditsText(limit - spent)} left${renews}`;
  return `${creditsText(limit)} ${per}, then ${onExhausted}: ${left}`;
}

const balanceText = ({ granted, spent }: StoredBalance, usdPerCredit: string | null): string =>
  `${creditsText(granted)} granted, ${creditsText(spent)} (${usdText(spent, usdPerCredit)}) spent, ${creditsText(granted - spent)} left`;

/** `keys log [--key ID] [--limit 100] [--json]`: changes of keys, newest first. A wallet is named by its address. */
export async function log(args: readonly string[], { keys }: KeysCommand): Promise<string> {
  const { key, limit: text, json } = parseFlags(args, { key: TEXT, limit: TEXT, json: SWITCH });
  const limit = text === undefined ? TRAIL_LIMIT : wholeOf('--limit', text, 1, TRAIL_LIMIT_MAX);
  const keyId = key === undefined ? null : (addressOf(key) ?? idOf([key], 'log --key'));
  const entries = await keys.trail({ keyId, limit });
  if (json) return jsonText(entries.map(trailBody));
  const rows = entries.map((entry) => [
    utc(entry.time),
    actorText(entry),
    entry.action,
    entry.keyId,
    detailsText(entry),
  ]);
  return table([['TIME', 'BY', 'ACTION', 'KEY', 'DETAILS'], ...rows]);
}

/** `cli alice`, `key k7mw2pq9x4ta (req_0a4x1wm3zk0)`, `wallet 0x…`, `server`. */
function actorText({ actor: { kind, name }, requestId }: TrailEntry): string {
  return `${kind}${name === null ? '' : ` ${name}`}${requestId === null ? '' : ` (${requestId})`}`;
}

/** The details of a change, without the empty ones. */
function detailsText({ details }: TrailEntry): string {
  const isSaid = (value: unknown) => value !== '' && !(typeof value === 'object' && isEmpty(value));
  return Object.entries(details)
    .filter(([, value]) => isSaid(value))
    .map(([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(' ');
}
